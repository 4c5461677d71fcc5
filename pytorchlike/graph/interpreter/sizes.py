"""Jaxprs whose sizes are symbols (``jax.export.symbolic_shape``), and numbers for the symbols."""

from __future__ import annotations

import operator
from types import CodeType
from typing import Any

import jax
from jax.export import is_symbolic_dim
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

__all__ = ["Sizes", "SymbolicProgram"]

#: What the text of a symbolic size may call.
_FUNCTIONS = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min, "__builtins__": {}}


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
        from .prepare import Equation

        changed = False

        def replace(parameter: Any) -> Any:
            nonlocal changed
            if is_symbolic_dim(parameter):
                changed = True
                return self.number(parameter)
            if isinstance(parameter, tuple):
                found = [replace(each) for each in parameter]
                return type(parameter)(*found) if hasattr(parameter, "_fields") else tuple(found)
            if isinstance(parameter, (Jaxpr, ClosedJaxpr)):
                changed = True  # it may hold symbols, and whoever prepares it needs the numbers
            return parameter

        def variable(atom: Any) -> Any:
            nonlocal changed
            if isinstance(atom, Literal) or not any(is_symbolic_dim(n) for n in atom.aval.shape):
                return atom
            changed = True
            return _Variable(jax.ShapeDtypeStruct(self.shape(atom.aval.shape), atom.aval.dtype))

        params = {name: replace(parameter) for name, parameter in equation.params.items()}
        inputs, outputs = [variable(v) for v in equation.invars], [variable(v) for v in equation.outvars]
        return Equation(equation.primitive, params, inputs, outputs, self), changed
