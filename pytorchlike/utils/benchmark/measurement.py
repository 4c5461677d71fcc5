"""What a `Timer` found."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english"]

_UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"), "s": (1.0, "second")}
_MOST_FIGURES = 4
_LEAST_INTERVAL = 25e-9  # seconds: the clock is no better
_WIDE, _VERY_WIDE = 0.1, 0.25  # interquartile range over median, above which a measurement warns


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """What was timed."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement."""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """The setup, if there is one."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup."""
        return "\n".join(f"{part}\n" if "\n" in part else part for part in (self.title, self.description or "", self.setup_str()) if part)


_OF_TASK = tuple(field.name for field in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of blocks of ``number_per_run`` runs of a statement; the names of `TaskSpec` can be read from it, too."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_TASK:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds per run, for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return _quantile(sorted(self.times), 0.5)

    @property
    def mean(self) -> float:
        return math.fsum(self.times) / len(self.raw_times) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        low, high = self._quartiles()
        return high - low

    def _quartiles(self) -> tuple[float, float]:
        ordered = sorted(self.times)
        return _quantile(ordered, 0.25), _quantile(ordered, 0.75)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median mean something, roughly: from the spread of the middle half."""
        ordered = sorted(self.times)
        middle = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        mean = math.fsum(middle) / len(middle)
        spread = math.sqrt(math.fsum((t - mean) ** 2 for t in middle) / len(middle))
        interval = max(1.645 * spread / math.sqrt(len(middle)), _LEAST_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_FIGURES)

    def meets_confidence(self, threshold: float = _WIDE) -> bool:
        """Whether the interquartile range is a small part of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        return bool(self._warnings())

    def _warnings(self) -> list[str]:
        if not self.raw_times or self.meets_confidence():
            return []
        advice = "could indicate system fluctuation" if self.meets_confidence(_VERY_WIDE) else "suggests significant environmental influence"
        share = self.iqr / self.median * 100
        return [f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           This {advice}."]

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count, median = len(self.raw_times), self.median
        unit, scale = select_unit(median)
        low, high = self._quartiles()
        lines = [object.__repr__(self), self.task_spec.summarize(), f"  {'Median: ' if count > 1 else ''}{median / scale:.2f} {unit}"]
        if count >= 4:
            lines.append(f"  IQR:    {(high - low) / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement,' if count > 1 else ','} "
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {runs}{threads}")
        return "\n".join([*lines, *self._warnings()])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, of all times per run."""
        times: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            times.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, found, task) for task, found in times.items()]


def _quantile(ordered: Sequence[float], q: float) -> float:
    if not ordered:
        return -1.0
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is a handy number, and its length in seconds."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "s")
    return unit, _UNITS[unit][0]


def unit_to_english(u: str) -> str:
    """The name of a unit of time."""
    return _UNITS[u][1]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` significant figures."""
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return round(float(np.float32(x / scale))) * scale
