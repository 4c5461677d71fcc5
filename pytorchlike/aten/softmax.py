"""The normalised exponentials: logsumexp, softmax, log_softmax, softmin."""

from __future__ import annotations

import warnings

import jax.numpy as jnp
from jax import lax

from ..core.dims import wrap_dim, wrap_dims
from ..dispatch.registry import FUNCTION, METHOD, OUT, Promote, composite, op
from .elementwise import rounding_to
from .reduce import one_axis, restore, scalar_type, widened

_FORMS = FUNCTION | METHOD | OUT


def _shifted(x, axes):
    """``x`` less its maximum over axes, and that maximum (0 where it is infinite)."""
    peak = lax.stop_gradient(jnp.max(x.real, axis=axes, keepdims=True, initial=-jnp.inf))
    peak = jnp.where(jnp.isinf(peak), 0, peak)
    return x - peak, peak


@op(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    promote=Promote.INT_TO_FLOAT,
    forms=_FORMS,
    namespaces=("", "special"),
)
def logsumexp(self, dim, keepdim):
    """The logarithm of the sum of exponentials over dimensions, without overflow."""
    axes = wrap_dims(dim, self.ndim)
    shifted, peak = _shifted(widened(self), axes)
    total = jnp.log(jnp.sum(jnp.exp(shifted), axis=axes, keepdims=True)) + peak
    return (total if keepdim else jnp.squeeze(total, axes)).astype(self.dtype)


@logsumexp.grad("self")
def _(g, self, result, dim, keepdim):
    axes = wrap_dims(dim, self.ndim)
    return restore(g, axes, keepdim) * jnp.exp(self - restore(result, axes, keepdim)).conj()


@logsumexp.check
def _(self, dim, keepdim):
    wrap_dims(dim, self.ndim)


def _check_softmax(name: str, self, dim: int, dtype) -> None:
    axis = wrap_dim(dim, self.ndim)
    kind = self.dtype if dtype is None else dtype.numpy
    if not jnp.issubdtype(kind, jnp.floating):
        kernel = "lastdim_kernel_impl" if axis == max(self.ndim, 1) - 1 else "kernel_impl"
        raise NotImplementedError(f"\"{name}_{kernel}\" not implemented for '{scalar_type(kind)}'")


@op("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", namespaces=("", "special"), forms=_FORMS)
def softmax(self, dim, dtype):
    """Exponentials along a dimension, divided by their sum."""
    kind = self.dtype if dtype is None else dtype.numpy
    axes = one_axis(dim, self.ndim)
    wide = widened(self.astype(kind))
    powers = jnp.exp(wide - jnp.max(wide, axis=axes, keepdims=True, initial=-jnp.inf))
    return (powers / jnp.sum(powers, axis=axes, keepdims=True)).astype(kind)


@softmax.grad("self")
def _(g, result, dim):
    axes = one_axis(dim, result.ndim)
    wide, out = widened(g), widened(result)
    return (out * (wide - jnp.sum(wide * out, axis=axes, keepdims=True))).astype(g.dtype)


@softmax.check
def _(self, dim, dtype):
    _check_softmax("softmax", self, dim, dtype)


@op("log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", namespaces=("", "special"), forms=_FORMS)
def log_softmax(self, dim, dtype):
    """The logarithm of `softmax`, computed without taking that of small numbers."""
    kind = self.dtype if dtype is None else dtype.numpy
    axes = one_axis(dim, self.ndim)
    wide = widened(self.astype(kind))
    shifted = wide - jnp.max(wide, axis=axes, keepdims=True, initial=-jnp.inf)
    rounded = rounding_to(kind if axes == (self.ndim - 1,) else None)  # torch keeps the sums of the last dimension in half precision
    return (shifted - rounded(jnp.log(rounded(jnp.sum(jnp.exp(shifted), axis=axes, keepdims=True))))).astype(kind)


@log_softmax.grad("self")
def _(g, result, dim):
    wide = widened(g)
    total = jnp.sum(wide, axis=one_axis(dim, result.ndim), keepdims=True)
    return (wide - jnp.exp(widened(result)) * total).astype(g.dtype)


@log_softmax.check
def _(self, dim, dtype):
    _check_softmax("log_softmax", self, dim, dtype)


def _implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


@composite(
    "softmax.functional(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None) -> Tensor",
    namespaces=("nn.functional",), forms=FUNCTION,
)  # fmt: skip
def softmax_functional(input, dim=None, _stacklevel=3, dtype=None):
    """Exponentials along a dimension, divided by their sum; without ``dim`` the dimension torch guesses, with a warning."""
    return input.softmax(_implicit_dim("softmax", input.dim(), _stacklevel) if dim is None else dim, dtype=dtype)


@composite(
    "log_softmax.functional(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None) -> Tensor",
    namespaces=("nn.functional",), forms=FUNCTION,
)  # fmt: skip
def log_softmax_functional(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax; without ``dim`` the dimension torch guesses, with a warning."""
    return input.log_softmax(_implicit_dim("log_softmax", input.dim(), _stacklevel) if dim is None else dim, dtype=dtype)


@composite(
    "softmin(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None) -> Tensor",
    namespaces=("nn.functional",), forms=FUNCTION,
)  # fmt: skip
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax of the negated input."""
    return (-input).softmax(_implicit_dim("softmin", input.dim(), _stacklevel) if dim is None else dim, dtype=dtype)
