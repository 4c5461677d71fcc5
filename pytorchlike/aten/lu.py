"""LU factorizations with row exchanges, and systems given by them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, METHOD, OUT, composite, op
from .linalg import batch_element, batch_numbers, check_inexact, check_kernel, check_matrices, first_zero, transposed
from .matmul import adjoint, check_broadcast, multiply
from .reduce import scalar_type

_FUNCTION = FUNCTION | OUT
_FORMS = FUNCTION | METHOD | OUT


def _lu(x):
    packed, pivots, order = lax.linalg.lu(x)
    return packed, (pivots + 1).astype(np.int32), order


def _parts(packed, order):
    """P, L and U of a packed factorization."""
    rows, columns = packed.shape[-2:]
    rank = min(rows, columns)
    lower = jnp.tril(packed[..., :, :rank], -1) + jnp.eye(rows, rank, dtype=packed.dtype)
    permutation = (lax.iota(order.dtype, rows)[:, None] == order[..., None, :]).astype(packed.dtype)
    return permutation, lower, jnp.triu(packed[..., :rank, :])


@op("lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", forms=_FUNCTION, namespaces=("linalg",))
def lu_factor(A, pivot):
    """L and U packed into one matrix, and the row exchanges, counted from 1."""
    return _lu(A)[:2]


@op(
    "lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    forms=_FUNCTION,
    namespaces=("linalg",),
)
def lu_factor_ex(A, pivot, check_errors):
    """`lu_factor`, and the number of the first pivot that is zero (0: none)."""
    packed, pivots, _ = _lu(A)
    return packed, pivots, first_zero(packed)


@op(
    "lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", forms=_FUNCTION, namespaces=("linalg",), differentiable=(1, 2)
)
def lu(A, pivot):
    """A permutation, a unit lower and an upper triangular matrix whose product is ``A``."""
    packed, _, order = _lu(A)
    return _parts(packed, order)


@lu_factor.data_check(
    RuntimeError,
    lambda batch, pivot: (
        f"torch.linalg.lu_factor: {batch_element(batch)}U[{pivot},{pivot}] is zero and using it on lu_solve would result in a division by zero. "
        "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    ),
    at_once=True,
)
def _(A):
    pivot = first_zero(_lu(A)[0])
    return pivot > 0, batch_numbers(A.shape), pivot


def _check_lu(name: str, x, pivot: bool = True) -> None:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(x.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    check_kernel("lu_cpu", x)


@lu_factor.check
def _(A, pivot):
    _check_lu("torch.lu_factor", A, pivot)


@lu_factor_ex.check
def _(A, pivot, check_errors):
    _check_lu("torch.lu_factor", A, pivot)


@lu.check
def _(A, pivot):
    _check_lu("linalg.lu", A, pivot)


@composite("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", forms=FUNCTION)
def lu_with_info(self, pivot, check_errors):
    """`lu_factor_ex` under the name that `torch.lu` knows it by."""
    return lu_factor_ex(self, pivot=pivot, check_errors=check_errors)


@composite("lu.torch(Tensor self, bool pivot=True, bool get_infos=False) -> Tensor[]", forms=_FORMS)
def torch_lu(self, pivot, get_infos):
    """`lu_factor`, with ``get_infos`` `lu_factor_ex`; torch deprecates it."""
    found = lu_with_info(self, pivot)
    return found if get_infos else tuple(found)[:2]


def _check_lu_solve(LU, pivots, B, left: bool = True) -> None:
    name = "linalg.lu_solve"
    check_inexact(name, LU)
    if LU.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type {scalar_type(LU.dtype)} and B of type "
            f"{scalar_type(B.dtype)} instead"
        )
    if pivots.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check_matrices(name, LU, square=True)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    if pivots.ndim == 0 or LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(pivots.shape)} instead"
        )
    check_broadcast(LU.shape[:-2], B.shape[:-2])


def _order_of(pivots, rows: int):
    return lax.linalg.lu_pivots_to_permutation(pivots - 1, rows)


@op(
    "lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", forms=_FUNCTION, namespaces=("linalg",)
)
def linalg_lu_solve(LU, pivots, B, left, adjoint):
    """The solutions of systems given by their packed factors."""
    return _lu_solve(LU, pivots, B, left, adjoint)


def _lu_solve(packed, pivots, b, left: bool, conjugate: bool):
    if not left:  # X A = B is A^H X^H = B^H
        return adjoint(_lu_solve(packed, pivots, adjoint(b), True, not conjugate))
    batch = jnp.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    permutation, lower, upper = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in _parts(packed, _order_of(pivots, packed.shape[-2])))
    b = jnp.broadcast_to(b, batch + b.shape[-2:])
    if not conjugate:
        first = lax.linalg.triangular_solve(lower, multiply(transposed(permutation), b), left_side=True, lower=True, unit_diagonal=True)
        return lax.linalg.triangular_solve(upper, first, left_side=True, lower=False)
    first = lax.linalg.triangular_solve(upper, b, left_side=True, lower=False, transpose_a=True, conjugate_a=True)
    first = lax.linalg.triangular_solve(lower, first, left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True)
    return multiply(permutation, first)


@linalg_lu_solve.check
def _(LU, pivots, B, left, adjoint):
    _check_lu_solve(LU, pivots, B, left)


@op("lu_solve.torch(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", forms=_FORMS)
def lu_solve(self, LU_data, LU_pivots):
    """The solutions of systems given by their packed factors."""
    return _lu_solve(LU_data, LU_pivots, self, True, False)


@lu_solve.check
def _(self, LU_data, LU_pivots):
    _check_lu_solve(LU_data, LU_pivots, self)


@op(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    forms=_FUNCTION,
    differentiable=(1, 2),
)
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """P, L and U of packed factors; what is not asked for is empty."""
    permutation, lower, upper = _parts(LU_data, _order_of(LU_pivots, LU_data.shape[-2]))
    empty = jnp.zeros((0,), LU_data.dtype)
    return permutation if unpack_pivots else empty, *((lower, upper) if unpack_data else (empty, empty))


@lu_unpack.check
def _(LU_data, LU_pivots, unpack_data, unpack_pivots):
    if LU_data.ndim < 2:
        raise RuntimeError(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead")
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to be used "
            "with the output produced by torch.linalg.lu_factor"
        )


@lu_unpack.data_check(
    RuntimeError, "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"
)
def _(LU_data_meta, LU_pivots, unpack_pivots):
    return (LU_pivots < 1) | (LU_pivots > LU_data_meta.shape[-2]) if unpack_pivots else False


column_major |= {"lu_factor": (0,), "lu_factor_ex": (0,), "lu_solve": (0,), "lu_solve.torch": (0,)}
