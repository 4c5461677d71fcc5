"""`fork` and `wait`: scripted code's concurrency, which runs in order here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..futures import Future

__all__ = ["fork", "wait"]


def fork(func: Callable, *args: Any, **kwargs: Any) -> Future:
    """Call a function now (operators are recorded and run together anyway) and return a future of its result."""
    future: Future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """The result of a future."""
    return future.wait()
