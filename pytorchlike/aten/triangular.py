"""Linear systems with triangular matrices, among them those given by Cholesky factors."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .linalg import check_kernel, check_matrices, check_same_dtype
from .matmul import adjoint, check_broadcast, multiply
from .reduce import scalar_type

_FUNCTION = FUNCTION | OUT
_FORMS = FUNCTION | METHOD | OUT


@op(
    "solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    forms=_FUNCTION,
    namespaces=("linalg",),
)
def solve_triangular(self, B, upper, left, unitriangular):
    """The solutions of triangular systems; the other triangle is not read."""
    batch = jnp.broadcast_shapes(self.shape[:-2], B.shape[:-2])
    A, B = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (self, B))
    return lax.linalg.triangular_solve(A, B, left_side=left, lower=not upper, unit_diagonal=unitriangular)


@solve_triangular.check
def _(self, B, upper, left, unitriangular):
    check_matrices("linalg.solve_triangular", self, square=True)
    check_kernel("triangular_solve_cpu", self)
    check_same_dtype("linalg.solve_triangular", self, B)
    if self.shape[-1] != B.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {equation} ({self.shape[-2]}x{self.shape[-1]} and "
            f"{B.shape[-2]}x{B.shape[-1]})"
        )


@op(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    forms=_FORMS,
)
def triangular_solve(self, A, upper, transpose, unitriangular):
    """The solutions of triangular systems, and the matrices again."""
    batch = jnp.broadcast_shapes(self.shape[:-2], A.shape[:-2])
    A, b = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (A, self))
    return lax.linalg.triangular_solve(A, b, left_side=True, lower=not upper, transpose_a=transpose, unit_diagonal=unitriangular), A


def _check_system(name: str, b, A) -> None:
    """What the older solvers refuse.

    Raises:
        RuntimeError: torch's texts.
    """
    if A.dtype != b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {scalar_type(b.dtype)} and A of type {scalar_type(A.dtype)} instead."
        )
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices")
    if A.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b matrix is {b.shape[-2]} by "
            f"{b.shape[-1]}"
        )
    check_broadcast(b.shape[:-2], A.shape[:-2])


@triangular_solve.check
def _(self, A, upper, transpose, unitriangular):
    for letter, x in (("b", self), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {letter} to have at least 2 dimensions, but it has {x.ndim} dimensions instead")
    _check_system("triangular_solve", self, A)
    check_kernel("triangular_solve_cpu", self)


@op("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", forms=_FORMS)
def cholesky_solve(self, input2, upper):
    """The solutions of systems whose matrices are given by their Cholesky factors ``input2``."""
    batch = jnp.broadcast_shapes(self.shape[:-2], input2.shape[:-2])
    b, factor = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (self, input2))
    return _from_factor(factor, b, upper)


@cholesky_solve.check
def _(self, input2, upper):
    for letter, x in (("b", self), ("u", input2)):
        if x.ndim < 2:
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    _check_system("cholesky_solve", self, input2)
    check_kernel("cholesky_solve_cpu", self)


def _from_factor(factor, b, upper: bool):
    first = lax.linalg.triangular_solve(factor, b, left_side=True, lower=not upper, transpose_a=upper, conjugate_a=upper)
    return lax.linalg.triangular_solve(factor, first, left_side=True, lower=not upper, transpose_a=not upper, conjugate_a=not upper)


@cholesky_solve.grad("self")
def _(g, input2, upper):
    return _from_factor(jnp.broadcast_to(input2, g.shape[:-2] + input2.shape[-2:]), g, upper)


@cholesky_solve.grad("input2")
def _(g, input2, result, upper):
    half = multiply(_from_factor(jnp.broadcast_to(input2, g.shape[:-2] + input2.shape[-2:]), g, upper), adjoint(result))
    both = half + adjoint(half)
    return -(multiply(input2, both) if upper else multiply(both, input2))


@op("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", forms=_FORMS)
def cholesky_inverse(self, upper):
    """The inverses of matrices given by their Cholesky factors."""
    return _from_factor(self, jnp.broadcast_to(jnp.eye(self.shape[-1], dtype=self.dtype), self.shape), upper)


@cholesky_inverse.check
def _(self, upper):
    check_matrices("cholesky_inverse", self, square=True)
    check_kernel("cholesky_inverse_out_cpu", self)


@cholesky_inverse.grad("self")
def _(g, self, result, upper):
    both = multiply(result, multiply(g + adjoint(g), result))
    return -(multiply(self, both) if upper else multiply(both, self))


column_major |= {"solve_triangular": (0,), "triangular_solve": (0, 1), "cholesky_solve": (0,), "cholesky_inverse": (0,)}
