"""Matrix norms, determinants, inverses, linear systems and what is built on them; the factorizations are in `decompose.py`.

Half precision has no kernels here, as in torch.  Errors that depend on data (singular matrices) come as data checks.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .elementwise import not_implemented
from .matmul import adjoint, check_broadcast, multiply
from .reduce import evenly, is_complex, is_integral, scalar_type, widened
from .vector_norm import check_norm_dtypes, check_vector_norm, sign, vector_norm_gradient, vector_norm_of

_FUNCTION = FUNCTION | OUT
_FORMS = FUNCTION | METHOD | OUT


class LinAlgError(RuntimeError):
    """A matrix that cannot be inverted, solved with or factorized."""


LinAlgError.__module__, LinAlgError.__name__, LinAlgError.__qualname__ = "torch._C", "_LinAlgError", "_LinAlgError"


def check_same_dtype(name: str, A, B) -> None:
    """Whether both sides of an equation have one dtype.

    Raises:
        RuntimeError: torch's text.
    """
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {scalar_type(A.dtype)} and B of type {scalar_type(B.dtype)} instead"
        )


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


def check_inexact(name: str, x, low_precision: bool = True) -> None:
    """Whether the elements are floating point (half precision only if told so) or complex.

    Raises:
        RuntimeError: torch's text.
    """
    if is_integral(x.dtype):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type(x.dtype)}")
    if x.dtype.itemsize == 2 and not low_precision:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {scalar_type(x.dtype)}")


def check_kernel(kernel: str, x) -> None:
    """Whether a kernel of torch's has the dtype: there are none for integers and half precision.

    Raises:
        NotImplementedError: torch's text.
    """
    if is_integral(x.dtype) or x.dtype.itemsize == 2:
        raise not_implemented(kernel, x)


def transposed(x):
    """The matrices transposed, not conjugated."""
    return jnp.swapaxes(x, -2, -1)


# -------------------------------------------------------------------------------------------------------------- matrix norms


def matrix_norm_of(self, ord, dim, keepdim, dtype):
    """The norm in the result's dtype: the real one of ``dtype`` or of the input's."""
    kind = self.dtype if dtype is None else dtype.numpy
    if ord in ("fro", None):
        return vector_norm_of(self, 2, dim, keepdim, dtype)
    axes = [wrap_dim(d, self.ndim) for d in dim]
    x = jnp.moveaxis(widened(self.astype(kind)), axes, (-2, -1))
    if ord in (2, -2, "nuc"):
        values = jnp.linalg.svd(x, compute_uv=False)
        out = jnp.sum(values, axis=-1) if ord == "nuc" else jnp.max(values, axis=-1, initial=0) if ord == 2 else jnp.min(values, axis=-1)
    else:
        out = _extreme(jnp.sum(jnp.abs(x), axis=-2 if abs(ord) == 1 else -1), ord)
    return (jnp.expand_dims(out, sorted(axes)) if keepdim else out).astype(jnp.finfo(kind).dtype)


def _extreme(values, ord):
    """The largest along the last axis (0 of none) for a positive order, the smallest for a negative one."""
    if values.shape[-1]:
        return (jnp.max if ord > 0 else jnp.min)(values, axis=-1)
    return jnp.zeros(values.shape[:-1], values.dtype)


def _matrix_norm_gradient(g, self, result, ord, dim, keepdim, dtype):
    """The gradient of `_matrix_norm`; the Frobenius norm's is 0 at 0, rows or columns of one largest sum share it."""
    if ord in ("fro", None):
        return vector_norm_gradient(g, self, result, 2, dim, keepdim)
    if ord not in (2, -2, "nuc"):
        axes = [wrap_dim(d, self.ndim) for d in dim]
        x = jnp.moveaxis(widened(self), axes, (-2, -1))
        summed = -2 if abs(ord) == 1 else -1
        sums = jnp.sum(jnp.abs(x), axis=summed)
        g = widened(jnp.squeeze(g, tuple(axes)) if keepdim else g)
        share = evenly(g, sums, _extreme(sums, ord), (sums.ndim - 1,), False)
        return jnp.moveaxis(sign(x) * jnp.expand_dims(share, summed), (-2, -1), axes)
    return jax.vjp(lambda x: matrix_norm_of(x, ord, dim, keepdim, dtype), self)[1](g)[0].conj()


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
    if not isinstance(ord, str) and ord < 0:
        sizes = self.shape[axes[0]], self.shape[axes[1]]
        if (min(sizes) if ord == -2 else sizes[1] if ord == -1 else sizes[0]) == 0:
            raise IndexError(f"amin(): Expected reduction dim {-1 if ord == -2 else 0} to have non-zero size.")


@op(
    "matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    forms=_FUNCTION, namespaces=("linalg",), static=("ord",),
)  # fmt: skip
def matrix_norm(self, ord, dim, keepdim, dtype):
    """A norm of matrices: 1 and inf by column and row sums, 2 by singular values; negative ones take the smallest."""
    return matrix_norm_of(self, ord, dim, keepdim, dtype)


@matrix_norm.grad("self")
def _(g, self, ord, dim, keepdim, dtype):
    return _matrix_norm_gradient(g, self, None, ord, dim, keepdim, dtype)


@matrix_norm.check
def _(self, ord, dim, keepdim, dtype):
    _check_matrix_norm(self, ord, dim, dtype)


@op(
    'matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    forms=_FUNCTION, namespaces=("linalg",),
)  # fmt: skip
def matrix_norm_named(self, ord, dim, keepdim, dtype):
    """The Frobenius (``fro``) or nuclear (``nuc``) norm of matrices."""
    return matrix_norm_of(self, ord, dim, keepdim, dtype)


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
    return matrix_norm_of(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)


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
    "norm.linalg_ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    forms=_FUNCTION, namespaces=("linalg",),
)  # fmt: skip
def linalg_norm_named(self, ord, dim, keepdim, dtype):
    """The Frobenius (``fro``) or nuclear (``nuc``) norm over two dimensions."""
    return matrix_norm_of(self, ord, (0, 1) if dim is None else dim, keepdim, dtype)


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
    return matrix_norm_of(self, p, tuple(range(self.ndim)) if dim is None else dim, keepdim, dtype)


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
def _(self):
    check_matrices("linalg.det", self, square=True)
    check_inexact("linalg.det", self)
    check_kernel("lu_cpu", self)


@logdet.check
def _(self):
    check_matrices("logdet", self, square=True)
    check_inexact("logdet", self, low_precision=False)


@slogdet.check
def _(self):
    check_matrices("linalg.slogdet", self, square=True)
    check_inexact("linalg.slogdet", self, low_precision=False)


# ------------------------------------------------------------------------------------------------------ inverses and systems


def batch_element(number: int) -> str:
    """What torch's texts say of the matrix that failed, given its number in the batch; nothing for a single matrix (-1)."""
    return "" if number < 0 else f"(Batch element {number}): "


def batch_numbers(shape):
    """The numbers for `batch_element` of a batch of matrices of this shape."""
    return np.arange(math.prod(shape[:-2])).reshape(shape[:-2]) if len(shape) > 2 else np.array(-1)


def singular(x):
    """What data checks return for square matrices in which an elimination meets a zero pivot: which, their numbers, the pivots'."""
    pivot = first_zero_pivot(x)
    return pivot > 0, batch_numbers(x.shape), pivot


def first_zero(packed):
    """The number, from 1, of the first pivot that is zero in packed LU factors; 0 where there is none."""
    zero = jnp.diagonal(packed, axis1=-2, axis2=-1) == 0
    if zero.shape[-1] == 0:
        return jnp.zeros(zero.shape[:-1], np.int32)
    return jnp.where(jnp.any(zero, axis=-1), jnp.argmax(zero, axis=-1) + 1, 0).astype(np.int32)


def first_zero_pivot(x):
    """The number, from 1, of the first zero pivot that an elimination meets; 0 where there is none."""
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
    check_inexact("linalg.inv", x, low_precision=False)


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
    return jnp.linalg.inv(A), first_zero_pivot(A)


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
    check_same_dtype("linalg.solve", A, B)
    vector = _is_vector_side(A.shape, B.shape)
    shape = (*B.shape, 1) if vector else B.shape
    if A.shape[-1] != shape[-2 if left or vector else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} ({A.shape[-2]}x{A.shape[-1]} and {shape[-2]}x{shape[-1]})"
        )
    check_kernel("lu_cpu", A)
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
    return _solve(A, B, left), first_zero_pivot(A)


column_major |= {"inv": (0,), "inverse": (0,), "inv_ex": (0,), "solve": (0,), "solve_ex": (0,)}
