"""``torch.utils.dlpack``: exchange of tensors with other libraries without a copy."""

from __future__ import annotations

from typing import Any

from ..tensors.convert import from_dlpack
from ..tensors.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory, to be consumed once."""
    return tensor.__dlpack__()  # type: ignore[attr-defined]
