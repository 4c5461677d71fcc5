"""One iterator at a time: how an `IterDataPipe` knows which of its iterators is valid."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["described", "tracked", "tracked_next"]

_FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free "
    "to comment on this issue: https://github.com/pytorch/data/issues/45."
)


def described(pipe: Any) -> str:
    """The class of a pipe with those of its attributes that it was made from, for messages."""
    names = set(inspect.signature(type(pipe)).parameters)
    arguments = [
        f"{name}={value.__name__ if inspect.isfunction(value) else repr(value)}"
        for name, value in inspect.getmembers(pipe)
        if name in names
    ]
    return f"{type(pipe).__name__}({', '.join(arguments)})"


def check_valid(pipe: Any, iterator_id: int) -> None:
    """Whether an iterator is the pipe's latest.

    Raises:
        RuntimeError: another one was made since; torch's text.
    """
    if not pipe._is_valid(iterator_id):
        raise RuntimeError(pipe._invalidated() + _FEEDBACK)


def invalidated(pipe: Any) -> str:
    """What the message of an iterator that is no longer valid says."""
    return (
        f"This iterator has been invalidated because another iterator has been created from the same IterDataPipe: {described(pipe)}\n"
        "This may be caused by multiple references to the same IterDataPipe. We recommend using `.fork()` if that is necessary."
    )


def _add_place(error: Exception, pipe: Any) -> None:
    """Say in an error's message which pipe it came from, unless it says so already."""
    text = "thrown by __iter__ of"
    place = f"\nThis exception is {text} {described(pipe)}"
    if not error.args or not isinstance(error.args[0], str):
        error.args = (place,)
    elif text not in error.args[0] and "single iterator per IterDataPipe constraint" not in error.args[0]:
        error.args = (error.args[0] + place, *error.args[1:])


class _Tracked:
    """An iterator of a pipe that is no generator."""

    def __init__(self, iterator: Any, pipe: Any, iterator_id: int, counts: bool) -> None:
        self.iterator, self.datapipe, self.iterator_id, self.counts = iterator, pipe, iterator_id, counts

    def __iter__(self) -> _Tracked:
        return self

    def __next__(self) -> Any:
        check_valid(self.datapipe, self.iterator_id)
        value = next(self.iterator)
        if self.counts:
            self.datapipe._number_of_samples_yielded += 1
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)


def tracked(function: Callable, with_next: bool) -> Callable:
    """An ``__iter__`` whose iterators end when another one begins.  As in torch, a generator begins with its first value.

    Args:
        with_next: the class has a ``__next__`` of its own, which counts.
    """
    if not inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def begin(self: Any) -> Any:
            iterator = function(self)
            return _Tracked(iterator, self, self._begin_iteration(), counts=not (with_next and iterator is self))

        return begin

    @functools.wraps(function)
    def generate(self: Any) -> Iterator[Any]:
        generator, iterator_id = function(self), self._begin_iteration()
        try:
            for value in generator:
                self._number_of_samples_yielded += 1
                yield value
                check_valid(self, iterator_id)
        except Exception as error:
            _add_place(error, self)
            raise

    return generate


def tracked_next(function: Callable) -> Callable:
    """A ``__next__`` that counts."""

    @functools.wraps(function)
    def counted(self: Any) -> Any:
        value = function(self)
        self._number_of_samples_yielded += 1
        return value

    return counted
