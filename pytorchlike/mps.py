"""``torch.mps``: Apple's GPUs, of which JAX has none here; seeding is accepted and does nothing."""

from __future__ import annotations

__all__ = ["current_allocated_memory", "device_count", "empty_cache", "is_available", "manual_seed", "seed", "synchronize"]


def is_available() -> bool:
    """Always False."""
    return False


def device_count() -> int:
    """Always 0."""
    return 0


def manual_seed(seed: int) -> None:
    """There is no generator to seed."""


def seed() -> None:
    """There is no generator to seed."""


def empty_cache() -> None:
    """There is no cache."""


def current_allocated_memory() -> int:
    """Always 0."""
    return 0


def synchronize() -> None:
    """Raise: there is no such device."""
    raise RuntimeError("no mps device in this process: JAX has no such platform; use 'cpu' or 'xla'")
