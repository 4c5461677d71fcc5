"""``torch.accelerator``: the accelerator of this process whatever its kind; here the GPUs that JAX sees."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from . import cuda
from .core.device import device as _device

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
    "empty_host_cache", "get_device_capability", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip


def _require() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def _index(device: Any) -> int:
    """The index of the accelerator that a user names by number, text or device.

    Raises:
        RuntimeError: there is none.
        ValueError: it is a device of another type.
    """
    _require()
    if device is None:
        return cuda.current_device()
    if isinstance(device, int):
        return device
    named = _device(device)
    if named.type != "cuda":
        raise ValueError(f"{named.type} doesn't match the current accelerator cuda.")
    return cuda.current_device() if named.index is None else named.index


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> _device | None:
    """The kind of accelerator as a device without index; None without one."""
    return _device("cuda") if is_available() else None


def current_device_index() -> int:
    """The index of the current one."""
    return _index(None)


def current_device_idx() -> int:
    """The old name of `current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_index(device: Any, /) -> None:
    """Choose the current one."""
    cuda.set_device(_index(device))


def set_device_idx(device: Any, /) -> None:
    """The old name of `set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


class device_index:  # noqa: N801 - torch's name
    """The accelerator of this index is the current one inside the ``with`` block; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *_: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def synchronize(device: Any = None, /) -> None:
    """Run what is pending and wait for the accelerator."""
    cuda.synchronize(_index(device))


def current_stream(device: Any = None, /) -> Any:
    """The stream that work goes to."""
    return cuda.current_stream(_index(device))


def set_stream(stream: Any) -> None:
    """Make a stream the current one."""
    _require()
    cuda.set_stream(stream)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """The dtypes that the accelerator computes with."""
    from .core.dtype import BY_NAME

    _index(device)
    return {"supported_dtypes": set(BY_NAME.values())}


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Free and total bytes."""
    return cuda.mem_get_info(_index(device_index))


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, Any]:
    """What JAX says of the memory."""
    return cuda.memory_stats(_index(device_index))


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes in use."""
    return cuda.memory_allocated(_index(device_index))


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that were in use."""
    return cuda.max_memory_allocated(_index(device_index))


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes that JAX holds."""
    return cuda.memory_reserved(_index(device_index))


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that JAX held."""
    return cuda.max_memory_reserved(_index(device_index))


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Start the maxima anew."""
    cuda.reset_peak_memory_stats(_index(device_index))


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Nothing: JAX counts nothing that adds up."""
    _index(device_index)


def empty_cache() -> None:
    """Give memory back that nothing uses."""
    _require()
    cuda.empty_cache()


def empty_host_cache() -> None:
    """Nothing: there is no cache of the host's memory."""
    _require()
