"""Which GPU is the current one, and what counts as naming a GPU."""

from __future__ import annotations

import threading
from typing import Any

from ..core.device import device, device_count

__all__ = ["current_index", "index_of", "require_device", "select"]

_state = threading.local()


def current_index() -> int:
    """The index of this thread's current GPU."""
    return getattr(_state, "index", 0)


def select(index: int) -> None:
    """Make a GPU this thread's current one.

    Raises:
        AssertionError: there is no GPU.
        RuntimeError: there is no GPU of this index.
    """
    require_device()
    if index >= device_count("cuda"):
        raise RuntimeError(f"CUDA error: invalid device ordinal: {index}; JAX has {device_count('cuda')} GPU(s)")
    _state.index = index


def require_device() -> None:
    """Raise torch's AssertionError where there is no GPU."""
    if not device_count("cuda"):
        raise AssertionError("Torch not compiled with CUDA enabled")


def index_of(spec: Any) -> int:
    """The index a user names by number, text or device; -1 stands for the current one.

    Raises:
        ValueError: it is a device of another type.
    """
    if spec is None:
        return -1
    if isinstance(spec, int):
        return spec
    found = device(spec)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return -1 if found.index is None else found.index
