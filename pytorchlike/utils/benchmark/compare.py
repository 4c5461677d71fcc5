"""`Compare`: measurements as a table."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from typing import Any

from .measurement import Measurement, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BOLD, _END = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"


class Colorize(enum.Enum):
    """Which results are compared by colour."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements, one for each label: rows are sub-labels (within numbers of threads and environments), columns are descriptions."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._warn = False
        self._colour = Colorize.NONE

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises:
            ValueError: something is none.
        """
        results = list(results)
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(each)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only figures that mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the best and the worst of each column, or row."""
        self._colour = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark measurements that vary much."""
        self._warn = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        by_label: dict[Any, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            by_label.setdefault(each.label, []).append(each)
        return "\n".join(self._table(found) for found in by_label.values())

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(r.median for r in results))
        columns = list(dict.fromkeys(r.description for r in results))
        cells = {(r.num_threads, r.env, r.as_row_name, r.description): r for r in results}
        rows = sorted(dict.fromkeys((r.num_threads, r.env, r.as_row_name) for r in results), key=lambda row: row[:2])
        environments = {r.env for r in results}
        indent = max(len(e or "") for e in environments) if len(environments) > 1 else 0
        texts: list[list[str]] = [["", *[c or "" for c in columns]]]
        formats = [self._format([r for r in results if r.description == c], scale) for c in columns]
        previous: tuple = (None, None)
        for row in rows:
            name = (f"({row[1]})" if indent and row[:2] != previous else "").ljust(indent + 4)
            texts.append(["  " + name + row[2], *[form(cells.get((*row, c))) for form, c in zip(formats, columns, strict=True)]])
            previous = row[:2]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = ["  |  ".join(text.center(width) for text, width in zip(texts[0], widths, strict=True))]
        overall, threads = len(lines[0]), None
        for row, line in zip(rows, texts[1:], strict=True):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(overall, "-"))
            found = [cells.get((*row, c)) for c in columns]
            best = [self._best(results, row, c) for c in columns]
            shown = [self._coloured(t.center(w), r, b) for t, w, r, b in zip(line[1:], widths[1:], found, best, strict=True)]
            lines.append("  |  ".join([line[0].ljust(widths[0]), *shown]))
        title = f" {results[0].label or ''} ".center(overall - 2, "-")
        warning = self._warn and any(r.has_warnings for r in results)
        note = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n" if warning else ""
        return "\n".join([f"[{title}]", *lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", note])

    def _format(self, column: list[Measurement], scale: float) -> Any:
        """What writes the results of a column, all with the same digits."""
        digits = [math.ceil(math.log10(r.median / scale)) for r in column]
        decimals = min(max(r.significant_figures - d, 0) for r, d in zip(column, digits, strict=True)) if self._trim else 1
        width = max(digits) + decimals + bool(decimals)
        extra = 7 if self._warn and any(r.has_warnings for r in column) else 0

        def text(result: Measurement | None) -> str:
            if result is None:
                return " " * (max(width, len(f"{1:.{decimals}f}")) + extra)
            value = result.median / scale
            value = trim_sigfig(value, result.significant_figures) if self._trim else value
            mark = f" (! {result.iqr / result.median * 100:.0f}%)" if extra and result.has_warnings else ""
            return f"{value:>{max(width, 0)}.{decimals}f}{mark:>{extra}}"

        return text

    def _best(self, results: list[Measurement], row: tuple, column: str | None) -> float:
        if self._colour is Colorize.ROWWISE:
            return min(r.median for r in results if (r.num_threads, r.env, r.as_row_name) == row)
        return min((r.median for r in results if r.num_threads == row[0] and r.description == column), default=math.inf)

    def _coloured(self, text: str, result: Measurement | None, best: float) -> str:
        if self._colour is Colorize.NONE or result is None:
            return text
        value = result.median
        if value <= best * 1.01 or value <= best + 100e-9:
            return _BEST + _BOLD + text + _END * 2
        if value <= best * 1.1:
            return _GOOD + _BOLD + text + _END * 2
        if value >= best * 5:
            return _VERY_BAD + _BOLD + text + _END * 2
        return _BAD + text + _END * 2 if value >= best * 2 else text
