"""Matrix norms, determinants, inverses, linear systems and what is built on them; the factorizations are in `decompose.py`.

Half precision has no kernels here, as in torch.  Errors that depend on data (singular matrices) come as data checks.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim, wrap_dims
from ..core.lazy import LazyModule
from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .matmul import adjoint, check_broadcast, multiply
from .reduce import is_complex, is_integral, scalar_type, widened
from .vector_norm import check_norm_dtypes, check_vector_norm, vector_norm_gradient, vector_norm_of

jsl = LazyModule("jax.scipy.linalg")  # takes long to import

_FUNCTION = FUNCTION | OUT
_FORMS = FUNCTION | METHOD | OUT


class LinAlgError(RuntimeError):
    """A matrix that cannot be inverted, solved with or factorized."""


LinAlgError.__module__, LinAlgError.__name__, LinAlgError.__qualname__ = "torch._C", "_LinAlgError", "_LinAlgError"


def check_matrices(name: str, x, square: bool = False, argument: str = "A") -> None:
    """Whether the input is a batch of matrices.

    Raises:
        RuntimeError: torch's text.
    """
    if x.ndim < 2:
        what = "The input tensor A" if argument == "A" else f"The input tensor {argument}"
        raise RuntimeError(f"{name}: {what} must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(f"{name}: {argument} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices")


def check_inexact(name: str, x) -> None:
    """Whether the elements are floating point or complex.

    Raises:
        RuntimeError: torch's text.
    """
    if is_integral(x.dtype):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type(x.dtype)}")


def transposed(x):
    """The matrices transposed, not conjugated."""
    return jnp.swapaxes(x, -2, -1)


# -------------------------------------------------------------------------------------------------------------- matrix norms


def _matrix_norm(self, ord, dim, keepdim, dtype):
    kind = self.dtype if dtype is None else dtype.numpy
    if ord in ("fro", None):
        return vector_norm_of(self, 2, dim, keepdim, dtype)
    axes = [wrap_dim(d, self.ndim) for d in dim]
    x = jnp.moveaxis(widened(self.astype(kind)), axes, (-2, -1))
    if ord in (2, -2, "nuc"):
        values = jnp.linalg.svd(x, compute_uv=False)
        out = jnp.sum(values, axis=-1) if ord == "nuc" else (jnp.max if ord == 2 else jnp.min)(values, axis=-1)
    else:
        sums = jnp.sum(jnp.abs(x), axis=-2 if abs(ord) == 1 else -1)
        out = (jnp.max if ord > 0 else jnp.min)(sums, axis=-1)
    return (jnp.expand_dims(out, sorted(axes)) if keepdim else out).astype(jnp.finfo(kind).dtype)


def _matrix_norm_gradient(g, self, result, ord, dim, keepdim, dtype):
    """The gradient of `_matrix_norm`; the Frobenius norm's is 0 at 0."""
    if ord in ("fro", None):
        return vector_norm_gradient(g, self, result, 2, dim, keepdim)
    return jax.vjp(lambda x: _matrix_norm(x, ord, dim, keepdim, dtype), self)[1](g)[0].conj()


def _check_matrix_norm(self, ord, dim, dtype) -> None:
    check_norm_dtypes("linalg.matrix_norm", self, dtype)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    if self.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    elif abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord:g} not supported.")
    axes = [wrap_dim(d, self.ndim) for d in dim]
    if axes[0] == axes[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")


@op(
    "matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    forms=_FUNCTION, namespaces=("linalg",), static=("ord",),
)  # fmt: skip
def matrix_norm(self, ord, dim, keepdim, dtype):
    """A norm of matrices: 1 and inf by column and row sums, 2 by singular values; negative ones take the smallest."""
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@matrix_norm.check
def _(self, ord, dim, keepdim, dtype):
    _check_matrix_norm(self, ord, dim, dtype)


@op(
    'matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    forms=_FUNCTION, namespaces=("linalg",),
)  # fmt: skip
def matrix_norm_named(self, ord, dim, keepdim, dtype):
    """The Frobenius (``fro``) or nuclear (``nuc``) norm of matrices."""
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@matrix_norm_named.grad("self")
def _(g, self, result, ord, dim, keepdim, dtype):
    return _matrix_norm_gradient(g, self, result, ord, dim, keepdim, dtype)


@matrix_norm_named.check
def _(self, ord, dim, keepdim, dtype):
    _check_matrix_norm(self, ord, dim, dtype)


def _is_vector_norm(self, ord, dim) -> bool:
    return ord is None or (len(dim) == 1 if dim is not None else self.ndim == 1)


@op(
    "norm.linalg(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    forms=_FUNCTION, namespaces=("linalg",), static=("ord",),
)  # fmt: skip
def linalg_norm(self, ord, dim, keepdim, dtype):
    """The vector norm over one dimension or all, or the matrix norm over two."""
    if _is_vector_norm(self, ord, dim):
        return vector_norm_of(self, 2 if ord is None else ord, dim, keepdim, dtype)
    return _matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)


@linalg_norm.no_grad("self")
def _(self, ord, dim):
    return ord == 0 and _is_vector_norm(self, ord, dim)


@linalg_norm.grad("self")
def _(g, self, result, ord, dim, keepdim, dtype):
    if _is_vector_norm(self, ord, dim):
        return vector_norm_gradient(g, self, result, 2 if ord is None else ord, dim, keepdim)
    return _matrix_norm_gradient(g, self, result, ord, (0, 1) if dim is None else dim, keepdim, dtype)


@linalg_norm.check
def _(self, ord, dim, keepdim, dtype):
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and self.ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D.")
    if _is_vector_norm(self, ord, dim):
        check_vector_norm(self, 2 if ord is None else ord, dim, dtype)
    else:
        _check_matrix_norm(self, ord, (0, 1) if dim is None else dim, dtype)


@op(
    "norm.linalg_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    forms=_FUNCTION, namespaces=("linalg",),
)  # fmt: skip
def linalg_norm_named(self, ord, dim, keepdim, dtype):
    """The Frobenius (``fro``) or nuclear (``nuc``) norm over two dimensions."""
    return _matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)


@linalg_norm_named.grad("self")
def _(g, self, result, ord, dim, keepdim, dtype):
    return _matrix_norm_gradient(g, self, result, ord, (0, 1) if dim is None else dim, keepdim, dtype)


@linalg_norm_named.check
def _(self, ord, dim, keepdim, dtype):
    if dim is None and self.ndim != 2:
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D.")
    _check_matrix_norm(self, ord, (0, 1) if dim is None else dim, dtype)


@op('norm(Tensor self, str p="fro", int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor', forms=_FORMS)
def norm(self, p, dim, keepdim, dtype):
    """The Frobenius norm over dimensions (of all elements unless told), or the nuclear norm of matrices.  Grad: 0 at 0."""
    if p == "fro":
        return vector_norm_of(self, 2, dim, keepdim, dtype)
    return _matrix_norm(self, p, tuple(range(self.ndim)) if dim is None else dim, keepdim, dtype)


@norm.grad("self")
def _(g, self, result, p, dim, keepdim, dtype):
    return _matrix_norm_gradient(g, self, result, p, tuple(range(self.ndim)) if dim is None else dim, keepdim, dtype)


@norm.check
def _(self, p, dim, keepdim, dtype):
    if p == "fro" and (dim is None or len(dim) < 2):
        check_vector_norm(self, 2, dim, dtype)
    else:
        _check_matrix_norm(self, p, tuple(range(self.ndim)) if dim is None else dim, dtype)


# ------------------------------------------------------------------------------------------------------------- determinants


@op("det(Tensor self) -> Tensor", forms=_FORMS, namespaces=("", "linalg"))
def det(self):
    """The determinants of square matrices."""
    return jnp.linalg.det(self)


@det.grad("self")
def _(g, self):
    if self.shape[-1] == 0:
        return jnp.zeros_like(self)
    gradient = jnp.conj(jax.vjp(jnp.linalg.det, self)[1](jnp.conj(g))[0])
    # torch solves with det * I on the right: exactly zero where a pivot is; the gradient's own gradient is that of the cofactors
    pivots = jnp.diagonal(lax.linalg.lu(lax.stop_gradient(self))[0], axis1=-2, axis2=-1)
    return jnp.where((pivots == 0).any(-1)[..., None, None], gradient - lax.stop_gradient(gradient), gradient)


@op("logdet(Tensor self) -> Tensor")
def logdet(self):
    """The logarithms of determinants; NaN where one is negative, -inf where it is 0."""
    sign, size = _slogdet(self)
    return jnp.log(sign) + size if is_complex(self.dtype) else jnp.where(sign < 0, jnp.nan, size)


def _slogdet(x):
    if x.shape[-1] == 0:
        return jnp.ones(x.shape[:-2], x.dtype), jnp.zeros(x.shape[:-2], jnp.finfo(x.dtype).dtype)
    return tuple(jnp.linalg.slogdet(x))


@op("slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", forms=_FORMS, namespaces=("", "linalg"))
def slogdet(self):
    """The signs of determinants and the logarithms of their absolute values."""
    return _slogdet(self)


@slogdet.grad("self")
def _(g, self, result0):
    inverse = adjoint(jnp.linalg.inv(self))
    if not is_complex(self.dtype):
        return g[1][..., None, None] * inverse
    return (g[1] - 1j * (g[0].conj() * result0).imag)[..., None, None] * inverse


@logdet.grad("self")
def _(g, self):
    return g[..., None, None] * adjoint(jnp.linalg.inv(self))


@det.check
@logdet.check
@slogdet.check
def _(self):
    check_matrices("linalg.det", self, square=True)
    check_inexact("linalg.det", self)


# ------------------------------------------------------------------------------------------------------ inverses and systems


def batch_element(number: int) -> str:
    """What torch's texts say of the matrix that failed, given its number in the batch; nothing for a single matrix (-1)."""
    return "" if number < 0 else f"(Batch element {number}): "


def batch_numbers(shape):
    """The numbers for `batch_element` of a batch of matrices of this shape."""
    return np.arange(math.prod(shape[:-2])).reshape(shape[:-2]) if len(shape) > 2 else np.array(-1)


def singular(x):
    """What data checks return for square matrices in which an elimination meets a zero pivot: which, their numbers, the pivots'."""
    pivot = _first_zero_pivot(x)
    return pivot > 0, batch_numbers(x.shape), pivot


def first_zero(packed):
    """The number, from 1, of the first pivot that is zero in packed LU factors; 0 where there is none."""
    zero = jnp.diagonal(packed, axis1=-2, axis2=-1) == 0
    if zero.shape[-1] == 0:
        return jnp.zeros(zero.shape[:-1], np.int32)
    return jnp.where(jnp.any(zero, axis=-1), jnp.argmax(zero, axis=-1) + 1, 0).astype(np.int32)


def _first_zero_pivot(x):
    return first_zero(lax.linalg.lu(x)[0])


@op("inv(Tensor A) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def inv(A):
    """The inverses of square matrices."""
    return jnp.linalg.inv(A)


@op("inverse(Tensor self) -> Tensor", forms=_FORMS)
def inverse(self):
    """The inverses of square matrices."""
    return jnp.linalg.inv(self)


@inv.grad("A")
@inverse.grad("self")
def _(g, result):
    turned = adjoint(result)
    return -multiply(turned, multiply(g, turned))


def _check_inv(x) -> None:
    check_matrices("linalg.inv", x, square=True)
    check_inexact("linalg.inv", x)


def _not_invertible(batch, pivot):
    return (
        f"linalg.inv: {batch_element(batch)}The diagonal element {pivot} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


@inv.check
def _(A):
    _check_inv(A)


@inverse.check
def _(self):
    _check_inv(self)


@inv.data_check(LinAlgError, _not_invertible, at_once=True)
def _(A):
    return singular(A)


@inverse.data_check(LinAlgError, _not_invertible, at_once=True)
def _(self):
    return singular(self)


@op("inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", forms=_FUNCTION, namespaces=("linalg",))
def inv_ex(A, check_errors):
    """The inverses, and the number of the pivot that is zero (0: none)."""
    return jnp.linalg.inv(A), _first_zero_pivot(A)


@inv_ex.grad("A")
def _(g, result0):
    turned = adjoint(result0)
    return -multiply(turned, multiply(g[0], turned))


@inv_ex.check
def _(A, check_errors):
    _check_inv(A)


def _is_vector_side(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> bool:
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and b_shape == a_shape[:-1])


def _solve(A, B, left: bool):
    vector = _is_vector_side(A.shape, B.shape)
    right_side = B[..., None] if vector else B
    if not left and not vector:
        return transposed(_solve(transposed(A), transposed(right_side), True))
    batch = jnp.broadcast_shapes(A.shape[:-2], right_side.shape[:-2])
    A = jnp.broadcast_to(A, batch + A.shape[-2:])
    right_side = jnp.broadcast_to(right_side, batch + right_side.shape[-2:])
    out = jnp.linalg.solve(A, right_side)
    return out[..., 0] if vector else out


@op("solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def solve(A, B, left):
    """The solutions of ``A X = B`` (or ``X A = B``); ``B`` may be a batch of vectors."""
    return _solve(A, B, left)


@solve.check
def _(A, B, left):
    check_matrices("linalg.solve", A, square=True)
    check_inexact("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {scalar_type(A.dtype)} and B of type "
            f"{scalar_type(B.dtype)} instead"
        )
    vector = _is_vector_side(A.shape, B.shape)
    shape = (*B.shape, 1) if vector else B.shape
    if A.shape[-1] != shape[-2 if left or vector else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} ({A.shape[-2]}x{A.shape[-1]} and {shape[-2]}x{shape[-1]})"
        )
    check_broadcast(A.shape[:-2], shape[:-2])


@solve.data_check(
    LinAlgError, lambda batch: f"torch.linalg.solve: {batch_element(batch)}The solver failed because the input matrix is singular.", at_once=True
)
def _(A):
    return singular(A)[:2]


@op(
    "solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    forms=_FUNCTION,
    namespaces=("linalg",),
)
def solve_ex(A, B, left, check_errors):
    """The solutions, and the number of the pivot that is zero (0: none)."""
    return _solve(A, B, left), _first_zero_pivot(A)


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
    if self.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type {scalar_type(self.dtype)} and B of type "
            f"{scalar_type(B.dtype)} instead"
        )
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


@op("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", forms=_FORMS)
def cholesky_solve(self, input2, upper):
    """The solutions of systems whose matrices are given by their Cholesky factors ``input2``."""
    batch = jnp.broadcast_shapes(self.shape[:-2], input2.shape[:-2])
    b, factor = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (self, input2))
    return _from_factor(factor, b, upper)


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


@cholesky_inverse.grad("self")
def _(g, self, result, upper):
    both = multiply(result, multiply(g + adjoint(g), result))
    return -(multiply(self, both) if upper else multiply(both, self))


# ------------------------------------------------------------------------------------------------------ powers and the like


@op("matrix_power(Tensor self, int n) -> Tensor", forms=_FORMS, namespaces=("", "linalg"))
def matrix_power(self, n):
    """The ``n``-th powers of square matrices; negative ones are powers of the inverse."""
    base = jnp.linalg.inv(self) if n < 0 else self
    n = abs(n)
    out = None
    while n:
        if n & 1:
            out = base if out is None else multiply(out, base)
        n >>= 1
        base = multiply(base, base) if n else base
    return jnp.broadcast_to(jnp.eye(self.shape[-1], dtype=self.dtype), self.shape) if out is None else out


@matrix_power.check
def _(self, n):
    check_matrices("linalg.matrix_power", self, square=True)


@op("matrix_exp(Tensor self) -> Tensor", namespaces=("", "linalg"))
def matrix_exp(self):
    """The exponentials of square matrices."""
    return jsl.expm(self)


@matrix_exp.check
def _(self):
    check_matrices("linalg.matrix_exp", self, square=True)


@op("vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def vecdot(x, y, dim):
    """The inner products along a dimension, the first factor conjugated."""
    return jnp.sum(widened(x.conj() * y), axis=dim).astype(x.dtype)


@op("vander.linalg(Tensor x, *, int? N=None) -> Tensor", forms=FUNCTION, namespaces=("linalg",))
def vander(x, N):
    """The matrix of the powers 0 to ``N - 1`` of each element."""
    count = x.shape[-1] if N is None else N
    kind = np.dtype(np.int64) if is_integral(x.dtype) else x.dtype
    columns = jnp.broadcast_to(x.astype(kind)[..., None], (*x.shape, max(count - 1, 0)))
    return jnp.concatenate([jnp.ones((*x.shape, min(count, 1)), kind), jnp.cumprod(columns, axis=-1)], -1)


@op("tensorinv(Tensor self, int ind=2) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def tensorinv(self, ind):
    """The inverse of a tensor taken as a square matrix of its first ``ind`` dimensions by the others."""
    rows = math.prod(self.shape[:ind])
    return jnp.linalg.inv(self.reshape(rows, -1)).reshape(self.shape[ind:] + self.shape[:ind])


@op("tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def tensorsolve(self, other, dims):
    """The tensor ``X`` with ``tensordot(self, X) == other``; ``dims`` are moved to the end of ``self`` first."""
    if dims:
        moved = wrap_dims(dims, self.ndim)
        self = self.transpose([d for d in range(self.ndim) if d not in moved] + list(moved))
    return jnp.linalg.solve(self.reshape(other.size, -1), other.reshape(-1)).reshape(self.shape[other.ndim :])


def _cond(self, p):
    if p in (None, 2, -2):
        values = jnp.linalg.svd(self, compute_uv=False)
        large, small = values[..., 0], values[..., -1]
        return large / small if p != -2 else small / large
    dims = (-2, -1)
    return _matrix_norm(self, p, dims, False, None) * _matrix_norm(jnp.linalg.inv(self), p, dims, False, None)


def _check_cond(self, p) -> None:
    check_matrices("linalg.cond" if p in (None, 2, -2) else f"linalg.cond(ord={p})", self, square=p not in (None, 2, -2))
    check_inexact("linalg.cond", self)


@op("cond(Tensor self, Scalar? p=None) -> Tensor", forms=_FUNCTION, namespaces=("linalg",), static=("p",))
def cond(self, p):
    """The condition numbers of matrices, by singular values unless ``p`` names another norm."""
    return _cond(self, p)


@op("cond.p_str(Tensor self, str p) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def cond_named(self, p):
    """The condition numbers of square matrices in the Frobenius or the nuclear norm."""
    return _cond(self, p)


@cond.check
@cond_named.check
def _(self, p):
    _check_cond(self, p)


column_major |= {
    "inv": (0,), "inverse": (0,), "inv_ex": (0,), "solve": (0,), "solve_ex": (0,), "solve_triangular": (0,), "triangular_solve": (0, 1),
    "cholesky_solve": (0,), "cholesky_inverse": (0,),
}  # fmt: skip
