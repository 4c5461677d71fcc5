"""What a captured call left somewhere that is not watched: then it cannot be replayed."""

from __future__ import annotations

import gc
import sys
from typing import Any

from ..graph import recorder
from ..graph.value import Value
from ..tensors.storage import Storage
from ..tensors.tensor import Tensor

__all__ = ["Unreplayable", "forget_reading", "refuse_held", "refuse_leaks"]


class Unreplayable(Exception):  # noqa: N818 - caught at once, never seen
    """The call had an effect, or a result, that cannot be brought about without running Python."""


def refuse_held(values: list[Value]) -> None:
    """An input that is no known tensor's is a constant that the call made, unless some tensor that still exists holds it.

    Asking for referrers looks at every object there is: once for all values.
    """
    if values and any(isinstance(holder, (Tensor, Storage)) for holder in gc.get_referrers(*values)):
        raise Unreplayable("a tensor is used that was reached in a way that is not watched")


def forget_reading(tensor: Tensor, trace: Any) -> None:
    """Have a view read its window anew when it is next used, if what it holds is what the call read."""
    if tensor._storage is not None and (value := getattr(tensor, "_value", None)) is not None and value.trace is trace:
        del tensor._value
        if tensor._seen >= 0:
            tensor._seen = -1 - tensor._seen


def refuse_leaks(trace: Any, needed: dict[int, int]) -> None:
    """Whatever the call computed and somebody holds has to be among its results."""
    if _leaked(trace, needed):
        gc.collect()
        if _leaked(trace, needed):
            raise Unreplayable("a tensor was kept somewhere that is not watched")


def _leaked(trace: Any, needed: dict[int, int]) -> bool:
    values = trace.values
    counts = list(map(sys.getrefcount, values))
    return any(count > recorder._DEAD_RESULT and slot not in needed and values[slot].trace is trace for slot, count in enumerate(counts))
