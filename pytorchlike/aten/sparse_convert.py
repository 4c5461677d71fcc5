"""Sparse tensors in other layouts, dtypes and places: dense and back, coalescing, compressed layouts, copies, text."""

from __future__ import annotations

import copy
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.dtype import BY_NAME, bool_
from ..core.layouts import layout as layout_type
from ..core.layouts import sparse_coo, sparse_csc, sparse_csr, strided
from ..core.state import default_dtype
from ..dispatch.registry import METHOD, composite, op
from ..tensors import rebuild
from ..tensors.convert import host_array
from ..tensors.printing import sparse_text
from ..tensors.tensor import Tensor
from .sparse_tensor import (
    COMPRESSED,
    LAYOUT_NAMES,
    SparseTensor,
    compressed,
    coo,
    host,
    index_tensor,
    like,
    linear_index,
    not_implemented,
    own,
    sparse,
    strides_of,
    sum_duplicates,
    unravelled,
)  # fmt: skip

__all__ = ["as_coo", "coalesced", "converted", "dense", "dense_to", "restored", "taken"]


# ---------------------------------------------------------------------------------------------------------------- dense
@op("_to_dense.parts(Tensor indices, Tensor values, int[] size) -> Tensor", namespaces=())
def scattered(indices, values, size):
    """Zeros of a size with the values added at the indices, an array (dimensions, elements)."""
    zeros = jnp.zeros(size, values.dtype)
    at = tuple(indices)
    return zeros.at[at].max(values) if values.dtype == bool else zeros.at[at].add(values)


@op("sparse_mask.places(Tensor self, Tensor indices) -> Tensor", namespaces=())
def taken(self, indices):
    """The elements (or parts) at the indices."""
    return self[tuple(indices)]


@sparse("to_dense")
def to_dense(input: SparseTensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The same elements and all the zeros."""
    found = as_coo(input)
    if input.sparse_dim() == 0:
        result = found._elements.sum(0).reshape(input.shape)
    else:
        result = scattered(found._index[0], found._elements, tuple(input.shape))
    return result if dtype is None else result.to(dtype)


dense = to_dense


@composite("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", forms=METHOD)
def to_dense_strided(self, dtype=None, masked_grad=None):
    """The tensor itself, which is dense."""
    return self if dtype is None else self.to(dtype)


# ---------------------------------------------------------------------------------------------------------------- coordinates
def as_coo(tensor: SparseTensor) -> SparseTensor:
    """The tensor as one of coordinates, duplicates as they are."""
    if tensor._kind is sparse_coo:
        return tensor
    _, _, by_rows, in_blocks = COMPRESSED[tensor._kind]
    pointers, plain = (host(i) for i in tensor._index)
    values, batch = tensor._elements, plain.shape[:-1]
    count, groups = plain.shape[-1], math.prod(batch)
    steps = np.diff(pointers).reshape(groups, -1)
    along = np.concatenate([np.repeat(np.arange(steps.shape[1]), s) for s in steps]) if groups else np.zeros(0, np.int64)
    places = [along, plain.reshape(-1)] if by_rows else [plain.reshape(-1), along]
    lead = unravelled(np.repeat(np.arange(groups), count), batch)
    dense_size = values.shape[plain.ndim + 2 * in_blocks :]
    if in_blocks:
        high, wide = values.shape[plain.ndim : plain.ndim + 2]
        places[0] = (places[0][:, None, None] * high + np.arange(high)[:, None] + np.zeros((1, 1, wide), np.int64)).reshape(-1)
        places[1] = (places[1][:, None, None] * wide + np.arange(wide) + np.zeros((1, high, 1), np.int64)).reshape(-1)
        lead = np.repeat(lead, high * wide, 1)
    values = values.reshape(-1, *dense_size) if len(dense_size) or values.ndim > 1 else values
    return _sorted(np.concatenate([lead, np.stack(places)]), values, tensor)


def _sorted(indices: np.ndarray, values: Tensor, like_this: SparseTensor) -> SparseTensor:
    """Coordinates put in order; duplicates stay."""
    made = coo(index_tensor(indices, values.device), values, like_this._size)
    linear = linear_index(made)
    if len(linear) > 1 and (np.diff(linear) <= 0).any():
        order = np.argsort(linear, kind="stable")
        linear = linear[order]
        moved = values.index_select(0, index_tensor(order, values.device))
        made = coo(index_tensor(indices[:, order], values.device), moved, like_this._size)
    made._coalesced = len(linear) < 2 or bool((np.diff(linear) > 0).all())
    return made


@sparse("coalesce")
def coalesced(input: SparseTensor) -> SparseTensor:
    """The same tensor with each place once, in order, its values summed."""
    if input._kind is not sparse_coo:
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {LAYOUT_NAMES[input._kind.name]}")
    if input._coalesced:
        return input
    values, indices = input._elements, input._index[0]
    if input._nnz() < 2 or input.sparse_dim() == 0:
        values = values.clone() if input._nnz() < 2 else values.sum(0, keepdim=True)
        return coo(indices[:, :1] if input._nnz() > 1 else indices, values, input._size, True)
    linear = linear_index(input)
    if (np.diff(linear) > 0).all():
        return coo(indices, values.clone(), input._size, True)
    unique, inverse = np.unique(linear, return_inverse=True)
    places = index_tensor(unravelled(unique, input._size[: input.sparse_dim()]), input.device)
    return coo(places, sum_duplicates(values, inverse, len(unique)), input._size, True)


def places_of(tensor: SparseTensor) -> SparseTensor:
    """The tensor as coordinates in order, without duplicates."""
    return coalesced(as_coo(tensor))


# ---------------------------------------------------------------------------------------------------------------- layouts
def dense_to(tensor: Any, kind: layout_type, blocksize: Any = None, dense_dim: int | None = None) -> Any:
    """A dense tensor in a sparse layout: what is not zero (or any part that has something in it)."""
    parts = dense_dim or 0
    ndim = tensor.ndim - parts
    if kind in COMPRESSED and ndim < 2:
        raise RuntimeError(f"to_sparse_{kind.name[-3:]}: expected self to be at least 2D, found self to be {tensor.ndim}D tensor")
    lead = tensor.shape[:ndim]
    numbers = host_array(tensor.detach(), "item") != 0
    if parts:
        numbers = numbers.reshape(*lead, -1).any(-1)
    places = np.stack(np.nonzero(numbers)) if ndim else np.zeros((0, int(numbers)), np.int64)
    linear = np.flatnonzero(numbers) if ndim else np.zeros(int(numbers), np.int64)
    values = tensor.reshape(-1, *tensor.shape[ndim:]).index_select(0, index_tensor(linear, tensor.device))
    return converted(coo(index_tensor(places, tensor.device), values, tensor.shape, True), kind, blocksize)


def converted(tensor: SparseTensor, kind: layout_type, blocksize: Any = None) -> Any:
    """A sparse tensor in another layout.

    Raises:
        RuntimeError: batches with different numbers of elements; no matrices.
    """
    if kind is strided:
        return to_dense(tensor)
    if tensor._kind is kind and not blocksize:
        return tensor
    found = places_of(tensor)
    if kind is sparse_coo:
        return found
    _, _, by_rows, in_blocks = COMPRESSED[kind]
    if found.sparse_dim() < 2:
        raise RuntimeError(f"to_sparse_{kind.name[-3:]}: conversion needs two sparse dimensions, got {found.sparse_dim()}")
    indices, values = host(found._index[0]), found._elements
    size = found._size
    batch = found.sparse_dim() - 2
    rows, columns = size[batch], size[batch + 1]
    group = (indices[:batch] * strides_of(size[:batch])[:, None]).sum(0, dtype=np.int64)
    major, minor = indices[batch], indices[batch + 1]
    high, wide = blocksize if in_blocks else (1, 1)
    if rows % high or columns % wide:
        raise RuntimeError(
            f"tensor sparse size ({rows},{columns}) must be divisible by given blocksize ({high},{wide})"
        )
    block_rows, block_columns = rows // high, columns // wide
    outer, inner = (major // high, minor // wide) if by_rows else (minor // wide, major // high)
    outer_count, inner_count = (block_rows, block_columns) if by_rows else (block_columns, block_rows)
    number = (group * outer_count + outer) * inner_count + inner
    unique, inverse = np.unique(number, return_inverse=True)
    if in_blocks:
        at = (inverse * high + major % high) * wide + minor % wide
        values = sum_duplicates(values, at, len(unique) * high * wide).reshape(len(unique), high, wide, *values.shape[1:])
    elif len(number) > 1 and (np.diff(number) <= 0).any():
        values = values.index_select(0, index_tensor(np.argsort(number, kind="stable"), values.device))
    groups = math.prod(size[:batch])
    counts = np.bincount(unique // max(inner_count, 1), minlength=groups * outer_count).reshape(groups, outer_count)
    each = counts.sum(1)
    if groups > 1 and (each != each[0]).any():
        raise RuntimeError("Expect the same number of specified elements per batch.")
    pointers = np.concatenate([np.zeros((groups, 1), np.int64), np.cumsum(counts, 1)], 1).reshape(*size[:batch], outer_count + 1)
    plain = (unique % max(inner_count, 1)).reshape(*size[:batch], -1)
    if batch:
        values = values.reshape(*plain.shape, *values.shape[1:])
    where = found.device
    return compressed(kind, index_tensor(pointers, where), index_tensor(plain, where), values, size)


def restored(found: SparseTensor, before: SparseTensor) -> SparseTensor:
    """A result in coordinates, in the layout that the operand had."""
    if before._kind is sparse_coo:
        return found
    blocks = before._elements.shape[before._index[1].ndim :][:2] if COMPRESSED[before._kind][3] else None
    return converted(found, before._kind, blocks)


@sparse("to_sparse")
def _to_sparse(input: SparseTensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Tensor:
    if isinstance(sparse_dim, int) and sparse_dim != input.sparse_dim():
        return to_dense(input).to_sparse(sparse_dim)
    return converted(input, layout or sparse_coo, blocksize) if layout is not None or input._kind is not sparse_coo else input


@sparse("to_sparse_coo")
def _to_coo(input: SparseTensor) -> Tensor:
    return converted(input, sparse_coo)


@sparse("to_sparse_csr")
def _to_csr(input: SparseTensor, dense_dim: Any = None) -> Tensor:
    return converted(input, sparse_csr)


@sparse("to_sparse_csc")
def _to_csc(input: SparseTensor, dense_dim: Any = None) -> Tensor:
    return converted(input, sparse_csc)


def _to_blocks(name: str) -> None:
    @sparse(f"to_{name}")
    def convert(input: SparseTensor, blocksize: Any, dense_dim: Any = None) -> Tensor:
        return converted(input, next(k for k in COMPRESSED if k.name == name), blocksize)


_to_blocks("sparse_bsr")
_to_blocks("sparse_bsc")


@composite("sparse_mask(Tensor self, Tensor mask) -> Tensor", forms=METHOD)
def sparse_mask_of(self, mask):
    """The elements at the places of a sparse tensor; here there is none."""
    raise RuntimeError(f"sparse_mask: expected mask to be sparse but got {mask.layout}")


@sparse("sparse_mask")
def sparse_mask(input: Tensor, mask: Any) -> SparseTensor:
    """The elements at the places of a sparse tensor."""
    if input.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)} but mask has size {list(mask.shape)}")
    at = as_coo(mask)
    if isinstance(input, SparseTensor):
        values = matched(places_of(input), linear_index(at))
    else:
        values = taken(input, at._index[0]) if at.sparse_dim() else input.reshape(1)
    return restored(like(at, values), mask)


def matched(tensor: SparseTensor, linear: np.ndarray) -> Tensor:
    """The values of a coalesced tensor at these places, zero where it has none."""
    own_places, where = linear_index(tensor), tensor.device
    if not len(own_places):
        return tensor._elements.new_zeros((len(linear), *tensor._elements.shape[1:]))
    position = np.minimum(np.searchsorted(own_places, linear), len(own_places) - 1)
    found = index_tensor(own_places[position] == linear, where, bool_)
    values = tensor._elements.index_select(0, index_tensor(position, where))
    return values.where(found.reshape(-1, *[1] * (values.ndim - 1)), values.new_zeros(()))


# ---------------------------------------------------------------------------------------------------------------- parts
_ACCESSORS = {
    "indices": "coordinate tensor", "values": "tensor", "coalesce": "coordinate tensor", "is_coalesced": "coordinate tensor",
    "crow_indices": "row compressed tensor", "col_indices": "row compressed tensor", "ccol_indices": "column compressed tensor",
    "row_indices": "column compressed tensor",
}  # fmt: skip


def _strided_accessor(name: str, kind: str) -> None:
    @composite(f"{name}(Tensor self) -> Tensor", forms=METHOD)
    def refuse(self):
        """A part of a sparse tensor, which a strided one has not: an error that says so."""
        raise RuntimeError(f"{name} expected sparse {kind} layout but got Strided")


for _name, _wanted in _ACCESSORS.items():
    _strided_accessor(_name, _wanted)


def _strided_part(name: str) -> None:
    @composite(f"{name}(Tensor self) -> Tensor", forms=METHOD)
    def refuse(self):
        """A part of a sparse tensor, which a strided one has not: an error that says so."""
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend.")


for _name in ("_nnz", "_indices", "_values"):
    _strided_part(_name)


@composite("sparse_dim(Tensor self) -> int", forms=METHOD)
def sparse_dim_of(self):
    """How many dimensions are indexed: none."""
    return 0


@composite("dense_dim(Tensor self) -> int", forms=METHOD)
def dense_dim_of(self):
    """How many dimensions are dense: all."""
    return self.ndim


def _expect(tensor: SparseTensor, name: str) -> None:
    wanted = {"coordinate tensor": {sparse_coo}, "row compressed tensor": {k for k, c in COMPRESSED.items() if c[2]},
              "column compressed tensor": {k for k, c in COMPRESSED.items() if not c[2]}}[_ACCESSORS[name]]  # fmt: skip
    if tensor._kind not in wanted:
        raise RuntimeError(f"{name} expected sparse {_ACCESSORS[name]} layout but got {LAYOUT_NAMES[tensor._kind.name]}")


@sparse("indices")
def indices_of(input: SparseTensor) -> Tensor:
    """The places of the elements of a coalesced tensor."""
    _expect(input, "indices")
    if not input._coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return input._index[0].detach()


@sparse("values")
def values_of(input: SparseTensor) -> Tensor:
    """The values of a coalesced tensor, on the tape."""
    if input._kind is sparse_coo and not input._coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return own(input._elements)


@sparse("_indices")
def _indices(input: SparseTensor) -> Tensor:
    if input._kind is not sparse_coo:
        not_implemented("_indices", (input,))
    return input._index[0].detach()


@sparse("_values")
def _values(input: SparseTensor) -> Tensor:
    if input._kind is not sparse_coo:
        not_implemented("_values", (input,))
    return input._elements.detach()


@sparse("is_coalesced")
def is_coalesced(input: SparseTensor) -> bool:
    """Whether each place is known to occur once, in order."""
    _expect(input, "is_coalesced")
    return input._coalesced


@sparse("_coalesced_")
def _coalesced_(input: SparseTensor, coalesced: bool) -> SparseTensor:
    input._coalesced = coalesced
    return input


def _compressed_part(name: str, position: int) -> None:
    @sparse(name)
    def part(input: SparseTensor) -> Tensor:
        _expect(input, name)
        return input._index[position].detach()


for _layout in (sparse_csr, sparse_csc):
    _compressed_part(COMPRESSED[_layout][0], 0)
    _compressed_part(COMPRESSED[_layout][1], 1)


# ---------------------------------------------------------------------------------------------------------------- dtypes, devices, copies
def _moved(tensor: SparseTensor, values: Tensor) -> SparseTensor:
    if values is tensor._elements:
        return tensor
    found = like(tensor, values)
    if values.device != tensor.device:
        found._index = tuple([i.to(values.device) for i in tensor._index])
    return found


@sparse("to")
def _to(input: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
    args = tuple([a._elements if isinstance(a, SparseTensor) else a for a in args])
    return _moved(input, input._elements.to(*args, **kwargs))


def _cast(name: str) -> None:
    @sparse(name)
    def cast(input: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
        return _moved(input, getattr(input._elements, name)(*args, **kwargs))


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat", "cdouble", "cpu", "cuda"):
    _cast(_name)


@sparse("type_as")
def _type_as(input: Any, other: Any) -> Tensor:
    return input.to(other.dtype)


@sparse("type")
def _type(input: SparseTensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if dtype is not None:
        return input.to(dtype if not isinstance(dtype, str) else BY_NAME[dtype.rpartition(".")[2]])
    place, _, kind = input._elements.type().rpartition(".")
    return f"{place}.sparse.{kind}"


@sparse("clone")
def _clone(input: SparseTensor, *, memory_format: Any = None) -> Tensor:
    found = like(input, input._elements.clone())
    found._index = tuple([i.clone() for i in input._index])
    return found


def _deep_copy(self: SparseTensor, memo: dict) -> Any:
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
    if id(self) in memo:
        return memo[id(self)]
    found = like(self, copy.deepcopy(self._elements.detach(), memo))
    found._index = tuple([copy.deepcopy(i, memo) for i in self._index])
    found.requires_grad_(self.requires_grad)
    memo[id(self)] = found
    grad = self.grad
    if grad is not None:
        found.grad = copy.deepcopy(grad, memo)
    found.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return found


def _reduce(self: SparseTensor, protocol: Any) -> tuple:
    values = self._elements.detach()
    if self._kind is sparse_coo:
        data: tuple = (self._index[0].detach(), values, self._size, self._coalesced)
    else:
        data = (*[i.detach() for i in self._index], values, self._size)
    return rebuild._rebuild_sparse_tensor, (self._kind, data)


# ---------------------------------------------------------------------------------------------------------------- numbers and text
@sparse("numpy", "__array__", "__dlpack__")
def _numpy(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(f"can't convert {LAYOUT_NAMES[input._kind.name]} layout tensor to numpy. Use Tensor.to_dense() first.")


@sparse("tolist", "data_ptr")
def _address(input: SparseTensor) -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@sparse("storage", "untyped_storage", "_typed_storage", "storage_offset")
def _storage(input: SparseTensor) -> Any:
    raise NotImplementedError(f"Cannot access storage of {'SparseTensorImpl' if input.is_sparse else 'SparseCsrTensorImpl'}")


@sparse("nbytes")
def _nbytes(input: SparseTensor) -> Any:
    raise RuntimeError(
        "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of the indices and values.  If "
        "you want the size of the  equivalent dense tensor, multiply numel() by element_size()"
    )


def _number(name: str) -> None:
    @sparse(name)
    def number(input: SparseTensor) -> Any:
        if input.numel() == 1:
            return getattr(to_dense(input), name)()
        return getattr(Tensor.__dict__[name], "__wrapped__", Tensor.__dict__[name])(input)


for _name in ("item", "__float__", "__int__", "__bool__"):
    _number(_name)


def _comparison(name: str, told: str) -> None:
    @sparse(name)
    def compare(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        kind = "" if told == "equal" else ".Tensor" if isinstance(other, Tensor) else ".Scalar"
        not_implemented(told + kind, (input, other))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name, _name)
for _name, _told in (("__eq__", "eq"), ("isclose", "eq"), ("allclose", "eq"), ("equal", "equal")):
    _comparison(_name, _told)


@sparse("stride")
def _stride(input: SparseTensor, dim: int | None = None) -> Any:
    if input._kind is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * input.ndim if dim is None else 0


@sparse("is_contiguous")
def _is_contiguous(input: SparseTensor, memory_format: Any = None) -> bool:
    if input._kind is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    return False


@sparse("contiguous")
def _contiguous(input: SparseTensor, memory_format: Any = None) -> Tensor:
    raise RuntimeError("unsupported memory format option Contiguous")


def _text(input: SparseTensor, *, tensor_contents: Any = None) -> str:
    if input._kind is sparse_coo:
        parts = [("indices", input._index[0])]
    else:
        parts = list(zip(COMPRESSED[input._kind][:2], input._index))
    parts.append(("values", input._elements))
    arrays = {name: (None if part.is_meta else host_array(part.detach(), "print"), part.shape) for name, part in parts}
    usual = (default_dtype(), default_dtype().to_complex(), BY_NAME["int64"], bool_)
    shown = [] if input.is_cpu else [f"device='{input.device}'"]
    shown.append(f"size={tuple(int(n) for n in input._size)}")
    if not input.is_meta:
        shown.append(f"nnz={input._nnz()}")
    if input.dtype not in usual:
        shown.append(f"dtype={input.dtype!r}")
    shown.append(f"layout={input._kind!r}")
    node = input.grad_fn
    if node is not None:
        shown.append(f"grad_fn=<{type(node).__name__}>")
    elif input.requires_grad:
        shown.append("requires_grad=True")
    return sparse_text(arrays, shown, input._kind is sparse_coo)


SparseTensor.__repr__ = _text  # type: ignore[method-assign, assignment]
SparseTensor.__deepcopy__ = _deep_copy  # type: ignore[attr-defined]
SparseTensor.__reduce_ex__ = _reduce  # type: ignore[method-assign, assignment]
