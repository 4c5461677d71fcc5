"""``torch.backends.nnpack``: no NNPACK: XLA brings its own convolutions."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Always False."""
    return False
