"""A recorded trace as one instruction: what a compiled function's call records in place of the operators it once recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ..graph.instruction import Inference, Instruction
from ..graph.trie import State
from ..graph.value import Aval

__all__ = ["Captured", "captured"]


class _Whole(Inference):
    """The results of a captured trace, evaluated operator by operator into the program that is being traced."""

    __slots__ = ("instruction",)

    def __init__(self, instruction: Captured, outputs: tuple[Aval, ...]) -> None:
        super().__init__(outputs, None, ())
        self.instruction = instruction

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        return self.instruction.evaluate(arguments)


class Captured(Instruction):
    """The operators between the start of a trace and a position of the trie, as one instruction.

    Args:
        name: the compiled function's name.
        position: where the trace stood when the call was over.
        results: the slots that something outside of the trace needs.

    Attributes:
        inputs: the input slots that it takes, in this order.
        steps: the operators that are needed for the results, or that check data.
    """

    __slots__ = ("position", "results", "inputs", "steps")

    def __init__(self, name: str, position: State, results: tuple[int, ...]) -> None:
        self.position, self.results = position, results
        needed = set(results)
        steps: list[State] = []
        inputs: list[int] = []
        for state in reversed(position.path()):
            if state.instruction is None:
                if state.slot in needed:
                    inputs.append(state.slot)
                continue
            assert state.inference is not None
            made = range(state.slot, state.slot + len(state.inference.outputs))
            if state.instruction.data_checks or not needed.isdisjoint(made):
                steps.append(state)
                needed.update(state.slots)
        self.inputs = tuple(reversed(inputs))
        self.steps = steps[::-1]
        checks = [check for step in self.steps if step.instruction is not None for check in step.instruction.data_checks]
        super().__init__(name, self.evaluate, position.float_count, position.int_count, checks)
        self.at_once = False

    def _infer(self, avals: tuple[Aval, ...]) -> Inference:
        made: dict[int, Aval] = {}
        for state in self.position.path():
            outputs = (state.aval,) if state.inference is None else state.inference.outputs
            made.update(zip(range(state.slot, state.slot + len(outputs)), outputs, strict=True))  # type: ignore[arg-type]
        return _Whole(self, tuple([made[slot] for slot in self.results]))

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        """The results, and behind them the verdicts of the data checks."""
        environment = dict(zip(self.inputs, arguments, strict=False))
        floats = arguments[len(self.inputs) : len(self.inputs) + self.float_count]
        ints = arguments[len(self.inputs) + self.float_count :]
        verdicts: list[Any] = []
        for step in self.steps:
            instruction, inference, before = step.instruction, step.inference, step.parent
            assert instruction is not None and inference is not None and before is not None
            given = [environment[slot] for slot in step.slots]
            given += floats[before.float_count : before.float_count + instruction.float_count]
            given += ints[before.int_count : before.int_count + instruction.int_count]
            with jax.named_scope(instruction.name):
                results = inference.evaluate(given)
            count = len(inference.outputs)
            environment.update(zip(range(step.slot, step.slot + count), results[:count], strict=True))
            verdicts += results[count:]
        return [environment[slot] for slot in self.results] + verdicts


_made: dict[tuple[State, tuple[int, ...]], Captured] = {}


def captured(name: str, position: State, results: tuple[int, ...]) -> Captured:
    """The one instruction for this trace and these results: numbers that differ from call to call make no new one."""
    found = _made.get((position, results))
    if found is None:
        found = _made[position, results] = Captured(name, position, results)
    return found
