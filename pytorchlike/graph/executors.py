"""The immediate executor: each instruction runs at once.  (The deferred one is the recorder itself.)

It serves debugging, and code inside JAX's transformations, where the arrays are tracers.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax import lax

from ..core.state import thread
from . import counters, pieces
from .instruction import Instruction, enable_x64
from .value import Value, constant

__all__ = ["immediate", "immediate_by_default", "inside_jax", "run_now", "seen_by_jax", "without_gradient"]


def immediate_by_default() -> bool:
    """Whether ``PYTORCHLIKE_EXECUTION=immediate`` was set when the process started."""
    return os.environ.get("PYTORCHLIKE_EXECUTION", "deferred") == "immediate"


@contextlib.contextmanager
def immediate() -> Iterator[None]:
    """Run each operator of this thread at once inside the block."""
    state = thread.state
    state.immediate += 1
    state.slow += 1
    try:
        yield
    finally:
        state.immediate -= 1
        state.slow -= 1


@contextlib.contextmanager
def inside_jax() -> Iterator[None]:
    """Run each operator of this thread at once on the arrays of JAX's transformations, which differentiate what the tape would.

    Off the tape, that is under ``no_grad`` and behind ``detach()``, ``jax.grad`` sees constants.
    """
    state = thread.state
    before = state.off_tape_is_constant, state.grad_enabled
    state.off_tape_is_constant = state.grad_enabled = True
    try:
        with immediate():
            yield
    finally:
        state.off_tape_is_constant, state.grad_enabled = before


class seen_by_jax:  # noqa: N801 - reads as a statement
    """What runs inside the block has derivatives for JAX although it is off the tape: the work of a function whose results are on it."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        state = thread.state
        self.before, state.off_tape_is_constant = state.off_tape_is_constant, False

    def __exit__(self, *error: object) -> None:
        thread.state.off_tape_is_constant = self.before


def without_gradient(value: Value) -> Value | None:
    """A value as a constant for the JAX transformation that it is part of; None if it is part of none."""
    if not isinstance(value.array, jax.core.Tracer):
        return None
    return constant(lax.stop_gradient(value.array), value.aval)


def run_now(instruction: Instruction, arguments: tuple[Value, ...], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Value, ...]:
    """Run one instruction on computed values and return computed values; inside a transformation, hand it to that.

    Args:
        floats, ints: the Python numbers that the instruction takes.

    Raises:
        The error of a data check that fails (not on tracers, whose numbers nobody knows).
    """
    levels = thread.state.levels
    if levels:
        return levels[-1].record(instruction, arguments, floats, ints)
    arrays = [a.array if a.trace is None else _computed(a) for a in arguments]
    avals = tuple([a.aval for a in arguments])
    inference = instruction.infer(avals)
    if any(a.is_meta for a in inference.outputs):
        return tuple([constant(None, a) for a in inference.outputs])
    scalars = [*[np.float64(f) for f in floats], *[np.int64(i) for i in ints]]
    start = time.perf_counter() if counters.watchers else 0.0
    with enable_x64(True):
        if any(isinstance(a, jax.core.Tracer) for a in arrays):
            found = thread.state.on_tracers
            results = instruction.call(*arrays, *scalars)[0] if found is None else found(instruction, avals, inference.outputs)(*arrays, *scalars)
            if thread.state.off_tape_is_constant and not thread.state.grad_enabled:
                results = lax.stop_gradient(results)
            return tuple([constant(r, a) for r, a in zip(results, inference.outputs, strict=True)])
        with jax.ensure_compile_time_eval():  # constants inside a JAX transformation are computed now
            results, flags = pieces.compiled(instruction, avals)(*arrays, *scalars)
    if counters.watchers:
        counters.tell([instruction], start, results)
    for flag, check in zip(flags, instruction.data_checks, strict=True):
        failed, *numbers = np.asarray(flag)
        if failed:
            raise check.error(numbers)
    return tuple([constant(r, a) for r, a in zip(results, inference.outputs, strict=True)])


def _computed(value: Value) -> Any:
    """The array of a value that was recorded before; inside a JAX transformation its trace is no part of what is transformed."""
    from .recorder import materialise

    with jax.ensure_compile_time_eval():
        return materialise(value, "immediate")
