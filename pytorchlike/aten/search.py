"""Looking values up and counting them: searchsorted, isin, unique, bincount, histc."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.batching import refuse_dynamic_shape
from ..dispatch.registry import FUNCTION, METHOD, OUT, composite, op
from .elementwise import rounding_to
from .reduce import is_integral, scalar_type
from .sort import sorted_pairs

_FORMS = FUNCTION | METHOD | OUT
#: Up to this many values, comparing with each one is quicker than sorting them.
_FEW = 32


def insertion_places(ordered, x, right: bool):
    """Where ``x`` would be inserted into the ascending last dimension of ``ordered``: before equal elements, or behind them.

    Args:
        ordered: one vector, or as many as ``x`` has lanes.
    """
    lanes = ordered.ndim > 1
    size = ordered.shape[-1]
    low, high = jnp.zeros(x.shape, np.int64), jnp.full(x.shape, size, np.int64)
    if size == 0 or x.size == 0:
        return low
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        place = jnp.minimum(middle, size - 1)
        found = jnp.take_along_axis(ordered, place, -1) if lanes else ordered[place]
        beyond = jnp.logical_not(found > x if right else found >= x)  # NaN goes behind everything
        active = low < high
        low = jnp.where(active & beyond, middle + 1, low)
        high = jnp.where(active & ~beyond, middle, high)
    return low


def _same_kind(*arrays):
    kind = jnp.result_type(*(x.dtype for x in arrays))
    return [x.astype(kind) for x in arrays]


@op(
    "searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    forms=FUNCTION | OUT, differentiable=False, numbers=("self",),
)  # fmt: skip
def searchsorted(sorted_sequence, self, out_int32, right, side, sorter):
    """Where values would be inserted into an ascending sequence, or into the matching lane of several."""
    if sorter is not None:
        sorted_sequence = jnp.take_along_axis(sorted_sequence, sorter, -1)
    ordered, values = _same_kind(sorted_sequence, self)
    found = insertion_places(ordered, values, right or side == "right")
    return found.astype(np.int32 if out_int32 else np.int64)


@searchsorted.check
def _(sorted_sequence, self, out_int32, right, side, sorter):
    name = "torch.searchsorted()"
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
    shape = sorted_sequence.shape
    if sorter is not None:
        if sorter.shape != shape:
            raise RuntimeError(
                f"{name}: boundary and sorter must have the same size, but got boundary tensor {list(shape)}and got sorter tensor "
                f"{list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {scalar_type(sorter.dtype)}")
    if len(shape) == 0:
        raise RuntimeError(f"{name}: boundaries tensor should have positive dimension, but got 0 dimension")
    if len(shape) > 1 and self.ndim == 0:
        raise RuntimeError(
            f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim({len(shape)}) and "
            "input value's dim(0) numel(1)"
        )
    if len(shape) > 1 and (self.ndim != len(shape) or self.shape[:-1] != shape[:-1]):
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, "
            f"but we got boundaries tensor {list(shape)} and input value tensor {list(self.shape)}"
        )


@searchsorted.data_check(RuntimeError, "torch.searchsorted(): sorter index out of range")
def _(sorted_sequence_meta, sorter):
    return False if sorter is None else (sorter < 0) | (sorter >= sorted_sequence_meta.shape[-1])


@op(
    "bucketize(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    forms=FUNCTION | OUT,
    differentiable=False,
    numbers=("self",),
)
def bucketize(self, boundaries, out_int32, right):
    """The bucket each value falls into; ``boundaries`` ascend."""
    values, edges = _same_kind(self, boundaries)
    return insertion_places(edges, values, right).astype(np.int32 if out_int32 else np.int64)


@bucketize.check
def _(self, boundaries, out_int32, right):
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")


@op(
    "isin(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    forms=FUNCTION | OUT, differentiable=False, numbers=("elements", "test_elements"),
)  # fmt: skip
def isin(elements, test_elements, assume_unique, invert):
    """Whether each element equals one of the others (NaN equals nothing)."""
    x, others = _same_kind(elements, test_elements.reshape(-1))
    if others.size <= _FEW:
        found = jnp.any(x[..., None] == others, axis=-1)
    else:
        ordered = jnp.sort(others)
        found = ordered[jnp.minimum(insertion_places(ordered, x, False), others.size - 1)] == x
    return jnp.logical_not(found) if invert else found


@isin.check
def _(elements, test_elements, assume_unique, invert):
    for x in (elements, test_elements):
        if x.dtype == np.bool_ or jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {scalar_type(x.dtype)}")


# -------------------------------------------------------------------------------------------------------------------- unique


def _differs(rows):
    """Which rows (or elements) differ from the one before; the first one does."""
    changed = rows[1:] != rows[:-1]
    changed = jnp.any(changed, axis=1) if rows.ndim > 1 else changed
    return jnp.concatenate([jnp.ones((min(1, rows.shape[0]),), bool), changed])


@op("_sorted_rows(Tensor self) -> (Tensor rows, Tensor order)", forms=FUNCTION, namespaces=(), differentiable=False)
def sorted_rows(self):
    """Elements, or rows by their first column and then the next ones, in order, and where each one stood."""
    if self.ndim == 1:
        return sorted_pairs(self, 0)
    order = lax.iota(np.int64, self.shape[0])
    columns = self.shape[1]

    def by_column(step, order):  # the last column first: each stable sort keeps the order of the later columns among ties
        keys = lax.dynamic_index_in_dim(self, columns - 1 - step, axis=1, keepdims=False)[order]
        return lax.sort((keys, order), num_keys=1)[1]

    order = lax.fori_loop(0, columns, by_column, order)
    return self[order], order


@op("_group_rows(Tensor rows, Tensor? order) -> (Tensor count, Tensor inverse)", forms=FUNCTION, namespaces=(), differentiable=False)
def group_rows(rows, order):
    """How many groups of equal neighbours there are, and the group of each row in its original place."""
    group = jnp.cumsum(_differs(rows), dtype=np.int64) - 1
    count = jnp.sum(_differs(rows), dtype=np.int64)
    return count, group if order is None else jnp.zeros_like(group).at[order].set(group)


@op("_first_rows(Tensor rows, int count) -> (Tensor values, Tensor counts)", forms=FUNCTION, namespaces=(), differentiable=False)
def first_rows(rows, count):
    """The first row of each group of equal neighbours, and how many rows it has."""
    starts = jnp.nonzero(_differs(rows), size=count)[0].astype(np.int64)
    ends = jnp.concatenate([starts[1:], jnp.full((min(1, count),), rows.shape[0], np.int64)])
    return rows[starts], ends - starts


def _unique(self, dim, in_order: bool, return_inverse: bool, return_counts: bool):
    """Reads the number of groups back, since the shape of the result depends on it."""
    refuse_dynamic_shape("aten::_unique2", self)
    if dim is None:
        rows = self.detach().reshape(-1)
    else:
        dim = wrap_dim(dim, self.dim())
        moved = self.detach().movedim(dim, 0) if self.dim() else self.detach().reshape(1)
        if self.numel() == 0 and (moved.shape[0] or self.shape.count(0) > 1):
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
        rows = moved.reshape(moved.shape[0], math.prod(moved.shape[1:])) if moved.dim() > 1 else moved
    ordered, order = (rows, None) if in_order else sorted_rows(rows)
    count, inverse = group_rows(ordered, order)
    values, counts = first_rows(ordered, count.item())
    if dim is not None and self.dim() > 1:
        values = values.reshape(values.shape[0], *moved.shape[1:]).movedim(0, dim)
    parts = [values]
    if return_inverse:
        parts.append(inverse.reshape(self.shape) if dim is None else inverse)
    if return_counts:
        parts.append(counts)
    return tuple(parts) if len(parts) > 1 else values


@composite("unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor")
def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, or slices along ``dim``, in ascending order; if asked, where each one went and how often it occurs."""
    return _unique(self, dim, False, return_inverse, return_counts)


@composite("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor")
def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    """The first one of each run of equal elements, or slices along ``dim``; if asked, the run of each one and the runs' lengths."""
    return _unique(self, dim, True, return_inverse, return_counts)


# ------------------------------------------------------------------------------------------------------------------ counting


@op("_bincount(Tensor self, Tensor? weights, int size) -> Tensor", forms=FUNCTION, namespaces=(), differentiable=False)
def counts_of(self, weights, size):
    """How often each number below ``size`` occurs, or the sum of its weights."""
    if weights is None:
        return jnp.zeros((size,), np.int64).at[self].add(1)
    kind = weights.dtype if weights.dtype == np.float32 else np.dtype(np.float64)
    return jnp.zeros((size,), kind).at[self].add(weights.astype(kind))


@composite("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor")
def bincount(self, weights=None, minlength=0):
    """How often each non-negative integer occurs, or the sum of its weights; the largest one is read back."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if not is_integral(self.dtype.numpy) or self.dtype.name == "bool":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{scalar_type(self.dtype.numpy)}'")
    if self.dim() != 1 or (self.numel() and self.min().item() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and (weights.dim() != 1 or weights.shape != self.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = max(self.max().item() + 1 if self.numel() else 0, minlength)
    if self.numel() == 0:
        weights = None
    return counts_of(self, weights, size)


def _bins(x, low, high, bins: int, rounded=lambda x: x):
    """The bin of each element, ``bins`` for those outside; the upper edge belongs to the last bin."""
    place = jnp.floor(rounded(rounded(rounded(x - low) * bins) / (high - low)))
    inside = (x >= low) & (x <= high)
    return jnp.where(inside, jnp.clip(place, 0, bins - 1), bins).astype(np.int64)


def _range(x, low, high):
    """The given range, or that of the data if it is empty; a single point is widened by 1 on both sides."""
    low, high = jnp.asarray(low).astype(x.dtype), jnp.asarray(high).astype(x.dtype)
    if x.size:
        low, high = jnp.where(low == high, jnp.min(x), low), jnp.where(low == high, jnp.max(x), high)
    single = low == high
    return jnp.where(single, low - 1, low), jnp.where(single, high + 1, high)


@op("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", forms=_FORMS, differentiable=False)
def histc(self, bins, min, max):
    """How many elements fall into each of ``bins`` equal parts of a range (of the data's own if ``min`` equals ``max``)."""
    x = self.astype(jnp.float32) if self.dtype.itemsize == 2 else self
    low, high = _range(x, min, max)
    counts = jnp.zeros((bins + 1,), self.dtype).at[_bins(x, low, high, bins, rounding_to(self.dtype)).reshape(-1)].add(1)
    return counts[:bins]


@histc.check
def _(self, bins, min, max):
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if not jnp.issubdtype(self.dtype, jnp.floating):
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{scalar_type(self.dtype)}'")


@histc.data_check(RuntimeError, "torch.histc: max must be larger than min")
def _(min, max):
    return max < min


@histc.data_check(RuntimeError, "torch.histc: range is not finite")
def _(self, min, max):
    low, high = _range(self, min, max)
    return jnp.logical_not(jnp.isfinite(low) & jnp.isfinite(high))
