"""``torch.backends.openmp``: no OpenMP: XLA has a thread pool of its own."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Always False."""
    return False
