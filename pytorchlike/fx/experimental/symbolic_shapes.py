"""``torch.fx.experimental.symbolic_shapes``: what code asks of sizes that may be symbols.  Sizes are Python's numbers here, so the answers are known."""

from __future__ import annotations

from typing import Any

from ...core.symbolic import SymBool, SymFloat, SymInt

__all__ = [
    "GuardOnDataDependentSymNode", "canonicalize_bool_expr", "free_symbols", "free_unbacked_symbols", "guard_bool", "guard_float", "guard_int",
    "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious", "has_free_symbols", "has_static_value", "is_concrete_bool",
    "is_concrete_float", "is_concrete_int", "is_symbolic", "statically_known_false", "statically_known_true", "sym_and", "sym_eq", "sym_or",
]  # fmt: skip


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 - torch's name
    """A condition on a number that depends on data; never raised, since such numbers are computed."""

    def __init__(self, cond: Any, *args: Any) -> None:
        super().__init__(*args)
        self.cond = cond


def guard_or_false(a: bool) -> bool:
    """The condition."""
    return bool(a)


guard_or_true = guard_size_oblivious = guard_bool = statically_known_true = guard_or_false


def statically_known_false(x: bool) -> bool:
    """Whether the condition is false."""
    return not x


def guard_int(a: int) -> int:
    """The int."""
    return int(a)


def guard_float(a: float) -> float:
    """The float."""
    return float(a)


def guard_scalar(a: bool | int | float) -> bool | int | float:
    """The number.

    Raises:
        AssertionError: something else.
    """
    if not isinstance(a, (bool, int, float)):
        raise AssertionError(f"unrecognized scalar {a}")
    return a


def is_symbolic(val: Any) -> bool:
    """Whether a number is a symbol: none is."""
    return isinstance(val, (SymInt, SymFloat, SymBool))


def is_concrete_int(a: int) -> bool:
    """Whether a number is no symbol.

    Raises:
        AssertionError: it is no int.
    """
    return _is_concrete(a, int)


def is_concrete_float(a: float) -> bool:
    """Whether a number is no symbol.

    Raises:
        AssertionError: it is no float.
    """
    return _is_concrete(a, float)


def is_concrete_bool(a: bool) -> bool:
    """Whether a condition is no symbol.

    Raises:
        AssertionError: it is no bool.
    """
    return _is_concrete(a, bool)


def _is_concrete(number: Any, wanted: type) -> bool:
    if not isinstance(number, wanted):
        raise AssertionError(f"expected {wanted.__name__}, got {type(number)}")
    return True


def has_static_value(a: Any) -> bool:
    """True."""
    return True


def has_free_symbols(val: Any) -> bool:
    """False."""
    return False


def free_symbols(val: Any) -> set:
    """None."""
    return set()


free_unbacked_symbols = free_symbols


def canonicalize_bool_expr(expr: Any) -> Any:
    """The condition."""
    return expr


def sym_and(x: bool, *others: bool) -> bool:
    """Whether all conditions hold."""
    return all((x, *others))


def sym_or(x: bool, *others: bool) -> bool:
    """Whether one of the conditions holds."""
    return any((x, *others))


def sym_eq(x: Any, y: Any) -> bool:
    """Whether numbers, or tuples and lists of numbers, are equal.

    Raises:
        AssertionError: they are of different kinds.
    """
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")
