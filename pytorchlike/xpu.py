"""``torch.xpu``: Intel's GPUs, of which JAX has none here; seeding is accepted and does nothing."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "seed", "synchronize"]


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


def synchronize() -> None:
    """Raise: there is no such device."""
    raise RuntimeError("no xpu device in this process: JAX has no such platform; use 'cpu' or 'xla'")
