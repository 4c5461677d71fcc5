"""torch.autograd.profiler: which programs and operators run, how often, and how long.

What runs is what was recorded (see docs/execution.md): operators of a program run together, so the program has a time and its operators are counted.
Under the immediate executor each operator is measured.  While a profiler is on, the end of a `record_function` block runs what is pending, so that the
block's time includes its work.
"""

from __future__ import annotations

import functools
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..core.state import thread
from ..graph import counters
from ..graph.recorder import flush
from .profiler_util import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent", "profile", "record_function"]

#: The profilers that are on, innermost last.
active: list[Recording] = []


class Recording:
    """The events between `start` and `stop`."""

    def __init__(self) -> None:
        self.events = EventList()
        self.open: dict[int, list[FunctionEvent]] = {}
        self.began = 0.0
        self.is_on = False

    def start(self) -> None:
        """Begin; what was pending has run before."""
        flush(thread.state.trace, "profiler")
        self.began, self.is_on = time.perf_counter(), True
        counters.watchers.append(self.ran)
        active.append(self)

    def stop(self) -> None:
        """Run what is pending, and end."""
        if self.is_on:
            flush(thread.state.trace, "profiler")
            self.is_on = False
            active.remove(self)
            counters.watchers.remove(self.ran)

    def microseconds(self, moment: float) -> float:
        """Time since the beginning."""
        return (moment - self.began) * 1e6

    def event(self, name: str, start: float, end: float, is_user_annotation: bool = False) -> FunctionEvent:
        """Note an event, inside of the block that is open in this thread."""
        ident = threading.get_ident()
        made = FunctionEvent(len(self.events), name, ident, self.microseconds(start), self.microseconds(end), is_user_annotation)
        outer = self.open.get(ident)
        if outer:
            outer[-1].append_cpu_child(made)
        self.events.append(made)
        return made

    def ran(self, instructions: list[Any], start: float, end: float) -> None:
        """See `counters.watchers`."""
        names = [_name(i) for i in instructions]
        if len(names) == 1:
            self.event(names[0], start, end)
            return
        program = self.event(f"program of {len(names)} operators", start, end)
        for name in names:
            inner = FunctionEvent(len(self.events), name, program.thread, program.time_range.start, program.time_range.start)
            program.append_cpu_child(inner)
            self.events.append(inner)


def _name(instruction: Any) -> str:
    return instruction.name if getattr(instruction, "operator", None) is None else f"aten::{instruction.operator.name}"


class record_function:  # noqa: N801 - torch's name
    """A block (or function, as a decorator) that profilers show under a name; without a profiler it does nothing.

    Args:
        name: the block's name.
        args: kept, not shown.
    """

    __module__ = "torch.autograd.profiler"

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._began: list[tuple[Recording, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        if active:
            flush(thread.state.trace, "profiler")
            now, ident = time.perf_counter(), threading.get_ident()
            for recording in list(active):
                event = recording.event(self.name, now, now, True)
                recording.open.setdefault(ident, []).append(event)
                self._began.append((recording, event))
        return self

    def __exit__(self, *error: object) -> None:
        if self._began:
            flush(thread.state.trace, "profiler")
            now, ident = time.perf_counter(), threading.get_ident()
            for recording, event in self._began:
                event.time_range.end = recording.microseconds(now)
                recording.open[ident].remove(event)
            self._began = []

    def __call__(self, function: Callable) -> Callable:
        """The function, run in such a block."""

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded


def warn_of_ignored(name: str, options: Mapping[str, Any]) -> None:
    """Warn of options that ask for what is not recorded."""
    ignored = [option for option, value in options.items() if value]
    if ignored:
        warnings.warn(f"{name}: {', '.join(ignored)} have no effect", UserWarning, stacklevel=3)


class profile:  # noqa: N801 - torch's name
    """A block whose programs and operators are noted; see the module for what their times mean.

    Args:
        enabled: False does nothing.
        record_shapes, with_flops, profile_memory, with_stack, with_modules: have no effect; a warning says so.
    """

    __module__ = "torch.autograd.profiler"

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, **rest: Any) -> None:  # fmt: skip
        options = {"record_shapes": record_shapes, "with_flops": with_flops, "profile_memory": profile_memory, "with_stack": with_stack}
        warn_of_ignored("torch.autograd.profiler.profile", options)
        self.enabled = enabled
        self.recording = Recording()

    def __enter__(self) -> profile:
        if self.enabled:
            self.recording.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.recording.stop()

    @property
    def function_events(self) -> EventList:
        """What ran."""
        return self.recording.events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False) -> EventList:
        """The sums by name."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as text; see `EventList.table`."""
        return self.function_events.table(*args, **kwargs)

    def total_average(self) -> Any:
        """The sum of everything."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file for ``chrome://tracing``."""
        self.function_events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return self.table()
