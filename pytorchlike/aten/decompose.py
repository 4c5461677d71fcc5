"""Factorizations of matrices: Cholesky, QR, singular values, eigenvalues.

Factors are unique only up to signs and phases; which one comes out is the backend's choice, as in torch.  General eigenvalues run on
the CPU only, a limit of JAX.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .linalg import LinAlgError, batch_element, batch_numbers, check_inexact, check_kernel, check_matrices
from .matmul import adjoint, multiply

_FUNCTION = FUNCTION | OUT
_FORMS = FUNCTION | METHOD | OUT


# ---------------------------------------------------------------------------------------------------------------- Cholesky


def _cholesky(x, upper: bool):
    """The factor of the given triangle; the other one is not read.  NaN where the matrix is not positive definite."""
    lower = lax.linalg.cholesky(adjoint(x) if upper else x, symmetrize_input=False)
    return adjoint(lower) if upper else lower


def _cholesky_gradient(g, factor, upper: bool):
    """Symmetrised, as torch spreads it over both triangles (arXiv:1602.07527, equation 10)."""
    lower, g = (adjoint(factor), adjoint(g)) if upper else (factor, g)
    inner = jnp.tril(multiply(adjoint(lower), g))
    diagonal = jnp.eye(lower.shape[-1], dtype=bool)
    inner = (inner + adjoint(jnp.where(diagonal, 0, inner))) / 2  # the diagonal counts half, twice
    first = lax.linalg.triangular_solve(lower, inner, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return lax.linalg.triangular_solve(lower, first, left_side=False, lower=True)


def _not_positive(x):
    return jnp.any(jnp.isnan(jnp.diagonal(lax.linalg.cholesky(x, symmetrize_input=False), axis1=-2, axis2=-1)), axis=-1) & ~jnp.any(
        jnp.isnan(x), axis=(-2, -1)
    )


_INDEFINITE = "The factorization could not be completed because the input is not positive-definite."


def _declare_cholesky(name: str, schema: str, forms, namespaces: tuple[str, ...]) -> None:
    @op(schema, forms=forms, namespaces=namespaces)
    def factor(self, upper):
        return _cholesky(self, upper)

    factor.__doc__ = "The triangular factors of symmetric (Hermitian) positive definite matrices."

    @factor.grad("self")
    def _(g, result, upper):
        return _cholesky_gradient(g, result, upper)

    @factor.check
    def _(self, upper):
        check_matrices(name, self, square=True)
        check_inexact(name, self)
        check_kernel("cholesky_cpu", self)

    @factor.data_check(LinAlgError, lambda batch: f"{name}: {batch_element(batch)}{_INDEFINITE}", at_once=True)
    def _(self, upper):
        return _not_positive(adjoint(self) if upper else self), batch_numbers(self.shape)


_declare_cholesky("cholesky", "cholesky(Tensor self, bool upper=False) -> Tensor", _FORMS, ("",))
_declare_cholesky("linalg.cholesky", "cholesky.linalg(Tensor self, *, bool upper=False) -> Tensor", _FUNCTION, ("linalg",))


@op(
    "cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    forms=_FUNCTION,
    namespaces=("linalg",),
)
def cholesky_ex(self, upper, check_errors):
    """The triangular factors, and 0, or 1 for a matrix that is not positive definite (its factor is NaN)."""
    return _cholesky(self, upper), _not_positive(adjoint(self) if upper else self).astype(np.int32)


@cholesky_ex.grad("self")
def _(g, result0, upper):
    return _cholesky_gradient(g[0], result0, upper)


@cholesky_ex.check
def _(self, upper, check_errors):
    check_matrices("linalg.cholesky_ex", self, square=True)
    check_inexact("linalg.cholesky_ex", self)
    check_kernel("cholesky_cpu", self)


# ---------------------------------------------------------------------------------------------------------------------- QR


def _qr(x, mode: str):
    if mode == "r":
        return jnp.zeros((0,), x.dtype), jnp.linalg.qr(x, mode="r")
    return tuple(jnp.linalg.qr(x, mode=mode))


@op('qr.linalg(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', forms=_FUNCTION, namespaces=("linalg",))
def linalg_qr(A, mode):
    """Orthogonal times upper triangular; ``mode`` is ``reduced``, ``complete`` or ``r`` (then Q is empty)."""
    return _qr(A, mode)


@linalg_qr.check
def _(A, mode):
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrices("linalg.qr", A)
    check_kernel("geqrf_cpu", A)


@op("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", forms=_FORMS)
def qr(self, some):
    """Orthogonal times upper triangular; without ``some`` Q is square."""
    return _qr(self, "reduced" if some else "complete")


@qr.check
def _(self, some):
    check_matrices("linalg.qr", self)
    check_kernel("geqrf_cpu", self)


# --------------------------------------------------------------------------------------------------------------------- SVD


@op(
    "svd.linalg(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    forms=_FUNCTION,
    namespaces=("linalg",),
)
def linalg_svd(A, full_matrices, driver):
    """Singular vectors and values (descending): ``A = U diag(S) Vh``."""
    return tuple(jnp.linalg.svd(A, full_matrices=full_matrices))


def reciprocal(x):
    """The reciprocal, 0 of 0."""
    return jnp.where(x == 0, 0, 1 / jnp.where(x == 0, 1, x))


@linalg_svd.grad("A")
def _(g, result0, result1, result2):
    return _svd_gradient(g[0], g[1], adjoint(g[2]), result0, result1, adjoint(result2))


def _svd_gradient(gu, gs, gv, u, s, v):
    """The gradient by the thin factors; the part of full factors beyond them carries none (torch refuses it)."""
    rank = s.shape[-1]
    gu, gv, u, v = (x[..., :rank] for x in (gu, gv, u, v))
    uh, vh = adjoint(u), adjoint(v)
    off = ~jnp.eye(rank, dtype=bool)
    squares = jnp.square(s)
    gap = jnp.where(off, squares[..., None, :] - squares[..., :, None], 0)
    skew_u, skew_v = multiply(uh, gu), multiply(vh, gv)
    skew_u, skew_v = (skew_u - adjoint(skew_u)) * reciprocal(gap), (skew_v - adjoint(skew_v)) * reciprocal(gap)
    inner = skew_u * s[..., None, :] + s[..., :, None] * skew_v
    inner = jnp.where(off, inner, gs[..., None].astype(inner.dtype))
    if jnp.iscomplexobj(u):  # the phase that u and v share
        phase = 1j * jnp.diagonal(multiply(uh, gu), axis1=-2, axis2=-1).imag / s
        inner = inner + jnp.where(off, 0, phase[..., None])
    out = multiply(multiply(u, inner), vh)
    rows, columns = u.shape[-2], v.shape[-2]
    if rows > rank:
        outside = gu / s[..., None, :]
        out = out + multiply(outside - multiply(u, multiply(uh, outside)), vh)
    if columns > rank:
        outside = gv / s[..., None, :]
        out = out + multiply(u, adjoint(outside - multiply(v, multiply(vh, outside))))
    return out


def _check_svd(x) -> None:
    check_matrices("linalg.svd", x)
    check_inexact("linalg.svd", x)
    check_kernel("linalg_svd_cpu", x)


@linalg_svd.check
def _(A, full_matrices, driver):
    _check_svd(A)


@op("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", forms=_FORMS)
def svd(self, some, compute_uv):
    """Singular vectors and values (descending): ``self = U diag(S) V^H``; without ``compute_uv`` the vectors are zeros."""
    if not compute_uv:
        rows, columns = self.shape[-2:]
        shapes = (*self.shape[:-2], rows, rows), (*self.shape[:-2], columns, columns)
        return jnp.zeros(shapes[0], self.dtype), jnp.linalg.svd(self, compute_uv=False), jnp.zeros(shapes[1], self.dtype)
    u, s, vh = jnp.linalg.svd(self, full_matrices=not some)
    return u, s, adjoint(vh)


@svd.grad("self")
def _(g, self, result0, result1, result2, compute_uv):
    if not compute_uv:
        u, _, vh = jnp.linalg.svd(self, full_matrices=False)
        return multiply(u * g[1][..., None, :].astype(u.dtype), vh)
    return _svd_gradient(g[0], g[1], g[2], result0, result1, result2)


@svd.check
def _(self, some, compute_uv):
    _check_svd(self)


@op("svdvals(Tensor A, *, str? driver=None) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def svdvals(A, driver):
    """The singular values, descending."""
    return jnp.linalg.svd(A, compute_uv=False)


@svdvals.check
def _(A, driver):
    _check_svd(A)


# -------------------------------------------------------------------------------------------------------------- eigenvalues


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def eigh_of(x, UPLO: str):
    """Eigenvalues (ascending) and eigenvectors of the matrices whose lower or upper triangles are given."""
    vectors, values = lax.linalg.eigh(x, lower=UPLO.upper() == "L", symmetrize_input=False)
    return values, vectors


@eigh_of.defjvp
def _(UPLO, primals, tangents):
    """As if both triangles were read, which makes gradients symmetric; JAX's own derivative looks at one."""
    values, vectors = eigh_of(primals[0], UPLO)
    change = (tangents[0] + adjoint(tangents[0])) / 2
    inner = multiply(adjoint(vectors), multiply(change, vectors))
    gap = values[..., None, :] - values[..., :, None]
    return (values, vectors), (jnp.diagonal(inner, axis1=-2, axis2=-1).real, multiply(vectors, inner * reciprocal(gap)))


@op('eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)', forms=_FUNCTION, namespaces=("linalg",))
def eigh(self, UPLO):
    """Eigenvalues (ascending) and eigenvectors of symmetric (Hermitian) matrices; only one triangle is read."""
    return eigh_of(self, UPLO)


@eigh.grad("self")
def _(g, result0, result1):
    values, vectors = result0, result1
    gap = values[..., None, :] - values[..., :, None]
    off = ~jnp.eye(values.shape[-1], dtype=bool)
    turning = multiply(adjoint(vectors), g[1])
    inner = jnp.where(off, (turning - adjoint(turning)) / 2 * reciprocal(gap), g[0][..., None].astype(vectors.dtype))
    return multiply(multiply(vectors, inner), adjoint(vectors))


@op('eigvalsh(Tensor self, str UPLO="L") -> Tensor', forms=_FUNCTION, namespaces=("linalg",))
def eigvalsh(self, UPLO):
    """The eigenvalues (ascending) of symmetric (Hermitian) matrices."""
    return eigh_of(self, UPLO)[0]


@eigvalsh.grad("self")
def _(g, self, UPLO):
    vectors = eigh_of(self, UPLO)[1]
    return multiply(vectors * g[..., None, :].astype(vectors.dtype), adjoint(vectors))


@eigh.check
@eigvalsh.check
def _(self, UPLO):
    check_matrices("linalg.eigh", self, square=True)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", self)


@jax.custom_jvp
def _eig(x):
    return tuple(jnp.linalg.eig(x))


@_eig.defjvp
def _(primals, tangents):
    """The eigenvectors keep their length; JAX has no derivative of them."""
    values, vectors = _eig(primals[0])
    inner = jnp.linalg.solve(vectors, multiply(tangents[0].astype(vectors.dtype), vectors))
    gap = values[..., None, :] - values[..., :, None]
    moved = multiply(vectors, jnp.where(jnp.eye(values.shape[-1], dtype=bool), 0, inner * reciprocal(gap)))
    stretched = jnp.sum(vectors.conj() * moved, axis=-2, keepdims=True).real
    return (values, vectors), (jnp.diagonal(inner, axis1=-2, axis2=-1), moved - vectors * stretched)


@op("eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", forms=_FUNCTION, namespaces=("linalg",))
def eig(self):
    """Eigenvalues and right eigenvectors of square matrices; complex."""
    return _eig(self)


@eig.grad("self")
def _(g, self_meta, result0, result1):
    values, vectors = result0, result1
    vh = adjoint(vectors)
    inner = multiply(vh, g[1])
    inner = inner - multiply(vh, vectors * jnp.diagonal(inner, axis1=-2, axis2=-1).real[..., None, :].astype(vectors.dtype))
    gap = (values[..., None, :] - values[..., :, None]).conj()
    off = ~jnp.eye(values.shape[-1], dtype=bool)
    inner = jnp.where(off, inner * reciprocal(gap), g[0][..., None])
    return jnp.linalg.solve(vh, multiply(inner, vh))


@op("eigvals(Tensor self) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def eigvals(self):
    """The eigenvalues of square matrices; complex."""
    return jnp.linalg.eigvals(self)


@eigvals.grad("self")
def _(g, self):
    vh = adjoint(_eig(self)[1])
    return jnp.linalg.solve(vh, g[..., :, None] * vh)


def _check_eig(name: str, x) -> None:
    check_matrices(name, x, square=True)
    check_inexact(name, x)
    check_kernel("linalg_eig_out_cpu", x)


@eig.check
def _(self):
    _check_eig("linalg.eig", self)


@eigvals.check
def _(self):
    _check_eig("linalg.eigvals", self)


column_major |= {
    "cholesky": (0,), "cholesky.linalg": (0,), "cholesky_ex": (0,), "qr": (0, 1), "qr.linalg": (0, 1), "svd": (0,), "svd.linalg": (0, 2),
    "eigh": (1,), "eig": (1,),
}  # fmt: skip
