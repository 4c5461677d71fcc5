"""Pooling over one, two and three dimensions: maximum, average, power-average, and the inverse of max pooling; see `windows.py`.

Rules ask for the input itself, not only for its shape: the gradient's own gradient is then zero, as torch's is, and not missing.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.registry import FUNCTION, OUT, composite, op
from .conv import expand
from .reduce import is_integral, scalar_type, widened
from .windows import Windows, gather_plane, scatter_plane

__all__ = ["average_gradient", "average_of", "gathered_maximum", "maximum_of"]

# --- maximum ------------------------------------------------------------------------------------------------------------------------


def _lowest(dtype):
    return jnp.iinfo(dtype).min if jnp.issubdtype(dtype, jnp.integer) else -jnp.inf


def gathered_maximum(x, index_lists: list[np.ndarray]):
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


def maximum_of(x, windows: Windows):
    """Maximum of every window and the flat index it came from: the first of equals, the last NaN."""
    if not windows.is_small:
        return gathered_maximum(x, windows.index_lists())
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


def _maximum_value(x, windows: Windows):
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


def _maximum_gradient(g, input, windows: Windows):
    _, where = maximum_of(lax.stop_gradient(input), windows)
    return scatter_plane(g, where, windows.sizes, unique=windows.is_tiling)


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
        count = Windows.of(shape, kernel, stride_, padding, dilation, ceil_mode).counts[0]
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
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}")
    counts = Windows.of(shape, kernel, stride, padding, dilation, ceil_mode).counts
    if any(c < 1 for c in counts) and 0 not in shape[len(shape) - spatial :]:
        before = "x".join(map(str, shape[len(shape) - spatial - 1 :]))
        after = "x".join(map(str, (shape[len(shape) - spatial - 1], *counts)))
        raise RuntimeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")


def _declare_maximum(spatial: int) -> None:
    geometry = f"int[{spatial}] kernel_size, int[{spatial}]? stride=None, int[{spatial}] padding=0, int[{spatial}] dilation=1, bool ceil_mode=False"

    def windows(input, kernel_size, stride, padding, dilation, ceil_mode) -> Windows:
        return Windows.of(input.shape, expand(kernel_size, spatial), stride, padding, dilation, ceil_mode)

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
        values, where = maximum_of(input, windows(input, kernel_size, stride, padding, dilation, ceil_mode))
        return values, where.astype(jnp.int64)

    @with_indices.grad("input")
    def _(g, input, result1):
        return scatter_plane(g[0], result1, input.shape[input.ndim - spatial :])

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
        planes, count = math.prod(lead), math.prod(self.shape[len(lead) :])
        zeros = jnp.zeros((planes, math.prod(output_size)), self.dtype)
        placed = zeros.at[jnp.arange(planes)[:, None], indices.reshape(planes, count)].set(self.reshape(planes, count), mode="drop")
        return placed.reshape(*lead, *output_size)

    @unpool.grad("self")
    def _(g, indices):
        return gather_plane(g, indices, spatial)

    @unpool.check
    def _(self, indices, output_size):
        if scalar_type(indices.dtype) != "Long":
            raise RuntimeError(f"elements in indices should be type int64 but got: {scalar_type(indices.dtype)}")
        if tuple(self.shape) != tuple(indices.shape):
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) "
                f"but got indices tensor with shape: {list(indices.shape)}"
            )

    def outside(indices, output_size):
        # torch names the sizes of the last two dimensions, the volume by itself where there is one
        volumes = (*output_size, 1) if spatial == 1 else output_size
        return (indices < 0) | (indices >= math.prod(output_size)), indices, *volumes

    text = "Found an invalid max index: {} (output volumes are of size " + "x".join(["{}"] * max(spatial, 2)) + ")"
    unpool.data_check(RuntimeError, text)(outside)

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
                    raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {expected - s} and {expected + s})')
        return unpool(input, indices, tuple(size))


# --- averages -----------------------------------------------------------------------------------------------------------------------


def _divisor(windows: Windows, count_include_pad: bool, divisor_override: int | None):
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


def _sum(x, windows: Windows):
    lead = (1,) * (x.ndim - len(windows.kernel))
    zero = np.zeros((), x.dtype)  # a numpy constant: JAX recognises the sum, which it can differentiate, by its value
    return lax.reduce_window(windows.padded(x, 0), zero, lax.add, lead + windows.kernel, lead + windows.stride, "VALID")


def average_of(x, windows: Windows, count_include_pad: bool = True, divisor_override: int | None = None):
    """The mean of every window; ``count_include_pad`` counts the padding in, ``divisor_override`` divides by another number."""
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


def average_gradient(g, input, windows: Windows, count_include_pad: bool = True, divisor_override: int | None = None):
    """The gradient of `average_of`: every window's share added up in the input's shape."""
    wide = widened(g)
    share = wide / jnp.asarray(_divisor(windows, count_include_pad, divisor_override), wide.dtype)
    if windows.is_tiling:
        return _spread(share, windows)
    zeros = jnp.zeros(input.shape, wide.dtype)
    return jax.vjp(lambda x: _sum(x, windows), zeros)[1](share)[0]


def _spread(share, windows: Windows):
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

    def windows(input, kernel_size, stride, padding, ceil_mode) -> Windows:
        return Windows.of(input.shape, expand(kernel_size, spatial), stride, padding, 1, ceil_mode)

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

        @op(schema, forms=FUNCTION | OUT, namespaces=("", "nn.functional"))
        def average(input, kernel_size, stride, padding, ceil_mode, count_include_pad):
            """The mean of every window; ``count_include_pad`` counts padding zeros as elements."""
            return average_of(input, windows(input, kernel_size, stride, padding, ceil_mode), count_include_pad)

        @average.grad("input")
        def _(g, input, kernel_size, stride, padding, ceil_mode, count_include_pad):
            return average_gradient(g, input, windows(input, kernel_size, stride, padding, ceil_mode), count_include_pad)

        @average.check
        def _(input, kernel_size, stride, padding, ceil_mode, count_include_pad):
            check(input, kernel_size, stride, padding, ceil_mode, None)

    else:

        @op(schema, forms=FUNCTION | OUT, namespaces=("nn.functional",))
        def average(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            """The mean of every window; ``divisor_override`` replaces the number of elements in it."""
            return average_of(input, windows(input, kernel_size, stride, padding, ceil_mode), count_include_pad, divisor_override)

        @average.grad("input")
        def _(g, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
            at = windows(input, kernel_size, stride, padding, ceil_mode)
            return average_gradient(g, input, at, count_include_pad, divisor_override)

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


for _spatial in (1, 2, 3):
    _declare_maximum(_spatial)
    _declare_average(_spatial)
