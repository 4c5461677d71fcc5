"""Batch normalization in evaluation, folded into the layer before it."""

from __future__ import annotations

import copy
from typing import TypeVar

from ...aten.create import ones_like, zeros_like
from ...tensors.tensor import Tensor
from ..modules.batchnorm import _BatchNorm
from ..modules.conv import _ConvNd
from ..modules.linear import Linear
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

_C = TypeVar("_C", bound=_ConvNd)
_L = TypeVar("_L", bound=Linear)


def _check(layer: _ConvNd | Linear, bn: _BatchNorm) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: _C, bn: _BatchNorm, transpose: bool = False) -> _C:
    """A convolution that does what ``bn(conv(x))`` does in evaluation.

    Args:
        transpose: the convolution is a transposed one.

    Raises:
        AssertionError: one of them is in training, or has no statistics.
    """
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None, bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias of the convolution that `fuse_conv_bn_eval` makes."""
    weight_dtype, bias_dtype = conv_w.dtype, conv_w.dtype if conv_b is None else conv_b.dtype
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    scale, shift = ones_like(bn_rm) if bn_w is None else bn_w, zeros_like(bn_rm) if bn_b is None else bn_b
    inverse_deviation = (bn_rv + bn_eps).rsqrt()
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
    weight = (conv_w * (scale * inverse_deviation).reshape(shape)).to(weight_dtype)
    fused_bias = ((bias - bn_rm) * inverse_deviation * scale + shift).to(bias_dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused_bias, bias.requires_grad)


def fuse_linear_bn_eval(linear: _L, bn: _BatchNorm) -> _L:
    """A linear layer that does what ``bn(linear(x))`` does in evaluation.

    Raises:
        AssertionError: one of them is in training, sizes differ, or there are no statistics.
    """
    if not (linear.training or bn.training) and linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    _check(linear, bn)
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the layer that `fuse_linear_bn_eval` makes."""
    weight_dtype, bias_dtype = linear_w.dtype, linear_w.dtype if linear_b is None else linear_b.dtype
    bias = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(weight_dtype)
    fused_bias = ((bias - bn_rm) * scale + bn_b).to(bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(fused_bias, bias.requires_grad)
