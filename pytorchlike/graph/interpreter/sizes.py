"""Jaxprs whose sizes are symbols (``jax.export.symbolic_shape``), and numbers for the symbols."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

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
        texts: id of a symbolic size -> its compiled text, which computes it from the symbols.
        unchanging: id of an equation -> the function that runs it, where that is the same for all sizes.
    """

    def __init__(self, closed: Any, outputs: tuple[Any, ...]) -> None:
        self.jaxpr, self.consts, self.outputs = closed.jaxpr, closed.consts, outputs
        self.texts: dict[int, CodeType] = {}
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
    """Stands for a variable of a jaxpr, with the size as numbers.

    Attributes:
        was_asked: somebody has looked at the size.
    """

    __slots__ = ("sizes", "symbolic", "dtype", "was_asked")

    def __init__(self, sizes: Sizes, symbolic: Any) -> None:
        self.sizes, self.symbolic, self.dtype, self.was_asked = sizes, symbolic, symbolic.dtype, False

    @property
    def aval(self) -> _Variable:
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        self.was_asked = True
        return self.sizes.shape(self.symbolic.shape)

    @property
    def ndim(self) -> int:
        return len(self.symbolic.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Sizes:
    """Numbers for the symbols of a program.

    Args:
        numbers: symbol's name -> number.
    """

    __slots__ = ("program", "numbers", "_known")

    def __init__(self, program: SymbolicProgram, numbers: dict[str, int]) -> None:
        self.program, self.numbers = program, numbers
        self._known: dict[int, int] = {}

    def number(self, size: Any) -> int:
        """A symbolic size as a number."""
        found = self._known.get(id(size))  # comparing symbolic sizes is slow; the program holds them
        if found is None:
            code = self.program.texts.get(id(size))
            if code is None:
                code = self.program.texts[id(size)] = compile(str(size).replace("^", "**"), "<size>", "eval")
            found = self._known[id(size)] = eval(code, _FUNCTIONS, self.numbers)  # the text is JAX's own, of a size that it made
        return found

    def shape(self, shape: tuple[Any, ...]) -> tuple[int, ...]:
        """A shape as numbers."""
        return tuple([self.number(n) if is_symbolic_dim(n) else n for n in shape])

    def prepared(self, equation: Any, maker: Callable[[Any], Any]) -> Any:
        """What a maker makes of an equation with numbers in the place of symbols; what does not depend on them is made once for all."""
        unchanging = self.program.unchanging
        found = unchanging.get(id(equation))
        if found is not None:
            return found
        names, variables = self.program.places_of(equation)
        params = {**equation.params, **{name: self._replaced(equation.params[name]) for name in names}} if names else equation.params
        known = {v: _Variable(self, v.aval) for v in variables}
        inputs, outputs = ([v if isinstance(v, Literal) else known.get(v, v) for v in each] for each in (equation.invars, equation.outvars))
        found = maker(Equation(equation.primitive, params, inputs, outputs, self))
        if not names and not any(variable.was_asked for variable in known.values()):
            unchanging[id(equation)] = found
        return found

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
