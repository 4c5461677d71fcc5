"""Recording a module for other sizes than the examples', and whether it does the same then."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.region import Output, placeholder
from ..core import pytree
from ..graph.lower import avals_of
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from ..tensors.views import Window
from .recording import Program, record_program
from .shape_specs import Place, Symbol, Symbols, sizes_of

__all__ = ["MOST", "SAMPLES", "Numbers", "Trials", "extremes_of", "floor_of", "place_of", "samples_of"]

#: A module is recorded for this many combinations of sizes, all different.
SAMPLES = 5
#: What stands for the largest size where there is no bound.
MOST = 1009
#: Sizes that are tried; in fives, which differ in which of them are even and in which are the largest, and those first that few numbers in programs
#: are equal to.
_SIZES = (11, 26, 49, 84, 113, 131, 18, 30, 61, 87, 58, 139, 19, 97, 38, 54, 81, 128, 13, 33, 7, 41, 43, 5, 67, 3, *range(2, 64), *range(64, 4096, 61))  # fmt: skip
#: The instruction that reads a part of a tensor.
_WINDOW = "read_window"
#: Symbols' names -> sizes.
Numbers = dict[str, int]


def floor_of(symbol: Symbol, symbols: Symbols) -> int:
    """The least number for which none of the sizes that depend on it is 0 or 1: what is true of other sizes is not of these."""
    places = [place for shape in symbols.tensor_shapes for place in shape if isinstance(place, Place) and place.symbol == symbol.name]
    return max([symbol.least, *[-((place.offset - 2) // place.factor) for place in places]])


def samples_of(symbols: Symbols) -> list[Numbers]:
    """Combinations of sizes within the bounds, no size twice where there is room."""
    chosen: list[Numbers] = [{} for _ in range(SAMPLES)]
    taken: set[int] = set()
    for symbol in symbols.table.values():
        least, most = floor_of(symbol, symbols), symbol.most or 1 << 62
        room = [n for size in _SIZES if least <= (n := size * symbol.step + symbol.rest) <= most] or [symbol.example]
        fresh = list(dict.fromkeys(n for n in room if n not in taken)) or room
        for k in range(SAMPLES):
            chosen[k][symbol.name] = fresh[k % len(fresh)]
            taken.add(fresh[k % len(fresh)])
    return chosen


def extremes_of(symbols: Symbols) -> list[Numbers]:
    """The least and the largest sizes."""
    low: Numbers = {}
    high: Numbers = {}
    for k, symbol in enumerate(symbols.table.values()):
        step, rest = symbol.step, symbol.rest
        least = floor_of(symbol, symbols)
        least += (rest - least) % step + k * step
        most = symbol.most if symbol.most is not None and symbol.most <= MOST else MOST + 2 * k
        most -= (most - rest) % step
        low[symbol.name], high[symbol.name] = min(least, max(most, symbol.example)), max(most, symbol.example)
    return [low, high]


class Trials:
    """The programs of a module for sizes in the place of the examples'.

    Args:
        base: the program for the examples.
    """

    #: So many are recorded at most.
    LIMIT = 400

    def __init__(self, module: Module, args: tuple, kwargs: dict[str, Any], symbols: Symbols, base: Program) -> None:
        self.module, self.symbols = module, symbols
        self.leaves, self.structure = pytree.flatten((args, kwargs))
        self.base, self.outline = base, _outline(base)
        self.known: dict[tuple[tuple[int, ...], ...], Program | Exception] = {}
        again = record_program(module, args, kwargs)
        alike = zip(_steps(base), _steps(again), strict=True)
        self.fixed = {k for k, (a, b) in enumerate(alike) if a.instruction is b.instruction}  # those that differ for other static arguments only
        self.sizes = _sizes(base)
        self.shapes = list(symbols.shapes)  # these of all symbols, also when relations between them are found

    def recorded(self, numbers: Numbers) -> Program | Exception:
        """The program for these sizes, or why there is none."""
        sizes = self._sizes_of(numbers)
        if sizes not in self.known:
            if len(self.known) >= self.LIMIT:
                return RuntimeError("too many combinations of sizes were tried")
            arriving = iter(sizes)
            given = [placeholder(x, next(arriving)) if isinstance(x, Tensor) else x for x in self.leaves]
            try:
                self.known[sizes] = record_program(self.module, *pytree.unflatten(given, self.structure))
            except Exception as error:  # whatever the module raises
                self.known[sizes] = error
        return self.known[sizes]

    def _sizes_of(self, numbers: Numbers) -> tuple[tuple[int, ...], ...]:
        return tuple([sizes_of(shape, numbers) for shape in self.shapes if shape is not None])

    def is_same(self, numbers: Numbers) -> bool:
        """Whether for these sizes the module does what it does for the examples.

        A window that is the whole tensor is not read; one more or less is no difference.
        """
        found = self.recorded(numbers)
        return isinstance(found, Program) and _outline(found) == self.outline

    def are_bound_alike(self, combinations: Sequence[Numbers]) -> bool:
        """Whether what is bound to operators is the same for the examples and these combinations, or depends on them."""
        programs = [program for program in map(self.recorded, combinations) if isinstance(program, Program)]
        return self._are_bound_alike(programs, len(programs))

    def _are_bound_alike(self, programs: Sequence[Program], known: int) -> bool:
        """Whether an operator on tensors of the same sizes, that is the same in the first programs, is so in the others and in the examples' program.

        Its static arguments may depend on other tensors' sizes, but then they do in all programs.
        """
        steps = [_steps(program) for program in (self.base, *programs)]
        if len(set(map(len, steps))) != 1:
            return True
        for k, sizes in enumerate(zip(self.sizes, *map(_sizes, programs), strict=True)):
            made = [_bound(each[k], program) for each, program in zip(steps, (self.base, *programs), strict=True)]
            is_known = k in self.fixed or isinstance(steps[0][k].instruction, Window)
            if is_known and all(each == sizes[0] for each in sizes) and len(set(made[1 : 1 + known])) == 1 != len(set(made)):
                return False
        return True

    def follows(self, numbers: Numbers, others: Sequence[Numbers], place: Callable[[Numbers], int]) -> bool:
        """Whether a program's numbers lie on the lines through those of the examples' program and two others, where these are lines, and its
        operators have the static arguments of theirs.

        Args:
            place: where on the line a program is.
        """
        programs = [program for program in map(self.recorded, (*others, numbers)) if isinstance(program, Program)]
        if not self._are_bound_alike(programs, len(others)):
            return False
        at = [place({}), *map(place, (*others, numbers))]
        for values in zip(*map(_numbers, (self.base, *programs)), strict=True):
            if all(type(v) is int for v in values):
                rises = [(v - values[0]) * (at[1] - at[0]) - (values[1] - values[0]) * (n - at[0]) for v, n in zip(values, at, strict=True)]
                if rises[2] == 0 and rises[3] != 0:
                    return False
        return True

    def are_same(self, combinations: Sequence[Numbers]) -> bool:
        """The same for several combinations; also whether the numbers of the first ones' programs tell those of the rest and of the examples'."""
        if not all(map(self.is_same, combinations)):
            return False
        programs = [program for program in map(self.recorded, combinations) if isinstance(program, Program)]
        if not self._are_bound_alike(programs, SAMPLES):
            return False
        given = [{name: symbol.example for name, symbol in self.symbols.table.items()}, *combinations]
        for values in zip(*map(_numbers, (self.base, *programs)), strict=True):
            first = values[1 : 1 + SAMPLES]
            place = place_of(first, combinations[:SAMPLES])
            if place is not None and any(place.of(numbers) != v for numbers, v in zip(given, values, strict=True)):
                return False
            if len(first) > 2 and len(set(first)) == 1 and len(set(values)) > 1:
                return False
        return True


def place_of(values: Sequence[Any], combinations: Sequence[Numbers]) -> Place | None:
    """The expression that gives a number for these combinations; None if it is one and the same, or if there is no expression."""
    if not all(type(v) is int for v in values) or len(set(values)) == 1:
        return None
    for name in combinations[0]:
        sizes = [numbers.get(name, 0) for numbers in combinations]
        if sizes[0] == sizes[1]:
            continue
        factor, rest = divmod(values[1] - values[0], sizes[1] - sizes[0])
        place = Place(name, factor, values[0] - factor * sizes[0])
        if not rest and all(factor * n + place.offset == v for n, v in zip(sizes, values, strict=True)):
            return place
    return None


def _steps(program: Program) -> list[Any]:
    assert program.region is not None
    return program.region.captured.steps


def _bound(step: Any, program: Program) -> tuple:
    """An operator with its static arguments."""
    instruction = step.instruction
    if not isinstance(instruction, Window):
        return (id(instruction),)
    assert program.region is not None
    offset = program.region.ints[step.parent.int_count] if instruction.int_count else instruction.at.offset  # a number of the trace, or not
    return instruction.at.size, instruction.at.stride, offset


def _sizes(program: Program) -> list[list[Any]]:
    """Of each operator, the sizes of what it takes and of its results."""
    assert program.region is not None
    avals = avals_of(program.region.captured.position)
    return [[avals[slot].size for slot in step.slots] + [aval.size for aval in step.inference.outputs] for step in _steps(program)]


def _outline(program: Program) -> tuple:
    """What a program does, without numbers and without the windows of tensors that operators read."""
    region = program.region
    assert region is not None
    names: dict[int, Any] = dict(zip(region.captured.inputs, region.sources, strict=True))
    steps: list[tuple] = []
    for step in region.captured.steps:
        assert step.instruction is not None and step.inference is not None
        if step.instruction.name == _WINDOW:
            names[step.slot] = names[step.slots[0]]
            continue
        made = step.inference.outputs
        names.update({step.slot + k: (len(steps), k) for k in range(len(made))})
        operands = [names[slot] for slot in step.slots]
        steps.append((step.instruction.name, operands, [(aval.dtype, aval.ndim) for aval in made], step.float_count, step.int_count))
    results = [names[region.captured.results[k]] if kind == "result" else k for kind, k in region.outputs]
    leaves = [leaf if isinstance(leaf, Output) or not isinstance(leaf, (int, float)) else type(leaf) for leaf in program.leaves]
    return steps, results, len(region.outside), region.draws.keys(), program.structure, leaves, program.written


def _numbers(program: Program) -> list[Any]:
    """The numbers of a program, in an order that `_outline` fixes: the sizes of what operators take and of the results, and what is no size."""
    region = program.region
    assert region is not None
    avals = avals_of(region.captured.position)
    steps = [step for step in _steps(program) if step.instruction.name != _WINDOW]
    sizes = [avals[slot].size for step in steps for slot in step.slots] + [aval.size for aval in region.avals]
    bound: list[Any] = []
    for step in steps:
        floats, ints = step.parent.float_count, step.parent.int_count
        bound += region.floats[floats : floats + step.instruction.float_count] + region.ints[ints : ints + step.instruction.int_count]
    leaves = [leaf for leaf in program.leaves if isinstance(leaf, (int, float)) and not isinstance(leaf, Output)]
    return [*itertools.chain.from_iterable(sizes), *bound, *leaves]
