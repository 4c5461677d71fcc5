"""Runs the jobs of many tests in few programs: everything a family's selected tests need is recorded first and compiled together.

A job is ``job(module, *arguments) -> results``; the same one runs on torch and on pytorchlike.  Recording costs little and compiling a
lot, so the first test of a family records all jobs of the family and flushes once for each `CHUNK` of them.  A job that raises leaves
its error in its `Outcome`, and a chunk whose program fails is run again job by job, so that failures stay with the tests they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytorchlike as ours

#: Jobs in one program: XLA's time grows a little faster than the program.
CHUNK = 60

Job = Callable[..., Any]


class Outcome:
    """What a job came to: its results or its error."""

    __slots__ = ("value", "error")

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self.value = value
        self.error = error

    def get(self) -> Any:
        """The results.

        Raises:
            The job's own error.
        """
        if self.error is not None:
            raise self.error
        return self.value


def attempt(job: Job, *arguments: Any) -> Outcome:
    """Run a job and keep its results or its error."""
    try:
        return Outcome(job(*arguments))
    except Exception as error:
        return Outcome(error=error.with_traceback(None))


def run_all(jobs: Iterable[tuple[Hashable, Job, tuple]]) -> dict[Hashable, Outcome]:
    """Run jobs (key, function, arguments) on pytorchlike, many in one program."""
    jobs = list(jobs)
    found: dict[Hashable, Outcome] = {}
    for start in range(0, len(jobs), CHUNK):
        chunk = jobs[start : start + CHUNK]
        outcomes = {key: attempt(job, ours, *arguments) for key, job, arguments in chunk}
        if attempt(ours.graph.flush_all).error is not None:
            outcomes = {}
            for key, job, arguments in chunk:
                alone = attempt(job, ours, *arguments)
                flushed = attempt(ours.graph.flush_all)
                outcomes[key] = alone if flushed.error is None else flushed
        found |= outcomes
    return found
