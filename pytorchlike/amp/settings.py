"""What a thread's autocast is set to: the functions that torch has at its top (``torch.is_autocast_enabled`` and the like)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..core.device import device
from ..core.dtype import dtype as torch_dtype
from ..core.state import thread
from ..dispatch import autocast
from ..dispatch.autocast import settings

__all__ = [
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "get_autocast_ipu_dtype", "get_autocast_xla_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled", "is_autocast_ipu_enabled", "is_autocast_xla_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype", "set_autocast_ipu_dtype",
    "set_autocast_ipu_enabled", "set_autocast_xla_dtype", "set_autocast_xla_enabled",
]  # fmt: skip


def _check(function: str, name: str, position: int, value: Any, kind: type, text: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{function}(): argument '{name}' (position {position}) must be {text}, not {type(value).__name__}")


def _type_of(device_type: str) -> str:
    """The type of device that the text means (``cpu:0`` is a ``cpu``).

    Raises:
        RuntimeError: there is no autocast for it, torch's text.
    """
    found = device_type if device_type in autocast.DEFAULT_DTYPES else device(device_type).type
    if found not in autocast.DEFAULT_DTYPES:
        raise RuntimeError("unsupported scalarType")
    return found


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a type of device."""
    _check("is_autocast_enabled", "device_type", 1, device_type, str, "str")
    return _type_of(device_type) in (thread.state.autocast or ())


def set_autocast_enabled(*args: Any) -> None:
    """Switch autocast on or off: ``set_autocast_enabled(device_type, enabled)``; without a type of device it is that of ``cuda``."""
    device_type, enabled = ("cuda", *args) if len(args) == 1 else args
    if len(args) == 2:
        _check("set_autocast_enabled", "device_type", 1, device_type, str, "str")
    _check("set_autocast_enabled", "enabled", len(args), enabled, bool, "bool")
    autocast.set_enabled(_type_of(device_type), enabled)


def get_autocast_dtype(device_type: str) -> torch_dtype:
    """What autocast casts to on a type of device."""
    _check("get_autocast_dtype", "device_type", 1, device_type, str, "str")
    return settings.dtypes[_type_of(device_type)]


def set_autocast_dtype(device_type: str, dtype: torch_dtype) -> None:
    """Set what autocast casts to on a type of device."""
    _check("set_autocast_dtype", "device_type", 1, device_type, str, "str")
    _check("set_autocast_dtype", "dtype", 2, dtype, torch_dtype, "torch.dtype")
    autocast.set_dtype(_type_of(device_type), dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether the casts of parameters are kept until the outermost context ends."""
    return settings.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether to keep the casts of parameters."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    settings.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    settings.casts.clear()


def autocast_increment_nesting() -> int:
    """Note that a context was entered; returns how many are open."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Note that a context was left; returns how many are open."""
    settings.nesting -= 1
    return settings.nesting


# ------------------------------------------------------------------------------------------------------- names for one type of device
def _deprecated(name: str, argument: str, instead: Callable, device_type: str) -> Callable:
    """The function ``name(argument)`` that warns, and calls the one that takes a type of device."""

    def function(*args: Any) -> Any:
        if argument == "enabled" and not isinstance(args[0], bool):
            raise TypeError(f"enabled must be a bool (got {type(args[0]).__name__})")
        if argument == "dtype" and not isinstance(args[0], torch_dtype):
            raise TypeError(f"dtype must be a torch.dtype (got {type(args[0]).__name__})")
        others = f", {argument}" if argument else ""
        warnings.warn(
            f"torch.{name}({argument}) is deprecated. Please use torch.{instead.__name__}('{device_type}'{others}) instead.",
            DeprecationWarning, stacklevel=2,
        )  # fmt: skip
        return instead(device_type, *args)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "torch"
    function.__doc__ = f"Deprecated: ``torch.{instead.__name__}('{device_type}'{', ' + argument if argument else ''})``."
    return function


is_autocast_cpu_enabled = _deprecated("is_autocast_cpu_enabled", "", is_autocast_enabled, "cpu")
set_autocast_cpu_enabled = _deprecated("set_autocast_cpu_enabled", "enabled", set_autocast_enabled, "cpu")
get_autocast_cpu_dtype = _deprecated("get_autocast_cpu_dtype", "", get_autocast_dtype, "cpu")
set_autocast_cpu_dtype = _deprecated("set_autocast_cpu_dtype", "dtype", set_autocast_dtype, "cpu")
get_autocast_gpu_dtype = _deprecated("get_autocast_gpu_dtype", "", get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = _deprecated("set_autocast_gpu_dtype", "dtype", set_autocast_dtype, "cuda")
is_autocast_ipu_enabled = _deprecated("is_autocast_ipu_enabled", "", is_autocast_enabled, "ipu")
set_autocast_ipu_enabled = _deprecated("set_autocast_ipu_enabled", "enabled", set_autocast_enabled, "ipu")
get_autocast_ipu_dtype = _deprecated("get_autocast_ipu_dtype", "", get_autocast_dtype, "ipu")
set_autocast_ipu_dtype = _deprecated("set_autocast_ipu_dtype", "dtype", set_autocast_dtype, "ipu")
is_autocast_xla_enabled = _deprecated("is_autocast_xla_enabled", "", is_autocast_enabled, "xla")
set_autocast_xla_enabled = _deprecated("set_autocast_xla_enabled", "enabled", set_autocast_enabled, "xla")
get_autocast_xla_dtype = _deprecated("get_autocast_xla_dtype", "", get_autocast_dtype, "xla")
set_autocast_xla_dtype = _deprecated("set_autocast_xla_dtype", "dtype", set_autocast_dtype, "xla")
