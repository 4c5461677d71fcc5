"""Factorizations of matrices (Cholesky, QR, SVD, eigenvalues, LU) and what is computed from them (pinv, rank, least squares).

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
from .linalg import LinAlgError, batch_element, batch_numbers, check_inexact, check_matrices, first_zero, transposed
from .matmul import adjoint, multiply
from .reduce import is_integral, scalar_type

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
    check_inexact("linalg.qr", A)


@op("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", forms=_FORMS)
def qr(self, some):
    """Orthogonal times upper triangular; without ``some`` Q is square."""
    return _qr(self, "reduced" if some else "complete")


@qr.check
def _(self, some):
    check_matrices("linalg.qr", self)
    check_inexact("linalg.qr", self)


# --------------------------------------------------------------------------------------------------------------------- SVD


@op(
    "svd.linalg(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    forms=_FUNCTION,
    namespaces=("linalg",),
)
def linalg_svd(A, full_matrices, driver):
    """Singular vectors and values (descending): ``A = U diag(S) Vh``."""
    return tuple(jnp.linalg.svd(A, full_matrices=full_matrices))


def _reciprocal(x):
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
    skew_u, skew_v = (skew_u - adjoint(skew_u)) * _reciprocal(gap), (skew_v - adjoint(skew_v)) * _reciprocal(gap)
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
def _eigh(x, UPLO: str):
    vectors, values = lax.linalg.eigh(x, lower=UPLO.upper() == "L", symmetrize_input=False)
    return values, vectors


@_eigh.defjvp
def _(UPLO, primals, tangents):
    """As if both triangles were read, which makes gradients symmetric; JAX's own derivative looks at one."""
    values, vectors = _eigh(primals[0], UPLO)
    change = (tangents[0] + adjoint(tangents[0])) / 2
    inner = multiply(adjoint(vectors), multiply(change, vectors))
    gap = values[..., None, :] - values[..., :, None]
    return (values, vectors), (jnp.diagonal(inner, axis1=-2, axis2=-1).real, multiply(vectors, inner * _reciprocal(gap)))


@op('eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)', forms=_FUNCTION, namespaces=("linalg",))
def eigh(self, UPLO):
    """Eigenvalues (ascending) and eigenvectors of symmetric (Hermitian) matrices; only one triangle is read."""
    return _eigh(self, UPLO)


@eigh.grad("self")
def _(g, result0, result1):
    values, vectors = result0, result1
    gap = values[..., None, :] - values[..., :, None]
    off = ~jnp.eye(values.shape[-1], dtype=bool)
    turning = multiply(adjoint(vectors), g[1])
    inner = jnp.where(off, (turning - adjoint(turning)) / 2 * _reciprocal(gap), g[0][..., None].astype(vectors.dtype))
    return multiply(multiply(vectors, inner), adjoint(vectors))


@op('eigvalsh(Tensor self, str UPLO="L") -> Tensor', forms=_FUNCTION, namespaces=("linalg",))
def eigvalsh(self, UPLO):
    """The eigenvalues (ascending) of symmetric (Hermitian) matrices."""
    return _eigh(self, UPLO)[0]


@eigvalsh.grad("self")
def _(g, self, UPLO):
    vectors = _eigh(self, UPLO)[1]
    return multiply(vectors * g[..., None, :].astype(vectors.dtype), adjoint(vectors))


@eigh.check
@eigvalsh.check
def _(self, UPLO):
    check_matrices("linalg.eigh", self, square=True)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if is_integral(self.dtype):
        raise NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{scalar_type(self.dtype)}'")


@jax.custom_jvp
def _eig(x):
    return tuple(jnp.linalg.eig(x))


@_eig.defjvp
def _(primals, tangents):
    """The eigenvectors keep their length; JAX has no derivative of them."""
    values, vectors = _eig(primals[0])
    inner = jnp.linalg.solve(vectors, multiply(tangents[0].astype(vectors.dtype), vectors))
    gap = values[..., None, :] - values[..., :, None]
    moved = multiply(vectors, jnp.where(jnp.eye(values.shape[-1], dtype=bool), 0, inner * _reciprocal(gap)))
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
    inner = jnp.where(off, inner * _reciprocal(gap), g[0][..., None])
    return jnp.linalg.solve(vh, multiply(inner, vh))


@op("eigvals(Tensor self) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def eigvals(self):
    """The eigenvalues of square matrices; complex."""
    return jnp.linalg.eigvals(self)


@eigvals.grad("self")
def _(g, self):
    vh = adjoint(_eig(self)[1])
    return jnp.linalg.solve(vh, g[..., :, None] * vh)


@eig.check
@eigvals.check
def _(self):
    check_matrices("linalg.eig", self, square=True)
    check_inexact("linalg.eig", self)


# ---------------------------------------------------------------------------------------------------------------------- LU


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


@op("lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", forms=_FUNCTION, namespaces=("linalg",))
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


@lu_factor.check
@lu.check
def _(A, pivot):
    check_matrices("linalg.lu_factor", A)
    if not pivot:
        raise NotImplementedError("linalg.lu_factor: pivot=False is not there in JAX; leave pivot at True")


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


@op("lu_solve.torch(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", forms=_FORMS)
def lu_solve(self, LU_data, LU_pivots):
    """The solutions of systems given by their packed factors."""
    return _lu_solve(LU_data, LU_pivots, self, True, False)


@op(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    forms=_FUNCTION,
)
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """P, L and U of packed factors; what is not asked for is empty."""
    permutation, lower, upper = _parts(LU_data, _order_of(LU_pivots, LU_data.shape[-2]))
    empty = jnp.zeros((0,), LU_data.dtype)
    return permutation if unpack_pivots else empty, *((lower, upper) if unpack_data else (empty, empty))


@lu_unpack.data_check(
    RuntimeError, "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"
)
def _(LU_data_meta, LU_pivots, unpack_pivots):
    return (LU_pivots < 1) | (LU_pivots > LU_data_meta.shape[-2]) if unpack_pivots else False


# ------------------------------------------------------------------------------------------- pseudo-inverse, rank, least squares


def _tolerance(values, shape: tuple[int, ...], atol, rtol):
    """The size above which singular values count: the larger of ``atol`` and ``rtol`` times the largest one, with torch's defaults."""
    if rtol is None:
        default = float(jnp.finfo(values.dtype).eps) * max(shape[-2:])
        rtol = default if atol is None else jnp.where(jnp.asarray(atol) > 0, 0.0, default)
    largest = jnp.max(values, axis=-1, keepdims=True, initial=0)
    absolute, relative = (jnp.asarray(0.0 if x is None else x).astype(values.dtype) for x in (atol, rtol))
    absolute, relative = (x[..., None] if x.ndim else x for x in (absolute, relative))
    return jnp.maximum(absolute, relative * largest)


def _pinv(x, atol, rtol, hermitian: bool):
    if x.size == 0:
        return jnp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        values, vectors = _eigh(x, "L")
        kept = jnp.abs(values) > _tolerance(jnp.abs(values), x.shape, atol, rtol)
        return multiply(vectors * jnp.where(kept, _reciprocal(values), 0)[..., None, :].astype(x.dtype), adjoint(vectors))
    u, s, vh = jnp.linalg.svd(x, full_matrices=False)
    inverse = jnp.where(s > _tolerance(s, x.shape, atol, rtol), _reciprocal(s), 0).astype(x.dtype)
    return multiply(adjoint(vh) * inverse[..., None, :], adjoint(u))


def _pinv_gradient(g, self, result):
    """By Golub and Pereyra (SIAM J. Numer. Anal. 10, 1973, equation 4.12), which needs no distinct singular values."""
    p, ph, h = result, adjoint(result), adjoint(g)
    across = multiply(multiply(h, p), ph)
    along = multiply(ph, multiply(p, h))
    return -adjoint(multiply(multiply(p, h), p)) + across - multiply(self, multiply(p, across)) + along - multiply(multiply(along, p), self)


def _declare_by_tolerances(kind: str, suffix: str) -> None:
    """Declare ``pinv`` and ``matrix_rank`` for tolerances of a type: numbers, or tensors with one for each matrix."""
    tolerances = f"{kind}? atol=None, {kind}? rtol=None, bool hermitian=False"

    @op(f"pinv{suffix}(Tensor self, *, {tolerances}) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
    def pinv(self, atol, rtol, hermitian):
        """The pseudo-inverses; singular values up to a tolerance count as 0."""
        return _pinv(self, atol, rtol, hermitian)

    @op(f"pinv.rcond_{kind}(Tensor self, {kind} rcond, bool hermitian=False) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
    def pinv_rcond(self, rcond, hermitian):
        """The pseudo-inverses; singular values up to ``rcond`` times the largest count as 0."""
        return _pinv(self, None, rcond, hermitian)

    @op(f"matrix_rank{suffix}(Tensor input, *, {tolerances}) -> Tensor", forms=_FUNCTION, namespaces=("linalg",), differentiable=False)
    def matrix_rank(input, atol, rtol, hermitian):
        """How many singular values exceed a tolerance."""
        return _rank(input, atol, rtol, hermitian)

    @op(
        f"matrix_rank.tol_{kind}(Tensor input, {kind} tol, bool hermitian=False) -> Tensor",
        forms=_FUNCTION,
        namespaces=("linalg",),
        differentiable=False,
    )
    def matrix_rank_tol(input, tol, hermitian):
        """How many singular values exceed ``tol``."""
        return _rank(input, tol, 0.0, hermitian)

    for declared in (pinv, pinv_rcond):
        declared.grad("self")(_pinv_gradient)
    pinv.check(lambda self, atol, rtol, hermitian: _check_decomposed("linalg.pinv", self, hermitian))
    pinv_rcond.check(lambda self, rcond, hermitian: _check_decomposed("linalg.pinv", self, hermitian))
    matrix_rank.check(lambda input, atol, rtol, hermitian: _check_decomposed("linalg.matrix_rank", input, hermitian))
    matrix_rank_tol.check(lambda input, tol, hermitian: _check_decomposed("linalg.matrix_rank", input, hermitian))


def _check_decomposed(name: str, x, hermitian: bool) -> None:
    check_matrices(name, x, square=hermitian)
    check_inexact(name, x)


def _rank(x, atol, rtol, hermitian: bool):
    sizes = jnp.abs(_eigh(x, "L")[0]) if hermitian else jnp.linalg.svd(x, compute_uv=False)
    return jnp.sum(sizes > _tolerance(sizes, x.shape, atol, rtol), axis=-1, dtype=np.int64)


_declare_by_tolerances("Scalar", "")
_declare_by_tolerances("Tensor", ".tensor")


@op("pinverse(Tensor self, float rcond=1e-15) -> Tensor")
def pinverse(self, rcond):
    """The pseudo-inverses; singular values up to ``rcond`` times the largest count as 0."""
    return _pinv(self, None, rcond, False)


@pinverse.grad("self")
def _(g, self, result):
    return _pinv_gradient(g, self, result)


@pinverse.check
def _(self, rcond):
    _check_decomposed("linalg.pinv", self, False)


_DRIVERS = ("gelsy", "gels", "gelsd", "gelss")


@op(
    "lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    forms=_FUNCTION, namespaces=("linalg",),
)  # fmt: skip
def lstsq(self, b, rcond, driver):
    """The least-squares solutions of smallest norm, by the pseudo-inverse; ``driver`` only says which other results are filled, as in torch."""
    rows, columns = self.shape[-2:]
    vector = b.ndim == self.ndim - 1
    right_side = b[..., None] if vector else b
    solution = multiply(_pinv(self, None, rcond, False), right_side)
    real = jnp.finfo(self.dtype).dtype
    sizes = jnp.linalg.svd(self, compute_uv=False)
    residuals = singular_values = jnp.zeros((0,), real)
    rank = jnp.zeros((0,), np.int64)
    if driver != "gels":
        rank = jnp.sum(sizes > _tolerance(sizes, self.shape, None, rcond), axis=-1, dtype=np.int64)
    if driver in ("gelsd", "gelss"):
        singular_values = sizes
    if rows > columns and driver not in (None, "gelsy"):
        residuals = jnp.sum(jnp.square(jnp.abs(multiply(self, solution) - right_side)), axis=-2)
    return solution[..., 0] if vector else solution, residuals, rank, singular_values


@lstsq.check
def _(self, b, rcond, driver):
    check_matrices("torch.linalg.lstsq", self, argument="input")
    check_inexact("torch.linalg.lstsq", self)
    vector = b.ndim == self.ndim - 1
    if b.shape[-1 if vector else -2] != self.shape[-2]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    if self.dtype != b.dtype:
        raise RuntimeError(
            f"torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype {scalar_type(self.dtype)} and other's "
            f"dtype {scalar_type(b.dtype)}"
        )
    if driver not in (None, *_DRIVERS):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")


column_major |= {
    "cholesky": (0,), "cholesky.linalg": (0,), "cholesky_ex": (0,), "qr": (0, 1), "qr.linalg": (0, 1), "svd": (0,), "svd.linalg": (0, 2),
    "eigh": (1,), "eig": (1,), "lu_factor": (0,), "lu_factor_ex": (0,), "lu_solve": (0,), "lu_solve.torch": (0,), "lstsq": (0,),
}  # fmt: skip
