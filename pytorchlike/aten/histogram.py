"""Weighted histograms, along one dimension and along several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..core.promotion import scalar_type_name
from ..dispatch.registry import FUNCTION, METHOD, OUT, composite, op
from ..tensors.tensor import Tensor
from .elementwise import cpp_name
from .search import insertion_places

_OPTIONS = "float[]? range=None, Tensor? weight=None, bool density=False"


@op("_histogramdd(Tensor self, Tensor[] edges, Tensor? weight, bool density) -> Tensor", forms=FUNCTION, namespaces=(), differentiable=False)
def weighted_histogram(self, edges, weight, density):
    """The weight of the points (the last dimension holds their coordinates) in each box between neighbouring edges, or its density."""
    counts = tuple(e.shape[0] - 1 for e in edges)
    x = self.reshape(-1, len(edges))
    place, inside = jnp.zeros(x.shape[0], jnp.int64), jnp.ones(x.shape[0], bool)
    for k, (ends, count) in enumerate(zip(edges, counts)):
        along = jnp.where(x[:, k] == ends[-1], count - 1, insertion_places(ends, x[:, k], True) - 1)
        inside &= (x[:, k] >= ends[0]) & (x[:, k] <= ends[-1])
        place = place * count + along
    total = math.prod(counts)
    ones = jnp.ones(x.shape[0], x.dtype) if weight is None else weight.reshape(-1)
    sums = jnp.zeros((total + 1,), x.dtype).at[jnp.where(inside, place, total)].add(ones)[:total].reshape(counts)
    if not density:
        return sums
    sums = sums / jnp.sum(sums)
    for k, ends in enumerate(edges):
        sums = sums / jnp.diff(ends).reshape([-1 if d == k else 1 for d in range(len(edges))])
    return sums


def _limits(x, dim: int, range):
    """The outer edges along one coordinate: those given, else of the data; 1 apart if they coincide."""
    if range is not None:
        low, high = (jnp.asarray(end, x.dtype) for end in range[2 * dim : 2 * dim + 2])
    elif x.size == 0:
        return jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    else:
        points = x.reshape(-1, x.shape[-1])[:, dim]
        low, high = jnp.min(points), jnp.max(points)
    single = low == high
    return jnp.where(single, low - 0.5, low).astype(x.dtype), jnp.where(single, high + 0.5, high).astype(x.dtype)


@op("_histogram_edges(Tensor self, int bins, int dim, float[]? range) -> Tensor", forms=FUNCTION, namespaces=(), differentiable=False)
def equal_edges(self, bins, dim, range):
    """The edges of equal bins over a range, or over that of the data; both ends are met exactly."""
    low, high = _limits(self, dim, range)
    step, index = (high - low) / bins, jnp.arange(bins + 1, dtype=self.dtype)
    return jnp.where(index < (bins + 1) // 2, low + step * index, high - step * (bins - index))


@equal_edges.data_check(RuntimeError, "torch.histogramdd: dimension {}'s range is not finite")
def _(self, dim, range):
    low, high = _limits(self, dim, range)
    return ~(jnp.isfinite(low) & jnp.isfinite(high)), jnp.int64(dim)


def _check_edges(x: Tensor, edges: Sequence[Tensor]) -> None:
    if len(edges) != x.shape[-1]:
        raise RuntimeError(
            f"torch.histogramdd: expected {x.shape[-1]} sequences of bin edges for a {x.shape[-1]}-dimensional histogram but got {len(edges)}"
        )
    for k, ends in enumerate(edges):
        if ends.dtype is not x.dtype:
            raise RuntimeError(
                f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{cpp_name(x.dtype.numpy)} and bins for dimension {k} with dtype {cpp_name(ends.dtype.numpy)}"
            )
        if ends.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {ends.ndim} dimensions in the bins tensor for dimension {k}"
            )
        if ends.numel() == 0:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension {k}"
            )
        if ends.numel() == 1:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {k}")


def _check_range(dims: int, range: Sequence[float]) -> None:
    if len(range) != 2 * dims:
        raise RuntimeError(f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got {len(range)}")
    for k, (low, high) in enumerate(zip(range[::2], range[1::2])):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {k}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {k}")


def _histogram(name: str, x: Tensor, bins: Any, range: Sequence[float] | None, weight: Tensor | None, density: bool) -> tuple[Tensor, list[Tensor]]:
    """The histogram of points and the edges along each coordinate."""
    if not x.dtype.is_floating_point or x.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(x.dtype)}'")
    if weight is not None:
        if weight.dtype is not x.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
                f"input({cpp_name(x.dtype.numpy)}), and weight({cpp_name(weight.dtype.numpy)})"
            )
        if weight.shape != x.shape[:-1]:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
                f"dimension, but got input with shape {list(x.shape)} and weight with shape {list(weight.shape)}"
            )
    if bins and isinstance(bins[0], Tensor):
        edges = list(bins)
        _check_edges(x, edges)
    else:
        for k, count in enumerate(bins):
            if count <= 0:
                raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {k}")
        if range is not None:
            _check_range(len(bins), range)
        ends = None if range is None else tuple(map(float, range))
        edges = [equal_edges(x, int(count), k, ends) for k, count in enumerate(bins)]
    return weighted_histogram(x, edges, weight, density), edges


@composite(f"histogram(Tensor self, Any bins=100, *, {_OPTIONS}) -> (Tensor hist, Tensor bin_edges)", forms=FUNCTION | METHOD | OUT)
def histogram(self, bins, range, weight, density):
    """The weight of the elements in each bin, and the bins' edges.

    Args:
        bins: how many of equal width, or the edges themselves.
        range: the outer edges, those of the data unless given.
        density: divide by the bins' widths and the total weight.
    """
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError("histogram() received an invalid combination of arguments - got (Tensor, Tensor, range=tuple)")
    weight = None if weight is None else weight.reshape(-1)
    found, edges = _histogram("histogram_cpu", self.reshape(-1, 1), [bins], range, weight, density)
    return found, bins if isinstance(bins, Tensor) else edges[0]


@composite(f"histogramdd(Tensor self, Any bins, {_OPTIONS}) -> (Tensor hist, Tensor[] bin_edges)", forms=FUNCTION)
def histogramdd(self, bins, range, weight, density):
    """The weight of points, whose coordinates are in the last dimension, in each box, and the boxes' edges along each coordinate.

    Args:
        bins: how many of equal width (for all coordinates, or one number each), or the edges themselves.
        range: the outer edges along each coordinate, one after the other; those of the data unless given.
        density: divide by the boxes' volumes and the total weight.
    """
    if self.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    bins = [bins] * self.shape[-1] if isinstance(bins, int) else list(bins)
    if len(bins) != self.shape[-1] and not (bins and isinstance(bins[0], Tensor)):
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    found, edges = _histogram("histogramdd", self, bins, range, weight, density)
    return found, tuple(edges)
