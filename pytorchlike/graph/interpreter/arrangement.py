"""Primitives that arrange elements anew: shapes, slices, padding, and constants."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .table import Equation, NotInterpretable, Run, dtype_of, primitive


@primitive("reshape")
def _reshape(equation: Equation) -> Run:
    size = equation.outvars[0].aval.shape
    if equation.params.get("dimensions") is not None:
        raise NotInterpretable("reshape with dimensions")
    return lambda x: x.reshape(size)


@primitive("squeeze", "expand_dims")
def _squeeze(equation: Equation) -> Run:
    size = equation.outvars[0].aval.shape
    return lambda x: x.reshape(size)


@primitive("transpose")
def _transpose(equation: Equation) -> Run:
    order = equation.params["permutation"]
    return lambda x: x.transpose(order)


@primitive("broadcast_in_dim")
def _broadcast_in_dim(equation: Equation) -> Run:
    size, places = equation.params["shape"], equation.params["broadcast_dimensions"]
    old = equation.invars[0].aval.shape
    full = [1] * len(size)
    for n, place in zip(old, places):
        full[place] = n
    if tuple(full) == tuple(size):
        return lambda x: x.reshape(size)
    if tuple(full[len(size) - len(old) :]) == tuple(old):
        return lambda x: np.broadcast_to(x, size)
    return lambda x: np.broadcast_to(x.reshape(full), size)


@primitive("broadcast_to")
def _broadcast_to(equation: Equation) -> Run:
    size = equation.outvars[0].aval.shape
    return lambda x: np.broadcast_to(x, size)


@primitive("slice")
def _slice(equation: Equation) -> Run:
    p = equation.params
    steps = p["strides"] or (1,) * len(p["start_indices"])
    index = tuple(slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], steps))
    return lambda x: x[index]


@primitive("split")
def _split(equation: Equation) -> Run:
    axis, sizes = equation.params["axis"], equation.params["sizes"]
    ends = np.cumsum(sizes)
    indices = [(slice(None),) * axis + (slice(int(end - n), int(end)),) for end, n in zip(ends, sizes)]
    return lambda x: [x[index] for index in indices]


@primitive("unstack")
def _unstack(equation: Equation) -> Run:
    axis = equation.params["axis"]
    return lambda x: list(np.moveaxis(x, axis, 0))


@primitive("stack")
def _stack(equation: Equation) -> Run:
    axis = equation.params["axis"]
    return lambda *arrays: np.stack(arrays, axis)


@primitive("concatenate")
def _concatenate(equation: Equation) -> Run:
    axis = equation.params["dimension"]
    return lambda *arrays: np.concatenate(arrays, axis)


@primitive("tile")
def _tile(equation: Equation) -> Run:
    repeats = equation.params["reps"]
    return lambda x: np.tile(x, repeats)


@primitive("rev")
def _rev(equation: Equation) -> Run:
    dimensions = equation.params["dimensions"]
    return lambda x: np.flip(x, dimensions)


@functools.lru_cache(maxsize=4096)
def _places(size: tuple[int, ...], config: tuple[tuple[int, int, int], ...]) -> tuple[list[int], tuple[slice, ...], tuple[slice, ...]]:
    """The size of a padded array, where the elements go in it, and which of them are not cut off."""
    whole, into, out_of = [], [], []
    for n, (low, high, gap) in zip(size, config):
        step = gap + 1
        m = max(((n - 1) * step + 1 if n else 0) + low + high, 0)
        first = -(low // step) if low < 0 else 0  # the first element that is not cut off
        last = max(first, min(n, -(-(m - low) // step)))  # one behind the last that still lies inside
        start = low + first * step
        whole.append(m)
        into.append(slice(start, start + (last - first - 1) * step + 1 if last > first else start, step))
        out_of.append(slice(first, last))
    return whole, tuple(into), tuple(out_of)


def padded(x: Any, config: Sequence[tuple[int, int, int]], fill: Any) -> Any:
    """An array with (elements before, elements behind, elements between) added in each dimension; a negative number cuts off."""
    if all(low == high == gap == 0 for low, high, gap in config):
        return x
    whole, into, out_of = _places(x.shape, tuple(config))
    result = np.full(whole, fill, x.dtype)
    result[into] = x[out_of]
    return result


@primitive("pad")
def _pad(equation: Equation) -> Run:
    config = equation.params["padding_config"]
    return lambda x, fill: padded(x, config, fill)


@primitive("iota")
def _iota(equation: Equation) -> Run:
    p = equation.params
    size, dimension, dtype = p["shape"], p["dimension"], np.dtype(p["dtype"])
    line = [1] * len(size)
    line[dimension] = size[dimension]
    return lambda *_: np.broadcast_to(np.arange(size[dimension]).astype(dtype).reshape(line), size)


@primitive("empty")
def _empty(equation: Equation) -> Run:
    size, dtype = equation.outvars[0].aval.shape, dtype_of(equation.outvars[0])
    return lambda: np.zeros(size, dtype)


@primitive("zeros_like")
def _zeros_like(equation: Equation) -> Run:
    return np.zeros_like


def _starts(numbers: Any, size: tuple[int, ...], part: tuple[int, ...]) -> tuple[slice, ...]:
    """Where a part of an array begins, moved so that it lies inside."""
    first = [min(max(int(k), 0), n - m) for k, n, m in zip(numbers, size, part)]
    return tuple(slice(a, a + m) for a, m in zip(first, part))


@primitive("dynamic_slice")
def _dynamic_slice(equation: Equation) -> Run:
    part = equation.params["slice_sizes"]
    return lambda x, *start: x[_starts(start, x.shape, part)]


@primitive("dynamic_update_slice")
def _dynamic_update_slice(equation: Equation) -> Run:
    def update(x: Any, new: Any, *start: Any) -> Any:
        result = np.array(x)
        result[_starts(start, x.shape, new.shape)] = new
        return result

    return update
