"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_M = TypeVar("_M", bound=Module)


def _convert(module: Module, kinds: tuple[type, ...], memory_format: Any) -> None:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)  # type: ignore[attr-defined]


def convert_conv2d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Store the weights of the two-dimensional convolutions in a module in this memory format."""
    _convert(module, (Conv2d, ConvTranspose2d), memory_format)
    return module


def convert_conv3d_weight_memory_format(module: _M, memory_format: Any) -> _M:
    """Store the weights of the three-dimensional convolutions in a module in this memory format."""
    _convert(module, (Conv3d, ConvTranspose3d), memory_format)
    return module
