"""``torch._dynamo.utils``."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Whether functions can be compiled for a kind of device: everywhere that XLA is."""
    return True
