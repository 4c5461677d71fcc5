"""torch.utils._device: the default device of a block, or of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import device as torch_device

__all__ = ["DeviceContext", "set_device"]


class DeviceContext:
    """Tensors are made on this device inside the block, unless a call says where."""

    def __init__(self, device: Any) -> None:
        self.device = torch_device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.device.__exit__(*error)


def set_device(device: Any) -> Callable[[Callable], Callable]:
    """A decorator: inside the function tensors are made on this device."""
    return torch_device(device)  # type: ignore[return-value]
