"""Pooling of regions of interest: what `roi_align`, `roi_pool` and their position-sensitive forms compute, and their gradients.

A region is a row ``(image, x1, y1, x2, y2)``; it is divided into ``pooled_height x pooled_width`` bins.  The aligning forms take the mean of some points
of a bin, interpolated between pixels, the pooling forms the maximum or the mean of its pixels.  The position-sensitive ("ps") forms read each bin from a
channel of its own.  None has a gradient for the regions, as in torchvision.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ...dispatch.registry import FUNCTION, Operator, op

__all__ = [
    "ps_roi_align", "ps_roi_align_backward", "ps_roi_pool", "ps_roi_pool_backward", "roi_align", "roi_align_backward", "roi_pool", "roi_pool_backward",
]  # fmt: skip

_op = functools.partial(op, forms=FUNCTION, namespaces=())
_SIZE = "float spatial_scale, int pooled_height, int pooled_width"
_IMAGES = "int batch_size, int channels, int height, int width"


def _wide(array: Any) -> Any:
    """Half precision is computed in float32."""
    return array.astype(jnp.float32) if array.dtype.itemsize < 4 else array


# ---------------------------------------------------------------------------------------------------------------- aligned
class _Points(NamedTuple):
    """The points of all bins, as coordinates that are computed one point a bin at a time.

    Attributes:
        start: ``(2, K, 1, 1)``, the regions' upper left corners (y, x); ``bins``: the sizes of their bins.
        counts: ``(2, K, 1, 1)``, how many points there are in a bin along y and x.
        cell: ``(2, 1, pooled_height, pooled_width)``, the bins' numbers along y and x.
        size: (height, width) of the images.
    """

    start: Any
    bins: Any
    counts: Any
    cell: Any
    size: tuple[int, int]

    @property
    def in_a_bin(self) -> Any:
        """``(K, 1, 1)``, the number of points in a bin."""
        return self.counts[0] * self.counts[1]

    def corners(self, k: Any) -> list[tuple[Any, Any, Any]]:
        """The four pixels around each bin's k-th point: ``(y, x, weight)``, each ``(K, pooled_height, pooled_width)``.

        Up to one pixel outside, a point has the value of the border; further out, and behind a bin's last point, its weights are zero.
        """
        number = jnp.stack([k // jnp.maximum(self.counts[1], 1), k % jnp.maximum(self.counts[1], 1)])
        dtype = self.start.dtype
        at = self.start + self.cell * self.bins + (number.astype(dtype) + 0.5) * self.bins / jnp.maximum(self.counts, 1).astype(dtype)
        limit = jnp.array(self.size).reshape(2, 1, 1, 1)
        there = ((at >= -1) & (at <= limit)).all(0) & (k < self.in_a_bin)
        at = jnp.clip(jnp.where(there, at, 0), 0, (limit - 1).astype(dtype))
        low = jnp.floor(at).astype(jnp.int32)
        high = jnp.minimum(low + 1, limit - 1)
        far = at - low
        (y0, x0), (y1, x1), (fy, fx) = low, high, far
        weights = [(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx]
        return [(y, x, jnp.where(there, w, 0)) for (y, x), w in zip([(y0, x0), (y0, x1), (y1, x0), (y1, x1)], weights)]


def _points(rois: Any, scale: float, pooled: tuple[int, int], ratio: int, aligned: bool, smallest: float | None, size: tuple[int, int]) -> _Points:
    """The points of regions.

    Args:
        ratio: the number of points along each side of a bin; from 0 down, one for each pixel of it.
        aligned: pixels' centers, not their corners, have whole coordinates.
        smallest: the sides of regions are at least this long.
    """
    corners = rois[:, 1:].astype(rois.dtype) * jnp.asarray(scale, rois.dtype) - (0.5 if aligned else 0)
    start, end = corners[:, 1::-1].T, corners[:, :1:-1].T  # (2, K), y before x
    extent = end - start if smallest is None else jnp.maximum(end - start, smallest)
    bins = extent / jnp.array(pooled, rois.dtype).reshape(2, 1)
    counts = jnp.full(bins.shape, ratio, jnp.int32) if ratio > 0 else jnp.maximum(jnp.ceil(bins), 0).astype(jnp.int32)
    cell = jnp.stack(jnp.meshgrid(*[jnp.arange(p, dtype=rois.dtype) for p in pooled], indexing="ij"))
    start, bins, counts = (a[:, :, None, None] for a in (start, bins, counts))
    return _Points(start, bins, counts, cell[:, None], size)


def _over_points(points: _Points, ratio: int, step: Callable, initial: Any) -> Any:
    """``step(k, carry)`` for each point of a bin; without a fixed number of them, for as many as the largest bin has."""
    most = ratio * ratio if ratio > 0 else jnp.max(points.in_a_bin, initial=0)
    return jax.lax.fori_loop(0, most, step, initial)


def _index(rois: Any, y: Any, x: Any, by_position: bool) -> tuple:
    """What picks pixels of ``(N, C, H, W)``, or of ``(N, C, pooled_height, pooled_width, H, W)``, as ``(K, pooled_height, pooled_width, C)``."""
    image = rois[:, 0].astype(jnp.int32)[:, None, None]
    if not by_position:
        return image, slice(None), y, x
    row, column = jnp.arange(y.shape[1])[:, None], jnp.arange(y.shape[2])
    return image, slice(None), row, column, y, x


def _aligned(input: Any, rois: Any, points: _Points, ratio: int, by_position: bool = False) -> Any:
    """The means of bins' points; of none, zero or, by position, NaN, as in torchvision."""
    pooled = points.cell.shape[2:]

    def step(k: Any, sums: Any) -> Any:
        for y, x, weight in points.corners(k):
            sums = sums + weight[..., None] * input[_index(rois, y, x, by_position)]
        return sums

    sums = _over_points(points, ratio, step, jnp.zeros((rois.shape[0], *pooled, input.shape[1]), input.dtype))
    divisor = points.in_a_bin.astype(sums.dtype)[..., None] if by_position else _divisor(points, sums.dtype)
    return jnp.moveaxis(sums / divisor, 3, 1)


def _divisor(points: _Points, dtype: Any) -> Any:
    return jnp.maximum(points.in_a_bin, 1).astype(dtype)[..., None]


def _aligned_gradient(grad: Any, rois: Any, points: _Points, ratio: int, shape: tuple[int, ...], by_position: bool = False) -> Any:
    """The transpose of `_aligned`."""
    share = jnp.moveaxis(grad, 1, 3) / _divisor(points, grad.dtype)

    def step(k: Any, found: Any) -> Any:
        for y, x, weight in points.corners(k):
            found = found.at[_index(rois, y, x, by_position)].add(weight[..., None] * share)
        return found

    return _over_points(points, ratio, step, jnp.zeros(shape, grad.dtype))


def _align_points(rois: Any, scale: float, pooled: tuple[int, int], ratio: int, aligned: bool, size: tuple[int, int]) -> _Points:
    return _points(rois, scale, pooled, ratio, aligned, None if aligned else 1.0, size)


@_op(f"_torchvision_roi_align(Tensor input, Tensor rois, {_SIZE}, int sampling_ratio, bool aligned) -> Tensor")
def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """Means of interpolated points: Mask R-CNN, https://arxiv.org/abs/1703.06870."""
    points = _align_points(_wide(rois), spatial_scale, (pooled_height, pooled_width), sampling_ratio, aligned, input.shape[2:])
    return _aligned(_wide(input), rois, points, sampling_ratio).astype(input.dtype)


@_op(f"_torchvision_roi_align_backward(Tensor grad, Tensor rois, {_SIZE}, {_IMAGES}, int sampling_ratio, bool aligned) -> Tensor")
def roi_align_backward(grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width, sampling_ratio, aligned):
    """The gradient of `roi_align` for its images."""
    points = _align_points(_wide(rois), spatial_scale, (pooled_height, pooled_width), sampling_ratio, aligned, (height, width))
    shape = (batch_size, channels, height, width)
    return _aligned_gradient(_wide(grad), rois, points, sampling_ratio, shape).astype(grad.dtype)


@roi_align.grad("input")
def _(g, rois, input_meta, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    return roi_align_backward.body(g, rois, spatial_scale, pooled_height, pooled_width, *input_meta.shape, sampling_ratio, aligned)


def _channel_mapping(count: int, channels: int, pooled: tuple[int, int]) -> Any:
    """Which channel each bin is read from: ``(K, C, pooled_height, pooled_width)``, the same for all regions."""
    shape = (channels // (pooled[0] * pooled[1]), *pooled)
    return jnp.broadcast_to(jnp.arange(channels, dtype=jnp.int32).reshape(shape), (count, *shape))


@_op(f"_torchvision_ps_roi_align(Tensor input, Tensor rois, {_SIZE}, int sampling_ratio) -> (Tensor, Tensor)", differentiable=(0,))
def ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """`roi_align` with a channel for each bin, Light-Head R-CNN, https://arxiv.org/abs/1711.07264; and the channels."""
    n, c, h, w = input.shape
    pooled = pooled_height, pooled_width
    points = _points(_wide(rois), spatial_scale, pooled, sampling_ratio, True, None, (h, w))
    by_bin = _wide(input).reshape(n, c // (pooled_height * pooled_width), *pooled, h, w)
    return _aligned(by_bin, rois, points, sampling_ratio, True).astype(input.dtype), _channel_mapping(rois.shape[0], c, pooled)


@_op(f"_torchvision_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_SIZE}, int sampling_ratio, {_IMAGES}) -> Tensor")
def ps_roi_align_backward(grad, rois, channel_mapping, spatial_scale, pooled_height, pooled_width, sampling_ratio, batch_size, channels, height, width):
    """The gradient of `ps_roi_align` for its images."""
    points = _points(_wide(rois), spatial_scale, (pooled_height, pooled_width), sampling_ratio, True, None, (height, width))
    shape = (batch_size, grad.shape[1], pooled_height, pooled_width, height, width)
    found = _aligned_gradient(_wide(grad), rois, points, sampling_ratio, shape, True)
    return found.reshape(batch_size, channels, height, width).astype(grad.dtype)


@ps_roi_align.grad("input")
def _(g, rois, input_meta, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    return ps_roi_align_backward.body(g[0], rois, None, spatial_scale, pooled_height, pooled_width, sampling_ratio, *input_meta.shape)


# ---------------------------------------------------------------------------------------------------------------- pooled
def _bins(rois: Any, scale: float, pooled: tuple[int, int], is_inclusive: bool, limits: tuple[int, int]) -> list[tuple[Any, Any]]:
    """The pixels of bins, which overlap by up to one: along y and x, the first ``(K, bins)`` and the one behind the last.

    Args:
        is_inclusive: the pixel in which a region ends belongs to it.
        limits: pixels from here on belong to no bin.
    """
    scaled = rois[:, 1:] * jnp.asarray(scale, rois.dtype)
    whole = jnp.trunc(scaled)
    rounded = jnp.where(jnp.abs(scaled - whole) >= 0.5, whole + jnp.sign(scaled), whole).astype(jnp.int32)  # C's ``round``: halves away from zero
    found = []
    for axis in (0, 1):
        start, end = rounded[:, 1 - axis, None], rounded[:, 3 - axis, None]
        size = jnp.maximum(end - start + int(is_inclusive), 1).astype(rois.dtype) / jnp.asarray(pooled[axis], rois.dtype)
        number = jnp.arange(pooled[axis], dtype=rois.dtype)
        first = jnp.floor(number * size).astype(jnp.int32) + start
        behind = jnp.ceil((number + 1) * size).astype(jnp.int32) + start
        found.append((jnp.clip(first, 0, limits[axis]), jnp.clip(behind, 0, limits[axis])))
    return found


def _is_in(bounds: tuple[Any, Any], size: int) -> Any:
    """Which pixels along a side belong to each bin: ``(..., bins, size)``."""
    pixels = jnp.arange(size)
    return (pixels >= bounds[0][..., None]) & (pixels < bounds[1][..., None])


def _first_maximum(values: Any, mask: Any) -> tuple[Any, Any]:
    """Along the last dimension, the maximum of what is in a mask and where it comes first; NaN is never one."""
    shown = jnp.where(mask & ~jnp.isnan(values), values, -jnp.inf)
    at = jnp.argmax(shown, -1)
    return jnp.take_along_axis(shown, at[..., None], -1)[..., 0], at


@_op(f"_torchvision_roi_pool(Tensor input, Tensor rois, {_SIZE}) -> (Tensor, Tensor)", differentiable=(0,))
def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """Maxima of bins, Fast R-CNN, https://arxiv.org/abs/1504.08083; and which pixel each one is, -1 in an empty bin."""
    h, w = input.shape[2:]
    rows, columns = _bins(rois, spatial_scale, (pooled_height, pooled_width), True, (h, w))
    lowest = jnp.asarray(jnp.finfo(jnp.float32).min, input.dtype)

    def one(region: Any) -> tuple[Any, Any]:
        image, (in_rows, in_columns) = region
        of_columns, column = _first_maximum(input[image][:, :, None, :], in_columns)  # (C, H, pooled_width)
        values, row = _first_maximum(jnp.moveaxis(of_columns, 1, 2)[:, None], in_rows[:, None, :])  # (C, pooled_height, pooled_width)
        at = row * w + jnp.take_along_axis(column, row, 1)
        is_empty = ~(in_rows.any(-1)[:, None] & in_columns.any(-1)[None, :])
        is_found = values > lowest
        return jnp.where(is_empty, 0, jnp.where(is_found, values, lowest)), jnp.where(is_empty | ~is_found, -1, at).astype(jnp.int32)

    return jax.lax.map(one, (rois[:, 0].astype(jnp.int32), (_is_in(rows, h), _is_in(columns, w))))


@_op(f"_torchvision_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_SIZE}, {_IMAGES}) -> Tensor")
def roi_pool_backward(grad, rois, argmax, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width):
    """The gradient of `roi_pool` for its images."""
    image, channel = rois[:, 0].astype(jnp.int32)[:, None, None, None], jnp.arange(channels)[:, None, None]
    found = jnp.zeros((batch_size, channels, height * width), grad.dtype)
    target = jnp.where(argmax < 0, height * width, argmax)  # out of range, which adds nothing
    return found.at[image, channel, target].add(grad, mode="drop").reshape(batch_size, channels, height, width)


@roi_pool.grad("input")
def _(g, rois, result1, input_meta, spatial_scale, pooled_height, pooled_width):
    return roi_pool_backward.body(g[0], rois, result1, spatial_scale, pooled_height, pooled_width, *input_meta.shape)


def _share(rows: tuple[Any, Any], columns: tuple[Any, Any], dtype: Any) -> Any:
    """One over the number of pixels in each bin, zero for an empty one: ``(..., pooled_height, pooled_width)``."""
    area = jnp.maximum(rows[1] - rows[0], 0)[..., :, None] * jnp.maximum(columns[1] - columns[0], 0)[..., None, :]
    return jnp.where(area > 0, 1 / jnp.maximum(area, 1).astype(dtype), 0)


@_op(f"_torchvision_ps_roi_pool(Tensor input, Tensor rois, {_SIZE}) -> (Tensor, Tensor)", differentiable=(0,))
def ps_roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """Means of bins with a channel for each bin, R-FCN, https://arxiv.org/abs/1605.06409; and the channels.

    The last row and column of pixels belong to no bin here, although the gradient counts them: so it is in torchvision.
    """
    n, c, h, w = input.shape
    pooled = pooled_height, pooled_width
    by_bin = input.reshape(n, -1, *pooled, h, w)
    rows, columns = _bins(rois, spatial_scale, pooled, False, (h - 1, w - 1))

    def one(region: Any) -> Any:
        image, in_rows, in_columns = region
        return jnp.einsum("cpqhw,ph,qw->cpq", by_bin[image], in_rows, in_columns)

    masks = [_is_in(bounds, size).astype(input.dtype) for bounds, size in ((rows, h), (columns, w))]
    sums = jax.lax.map(one, (rois[:, 0].astype(jnp.int32), *masks))
    return sums * _share(rows, columns, input.dtype)[:, None], _channel_mapping(rois.shape[0], c, pooled)


@_op(f"_torchvision_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_SIZE}, {_IMAGES}) -> Tensor")
def ps_roi_pool_backward(grad, rois, channel_mapping, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width):
    """The gradient of `ps_roi_pool` for its images, as torchvision has it."""
    rows, columns = _bins(rois, spatial_scale, (pooled_height, pooled_width), False, (height, width))
    shares = grad * _share(rows, columns, grad.dtype)[:, None]
    masks = [_is_in(bounds, size).astype(grad.dtype) for bounds, size in ((rows, height), (columns, width))]
    found = jnp.zeros((batch_size, grad.shape[1], pooled_height, pooled_width, height, width), grad.dtype)

    def add(found: Any, region: Any) -> tuple[Any, None]:
        image, share, in_rows, in_columns = region
        return found.at[image].add(jnp.einsum("cpq,ph,qw->cpqhw", share, in_rows, in_columns)), None

    found, _ = jax.lax.scan(add, found, (rois[:, 0].astype(jnp.int32), shares, *masks))
    return found.reshape(batch_size, channels, height, width)


@ps_roi_pool.grad("input")
def _(g, rois, input_meta, spatial_scale, pooled_height, pooled_width):
    return ps_roi_pool_backward.body(g[0], rois, None, spatial_scale, pooled_height, pooled_width, *input_meta.shape)


# ---------------------------------------------------------------------------------------------------------------- errors
def _declare_checks(operator: Operator, shape: str, dtypes: str, takes_halves: bool, is_by_position: bool) -> None:
    """torchvision's errors.

    Args:
        shape: the text for regions of another shape; ``dtypes``: for those of another dtype than the images.
    """
    name = operator.name.removeprefix("_torchvision_")
    allowed = ("float32", "float64", *(("float16", "bfloat16") if takes_halves else ()))

    @operator.check
    def check(input: Any, rois: Any, pooled_height: int, pooled_width: int, **rest: Any) -> None:
        if rois.ndim != 2 or rois.shape[1] != 5:
            raise RuntimeError(shape)
        if input.dtype != rois.dtype:
            raise RuntimeError(dtypes)
        if is_by_position and input.shape[1] % (pooled_height * pooled_width):
            raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
        if input.dtype.name not in allowed:
            raise RuntimeError(f"{name} only supports float and double types")

    operator.no_grad("rois")(lambda: True)


_SHAPE = "rois must have shape as Tensor[K, 5]"
_declare_checks(roi_align, _SHAPE, "input should have the same type as rois", True, False)
_SHAPE = "Tensor rois should have shape as Tensor[K, 5]"
_declare_checks(ps_roi_align, _SHAPE, "input should have the same type as rois", True, True)
_declare_checks(roi_pool, _SHAPE, "input and rois must have the same dtype", False, False)
_declare_checks(ps_roi_pool, _SHAPE, "input and rois must have the same dtype", False, True)
