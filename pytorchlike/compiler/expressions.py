"""What may lie on the model of an operand stack (compiler/stack.py): arithmetic of numbers that vary, and what does not depend on them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["ARITHMETIC", "COMPARISONS", "FUNCTIONS", "Expression", "Known", "Parts", "expressions_in", "literal"]

_LARGEST_CONSTANT = 1 << 52
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: Functions of one number.
FUNCTIONS: dict[Any, str] = {abs: "abs", float: "float", int: "int"} | {
    getattr(math, name): f"math.{name}" for name in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "floor", "ceil", "fabs", "radians", "degrees", "expm1", "log1p")
}


class Expression:
    """Arithmetic of numbers that vary.

    Args:
        source: in Python, with names ``m0``, ``m1``, ...
        value: in this call.
        numbers: the indices of the numbers.
        cost: bounds the size of integers: how many factors it has.
    """

    __slots__ = ("source", "value", "numbers", "cost")

    def __init__(self, source: str, value: Any, numbers: frozenset[int], cost: int = 1) -> None:
        self.source, self.value, self.numbers, self.cost = source, value, numbers, cost


class Known:
    """A value that does not depend on the numbers."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Parts:
    """A tuple or a slice in which there are expressions."""

    __slots__ = ("kind", "items")

    def __init__(self, kind: type, items: list[Any]) -> None:
        self.kind, self.items = kind, items


def literal(value: Any) -> str | None:
    """A constant number in an expression; None: no such number."""
    if type(value) is int and abs(value) < _LARGEST_CONSTANT:
        return f"({value})"
    if type(value) is float:
        return f"({value!r})" if math.isfinite(value) else f"float('{value}')"
    return None


def expressions_in(entries: Iterable[Any]) -> Iterator[Expression]:
    """The expressions among some entries, and inside of them."""
    for entry in entries:
        if isinstance(entry, Expression):
            yield entry
        elif isinstance(entry, Parts):
            yield from expressions_in(entry.items)
