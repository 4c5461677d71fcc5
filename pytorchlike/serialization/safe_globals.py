"""What users declare safe to be named by files that are loaded with ``weights_only=True``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .names import torch_path

__all__ = ["BLOCKED_MODULES", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals", "user_globals"]

#: Never allowed, whatever users say.
BLOCKED_MODULES = ("sys", "os", "posix", "nt")

Global = Callable | tuple[Callable, str]
_marked: set[Any] = set()


def add_safe_globals(safe_globals: Iterable[Global]) -> None:
    """Let files name these functions and classes: functions are called, classes instantiated, their state is set.

    Args:
        safe_globals: functions and classes, or pairs of one and the path that files have for it.
    """
    _marked.update(safe_globals)


def get_safe_globals() -> list[Global]:
    """What `add_safe_globals` was called with."""
    return list(_marked)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` was called with."""
    _marked.clear()


class safe_globals:  # noqa: N801 - torch's name
    """`add_safe_globals` for a ``with`` block."""

    def __init__(self, safe_globals: Iterable[Global]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *error: Any) -> None:
        _marked.difference_update(self.safe_globals)


def user_globals() -> dict[str, Any]:
    """What users declared safe, by the path that files have for it."""
    found: dict[str, Any] = {}
    for marked in _marked:
        if isinstance(marked, tuple):
            if len(marked) != 2:
                raise ValueError(
                    f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(marked)}"
                )
            if type(marked[1]) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(marked[1])}")
            found[marked[1]] = marked[0]
        else:
            found[".".join(torch_path(marked) or (marked.__module__, marked.__qualname__))] = marked
    return found
