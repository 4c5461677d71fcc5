"""``torch._dynamo.config`` as a module: its attributes are those of `compiler.settings.config`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..compiler.settings import config as _settings

__all__ = ["patch"]


class _Settings(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_settings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(_settings, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(_settings), "patch", "recompile_limit"})


@contextlib.contextmanager
def patch(changes: Any = None, value: Any = None, **kwargs: Any) -> Iterator[None]:
    """Set attributes inside a block or a decorated function: ``patch(name=value)``, ``patch({"name": value})`` or ``patch("name", value)``."""
    wanted = {changes: value} if isinstance(changes, str) else {**(changes or {}), **kwargs}
    missing = object()
    previous = {name: getattr(_settings, name, missing) for name in wanted}
    for name, each in wanted.items():
        setattr(_settings, name, each)
    try:
        yield
    finally:
        for name, each in previous.items():
            if each is missing:
                delattr(_settings, name)
            else:
                setattr(_settings, name, each)


sys.modules[__name__].__class__ = _Settings
