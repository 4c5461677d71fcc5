"""Instructions traced once for all sizes.

JAX traces a function anew for each size, which costs a millisecond an instruction: what changing sequence lengths spend most of their
time with, once no compiler is waited for.  So when an instruction has been traced for two sizes and a third comes, it is traced with
symbols in place of the numbers that change (``jax.export.symbolic_shape``); that program, with numbers for the symbols, then serves
further sizes: their results' shapes follow from it, and the interpreter runs it.  XLA gets programs traced for the numbers.

Functions of arrays may ask whether two sizes are equal.  A symbol is unequal to everything then, so the program serves only numbers
that differ from each other, from all other sizes of the inputs, and from 0 and 1; numbers for which that is not so are traced.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import export

from ..core.bounded import remember
from ..core.state import thread
from .interpreter import Sizes, SymbolicProgram
from .value import Aval

__all__ = ["Bound", "Family", "family_of"]

#: An instruction is traced for this many sizes before it is traced for all.
TRACED_SIZES = 2

#: A family that could not be traced with symbols this many times is not tried again.
MOST_FAILURES = 3


class Bound(NamedTuple):
    """A function that was made for certain avals, beside those of its arguments (as a gradient for those of the inputs), and how.

    Attributes:
        family: what it is apart from these avals' sizes.
        avals: the avals it was made for.
        make: makes the function for others of the same dtypes and number of dimensions.
    """

    family: Hashable
    avals: tuple[Aval, ...]
    make: Callable[[Sequence[Any]], Callable[..., Any]]


class SymbolicAval:
    """What a maker of functions reads of an aval, with symbols in the size."""

    __slots__ = ("size", "dtype", "shape_dtype", "differentiable", "ndim")

    def __init__(self, size: tuple[Any, ...], aval: Aval) -> None:
        self.size, self.dtype, self.differentiable, self.ndim = size, aval.dtype, aval.differentiable, aval.ndim
        self.shape_dtype = jax.ShapeDtypeStruct(size, aval.dtype.numpy)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The size, under the name that arrays give it."""
        return self.size


class _Pattern:
    """A program for all sizes that follow a pattern: each place a fixed number or a symbol."""

    __slots__ = ("fixed", "symbols", "program")

    def __init__(self, places: tuple[Any, ...], program: SymbolicProgram) -> None:
        self.fixed = [(k, n) for k, n in enumerate(places) if type(n) is int]
        self.symbols: dict[str, list[int]] = {}
        for k, n in enumerate(places):
            if type(n) is str:
                self.symbols.setdefault(n, []).append(k)
        self.program = program

    def match(self, numbers: tuple[int, ...]) -> dict[str, int] | None:
        """The symbols' numbers, if these sizes follow the pattern and the program is right for them."""
        for k, n in self.fixed:
            if numbers[k] != n:
                return None
        found = {}
        for name, places in self.symbols.items():
            number = numbers[places[0]]
            for k in places:
                if numbers[k] != number:
                    return None
            found[name] = number
        return found if _are_distinct(found, [n for _, n in self.fixed]) else None


def _are_distinct(symbols: dict[str, int], fixed: list[int]) -> bool:
    values = set(symbols.values())
    return len(values) == len(symbols) and not values.intersection(fixed) and min(values, default=2) > 1


class Family:
    """An instruction, or several that differ in the avals they are bound to, for inputs of certain dtypes and numbers of dimensions."""

    __slots__ = ("seen", "patterns", "failures")

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []
        self.patterns: list[_Pattern] = []
        self.failures = 0

    def find(self, avals: Sequence[Aval], trace: Callable[[list[SymbolicAval]], tuple[Any, Any]]) -> tuple[Sizes, list[Any]] | None:
        """The program for these sizes with their numbers, and its results' shapes and dtypes; None: trace for these sizes.

        Args:
            avals: bound ones, then the arguments'.
            trace: traces for avals with symbols: (closed jaxpr, shapes and dtypes of the results).
        """
        numbers = tuple([n for aval in avals for n in aval.size])
        for pattern in self.patterns:
            symbols = pattern.match(numbers)
            if symbols is not None:
                return _with_numbers(pattern.program, symbols)
        if len(self.seen) < TRACED_SIZES or self.failures >= MOST_FAILURES:
            if numbers not in self.seen:
                self.seen = [*self.seen[1 - TRACED_SIZES :], numbers]
            return None
        made = self._generalise(numbers, avals, trace)
        self.seen = [*self.seen[1 - TRACED_SIZES :], numbers]
        return made

    def _generalise(self, numbers: tuple[int, ...], avals: Sequence[Aval], trace: Callable) -> tuple[Sizes, list[Any]] | None:
        """Trace with a symbol for each number that has changed; places that always changed alike share one."""
        changing = {k for seen in self.seen for k, (a, b) in enumerate(zip(numbers, seen)) if a != b}
        if not changing:
            return None
        names: dict[tuple[int, ...], str] = {}
        places: list[Any] = []
        for k, n in enumerate(numbers):
            if k in changing:
                places.append(names.setdefault((n, *[seen[k] for seen in self.seen]), f"n{len(names)}"))
            else:
                places.append(n)
        found = {name: history[0] for history, name in names.items()}
        if not _are_distinct(found, [n for n in places if type(n) is int]):
            return None

        def make() -> SymbolicProgram:
            scope = export.SymbolicScope([f"{name} >= 2" for name in found])
            of_name = dict(zip(found, export.symbolic_shape(",".join(found), scope=scope)))
            rest = iter(places)
            return SymbolicProgram(*trace([SymbolicAval(tuple([of_name.get(n, n) for _, n in zip(aval.size, rest)]), aval) for aval in avals]))

        program = _on_own_stack(make)
        if program is None:
            self.failures += 1
            return None
        self.patterns.append(_Pattern(tuple(places), program))
        return _with_numbers(program, found)


def _on_own_stack(make: Callable[[], SymbolicProgram]) -> SymbolicProgram | None:
    """What a function returns; None when it raises, as one does that does with sizes what is not defined for symbols.

    It runs in a thread: JAX keeps errors over symbols in cycles with the frames that raised them, and these keep all frames below them on the
    stack, among them the recorder's with the values that are being recorded, which it would then take for live.
    """
    made: list[SymbolicProgram] = []
    state = thread.state

    def run() -> None:
        thread.state = state
        with contextlib.suppress(Exception):
            made.append(make())

    worker = threading.Thread(target=run, name="pytorchlike-symbols")
    worker.start()
    worker.join()
    return made[0] if made else None


def _with_numbers(program: SymbolicProgram, symbols: dict[str, int]) -> tuple[Sizes, list[Any]]:
    sizes = Sizes(program, symbols)
    return sizes, [jax.ShapeDtypeStruct(sizes.shape(o.shape), np.dtype(o.dtype)) for o in program.outputs]


_families: dict[Hashable, Family] = {}


def family_of(instruction: Any, avals: Sequence[Aval]) -> Family:
    """The family of an instruction for inputs like these."""
    bound = instruction.bound
    kinds = tuple([(a.dtype, a.ndim) for a in avals])
    key = (instruction, kinds) if bound is None else (bound.family, tuple([(a.dtype, a.ndim) for a in bound.avals]), kinds)
    found = _families.get(key)
    if found is None:
        found = remember(_families, key, Family(), 8192)
    return found
