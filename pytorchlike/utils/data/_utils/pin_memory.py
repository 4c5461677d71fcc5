"""What ``pin_memory=True`` does to a batch: objects with a method of that name are asked; tensors stay, as JAX stages copies to a device itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....tensors.tensor import Tensor
from .collate import _rebuilt_mapping, _rebuilt_sequence

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """The batch with all that has a method ``pin_memory`` replaced by what that returns."""
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return _rebuilt_mapping(data, {key: pin_memory(item, device) for key, item in data.items()})
    if isinstance(data, tuple):
        items = [pin_memory(item, device) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    if isinstance(data, Sequence):
        return _rebuilt_sequence(data, [pin_memory(item, device) for item in data])
    return data
