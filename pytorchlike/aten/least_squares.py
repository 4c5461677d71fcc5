"""Least-squares solutions of linear systems."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, OUT, op
from .matmul import adjoint, check_broadcast, multiply
from .pseudo_inverse import pseudo_inverse, pseudo_inverse_gradient, tolerance
from .reduce import is_integral, scalar_type

_DRIVERS = ("gelsy", "gels", "gelsd", "gelss")


def _as_matrices(A, b):
    """The right-hand sides as columns."""
    return b[..., None] if b.ndim == A.ndim - 1 else b


@op(
    "lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    forms=FUNCTION | OUT, namespaces=("linalg",), differentiable=(0, 1),
)  # fmt: skip
def lstsq(self, b, rcond, driver):
    """The least-squares solutions of smallest norm, by the pseudo-inverse; ``driver`` only says which other results are filled, as in torch.

    Limits:  the residuals of matrices whose rank is not full are filled, too; torch leaves them out
    """
    rows, columns = self.shape[-2:]
    right_side = _as_matrices(self, b)
    solution = multiply(pseudo_inverse(self, None, rcond, False), right_side)
    real = jnp.finfo(self.dtype).dtype
    sizes = jnp.linalg.svd(self, compute_uv=False)
    residuals = singular_values = jnp.zeros((0,), real)
    rank = jnp.zeros((0,), np.int64)
    if driver != "gels":
        rank = jnp.sum(sizes > tolerance(sizes, self.shape, None, rcond), axis=-1, dtype=np.int64)
    if driver in ("gelsd", "gelss"):
        singular_values = sizes
    if rows > columns and driver not in (None, "gelsy"):
        residuals = jnp.sum(jnp.square(jnp.abs(multiply(self, solution) - right_side)), axis=-2)
    return solution if right_side is b else solution[..., 0], residuals, rank, singular_values


def _missed(self, right_side, solution, residuals):
    """Twice the gradient of the residuals with respect to what was missed."""
    return 2 * residuals[..., None, :] * (multiply(self, solution) - right_side)


@lstsq.grad("self")
def _(g, self, b, result0):
    right_side = _as_matrices(self, b)
    vector = right_side is not b
    grad, solution = (x[..., None] if vector else x for x in (g[0], result0))
    inverse = pseudo_inverse(self, None, None, False)
    found = pseudo_inverse_gradient(multiply(grad, adjoint(right_side)), self, inverse)
    if g[1].size:
        found = found + multiply(_missed(self, right_side, solution, g[1]), adjoint(solution))
    return found


@lstsq.grad("b")
def _(g, self, b, result0):
    right_side = _as_matrices(self, b)
    vector = right_side is not b
    grad, solution = (x[..., None] if vector else x for x in (g[0], result0))
    found = multiply(adjoint(pseudo_inverse(self, None, None, False)), grad)
    if g[1].size:
        found = found - _missed(self, right_side, solution, g[1])
    return found[..., 0] if vector else found


@lstsq.check
def _(self, b, rcond, driver):
    name = "torch.linalg.lstsq"
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if not 0 <= self.ndim - b.ndim <= 1:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    if self.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {scalar_type(self.dtype)} and other's dtype "
            f"{scalar_type(b.dtype)}"
        )
    vector = b.ndim == self.ndim - 1
    if b.shape[-1 if vector else -2] != self.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2})")
    check_broadcast(self.shape[:-2], b.shape[: -1 if vector else -2])
    if is_integral(self.dtype) or self.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if driver not in (None, *_DRIVERS):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")


column_major["lstsq"] = (0,)
