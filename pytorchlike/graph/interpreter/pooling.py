"""Primitives over sliding windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrangement import padded
from .table import Equation, NotInterpretable, Run, dtype_of, primitive, widened

_WINDOW_REDUCERS: dict[str, Any] = {"reduce_window_sum": np.add, "reduce_window_max": np.maximum, "reduce_window_min": np.minimum}

#: Windows of more elements than this are left to XLA: the loop goes over the places of a window.
_LARGEST_WINDOW = 4096


def _neutral(ufunc: Any, dtype: np.dtype) -> Any:
    if ufunc is np.add:
        return 0
    low = ufunc is np.maximum
    if dtype.kind == "b":
        return not low
    if dtype.kind in "ui":
        return np.iinfo(dtype).min if low else np.iinfo(dtype).max
    return -np.inf if low else np.inf


def places_of(window: Any, holes: Any, steps: Any, out: Any) -> list[tuple[slice, ...]]:
    """For each place of a window, the elements that stand there in all windows."""
    return [
        tuple(slice(k * hole, k * hole + (n - 1) * step + 1, step) for k, hole, step, n in zip(place, holes, steps, out))
        for place in np.ndindex(*window)
    ]


@primitive(*_WINDOW_REDUCERS)
def _reduce_window(equation: Equation) -> Run:
    p = equation.params
    ufunc, dtype = _WINDOW_REDUCERS[equation.primitive.name], dtype_of(equation.outvars[0])
    window, size = p["window_dimensions"], equation.outvars[0].aval.shape
    if math.prod(window) > _LARGEST_WINDOW or any(low < 0 or high < 0 for low, high in p["padding"]) or 0 in size or dtype.kind == "c" and ufunc is not np.add:
        raise NotInterpretable("a large window")
    wide, fill = widened(dtype), _neutral(ufunc, dtype)
    around = [(low, high, spread - 1) for (low, high), spread in zip(p["padding"], p["base_dilation"])]
    places = places_of(window, p["window_dilation"], p["window_strides"], size)

    def reduce(x: Any) -> Any:
        x = padded(x, around, fill)
        total = x[places[0]].astype(wide)
        for place in places[1:]:
            ufunc(total, x[place], out=total)
        return total.astype(dtype, copy=False)

    return reduce


@primitive("select_and_scatter_add")
def _select_and_scatter_add(equation: Equation) -> Run:
    """The gradient of a maximum (or minimum) over windows: each source goes to the first chosen element of its window."""
    p = equation.params
    source, operand = equation.invars
    dtype, window = dtype_of(operand), p["window_dimensions"]
    is_max = p["select_prim"].name == "ge"
    if math.prod(window) > _LARGEST_WINDOW or any(low < 0 or high < 0 for low, high in p["padding"]) or dtype.kind == "c":
        raise NotInterpretable("a large window")
    fill = _neutral(np.maximum if is_max else np.minimum, dtype)
    places = places_of(window, (1,) * len(window), p["window_strides"], source.aval.shape)
    inner = tuple(slice(low, low + n) for n, (low, _) in zip(operand.aval.shape, p["padding"]))

    def scatter(new: Any, x: Any) -> Any:
        x = padded(x, [(low, high, 0) for low, high in p["padding"]], fill)
        best, chosen = x[places[0]], np.zeros(new.shape, np.int32)
        for k, place in enumerate(places[1:], 1):
            other = x[place]
            better = other > best if is_max else other < best
            best, chosen = np.where(better, other, best), np.where(better, np.int32(k), chosen)
        total = np.zeros(x.shape, new.dtype)
        for k, place in enumerate(places):
            total[place] += np.where(chosen == k, new, new.dtype.type(0))
        return total[inner]

    return scatter
