"""Norms of vectors.  Norms of matrices by singular values are in `linalg.py`, norms of differences in `distance.py`."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from ..core.dims import wrap_dim, wrap_dims
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, op
from .reduce import is_complex, is_integral, restore, scalar_type, widened


def sign(x):
    """``x`` divided by its absolute value, 0 at 0 (and at NaN, if real)."""
    if not is_complex(x.dtype):
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    size = jnp.abs(x)
    return jnp.where(size == 0, 0, x / jnp.where(size == 0, 1, size))


def power_norm(x, p, axes, keepdim):
    """The ``p``-norm over axes of an array that is not of half precision; real."""
    if math.isinf(p):
        return _extreme(x, p, axes, keepdim)
    size = jnp.abs(x)
    if p == 0:
        return jnp.sum(x != 0, axis=axes, keepdims=keepdim).astype(size.dtype)
    if p == 1:
        return jnp.sum(size, axis=axes, keepdims=keepdim)
    if p == 2:
        squares = jnp.square(x.real) + jnp.square(x.imag) if is_complex(x.dtype) else jnp.square(x)
        return jnp.sqrt(jnp.sum(squares, axis=axes, keepdims=keepdim))
    return jnp.sum(size**p, axis=axes, keepdims=keepdim) ** (1 / p)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _extreme(x, p, axes, keepdim):
    size = jnp.abs(x)
    if p == math.inf:
        return jnp.max(size, axis=axes, keepdims=keepdim, initial=0)
    return jnp.min(size, axis=axes, keepdims=keepdim, initial=jnp.inf)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def norm_by_rule(x, p, axes, keepdim):
    """`power_norm` for the bodies of other operators: it has torch's conventions also when JAX differentiates it."""
    return power_norm(x, p, axes, keepdim)


@_extreme.defjvp
@norm_by_rule.defjvp
def _by_rule(p, axes, keepdim, primals, tangents):
    """By the rule: JAX's own looks for the elements that equal the result, and the absolute values of complex ones are not rounded alike."""
    value = power_norm(primals[0], p, axes, keepdim)
    slope = power_norm_gradient(jnp.ones_like(value), primals[0], value, p, axes, keepdim)
    return value, jnp.sum((jnp.conj(slope) * tangents[0]).real, axis=axes, keepdims=keepdim)


def quotient(numerator, denominator):
    """The quotient, 0 where the denominator is."""
    return jnp.where(denominator == 0, 0, numerator / jnp.where(denominator == 0, 1, denominator))


def power_norm_gradient(g, x, value, p, axes, keepdim, shared: bool = True):
    """The gradient of `power_norm` in torch's conventions: 0 at the kinks, shared among ties of the maximum norm.

    Zeros are put in after the division, not before: the gradient's own gradient is NaN at a kink, as torch's is.

    Args:
        value: the norm.
        shared: False gives each of several largest elements the whole gradient, as the distances do.
    """
    g, value = restore(g, axes, keepdim), restore(value, axes, keepdim)
    if p == 0:
        return jnp.zeros_like(x)
    if p == 1:
        return sign(x) * g
    if p == 2:
        return g * jnp.where(value == 0, 0, x / value)
    size = jnp.abs(x)
    if math.isinf(p):
        reached = size == value
        if is_complex(x.dtype):  # absolute values are not rounded alike in all loops of a program
            reached = jnp.logical_or(reached, jnp.abs(size - value) <= 4 * jnp.finfo(size.dtype).eps * value)
        reached = jnp.logical_or(reached, jnp.logical_and(jnp.isnan(size), jnp.isnan(value)))
        count = jnp.sum(reached, axis=axes, keepdims=True).astype(g.dtype) if shared else 1
        return jnp.where(reached, sign(x) * (g / count), 0)
    if p < 1:
        return sign(x) * jnp.where(x == 0, 0, size ** (p - 1)) * g * value ** (1 - p)
    share = jnp.where(value == 0, 0, g / value ** (p - 1))
    return (sign(x) * size ** (p - 1) if p < 2 else x * size ** (p - 2)) * share


def vector_norm_of(self, p, dim, keepdim, dtype):
    """The norm in the result's dtype: the real one of ``dtype`` or of the input's."""
    kind = self.dtype if dtype is None else dtype.numpy
    return power_norm(widened(self.astype(kind)), p, wrap_dims(dim, self.ndim), keepdim).astype(jnp.finfo(kind).dtype)


def vector_norm_gradient(g, self, result, p, dim, keepdim):
    """The gradient of `vector_norm_of`."""
    wide = widened(self)
    result = result.astype(jnp.promote_types(result.dtype, wide.real.dtype))
    return power_norm_gradient(widened(g), wide, result, p, wrap_dims(dim, self.ndim), keepdim)


def check_norm_dtypes(name: str, self, dtype) -> None:
    """Refuse integers and a narrowing ``dtype``.

    Raises:
        RuntimeError: torch's text.
    """
    if is_integral(self.dtype):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type(self.dtype)}")
    if dtype is None:
        return
    kind = dtype.numpy
    if is_integral(kind):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {scalar_type(kind)}")
    if is_complex(self.dtype) != is_complex(kind):
        own = "complex" if is_complex(self.dtype) else "real"
        raise RuntimeError(f"{name}: dtype should be {own} for {own} inputs, but got {scalar_type(kind)}")
    if jnp.promote_types(self.dtype, kind) != kind:
        raise RuntimeError(
            f"{name}: the dtype of the input ({scalar_type(self.dtype)}) should be convertible without narrowing to the specified dtype "
            f"({scalar_type(kind)})"
        )


def check_vector_norm(self, p, dim, dtype) -> None:
    """Everything torch's vector norms refuse.

    Raises:
        RuntimeError, IndexError: torch's texts.
    """
    check_norm_dtypes("linalg.vector_norm", self, dtype)
    axes = wrap_dims(dim, self.ndim)
    if self.size == 0 and (p < 0 or p == math.inf):
        word = f"{p:g}"
        if not dim:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {word} norm on an empty tensor because the operation does not have an identity"
            )
        for axis in axes:
            if self.shape[axis] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {word} norm on the dimension {axis}because this dimension is empty and the "
                    "operation does not have an identity"
                )


@op(
    "vector_norm(Tensor x, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    namespaces=("linalg",), forms=FUNCTION | OUT, static=("ord",),
)  # fmt: skip
def vector_norm(x, ord, dim, keepdim, dtype):
    """The norm of the elements over dimensions, as if they were one vector."""
    return vector_norm_of(x, ord, dim, keepdim, dtype)


@vector_norm.no_grad("x")
def _(ord):
    return ord == 0


@vector_norm.grad("x")
def _(g, x, result, ord, dim, keepdim):
    return vector_norm_gradient(g, x, result, ord, dim, keepdim)


@vector_norm.check
def _(x, ord, dim, keepdim, dtype):
    check_vector_norm(x, ord, dim, dtype)


@op(
    "norm.Scalar(Tensor self, Scalar? p, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    forms=FUNCTION | METHOD | OUT, static=("p",),
)  # fmt: skip
def norm_scalar(self, p, dim, keepdim, dtype):
    """The ``p``-norm of the elements over dimensions; ``None`` is 2."""
    return vector_norm_of(self, 2 if p is None else p, dim, keepdim, dtype)


@norm_scalar.no_grad("self")
def _(p):
    return p == 0


@norm_scalar.grad("self")
def _(g, self, result, p, dim, keepdim):
    return vector_norm_gradient(g, self, result, 2 if p is None else p, dim, keepdim)


@norm_scalar.check
def _(self, p, dim, keepdim, dtype):
    check_vector_norm(self, 2 if p is None else p, dim, dtype)


def _limit(norm, maxnorm):
    """What a slice is multiplied with, so that its norm is at most ``maxnorm``."""
    return jnp.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1)


def _other_dims(x, dim: int) -> tuple[int, ...]:
    kept = wrap_dim(dim, x.ndim)
    return tuple(d for d in range(x.ndim) if d != kept)


@op("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", forms=ALL_FORMS, static=("p",))
def renorm(self, p, dim, maxnorm):
    """Each slice at an index of ``dim`` shrunk to a ``p``-norm of ``maxnorm`` if its own is larger."""
    wide = widened(self)
    return (wide * _limit(power_norm(wide, p, _other_dims(self, dim), True), maxnorm.astype(wide.real.dtype))).astype(self.dtype)


@renorm.grad("self")
def _(g, self, p, dim, maxnorm):
    x, g, axes, maxnorm = widened(self), widened(g), _other_dims(self, dim), maxnorm.astype(widened(self).real.dtype)
    norm = power_norm(x, p, axes, True)
    along = jnp.sum((x * g.conj()).real, axis=axes, keepdims=True)
    slope = jnp.where(norm > maxnorm, -maxnorm / (norm + 1e-7) ** 2, 0)
    return jnp.where(norm > maxnorm, g * _limit(norm, maxnorm) + power_norm_gradient(along * slope, x, norm, p, axes, True), g)


@renorm.check
def _(self, p, dim, maxnorm):
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    wrap_dim(dim, self.ndim)
    check_norm_dtypes("linalg.vector_norm", self, None)


@renorm.data_check(RuntimeError, "renorm: expected maxnorm to be >= 0 but got {}")
def _(maxnorm):
    return maxnorm < 0, maxnorm
