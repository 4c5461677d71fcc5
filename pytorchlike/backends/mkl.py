"""``torch.backends.mkl``: no MKL: XLA brings its own linear algebra."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Always False."""
    return False
