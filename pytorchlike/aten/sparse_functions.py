"""The functions of ``torch.sparse``."""

from __future__ import annotations

from typing import Any

from ..dispatch.overrides import overridable
from ..dispatch.registry import composite
from ..tensors.tensor import Tensor
from . import sparse_matmul
from .sparse_convert import coalesced
from .sparse_math import reduced, softmax_of
from .sparse_tensor import SparseTensor

__all__ = ["addmm", "as_sparse_gradcheck", "log_softmax", "mm", "sampled_addmm", "softmax", "sum"]


def _public(function: Any) -> Any:
    function.__module__ = "torch.sparse"
    return overridable(function)


@_public
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of matrices, at least one of them sparse.

    Args:
        reduce: ``sum`` (None), ``mean``, ``amax`` or ``amin`` over the elements of a row of a CSR matrix.
    """
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return mat1.mm(mat2)
    return sparse_matmul.mm(mat1, mat2, reduce)


@_public
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``; ``mat`` is dense or sparse."""
    return sparse_matmul.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


@_public
def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Any = None) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of the CSR matrix ``input`` only."""
    found = sparse_matmul.sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return found if out is None else out.copy_(found)


@_public
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over dimensions: sparse as long as a sparse dimension is left."""
    if not isinstance(input, SparseTensor):
        raise NotImplementedError("Could not run 'aten::_sparse_sum' with arguments from the 'CPU' backend.")
    if dim is None:
        return coalesced(input)._elements.sum(dtype=dtype) if input.is_sparse else input._elements.sum(dtype=dtype)
    return reduced(input, dim, dtype)


@_public
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension; elements that are not specified count as minus infinity."""
    return softmax_of(input, dim, dtype, False)  # type: ignore[arg-type]


@_public
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return softmax_of(input, dim, dtype, True)  # type: ignore[arg-type]


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """``gradcheck`` for functions of sparse tensors.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.sparse.as_sparse_gradcheck is not supported: check the function of the values instead")


@composite("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", aliases=("spmm", "dsmm"))
def _dense_mm(sparse, dense):
    """``torch.sparse.mm``: the product of matrices of which one or both may be sparse."""
    return sparse.mm(dense)
