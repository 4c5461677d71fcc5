"""The activations of `torch.nn.functional` that take ``inplace``, and those that are composed of other operators."""

from __future__ import annotations

import functools
import math
import warnings

import jax.numpy as jnp

from ..core.dtype import FLOATING, bool_
from ..core.layouts import MEMORY_FORMATS
from ..dispatch.call import general_inplace
from ..dispatch.registry import FUNCTION, composite, op
from .activation import celu, elu, hardsigmoid, hardswish, hardtanh, leaky_relu, mish, relu, selu, silu
from .activation import threshold as threshold_operator
from .elementwise import beside, not_implemented, rounded_once, supports
from .random import rrelu_noise

_functional = functools.partial(composite, forms=FUNCTION, namespaces=("nn.functional",))


def _run(operator, inplace, input, *arguments):
    """Call an operator, or its in-place form."""
    return general_inplace(operator, (input, *arguments)) if inplace else operator(input, *arguments)


@_functional("relu.functional(Tensor input, bool inplace=False) -> Tensor")
def relu_functional(input, inplace):
    """Negative elements become 0."""
    return _run(relu, inplace, input)


@_functional("relu6(Tensor input, bool inplace=False) -> Tensor")
def relu6(input, inplace):
    """Elements clamped to [0, 6]."""
    return _run(hardtanh, inplace, input, 0.0, 6.0)


@_functional("leaky_relu.functional(Tensor input, float negative_slope=0.01, bool inplace=False) -> Tensor")
def leaky_relu_functional(input, negative_slope, inplace):
    """Negative elements times the slope."""
    return _run(leaky_relu, inplace, input, negative_slope)


@_functional("elu.functional(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor")
def elu_functional(input, alpha, inplace):
    """``alpha * expm1(x)`` for negative elements."""
    return _run(elu, inplace, input, alpha, 1, 1)


@_functional("selu.functional(Tensor input, bool inplace=False) -> Tensor")
def selu_functional(input, inplace):
    """The scaled `elu` that normalises itself."""
    return _run(selu, inplace, input)


@_functional("celu.functional(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor")
def celu_functional(input, alpha, inplace):
    """``alpha * expm1(x / alpha)`` for negative elements."""
    return _run(celu, inplace, input, alpha)


@_functional("hardtanh.functional(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False) -> Tensor")
def hardtanh_functional(input, min_val, max_val, inplace):
    """Elements clamped to the range.

    Raises:
        ValueError: the range is empty.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if min_val < 0 and not input.dtype.is_signed and input.dtype is not bool_:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _run(hardtanh, inplace, input, min_val, max_val)


@_functional("hardsigmoid.functional(Tensor input, bool inplace=False) -> Tensor")
def hardsigmoid_functional(input, inplace):
    """``x / 6 + 1 / 2`` clamped to [0, 1]."""
    return _run(hardsigmoid, inplace, input)


@_functional("hardswish.functional(Tensor input, bool inplace=False) -> Tensor")
def hardswish_functional(input, inplace):
    """The element times its `hardsigmoid`."""
    return _run(hardswish, inplace, input)


@_functional("silu.functional(Tensor input, bool inplace=False) -> Tensor")
def silu_functional(input, inplace):
    """The element times its sigmoid."""
    return _run(silu, inplace, input)


@_functional("mish.functional(Tensor input, bool inplace=False) -> Tensor")
def mish_functional(input, inplace):
    """The element times the tanh of its softplus."""
    return _run(mish, inplace, input)


@_functional("threshold.functional(Tensor input, float threshold, float value, bool inplace=False) -> Tensor")
def threshold_functional(input, threshold, value, inplace):
    """Elements that are not above the threshold become ``value``."""
    return _run(threshold_operator, inplace, input, threshold, value)


@_functional("softsign(Tensor input) -> Tensor")
def softsign(input):
    """``x / (1 + abs(x))``."""
    return input / (input.abs() + 1)


@_functional("tanhshrink(Tensor input) -> Tensor")
def tanhshrink(input):
    """``x - tanh(x)``."""
    return input - input.tanh()


# ---------------------------------------------------------------------- in-place functions of their own
@_functional("relu_(Tensor(a!) input) -> Tensor(a!)")
def relu_(input):
    """`relu` in place."""
    return general_inplace(relu, (input,))


@_functional("leaky_relu_(Tensor(a!) input, float negative_slope=0.01) -> Tensor(a!)")
def leaky_relu_(input, negative_slope):
    """`leaky_relu` in place."""
    return general_inplace(leaky_relu, (input, negative_slope))


@_functional("elu_(Tensor(a!) input, float alpha=1.0) -> Tensor(a!)")
def elu_(input, alpha):
    """`elu` in place."""
    return general_inplace(elu, (input, alpha, 1, 1))


@_functional("selu_(Tensor(a!) input) -> Tensor(a!)")
def selu_(input):
    """`selu` in place."""
    return general_inplace(selu, (input,))


@_functional("celu_(Tensor(a!) input, float alpha=1.0) -> Tensor(a!)")
def celu_(input, alpha):
    """`celu` in place."""
    return general_inplace(celu, (input, alpha))


@_functional("hardtanh_(Tensor(a!) input, float min_val=-1.0, float max_val=1.0) -> Tensor(a!)")
def hardtanh_(input, min_val, max_val):
    """`hardtanh` in place."""
    return general_inplace(hardtanh, (input, min_val, max_val))


@_functional("threshold_(Tensor(a!) input, float threshold, float value) -> Tensor(a!)")
def threshold_(input, threshold, value):
    """`threshold` in place."""
    return general_inplace(threshold_operator, (input, threshold, value))


# ---------------------------------------------------------------------- slopes drawn in training
_BOUNDS = "float lower=0.125, float upper=0.3333333333333333"


@op("rrelu_with_noise(Tensor self, Tensor noise) -> Tensor", forms=FUNCTION, namespaces=())
def rrelu_with_noise(self, noise):
    """Elements times their slopes, which are 1 for positive ones."""
    return self * noise


@rrelu_with_noise.grad("self")
def _(g, result, noise):  # asks for the result: the gradient's own gradient is zero, not missing
    return g * noise


@rrelu_with_noise.check
def _(self, noise):
    if not jnp.issubdtype(self.dtype, jnp.floating) or self.dtype == jnp.float16:
        raise not_implemented("rrelu_with_noise_out_cpu", self)


@op("rrelu_with_noise.eval(Tensor self, Scalar slope) -> Tensor", forms=FUNCTION, namespaces=())
@rounded_once
def rrelu_with_mean(self, slope):
    """`leaky_relu` under the name that torch's node has here."""
    return jnp.where(self > 0, self, self * beside(slope, self))


@rrelu_with_mean.grad("self")
@rounded_once
def _(g, self, slope):
    return jnp.where(self > 0, g, g * beside(slope, g))


supports(rrelu_with_mean, "leaky_relu_cpu", FLOATING, tensors=("self",))


def _randomized(input, lower, upper, training, inplace, generator=None):
    """`leaky_relu` whose slopes are drawn in training, and the middle of the range otherwise."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return _run(rrelu_with_mean, inplace, input, (lower + upper) / 2)
    noise = rrelu_noise(input, lower, upper, generator) if input.is_floating_point() else input
    return _run(rrelu_with_noise, inplace, input, noise)


@composite(f"rrelu(Tensor self, {_BOUNDS}, bool training=False, Generator? generator=None) -> Tensor", forms=FUNCTION)
def rrelu(self, lower, upper, training, generator):
    """Negative elements times a slope, drawn for each one in training."""
    return _randomized(self, lower, upper, training, False, generator)


@composite(
    f"rrelu_(Tensor(a!) self, {_BOUNDS}, bool training=False, Generator? generator=None) -> Tensor(a!)",
    forms=FUNCTION,
    namespaces=("", "nn.functional"),
)
def rrelu_(self, lower, upper, training, generator):
    """`rrelu` in place."""
    return _randomized(self, lower, upper, training, True, generator)


@_functional(f"rrelu.functional(Tensor input, {_BOUNDS}, bool training=False, bool inplace=False) -> Tensor")
def rrelu_functional(input, lower, upper, training, inplace):
    """Negative elements times a slope, drawn for each one in training."""
    return _randomized(input, lower, upper, training, inplace)


@_functional("gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1) -> Tensor")
def gumbel_softmax(logits, tau, hard, eps, dim):
    """A draw from the Gumbel-softmax distribution: softmax of the logits with Gumbel noise.

    Args:
        tau: the temperature.
        hard: return the one-hot tensor of the largest element, with the gradient of the soft one.
        eps: has no effect.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -logits.detach().clone(memory_format=MEMORY_FORMATS["contiguous_format"]).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    return logits.detach().mul(0).scatter_(dim, chosen, 1.0) - soft.detach() + soft
