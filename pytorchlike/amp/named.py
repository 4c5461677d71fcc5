"""The classes and functions of ``torch.cuda.amp`` and ``torch.cpu.amp``: those of ``torch.amp`` for one type of device, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..core import dtype as dtypes
from . import autocast_mode, grad_scaler

__all__ = ["autocast_for", "function_for", "scaler_for"]

_OURS = __name__.partition(".")[0]


def _warn(device_type: str, name: str, call: str) -> None:
    warnings.warn(f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `{call}` instead.", FutureWarning, stacklevel=3)


def autocast_for(device_type: str, half: dtypes.dtype) -> type:
    """The class ``torch.DEVICE.amp.autocast``."""

    class autocast(autocast_mode.autocast):  # noqa: N801 - torch's name
        __doc__ = f"Deprecated: ``torch.amp.autocast('{device_type}', args...)``."
        __module__ = f"{_OURS}.{device_type}.amp.autocast_mode"
        __qualname__ = "autocast"

        def __init__(self, enabled: bool = True, dtype: dtypes.dtype = half, cache_enabled: bool = True) -> None:
            _warn(device_type, "autocast", f"torch.amp.autocast('{device_type}', args...)")
            super().__init__(device_type, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    return autocast


def scaler_for(device_type: str) -> type:
    """The class ``torch.DEVICE.amp.GradScaler``."""

    class GradScaler(grad_scaler.GradScaler):
        __doc__ = f"Deprecated: ``torch.amp.GradScaler('{device_type}', args...)``."
        __module__ = f"{_OURS}.{device_type}.amp.grad_scaler"
        __qualname__ = "GradScaler"

        def __init__(
            self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:  # fmt: skip
            _warn(device_type, "GradScaler", f"torch.amp.GradScaler('{device_type}', args...)")
            super().__init__(device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return GradScaler


def function_for(device_type: str, function: Callable) -> Callable:
    """``torch.DEVICE.amp.custom_fwd`` and ``custom_bwd``."""
    name = function.__name__

    def decorate(decorated: Callable | None = None, **kwargs: Any) -> Any:
        _warn(device_type, name, f"torch.amp.{name}(args..., device_type='{device_type}')")
        return function(decorated, device_type=device_type, **kwargs)

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__module__ = f"{_OURS}.{device_type}.amp.autocast_mode"
    decorate.__doc__ = f"Deprecated: ``torch.amp.{name}(args..., device_type='{device_type}')``."
    return decorate
