"""Primitives that reduce dimensions, or run along one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .table import Equation, NotInterpretable, Run, dtype_of, primitive, widened

_REDUCERS: dict[str, Any] = {
    "reduce_sum": np.add, "reduce_prod": np.multiply, "reduce_max": np.maximum, "reduce_min": np.minimum,
    "reduce_and": np.bitwise_and, "reduce_or": np.bitwise_or, "reduce_xor": np.bitwise_xor,
}  # fmt: skip

#: Sums of float32 with at least this many summands one above the other are made by a matrix product, whose rounding does not grow with them.
_LONG_SUM = 64
#: As many sums along the last dimensions are faster as a product, too.
_MANY_SUMS = 64
#: The largest of each row is found across rows instead of along them when rows are no longer (20 times faster for 30 elements).
_SHORT_ROWS = 64


@primitive(*_REDUCERS)
def _reduce(equation: Equation) -> Run:
    ufunc, axes = _REDUCERS[equation.primitive.name], tuple(equation.params["axes"])
    dtype, size = dtype_of(equation.outvars[0]), equation.invars[0].aval.shape
    if not axes:
        return lambda x: x
    if dtype.kind == "c" and ufunc in (np.maximum, np.minimum):
        raise NotInterpretable("the largest complex number")
    wide = widened(dtype)
    start = _lowest(dtype) if ufunc is np.maximum else _highest(dtype) if ufunc is np.minimum else None
    if ufunc is np.add and dtype == np.float32 and axes == tuple(range(len(axes))) and len(axes) < len(size):
        count, kept = int(np.prod(size[: len(axes)])), size[len(axes) :]
        if count >= _LONG_SUM:
            ones = np.ones(count, dtype)
            return lambda x: np.dot(ones, np.reshape(x, (count, -1))).reshape(kept)
    if ufunc is np.add and dtype in (np.float32, np.float64) and axes == tuple(range(len(size) - len(axes), len(size))) and len(axes) < len(size):
        count, kept = int(np.prod(size[-len(axes) :])), size[: -len(axes)]
        if count > 1 and np.prod(kept) >= _MANY_SUMS:
            ones = np.ones(count, dtype)
            return lambda x: np.dot(np.reshape(x, (-1, count)), ones).reshape(kept)
    if wide != dtype:
        return lambda x: ufunc.reduce(x.astype(wide), axis=axes).astype(dtype)
    if start is not None and axes == (len(size) - 1,) and 1 < size[-1] <= _SHORT_ROWS and np.prod(size[:-1]) >= _MANY_SUMS and dtype.kind == "f":
        return lambda x: ufunc.reduce(np.ascontiguousarray(np.reshape(x, (-1, size[-1])).T), axis=0).reshape(size[:-1])
    if start is not None:
        return lambda x: ufunc.reduce(x, axis=axes, initial=start)
    return lambda x: ufunc.reduce(x, axis=axes, dtype=dtype)


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return False
    return np.iinfo(dtype).min if dtype.kind in "ui" else dtype.type(-np.inf)


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind in "ui" else dtype.type(np.inf)


@primitive("argmax", "argmin")
def _arg(equation: Equation) -> Run:
    (axis,) = equation.params["axes"]
    dtype = np.dtype(equation.params["index_dtype"])
    function = np.argmax if equation.primitive.name == "argmax" else np.argmin
    if dtype_of(equation.invars[0]).name == "bfloat16":
        return lambda x: function(x.astype(np.float32), axis=axis).astype(dtype)
    return lambda x: function(x, axis=axis).astype(dtype)


_SCANS: dict[str, Any] = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum, "cumlogsumexp": np.logaddexp}


@primitive(*_SCANS)
def _scan_along(equation: Equation) -> Run:
    """Running sums, products and so on."""
    ufunc, axis, reverse = _SCANS[equation.primitive.name], equation.params["axis"], equation.params["reverse"]
    dtype = dtype_of(equation.outvars[0])
    if dtype.kind == "c" and ufunc not in (np.add, np.multiply):
        raise NotInterpretable("an order of complex numbers")
    wide = widened(dtype)

    def run(x: Any) -> Any:
        x = np.flip(x, axis) if reverse else x
        result = ufunc.accumulate(x.astype(wide), axis=axis).astype(dtype)
        return np.flip(result, axis) if reverse else result

    return run


@primitive("sort")
def _sort(equation: Equation) -> Run:
    axis, count = equation.params["dimension"], equation.params["num_keys"]
    if any(dtype_of(v).name == "bfloat16" for v in equation.invars[:count]):
        return _sort_by(axis, count, lambda key: key.astype(np.float32))
    if len(equation.invars) == 1:
        return lambda x: [np.sort(x, axis=axis, kind="stable")]
    return _sort_by(axis, count, lambda key: key)


def _sort_by(axis: int, count: int, view: Any) -> Run:
    def sort(*arrays: Any) -> list[Any]:
        keys = [view(key) for key in arrays[:count]]
        order = np.argsort(keys[0], axis=axis, kind="stable") if count == 1 else np.lexsort(keys[::-1], axis=axis)
        return [np.take_along_axis(array, order, axis) for array in arrays]

    return sort


@primitive("top_k")
def _top_k(equation: Equation) -> Run:
    """The largest elements along an axis; among equal ones the first, and NaN above all."""
    k = equation.params["k"]
    axis = equation.params.get("axis", -1)
    index = dtype_of(equation.outvars[1])
    narrow = dtype_of(equation.invars[0]).name == "bfloat16"

    def top(x: Any) -> list[Any]:
        reverse = np.flip(x.astype(np.float32) if narrow else x, axis)
        order = x.shape[axis] - 1 - np.flip(np.argsort(reverse, axis=axis, kind="stable"), axis)
        order = np.take(order, np.arange(k), axis)
        return [np.take_along_axis(x, order, axis), order.astype(index)]

    return top
