"""Matrix products with sparse matrices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.layouts import sparse_coo, sparse_csr
from ..dispatch.registry import FUNCTION, METHOD, OUT, composite, op
from ..tensors.tensor import Tensor
from .shape import cat
from .sparse_convert import as_coo, coalesced, dense, places_of, restored
from .sparse_math import add
from .sparse_tensor import (
    COMPRESSED,
    LAYOUT_NAMES,
    SparseTensor,
    coo,
    host,
    index_tensor,
    like,
    not_implemented,
    sparse,
    sum_duplicates,
    unravelled,
)

__all__ = ["addmm", "mm", "mm_reduced", "sampled_addmm"]


@op("_sparse_addmm.rows(Tensor rows, Tensor columns, Tensor values, Tensor dense, int count) -> Tensor", namespaces=())
def _product(rows, columns, values, dense, count):
    """The product of a sparse matrix of ``count`` rows and a dense one: each element adds its multiple of a row."""
    return jax.ops.segment_sum(values[:, None] * dense[columns], rows, count)


def _check(a: Any, b: Any) -> None:
    for each in (a, b):
        if isinstance(each, SparseTensor) and each.dense_dim():
            raise RuntimeError(f"addmm: matrices expected, got {each.sparse_dim()}D tensor")
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(f"mm: expected 2-D matrices, got {a.ndim}-D and {b.ndim}-D")
    if a.shape[1] != b.shape[0] and isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {a.dtype} and {b.dtype}")


def _times_dense(a: SparseTensor, b: Tensor) -> Tensor:
    found = as_coo(a)
    rows, columns = found._index[0].unbind(0)
    return _product(rows, columns, found._elements, b, a.shape[0])


def _times_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices: every pair of elements that meet, summed by place."""
    left, right = places_of(a), places_of(b)
    (rows, inner), (lines, columns) = host(left._index[0]), host(right._index[0])
    starts = np.searchsorted(lines, np.arange(b.shape[0] + 1))
    counts = starts[inner + 1] - starts[inner]
    first = np.repeat(np.arange(len(inner)), counts)
    second = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts[inner], counts)
    where = left.device
    values = left._elements.index_select(0, index_tensor(first, where)) * right._elements.index_select(0, index_tensor(second, where))
    unique, inverse = np.unique(rows[first] * b.shape[1] + columns[second], return_inverse=True)
    size = (a.shape[0], b.shape[1])
    return coo(index_tensor(unravelled(unique, size), where), sum_duplicates(values, inverse, len(unique)), size, True)


@sparse("mm", "_sparse_mm", "spmm", "dsmm")
def mm(input: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """The product of two matrices, at least one of them sparse: sparse when both are."""
    if reduce is not None:
        return mm_reduced(input, mat2, reduce)
    _check(input, mat2)
    if not isinstance(input, SparseTensor):
        return _times_dense(mat2.transpose(0, 1), input.transpose(0, 1)).transpose(0, 1)
    if not isinstance(mat2, SparseTensor):
        return _times_dense(input, mat2)
    product = _times_sparse(input, mat2)
    return product if input._kind is sparse_coo else restored(product, input)


@sparse("mv")
def mv(input: Any, vec: Any) -> Tensor:
    """The product of a sparse matrix and a dense vector."""
    if vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@sparse("matmul", "__matmul__")
def _matmul(input: Any, other: Any) -> Tensor:
    if input.ndim == 2 and other.ndim == 2:
        return mm(input, other)
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other) if isinstance(input, SparseTensor) else mv(input, dense(other))
    if input.ndim == 1 and other.ndim == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if input.ndim == 3 and other.ndim == 3:
        return _bmm(input, other)
    if input.ndim == 2 and other.ndim > 2 and isinstance(input, SparseTensor):
        folded = other.movedim(-2, 0)
        return mm(input, folded.reshape(folded.shape[0], -1)).reshape(input.shape[0], *folded.shape[1:]).movedim(0, -2)
    if input.ndim > 2 and other.ndim == 2 and isinstance(other, SparseTensor):
        return mm(input.reshape(-1, input.shape[-1]), other).reshape(*input.shape[:-1], other.shape[1])
    not_implemented("matmul", (input, other))


@sparse("__rmatmul__")
def _rmatmul(input: Any, other: Any) -> Tensor:
    return _matmul(other, input)


@sparse("bmm")
def _bmm(input: Any, mat2: Any) -> Tensor:
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        not_implemented("bmm", (input, mat2))
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError("bmm_sparse: Tensors must have same shape except for the contracted dimension")
    found = as_coo(input)
    batch, rows, columns = found._index[0].unbind(0)
    count, high, wide = input.shape
    flat = _product(batch * high + rows, batch * wide + columns, found._elements, mat2.reshape(count * wide, -1), count * high)
    return flat.reshape(count, high, -1)


@sparse("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return add(mat1 @ mat2 * alpha, input, alpha=beta)
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if isinstance(input, SparseTensor) and not isinstance(product, SparseTensor):
        return product + input * beta
    if not isinstance(input, SparseTensor) and beta == 0:
        return dense(product) if isinstance(product, SparseTensor) else product
    scaled = input if beta == 1 else input * beta
    return add(scaled, product) if isinstance(product, SparseTensor) else scaled + product


@sparse("addmv")
def _addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return input * beta + mv(mat, vec) * alpha


@composite("sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", forms=FUNCTION | METHOD | OUT,
           aliases=(".saddmm",))  # fmt: skip
def _sspaddmm_of(self, mat1, mat2, *, beta=1, alpha=1):
    """``beta * self + alpha * (mat1 @ mat2)`` with a sparse ``self`` and ``mat1``, and a dense ``mat2``; the result is sparse.

    Raises:
        RuntimeError: another layout, shapes that do not fit, a gradient is asked for (torch has none).
    """
    for name, argument, wanted in (("self", self, True), ("mat1", mat1, True), ("mat2", mat2, False)):
        if (isinstance(argument, SparseTensor) and argument.is_sparse) != wanted:
            kind = LAYOUT_NAMES[str(argument.layout).removeprefix("torch.")]
            raise RuntimeError(f"sspaddmm: expected '{name}' to have {'sparse' if wanted else 'strided'} layout, got '{name}' with layout {kind}")
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"sspaddmm: Argument #3: Expected dim 0 size {mat1.shape[1]}, got {mat2.shape[0]}")
    if self.shape != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError(f"sspaddmm: Argument #1: Expected size {(mat1.shape[0], mat2.shape[1])}, got {tuple(self.shape)}")
    product = _hspmm(mat1, mat2)
    rows = host(product._index[0])[0]
    places = np.stack([np.repeat(rows, mat2.shape[1]), np.tile(np.arange(mat2.shape[1]), len(rows))])
    indices = cat([self._index[0], index_tensor(places, self.device)], 1)
    values = cat([self._elements * beta, product._elements.reshape(-1) * alpha])
    if values.requires_grad:
        raise RuntimeError("derivative for aten::sspaddmm is not implemented")
    return coo(indices, values, self.shape)


sparse("sspaddmm", "saddmm")(_sspaddmm_of.body)


@composite("hspmm(Tensor mat1, Tensor mat2) -> Tensor", aliases=(".hsmm",))
def _hspmm_of(mat1, mat2):
    """The product of a sparse and a dense matrix as a hybrid tensor; two dense ones are refused."""
    not_implemented("hspmm", (mat1, mat2))


@sparse("hspmm", "hsmm")
def _hspmm(mat1: SparseTensor, mat2: Tensor) -> Tensor:
    found = coalesced(mat1)
    rows = np.unique(host(found._index[0])[0])
    where = found.device
    values = mm(found, mat2).index_select(0, index_tensor(rows, where))
    return coo(index_tensor(rows[None], where), values, (mat1.shape[0], mat2.shape[1]), True)


@composite("smm(Tensor self, Tensor mat2) -> Tensor")
def _smm_of(self, mat2):
    """The product of a sparse and a dense matrix, sparse; two dense ones are refused."""
    not_implemented("smm", (self, mat2))


@sparse("smm")
def _smm(input: SparseTensor, mat2: Tensor) -> Tensor:
    product = _hspmm(input, mat2)
    return dense(product).to_sparse()  # type: ignore[attr-defined]


@sparse("linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    if isinstance(input, SparseTensor):
        product = mm(input, weight.t()) if input.ndim == 2 else not_implemented("linear", (input,))
    else:
        product = _matmul(input, weight.t())
    return product if bias is None else product + bias


# ---------------------------------------------------------------------------------------------------------------- reductions other than sums
@op("_sparse_mm_reduce_impl.rows(Tensor rows, Tensor columns, Tensor values, Tensor dense, int count, str reduce) -> Tensor", namespaces=())
def _reduced_product(rows, columns, values, dense, count, reduce):
    """For each row the mean, largest or smallest of its elements' multiples of rows of ``dense``; rows without elements are zero."""
    products = values[:, None] * dense[columns]
    often = jax.ops.segment_sum(jnp.ones(rows.shape, products.dtype), rows, count)[:, None]
    if reduce == "mean":
        return jax.ops.segment_sum(products, rows, count) / jnp.maximum(often, 1)
    if reduce == "sum":
        return jax.ops.segment_sum(products, rows, count)
    still = jax.lax.stop_gradient(products)
    best = (jax.ops.segment_max if reduce == "amax" else jax.ops.segment_min)(still, rows, count)
    place = jnp.where(still == best[rows], jnp.arange(rows.shape[0])[:, None], rows.shape[0])
    winner = jax.ops.segment_min(place, rows, count)  # the first of equals has the gradient
    chosen = jnp.take_along_axis(products, jnp.clip(winner, 0, max(rows.shape[0] - 1, 0)), 0)
    return jnp.where(often > 0, chosen, 0)


def mm_reduced(input: Any, mat2: Any, reduce: str) -> Tensor:
    """`mm` with another reduction than the sum: ``mean``, ``amax``, ``amin``."""
    if not isinstance(input, SparseTensor) or input._kind is not sparse_csr:
        raise RuntimeError("torch.sparse.mm: reduce is only supported for a CSR matrix times a dense one")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, mean, amax or amin, got {reduce}")
    _check(input, mat2)
    found = as_coo(input)
    rows, columns = found._index[0].unbind(0)
    return _reduced_product(rows, columns, found._elements, mat2, input.shape[0], reduce)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of ``input``, a CSR matrix (or a batch of them).

    Raises:
        RuntimeError: ``input`` is not CSR, shapes that do not fit.
    """
    if not isinstance(input, SparseTensor) or input._kind not in COMPRESSED:
        raise RuntimeError(f"Expected input to be a sparse CSR tensor, but got {input.layout}")  # type: ignore[attr-defined]
    if mat1.shape[-1] != mat2.shape[-2] or mat1.shape[-2] != input.shape[-2] or mat2.shape[-1] != input.shape[-1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    found = as_coo(input)
    *batch, rows, columns = found._index[0].unbind(0)
    lead = tuple(batch)
    left, right = mat1, mat2.transpose(-2, -1)
    values = (left[(*lead, rows)] * right[(*lead, columns)]).sum(-1).reshape(input._elements.shape)
    values = values if alpha == 1 else values * alpha
    if beta:
        values = values + (input._elements if beta == 1 else input._elements * beta)
    return like(input, values)

