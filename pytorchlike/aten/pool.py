"""Pooling over one, two and three dimensions: maximum, average, adaptive, power-average, and the inverse of max pooling.

A window is read as strided slices of the padded input, one for each kernel position, which XLA fuses into one loop (measured on 2 cores,
32x64x32x32, kernel 2: 1.2 ms against 2.7 ms of `reduce_window` and 8.5 ms of torch).  The gradient of the maximum scatters through the
winners' indices, or, where windows do not overlap, interleaves (2 ms; XLA's select-and-scatter: 41 ms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.registry import FUNCTION, OPERATORS, composite, op
from .conv import expand
from .reduce import is_integral, scalar_type, widened

__all__ = ["Taps", "resample", "resample_gradient"]

#: Kernels up to this many elements are read as slices; larger ones by gathers and `reduce_window`.
_SLICED_KERNEL = 64


# --- windows ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Windows:
    """Where the windows lie; every field has one entry for each spatial dimension."""

    sizes: tuple[int, ...]  # of the input
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    counts: tuple[int, ...]  # windows, so the output's size

    @staticmethod
    def of(shape, kernel, stride, padding, dilation, ceil_mode) -> _Windows:
        spatial = len(kernel)
        sizes, stride = tuple(shape[len(shape) - spatial :]), expand(stride, spatial) if stride else tuple(kernel)
        padding, dilation = expand(padding, spatial), expand(dilation, spatial)
        counts = []
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation):
            count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
            if ceil_mode and (count - 1) * s >= n + p:  # the last window has to start inside the input or its left padding
                count -= 1
            counts.append(count)
        return _Windows(sizes, tuple(kernel), stride, padding, dilation, tuple(counts))

    @property
    def is_small(self) -> bool:
        return math.prod(self.kernel) <= _SLICED_KERNEL

    @property
    def is_tiling(self) -> bool:
        """Windows stand side by side: no overlap, no gap."""
        return self.kernel == self.stride and set(self.dilation) == {1}

    def padded(self, x, value: Any):
        borders = [(0, 0, 0)] * (x.ndim - len(self.kernel))
        for n, k, s, p, d, count in zip(self.sizes, self.kernel, self.stride, self.padding, self.dilation, self.counts):
            borders.append((p, (count - 1) * s + d * (k - 1) + 1 - n - p, 0))
        return lax.pad(x, jnp.asarray(value, x.dtype), borders)

    def slices(self, x, value: Any) -> list[tuple[tuple[int, ...], Any]]:
        """For each kernel position, in row-major order, the element of every window at that position."""
        x, lead = self.padded(x, value), x.ndim - len(self.kernel)
        found = []
        for position in np.ndindex(self.kernel):
            start = [p * d for p, d in zip(position, self.dilation)]
            stop = [a + (count - 1) * s + 1 for a, count, s in zip(start, self.counts, self.stride)]
            steps = (1,) * lead + self.stride
            found.append((position, lax.slice(x, (0,) * lead + tuple(start), x.shape[:lead] + tuple(stop), steps)))
        return found

    def source(self, position: Sequence[int]):
        """For each window the flat index, in the unpadded plane, of its element at a kernel position."""
        flat: Any = 0
        for axis, (n, s, p, d) in enumerate(zip(self.sizes, self.stride, self.padding, self.dilation)):
            along = lax.broadcasted_iota(jnp.int32, self.counts, axis) * s + (position[axis] * d - p)
            flat = flat * n + along
        return flat

    def first_source(self):
        """For each window the flat index of its first element that is no padding."""
        flat: Any = 0
        for axis, (n, s, p, d) in enumerate(zip(self.sizes, self.stride, self.padding, self.dilation)):
            start = lax.broadcasted_iota(jnp.int32, self.counts, axis) * s - p
            flat = flat * n + jnp.where(start < 0, start + -(start // d) * d, start)
        return flat

    def index_lists(self) -> list[np.ndarray]:
        """For each dimension the input index of every (window, kernel position); positions in the padding repeat their neighbour."""
        lists = []
        for n, k, s, p, d, count in zip(self.sizes, self.kernel, self.stride, self.padding, self.dilation, self.counts):
            at = np.arange(count)[:, None] * s - p + np.arange(k)[None] * d
            inside = (at >= 0) & (at < n)
            low = np.where(inside, at, n).min(1, keepdims=True)
            high = np.where(inside, at, -1).max(1, keepdims=True)
            lists.append(np.clip(at, low, high))
        return lists

    def interleaved(self, parts: list[Any]):
        """The input-shaped array whose windows hold ``parts``, one for each kernel position; for windows that tile."""
        lead = parts[0].shape[: parts[0].ndim - len(self.kernel)]
        stacked = jnp.stack(parts, -1).reshape(*lead, *self.counts, *self.kernel)
        spatial, first = len(self.kernel), len(lead)
        order = [axis for d in range(spatial) for axis in (first + d, first + spatial + d)]
        joined = stacked.transpose(*range(first), *order).reshape(*lead, *(c * k for c, k in zip(self.counts, self.kernel)))
        borders = [(0, 0, 0)] * first
        borders += [(-p, n + p - c * k, 0) for n, p, c, k in zip(self.sizes, self.padding, self.counts, self.kernel)]
        return lax.pad(joined, jnp.zeros((), joined.dtype), borders)


def _lowest(dtype):
    return jnp.iinfo(dtype).min if jnp.issubdtype(dtype, jnp.integer) else -jnp.inf


def _scatter_plane(g, indices, sizes: tuple[int, ...]):
    """``g`` added up at ``indices`` into planes of these sizes."""
    lead = g.shape[: g.ndim - len(sizes)]
    planes = math.prod(lead)
    flat, at = g.reshape(planes, -1), indices.reshape(planes, -1)
    zeros = jnp.zeros((planes, math.prod(sizes)), g.dtype)
    return zeros.at[jnp.arange(planes)[:, None], at].add(flat, mode="promise_in_bounds").reshape(*lead, *sizes)


def _gather_plane(x, indices, spatial: int):
    lead = x.shape[: x.ndim - spatial]
    found = jnp.take_along_axis(x.reshape(*lead, -1), indices.reshape(*lead, -1), -1, mode="clip")
    return found.reshape(indices.shape)


# --- maximum ------------------------------------------------------------------------------------------------------------------------


def _gathered_maximum(x, index_lists: list[np.ndarray]):
    """Maximum and its flat index over windows that are a product of index lists."""
    spatial, lead = len(index_lists), x.shape[: x.ndim - len(index_lists)]
    sizes, flat = x.shape[x.ndim - spatial :], np.zeros((), np.int32)
    for d, at in enumerate(index_lists):
        x = jnp.take(x, at.reshape(-1), axis=len(lead) + d)
        shape = [1] * (2 * spatial)
        shape[d], shape[spatial + d] = at.shape
        flat = flat * np.int32(sizes[d]) + at.astype(np.int32).reshape(shape)
    counts = tuple(at.shape[0] for at in index_lists)
    x = x.reshape(*lead, *(n for at in index_lists for n in at.shape))
    first = len(lead)
    x = x.transpose(*range(first), *range(first, x.ndim, 2), *range(first + 1, x.ndim, 2)).reshape(*lead, *counts, -1)
    flat = np.broadcast_to(flat, counts + tuple(at.shape[1] for at in index_lists)).reshape(*counts, -1)
    best = jnp.argmax(x, -1, keepdims=True)
    if jnp.issubdtype(x.dtype, jnp.floating):  # torch keeps the last NaN
        nan = jnp.isnan(x)
        last = x.shape[-1] - 1 - jnp.argmax(jnp.flip(nan, -1), -1, keepdims=True)
        best = jnp.where(nan.any(-1, keepdims=True), last, best)
    values = jnp.take_along_axis(x, best, -1)[..., 0]
    where = jnp.take_along_axis(jnp.broadcast_to(flat, x.shape), best, -1)[..., 0]
    return values, where


def _maximum(x, windows: _Windows):
    """Maximum of every window and the flat index it came from: the first of equals, the last NaN."""
    if not windows.is_small:
        return _gathered_maximum(x, windows.index_lists())
    lowest = _lowest(x.dtype)
    shape = x.shape[: x.ndim - len(windows.kernel)] + windows.counts
    best = jnp.full(shape, lowest, x.dtype)
    where = jnp.broadcast_to(windows.first_source(), shape)
    for position, element in windows.slices(x, lowest):
        better = element > best
        if jnp.issubdtype(x.dtype, jnp.floating):
            better |= jnp.isnan(element)
        best, where = jnp.where(better, element, best), jnp.where(better, windows.source(position), where)
    return best, where


def _maximum_value(x, windows: _Windows):
    lowest = _lowest(x.dtype)
    if windows.is_small:
        elements = [element for _, element in windows.slices(x, lowest)]
        best = elements[0]
        for element in elements[1:]:
            best = jnp.maximum(best, element)
        return best
    lead = (1,) * (x.ndim - len(windows.kernel))
    return lax.reduce_window(
        windows.padded(x, lowest), np.asarray(lowest, x.dtype), lax.max, lead + windows.kernel, lead + windows.stride, "VALID",
        window_dilation=lead + windows.dilation,
    )  # fmt: skip


def _maximum_gradient(g, input, windows: _Windows):
    _, where = _maximum(lax.stop_gradient(input), windows)
    if windows.is_tiling and windows.is_small:
        parts = [jnp.where(where == windows.source(p), g, 0) for p in np.ndindex(windows.kernel)]
        return windows.interleaved(parts)
    return _scatter_plane(g, where, windows.sizes)


def _check_maximum(input, kernel_size, stride, padding, dilation, ceil_mode, spatial) -> None:
    name, number = f"max_pool{spatial}d", ("one int", "two ints", "three ints")[spatial - 1]
    for argument, values in (("kernel_size", kernel_size), ("stride", stride or kernel_size), ("padding", padding), ("dilation", dilation)):
        if len(expand(values, spatial)) != spatial:
            start = f"{name}: {argument} must "
            omitted = "either be omitted, a single int, or a" if argument == "stride" else "be either a single int, or a"
            omitted = "either be a single int, or a" if argument == "kernel_size" else omitted
            raise RuntimeError(f"{start}{omitted} tuple of {number}")
    kernel, shape = expand(kernel_size, spatial), tuple(input.shape)
    stride_, padding_, dilation_ = expand(stride or kernel, spatial), expand(padding, spatial), expand(dilation, spatial)
    if spatial == 1:
        if len(shape) not in (2, 3) or 0 in shape[-2:]:
            raise RuntimeError(
                f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
            )
        for what, value in (("kernel_size", kernel[0]), ("stride", stride_[0]), ("dilation", dilation_[0])):
            if value <= 0:
                raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
        if padding_[0] < 0 or padding_[0] > kernel[0] // 2:
            rule = "must be non-negative, but got" if padding_[0] < 0 else "should be at most half of kernel size, but got padding="
            shown = f" {padding_[0]}" if padding_[0] < 0 else f"{padding_[0]} and kernel_size={kernel[0]}"
            raise RuntimeError(f"max_pool1d() padding {rule}{shown}")
        count = _Windows.of(shape, kernel, stride_, padding, dilation, ceil_mode).counts[0]
        if count <= 0:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
        return
    if len(shape) not in (spatial + 1, spatial + 2):
        raise RuntimeError(f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input")
    _check_windows(shape, kernel, stride_, padding_, dilation_, ceil_mode)
    if 0 in shape[len(shape) - spatial - 1 :]:
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )


def _check_windows(shape, kernel, stride, padding, dilation, ceil_mode) -> None:
    spatial = len(kernel)
    axes = ("T", "H", "W")[3 - spatial :]
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if any(k <= 0 for k in kernel):
        shown = " ".join(f"k{a}: {k}" for a, k in zip(axes, kernel))
        raise RuntimeError(f"kernel size should be greater than zero, but got {shown}")
    if any(s < 0 for s in stride):
        raise RuntimeError("stride should be greater than zero, but got " + " ".join(f"d{a}: {s}" for a, s in zip(axes, stride)))
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero, but got " + " ".join(f"dilation{a}: {d}" for a, d in zip(axes, dilation)))
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    counts = _Windows.of(shape, kernel, stride, padding, dilation, ceil_mode).counts
    if any(c < 1 for c in counts) and 0 not in shape[len(shape) - spatial :]:
        before = "x".join(map(str, shape[len(shape) - spatial - 1 :]))
        after = "x".join(map(str, (shape[len(shape) - spatial - 1], *counts)))
        raise RuntimeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")


def _declare_maximum(spatial: int) -> None:
    geometry = f"int[{spatial}] kernel_size, int[{spatial}]? stride=None, int[{spatial}] padding=0, int[{spatial}] dilation=1, bool ceil_mode=False"

    def windows(input, kernel_size, stride, padding, dilation, ceil_mode) -> _Windows:
        return _Windows.of(input.shape, expand(kernel_size, spatial), stride, padding, dilation, ceil_mode)

    @op(f"max_pool{spatial}d(Tensor self, {geometry}) -> Tensor", forms=FUNCTION)
    def values_only(self, kernel_size, stride, padding, dilation, ceil_mode):
        """The maximum of every window; NaN wins.

        Grad: to the first of equal maxima.
        """
        return _maximum_value(self, windows(self, kernel_size, stride, padding, dilation, ceil_mode))

    @values_only.grad("self")
    def _(g, self, kernel_size, stride, padding, dilation, ceil_mode):
        return _maximum_gradient(g, self, windows(self, kernel_size, stride, padding, dilation, ceil_mode))

    @values_only.check
    def _(self, kernel_size, stride, padding, dilation, ceil_mode):
        _check_maximum(self, kernel_size, stride, padding, dilation, ceil_mode, spatial)

    @op(
        f"max_pool{spatial}d_with_indices(Tensor input, {geometry}, bool return_indices=False) -> (Tensor, Tensor)",
        forms=FUNCTION,
        namespaces=("", "nn.functional") if spatial == 1 else ("nn.functional",),
    )
    def with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        """The maximum of every window and its flat index in the plane."""
        values, where = _maximum(input, windows(input, kernel_size, stride, padding, dilation, ceil_mode))
        return values, where.astype(jnp.int64)

    @with_indices.grad("input")
    def _(g, input_meta, result1):
        return _scatter_plane(g[0], result1, input_meta.shape[input_meta.ndim - spatial :])

    @with_indices.check
    def _(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        _check_maximum(input, kernel_size, stride, padding, dilation, ceil_mode, spatial)

    @composite(
        f"max_pool{spatial}d.functional(Tensor input, {geometry}, bool return_indices=False) -> Tensor",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """The maximum of every window; with ``return_indices`` a tuple of it and its flat index in the plane."""
        if return_indices:
            return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return values_only(input, kernel_size, stride, padding, dilation, ceil_mode)

    @op(f"max_unpool{spatial}d.sized(Tensor self, Tensor indices, int[{spatial}] output_size) -> Tensor", forms=FUNCTION, namespaces=())
    def unpool(self, indices, output_size):
        """Zeros of the given size with every element at its index."""
        lead = self.shape[: self.ndim - spatial]
        planes = math.prod(lead)
        zeros = jnp.zeros((planes, math.prod(output_size)), self.dtype)
        placed = zeros.at[jnp.arange(planes)[:, None], indices.reshape(planes, -1)].set(self.reshape(planes, -1), mode="drop")
        return placed.reshape(*lead, *output_size)

    @unpool.grad("self")
    def _(g, indices):
        return _gather_plane(g, indices, spatial)

    @unpool.check
    def _(self, indices, output_size):
        if scalar_type(indices.dtype) != "Long":
            raise RuntimeError(f"elements in indices should be type int64 but got: {scalar_type(indices.dtype)}")
        if tuple(self.shape) != tuple(indices.shape):
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) "
                f"but got indices tensor with shape: {list(indices.shape)}"
            )

    unpool.data_check(RuntimeError, "Found an invalid max index: it lies outside of the output")(
        lambda self, indices, output_size: (indices < 0) | (indices >= math.prod(output_size))
    )

    @composite(
        f"max_unpool{spatial}d(Tensor input, Tensor indices, int[{spatial}] kernel_size, int[{spatial}]? stride=None, "
        f"int[{spatial}] padding=0, int[]? output_size=None) -> Tensor",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        """The inverse of max pooling: every maximum back at its index, zeros elsewhere."""
        kernel, pad = expand(kernel_size, spatial), expand(padding, spatial)
        step = expand(stride, spatial) if stride else kernel
        default = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-spatial:], step, pad, kernel)]
        size = default if output_size is None else list(output_size)[-spatial:]
        if output_size is not None:
            if len(output_size) not in (spatial, spatial + 2):
                raise ValueError(
                    f"output_size should be a sequence containing {spatial} or {spatial + 2} elements, but it has a length of '{len(output_size)}'"
                )
            for d, (n, expected, s) in enumerate(zip(size, default, step)):
                if not expected - s < n < expected + s:
                    raise ValueError(
                        f'invalid output_size "{size}" (dim {d} must be between {expected - s} and {expected + s})'
                    )
        return unpool(input, indices, tuple(size))


# --- averages -----------------------------------------------------------------------------------------------------------------------


def _divisor(windows: _Windows, count_include_pad: bool, divisor_override: int | None):
    """What every window's sum is divided by: a number, or an array over the windows when they differ."""
    if divisor_override is not None:
        return divisor_override
    total = np.ones(windows.counts, np.int64)
    for d, (n, k, s, p, count) in enumerate(zip(windows.sizes, windows.kernel, windows.stride, windows.padding, windows.counts)):
        start = np.arange(count) * s - p
        stop = np.minimum(start + k, n + p)
        length = stop - start if count_include_pad else np.minimum(stop, n) - np.maximum(start, 0)
        shape = [1] * len(windows.counts)
        shape[d] = count
        total = total * length.reshape(shape)
    return int(total.flat[0]) if total.size and (total == total.flat[0]).all() else total


def _sum(x, windows: _Windows):
    lead = (1,) * (x.ndim - len(windows.kernel))
    zero = np.zeros((), x.dtype)  # a numpy constant: JAX recognises the sum, which it can differentiate, by its value
    return lax.reduce_window(windows.padded(x, 0), zero, lax.add, lead + windows.kernel, lead + windows.stride, "VALID")


def _average(x, windows: _Windows, count_include_pad: bool = True, divisor_override: int | None = None):
    divisor, dtype = _divisor(windows, count_include_pad, divisor_override), x.dtype
    wide = widened(x)
    total: Any = 0
    if windows.is_small:
        for _, element in windows.slices(wide, 0):
            total = total + element
    elif windows.counts == (1,) * len(windows.counts) and windows.kernel == windows.sizes and not any(windows.padding):
        total = wide.sum(tuple(range(x.ndim - len(windows.kernel), x.ndim)), keepdims=True, dtype=wide.dtype)
    else:
        total = _sum(wide, windows)
    divisor = jnp.asarray(divisor, wide.dtype)
    return (lax.div(*jnp.broadcast_arrays(total, divisor)) if is_integral(dtype) else total / divisor).astype(dtype)


def _average_gradient(g, input, windows: _Windows, count_include_pad: bool = True, divisor_override: int | None = None):
    wide = widened(g)
    share = wide / jnp.asarray(_divisor(windows, count_include_pad, divisor_override), wide.dtype)
    if windows.is_tiling:
        return _spread(share, windows)
    zeros = jnp.zeros(input.shape, wide.dtype)
    return jax.vjp(lambda x: _sum(x, windows), zeros)[1](share)[0]


def _spread(share, windows: _Windows):
    """Every window filled with its element of ``share``; for windows that tile."""
    first = share.ndim - len(windows.kernel)
    lead, borders = share.shape[:first], [(0, 0, 0)] * first
    spread = share.reshape(*lead, *(n for c in windows.counts for n in (c, 1)))
    spread = jnp.broadcast_to(spread, (*lead, *(n for pair in zip(windows.counts, windows.kernel) for n in pair)))
    spread = spread.reshape(*lead, *(c * k for c, k in zip(windows.counts, windows.kernel)))
    borders += [(-p, n + p - c * k, 0) for n, p, c, k in zip(windows.sizes, windows.padding, windows.counts, windows.kernel)]
    return lax.pad(spread, jnp.zeros((), spread.dtype), borders)


def _declare_average(spatial: int) -> None:
    override = "" if spatial == 1 else ", int? divisor_override=None"

    def windows(input, kernel_size, stride, padding, ceil_mode) -> _Windows:
        return _Windows.of(input.shape, expand(kernel_size, spatial), stride, padding, 1, ceil_mode)

    def check(input, kernel_size, stride, padding, ceil_mode, divisor_override) -> None:
        kernel, shape = expand(kernel_size, spatial), tuple(input.shape)
        if spatial == 1:
            for name, values in (("kernel_size", kernel_size), ("stride", stride or kernel), ("padding", padding)):
                if len(expand(values, 1)) != 1:
                    raise RuntimeError(f"avg_pool1d() argument '{name}' should contain one int (got {len(values)})")
            if len(shape) not in (2, 3):
                raise RuntimeError(
                    f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while checking arguments for avg_pool1d)"
                )
        elif len(kernel) != spatial:
            number = ("two ints", "three ints")[spatial - 2]
            raise RuntimeError(f"avg_pool{spatial}d: kernel_size must either be a single int, or a tuple of {number}")
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        if spatial == 2 and len(shape) < 3:
            wrap_dim(-3, len(shape))
        if spatial > 1 and len(shape) not in (spatial + 1, spatial + 2):
            raise RuntimeError(f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input")
        ones = (1,) * spatial
        _check_windows(shape, kernel, expand(stride or kernel, spatial), expand(padding, spatial), ones, ceil_mode)

    schema = (
        f"avg_pool{spatial}d(Tensor input, int[{spatial}] kernel_size, int[{spatial}]? stride=None, int[{spatial}] padding=0, "
        f"bool ceil_mode=False, bool count_include_pad=True{override}) -> Tensor"
    )
    if spatial == 1:

        @op(schema, forms=FUNCTION, namespaces=("", "nn.functional"))
        def average(input, kernel_size, stride, padding, ceil_mode, count_include_pad):
            """The mean of every window; ``count_include_pad`` counts padding zeros as elements."""
            return _average(input, windows(input, kernel_size, stride, padding, ceil_mode), count_include_pad)

        @average.grad("input")
        def _(g, input_meta, kernel_size, stride, padding, ceil_mode, count_include_pad):
            return _average_gradient(g, input_meta, windows(input_meta, kernel_size, stride, padding, ceil_mode), count_include_pad)

        @average.check
        def _(input, kernel_size, stride, padding, ceil_mode, count_include_pad):
            check(input, kernel_size, stride, padding, ceil_mode, None)

    else:

        @op(schema, forms=FUNCTION, namespaces=("nn.functional",))
        def average(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            """The mean of every window; ``divisor_override`` replaces the number of elements in it."""
            return _average(input, windows(input, kernel_size, stride, padding, ceil_mode), count_include_pad, divisor_override)

        @average.grad("input")
        def _(g, input_meta, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            at = windows(input_meta, kernel_size, stride, padding, ceil_mode)
            return _average_gradient(g, input_meta, at, count_include_pad, divisor_override)

        @average.check
        def _(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            check(input, kernel_size, stride, padding, ceil_mode, divisor_override)

    @composite(
        f"lp_pool{spatial}d(Tensor input, float norm_type, int[{spatial}] kernel_size, int[{spatial}]? stride=None, bool ceil_mode=False) -> Tensor",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def power_average(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        """The ``norm_type``-norm of every window (the root of the sum of powers)."""
        kernel = expand(kernel_size, spatial)
        mean = average(input.pow(norm_type), kernel, stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(math.prod(kernel)).pow(1.0 / norm_type)


# --- adaptive -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taps:
    """A linear map along one dimension: output ``o`` is the sum over ``j`` of ``weights[o, j]`` times input ``indices[o, j]``."""

    indices: np.ndarray
    weights: np.ndarray


def resample(x, axis: int, taps: Taps):
    """Apply taps along a dimension."""
    total: Any = 0
    shape = [1] * x.ndim
    shape[axis] = taps.indices.shape[0]
    for at, weight in zip(taps.indices.T, taps.weights.T):
        total = total + jnp.take(x, at, axis=axis) * jnp.asarray(weight.reshape(shape), x.dtype)
    return total


def resample_gradient(g, axis: int, taps: Taps, size: int):
    """The transpose of `resample`, as a product with the dense matrix (XLA's scatter is slow on CPUs)."""
    matrix = np.zeros((taps.indices.shape[0], size))
    np.add.at(matrix, (np.arange(matrix.shape[0])[:, None], taps.indices), taps.weights)
    product = jnp.tensordot(g, jnp.asarray(matrix, g.dtype), ((axis,), (0,)), precision=lax.Precision.HIGHEST)
    return jnp.moveaxis(product, -1, axis)


def _adaptive_bounds(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(out)
    return at * size // max(out, 1), -(-(at + 1) * size // max(out, 1))


def _adaptive_indices(size: int, out: int) -> np.ndarray:
    start, stop = _adaptive_bounds(size, out)
    longest = int((stop - start).max(initial=1))
    return np.minimum(start[:, None] + np.arange(longest), stop[:, None] - 1)


def _adaptive_taps(size: int, out: int) -> Taps:
    start, stop = _adaptive_bounds(size, out)
    inside = start[:, None] + np.arange(int((stop - start).max(initial=1))) < stop[:, None]
    return Taps(_adaptive_indices(size, out), inside / (stop - start)[:, None])


def _even_windows(shape, output_size) -> _Windows | None:
    sizes = shape[len(shape) - len(output_size) :]
    if any(o == 0 or n % o for n, o in zip(sizes, output_size)):
        return None
    kernel = tuple(n // o for n, o in zip(sizes, output_size))
    return _Windows.of(shape, kernel, kernel, 0, 1, False)


def _check_adaptive(name: str, input, output_size, spatial: int, colon: str) -> None:
    shape = tuple(input.shape)
    if len(shape) not in (spatial + 1, spatial + 2):
        if spatial == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while checking arguments for {name})"
            )
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got{colon} {list(shape)}")
    if len(output_size) != spatial:
        raise RuntimeError(f"{name}: output_size must be {spatial}" if colon == "" else f"{name}(): internal error: output_size.size() must be {spatial}")
    for d in range(len(shape) - spatial, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} "
                f"with dimension {d} being empty"
            )
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type(input.dtype)}'")


def _resolved(output_size, input, spatial: int) -> tuple[int, ...]:
    """``output_size`` for every dimension; None keeps the input's."""
    sizes = (output_size,) * spatial if output_size is None or isinstance(output_size, int) else tuple(output_size)
    sizes = sizes * spatial if len(sizes) == 1 else sizes
    return tuple(input.shape[d - len(sizes)] if n is None else n for d, n in enumerate(sizes))


def _declare_adaptive(spatial: int) -> None:
    public = ("", "nn.functional") if spatial == 1 else ("nn.functional",)

    @op(f"_adaptive_avg_pool{spatial}d(Tensor self, int[{spatial}] output_size) -> Tensor", forms=FUNCTION, namespaces=())
    def average(self, output_size):
        """The mean of windows laid out so that there are ``output_size`` of them."""
        even = _even_windows(self.shape, output_size)
        if even is not None:
            return _average(self, even)
        wide = widened(self)
        for d, out in enumerate(output_size):
            axis = self.ndim - spatial + d
            wide = resample(wide, axis, _adaptive_taps(self.shape[axis], out))
        return wide.astype(self.dtype)

    @average.grad("self")
    def _(g, self_meta, output_size):
        even = _even_windows(self_meta.shape, output_size)
        if even is not None:
            return _average_gradient(g, self_meta, even)
        wide = widened(g)
        for d, out in enumerate(output_size):
            axis = self_meta.ndim - spatial + d
            wide = resample_gradient(wide, axis, _adaptive_taps(self_meta.shape[axis], out), self_meta.shape[axis])
        return wide

    @average.check
    def _(self, output_size):
        name = f"adaptive_avg_pool{spatial}d"
        if len(output_size) == spatial and any(n < 0 for n in output_size):
            shown = ", ".join(map(str, output_size))
            raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}")
        _check_adaptive(name, self, output_size, spatial, "")

    @composite(f"adaptive_avg_pool{spatial}d(Tensor input, int?[] output_size) -> Tensor", forms=FUNCTION, namespaces=public)
    def adaptive_average(input, output_size):
        """The mean of windows laid out so that there are ``output_size`` of them; None keeps a dimension's size."""
        return average(input, _resolved(output_size, input, spatial))

    @op(
        f"adaptive_max_pool{spatial}d_with_indices.sized(Tensor self, int[{spatial}] output_size) -> (Tensor, Tensor)",
        forms=FUNCTION,
        namespaces=(),
    )
    def maximum(self, output_size):
        """The maximum of windows laid out so that there are ``output_size`` of them, and its flat index in the plane."""
        even = _even_windows(self.shape, output_size)
        if 0 in output_size:
            empty = (*self.shape[: self.ndim - spatial], *output_size)
            return jnp.zeros(empty, self.dtype), jnp.zeros(empty, jnp.int64)
        if even is not None:
            values, where = _maximum(self, even)
        else:
            sizes = self.shape[self.ndim - spatial :]
            values, where = _gathered_maximum(self, [_adaptive_indices(n, out) for n, out in zip(sizes, output_size)])
        return values, where.astype(jnp.int64)

    @maximum.grad("self")
    def _(g, self_meta, result1):
        return _scatter_plane(g[0], result1, self_meta.shape[self_meta.ndim - spatial :])

    @maximum.check
    def _(self, output_size):
        _check_adaptive(f"adaptive_max_pool{spatial}d", self, output_size, spatial, ":")

    @composite(
        f"adaptive_max_pool{spatial}d_with_indices(Tensor input, int?[] output_size, bool return_indices=False) -> (Tensor, Tensor)",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def with_indices(input, output_size, return_indices=False):
        """The maxima of ``output_size`` windows and their flat indices in the plane."""
        return maximum(input, _resolved(output_size, input, spatial))

    @composite(
        f"adaptive_max_pool{spatial}d(Tensor input, int?[] output_size, bool return_indices=False) -> Tensor",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def adaptive_maximum(input, output_size, return_indices=False):
        """The maxima of ``output_size`` windows; with ``return_indices`` a tuple of them and their flat indices in the plane."""
        values, where = maximum(input, _resolved(output_size, input, spatial))
        return (values, where) if return_indices else values


for _spatial in (1, 2, 3):
    _declare_maximum(_spatial)
    _declare_average(_spatial)
    _declare_adaptive(_spatial)


@composite("adaptive_max_pool1d.both(Tensor self, int[1] output_size) -> (Tensor, Tensor)", forms=FUNCTION)
def adaptive_max_pool1d(self, output_size):
    """The maxima of ``output_size`` windows and their indices."""
    return OPERATORS["adaptive_max_pool1d_with_indices.sized"](self, expand(output_size, 1))
