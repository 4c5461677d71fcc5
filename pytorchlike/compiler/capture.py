"""Capturing one call of a compiled function: it runs as always, into a trace of its own, and everything it depends on is noted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..core.state import thread
from ..graph import provenance
from ..graph.recorder import Trace, flush
from ..graph.value import Value
from ..tensors.tape import next_number
from . import settings

__all__ = ["Break", "Capture", "Listener"]


class Break:
    """Why a call could not be captured.

    Args:
        reason: what happened.
        site: the line of the user's code.
        is_error: it happened where `torch._dynamo.error_on_graph_break` was set.
    """

    __slots__ = ("reason", "site", "is_error")

    def __init__(self, reason: str, site: tuple[str, int] | None, is_error: bool = False) -> None:
        self.reason, self.site, self.is_error = reason, site, is_error

    def __str__(self) -> str:
        where = provenance.as_text(self.site)
        return f"{self.reason} ({where})" if where else self.reason


class Listener:
    """What lower layers turn to while something is recorded apart (core/capturing.py, and the recorder).

    Attributes:
        paused: nothing is noted while this is not 0.
    """

    def __init__(self) -> None:
        self.paused = 0

    def give_up(self, reason: str) -> None:
        """Something cannot be part of what is recorded."""
        raise NotImplementedError

    def looked_at(self, reason: str) -> None:
        """Somebody looks at the numbers of a tensor."""
        if not self.paused:
            self.give_up(_NUMBERS.format(reason))

    def ends_by(self, reason: str) -> bool:
        """Asked before the trace is flushed; returns whether it may be."""
        self.give_up(_NUMBERS.format(reason))
        return True

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Note nothing inside the block."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1


_NUMBERS = "numbers are needed in the middle ({})"


class Capture(Listener):
    """One call that is being captured.

    Attributes:
        trace: what it records into.
        broken: the first reason why it cannot be replayed; None: it can.
        has_boundary: an optimizer's step, or another natural end of a trace, was part of it.
        actions: what is done on the host at each replay, in order: ("host", function, arguments), ("draw", function) or
            ("float", index into the trace's floats, dictionary, key, index in a tuple or None).
        draws: the values that hold random numbers -> number of the action.
        own: (id of the dictionary, key) of the numbers of optimizers that the call itself had written when a step read them.
        watch: notes what Python state is read (compiler/watch.py).
        first_node: nodes of the tape with this number or a higher one were made by the call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.broken: Break | None = None
        self.has_boundary = False
        self.actions: list[tuple] = []
        self.draws: dict[Value, int] = {}
        self.own: set[tuple[int, str]] = set()
        self.watch: Any = None
        self.first_node = next_number()
        state = thread.state
        flush(state.trace, "compile")
        self.trace = state.trace = Trace()
        self.trace.capture = self

    def give_up(self, reason: str) -> None:
        """The call cannot be replayed; it goes on, eagerly."""
        if self.broken is None:
            self.broken = Break(reason, provenance.user_line(), settings.error_on_graph_break)

    def ends_by(self, reason: str) -> bool:
        """Asked before the trace is flushed: what is recorded from now on is not captured."""
        self.trace.capture = None
        return super().ends_by(reason)

    def note_floats(self, sources: list[tuple[dict, str, int | None]]) -> None:
        """The floats that are recorded next are read anew at each replay from these dictionaries (an optimizer's groups)."""
        first = len(self.trace.floats)
        if self.watch is not None and any(id(container) not in self.watch.containers for container, _, _ in sources):
            self.give_up("an optimizer is used that the call itself made")
        for k, (container, key, index) in enumerate(sources):
            if self.watch is not None and self.watch.is_written(container, key):
                self.own.add((id(container), key))
            self.actions.append(("float", first + k, container, key, index))

    def run_on_host(self, function: Callable[..., Any], args: tuple) -> Any:
        """Run Python that each replay runs again at the same place; what it writes is no effect of the call."""
        watch = self.watch
        if watch is not None and any(id(argument) not in watch.outside for argument in args[:1]):
            self.give_up(f"a {type(args[0]).__name__} is used that the call itself made")
        before = {(id(container), key) for container, key, _, _ in watch.changes() if container is not None} if watch is not None else set()
        with self.pause():
            result = function(*args)
        if watch is not None:
            watch.settle(before)
        self.actions.append(("host", function, args))
        return result

    def note_draw(self, made: Any, make: Callable[[], Any]) -> None:
        """A tensor holds random numbers, which ``make`` draws anew."""
        self.draws[made._value] = len(self.actions)
        self.actions.append(("draw", make))

    def end(self) -> None:
        """The call is over."""
        self.trace.capture = None
