"""``torch.storage``: tensors' memory as bytes and as elements."""

from __future__ import annotations

import io
from typing import Any

from .serialization import load
from .tensors.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(data: bytes) -> Any:
    """A storage in a pickle that real torch made without ``torch.save``."""
    return load(io.BytesIO(data), weights_only=False)
