"""``torch.sym_*``: arithmetic on sizes.  Sizes are always Python numbers here, so these are the functions of those."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = [
    "SymBool", "SymFloat", "SymInt", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not",
    "sym_sqrt", "sym_sum",
]  # fmt: skip

_LARGEST = 2**63 - 1


def sym_int(a: Any) -> int:
    """The integer part."""
    return math.trunc(a) if isinstance(a, float) else int(a)


def sym_float(a: Any) -> float:
    """The number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """The negation."""
    return not a


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of a list."""
    return sum(args)


def _extremum(choose: Any, a: Any, b: Any) -> Any:
    """The chosen one of two; a float when one of them is."""
    for x in (a, b):
        if not isinstance(x, (int, float)) and not hasattr(x, "__index__") and not hasattr(x, "__float__"):
            raise AssertionError(f"expected a number, got {type(x)}")
    chosen = choose(a, b)
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float when one of them is."""
    return _extremum(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float when one of them is."""
    return _extremum(min, a, b)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t if b else f``.

    Raises:
        AssertionError: no condition, or values of different types.
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_fresh_size(expr: Any) -> Any:
    """The size itself."""
    return expr


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a size lies in a range.

    Raises:
        RuntimeError: it does not.
    """
    low, high = -_LARGEST - 1 if min is None else min, _LARGEST if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a size is not negative and lies in a range.

    Raises:
        RuntimeError: it does not.
    """
    sym_constrain_range(size, min=0 if min is None else min, max=max)


class _Symbolic:
    """A number of a traced program.  None is ever made here, since sizes are Python's numbers: the classes are for annotations and `isinstance`."""

    def __new__(cls, node: Any) -> Any:
        raise NotImplementedError(f"torch.{cls.__name__}: sizes and numbers are always Python's own; there are no symbols")


class SymInt(_Symbolic):
    """``torch.SymInt``, an int that depends on sizes."""

    __module__ = "torch"


class SymFloat(_Symbolic):
    """``torch.SymFloat``, a float that depends on sizes."""

    __module__ = "torch"


class SymBool(_Symbolic):
    """``torch.SymBool``, a condition on sizes."""

    __module__ = "torch"
