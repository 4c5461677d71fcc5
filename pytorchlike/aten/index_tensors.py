"""What `x[i, j]` with tensors of positions becomes, read and written.

Positions outside the tensor are reported by data checks; the values they lead to are unspecified but in bounds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ..core.dtype import bool_, uint8
from ..dispatch.call import general_inplace
from ..dispatch.registry import FUNCTION, METHOD, Form, composite, op
from .gather import OUT_OF_BOUNDS, is_index, outside, type_name, way_of
from .index import nonzero
from .shape import broadcast_shape, listed


def _key(indices) -> tuple:
    return tuple(slice(None) if index is None else index for index in indices)


def _indexed_shape(shape: Sequence[int], indices) -> tuple[int, ...]:
    """The shape of ``x[indices]``: the index dimensions stand where the index tensors did, or in front if these are not adjacent.

    Raises:
        IndexError: torch's, for index tensors that do not broadcast against each other.
    """
    given = [d for d, index in enumerate(indices) if index is not None]
    shapes = [tuple(indices[d].shape) for d in given]
    try:
        middle = broadcast_shape(*shapes)
    except RuntimeError:
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {', '.join(map(listed, shapes))}"
        ) from None
    rest = [size for d, size in enumerate(shape) if d not in given]
    adjacent = given == list(range(given[0], given[-1] + 1)) if given else True
    position = given[0] if given and adjacent else 0
    return (*rest[:position], *middle, *rest[position:])


def _check_indices(self, indices) -> None:
    if not indices:
        raise IndexError("at least one index must be provided")
    if len(indices) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim} (got {len(indices)})")
    for index in indices:
        if index is not None and not is_index(index):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    shape = _indexed_shape(self.shape, indices)
    if math.prod(shape) and any(index is not None and size == 0 for index, size in zip(indices, self.shape)):
        raise IndexError("index is out of bounds for dimension with size 0")


def _any_outside(self, indices):
    given = [(index, size) for index, size in zip(indices, self.shape) if index is not None]
    if not given or not self.size:
        return False, 0, 0, 0
    if len(given) == 1:
        ((index, size),) = given
        return outside(index, size, negative=True), index, 0, size
    xp = np if isinstance(given[0][0], np.ndarray) else jnp
    flat = xp.concatenate([xp.ravel(index).astype(np.int64) for index, _ in given])
    dims, sizes = (np.repeat(of, [index.size for index, _ in given]) for of in (range(len(given)), [size for _, size in given]))
    return outside(flat, sizes, negative=True), flat, dims, sizes


@op("index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", namespaces=(), forms=FUNCTION)
def index(self, indices):
    """``self[indices]``: integer tensors that broadcast against each other, None for a whole dimension; negative ones count from the end."""
    shape = _indexed_shape(self.shape, indices)
    if math.prod(shape) == 0:
        return jnp.zeros(shape, self.dtype)
    return self.at[_key(indices)].get(mode="clip")


@index.grad("self")
def _(g, self_meta, indices):
    return jnp.zeros(self_meta.shape, g.dtype).at[_key(indices)].add(g)


@index.check
def _(self, indices):
    _check_indices(self, indices)


@index.data_check(IndexError, OUT_OF_BOUNDS)
def _(self_meta, indices):
    return _any_outside(self_meta, indices)


def without_masks(self, indices) -> list:
    """The indices with masks (bool or uint8) replaced by one vector of positions for each of their dimensions."""
    found: list = []
    for index in indices:
        if index is None or index.dtype not in (bool_, uint8):
            found.append(index)
            continue
        if index.dtype is uint8:
            warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning, stacklevel=4)
        for d, size in enumerate(index.shape):
            if len(found) + d >= self.ndim or size != self.shape[len(found) + d]:
                raise IndexError(
                    f"The shape of the mask {list(index.shape)} at index {d} does not match the shape of the indexed tensor {list(self.shape)} "
                    f"at index {len(found) + d}"
                )
        found += nonzero(index).unbind(1)
    return found


@composite("index_put.masks(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
def index_put_masks(self, indices, values, accumulate=False):
    """`index_put`, also with masks among the indices (their true elements are counted, so numbers are read back)."""
    return index_put(self, without_masks(self, indices), values, accumulate)


@composite("index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", forms=METHOD)
def index_put_(self, indices, values, accumulate=False):
    """`index_put` into the tensor itself."""
    return general_inplace(index_put, (self, without_masks(self, indices), values, accumulate))


@op("index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", forms=Form(0), namespaces=())
def index_put(self, indices, values, accumulate):
    """``self`` with ``values``, broadcast, written or added at ``self[indices]``; where an element is named twice, added twice."""
    return getattr(self.at[_key(indices)], way_of(self, "add" if accumulate else "set"))(values.astype(self.dtype))


@index_put.grad("self")
def _(g, indices, accumulate):
    return g if accumulate else g.at[_key(indices)].set(0)


@index_put.grad("values")
def _(g, indices):
    return g.at[_key(indices)].get(mode="clip")


@index_put.check
def _(self, indices, values, accumulate):
    _check_indices(self, indices)
    if values.ndim and values.dtype != self.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {type_name(self)} for the destination and "
            f"{type_name(values)} for the source."
        )
    shape = _indexed_shape(self.shape, indices)
    missing = len(shape) - values.ndim
    if missing < 0 or any(size not in (1, target) for size, target in zip(values.shape, shape[missing:])):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {listed(values.shape)} cannot be broadcast to indexing result of shape {listed(shape)}"
        )


@index_put.data_check(IndexError, OUT_OF_BOUNDS)
def _(self_meta, indices):
    return _any_outside(self_meta, indices)
