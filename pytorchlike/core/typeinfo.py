"""`finfo` and `iinfo`: limits of the dtypes (`core/data/finfo.tsv`; integers follow from their size)."""

from __future__ import annotations

import functools
from pathlib import Path

from .dtype import BY_NAME, INTEGRAL, bool_, dtype

__all__ = ["finfo", "iinfo"]


@functools.cache
def _float_limits() -> dict[str, dict[str, float]]:
    head, *rows = (Path(__file__).parent / "data" / "finfo.tsv").read_text().splitlines()
    names = head.split("\t")[1:]
    return {name: dict(zip(names, map(float, cells))) for name, *cells in (row.split("\t") for row in rows)}


class _Limits:
    """What finfo and iinfo share: the dtype's name and size, equality by dtype, read-only attributes."""

    __slots__ = ("bits", "dtype", "max", "min")
    bits: int
    dtype: str
    max: float
    min: float

    def _set(self, **attributes: object) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.{type(self).__name__}' objects is not writable")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dtype == other.dtype  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment] # as torch's

    def __reduce__(self) -> tuple:
        return _of, (type(self).__name__, self.dtype)


class finfo(_Limits):  # noqa: N801 - torch's name
    """Limits of a floating dtype (of the real parts for a complex one); without an argument, of the default dtype.

    Attributes:
        eps: the distance from 1.0 to the next larger number.
        smallest_normal, tiny: the smallest positive normal number.
        resolution: the decimal resolution.

    Raises:
        TypeError: the dtype is neither floating nor complex, torch's text.
    """

    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")
    __module__ = "torch"

    eps: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __init__(self, type: dtype | None = None) -> None:
        if type is None:
            from .state import default_dtype

            type = default_dtype()
        _require_dtype(type, "finfo")
        if type.category <= INTEGRAL:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        real = type.to_real()
        limits = _float_limits()[real.name]
        self._set(bits=real.itemsize * 8, dtype=real.name, tiny=limits["smallest_normal"], **limits)

    def __repr__(self) -> str:
        shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in shown)}, dtype={self.dtype})"


class iinfo(_Limits):  # noqa: N801 - torch's name
    """Limits of an integer dtype.

    Raises:
        TypeError: the dtype is not an integer one, torch's text.
    """

    __slots__ = ()
    __module__ = "torch"

    def __init__(self, type: dtype) -> None:
        _require_dtype(type, "iinfo")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGRAL:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        bits = type.itemsize * 8
        low = -(1 << (bits - 1)) if type.is_signed else 0
        self._set(bits=bits, dtype=type.name, min=low, max=low + (1 << bits) - 1)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _require_dtype(given: object, function: str) -> None:
    if not isinstance(given, dtype):
        raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type(given).__name__}")


def _of(kind: str, name: str) -> _Limits:
    """How pickle builds one: the classes' public module may not be importable under that name."""
    return {"finfo": finfo, "iinfo": iinfo}[kind](BY_NAME[name])
