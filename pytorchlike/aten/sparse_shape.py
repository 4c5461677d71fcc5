"""What shape operators do with sparse tensors: they change the indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..dispatch.registry import METHOD, composite, lookup
from ..tensors.tensor import Tensor
from .sparse_convert import as_coo
from .sparse_tensor import SparseTensor, become, compressed, coo, host, index_tensor, not_implemented, own, sparse

__all__: list[str] = []

_TRANSPOSED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


def _wrapped(dim: int, ndim: int) -> int:
    reach = max(ndim, 1)
    if not -reach <= dim < reach:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
    return dim % reach


@sparse("transpose", "swapaxes", "swapdims")
def transpose(input: SparseTensor, dim0: int, dim1: int) -> Tensor:
    """Two sparse dimensions swapped."""
    a, b = _wrapped(dim0, input.ndim), _wrapped(dim1, input.ndim)
    if a == b:
        return input
    if input._kind is not sparse_coo:
        batch = input._index[1].ndim - 1
        if {a, b} != {batch, batch + 1}:
            raise RuntimeError(f"transpose(): can only transpose the two sparse dimensions of {input.layout} tensors")
        values = own(input._elements)
        if input._kind in (sparse_bsr, sparse_bsc):
            values = values.transpose(batch + 1, batch + 2)
        size = list(input._size)
        size[a], size[b] = size[b], size[a]
        pointers, plain = input._index
        return compressed(_TRANSPOSED[input._kind], pointers, plain, values, size)
    indexed = input.sparse_dim()
    if max(a, b) >= indexed:
        raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {indexed}, d0: {a}, d1: {b}")
    order = list(range(input.ndim))
    order[a], order[b] = b, a
    return _permuted(input, order)


def _permuted(input: SparseTensor, order: list[int]) -> SparseTensor:
    indices = input._index[0].index_select(0, index_tensor(np.asarray(order[: input.sparse_dim()]), input.device))
    return coo(indices, own(input._elements), [input._size[d] for d in order])


@sparse("t", "T", "mT", "adjoint")
def _t(input: SparseTensor) -> Tensor:
    if input.ndim < 2:
        return input
    if input.ndim > 2 or input.dense_dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse and {input.dense_dim()} dense dimensions"
        )
    return transpose(input, 0, 1)


@sparse("H", "mH")
def _adjoint(input: SparseTensor) -> Tensor:
    return _t(input).conj()


@sparse("permute")
def _permute(input: SparseTensor, *dims: Any) -> Tensor:
    order = [_wrapped(d, input.ndim) for d in (dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)]
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions "
            f"i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(sparse_coo): duplicate dims are not allowed.")
    indexed = input.sparse_dim()
    if order == list(range(input.ndim)):
        return input
    if input._kind is not sparse_coo:
        if input.ndim == 2:
            return transpose(input, 0, 1)
        not_implemented("permute", (input,))
    if any(d >= indexed for d in order[:indexed]):
        raise RuntimeError("permute(sparse_coo): the sparse and the dense dimensions cannot be mixed")
    found = _permuted(input, order)
    if order[indexed:] != list(range(indexed, input.ndim)):
        found._elements = found._elements.permute(0, *[d - indexed + 1 for d in order[indexed:]])
    return found


@sparse("unsqueeze")
def _unsqueeze(input: SparseTensor, dim: int) -> Tensor:
    at = _wrapped(dim, input.ndim + 1)
    if input._kind is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    indexed = input.sparse_dim()
    size = [*input._size[:at], 1, *input._size[at:]]
    if at > indexed:
        return coo(input._index[0], input._elements.unsqueeze(at - indexed + 1), size, input._coalesced)
    row = input._index[0].new_zeros((1, input._nnz()))
    indices = lookup("cat")([input._index[0][:at], row, input._index[0][at:]])
    return coo(indices, own(input._elements), size, input._coalesced)


def _chosen(input: SparseTensor, keep: np.ndarray, indices: np.ndarray, size: Any, coalesced: bool = False) -> SparseTensor:
    """The elements of these numbers, at other places."""
    where = input.device
    return coo(index_tensor(indices, where), input._elements.index_select(0, index_tensor(keep, where)), size, coalesced)


@sparse("select")
def _select(input: SparseTensor, dim: int, index: Any) -> Tensor:
    found, dim, index = as_coo(input), _wrapped(dim, input.ndim), int(index)
    count = found._size[dim]
    if not -count <= index < count:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(found._size)} at dimension {dim}")
    size, indexed = [n for d, n in enumerate(found._size) if d != dim], found.sparse_dim()
    if dim >= indexed:
        return coo(found._index[0], found._elements.select(dim - indexed + 1, index), size, found._coalesced)
    numbers = host(found._index[0])
    keep = np.flatnonzero(numbers[dim] == index % count)
    if indexed == 1:
        return found._elements.index_select(0, index_tensor(keep, found.device)).sum(0).to(found.dtype)
    return _chosen(found, keep, np.delete(numbers[:, keep], dim, 0), size, found._coalesced)


@sparse("unbind")
def _unbind(input: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple([_select(input, dim, k) for k in range(input.shape[dim])])


@sparse("narrow")
def _narrow_view(input: SparseTensor, dim: int, start: Any, length: int) -> Tensor:
    not_implemented("as_strided", (input,))


@sparse("narrow_copy")
def _narrow(input: SparseTensor, dim: int, start: Any, length: int) -> Tensor:
    found, dim = as_coo(input), _wrapped(dim, input.ndim)
    start = int(start)
    start = start + found._size[dim] if start < 0 else start
    if length < 0 or start < 0 or start + length > found._size[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({found._size[dim]}).")
    size, indexed = list(found._size), found.sparse_dim()
    size[dim] = length
    if dim >= indexed:
        return coo(found._index[0], found._elements.narrow(dim - indexed + 1, start, length), size, found._coalesced)
    numbers = host(found._index[0])
    keep = np.flatnonzero((numbers[dim] >= start) & (numbers[dim] < start + length))
    moved = numbers[:, keep].copy()
    moved[dim] -= start
    return _chosen(found, keep, moved, size, found._coalesced)


@sparse("index_select")
def _index_select(input: SparseTensor, dim: int, index: Tensor) -> Tensor:
    found, dim = as_coo(input), _wrapped(dim, input.ndim)
    wanted = host(index).reshape(-1).astype(np.int64)
    count, indexed = found._size[dim], found.sparse_dim()
    if wanted.size and (wanted.min() < -count or wanted.max() >= count):
        bad = int(wanted[(wanted < -count) | (wanted >= count)][0])
        raise IndexError(f"index_select(): index contains {bad} that is out of range for tensor of size {list(found._size)} at dimension {dim}")
    size = list(found._size)
    size[dim] = len(wanted)
    if dim >= indexed:
        return coo(found._index[0], found._elements.index_select(dim - indexed + 1, index), size, found._coalesced)
    wanted = wanted % max(count, 1)
    numbers = host(found._index[0])
    order = np.argsort(numbers[dim], kind="stable")
    starts, ends = (np.searchsorted(numbers[dim][order], wanted, side) for side in ("left", "right"))
    counts = ends - starts
    keep = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)]
    moved = numbers[:, keep].copy()
    moved[dim] = np.repeat(np.arange(len(wanted)), counts)
    return _chosen(found, keep, moved, size)


@sparse("__getitem__")
def _getitem(input: SparseTensor, index: Any) -> Tensor:
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [p if p is Ellipsis else None for p in parts]:
        at = next(k for k, p in enumerate(parts) if p is Ellipsis)
        missing = input.ndim - sum(p is not None and p is not Ellipsis for p in parts)
        parts[at : at + 1] = [slice(None)] * missing
    found: Any = input
    dim = 0
    for part in parts:
        if part is None:
            found = found.unsqueeze(dim)
        elif isinstance(part, slice):
            if part != slice(None):
                not_implemented("as_strided", (input,))
        elif isinstance(part, int) or isinstance(part, Tensor) and part.ndim == 0 and not part.dtype.is_floating_point:
            found = found.select(dim, part)
            continue
        else:
            not_implemented("index.Tensor", (input,))
        dim += 1
    return found


@sparse("cat", "concat", "concatenate")
def _cat(tensors: Any, dim: int = 0) -> Tensor:
    if not all(isinstance(t, SparseTensor) and t._kind is sparse_coo for t in tensors):
        if any(isinstance(t, SparseTensor) and t._kind is not sparse_coo for t in tensors):
            raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
        at = next(k for k, t in enumerate(tensors) if not isinstance(t, SparseTensor))
        raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    first = tensors[0]
    dim, indexed = _wrapped(dim, first.ndim), first.sparse_dim()
    for k, t in enumerate(tensors):
        if t.sparse_dim() != indexed or t.dense_dim() != first.dense_dim():
            raise RuntimeError(
                f"All tensors must have the same sparse and dense dimensions to be concatenated, but tensor at position {k} has {t.sparse_dim()}, "
                f"{t.dense_dim()}"
            )
        if [n for d, n in enumerate(t.shape) if d != dim] != [n for d, n in enumerate(first.shape) if d != dim]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found shape: {list(t.shape)}"
            )
    size = list(first.shape)
    size[dim] = sum(t.shape[dim] for t in tensors)
    cat = lookup("cat")
    if dim < indexed:
        ends = np.cumsum([0, *[t.shape[dim] for t in tensors]])
        places = []
        for t, start in zip(tensors, ends):
            step = np.zeros((indexed, 1), np.int64)
            step[dim] = start
            places.append(t._index[0] + index_tensor(step, t.device))
        return coo(cat(places, 1), cat([t._elements for t in tensors]), size)
    values = []
    before = 0
    for t in tensors:  # each has its own places: zeros stand for the parts of the others
        own_size = t._elements.shape
        after = size[dim] - before - t.shape[dim]
        at = dim - indexed + 1
        pieces = [t._elements.new_zeros((*own_size[:at], before, *own_size[at + 1 :])), t._elements,
                  t._elements.new_zeros((*own_size[:at], after, *own_size[at + 1 :]))]  # fmt: skip
        values.append(cat(pieces, at))
        before += t.shape[dim]
    return coo(cat([t._index[0] for t in tensors], 1), cat(values), size)


@sparse("stack")
def _stack(tensors: Any, dim: int = 0) -> Tensor:
    return _cat([t.unsqueeze(dim) for t in tensors], dim)


@sparse("reshape", "flatten", "reshape_as", "unflatten")
def _reshape(input: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
    raise RuntimeError("reshape is not implemented for sparse tensors")


# ---------------------------------------------------------------------------------------------------------------- resizing
def _resizing(name: str) -> None:
    @composite(f"{name}(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", forms=METHOD)
    def refuse(self, size, sparse_dim, dense_dim):
        """Another size for a sparse tensor; strided ones are refused."""
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend.")


_resizing("sparse_resize_")
_resizing("sparse_resize_and_clear_")


@composite("resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)")
def resize_as_sparse_(self, the_template):
    """The size of another sparse tensor for this one; strided tensors are refused."""
    raise RuntimeError("resize_as_sparse_ for strided tensors is not supported: expected sparse self and the_template")


@sparse("sparse_resize_")
def _sparse_resize_(input: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    if sparse_dim != input.sparse_dim() or dense_dim != input.dense_dim() or any(a < b for a, b in zip(size, input.shape)):
        if input._nnz():
            raise RuntimeError("changing the number of dimensions, or shrinking, a non-empty sparse tensor is not supported")
        return _clear(input, size, sparse_dim, dense_dim)
    return become(input, coo(input._index[0], input._elements, size, input._coalesced))


@sparse("sparse_resize_and_clear_")
def _clear(input: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    values = input._elements.detach().new_zeros((0, *size[sparse_dim:]))
    return become(input, coo(input._index[0].new_zeros((sparse_dim, 0)), values, size, True))


@sparse("resize_as_", "resize_as_sparse_")
def _resize_as_(input: SparseTensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    return _sparse_resize_(input, other.shape, other.sparse_dim(), other.dense_dim())  # type: ignore[attr-defined]

