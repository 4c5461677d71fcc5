"""``torch.xpu``: Intel's GPUs, of which JAX has none here; seeding is accepted and does nothing."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_device", "current_stream", "device_count", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "seed", "set_device",
    "set_rng_state", "set_rng_state_all", "synchronize",
]  # fmt: skip


def _no_device() -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


def is_available() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """There are no generators to seed."""


def seed() -> None:
    """There is no generator to seed."""


def empty_cache() -> None:
    """There is no cache."""


def is_initialized() -> bool:
    """Always False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always False."""
    return False


def get_arch_list() -> list[str]:
    """Always empty."""
    return []


def memory_allocated(device: Any = None) -> int:
    """Always 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Always 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Always 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Always 0."""
    return 0


def get_rng_state_all() -> list[Any]:
    """The states of no generators."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of the generators there are: none.

    Raises:
        AssertionError: a state is given.
    """
    for _ in new_states:
        _no_device()


def init() -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def current_device() -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def set_device(device: Any) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def synchronize(device: Any = None) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def current_stream(device: Any = None) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def get_device_name(device: Any = None) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def get_device_capability(device: Any = None) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def get_device_properties(device: Any = None) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def mem_get_info(device: Any = None) -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def get_rng_state(device: Any = "xpu") -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()


def set_rng_state(new_state: Any, device: Any = "xpu") -> NoReturn:
    """Raise torch's error: there is no such device."""
    _no_device()
