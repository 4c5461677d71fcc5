"""Matrix products and convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrangement import padded
from .table import Equation, Run, dtype_of, primitive, widened

#: A convolution works on as many samples at a time as this many bytes of patches allow.
_PATCH_BYTES = 32 << 20


def _wide(a: np.dtype, b: np.dtype, result: np.dtype) -> np.dtype:
    """What a product is computed in (integers in the result's dtype: float64 is exact up to 2**53 only)."""
    return result if result.kind in "ui" else widened(np.result_type(a, b) if a.kind == result.kind else result)


def _blas_ready(x: Any) -> Any:
    """The array, copied if its last two dimensions are not laid out as BLAS takes them (numpy would loop over elements)."""
    if x.ndim >= 2:
        item = x.itemsize
        row, column = x.strides[-2:]
        fits = (column == item and row >= x.shape[-1] * item) or (row == item and column >= x.shape[-2] * item)
        if not fits and x.size:
            return np.ascontiguousarray(x)
    return x


@primitive("dot_general")
def _dot_general(equation: Equation) -> Run:
    sums, (left_batch, right_batch) = equation.params["dimension_numbers"]
    left_sum, right_sum = zip(*sorted(zip(*sums))) if sums[0] else ((), ())  # in the order of memory
    left, right = (v.aval.shape for v in equation.invars)
    size, result = equation.outvars[0].aval.shape, dtype_of(equation.outvars[0])
    left_free = [d for d in range(len(left)) if d not in left_sum and d not in left_batch]
    right_free = [d for d in range(len(right)) if d not in right_sum and d not in right_batch]
    batch = tuple(left[d] for d in left_batch)
    rows, inner = math.prod(left[d] for d in left_free), math.prod(left[d] for d in left_sum)
    columns = math.prod(right[d] for d in right_free)
    wide = _wide(dtype_of(equation.invars[0]), dtype_of(equation.invars[1]), result)
    prepare_left = _as_factor((*left_batch, *left_free, *left_sum), left, (*batch, rows, inner), dtype_of(equation.invars[0]), wide)
    prepare_right = _as_factor((*right_batch, *right_sum, *right_free), right, (*batch, inner, columns), dtype_of(equation.invars[1]), wide)
    few_rows = not batch and 1 < rows <= _FEW_ROWS < columns
    is_plain = size == (*batch, rows, columns) and wide == result

    def multiply(a: Any, b: Any) -> Any:
        a, b = prepare_left(a), prepare_right(b)
        if few_rows and b.flags.f_contiguous:
            product = np.matmul(b.T, a.T).T
        else:
            product = np.matmul(a, b)
        return product if is_plain else product.reshape(size).astype(result, copy=False)

    return multiply


#: Products of at most so many rows with a transposed matrix take OpenBLAS twice as long as the transposed product does.
_FEW_ROWS = 64


def _as_factor(order: tuple[int, ...], shape: tuple[int, ...], size: tuple[int, ...], dtype: np.dtype, wide: np.dtype) -> Run:
    """What brings an operand of a product into the order (batch, rows, columns)."""
    moves, reshapes, casts = order != tuple(range(len(order))), size != tuple(shape[d] for d in order), dtype != wide

    def prepare(x: Any) -> Any:
        if casts:
            x = x.astype(wide)
        if moves:
            x = x.transpose(order)
        return _blas_ready(x.reshape(size) if reshapes else x)

    return prepare


@primitive("conv_general_dilated")
def _convolution(equation: Equation) -> Run:
    """A convolution as a product of patches and weights, some samples at a time."""
    p = equation.params
    numbers, strides, padding = p["dimension_numbers"], p["window_strides"], p["padding"]
    holes = p["rhs_dilation"]
    around = [(0, 0, 0), (0, 0, 0), *[(low, high, step - 1) for (low, high), step in zip(padding, p["lhs_dilation"])]]
    groups, batch_groups = p["feature_group_count"], p["batch_group_count"]
    size, result = equation.outvars[0].aval.shape, dtype_of(equation.outvars[0])
    wide = _wide(dtype_of(equation.invars[0]), dtype_of(equation.invars[1]), result)
    back = np.argsort(numbers.out_spec)

    def single(x: Any, w: Any) -> Any:
        """One group: (samples, channels, *spatial) with (features, channels, *window)."""
        window = w.shape[2:]
        reach = [(k - 1) * hole + 1 for k, hole in zip(window, holes)]
        out = [max((n - r) // s + 1, 0) for n, r, s in zip(x.shape[2:], reach, strides)]
        count, rows, inner = x.shape[0], math.prod(out), x.shape[1] * math.prod(window)
        weights = w.reshape(w.shape[0], -1).T
        found = np.empty((count, rows, w.shape[0]), wide)
        if not found.size or not inner:
            return np.moveaxis(np.zeros((count, *out, w.shape[0]), wide), -1, 1)
        steps = x.strides
        axes = tuple(range(2, 2 + len(window)))
        shape = (count, *out, x.shape[1], *window)
        strides_of = (steps[0], *[steps[a] * s for a, s in zip(axes, strides)], steps[1], *[steps[a] * hole for a, hole in zip(axes, holes)])
        patches = np.lib.stride_tricks.as_strided(x, shape, strides_of, writeable=False)
        at_once = max(1, _PATCH_BYTES // max(1, rows * inner * wide.itemsize))
        for k in range(0, count, at_once):
            np.matmul(patches[k : k + at_once].reshape(-1, inner), weights, out=found[k : k + at_once].reshape(-1, w.shape[0]))
        return np.moveaxis(found.reshape(count, *out, w.shape[0]), -1, 1)

    def convolve(x: Any, w: Any) -> Any:
        x, w = x.astype(wide, copy=False), w.astype(wide, copy=False)
        x, w = np.transpose(x, numbers.lhs_spec), np.transpose(w, numbers.rhs_spec)
        x = padded(x, around, 0)
        if batch_groups > 1:
            found = np.concatenate([single(a, b) for a, b in zip(np.split(x, batch_groups, 0), np.split(w, batch_groups, 0))], 1)
        elif groups > 1 and w.shape[1] == 1 and w.shape[0] == groups:
            found = _depthwise(x, w, strides, holes)
        elif groups > 1:
            found = np.concatenate([single(a, b) for a, b in zip(np.split(x, groups, 1), np.split(w, groups, 0))], 1)
        else:
            found = single(x, w)
        return np.transpose(found, back).reshape(size).astype(result, copy=False)

    return convolve


def _depthwise(x: Any, w: Any, strides: Any, holes: Any) -> Any:
    """One filter a channel: the sum over the window of shifted inputs times a weight."""
    window = w.shape[2:]
    out = [(n - (k - 1) * hole - 1) // s + 1 for n, k, hole, s in zip(x.shape[2:], window, holes, strides)]
    total = np.zeros((*x.shape[:2], *out), x.dtype)
    for place in np.ndindex(*window):
        part = tuple(slice(k * hole, k * hole + (n - 1) * s + 1, s) for k, hole, n, s in zip(place, holes, out, strides))
        total += x[(slice(None), slice(None), *part)] * w[(slice(None), 0, *place)].reshape(-1, *[1] * len(window))
    return total
