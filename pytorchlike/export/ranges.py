"""Ranges of sizes, under torch's names (``torch.utils._sympy``)."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ValueRanges", "bounds_of", "int_oo"]


class _Infinity(float):
    """Above every integer."""

    def __new__(cls) -> _Infinity:
        return super().__new__(cls, "inf")

    def __repr__(self) -> str:
        return "int_oo"

    __str__ = __repr__

    def __reduce__(self) -> str:
        return "int_oo"

    def __deepcopy__(self, memo: dict[int, Any]) -> _Infinity:
        return self


int_oo = _Infinity()


class ValueRanges(NamedTuple):
    """From which number to which one, both included."""

    lower: int
    upper: Any  # an integer, or int_oo

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

    def __contains__(self, number: object) -> bool:
        return self.lower <= number <= self.upper  # type: ignore[operator]


def bounds_of(dim: Any) -> tuple[int, int | None]:
    """The least and the largest size of a dimension; None where there is no largest."""
    return int(dim.min or 0), None if dim.max is None or dim.max == int_oo else int(dim.max)
