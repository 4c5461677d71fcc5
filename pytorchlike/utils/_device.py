"""torch.utils._device: the default device of a block, or of a function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..core.device import device as torch_device
from ..core.device import device_count

__all__ = ["DeviceContext", "get_device_module", "set_device"]


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


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a kind of device (``torch.cuda``, ``torch.cpu``); without a device that of the accelerator, else of the CPU.

    Raises:
        RuntimeError: there is no such module.
    """
    kind = ("cuda" if device_count("cuda") else "cpu") if device is None else torch_device(device).type
    try:
        return importlib.import_module(f"{__package__.partition('.')[0]}.{kind}")
    except ImportError:
        raise RuntimeError(f"Invalid device '{kind}'. No torch.{kind} module available.") from None
