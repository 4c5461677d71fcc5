"""Jaxprs whose sizes are symbols (``jax.export.symbolic_shape``), and numbers for the symbols."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import CodeType
from typing import Any

import jax
from jax.export import is_symbolic_dim
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

__all__ = ["Equation", "Sizes", "SymbolicProgram"]

#: What the text of a symbolic size may call.
_FUNCTIONS = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min, "__builtins__": {}}


class Equation:
    """An equation of a jaxpr, its symbolic sizes replaced by numbers.

    Attributes:
        sizes: what they were replaced by; None when there are none.
    """

    __slots__ = ("primitive", "params", "invars", "outvars", "sizes")

    def __init__(self, primitive: Any, params: dict[str, Any], invars: Sequence[Any], outvars: Sequence[Any], sizes: Sizes | None) -> None:
        self.primitive, self.params, self.invars, self.outvars, self.sizes = primitive, params, invars, outvars, sizes


class SymbolicProgram:
    """A jaxpr with symbolic sizes.

    Attributes:
        jaxpr, consts: the program.
        outputs: shape (with symbols) and dtype of each result.
        texts: symbolic size -> its compiled text, which computes it from the symbols.
        unchanging: id of an equation without symbols -> the function that runs it, whatever the sizes.
    """

    def __init__(self, closed: Any, outputs: tuple[Any, ...]) -> None:
        self.jaxpr, self.consts, self.outputs = closed.jaxpr, closed.consts, outputs
        self.texts: dict[Any, CodeType] = {}
        self.unchanging: dict[int, Any] = {}
        self._places: dict[int, tuple[list[str], list[Any]]] = {}

    def places_of(self, equation: Any) -> tuple[list[str], list[Any]]:
        """Where an equation has symbols: names of parameters, and variables."""
        found = self._places.get(id(equation))
        if found is None:
            variables = [v for v in (*equation.invars, *equation.outvars) if not isinstance(v, Literal) and any(map(is_symbolic_dim, v.aval.shape))]
            found = self._places[id(equation)] = [name for name, p in equation.params.items() if _has_symbols(p)], variables
        return found


class _Variable:
    """Stands for a variable of a jaxpr, with the size as numbers."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval


class Sizes:
    """Numbers for the symbols of a program.

    Args:
        numbers: symbol's name -> number.
    """

    __slots__ = ("program", "numbers")

    def __init__(self, program: SymbolicProgram, numbers: dict[str, int]) -> None:
        self.program, self.numbers = program, numbers

    def number(self, size: Any) -> int:
        """A symbolic size as a number."""
        code = self.program.texts.get(size)
        if code is None:
            code = self.program.texts[size] = compile(str(size).replace("^", "**"), "<size>", "eval")
        return eval(code, _FUNCTIONS, self.numbers)  # the text is JAX's own, of a size that it made

    def shape(self, shape: tuple[Any, ...]) -> tuple[int, ...]:
        """A shape as numbers."""
        return tuple([self.number(n) if is_symbolic_dim(n) else n for n in shape])

    def equation(self, equation: Any) -> tuple[Any, bool]:
        """An equation with numbers in the place of symbols, and whether there were any."""
        names, variables = self.program.places_of(equation)
        if not names and not variables:
            return Equation(equation.primitive, equation.params, equation.invars, equation.outvars, self), False
        params = {**equation.params, **{name: self._replaced(equation.params[name]) for name in names}}
        known = {v: _Variable(jax.ShapeDtypeStruct(self.shape(v.aval.shape), v.aval.dtype)) for v in variables}
        inputs, outputs = ([v if isinstance(v, Literal) else known.get(v, v) for v in each] for each in (equation.invars, equation.outvars))
        return Equation(equation.primitive, params, inputs, outputs, self), True

    def _replaced(self, parameter: Any) -> Any:
        if is_symbolic_dim(parameter):
            return self.number(parameter)
        if isinstance(parameter, tuple):
            found = [self._replaced(each) for each in parameter]
            return type(parameter)(*found) if hasattr(parameter, "_fields") else tuple(found)
        return parameter


def _has_symbols(parameter: Any) -> bool:
    if isinstance(parameter, tuple):
        return any(_has_symbols(each) for each in parameter)
    # a program may hold symbols, and whoever prepares it needs the numbers
    return is_symbolic_dim(parameter) or isinstance(parameter, (Jaxpr, ClosedJaxpr))
