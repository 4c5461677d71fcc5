"""Runs a trace's instructions on the host, one after the other: by numpy where it can, else as single compiled instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import pieces
from .instruction import enable_x64
from .trie import State
from .value import Aval

__all__ = ["HostProgram"]


class HostProgram:
    """Instructions of a trace, ready for numpy.

    Args:
        steps: the instructions, in order.
        inputs: the slots it is given.
        live: the slots it computes.
        avals: of all slots that are read.

    Attributes:
        pieces: how many instructions XLA has to run.
    """

    __slots__ = ("inputs", "live", "calls", "pieces")

    def __init__(self, steps: Sequence[State], inputs: Sequence[int], live: Sequence[int], avals: dict[int, Aval]) -> None:
        self.inputs, self.live = inputs, live
        self.pieces = 0
        last_use: dict[int, int] = {}
        for k, step in enumerate(steps):
            last_use.update(dict.fromkeys(step.slots, k))
        kept = set(live)
        self.calls = []
        for k, step in enumerate(steps):
            instruction, inference, before = step.instruction, step.inference, step.parent
            assert instruction is not None and inference is not None and before is not None
            prepared = inference.prepared
            if prepared is None:
                self.pieces += 1
                run = _piece(pieces.compiled(instruction, tuple([avals[slot] for slot in step.slots])))
            else:
                run = prepared.run
            results = range(step.slot, step.slot + len(inference.outputs))
            dead = [slot for slot in dict.fromkeys((*step.slots, *results)) if last_use.get(slot, k) == k and slot not in kept]
            floats = slice(before.float_count, before.float_count + instruction.float_count)
            ints = slice(before.int_count, before.int_count + instruction.int_count)
            self.calls.append((run, step.slots, floats if instruction.float_count else None, ints if instruction.int_count else None, results, dead))

    def run(self, arrays: Sequence[Any], floats: Sequence[float], ints: Sequence[int]) -> tuple[list[Any], Any]:
        """The arrays of the live slots, and the verdicts of data checks in one vector or None; see `lower.Program.run`."""
        environment = dict(zip(self.inputs, map(np.asarray, arrays)))
        verdicts: list[Any] = []
        with np.errstate(all="ignore"), enable_x64(True):
            for run, slots, some_floats, some_ints, results, dead in self.calls:
                arguments: list[Any] = [environment[slot] for slot in slots]
                if some_floats is not None:
                    arguments += [np.float64(number) for number in floats[some_floats]]
                if some_ints is not None:
                    arguments += [np.int64(number) for number in ints[some_ints]]
                found = run(arguments)
                environment.update(zip(results, found))
                if len(found) > len(results):
                    verdicts += found[len(results) :]
                for slot in dead:
                    del environment[slot]
        return [np.asarray(environment[slot]) for slot in self.live], np.concatenate(verdicts) if verdicts else None


def _piece(function: Any) -> Any:
    def run(arguments: list[Any]) -> list[Any]:
        results, verdicts = function(*arguments)
        return [np.asarray(each) for each in (*results, *verdicts)]

    return run
