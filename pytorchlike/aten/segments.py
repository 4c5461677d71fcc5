"""Reductions of consecutive stretches of a dimension: `segment_reduce`."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..core.dims import wrap_dim
from ..dispatch.registry import FUNCTION, op
from .linalg import not_implemented
from .reduce import widened

#: Spelling in the call -> what is computed.
_KINDS = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "max", "amax": "max", "min": "min", "amin": "min"}
_REDUCERS = {"sum": jax.ops.segment_sum, "mean": jax.ops.segment_sum, "prod": jax.ops.segment_prod, "max": jax.ops.segment_max, "min": jax.ops.segment_min}
_IMPROVE = "  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
_EMPTY = {"sum": 0.0, "mean": math.nan, "prod": 1.0, "max": -math.inf, "min": math.inf}


def _bounds(lengths, offsets):
    """The first position of every segment and the one behind its last."""
    if offsets is not None:
        return offsets[..., :-1], offsets[..., 1:]
    ends = jnp.cumsum(lengths, axis=-1)
    return ends - lengths, ends


class _Segments:
    """Which segment each element belongs to, the dimensions before the reduced one taken together."""

    def __init__(self, data, lengths, offsets) -> None:
        starts, ends = _bounds(lengths, offsets)
        lead = starts.ndim - 1
        self.count = starts.shape[-1]
        self.result_shape = (*data.shape[:lead], self.count, *data.shape[lead + 1 :])
        rows, size, self.rest = math.prod(data.shape[:lead]), data.shape[lead], math.prod(data.shape[lead + 1 :])
        starts, ends = (x.reshape(rows, self.count) for x in (starts, ends))
        self.lengths = (ends - starts).reshape(rows * self.count)
        position = jnp.arange(size)
        segment = jax.vmap(lambda bounds: jnp.searchsorted(bounds, position, side="right"))(ends.astype(np.int64))
        first = jnp.take_along_axis(jnp.pad(starts, ((0, 0), (0, 1))), segment, axis=1)
        inside = (segment < self.count) & (position >= first)
        segment = segment + self.count * jnp.arange(rows)[:, None]
        self.of = jnp.where(inside, segment, rows * self.count).reshape(rows * size)  # the last one is thrown away

    def flat(self, x):
        """Elements as (position, rest)."""
        return x.reshape(self.of.shape[0], self.rest)

    def per_segment(self, x):
        """Results as (segment, rest)."""
        return x.reshape(self.lengths.shape[0], self.rest)

    def reduced(self, reducer, x):
        """One number for every segment."""
        return reducer(x, self.of, self.lengths.shape[0] + 1)[:-1]

    def spread(self, x):
        """Every segment's number at its elements; 0 at those of none."""
        return jnp.pad(x, ((0, 1), (0, 0)))[self.of]


@op(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, "
    "bool unsafe=False, Scalar? initial=None) -> Tensor",
    forms=FUNCTION,
)
def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    """The sum, mean, product, maximum or minimum of each segment of a dimension; ``offsets`` go before ``lengths``.

    Args:
        initial: the number every reduction starts from, and the result of an empty segment.

    Grad: equal extrema of a segment share it.
    """
    kind, segments = _KINDS[reduce], _Segments(data, lengths, offsets)
    size = segments.lengths[:, None]
    result = segments.reduced(_REDUCERS[kind], segments.flat(widened(data)))
    start = jnp.asarray(_EMPTY[kind] if initial is None else initial).astype(result.dtype)
    if initial is not None:
        result = {"sum": jnp.add, "mean": jnp.add, "prod": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum}[kind](result, start)
    if kind == "mean":
        result = result / jnp.maximum(size, 1).astype(result.dtype)
    return jnp.where(size == 0, start, result).astype(data.dtype).reshape(segments.result_shape)


@segment_reduce.grad("data")
def _(g, data, reduce, lengths, offsets, result):
    kind, segments = _KINDS[reduce], _Segments(data, lengths, offsets)
    g, x, found = segments.per_segment(g), segments.flat(data), segments.per_segment(result)
    if kind == "mean":
        g = g / jnp.maximum(segments.lengths, 1).astype(g.dtype)[:, None]
    if kind in ("sum", "mean"):
        return segments.spread(g).reshape(data.shape)
    if kind == "prod":
        zero = x == 0
        zeros = segments.spread(segments.reduced(jax.ops.segment_sum, zero.astype(x.dtype)))
        others = segments.reduced(jax.ops.segment_prod, jnp.where(zero, 1, x))
        scale = jnp.where(found == 0, 1, found / jnp.where(others == 0, 1, others))  # what the result started from
        rest = segments.spread(others * scale) / jnp.where(zero, 1, x)
        return jnp.where(zeros == 0, segments.spread(g) * rest, jnp.where(zero & (zeros == 1), segments.spread(g) * rest, 0)).reshape(data.shape)
    best = (x == segments.spread(found)) | jnp.isnan(x)
    ties = segments.spread(segments.reduced(jax.ops.segment_sum, best.astype(x.dtype)))
    return jnp.where(best, segments.spread(g) / jnp.maximum(ties, 1), 0).reshape(data.shape)


@segment_reduce.check
def _(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    if reduce not in _KINDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = wrap_dim(axis, data.ndim)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    name, bounds = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    if data.ndim < bounds.ndim:
        raise RuntimeError(f"Expected data.dim() >= {name}_value.dim() to be true, but got false.{_IMPROVE}")
    if axis != bounds.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if name == "offsets" and bounds.shape[-1] == 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension -1: {[*data.shape[:axis], -1, *data.shape[axis + 1 :]]}")
    if bounds.dtype not in (np.int32, np.int64):
        raise not_implemented(f"_segment_reduce_{name}_cpu_kernel1", bounds)
    if not jnp.issubdtype(data.dtype, np.floating):
        raise not_implemented("_segment_reduce_cpu", data)


@segment_reduce.data_check(RuntimeError, "lengths contains negative value!")
def _(lengths, offsets, unsafe):
    return False if unsafe or offsets is not None else lengths < 0


@segment_reduce.data_check(RuntimeError, "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
def _(data_meta, lengths, offsets, unsafe):
    return False if unsafe or offsets is not None else jnp.sum(lengths, axis=-1) != data_meta.shape[lengths.ndim - 1]


@segment_reduce.data_check(RuntimeError, "Expected segment_length >= 0 to be true, but got false." + _IMPROVE)
def _(offsets):
    return False if offsets is None else offsets[..., 1:] < offsets[..., :-1]
