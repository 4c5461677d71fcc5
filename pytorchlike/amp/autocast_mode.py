"""`autocast`: regions in which operators run in the precision that suits them, and decorators for `Function`s used there."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core.device import device_count
from ..dispatch import autocast as dispatched
from ..tensors.tensor import Tensor
from . import settings

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_HALVES = (dtypes.bfloat16, dtypes.float16)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device.

    Raises:
        RuntimeError: no device has this type.
    """
    if not isinstance(device_type, str):
        raise TypeError(f"_is_autocast_available(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    return dispatched.is_available(device_type)


def autocast_decorator(autocast_instance: autocast, func: Callable) -> Callable:
    """The function, run inside of the context each time."""

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


class autocast:  # noqa: N801 - torch's name
    """Inside the block (or the decorated function) operators cast their arguments: matrix products to half precision, losses and the like to float32.

    Which operator does what is torch's choice, one list for the CPU and one for all other devices (``core/data/autocast.tsv``).  Casts of parameters
    are kept until the outermost context ends, so that a parameter used twice is cast once.

    Args:
        device_type: the type of device whose tensors are cast.
        dtype: the half precision; ``torch.get_autocast_dtype(device_type)`` if it is left out.
        enabled: False switches autocast off in the region.
        cache_enabled: whether casts of parameters are kept; the current setting if it is left out.

    Raises:
        RuntimeError: there is no autocast for this type of device.
        ValueError: ``device_type`` is no text.

    Limits: on the CPU, ``nn.GRU`` and the cells of recurrent networks compute in float32 throughout, where torch multiplies in half precision.
    """

    def __init__(self, device_type: str, dtype: dtypes.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = settings.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = settings.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda" and not device_count("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and device_type != "cuda" and self.fast_dtype not in _HALVES:
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only supports dtypes of "
                f"{', '.join(map(str, _HALVES))} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        self.prev_cache_enabled = settings.is_autocast_cache_enabled()
        self.prev = settings.is_autocast_enabled(self.device)
        self.prev_fastdtype = settings.get_autocast_dtype(self.device)
        settings.set_autocast_dtype(self.device, self.fast_dtype)
        settings.set_autocast_enabled(self.device, self._enabled)
        settings.autocast_increment_nesting()
        settings.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *error: object) -> None:
        if settings.autocast_decrement_nesting() == 0:
            settings.clear_autocast_cache()
        settings.set_autocast_dtype(self.device, self.prev_fastdtype)
        settings.set_autocast_enabled(self.device, self.prev)
        settings.set_autocast_cache_enabled(self.prev_cache_enabled)

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a context manager? For "
                "example:\n    with torch.autocast(device_type=...):\n        output = model(input)"
            )
        return autocast_decorator(self, func)


def _enter_autocast(*args: Any) -> autocast:
    """Enter a context that no ``with`` statement manages."""
    return autocast(*args).__enter__()


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """A value with the floating tensors in it cast, except float64 ones."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not dtypes.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        parts = (_cast(v, device_type, dtype) for v in value)
        return type(value)(parts) if isinstance(value, (list, tuple)) else parts  # type: ignore[call-arg]
    return value


def _check_type(device_type: str) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None) -> Callable:
    """Decorate the ``forward`` of a `Function` for use under autocast.

    Args:
        cast_inputs: cast the arguments to this dtype and run ``forward`` with autocast off, if autocast is on; None runs it as it is.
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx, is_on = args[0], settings.is_autocast_enabled(device_type)
        ctx._dtype = settings.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorate the ``backward`` of a `Function` so that it runs under the autocast of its ``forward``."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
