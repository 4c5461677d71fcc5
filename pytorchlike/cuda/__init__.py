"""``torch.cuda`` for the GPUs that JAX sees; without one it answers as a torch built without CUDA does."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from ..alias import attribute_fallback as _attribute_fallback
from ..aten.legacy import LEGACY_TYPES as _legacy_types
from ..core.device import as_device, jax_device
from ..core.device import device as _torch_device
from ..core.device import device_count as _count
from .graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables
from .memory import (
    OutOfMemoryError,
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_peak_memory_stats,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .state import current_index, index_of, require_device, select
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream, synchronize

__all__ = [
    "CUDAGraph", "Event", "OutOfMemoryError", "Stream", "StreamContext", "can_device_access_peer", "current_device", "current_stream", "default_stream", "device",
    "device_count", "device_of", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
    "get_rng_state_all", "graph", "graph_pool_handle", "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized",
    "is_tf32_supported", "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
    "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip

globals().update({name.removeprefix("cuda."): found for name, found in _legacy_types.items() if name.startswith("cuda.")})


def is_available() -> bool:
    """Whether JAX has a GPU in this process."""
    return device_count() > 0


def device_count() -> int:
    """How many GPUs JAX has in this process."""
    return _count("cuda")


def is_initialized() -> bool:
    """Whether there is a GPU: JAX starts all of its backends at once."""
    return is_available()


def init() -> None:
    """Start the GPU backend.

    Raises:
        AssertionError: there is no GPU.
    """
    require_device()


def current_device() -> int:
    """The index of the GPU that ``set_device`` chose."""
    require_device()
    return current_index()


def set_device(device: Any) -> None:
    """Choose the current GPU; a negative index changes nothing."""
    index = index_of(device)
    if index >= 0:
        select(index)


class device:  # noqa: N801 - torch's name
    """The given GPU is the current one inside the ``with`` block; a negative index changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_index()
            select(self.idx)

    def __exit__(self, *_: object) -> None:
        if self.idx >= 0:
            select(self.prev_idx)


class device_of(device):  # noqa: N801 - torch's name
    """The GPU of a tensor is the current one inside the ``with`` block."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def _of(device: Any) -> Any:
    require_device()
    index = index_of(device)
    return jax_device(as_device(_torch_device("cuda", current_index() if index < 0 else index)))


def get_device_name(device: Any = None) -> str:
    """The GPU's name as its driver states it."""
    return _of(device).device_kind


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The GPU's compute capability: ``(9, 0)``."""
    major, _, minor = str(getattr(_of(device), "compute_capability", "0.0")).partition(".")
    return int(major), int(re.sub(r"\D.*", "", minor) or 0)


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """Name, compute capability, memory (the part JAX may use) and number of multiprocessors of a GPU."""
    found = _of(device)
    major, minor = get_device_capability(device)
    total = (found.memory_stats() or {}).get("bytes_limit", 0)
    return SimpleNamespace(
        name=found.device_kind, major=major, minor=minor, total_memory=total, multi_processor_count=getattr(found, "core_count", 0)
    )


def get_arch_list() -> list[str]:
    """The architectures of the GPUs at hand: XLA compiles for what it finds."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU computes with bfloat16; XLA emulates it where the hardware does not."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether the current GPU has TensorFloat-32 units."""
    return is_available() and get_device_capability()[0] >= 8


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether two GPUs of this process are different: JAX copies between any two."""
    require_device()
    return index_of(device) != index_of(peer_device)


def ipc_collect() -> None:
    """Nothing is shared with other processes, so there is nothing to collect."""
    require_device()


__getattr__ = _attribute_fallback(__name__, ("amp", "graphs", "nvtx"))
