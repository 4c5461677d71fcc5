"""torch.utils._foreach_utils: what optimizers ask about operators on lists of tensors."""

from __future__ import annotations

from typing import Any

from ..core.device import device
from ..optim._for_subclasses import group_tensors as _group_tensors_by_device_and_dtype

__all__ = ["_device_has_foreach_support", "_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices",
           "_group_tensors_by_device_and_dtype", "_has_foreach_support"]  # fmt: skip


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Types of device for which torch has such operators."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: device) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Any], device: device) -> bool:
    return _device_has_foreach_support(device)
