"""Pseudo-inverses and ranks of matrices, by their singular values."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..dispatch.registry import FUNCTION, OUT, op
from .decompose import eigh_of, reciprocal
from .linalg import check_matrices
from .matmul import adjoint, multiply
from .reduce import is_integral, scalar_type

_FUNCTION = FUNCTION | OUT


def tolerance(values, shape: tuple[int, ...], atol, rtol):
    """The size above which singular values count: the larger of ``atol`` and ``rtol`` times the largest one, with torch's defaults."""
    if rtol is None:
        default = float(jnp.finfo(values.dtype).eps) * max(shape[-2:])
        rtol = default if atol is None else jnp.where(jnp.asarray(atol) > 0, 0.0, default)
    largest = jnp.max(values, axis=-1, keepdims=True, initial=0)
    absolute, relative = (jnp.asarray(0.0 if x is None else x).astype(values.dtype) for x in (atol, rtol))
    absolute, relative = (x[..., None] if x.ndim else x for x in (absolute, relative))
    return jnp.maximum(absolute, relative * largest)


@functools.partial(jax.custom_jvp, nondiff_argnums=(3,))
def pseudo_inverse(x, atol, rtol, hermitian: bool):
    """The pseudo-inverses; singular values up to `tolerance` count as 0."""
    if x.size == 0:
        return jnp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        values, vectors = eigh_of(x, "L")
        kept = jnp.abs(values) > tolerance(jnp.abs(values), x.shape, atol, rtol)
        return multiply(vectors * jnp.where(kept, reciprocal(values), 0)[..., None, :].astype(x.dtype), adjoint(vectors))
    u, s, vh = jnp.linalg.svd(x, full_matrices=False)
    inverse = jnp.where(s > tolerance(s, x.shape, atol, rtol), reciprocal(s), 0).astype(x.dtype)
    return multiply(adjoint(vh) * inverse[..., None, :], adjoint(u))


@pseudo_inverse.defjvp
def _(hermitian, primals, tangents):
    """By Golub and Pereyra, too: JAX's own derivative divides by the differences of singular values, however small."""
    x, change = primals[0], tangents[0]
    if hermitian:
        change = (change + adjoint(change)) / 2
    p = pseudo_inverse(*primals, hermitian)
    ph, turned = adjoint(p), adjoint(change)
    left, right = multiply(multiply(p, ph), turned), multiply(turned, multiply(ph, p))
    return p, left + right - multiply(multiply(p, change), p) - multiply(multiply(left, x), p) - multiply(p, multiply(x, right))


def pseudo_inverse_gradient(g, self, result):
    """By Golub and Pereyra (SIAM J. Numer. Anal. 10, 1973, equation 4.12), which needs no distinct singular values."""
    p, ph, h = result, adjoint(result), adjoint(g)
    across = multiply(multiply(h, p), ph)
    along = multiply(ph, multiply(p, h))
    return -adjoint(multiply(multiply(p, h), p)) + across - multiply(self, multiply(p, across)) + along - multiply(multiply(along, p), self)


def _declare_by_tolerances(kind: str, suffix: str) -> None:
    """Declare ``pinv`` and ``matrix_rank`` for tolerances of a type: numbers, or tensors with one for each matrix."""
    tolerances = f"{kind}? atol=None, {kind}? rtol=None, bool hermitian=False"
    rcond, tol = ("", "") if suffix == "float" else (".rcond_tensor", ".tol_tensor")

    @op(f"pinv.atol_rtol_{suffix}(Tensor self, *, {tolerances}) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
    def pinv(self, atol, rtol, hermitian):
        """The pseudo-inverses; singular values up to a tolerance count as 0."""
        return pseudo_inverse(self, atol, rtol, hermitian)

    @op(f"pinv{rcond}(Tensor self, {kind} rcond, bool hermitian=False) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
    def pinv_rcond(self, rcond, hermitian):
        """The pseudo-inverses; singular values up to ``rcond`` times the largest count as 0."""
        return pseudo_inverse(self, None, rcond, hermitian)

    @op(
        f"matrix_rank.atol_rtol_{suffix}(Tensor input, *, {tolerances}) -> Tensor",
        forms=_FUNCTION,
        namespaces=("linalg",),
        differentiable=False,
    )
    def matrix_rank(input, atol, rtol, hermitian):
        """How many singular values exceed a tolerance."""
        return _rank(input, atol, rtol, hermitian)

    @op(
        f"matrix_rank{tol}(Tensor input, {kind} tol, bool hermitian=False) -> Tensor",
        forms=_FUNCTION,
        namespaces=("linalg",),
        differentiable=False,
    )
    def matrix_rank_tol(input, tol, hermitian):
        """How many singular values exceed ``tol``."""
        return _rank(input, tol, 0.0, hermitian)

    for declared in (pinv, pinv_rcond):
        declared.grad("self")(pseudo_inverse_gradient)
    pinv.check(lambda self, atol, rtol, hermitian: _check_pinv(self, hermitian))
    pinv_rcond.check(lambda self, rcond, hermitian: _check_pinv(self, hermitian))
    matrix_rank.check(lambda input, atol, rtol, hermitian: _check_rank(input, hermitian))
    matrix_rank_tol.check(lambda input, tol, hermitian: _check_rank(input, hermitian))


def _check_pinv(x, hermitian: bool) -> None:
    if x.ndim < 2 or is_integral(x.dtype) or x.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({scalar_type(x.dtype)}{{{list(x.shape)}}}): expected a tensor with 2 or more dimensions of float, double, cfloat or "
            "cdouble types"
        )
    if hermitian:
        check_matrices("linalg.eigh", x, square=True)


def _check_rank(x, hermitian: bool) -> None:
    check_matrices("torch.linalg.matrix_rank", x, argument="input")
    if is_integral(x.dtype) or x.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if hermitian:
        check_matrices("linalg.eigh", x, square=True)


def _rank(x, atol, rtol, hermitian: bool):
    sizes = jnp.abs(eigh_of(x, "L")[0]) if hermitian else jnp.linalg.svd(x, compute_uv=False)
    return jnp.sum(sizes > tolerance(sizes, x.shape, atol, rtol), axis=-1, dtype=np.int64)


_declare_by_tolerances("Scalar", "float")
_declare_by_tolerances("Tensor", "tensor")


@op("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
def pinverse(self, rcond):
    """The pseudo-inverses; singular values up to ``rcond`` times the largest count as 0."""
    return pseudo_inverse(self, None, rcond, False)


@pinverse.grad("self")
def _(g, self, result):
    return pseudo_inverse_gradient(g, self, result)


@pinverse.check
def _(self, rcond):
    _check_pinv(self, False)
