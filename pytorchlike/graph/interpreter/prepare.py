"""From a jaxpr to a list of numpy calls."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np
from jax.extend.core import Literal

from ..jaxprs import called_by
from .sizes import Equation, Sizes
from .table import PRIMITIVES, NotInterpretable, Run, dtype_of

__all__ = ["Prepared", "prepare"]

#: Primitives that change nothing on the host.
_IDENTITIES = frozenset(["stop_gradient", "copy", "copy_p", "optimization_barrier", "device_put", "name", "sharding_constraint", "pvary"])

#: Arrays of fewer elements are not reused.
_LARGE = 2048

#: Results of equations without inputs from outside are computed once, if they are not larger.
_LARGEST_CONSTANT = 1 << 16


#: (function, places of its arguments, place of its result or tuple of places).
Call = tuple[Run, tuple[int, ...], Any]


class Prepared:
    """A program as numpy calls.

    Attributes:
        calls: in order.
        blank: what the places hold before a run: constants, and None.
        given: how many arguments the places hold already; see `bound`.
        inputs: how many places, from the first on, are arguments.
        outputs: the places of the results.
        once: the calls that depend on the fixed arguments only.
    """

    __slots__ = ("calls", "blank", "given", "inputs", "outputs", "once", "_has_run", "_function")

    def __init__(self, calls: list[Call], blank: list[Any], inputs: int, outputs: list[int], once: Sequence[Call] = (), given: int = 0) -> None:
        self.calls, self.blank, self.given, self.inputs, self.outputs, self.once = calls, blank, given, inputs, outputs, once
        self._has_run = False
        self._function: Callable[..., list[Any]] | None = None  # made for the second run: many programs have one only

    @classmethod
    def of(cls, function: Run, inputs: int) -> Prepared:
        """A single function of some arrays."""
        return cls([(function, tuple(range(inputs)), inputs)], [None] * (inputs + 1), inputs, [inputs])

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for some arguments (numpy arrays or scalars of the program's dtypes)."""
        if self._function is not None:
            return self._function(*arrays)
        if self._has_run and len(self.calls) <= _MOST_WRITTEN_OUT:
            self._function = self._written_out()
            return self._function(*arrays)
        self._has_run = True
        places = self.blank.copy()
        places[self.given : self.inputs] = arrays
        _perform(self.calls, places)
        return [places[k] for k in self.outputs]

    def bound(self, fixed: Sequence[Any]) -> Prepared:
        """The program for many runs with the same first arguments: what depends on them alone is computed now."""
        places = self.blank.copy()
        places[: len(fixed)] = fixed
        _perform(self.once, places)
        for _, _, result in self.once:
            for place in (result,) if type(result) is int else result:
                if np.ndim(places[place]) > 1:
                    places[place] = np.ascontiguousarray(places[place])  # a transposed matrix is a slow operand of small products
        return Prepared(self.calls, places, self.inputs, self.outputs, given=len(fixed))

    def _written_out(self) -> Callable[..., list[Any]]:
        """The calls as one Python function, in which the variable of an array that nobody reads any more holds the next one."""
        last: dict[int, int] = {place: k for k, (_, arguments, _) in enumerate(self.calls) for place in arguments}
        last.update(dict.fromkeys(self.outputs, len(self.calls)))
        names = {place: f"v{place}" for place in range(self.given, self.inputs)}
        parameters, fresh = ", ".join(names.values()), itertools.count(self.inputs)
        free: list[str] = []
        space: dict[str, Any] = {}
        lines = []

        def read(place: int) -> str:
            name = names.get(place)
            if name is None:
                name = names[place] = f"c{len(space)}"
                space[name] = self.blank[place]
            return name

        for k, (function, arguments, result) in enumerate(self.calls):
            space[f"f{k}"] = function
            call = f"f{k}({', '.join([read(place) for place in arguments])})"
            free += {names[place] for place in arguments if last[place] == k and names[place][0] == "v"}
            targets = (result,) if type(result) is int else result
            for place in targets:
                names[place] = free.pop() if free else f"v{next(fresh)}"
            lines.append(f"    {', '.join([names[place] for place in targets])}{',' if type(result) is not int else ''} = {call}")
            free += [names[place] for place in targets if place not in last]
        lines.append(f"    return [{', '.join([read(place) for place in self.outputs])}]")
        exec(_code(f"def run({parameters}):\n" + "\n".join(lines)), space)
        return space["run"]


#: A program of more calls is not written out: compiling it takes Python 10 us a call.
_MOST_WRITTEN_OUT = 128


@functools.lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """Compiled once for all programs of the same form: those for other sizes."""
    return compile(source, "<pytorchlike program>", "exec")


def _perform(calls: Sequence[Call], places: list[Any]) -> None:
    for function, arguments, result in calls:
        if type(result) is int:
            places[result] = function(*[places[k] for k in arguments])
        else:
            for place, each in zip(result, function(*[places[k] for k in arguments])):
                places[place] = each


class _Builder:
    def __init__(self, sizes: Sizes | None) -> None:
        self.sizes = sizes
        self.calls: list[Call] = []
        self.blank: list[Any] = []
        self.known: set[int] = set()
        self.made: dict[int, tuple[Any, ...]] = {}
        self.scalars: dict[tuple, list[int]] = {}

    def place(self, content: Any = None) -> int:
        """A new place; with a content, for a constant."""
        if content is not None:
            self.known.add(len(self.blank))
        self.blank.append(content)
        return len(self.blank) - 1

    def program(self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[int]) -> list[int]:
        """Add the equations of a program; returns the places of its results."""
        at: dict[Any, int] = dict(zip(jaxpr.invars, arguments, strict=True))
        for variable, content in zip(jaxpr.constvars, consts, strict=True):
            at[variable] = self.place(np.asarray(content))

        def place_of(atom: Any) -> int:
            if isinstance(atom, Literal):
                return self.place(np.asarray(atom.val, dtype_of(atom)))
            return at[atom]

        equation: Any
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            inputs = [place_of(v) for v in equation.invars]
            called = called_by(equation)
            if called is not None:
                results = self.program(called.jaxpr, called.consts, inputs)
            elif name in _IDENTITIES or (name == "convert_element_type" and dtype_of(equation.invars[0]) == equation.params["new_dtype"]):
                results = inputs
            else:
                results = self.equation(equation, name, inputs)
            at.update(zip(equation.outvars, results, strict=True))
        return [place_of(v) for v in jaxpr.outvars]

    def equation(self, equation: Any, name: str, inputs: list[int]) -> list[int]:
        """Add one equation, or compute it at once if it depends on constants only."""
        several = equation.primitive.multiple_results
        run = self.function(equation, name)
        size = sum(v.aval.size for v in equation.outvars) if self.sizes is None else 0
        if self.sizes is None and self.known.issuperset(inputs) and name != "pure_callback" and size <= _LARGEST_CONSTANT:
            found = run(*[self.blank[k] for k in inputs])
            return [self.place(np.asarray(each)) for each in (found if several else (found,))]
        key = _key_of_scalar(equation, name, inputs)
        if key is not None and key in self.scalars:
            return self.scalars[key]
        results = [self.place() for _ in equation.outvars]
        if key is not None:
            self.scalars[key] = results
        self.calls.append((run, tuple(inputs), tuple(results) if several else results[0]))
        if type(run) is np.ufunc:
            aval = equation.outvars[0].aval
            shape = aval.shape if self.sizes is None else self.sizes.shape(aval.shape)
            if math.prod(shape) >= _LARGE:
                self.made[results[0]] = (shape, aval.dtype)
        return results

    def function(self, equation: Any, name: str) -> Run:
        """What runs an equation."""
        maker = PRIMITIVES.get(name)
        if maker is None:
            raise NotInterpretable(name)
        if self.sizes is None:
            return maker(Equation(equation.primitive, equation.params, equation.invars, equation.outvars, None))
        return self.sizes.prepared(equation, maker)


def _key_of_scalar(equation: Any, name: str, inputs: list[int]) -> tuple | None:
    """What tells whether an equation computes the same number as another one, as those of an optimizer's numbers for each of its parameters do."""
    if len(equation.outvars) != 1 or equation.outvars[0].aval.shape != () or name == "pure_callback":
        return None
    key = (name, tuple(inputs), tuple(equation.params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def prepare(jaxpr: Any, consts: Sequence[Any], sizes: Sizes | None = None, fixed: int = 0) -> Prepared:
    """Prepare a jaxpr for numpy.

    Args:
        sizes: the numbers for its symbolic sizes.
        fixed: it will be run with the same so many first arguments (`Prepared.bound`).

    Raises:
        NotInterpretable: it has a primitive that only XLA can run.
    """
    builder = _Builder(sizes)
    arguments = [builder.place() for _ in jaxpr.invars]
    outputs = builder.program(jaxpr, consts, arguments)
    once, calls, kept = [], builder.calls, {*builder.known, *arguments[:fixed]}
    if fixed:
        calls = []
        for call in builder.calls:
            if kept.issuperset(call[1]):
                once.append(call)
                kept.update((call[2],) if type(call[2]) is int else call[2])
            else:
                calls.append(call)
    made = {place: what for place, what in builder.made.items() if place not in kept}
    return Prepared(_in_place(calls, made, outputs), builder.blank, len(arguments), outputs, once)


def _in_place(calls: list[Call], made: dict[int, tuple[Any, ...]], outputs: list[int]) -> list[Call]:
    """Let elementwise calls write into an argument that nobody reads after them: memory in the cache is faster than new memory.

    Args:
        made: places of new large arrays made by a ufunc, which no other place shares -> (shape, dtype).
    """
    last = {place: k for k, (_, arguments, _) in enumerate(calls) for place in arguments}
    last.update(dict.fromkeys(outputs, len(calls)))
    shared = {place for run, arguments, _ in calls if type(run) is not np.ufunc for place in arguments}  # a view of it may live on
    found = []
    for k, (run, arguments, result) in enumerate(calls):
        if type(run) is np.ufunc and result in made:
            for which, place in enumerate(arguments[:2]):
                if last[place] == k and made.get(place) == made[result] and place not in shared:
                    run = _into(run, which, len(arguments))
                    break
        found.append((run, arguments, result))
    return found


def _into(ufunc: np.ufunc, which: int, count: int) -> Run:
    if count == 1:
        return lambda a: ufunc(a, a)
    return (lambda a, b: ufunc(a, b, a)) if which == 0 else (lambda a, b: ufunc(a, b, b))
