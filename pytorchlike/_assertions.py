"""``torch._assert``: Python's ``assert`` as a function that classes can take over."""

from __future__ import annotations

from typing import Any

from .dispatch.overrides import hand_over, wanted
from .tensors.tensor import Tensor

__all__ = ["_assert"]


def _assert(condition: Any, message: str) -> Any:
    """Refuse what is not true (tracers record the call).

    Raises:
        AssertionError: the message.
    """
    if type(condition) is not Tensor and wanted((condition,)):
        return hand_over(_assert, (condition, message), {})
    if not condition:
        raise AssertionError(message)


_assert.__module__ = "torch"
