"""From a jaxpr to a list of numpy calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


class Prepared:
    """A program as numpy calls.

    Attributes:
        calls: (function, places of its arguments, place of its result or tuple of places), in order.
        blank: what the places hold before a run: constants, and None.
        inputs: how many places, from the first on, are arguments.
        outputs: the places of the results.
    """

    __slots__ = ("calls", "blank", "inputs", "outputs")

    def __init__(self, calls: list[tuple[Run, tuple[int, ...], Any]], blank: list[Any], inputs: int, outputs: list[int]) -> None:
        self.calls, self.blank, self.inputs, self.outputs = calls, blank, inputs, outputs

    @classmethod
    def of(cls, function: Run, inputs: int) -> Prepared:
        """A single function of some arrays."""
        return cls([(function, tuple(range(inputs)), inputs)], [None] * (inputs + 1), inputs, [inputs])

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results for some arguments (numpy arrays or scalars of the program's dtypes)."""
        places = self.blank.copy()
        places[: self.inputs] = arrays
        for function, arguments, result in self.calls:
            if type(result) is int:
                places[result] = function(*[places[k] for k in arguments])
            else:
                for place, each in zip(result, function(*[places[k] for k in arguments])):
                    places[place] = each
        return [places[k] for k in self.outputs]


class _Builder:
    def __init__(self, sizes: Sizes | None) -> None:
        self.sizes = sizes
        self.calls: list[tuple[Run, tuple[int, ...], Any]] = []
        self.blank: list[Any] = []
        self.known: set[int] = set()
        self.made: dict[int, tuple[Any, ...]] = {}

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
        results = [self.place() for _ in equation.outvars]
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
        sizes = self.sizes
        if sizes is None:
            return maker(Equation(equation.primitive, equation.params, equation.invars, equation.outvars, None))
        run = sizes.program.unchanging.get(id(equation))
        if run is None:
            concrete, depends = sizes.equation(equation)
            run = maker(concrete)
            if not depends:
                sizes.program.unchanging[id(equation)] = run
        return run


def prepare(jaxpr: Any, consts: Sequence[Any], sizes: Sizes | None = None) -> Prepared:
    """Prepare a jaxpr for numpy.

    Args:
        sizes: the numbers for its symbolic sizes.

    Raises:
        NotInterpretable: it has a primitive that only XLA can run.
    """
    builder = _Builder(sizes)
    arguments = [builder.place() for _ in jaxpr.invars]
    outputs = builder.program(jaxpr, consts, arguments)
    return Prepared(_in_place(builder.calls, builder.made, outputs), builder.blank, len(arguments), outputs)


def _in_place(calls: list[tuple[Run, tuple[int, ...], Any]], made: dict[int, tuple[Any, ...]], outputs: list[int]) -> list[tuple[Run, tuple[int, ...], Any]]:
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
