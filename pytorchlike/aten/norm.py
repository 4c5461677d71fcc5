"""Normalisation: batch, layer, group, instance, root mean square, local response, and scaling to unit norm.

Half precision is normalised in float32.  The rules compute mean and deviation again from the saved input: inside one trace XLA merges
that with the forward's own computation.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.size import Size
from ..dispatch.batching import batch_of, is_inside_batch
from ..dispatch.registry import FUNCTION, OUT, composite, op
from ..tensors.mutation import check_writable_memory, write_into
from .elementwise import rounding_to
from .reduce import is_integral, scalar_type, widened

_FUNCTIONAL = ("nn.functional",)
_BOTH = ("", "nn.functional")


# --- the computation ----------------------------------------------------------------------------------------------------------------


def _statistics(x, axes):
    """Mean and biased variance over axes, both kept."""
    mean = jnp.mean(x, axes, keepdims=True)
    return mean, jnp.mean(jnp.square(x - mean), axes, keepdims=True)


def _centred(x, axes, eps: float):
    """``x`` minus its mean over axes, and the reciprocal of its deviation."""
    mean, variance = _statistics(x, axes)
    return x - mean, lax.rsqrt(variance + eps)


def _normalised(x, axes, eps: float):
    """``x`` with mean 0 and variance 1 over axes."""
    centred, scale = _centred(x, axes, eps)
    return centred * scale


def _normalised_gradient(g, x, axes, eps: float, weight=None):
    """The gradient of `_normalised` times a ``weight`` that does not vary along the axes, for the gradient ``g`` of the product.

    Factors that do not vary stay outside the sums: batch norm of 16x64x56x56 forward and backward 7.0 -> 4.7 ms (torch 10.6).
    """
    centred, scale = _centred(x, axes, eps)
    slope = scale * (scale * jnp.mean(g * centred, axes, keepdims=True))
    return (scale if weight is None else scale * weight) * (g - jnp.mean(g, axes, keepdims=True) - centred * slope)


def _channels(parameter, ndim: int):
    """A parameter with one element a channel, shaped so that it broadcasts against (N, C, *)."""
    return widened(parameter).reshape(1, -1, *(1,) * (ndim - 2))


def _scaled(g, weight):
    return widened(g) if weight is None else widened(g) * _channels(weight, g.ndim)


def _channels_or_none(weight, ndim: int):
    return None if weight is None else _channels(weight, ndim)


def _standardised(x, mean, variance, weight, bias, eps: float, dtype):
    """The result of a normalisation by statistics with one element a channel; torch keeps those in the parameters' dtype, half precision too."""
    kind = dtype if weight is None else weight.dtype
    if kind.itemsize > 2:
        return _affine((x - mean) * lax.rsqrt(variance + eps), weight, bias).astype(dtype)
    rounded, count = rounding_to(kind), x.size // max(mean.size, 1)
    if kind == jnp.bfloat16:  # of which torch keeps the sum of squares, then the variance
        variance = rounded(rounded(variance * count) / max(count, 1))
    scale = _affine(rounded(lax.rsqrt(variance + eps)), weight, None)
    return (x * scale + _affine(-rounded(mean) * scale, None, bias)).astype(dtype)


def _affine(x, weight, bias):
    if weight is not None:
        x = x * _channels(weight, x.ndim)
    return x if bias is None else x + _channels(bias, x.ndim)


def _channel_axes(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _running(running, fresh, momentum):
    """The running statistic moved towards a fresh one; without a running one, the fresh one."""
    fresh = fresh.reshape(-1)
    if running is None:
        return fresh
    share = jnp.asarray(momentum, fresh.dtype)
    return ((1 - share) * running.astype(fresh.dtype) + share * fresh).astype(running.dtype)


# --- torch's checks -----------------------------------------------------------------------------------------------------------------


def _check_floating(input, kernel: str) -> None:
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type(input.dtype)}'")


def _check_parameter_dtypes(input, *parameters) -> None:
    """Parameters have the input's dtype, or are all float32 beside an input of half precision."""
    kinds = {p.dtype for p in parameters if p is not None}
    if kinds <= {input.dtype}:
        return
    if any(kind not in (input.dtype, jnp.float32) for kind in kinds):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype.itemsize != 2:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    if len(kinds) > 1:
        raise RuntimeError(f"expected scalar type {scalar_type(input.dtype)} but found Float")


def _check_channels(input, **parameters) -> None:
    for name, parameter in parameters.items():
        if parameter is not None and math.prod(parameter.shape) != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {math.prod(parameter.shape)}")


def _check_not_single(size) -> None:
    """torch's refusal of batch statistics over one value."""
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {Size(size)}")


# --- batch normalisation ------------------------------------------------------------------------------------------------------------


@op(
    "_batch_norm_training(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, Scalar momentum, float eps) "
    "-> (Tensor, Tensor, Tensor)",
    forms=FUNCTION,
    namespaces=(),
)
def batch_norm_training(input, weight, bias, running_mean, running_var, momentum, eps):
    """The batch normalised by its own statistics, and the running statistics moved towards them (the variance unbiased)."""
    axes, x = _channel_axes(input.ndim), widened(input)
    mean, variance = _statistics(x, axes)
    result = _standardised(x, mean, variance, weight, bias, eps, input.dtype)
    count = math.prod(input.shape[a] for a in axes)
    unbiased = variance * (count / max(count - 1, 1))
    return result, _running(running_mean, mean, momentum), _running(running_var, unbiased, momentum)


@batch_norm_training.grad("input")
def _(g, input, weight, eps):
    return _normalised_gradient(widened(g[0]), widened(input), _channel_axes(input.ndim), eps, _channels_or_none(weight, input.ndim))


@batch_norm_training.grad("weight")
def _(g, input, eps):
    axes = _channel_axes(input.ndim)
    centred, scale = _centred(widened(input), axes, eps)
    return jnp.sum(widened(g[0]) * centred, axes) * scale.reshape(-1)


@batch_norm_training.grad("bias")
def _(g):
    return jnp.sum(widened(g[0]), _channel_axes(g[0].ndim))


@batch_norm_training.check
def _(input, weight, bias, running_mean, running_var, momentum, eps):
    if len(input.shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_floating(input, "batch_norm")
    _check_parameter_dtypes(input, weight, bias, running_mean, running_var)


@op(
    "_batch_norm_inference(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float eps) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def batch_norm_inference(input, weight, bias, running_mean, running_var, eps):
    """The batch normalised by running statistics."""
    ndim = input.ndim
    scale = lax.rsqrt(_channels(running_var, ndim) + eps)
    return _affine((widened(input) - _channels(running_mean, ndim)) * scale, weight, bias).astype(input.dtype)


@batch_norm_inference.grad("input")
def _(g, weight, running_var, eps):
    return _scaled(g, weight) * lax.rsqrt(_channels(running_var, g.ndim) + eps)


@batch_norm_inference.grad("weight")
def _(g, input, running_mean, running_var, eps):
    scale = lax.rsqrt(_channels(running_var, g.ndim) + eps)
    return jnp.sum(widened(g) * (widened(input) - _channels(running_mean, g.ndim)) * scale, _channel_axes(g.ndim))


@batch_norm_inference.grad("bias")
def _(g):
    return jnp.sum(widened(g), _channel_axes(g.ndim))


@batch_norm_inference.grad("running_mean", "running_var")
def _(g, running_mean_meta):
    return jnp.zeros(running_mean_meta.shape, g.dtype)  # torch does not differentiate buffers


@batch_norm_inference.check
def _(input, weight, bias, running_mean, running_var, eps):
    if len(input.shape) < 2:
        raise RuntimeError(f"running_mean should contain 0 elements not {math.prod(running_mean.shape)}")
    _check_channels(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    _check_floating(input, "batch_norm")
    _check_parameter_dtypes(input, weight, bias, running_mean, running_var)


@composite(
    "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, "
    "float momentum=0.1, float eps=1e-05) -> Tensor",
    forms=FUNCTION,
    namespaces=_FUNCTIONAL,
)
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Every channel normalised over batch and space, by its own statistics or by running ones.

    In training the running statistics, where given, are moved towards the batch's in place.

    Shape:   ``(N, C, *)`` -> the same
    """
    if input.shape == (0,):  # a batch without elements, which torch lets pass without looking for its channels
        return input.clone()
    if training:
        _check_not_single(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if training:
        return _batch_norm_in_training(input, running_mean, running_var, weight, bias, momentum, eps)
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    return batch_norm_inference(input, weight, bias, running_mean, running_var, eps)


_STATISTICS_OF_A_BATCH = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not batched.\nIf you are "
    "using a module and do not need eval mode, please set `track_running_stats` to be False.If you are using a prebuilt module and do not need eval "
    "mode, please see the functorch website for resources on how to patch your module to work with vmap"
)


def _batch_norm_in_training(input, running_mean, running_var, weight, bias, momentum, eps):
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if batch_of(input) is not None and not all(running is None or is_inside_batch(running) for running in (running_mean, running_var)):
        raise RuntimeError(_STATISTICS_OF_A_BATCH)
    result, mean, variance = batch_norm_training(input, weight, bias, running_mean, running_var, momentum, eps)
    _move(running_mean, mean)
    _move(running_var, variance)
    return result


def _move(running, fresh) -> None:
    """Put the new value of a running statistic in place; it never carries a gradient."""
    if running is not None:
        check_writable_memory(running)
        write_into(running, fresh._content() if fresh.dtype is running.dtype else fresh.detach().to(running.dtype)._content())


@composite(
    "batch_norm.native(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
    "float eps, bool cudnn_enabled) -> Tensor",
    forms=FUNCTION,
)
def batch_norm_native(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """`nn.functional.batch_norm` with the arguments in the order of ``torch.batch_norm``."""
    if training:
        return _batch_norm_in_training(input, running_mean, running_var, weight, bias, momentum, eps)
    return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)


# --- layer normalisation ------------------------------------------------------------------------------------------------------------


def _trailing(ndim: int, normalized_shape) -> tuple[int, ...]:
    return tuple(range(ndim - len(normalized_shape), ndim))


def _leading(ndim: int, normalized_shape) -> tuple[int, ...]:
    return tuple(range(ndim - len(normalized_shape)))


def _check_normalized_shape(input, normalized_shape, weight, bias=None, separator: str = ", ") -> None:
    shape = list(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and list(parameter.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(parameter.shape)} "
                f"and normalized_shape = {shape}"
            )
    if list(input.shape[len(input.shape) - len(shape) :]) != shape or len(input.shape) < len(shape):
        expected = f"*{separator}" + ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [{expected}], but got input of size{list(input.shape)}"
        )


@op(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    forms=FUNCTION,
    namespaces=_BOTH,
)
def layer_norm(input, normalized_shape, weight, bias, eps):
    """The last dimensions, which must have this shape, normalised together, scaled by ``weight`` and moved by ``bias``."""
    result = _normalised(widened(input), _trailing(input.ndim, normalized_shape), eps)
    result = result if weight is None else result * widened(weight)
    return (result if bias is None else result + widened(bias)).astype(input.dtype)


@layer_norm.grad("input")
def _(g, input, weight, normalized_shape, eps):
    g = widened(g) if weight is None else widened(g) * widened(weight)
    return _normalised_gradient(g, widened(input), _trailing(input.ndim, normalized_shape), eps)


@layer_norm.grad("weight")
def _(g, input, normalized_shape, eps):
    normalised = _normalised(widened(input), _trailing(input.ndim, normalized_shape), eps)
    return jnp.sum(widened(g) * normalised, _leading(input.ndim, normalized_shape))


@layer_norm.grad("bias")
def _(g, normalized_shape):
    return jnp.sum(widened(g), _leading(g.ndim, normalized_shape))


@layer_norm.check
def _(input, normalized_shape, weight, bias, eps):
    _check_normalized_shape(input, normalized_shape, weight, bias)
    _check_floating(input, "LayerNormKernelImpl")
    _check_parameter_dtypes(input, weight, bias)


@op(
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    forms=FUNCTION,
    namespaces=_BOTH,
)
def rms_norm(input, normalized_shape, weight, eps):
    """The last dimensions divided by the root of their mean square; ``eps`` defaults to that of the dtype it computes in."""
    x = widened(input)
    square = jnp.mean(jnp.square(x), _trailing(x.ndim, normalized_shape), keepdims=True)  # complex for complex numbers, as in torch
    result = x * lax.rsqrt(square + (float(jnp.finfo(x.dtype).eps) if eps is None else eps))
    return (result if weight is None else result * widened(weight)).astype(input.dtype)


@rms_norm.grad("input")
def _(g, input, weight, normalized_shape, eps):
    x, axes = widened(input), _trailing(input.ndim, normalized_shape)
    g = widened(g) if weight is None else widened(g) * jnp.conj(widened(weight))
    scale = jnp.conj(lax.rsqrt(jnp.mean(jnp.square(x), axes, keepdims=True) + (float(jnp.finfo(x.dtype).eps) if eps is None else eps)))
    normalised = jnp.conj(x) * scale
    return scale * (g - normalised * jnp.mean(g * normalised, axes, keepdims=True))


@rms_norm.grad("weight")
def _(g, input, normalized_shape, eps):
    x = widened(input)
    square = jnp.mean(jnp.square(x), _trailing(x.ndim, normalized_shape), keepdims=True)
    normalised = x * lax.rsqrt(square + (float(jnp.finfo(x.dtype).eps) if eps is None else eps))
    return jnp.sum(widened(g) * jnp.conj(normalised), _leading(x.ndim, normalized_shape))


@rms_norm.check
def _(input, normalized_shape, weight, eps):
    if normalized_shape and len(input.shape) < len(normalized_shape):
        raise ValueError(f"Input tensor must have at least {len(normalized_shape)} dimensions, but got {len(input.shape)}")
    _check_normalized_shape(input, normalized_shape, weight, separator="")
    _check_floating(input, "rms_norm")


# --- group and instance normalisation -----------------------------------------------------------------------------------------------


def _by_channel(x):
    """(N, C, *) in float32 or wider as (N, C, places)."""
    return widened(x).reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _group_means(x, groups: int):
    """For every channel (N, C, 1) the mean over its group of (N, C, places).

    Channels first, then the channels of a group, forward and backward: 16x64x56x56 takes 4.5 ms, by groups at once 16 ms (torch 4.2).
    """
    means = jnp.mean(x, 2).reshape(x.shape[0], groups, -1)
    return jnp.broadcast_to(jnp.mean(means, 2, keepdims=True), means.shape).reshape(*x.shape[:2], 1)


def _centred_groups(input, groups: int, eps: float):
    """By channel: the input minus the mean of its group, and the reciprocal of the group's deviation."""
    x = _by_channel(input)
    means, variances = _statistics(x, 2)
    # a group's variance from those of its channels, whose sums do not wait for the group's mean: forward 7.0 -> 5.4 ms (torch 3.1)
    mean = _group_means(means, groups)
    return x - mean, lax.rsqrt(_group_means(variances + jnp.square(means - mean), groups) + eps)


@op(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    forms=FUNCTION,
    namespaces=("",),
)
def group_norm(input, num_groups, weight, bias, eps):
    """Channels in groups, every group of every sample normalised together over space."""
    if input.size == 0:
        return input
    centred, scale = _centred_groups(input, num_groups, eps)
    return _affine(centred * scale, weight, bias).reshape(input.shape).astype(input.dtype)


@group_norm.grad("input")
def _(g, input, weight, num_groups, eps):
    if input.size == 0:
        return g
    centred, scale = _centred_groups(input, num_groups, eps)
    g, weight = _by_channel(g), jnp.ones((), scale.dtype) if weight is None else _channels(weight, 3)
    # sums over places first: the weight is a factor of each
    mean, slope = (_group_means(jnp.mean(values, 2, keepdims=True) * weight, num_groups) for values in (g, g * centred))
    return (scale * (g * weight - mean - centred * (scale * (scale * slope)))).reshape(input.shape)


@group_norm.grad("weight")
def _(g, input, num_groups, eps):
    if input.size == 0:
        return jnp.zeros(input.shape[1], widened(g).dtype)
    centred, scale = _centred_groups(input, num_groups, eps)
    return jnp.sum(jnp.sum(_by_channel(g) * centred, 2) * scale[:, :, 0], 0)


@group_norm.grad("bias")
def _(g):
    return jnp.sum(widened(g), _channel_axes(g.ndim))


@group_norm.check
def _(input, num_groups, weight, bias, eps):
    shape = list(input.shape)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and list(parameter.shape) != shape[1:2]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(parameter.shape)} and input of shape {shape}"
            )
    _check_floating(input, "GroupNormKernelImpl")
    _check_parameter_dtypes(input, weight, bias)


@composite(
    "group_norm.functional(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    forms=FUNCTION,
    namespaces=_FUNCTIONAL,
)
def group_norm_functional(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Channels in groups, every group of every sample normalised together over space; refuses groups of one value."""
    size = list(input.size())
    if len(size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}")
    folded = [size[0] * size[1] // num_groups, num_groups, *size[2:]]
    if folded[0] * math.prod(folded[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")
    return group_norm(input, num_groups, weight, bias, eps)


@op(
    "_instance_norm_training(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, Tensor? bias, Scalar momentum, float eps) "
    "-> (Tensor, Tensor, Tensor)",
    forms=FUNCTION,
    namespaces=(),
)
def instance_norm_training(input, running_mean, running_var, weight, bias, momentum, eps):
    """Every channel of every sample normalised over space, and the running statistics moved towards the samples' mean ones."""
    axes, x = tuple(range(2, input.ndim)), widened(input)
    mean, variance = _statistics(x, axes)
    result = _standardised(x, mean, variance, weight, bias, eps, input.dtype)
    count = math.prod(input.shape[2:])
    unbiased = variance * (count / max(count - 1, 1))
    return result, _running(running_mean, jnp.mean(mean, 0), momentum), _running(running_var, jnp.mean(unbiased, 0), momentum)


@instance_norm_training.grad("input")
def _(g, input, weight, eps):
    axes = tuple(range(2, input.ndim))
    return _normalised_gradient(widened(g[0]), widened(input), axes, eps, _channels_or_none(weight, input.ndim))


@instance_norm_training.grad("weight")
def _(g, input, eps):
    centred, scale = _centred(widened(input), tuple(range(2, input.ndim)), eps)
    return jnp.sum(jnp.sum(widened(g[0]) * centred, tuple(range(2, input.ndim)), keepdims=True) * scale, _channel_axes(input.ndim))


@instance_norm_training.grad("bias")
def _(g):
    return jnp.sum(widened(g[0]), _channel_axes(g[0].ndim))


@instance_norm_training.check
def _(input, running_mean, running_var, weight, bias, momentum, eps):
    samples, channels = input.shape[0], input.shape[1]
    for name, parameter in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if parameter is not None and math.prod(parameter.shape) != channels:  # torch repeats them for every sample, then compares
            raise RuntimeError(f"{name} should contain {samples * channels} elements not {samples * math.prod(parameter.shape)}")
    _check_floating(input, "batch_norm")
    _check_parameter_dtypes(input, weight, bias, running_mean, running_var)


@composite(
    "instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, "
    "bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
    forms=FUNCTION,
    namespaces=_FUNCTIONAL,
)
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05):
    """Every channel of every sample normalised over space, by its own statistics or by running ones."""
    if use_input_stats and math.prod(input.size()[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm_inference(input, weight, bias, running_mean, running_var, eps)
    result, mean, variance = instance_norm_training(input, running_mean, running_var, weight, bias, momentum, eps)
    _move(running_mean, mean)
    _move(running_var, variance)
    return result


@composite(
    "instance_norm.native(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor",
    forms=FUNCTION,
)
def instance_norm_native(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """`nn.functional.instance_norm` with the arguments in the order of ``torch.instance_norm``."""
    return _instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


# --- the rest -----------------------------------------------------------------------------------------------------------------------


@op(
    "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
    forms=FUNCTION,
    namespaces=_FUNCTIONAL,
)
def local_response_norm(input, size, alpha, beta, k):
    """``input`` divided by ``(k + alpha * mean square over size neighbouring channels) ** beta``; channels outside count as zero."""
    if input.size == 0:
        return input
    x = widened(input)
    window = [1] * x.ndim
    window[1] = size
    borders = [(0, 0)] * x.ndim
    borders[1] = (size // 2, (size - 1) // 2)
    total = lax.reduce_window(jnp.square(x), np.zeros((), x.dtype), lax.add, window, [1] * x.ndim, borders)
    if is_integral(input.dtype):  # their means are integers, too
        return input / ((total // size).astype(jnp.float32) * alpha + k) ** beta
    return (x / (total / size * alpha + k) ** beta).astype(input.dtype)


@local_response_norm.check
def _(input, size, alpha, beta, k):
    if len(input.shape) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {len(input.shape)} dimensions)")
    if size <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {size} kW: 1")
    if input.dtype != jnp.int64:
        _check_floating(input, "local_response_norm")


@composite(
    "normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
    forms=FUNCTION | OUT,
    namespaces=_FUNCTIONAL,
)
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """``input`` divided by its ``p``-norm along ``dim``, or by ``eps`` where that is larger."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps)
