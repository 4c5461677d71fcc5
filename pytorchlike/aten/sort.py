"""Sorting, and the statistics that need it: topk, kthvalue, median, mode, quantile.

NaN counts as larger than every number; sorting is always stable.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .reduce import at_indices, check_not_empty, evenly_over_all, is_complex, one_axis, scalar_type
from .scan import add_at_indices

_FORMS = FUNCTION | METHOD | OUT


def sorted_pairs(x, axis: int, descending: bool = False):
    """The sorted elements and where each one stood (int64); ties keep their order, NaN is the largest."""
    if x.ndim == 0:
        return x, jnp.zeros((), np.int64)
    if descending:  # turned round before and after, ties keep their order
        x = jnp.flip(x, axis)
    if x.dtype.itemsize <= 4 and x.dtype != np.uint32:
        values, indices = lax.platform_dependent(x, cpu=lambda x: _by_packed_keys(x, axis), default=lambda x: _by_pairs(x, axis))
    else:
        values, indices = _by_pairs(x, axis)
    if descending:
        return jnp.flip(values, axis), x.shape[axis] - 1 - jnp.flip(indices, axis)
    return values, indices


def _by_pairs(x, axis: int):
    places = lax.broadcasted_iota(np.int64, x.shape, axis)
    return lax.sort((x, places), dimension=axis, is_stable=True, num_keys=1)


def _by_packed_keys(x, axis: int):
    """Elements of up to four bytes and their places in one 64-bit key: XLA sorts single integers on the CPU without calling a comparator.

    1024x1024 float32: 136 ms -> 35 ms (torch 43 ms).
    """
    if jnp.issubdtype(x.dtype, jnp.floating):
        wide = jnp.where(x == 0, 0, x).astype(np.float32)  # zeros of both signs are equal
        bits = lax.bitcast_convert_type(wide, np.int32)
        order = jnp.where(jnp.isnan(wide), np.int32(2**31 - 1), jnp.where(bits < 0, bits ^ np.int32(2**31 - 1), bits))
    else:
        order = x
    keys = (order.astype(np.int64) << 32) | lax.broadcasted_iota(np.int64, x.shape, axis)
    indices = lax.sort(keys, dimension=axis, is_stable=False) & np.int64(2**32 - 1)
    return jnp.take_along_axis(x, indices, axis, mode="promise_in_bounds"), indices


def _unsort(g, indices, dim):
    return add_at_indices(g, indices, g.shape, wrap_dim(dim, g.ndim)) if g.ndim else g


def _check_sort(self, dim: int) -> None:
    wrap_dim(dim, self.ndim)
    if is_complex(self.dtype):
        raise RuntimeError(" Sort does not support complex dtypes on CPU")


@op("sort(Tensor self, int dim=-1, bool descending=False, *, bool? stable=None) -> (Tensor values, Tensor indices)", forms=_FORMS)
def sort(self, dim, descending, stable):
    """The elements along a dimension in order, and where each one stood."""
    return sorted_pairs(self, wrap_dim(dim, self.ndim), descending)


@sort.grad("self")
def _(g, result1, dim):
    return _unsort(g[0], result1, dim)


@sort.check
def _(self, dim, descending, stable):
    _check_sort(self, dim)


@op("argsort(Tensor self, int dim=-1, bool descending=False, *, bool stable=False) -> Tensor", differentiable=False)
def argsort(self, dim, descending, stable):
    """The indices that sort along a dimension."""
    return sorted_pairs(self, wrap_dim(dim, self.ndim), descending)[1]


@argsort.check
def _(self, dim, descending, stable):
    _check_sort(self, dim)


@op("msort(Tensor self) -> Tensor", forms=_FORMS)
def msort(self):
    """The elements along the first dimension in order."""
    return sorted_pairs(self, 0)[0]


@op("topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", forms=_FORMS)
def topk(self, k, dim, largest, sorted):
    """The ``k`` largest or smallest elements along a dimension, in order, and their indices; of equal ones the first come first."""
    if self.ndim == 0:
        return self, jnp.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    if largest:
        values, indices = lax.top_k(jnp.moveaxis(self, axis, -1), k)
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(indices, -1, axis).astype(np.int64)
    values, indices = sorted_pairs(self, axis)
    return lax.slice_in_dim(values, 0, k, axis=axis), lax.slice_in_dim(indices, 0, k, axis=axis)


@topk.grad("self")
def _(g, self_meta, result1, dim):
    return add_at_indices(g[0], result1, self_meta.shape, wrap_dim(dim, self_meta.ndim)) if self_meta.ndim else g[0]


@topk.check
def _(self, k, dim, largest, sorted):
    axis = wrap_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if is_complex(self.dtype):
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if self.dtype == np.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")


def _picked(values, indices, place, axis: int, keepdim: bool):
    """Value and index at one place of each sorted lane; ``place`` is a number or an array with the axis kept at size 1."""
    if values.ndim == 0:
        return values, indices
    if isinstance(place, int):
        found = [lax.slice_in_dim(x, place, place + 1, axis=axis) for x in (values, indices)]
    else:
        found = [jnp.take_along_axis(x, place, axis) for x in (values, indices)]
    return tuple(found) if keepdim else tuple(jnp.squeeze(x, axis) for x in found)


@op("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", forms=_FORMS)
def kthvalue(self, k, dim, keepdim):
    """The ``k``-th smallest element along a dimension, counted from 1, and its index."""
    axis = wrap_dim(dim, self.ndim)
    values, indices = sorted_pairs(self, axis)
    return _picked(values, indices, k - 1, axis, keepdim)


@kthvalue.grad("self")
def _(g, self_meta, result1, dim, keepdim):
    return at_indices(g[0], result1, self_meta.shape, dim, keepdim)


@kthvalue.check
def _(self, k, dim, keepdim):
    axes = one_axis(dim, self.ndim)
    check_not_empty("kthvalue", self, axes)
    size = self.shape[axes[0]] if axes else 1
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {wrap_dim(dim, self.ndim)}")


# ------------------------------------------------------------------------------------------------------------------- medians


def _median(x, axis: int, keepdim: bool, ignore_nan: bool):
    """The lower median of each lane and its index; a NaN wins unless it is ignored."""
    values, indices = sorted_pairs(x, axis)
    if x.ndim == 0:
        return values, indices
    last = x.shape[axis] - 1
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return _picked(values, indices, last // 2, axis, keepdim)
    valid = jnp.sum(jnp.logical_not(jnp.isnan(x)), axis=axis, keepdims=True, dtype=np.int64)
    if ignore_nan:
        place = jnp.maximum((valid - 1) // 2, 0)
    else:
        place = jnp.where(valid <= last, valid, last // 2)
    return _picked(values, indices, jnp.minimum(place, last), axis, keepdim)


def _declare_median(name: str, ignore_nan: bool) -> None:
    nan = "NaN is left out" if ignore_nan else "NaN if there is one"

    @op(f"{name}(Tensor self) -> Tensor")
    def whole(self):
        if self.size == 0:
            return jnp.full((), jnp.nan if jnp.issubdtype(self.dtype, jnp.floating) else jnp.iinfo(self.dtype).min, self.dtype)
        return _median(self.reshape(-1), 0, False, ignore_nan)[0]

    whole.__doc__ = f"The lower median of all elements; {nan}.  Grad: shared evenly among ties."

    @whole.grad("self")
    def _(g, self, result):
        return evenly_over_all(g, self, result)

    @whole.check
    def _(self):
        _check_median(self)

    @op(f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", forms=_FORMS)
    def along(self, dim, keepdim):
        return _median(self, wrap_dim(dim, self.ndim), keepdim, ignore_nan)

    along.__doc__ = f"The lower median along a dimension and its index; {nan}.  Grad: to that index only."

    @along.grad("self")
    def _(g, self_meta, result1, dim, keepdim):
        return at_indices(g[0], result1, self_meta.shape, dim, keepdim)

    @along.check
    def _(self, dim, keepdim):
        check_not_empty("median", self, one_axis(dim, self.ndim))
        _check_median(self)


def _check_median(self) -> None:
    if self.dtype == np.bool_ or is_complex(self.dtype):
        raise NotImplementedError(f"\"median_cpu\" not implemented for '{scalar_type(self.dtype)}'")


_declare_median("median", False)
_declare_median("nanmedian", True)


@op("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", forms=_FORMS)
def mode(self, dim, keepdim):
    """The most frequent element along a dimension (the smallest of several) and the index of its last occurrence."""
    axis = wrap_dim(dim, self.ndim)
    values, indices = sorted_pairs(self, axis)
    if self.ndim == 0:
        return values, indices
    places = lax.broadcasted_iota(np.int64, values.shape, axis)
    starts = jnp.logical_or(places == 0, values != jnp.roll(values, 1, axis))
    lengths = places - lax.cummax(jnp.where(starts, places, 0), axis)
    return _picked(values, indices, jnp.argmax(lengths, axis=axis, keepdims=True), axis, keepdim)


@mode.grad("self")
def _(g, self_meta, result1, dim, keepdim):
    return at_indices(g[0], result1, self_meta.shape, dim, keepdim)


@mode.check
def _(self, dim, keepdim):
    check_not_empty("mode", self, one_axis(dim, self.ndim))


# ----------------------------------------------------------------------------------------------------------------- quantiles

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(x, q, dim, keepdim: bool, interpolation: str, ignore_nan: bool):
    """Quantiles of lanes; those of a 1-D ``q`` come as a new first dimension."""
    if dim is None:
        lanes, shape = x.reshape(1, -1), (1,) * x.ndim if keepdim else ()
    else:
        axes = one_axis(dim, x.ndim)
        lanes = jnp.moveaxis(x, axes[0], -1) if axes else x.reshape(1)
        shape = lanes.shape[:-1] if not (keepdim and axes) else tuple(1 if a == axes[0] else n for a, n in enumerate(x.shape))
        lanes = lanes.reshape(-1, lanes.shape[-1])
    lanes, _ = sorted_pairs(lanes, 1)
    last = lanes.shape[-1] - 1
    valid = jnp.sum(jnp.logical_not(jnp.isnan(lanes)), axis=-1, keepdims=True).astype(np.int64)
    ranks = q.reshape(1, -1).astype(x.dtype)
    if ignore_nan:
        ranks = ranks * jnp.maximum(valid - 1, 0).astype(x.dtype)
    else:
        ranks = jnp.where(valid <= last, last, ranks * last)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}[interpolation](ranks)
    below = jnp.take_along_axis(lanes, jnp.floor(ranks).astype(np.int64), -1)
    if interpolation in ("linear", "midpoint"):
        weight = ranks - jnp.floor(ranks) if interpolation == "linear" else 0.5
        above = jnp.take_along_axis(lanes, jnp.ceil(ranks).astype(np.int64), -1)
        below = _lerp(below, above, weight)
    out = below.T.reshape((q.size, *shape))
    return out if q.ndim else out[0]


def _lerp(start, end, weight):
    """From the nearer end, as `lerp` does, so that both ends are exact."""
    step = end - start
    return jnp.where(weight < 0.5, start + weight * step, end - step * (1 - weight))


def _check_quantile(self, q, dim, interpolation: str) -> None:
    if self.size == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    if dim is not None:
        wrap_dim(dim, self.ndim)


def _declare_quantile(name: str, ignore_nan: bool) -> None:
    @op(
        f'{name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor', forms=_FORMS,
    )  # fmt: skip
    def at_number(self, q, dim, keepdim, interpolation):
        return _quantile(self, jnp.full((), q, self.dtype), dim, keepdim, interpolation, ignore_nan)

    @at_number.check
    def _(self, q, dim, keepdim, interpolation):
        if not 0 <= q <= 1 or math.isnan(q):
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        _check_quantile(self, np.zeros(()), dim, interpolation)

    @op(f'{name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor', forms=_FORMS)
    def at_tensor(self, q, dim, keepdim, interpolation):
        return _quantile(self, q, dim, keepdim, interpolation, ignore_nan)

    @at_tensor.check
    def _(self, q, dim, keepdim, interpolation):
        _check_quantile(self, q, dim, interpolation)
        if q.dtype != self.dtype:
            raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")

    @at_tensor.data_check(RuntimeError, "quantile() q values must be in the range [0, 1]")
    def _(q):
        return (q < 0) | (q > 1)

    for declared in (at_number, at_tensor):
        declared.__doc__ = "The quantiles along a dimension or of all elements" + (
            ", NaN left out." if ignore_nan else "; NaN if there is one."
        )


_declare_quantile("quantile", False)
_declare_quantile("nanquantile", True)
