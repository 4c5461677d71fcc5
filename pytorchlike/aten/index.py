"""Reading and writing by position: slices along one dimension, the flattened tensor, and masks.

Positions outside the tensor are reported by data checks; the values they lead to are unspecified but in bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp

from ..core.dims import wrap_dim
from ..core.dtype import bool_
from ..dispatch.batching import batch_of, refuse_dynamic_shape
from ..dispatch.registry import ALL_FORMS, FUNCTION, INPLACE, METHOD, OUT, composite, op
from ..tensors.tensor import make_tensor, relayout
from .gather import (
    OUT_OF_BOUNDS,
    cast,
    check_value,
    gathered,
    is_index,
    outside,
    outside_along,
    scatter_reduce,
    scattered,
    size_along,
    type_name,
    way_of,
)
from .shape import broadcast_shape, listed

_METHODS = FUNCTION | METHOD | OUT
_NO_OUT = FUNCTION | METHOD | INPLACE


# --- one index for whole slices --------------------------------------------------------------------------------------------------------


def _select(array, dim: int, index):
    """The slices along ``dim`` at the positions in a vector (or one 0-d position)."""
    if array.ndim == 0:
        return array
    return jnp.take(array, jnp.atleast_1d(index), axis=wrap_dim(dim, array.ndim), mode="clip")


def _slices(array, dim: int, index):
    """``array.at[:, ..., index]``, to be written to; the array is at least 1-d."""
    return array.at[(slice(None),) * wrap_dim(dim, array.ndim) + (jnp.atleast_1d(index),)]


def _write(array, dim: int, index, source, way: str):
    lifted = jnp.atleast_1d(array)
    return getattr(_slices(lifted, dim, index), way_of(array, way))(source).reshape(array.shape)


@op("index_select(Tensor self, int dim, Tensor index) -> Tensor", forms=_METHODS)
def index_select(self, dim, index):
    """The slices along ``dim`` at the positions in a vector."""
    return _select(self, dim, index)


@index_select.grad("self")
def _(g, self_meta, dim, index):
    return _write(jnp.zeros(self_meta.shape, g.dtype), dim, index, g, "add")


@index_select.check
def _(self, dim, index):
    wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_index(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0 and math.prod(index.shape) != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {math.prod(index.shape)} value(s)")


@index_select.data_check(IndexError, "index out of range in self")
def _(self_meta, dim, index):
    return outside(index, size_along(self_meta, dim))


@op("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", forms=ALL_FORMS)
def index_add(self, dim, index, source, alpha):
    """``self`` with the slices of ``source``, times ``alpha``, added at the positions in a vector."""
    return _write(self, dim, index, _scaled(source, alpha), "add")


def _scaled(array, alpha):
    return array if type(alpha) is int else array * cast(alpha, array)


@index_add.grad("self")
def _(g):
    return g


@index_add.grad("source")
def _(g, dim, index, source_meta, alpha):
    return _scaled(_select(g, dim, index).reshape(source_meta.shape), alpha if type(alpha) is int else jnp.conj(alpha))


@index_add.check
def _(self, dim, index, source, alpha):
    dim = wrap_dim(dim, self.ndim)
    count = math.prod(index.shape)
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {type_name(index)} and size: "
            f"{listed(index.shape)}"
        )
    if not is_index(index):
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {type_name(index)}")
    if source.dtype != self.dtype:
        raise RuntimeError(f"index_add_(): self ({type_name(self)}) and source ({type_name(source)}) must have the same scalar type")
    given = 1 if source.ndim == 0 else source.shape[dim] if dim < source.ndim else 0
    if given != count:
        raise RuntimeError(
            f"index_add_(): Number of indices ({count}) should be equal to source.size(dim): ({given}), for dim: {dim}"
        )
    _check_rest(self, dim, source)
    check_value(self, alpha)


def _check_rest(self, dim: int, source) -> None:
    def rest(array):
        return [size for d, size in enumerate(array.shape) if d != dim]

    if self.ndim != source.ndim or rest(self) != rest(source):
        raise RuntimeError(
            f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = {listed(self.shape)} "
            f"source.shape = {listed(source.shape)}"
        )


@index_add.data_check(RuntimeError, OUT_OF_BOUNDS)
def _(self_meta, dim, index):
    return outside_along(self_meta, dim, index) if self_meta.ndim > 1 else (False, 0, 0, 0)


@index_add.data_check(IndexError, "index out of range in self")
def _(self_meta, dim, index):
    return outside(index, size_along(self_meta, dim)) if self_meta.ndim <= 1 else False


@op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", forms=ALL_FORMS)
def index_copy(self, dim, index, source):
    """``self`` with the slices of ``source`` written at the positions in a vector."""
    return _write(self, dim, index, source, "set")


@index_copy.grad("self")
def _(g, dim, index):
    return _write(g, dim, index, jnp.zeros((), g.dtype), "set")


@index_copy.grad("source")
def _(g, dim, index, source_meta):
    return _select(g, dim, index).reshape(source_meta.shape)


@index_copy.check
def _(self, dim, index, source):
    dim = wrap_dim(dim, self.ndim)
    count = math.prod(index.shape)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim and self.ndim and source.ndim != self.ndim:
        raise IndexError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if not is_index(index, "int64"):
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {type_name(index)}")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {type_name(self)} and (source) {type_name(source)}"
        )
    rests = [[str(size) for d, size in enumerate(array.shape) if d != dim] for array in (self, source)]
    if rests[0] != rests[1]:
        raise RuntimeError(
            f"index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {' '.join(rests[0])} at "
            f"dimension {dim} and source slice shape: {' '.join(rests[1])} at dimension {dim if source.ndim else 0}."
        )
    if source.ndim and source.shape[dim] != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({source.shape[dim]})"
        )


@index_copy.data_check(IndexError, "index_copy_(): " + OUT_OF_BOUNDS)
def _(self_meta, dim, index):
    return outside_along(self_meta, dim, index)


@op("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", forms=_NO_OUT, numbers=("value",))
def index_fill(self, dim, index, value):
    """``self`` with a number, or a 0-d tensor, in all slices at the positions in a vector; negative positions count from the end."""
    return _write(self, dim, index, cast(value, self), "set")


@index_fill.grad("self")
def _(g, dim, index):
    return _write(g, dim, index, jnp.zeros((), g.dtype), "set")


@index_fill.grad("value")
def _(g, dim, index):
    # each place once, however often the index names it
    return jnp.sum(g - _write(g, dim, index, jnp.zeros((), g.dtype), "set"))


@index_fill.check
def _(self, dim, index, value):
    wrap_dim(dim, self.ndim)
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    if not is_index(index, "int64"):
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if jnp.issubdtype(getattr(value, "dtype", type(value)), jnp.complexfloating) and not jnp.issubdtype(self.dtype, jnp.complexfloating):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


@index_fill.data_check(IndexError, OUT_OF_BOUNDS)
def _(self_meta, dim, index):
    return outside_along(self_meta, dim, index, negative=True)


def _for_each(dim: int, index, source):
    """A vector of positions as one position for each element of ``source``."""
    dim = wrap_dim(dim, source.ndim)
    return jnp.broadcast_to(index.reshape([-1 if d == dim else 1 for d in range(max(source.ndim, 1))]), source.shape or (1,))


@op("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", forms=ALL_FORMS)
def index_reduce(self, dim, index, source, reduce, include_self):
    """The slices of ``source`` that share a position, and that of ``self`` if it is included, reduced (prod, mean, amax or amin).

    Grad: as `scatter_reduce`'s.
    """
    return scatter_reduce.body(self, dim, _for_each(dim, index, source), source, reduce, include_self)


@index_reduce.grad("self")
def _(g, self, dim, index, source, reduce, include_self, result):
    return scatter_reduce.rules["self"](g, self, dim, _for_each(dim, index, source), source, reduce, include_self, result)


@index_reduce.grad("source")
def _(g, self, dim, index, source, reduce, include_self, result):
    return scatter_reduce.rules["src"](g, self, dim, _for_each(dim, index, source), source, reduce, include_self, result)


@index_reduce.check
def _(self, dim, index, source, reduce, include_self):
    dim = wrap_dim(dim, self.ndim)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    _check_rest(self, dim, source)


@index_reduce.data_check(IndexError, "index out of range in self")
def _(self_meta, dim, index):
    return outside(index, size_along(self_meta, dim))


# --- positions in the flattened tensor -------------------------------------------------------------------------------------------------

_OUT_OF_ELEMENTS = "out of range: tried to access index {} on a tensor of {} elements."


@op("take(Tensor self, Tensor index) -> Tensor", forms=_METHODS)
def take(self, index):
    """The elements of the flattened tensor at these positions, in the shape of ``index``; negative ones count from the end."""
    if index.size == 0:
        return jnp.zeros(index.shape, self.dtype)
    return self.reshape(-1).at[index].get(mode="clip")


@take.grad("self")
def _(g, self_meta, index):
    return jnp.zeros(math.prod(self_meta.shape), g.dtype).at[index].add(g).reshape(self_meta.shape)


@take.check
def _(self, index):
    if not is_index(index, "int64"):
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {type_name(index)}")
    if math.prod(self.shape) == 0 and math.prod(index.shape):
        raise IndexError("take(): tried to take from an empty tensor")


@take.data_check(IndexError, _OUT_OF_ELEMENTS)
def _(self_meta, index):
    return outside(index, self_meta.size, negative=True), index, self_meta.size


@op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", forms=_NO_OUT)
def put(self, index, source, accumulate):
    """``self`` with ``source`` written, or added, at positions of the flattened tensor; negative ones count from the end."""
    at = self.reshape(-1).at[index.reshape(-1)]
    return getattr(at, way_of(self, "add" if accumulate else "set"))(source.reshape(-1)).reshape(self.shape)


@put.grad("self")
def _(g, index, accumulate):
    return g if accumulate else g.reshape(-1).at[index.reshape(-1)].set(0).reshape(g.shape)


@put.grad("source")
def _(g, index, source_meta):
    return g.reshape(-1).at[index.reshape(-1)].get(mode="clip").reshape(source_meta.shape)


@put.check
def _(self, index, source, accumulate):
    if not is_index(index, "int64"):
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {type_name(index)}")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_name(self)} and source.dtype = {type_name(source)}"
        )
    if math.prod(index.shape) != math.prod(source.shape):
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {math.prod(source.shape)}, "
            f"index.numel() = {math.prod(index.shape)}"
        )


@put.data_check(IndexError, _OUT_OF_ELEMENTS)
def _(self_meta, index):
    return outside(index, self_meta.size, negative=True), index, self_meta.size


def _aligned(shape: Sequence[int], indices_shape: Sequence[int], dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of tensor and indices broadcast against each other in every dimension but one."""
    common = list(broadcast_shape([1 if d == dim else s for d, s in enumerate(shape)], [1 if d == dim else s for d, s in enumerate(indices_shape)]))
    return tuple(
        tuple(given[d] if d == dim else size for d, size in enumerate(common)) for given in (shape, indices_shape)
    )  # type: ignore[return-value]


@op("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", forms=_METHODS)
def take_along_dim(self, indices, dim):
    """Elements at positions along ``dim``, the other dims broadcast; without a dim, positions in the flattened tensor."""
    if dim is None:
        return self.reshape(-1).at[indices.reshape(-1)].get(mode="clip")
    dim = wrap_dim(dim, self.ndim)
    shape, indices_shape = _aligned(self.shape, indices.shape, dim)
    wrapped = jnp.where(indices < 0, indices + self.shape[dim], indices)
    return gathered(jnp.broadcast_to(self, shape), dim, jnp.broadcast_to(wrapped, indices_shape))


@take_along_dim.grad("self")
def _(g, self_meta, indices, dim):
    if dim is None:
        return jnp.zeros(math.prod(self_meta.shape), g.dtype).at[indices.reshape(-1)].add(g).reshape(self_meta.shape)
    dim = wrap_dim(dim, self_meta.ndim)
    shape, indices_shape = _aligned(self_meta.shape, indices.shape, dim)
    return scattered(jnp.zeros(shape, g.dtype), dim, jnp.broadcast_to(indices, indices_shape), g, "add")


@take_along_dim.check
def _(self, indices, dim):
    if not is_index(indices, "int64"):
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {type_name(indices)}")
    if dim is None:
        return
    if self.ndim != indices.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {self.ndim} dimensions for "
            f"input, and {indices.ndim} dimensions for indices"
        )
    _aligned(self.shape, indices.shape, wrap_dim(dim, self.ndim))


@take_along_dim.data_check(RuntimeError, OUT_OF_BOUNDS)
def _(self_meta, indices, dim):
    if dim is None:
        return outside(indices, self_meta.size), indices, 0, self_meta.size
    return outside_along(self_meta, dim, indices, negative=True)


# --- masks -----------------------------------------------------------------------------------------------------------------------------


@op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", forms=_NO_OUT)
def masked_scatter(self, mask, source):
    """``self`` with the first elements of ``source``, in order, at the places where the mask is true."""
    shape = broadcast_shape(self.shape, mask.shape)
    self, mask = jnp.broadcast_to(self, shape), jnp.broadcast_to(mask, shape)
    if source.size == 0:
        return self
    return jnp.where(mask, source.reshape(-1).at[_order(mask)].get(mode="clip"), self)


def _order(mask):
    """The place of every true element among the true ones."""
    return (jnp.cumsum(mask.reshape(-1)) - 1).reshape(mask.shape)


@masked_scatter.grad("self")
def _(g, mask):
    return jnp.where(mask, jnp.zeros((), g.dtype), g)


@masked_scatter.grad("source")
def _(g, mask, source_meta):
    mask = jnp.broadcast_to(mask, g.shape)
    size = math.prod(source_meta.shape)
    unread = jnp.where(mask, _order(mask), size)
    return jnp.zeros(size, g.dtype).at[unread].set(g, mode="drop").reshape(source_meta.shape)


@masked_scatter.check
def _(self, mask, source):
    if mask.dtype != jnp.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_name(mask)}")
    if source.dtype != self.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got{type_name(self)} and {type_name(source)}")
    broadcast_shape(mask.shape, self.shape)


@masked_scatter.data_check(RuntimeError, "Number of elements of source < number of ones in mask")
def _(self_meta, mask, source_meta):
    repeats = math.prod(broadcast_shape(self_meta.shape, mask.shape)) // max(mask.size, 1)
    return mask.sum() * repeats > source_meta.size


@op("nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor", differentiable=False)
def nonzero_static(self, size, fill_value):
    """The coordinates of the first ``size`` elements that are not zero, one row each; rows that are left over hold ``fill_value``."""
    if self.ndim == 0:
        return jnp.zeros((size, 0), jnp.int64)
    if self.size == 0:
        return jnp.full((size, self.ndim), fill_value, jnp.int64)
    return jnp.stack(jnp.nonzero(self, size=size, fill_value=fill_value), axis=-1).astype(jnp.int64)


@nonzero_static.check
def _(self, size, fill_value):
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")


@composite("nonzero(Tensor self, *, bool as_tuple=False) -> Tensor", forms=_METHODS)
def nonzero(self, as_tuple):
    """The coordinates of the elements that are not zero, one row each, or one vector for each dimension; their number is read back."""
    refuse_dynamic_shape("aten::nonzero", self)
    if as_tuple and self.ndim == 0:
        self = self.reshape(1)
    count = int((self != 0).sum().item())
    found = nonzero_static(self, size=count)
    found = make_tensor(relayout(found._content(), (1, count)))  # torch's layout: one dimension's coordinates after the other's
    return found.unbind(1) if as_tuple else found


@composite("argwhere(Tensor self) -> Tensor")
def argwhere(self):
    """The coordinates of the elements that are not zero, one row each."""
    return nonzero(self)


@composite("where.condition(Tensor condition) -> Tensor[]", forms=FUNCTION)
def where_condition(condition):
    """`nonzero` as one vector for each dimension."""
    refuse_dynamic_shape("aten::where", condition)
    return nonzero(condition, as_tuple=True)


_NO_MASK_OF_A_BATCH = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this would return a "
    "differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)


@composite("masked_select(Tensor self, Tensor mask) -> Tensor", forms=_METHODS)
def masked_select(self, mask):
    """The elements where the mask is true, in order, as a vector; their number is read back."""
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if batch_of(mask) is not None:
        raise RuntimeError(_NO_MASK_OF_A_BATCH)
    shape = broadcast_shape(mask.shape, self.shape)
    places = nonzero(mask.expand(shape).reshape(-1)).reshape(-1)
    return index_select(self.expand(shape).reshape(-1), 0, places)
