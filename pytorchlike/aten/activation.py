"""Activation functions: the operators behind `torch.nn.functional`, and its functions that take ``inplace``."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

from ..core.dims import wrap_dim
from ..core.dtype import from_numpy
from ..core.promotion import scalar_type_name
from ..dispatch.registry import FUNCTION, INPLACE, METHOD, OUT, Promote, op
from .elementwise import BOOL, COMPLEX, FLOATING, INTEGRAL, beside, category, rounded_once, supports

#: A function of `nn.functional` without arguments beyond its schema's.
_functional = functools.partial(op, forms=FUNCTION, namespaces=("nn.functional",))
#: An operator that is public only through a function with ``inplace`` (functional_activation.py).
_behind = functools.partial(op, forms=FUNCTION, namespaces=())


# ---------------------------------------------------------------------- rectifiers
@op("relu(Tensor self) -> Tensor", promote=Promote.DEFAULT, forms=FUNCTION | METHOD | INPLACE)
def relu(self):
    """Negative elements become 0; NaN stays.  Grad: 0 at zero."""
    return jnp.maximum(self, 0)


@relu.grad("self")
def _(g, result):
    return jnp.where(result <= 0, 0, g)


@relu.check
def _(self):
    if category(self) == BOOL:
        raise RuntimeError("Boolean inputs not supported for relu")
    _refuse_complex(self)


def _refuse_complex(self):
    if category(self) == COMPLEX:
        raise NotImplementedError("clamp is not supported for complex types")


@op("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", forms=FUNCTION | INPLACE | OUT)
def threshold(self, threshold, value):
    """Elements that are not above the threshold become ``value``; NaN stays."""
    return jnp.where(self <= beside(threshold, self), beside(value, self), self)


@threshold.grad("self")
def _(g, self, threshold):
    return jnp.where(self <= beside(threshold, self), 0, g)


@_behind("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor")
def hardtanh(self, min_val, max_val):
    """Elements clamped to the range.  Grad: 0 at both ends."""
    return jnp.minimum(jnp.maximum(self, beside(min_val, self)), beside(max_val, self))


@hardtanh.grad("self")
def _(g, self, min_val, max_val):
    return jnp.where((self <= beside(min_val, self)) | (self >= beside(max_val, self)), 0, g)


@hardtanh.check
def _(self, min_val, max_val):
    if category(self) == BOOL:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    _refuse_complex(self)


@_behind("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
@rounded_once
def leaky_relu(self, negative_slope):
    """Negative elements times the slope.  Grad: the slope at zero."""
    return jnp.where(self > 0, self, self * beside(negative_slope, self))


@leaky_relu.grad("self")
@rounded_once
def _(g, self, negative_slope):
    return jnp.where(self > 0, g, g * beside(negative_slope, g))


@op("prelu(Tensor self, Tensor weight) -> Tensor", namespaces=("", "nn.functional"))
def prelu(self, weight):
    """`leaky_relu` with a slope that is learned: one, or one for each channel (dimension 1)."""
    return jnp.where(self > 0, self, _along_channels(weight, self) * self)


def _along_channels(weight, array):
    return weight.reshape((1, -1) + (1,) * (array.ndim - 2)) if array.ndim >= 2 else weight.reshape(-1 if array.ndim else ())


@prelu.grad("self")
@rounded_once
def _(g, self, weight):
    return jnp.where(self > 0, g, _along_channels(weight, self) * g)


@prelu.grad("weight")
@rounded_once
def _(g, self, weight_meta):
    share = jnp.where(self > 0, 0, self * g)
    channels = math.prod(weight_meta.shape) > 1
    return share.sum([d for d in range(share.ndim) if not (channels and d == 1)]).reshape(weight_meta.shape)


@prelu.check
def _(self, weight):
    if self.dtype != weight.dtype:
        names = [scalar_type_name(from_numpy(t.dtype)) for t in (self, weight)]
        raise RuntimeError(f"prelu: Type promoting not supported. Got {names[0]} and {names[1]}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    count = math.prod(weight.shape)
    if count != 1:
        if self.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size = {channels}."
            )


# ---------------------------------------------------------------------- exponential units
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def _elu(x, alpha, scale, input_scale):
    negative = jnp.where(x <= 0, x, 0) * beside(input_scale, x)
    return jnp.where(x <= 0, jnp.expm1(negative) * (beside(alpha, x) * beside(scale, x)), x * beside(scale, x))


def _elu_gradient(g, x, alpha, scale, input_scale):
    negative = jnp.where(x < 0, x, 0) * beside(input_scale, x)  # at 0 this branch has the value, but no second derivative
    slope = beside(input_scale, x) * beside(alpha, x) * beside(scale, x)
    return jnp.where(x <= 0, g * slope * jnp.exp(negative), g * beside(scale, x))


@_behind("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")
@rounded_once
def elu(self, alpha, scale, input_scale):
    """``alpha * expm1(x)`` for negative elements."""
    return _elu(self, alpha, scale, input_scale)


@elu.grad("self")
@rounded_once
def _(g, self, alpha, scale, input_scale):
    return _elu_gradient(g, self, alpha, scale, input_scale)


@op("selu(Tensor self) -> Tensor", forms=FUNCTION | INPLACE)
@rounded_once
def selu(self):
    """The scaled `elu` that normalises itself (arXiv:1706.02515)."""
    return _elu(self, SELU_ALPHA, SELU_SCALE, 1)


@selu.grad("self")
@rounded_once
def _(g, self):
    return _elu_gradient(g, self, SELU_ALPHA, SELU_SCALE, 1)


@op("celu(Tensor self, Scalar alpha=1.0) -> Tensor", forms=FUNCTION | INPLACE, static=("alpha",))
@rounded_once
def celu(self, alpha):
    """``alpha * expm1(x / alpha)`` for negative elements (arXiv:1704.07483)."""
    return _elu(self, alpha, 1, 1 / alpha)


@celu.grad("self")
@rounded_once
def _(g, self, alpha):
    return _elu_gradient(g, self, alpha, 1, 1 / alpha)


@celu.check
def _(self, alpha):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


# ---------------------------------------------------------------------- smooth units
@_functional('gelu(Tensor self, *, str approximate="none") -> Tensor', forms=FUNCTION | OUT)
@rounded_once
def gelu(self, approximate):
    """The element times the normal distribution function at it (arXiv:1606.08415), exact or by tanh."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * (self * self * self))
        return 0.5 * self * (1 + jnp.tanh(inner))
    return self * 0.5 * (1 + jax.lax.erf(self * math.sqrt(0.5)))


@gelu.check
def _(self, approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


@_behind("silu(Tensor self) -> Tensor")
@rounded_once
def silu(self):
    """The element times its sigmoid."""
    return self * jax.nn.sigmoid(self)


@_behind("mish(Tensor self) -> Tensor")
@rounded_once
def mish(self):
    """The element times the tanh of its softplus (arXiv:1908.08681)."""
    return self * jnp.tanh(_log1p_exp(self))


def _log1p_exp(x):
    """``log(1 + exp(x))`` whose derivative is right everywhere: `jnp.maximum` would have halves at zero."""
    return jnp.where(x > 0, x, 0) + jnp.log1p(jnp.exp(jnp.where(x > 0, -x, x)))


@_functional("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", forms=FUNCTION | OUT)
@rounded_once
def softplus(self, beta, threshold):
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` is above the threshold."""
    beta = beside(beta, self)
    scaled = self * beta
    large = scaled > beside(threshold, self)
    return jnp.where(large, self, jnp.log1p(jnp.exp(jnp.where(large, 0, scaled))) / beta)


@_functional("logsigmoid(Tensor self) -> Tensor", forms=FUNCTION | OUT)
@rounded_once
def logsigmoid(self):
    """The logarithm of the sigmoid, without overflow."""
    return -_log1p_exp(-self)


@logsigmoid.grad("self")
@rounded_once
def _(g, self):
    return g * jax.nn.sigmoid(-self)


@_functional("glu(Tensor self, int dim=-1) -> Tensor")
@rounded_once
def glu(self, dim):
    """The first half along a dimension times the sigmoid of the second."""
    first, second = jnp.split(self, 2, wrap_dim(dim, self.ndim))
    return first * jax.nn.sigmoid(second)


@glu.check
def _(self, dim):
    if self.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, self.ndim)
    if self.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}")


# ---------------------------------------------------------------------- piecewise linear and shrinking units
@_behind("hardsigmoid(Tensor self) -> Tensor")
@rounded_once
def hardsigmoid(self):
    """``x / 6 + 1 / 2`` clamped to [0, 1].  Grad: 0 at both ends."""
    return jnp.minimum(jnp.maximum(self + 3, 0), 6) / 6


@hardsigmoid.grad("self")
@rounded_once
def _(g, self):
    return jnp.where((self > -3) & (self < 3), g / 6, 0)


@_behind("hardswish(Tensor self) -> Tensor")
@rounded_once
def hardswish(self):
    """The element times its `hardsigmoid`.  Grad: 0 at -3 and 1 at 3."""
    return self * jnp.minimum(jnp.maximum(self + 3, 0), 6) / 6


@hardswish.grad("self")
@rounded_once
def _(g, self):
    return jnp.where(self <= -3, 0, jnp.where(self < 3, g * (self / 3 + 0.5), g))


@op("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", forms=FUNCTION | METHOD | OUT, namespaces=("", "nn.functional"))
def hardshrink(self, lambd):
    """Elements of a magnitude up to ``lambd`` become 0."""
    return jnp.where(_within(self, lambd), 0, self)


def _within(x, limit):
    limit = beside(limit, x)
    return (x >= -limit) & (x <= limit)


@hardshrink.grad("self")
def _(g, self, lambd):
    return jnp.where(_within(self, lambd), 0, g)


@_functional("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", static=("lambd",), forms=FUNCTION | OUT)
@rounded_once
def softshrink(self, lambd):
    """Elements moved towards 0 by ``lambd``, at most to it."""
    return jnp.where(self > lambd, self - lambd, jnp.where(self < -lambd, self + lambd, self * 0))


@softshrink.grad("self")
@rounded_once
def _(g, self, lambd):
    return jnp.where(_within(self, lambd), 0, g)


_KERNELS: dict[Any, tuple[Any, ...]] = {
    threshold: ("threshold_cpu", INTEGRAL, FLOATING),
    leaky_relu: ("leaky_relu_cpu", FLOATING),
    elu: ("elu_cpu", FLOATING),
    selu: ("elu_cpu", FLOATING),
    celu: ("elu_cpu", FLOATING),
    gelu: ("GeluKernelImpl", FLOATING),
    silu: ("silu_cpu", FLOATING, COMPLEX),
    mish: ("mish_cpu", FLOATING),
    softplus: ("softplus_cpu", FLOATING),
    logsigmoid: ("log_sigmoid_cpu", FLOATING),
    glu: ("glu_cpu", FLOATING),
    hardsigmoid: ("hardsigmoid_cpu", FLOATING),
    hardswish: ("hardswish_cpu", FLOATING),
    hardshrink: ("hardshrink_cpu", FLOATING),
    softshrink: ("softshrink_check", FLOATING),
}


for _operator, _supported in _KERNELS.items():
    supports(_operator, *_supported, tensors=("self",))


@softshrink.check
def _(self, lambd):
    if lambd < 0:
        limit = float(jnp.finfo(self.dtype).max)
        name = scalar_type_name(from_numpy(self.dtype))
        raise RuntimeError(f"lambda must be in range [0, {limit:g}] for input dtype {name}, but found {lambd:g}")
