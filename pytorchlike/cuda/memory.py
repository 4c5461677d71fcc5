"""GPU memory, as JAX's allocator counts it."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from typing import Any

from ..core.device import device, device_count, jax_device
from .state import current_index, index_of, require_device

__all__ = [
    "AcceleratorError", "OutOfMemoryError", "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
    "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_peak_memory_stats",
]  # fmt: skip

#: torch's name of a figure -> JAX's.
FIGURES = {
    "allocated_bytes.all.current": "bytes_in_use",
    "allocated_bytes.all.peak": "peak_bytes_in_use",
    "reserved_bytes.all.current": "pool_bytes",
    "reserved_bytes.all.peak": "peak_pool_bytes",
    "allocation.all.allocated": "num_allocs",
}


class OutOfMemoryError(RuntimeError):
    """The device has not enough free memory."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """The device reports an error; nothing here raises it, so that code can name it."""

    __module__ = "torch"


def _stats(spec: Any) -> dict[str, int]:
    if not device_count("cuda"):
        return {}
    index = index_of(spec)
    return jax_device(device("cuda", current_index() if index < 0 else index)).memory_stats() or {}


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """The figures of `FIGURES`; empty where there is no GPU."""
    stats = _stats(device)
    return OrderedDict((name, stats.get(jax_name, 0)) for name, jax_name in FIGURES.items()) if stats else OrderedDict()


def memory_allocated(device: Any = None) -> int:
    """Bytes held by arrays."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The largest number of bytes held at once since the process started."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes the allocator has taken from the device."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The largest number of bytes the allocator had taken from the device."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free bytes and all bytes of the memory JAX may use."""
    require_device()
    stats = _stats(device)
    return stats.get("bytes_limit", 0) - stats.get("bytes_in_use", 0), stats.get("bytes_limit", 0)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures as text, one a line."""
    require_device()
    return "\n".join(f"{name:32s}{value:>20,}" for name, value in memory_stats(device).items())


def empty_cache() -> None:
    """Accepted; XLA's allocator keeps its pool, which all arrays of the process share."""


@functools.cache
def _warn_peak() -> None:
    warnings.warn("the peak of GPU memory counts from the start of the process: XLA's allocator cannot reset it", UserWarning, stacklevel=3)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Warn once: the peak cannot be reset."""
    if device_count("cuda"):
        _warn_peak()


def reset_max_memory_allocated(device: Any = None) -> None:
    """The old name of `reset_peak_memory_stats`."""
    reset_peak_memory_stats(device)
