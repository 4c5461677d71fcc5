"""Powers and exponentials of matrices, condition numbers, Vandermonde matrices, and inverses of tensors taken as matrices."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..core.lazy import LazyModule
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .linalg import check_inexact, check_kernel, check_matrices, first_zero_pivot, matrix_norm_of
from .matmul import multiply
from .reduce import is_integral, widened

jsl = LazyModule("jax.scipy.linalg")  # takes long to import

_FUNCTION = FUNCTION | OUT
_FORMS = FUNCTION | METHOD | OUT


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
    """The exponentials of square matrices, computed in double precision: the scaling and squaring of `jax.scipy` loses half the digits."""
    kind = jnp.complex128 if jnp.iscomplexobj(self) else jnp.float64
    return jsl.expm(self.astype(kind)).astype(self.dtype)


@matrix_exp.check
def _(self):
    check_inexact("linalg.matrix_exp", self)
    check_matrices("linalg.matrix_exp", self, square=True)


@op("vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def vecdot(x, y, dim):
    """The inner products along a dimension, the first factor conjugated."""
    return jnp.sum(widened(x.conj() * y), axis=dim).astype(x.dtype)


@op("vander.linalg(Tensor x, *, int? N=None) -> Tensor", forms=FUNCTION, namespaces=("linalg",))
def vander(x, N):
    """The matrix of the powers 0 to ``N - 1`` of each element."""
    x = jnp.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    kind = np.dtype(np.int64) if is_integral(x.dtype) else x.dtype
    columns = jnp.broadcast_to(x.astype(kind)[..., None], (*x.shape, max(count - 1, 0)))
    return jnp.concatenate([jnp.ones((*x.shape, min(count, 1)), kind), jnp.cumprod(columns, axis=-1)], -1)


@vander.check
def _(x, N):
    if x.dtype == bool:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    if (N if N is not None else x.shape[-1] if x.ndim else 1) <= 1:
        raise RuntimeError("N must be greater than 1.")


@op("tensorinv(Tensor self, int ind=2) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def tensorinv(self, ind):
    """The inverse of a tensor taken as a square matrix of its first ``ind`` dimensions by the others."""
    rows = math.prod(self.shape[:ind])
    return jnp.linalg.inv(self.reshape(rows, -1)).reshape(self.shape[ind:] + self.shape[:ind])


@tensorinv.check
def _(self, ind):
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = math.prod(self.shape[:ind]), math.prod(self.shape[ind:])
    if rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {columns} != {rows}"
        )


@op("tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", forms=_FUNCTION, namespaces=("linalg",))
def tensorsolve(self, other, dims):
    """The tensor ``X`` with ``tensordot(self, X) == other``; ``dims`` are moved to the end of ``self`` first."""
    self = self.transpose(_moved_to_end(self.ndim, dims))
    return jnp.linalg.solve(self.reshape(other.size, -1), other.reshape(-1)).reshape(self.shape[other.ndim :])


def _moved_to_end(ndim: int, dims) -> list[int]:
    moved = [wrap_dim(d, ndim) for d in dims or ()]
    return [d for d in range(ndim) if d not in moved] + moved


@tensorsolve.check
def _(self, other, dims):
    if dims is not None and len({wrap_dim(d, self.ndim) for d in dims}) != len(dims):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(dims)})")
    shape = [self.shape[d] for d in _moved_to_end(self.ndim, dims)]
    rows, columns = other.size, math.prod(shape[other.ndim :])
    if rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got {columns} != "
            f"{rows}"
        )


def _cond(self, p):
    if 0 in self.shape[-2:]:
        return jnp.zeros(self.shape[:-2], self.real.dtype)
    if p in (None, 2, -2):
        values = jnp.linalg.svd(self, compute_uv=False)
        large, small = values[..., 0], values[..., -1]
        return large / small if p != -2 else small / large
    dims = (-2, -1)
    found = matrix_norm_of(self, p, dims, False, None) * matrix_norm_of(jnp.linalg.inv(self), p, dims, False, None)
    return jnp.where(first_zero_pivot(lax.stop_gradient(self)) > 0, jnp.inf, found)


def _check_cond(self, p) -> None:
    if self.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p in (None, 2, -2):
        check_inexact("linalg.svd", self)
        check_kernel("linalg_svd_cpu", self)
        return
    if p not in (1, -1, math.inf, -math.inf, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_matrices(f"linalg.cond(ord={p})", self, square=True)
    check_inexact("linalg.inv", self, low_precision=False)


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


