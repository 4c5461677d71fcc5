"""``torch._dynamo._trace_wrapped_higher_order_op``: indexing by numbers that `torch.func.vmap` maps over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..overrides import TorchFunctionMode

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """Inside, ``x[i]`` with a 0-d tensor selects by its value without looking at it.  It always does so here, so nothing changes."""

    def __torch_function__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        return func(*args, **(kwargs or {}))
