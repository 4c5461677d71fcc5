"""A recorded trace as one instruction: what a compiled function's call records in place of the operators it once recorded."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..graph.host import HostProgram
from ..graph.instruction import Inference, Instruction
from ..graph.interpreter import Prepared
from ..graph.lower import avals_of, needed_steps, run_steps, told_of
from ..graph.trie import State
from ..graph.value import Aval

__all__ = ["Captured", "captured", "part_of"]


class _Whole(Inference):
    """The results of a captured trace, evaluated operator by operator into the program that is being traced."""

    __slots__ = ("instruction",)

    def __init__(self, instruction: Captured, outputs: tuple[Aval, ...]) -> None:
        super().__init__(outputs, None)
        self.instruction = instruction

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        return self.instruction.evaluate(arguments)

    @property
    def prepared(self) -> Prepared:
        """The operators as calls of numpy, one after the other."""
        instruction = self.instruction
        program = HostProgram(instruction.steps, instruction.inputs, instruction.results, avals_of(instruction.position))
        arrays, floats = len(instruction.inputs), len(instruction.inputs) + instruction.float_count

        def run(*given: Any) -> list[Any]:
            results, verdicts = program.run(given[:arrays], given[arrays:floats], given[floats:])
            return results if verdicts is None else [*results, verdicts]

        inputs, outputs = floats + instruction.int_count, len(instruction.results) + bool(instruction.data_checks)
        places = range(inputs, inputs + outputs)
        return Prepared([(run, tuple(range(inputs)), tuple(places))], [None] * (inputs + outputs), inputs, list(places))


class Captured(Instruction):
    """The operators between the start of a trace and a position of the trie, as one instruction.

    Args:
        name: the compiled function's name.
        position: where the trace stood when the call was over.
        results: the slots that something outside of the trace needs.
        owner: the number of the compiled function that captured it first.

    Attributes:
        inputs: the input slots that it takes, in this order.
        steps: the operators that are needed for the results, or that check data.
        packed: the programs of compiler/packing.py.
    """

    __slots__ = ("position", "results", "owner", "inputs", "steps", "packed", "__weakref__")

    is_whole = True

    def __init__(self, name: str, position: State, results: tuple[int, ...], owner: int = 0) -> None:
        self.position, self.results, self.owner = position, results, owner
        inputs, self.steps = needed_steps(position, results, meta=True)
        self.inputs = tuple(inputs)
        checks = [check for step in self.steps if step.instruction is not None for check in step.instruction.data_checks]
        super().__init__(name, self.evaluate, position.float_count, position.int_count, checks)
        self.at_once = False
        self.packed: dict[tuple, Any] = {}

    def _infer(self, avals: tuple[Aval, ...]) -> Inference:
        made = avals_of(self.position)
        return _Whole(self, tuple([made[slot] for slot in self.results]))

    @property
    def family(self) -> Hashable:
        return self.owner, *[step.instruction.name for step in self.steps if step.instruction is not None]

    def identity(self) -> Any:
        return told_of(self.steps), repr((self.inputs, self.results, self.float_count, self.int_count))

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        """The results, and behind them the verdicts of the data checks."""
        environment = dict(zip(self.inputs, arguments, strict=False))
        floats = arguments[len(self.inputs) : len(self.inputs) + self.float_count]
        ints = arguments[len(self.inputs) + self.float_count :]
        verdicts = run_steps(self.steps, environment, part_of(floats), part_of(ints))
        return [environment[slot] for slot in self.results] + verdicts


def part_of(numbers: Sequence[Any]) -> Callable[[int, int], list[Any]]:
    """Numbers of a trace as `run_steps` asks for them."""
    return lambda first, end: list(numbers[first:end])


#: Forgotten with the last compiled call (or the trie, see `recorder.forget_programs`) that has them.
_made: weakref.WeakValueDictionary[tuple[State, tuple[int, ...]], Captured] = weakref.WeakValueDictionary()


def captured(name: str, position: State, results: tuple[int, ...], owner: int = 0) -> Captured:
    """The one instruction for this trace and these results: numbers that differ from call to call make no new one."""
    found = _made.get((position, results))
    if found is None:
        found = _made[position, results] = Captured(name, position, results, owner)
    return found
