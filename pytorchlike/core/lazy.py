"""Modules that are imported when they are first used, and importing without a full garbage collection."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Iterator
from typing import Any

__all__ = ["LazyModule", "uncollected"]


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cycle collector away from a large import: none of its objects is garbage, and a full collection walks all of JAX's (0.15 s)."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class LazyModule:
    """Stands for a module; the first attribute that is asked for imports it.

    Args:
        name: the module's full name.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, found)
        return found
