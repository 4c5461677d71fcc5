"""``torch.futures``: results that arrive later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

_Result = TypeVar("_Result")


class Future(Generic[_Result]):
    """A result that somebody sets, and others wait for."""

    __module__ = "torch.futures"

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition()
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether the result, or an error, is there."""
        return self._is_done

    def wait(self) -> Any:
        """The result, once it is there; the error is raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done)
        return self.value()

    def value(self) -> Any:
        """The result, which must be there."""
        if not self._is_done:
            raise RuntimeError("Future is not completed")
        if self._error is not None:
            raise self._error
        return self._result

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._is_done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once.")
            self._result, self._error, self._is_done = result, error, True
            self._changed.notify_all()
        for callback in self._callbacks:
            callback(self)

    def set_result(self, result: Any) -> None:
        """Set the result; waiters go on, callbacks run."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which waiters get."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call ``callback(self)`` when the result is there (at once if it is)."""
        with self._changed:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what ``callback(self)`` returns when the result is there."""
        following: Future = Future()

        def run(done: Future) -> None:
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(run)
        return following


def collect_all(futures: list[Future]) -> Future:
    """A future of the list of futures, done when all of them are."""
    together: Future = Future()
    lock, left = threading.Lock(), [len(futures)]

    def count(_: Future) -> None:
        with lock:
            left[0] -= 1
            last = not left[0]
        if last:
            together.set_result(futures)

    for future in futures:
        future.add_done_callback(count)
    if not futures:
        together.set_result(futures)
    return together


def wait_all(futures: list[Future]) -> list:
    """The results of all futures."""
    return [future.wait() for future in collect_all(futures).wait()]
