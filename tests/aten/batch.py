"""Runs the jobs of many tests in few programs: everything a family's selected tests need is recorded first and compiled together.

A job is ``job(module, *arguments) -> results``; the same one runs on torch and on pytorchlike.  Recording costs little and compiling a
lot, so the first test of a family records all jobs of the family and flushes once for each `CHUNK` of them.  A job that raises leaves
its error in its `Outcome`, and a chunk whose program fails is halved until the job is found, so that failures stay with their tests.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import torch as real_torch

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


#: Whether each attempt is flushed at once: a job whose program fails is run again like this, to learn which of its parts it was.
_alone = False


def attempt(job: Job, *arguments: Any) -> Outcome:
    """Run a job, or a part of one, and keep its results or its error."""
    try:
        value = job(*arguments)
        if _alone and real_torch not in arguments:
            ours.graph.flush_all()
        return Outcome(value)
    except Exception as error:
        return Outcome(error=error.with_traceback(None))


def run_all(jobs: Iterable[tuple[Hashable, Job, tuple]]) -> dict[Hashable, Outcome]:
    """Run jobs (key, function, arguments) on pytorchlike, many in one program."""
    fine: list[tuple[Hashable, Job, tuple]] = []
    found: dict[Hashable, Outcome] = {}
    for each in jobs:
        if _fails_in_torch(*each[1:]):  # by itself, for its error may come when the program runs
            found |= _run_together([each])
        else:
            fine.append(each)
    for start in range(0, len(fine), CHUNK):
        found |= _run_together(fine[start : start + CHUNK])
    return found


def _fails_in_torch(job: Job, arguments: tuple) -> bool:
    outcome = attempt(job, real_torch, *arguments)
    parts = outcome.value.values() if isinstance(outcome.value, dict) else ()
    return outcome.error is not None or any(p.error is not None for p in parts if isinstance(p, Outcome))


def _run_together(jobs: list[tuple[Hashable, Job, tuple]]) -> dict[Hashable, Outcome]:
    """Run jobs in one program; where it fails each half of them anew, down to the job that did it."""
    global _alone
    outcomes = {key: attempt(job, ours, *arguments) for key, job, arguments in jobs}
    try:
        ours.graph.flush_all()
    except Exception:
        if len(jobs) > 1:
            half = len(jobs) // 2
            return _run_together(jobs[:half]) | _run_together(jobs[half:])
        ((key, job, arguments),) = jobs
        _alone = True
        try:
            outcomes = {key: attempt(job, ours, *arguments)}
        finally:
            _alone = False
    return outcomes
