"""Distances and similarities of vectors: dist, cdist, pdist, pairwise_distance, cosine_similarity."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..dispatch.registry import FUNCTION, Promote, op
from .elementwise import rounding_to
from .matmul import check_broadcast, multiply, product
from .reduce import is_integral, scalar_type, widened
from .vector_norm import power_norm, power_norm_gradient, quotient

_BOTH = ("", "nn.functional")
#: Above this many rows Euclidean distances are computed by a matrix product, as in torch.
_ROWS_WITHOUT_PRODUCT = 25


@op("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", promote=Promote.DEFAULT, promoted=("self", "other"), static=("p",), numbers=())
def dist(self, other, p):
    """The ``p``-norm of the difference of two tensors."""
    return power_norm(widened(self - other), p, None, False).astype(jnp.finfo(self.dtype).dtype)


def _difference_gradient(g, self, other, result, p):
    difference = self - other
    return power_norm_gradient(g, difference, result, p, tuple(range(difference.ndim)), False)


@dist.grad("self")
def _(g, self, other, result, p):
    return _difference_gradient(g, self, other, result, p)


@dist.grad("other")
def _(g, self, other, result, p):
    return -_difference_gradient(g, self, other, result, p)


@dist.check
def _(self, other, p):
    if is_integral(self.dtype):
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {scalar_type(self.dtype)} instead.")
    check_broadcast(self.shape, other.shape)


@op(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-6, bool keepdim=False) -> Tensor",
    promote=Promote.INT_TO_FLOAT, forms=FUNCTION, namespaces=_BOTH,
    numbers=(),
)  # fmt: skip
def pairwise_distance(x1, x2, p, eps, keepdim):
    """The ``p``-norm of ``x1 - x2 + eps`` over the last dimension."""
    return power_norm(_difference(x1, x2, eps), p, (max(x1.ndim, x2.ndim) - 1,), keepdim).astype(jnp.finfo(x1.dtype).dtype)


def _difference(x1, x2, eps: float):
    """``x1 - x2 + eps``, half precision in float32 and rounded at each step."""
    rounded = rounding_to(x1.dtype)
    return rounded(rounded(widened(x1) - widened(x2)) + eps)


def _pairwise_gradient(g, x1, x2, result, p, eps, keepdim):
    difference = _difference(x1, x2, eps).astype(x1.dtype)
    return power_norm_gradient(g, difference, result, p, (difference.ndim - 1,), keepdim)


@pairwise_distance.grad("x1")
def _(g, x1, x2, result, p, eps, keepdim):
    return _pairwise_gradient(g, x1, x2, result, p, eps, keepdim)


@pairwise_distance.grad("x2")
def _(g, x1, x2, result, p, eps, keepdim):
    return -_pairwise_gradient(g, x1, x2, result, p, eps, keepdim)


@pairwise_distance.check
def _(x1, x2, p, eps, keepdim):
    check_broadcast(x1.shape, x2.shape)


@op(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor",
    promote=Promote.DEFAULT, forms=FUNCTION, namespaces=_BOTH,
    numbers=(),
)  # fmt: skip
def cosine_similarity(x1, x2, dim, eps):
    """The product of two vectors, each divided by its norm, or by ``eps`` if that is larger.

    Grad: the lower bound is a value only; below it the norm's own derivative is used, 0 at 0.
    """
    shape = jnp.broadcast_shapes(x1.shape, x2.shape)
    axis = wrap_dim(dim, len(shape))
    rounded = rounding_to(x1.dtype)
    units = [_unit(jnp.broadcast_to(widened(x), shape), axis, eps, rounded) for x in (x1, x2)]
    return jnp.sum(rounded(units[0] * units[1]), axis=axis if shape else None).astype(x1.dtype)


def _unit(x, axis: int, eps: float, rounded):
    squares = jnp.sum(jnp.square(x), axis=axis if x.ndim else None, keepdims=True)
    zero = squares == 0
    length = rounded(jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, squares))))
    return rounded(x / (length + lax.stop_gradient(jnp.maximum(length, eps) - length)))


@cosine_similarity.check
def _(x1, x2, dim, eps):
    if not jnp.issubdtype(x1.dtype, jnp.floating):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {scalar_type(x1.dtype)}")
    wrap_dim(dim, len(check_broadcast(x1.shape, x2.shape)))


def _by_product(x1, x2, p, compute_mode) -> bool:
    if p != 2 or compute_mode == "donot_use_mm_for_euclid_dist":
        return False
    return compute_mode == "use_mm_for_euclid_dist" or max(x1.shape[-2], x2.shape[-2]) > _ROWS_WITHOUT_PRODUCT


@op('cdist(Tensor x1, Tensor x2, float p=2., str? compute_mode="use_mm_for_euclid_dist_if_necessary") -> Tensor', forms=FUNCTION)
def cdist(x1, x2, p, compute_mode):
    """The ``p``-norm distance of each row of ``x1`` to each row of ``x2``, over broadcast batches.

    Euclidean distances of more than 25 rows come from a matrix product unless ``compute_mode`` says otherwise.
    """
    if not _by_product(x1, x2, p, compute_mode):
        return power_norm(widened(x1[..., :, None, :] - x2[..., None, :, :]), p, (-1,), False).astype(x1.dtype)
    a, b = (jnp.sum(jnp.square(widened(x)), axis=-1) for x in (x1, x2))
    squares = a[..., :, None] + b[..., None, :] - 2 * product(x1, jnp.swapaxes(x2, -2, -1))
    return jnp.sqrt(jnp.maximum(squares, 0)).astype(x1.dtype)


def _cdist_gradient(g, x1, x2, result, p, compute_mode):
    """With respect to ``x1``."""
    if _by_product(x1, x2, p, compute_mode):
        weights = quotient(g, result)
        return x1 * jnp.sum(weights, axis=-1, keepdims=True) - multiply(weights, x2)
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    return jnp.sum(power_norm_gradient(g, difference, result, p, (difference.ndim - 1,), False, shared=False), axis=-2)


@cdist.grad("x1")
def _(g, x1, x2, result, p, compute_mode):
    return _cdist_gradient(g, x1, x2, result, p, compute_mode)


@cdist.grad("x2")
def _(g, x1, x2, result, p, compute_mode):
    return _cdist_gradient(jnp.swapaxes(g, -2, -1), x2, x1, jnp.swapaxes(result, -2, -1), p, compute_mode)


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@cdist.check
def _(x1, x2, p, compute_mode):
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    for name, x in (("X1", x1), ("X2", x2)):
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {scalar_type(x.dtype)}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(x1.dtype)} but found {scalar_type(x2.dtype)}")
    check_broadcast(x1.shape[:-2], x2.shape[:-2])


def _pairs(rows):
    first, second = np.triu_indices(rows.shape[0], 1)
    return rows[first] - rows[second]


@op("pdist(Tensor input, float p=2.) -> Tensor", forms=FUNCTION, namespaces=_BOTH)
def pdist(input, p):
    """The ``p``-norm distances of all pairs of different rows, as a vector."""
    return power_norm(widened(_pairs(input)), p, (1,), False).astype(input.dtype)


@pdist.grad("input")
def _(g, input, result, p):
    first, second = np.triu_indices(input.shape[0], 1)
    parts = power_norm_gradient(g, _pairs(input), result, p, (1,), False, shared=False)
    return jnp.zeros_like(input).at[first].add(parts).at[second].add(-parts)


@pdist.check
def _(input, p):
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
