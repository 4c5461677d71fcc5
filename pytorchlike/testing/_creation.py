"""`make_tensor`: a tensor of random numbers for tests, of any dtype, with torch's ranges and torch's draws."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..core import dtype as dtypes
from ..core.typeinfo import finfo, iinfo
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor

__all__ = ["make_tensor"]

_SMALL_FLOATS = (dtypes.float8_e4m3fn, dtypes.float8_e5m2, dtypes.float8_e4m3fnuz, dtypes.float8_e5m2fnuz)
_EQUAL_BOUNDS = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be removed in 2.3. "
    "Use `torch.full(...)` instead."
)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with elements drawn uniformly from ``[low, high)``.

    Args:
        shape: sizes, or one sequence of them.
        low, high: cut to what the dtype holds; by default 0 to 2 for bool, -9 to 10 for integers (0 to 10 for unsigned ones), -9 to 9 else.
        noncontiguous: every second element of a tensor with twice as many (one with fewer than two elements stays as it is).
        exclude_zero: zeros become the dtype's smallest normal number (1 for integers and bool).
        memory_format: how it lies in memory; not together with ``noncontiguous``.

    Raises:
        ValueError: bounds that leave nothing to draw or are NaN, a gradient for integers, ``noncontiguous`` with ``memory_format``.
        TypeError: a dtype that it does not know.
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    is_float = (dtype.is_floating_point and dtype.itemsize > 1) or dtype.is_complex
    is_exact = not dtype.is_floating_point and not dtype.is_complex
    if requires_grad and is_exact:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}")
    noncontiguous = noncontiguous and math.prod(shape) > 1
    size = (*shape[:-1], 2 * shape[-1]) if noncontiguous else shape
    bounds = _bounds(dtype, low, high, is_float, is_exact)
    if is_exact:
        result = lookup("randint.low")(math.ceil(bounds[0]), math.ceil(bounds[1]), size, device=device, dtype=dtype)
    elif dtype.is_complex:
        parts = lookup("empty")((*size, 2), dtype=dtypes.float64 if dtype is dtypes.complex128 else dtypes.float32, device=device)
        result = lookup("complex")(*_uniform_(parts, *bounds).unbind(-1))
    else:
        result = _uniform_(lookup("empty")(size, dtype=dtype if is_float else dtypes.float32, device=device), *bounds).to(dtype)
    if noncontiguous:
        result = result[..., 1::2]  # from 1 on, so that it has an offset, too
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if is_exact else getattr(finfo(dtype), "tiny")
    return result.requires_grad_(requires_grad) if is_float else result


def _uniform_(t: Tensor, low: float, high: float) -> Tensor:
    if high - low >= finfo(t.dtype).max:  # a range that the dtype does not hold
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)


def _bounds(dtype: Any, low: float | None, high: float | None, is_float: bool, is_exact: bool) -> tuple[float, float]:
    """The range to draw from: what was asked for, within what the dtype holds.

    Raises:
        ValueError: it is empty; torch's texts.
    """
    defaults: tuple[float, float]
    least: float
    most: float
    if dtype is dtypes.bool_:
        defaults, least, most = (0, 2), 0, 2
    elif is_exact:
        known = iinfo(dtype)
        defaults, least, most = (-9, 10), known.min, known.max + (dtype is not dtypes.int64)  # torch cannot draw 2**63 - 1
    elif is_float or dtype in _SMALL_FLOATS:
        defaults, least, most = (-9, 9), finfo(dtype).min, finfo(dtype).max
    else:
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor()."
            " To request support, file an issue at: https://github.com/pytorch/pytorch/issues"
        )
    low, high = defaults[0] if low is None else low, defaults[1] if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and is_float:
        warnings.warn(_EQUAL_BOUNDS, FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most})")
    return min(max(low, least), most), min(max(high, least), most)
