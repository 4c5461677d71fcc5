"""`Timer`: how long a statement takes, with the work of devices."""

from __future__ import annotations

import ast
import enum
import statistics
import textwrap
import timeit
from collections.abc import Callable
from typing import Any, NoReturn

import jax

from ...graph.recorder import flush_all, step_boundary
from .measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "timer"]

_IN_FLIGHT = 16  # runs that may be on their way to a device


def timer() -> float:
    """The clock, read when all that was recorded has been computed."""
    _wait()
    return timeit.default_timer()


def _wait() -> None:
    flush_all()
    jax.block_until_ready([array for array in jax.live_arrays() if not array.is_deleted()])


class Language(enum.Enum):
    """What statements are written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Times a statement.

    Each run is a program of its own, started when the statement is through: else results that nobody looks at would never be computed, and runs that
    do the same would be computed once. So launching a program is part of the time; compilation is not, as the first runs do not count.

    Limits: ``num_threads`` changes nothing but the label; statements in C++ and ``collect_callgrind`` raise NotImplementedError.
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
                 globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None, description: str | None = None,
                 env: str | None = None, num_threads: int = 1, language: Language | str = Language.PYTHON) -> None:  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("Timer: C++ statements use torch's own library, which pytorchlike does not have")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        names = dict(globals or {})
        if "torch" not in names:
            import pytorchlike

            names["torch"] = pytorchlike
        names["_run"] = self._run
        self._results: list[Any] = []
        stmt, setup = _tidy(stmt), _tidy(setup)
        self._timer = timeit.Timer(_running(stmt), setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _run(self, result: Any) -> None:
        """Start the program; its result is alive until it is there, so it is computed and waited for."""
        self._results.append(result)
        step_boundary("benchmark")
        if len(self._results) >= _IN_FLIGHT:
            _wait()
            self._results.clear()

    def _timeit(self, number: int) -> float:
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            self._results.clear()

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement so often, after a hundredth of that without counting the time."""
        self._timeit(max(number // 100, 4))
        return Measurement(number, [self._timeit(number)], self._task_spec)

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Run blocks of statements for at least ``min_run_time`` seconds; blocks are long enough for the clock not to count."""
        number = self._block_size(min_run_time)
        return self._measure(number, lambda times: True, min_run_time, None, callback)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:  # fmt: skip
        """Run blocks until the interquartile range is below ``threshold`` of the median, or the time is up."""
        number = self._block_size(0.05)

        def is_steady(times: list[float]) -> bool:
            return len(times) > 3 and Measurement(number, times, self._task_spec).meets_confidence(threshold)

        return self._measure(number, is_steady, min_run_time, max_run_time, callback)

    def _block_size(self, min_run_time: float) -> int:
        overhead = statistics.median([self._timeit(0) for _ in range(5)])
        number = 1
        while number <= 2**31 // 10:
            if number == 1:
                self._timeit(4)  # compiles
            taken = self._timeit(number)
            if taken > min_run_time or (overhead / taken <= 1e-4 and taken >= min_run_time / 1000):
                break
            number *= 10
        return number

    def _measure(self, number: int, may_stop: Callable[[list[float]], bool], at_least: float, at_most: float | None, callback: Any) -> Measurement:
        times: list[float] = []
        while not (times and sum(times) >= at_least and may_stop(times)):
            times.append(self._timeit(number))
            if callback:
                callback(number, times[-1])
            if at_most and sum(times) > at_most:
                break
        return Measurement(number, times, self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Not there, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> NoReturn:
        """Not there, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not possible.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Timer.collect_callgrind: instructions are not counted")


def _tidy(code: str) -> str:
    code = textwrap.dedent(code)
    return (code[1:] if code.startswith("\n") else code).rstrip()


def _running(stmt: str) -> str:
    """The statement, and then the program that computes its result or, if it is more than an expression, the variables."""
    if stmt == "pass":
        return stmt
    try:
        ast.parse(stmt, mode="eval")
    except SyntaxError:
        return f"{stmt}\n_run([*locals().values()])"
    return f"_run((\n{stmt}\n))"
