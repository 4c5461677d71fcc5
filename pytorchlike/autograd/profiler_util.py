"""torch.autograd.profiler_util: what a profiler saw, as events, sums by name, and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class Interval:
    """A time span in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class FunctionEvent:
    """Something that ran: a block of `record_function`, a program, or an operator within it.

    Operators that ran together in one program have no times of their own: theirs are 0, the program's are known.

    Attributes:
        name, key: what ran.
        time_range: when, in microseconds since the profiler was started.
        cpu_children: what ran inside.
        is_user_annotation: it is a block of the user's.
    """

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, is_user_annotation: bool = False) -> None:
        self.id = id
        self.name = self.key = self.trace_name = name
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.is_user_annotation = is_user_annotation
        self.count = 1

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Note something that ran inside."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    @property
    def cpu_time_total(self) -> float:
        """Microseconds, with what ran inside."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, without what ran inside."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def cpu_time(self) -> float:
        """The average of one call, in microseconds."""
        return self.cpu_time_total

    def __repr__(self) -> str:
        span = self.time_range
        return f"<FunctionEvent id={self.id} name={self.name} cpu_time={_time(self.cpu_time_total)} start_us={span.start:.3f} end_us={span.end:.3f}>"


class FunctionEventAvg:
    """The sum of the events of one name."""

    def __init__(self) -> None:
        self.key: str = ""
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.is_user_annotation = False

    def add(self, event: Any) -> FunctionEventAvg:
        """Add an event, or another sum."""
        self.key = self.key or event.key
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.is_user_annotation |= event.is_user_annotation
        return self

    __iadd__ = add

    @property
    def cpu_time(self) -> float:
        """The average of one call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} cpu_time={_time(self.cpu_time)} count={self.count}>"
        )


class EventList(list):
    """Events, or sums of them."""

    def __init__(self, events: Iterable[Any] = ()) -> None:
        super().__init__(events)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False) -> EventList:
        """The sums by name.

        Raises:
            NotImplementedError: another grouping.
        """
        if group_by_input_shapes or group_by_stack_n or group_by_overload_name:
            raise NotImplementedError("key_averages: events are grouped by name only; shapes, stacks and overloads are not recorded")
        found: dict[str, FunctionEventAvg] = {}
        for event in self:
            found.setdefault(event.key, FunctionEventAvg()).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of everything."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
              max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False,
              time_unit: str | None = None) -> str:  # fmt: skip
        """The events as text.

        Args:
            sort_by: an attribute of events, ``cpu_time_total``, ``self_cpu_time_total``, ``cpu_time``, ``count``; the largest come first.
            row_limit: how many are shown; -1 for all.
            top_level_events_only: leave out what ran inside of others.
            time_unit: ``s``, ``ms`` or ``us``; by default what suits each number.
        """
        rows: Sequence[Any] = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            rows = sorted(rows, key=lambda e: -getattr(e, sort_by.replace("device", "cpu").replace("cuda", "cpu")))
        rows = rows if row_limit < 0 else rows[:row_limit]
        if not rows:
            return ""
        total = self.self_cpu_time_total
        width = min(max(len("Name"), *(len(e.key) for e in rows)) + 4, max_name_column_width)
        heads = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        line = "  ".join(["-" * width, *["-" * 12] * len(heads)])
        lines = [*([header] if header else []), line, "  ".join([f"{'Name':>{width}}", *[f"{h:>12}" for h in heads]]), line]
        for event in rows:
            name = event.key if len(event.key) <= width else event.key[: width - 3] + "..."
            cells = [_share(event.self_cpu_time_total, total), _time(event.self_cpu_time_total, time_unit), _share(event.cpu_time_total, total),
                     _time(event.cpu_time_total, time_unit), _time(event.cpu_time, time_unit), str(event.count)]  # fmt: skip
            lines.append("  ".join([f"{name:>{width}}", *[f"{c:>12}" for c in cells]]))
        return "\n".join([*lines, line, f"Self CPU time total: {_time(total, time_unit)}", ""])

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file for ``chrome://tracing``."""
        events = [
            {"ph": "X", "name": e.name, "ts": e.time_range.start, "dur": e.cpu_time_total, "pid": "CPU functions", "tid": e.thread, "args": {}}
            for e in self
        ]
        with open(path, "w") as file:
            json.dump({"traceEvents": events}, file)

    def __str__(self) -> str:
        return self.table()


def _time(microseconds: float, unit: str | None = None) -> str:
    unit = unit or ("s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us")
    return f"{microseconds / {'s': 1e6, 'ms': 1e3, 'us': 1.0}[unit]:.3f}{unit}"


def _share(part: float, whole: float) -> str:
    return f"{part * 100 / whole:.2f}%" if whole else "0.00%"
