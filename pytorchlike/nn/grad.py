"""The gradients of convolutions as functions: with respect to the input, and to the weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.engine import grad
from ..autograd.grad_mode import enable_grad
from ..tensors.tensor import Tensor
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


@enable_grad()
def _gradient(convolution: Callable, input: Tensor, weight: Tensor, wanted: Tensor, grad_output: Tensor, settings: Sequence[Any]) -> Tensor:
    wanted.requires_grad_()
    stride, padding, dilation, groups = settings
    return grad(convolution(input, weight, None, stride, padding, dilation, groups), wanted, grad_output)[0]


def _of_input(convolution: Callable, input_size: Sequence[int], weight: Tensor, grad_output: Tensor, *settings: Any) -> Tensor:
    input = grad_output.new_zeros(tuple(input_size))
    return _gradient(convolution, input, weight.detach(), input, grad_output, settings)


def _of_weight(convolution: Callable, input: Tensor, weight_size: Sequence[int], grad_output: Tensor, *settings: Any) -> Tensor:
    weight = grad_output.new_zeros(tuple(weight_size))
    return _gradient(convolution, input.detach(), weight, weight, grad_output, settings)


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its input, whose size has to be stated."""
    return _of_input(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its weight, whose size has to be stated."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its input, whose size has to be stated."""
    return _of_input(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its weight, whose size has to be stated."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its input, whose size has to be stated."""
    return _of_input(F.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its weight, whose size has to be stated."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)
