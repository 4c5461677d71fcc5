"""`PackedArrays`: several small results of a program as one array, taken apart only for somebody who asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .value import Value

__all__ = ["PackedArrays"]


class PackedArrays:
    """What a value's ``trace`` is while its array lies in another one; the value's slot is its number in ``places``.

    Handing a program a buffer, or taking one from it, costs one to two microseconds on the CPU, more than most small results take to
    compute.  A repeated training step that finds its small state packed hands the packed arrays on as they are.

    Args:
        buffers: arrays of one dimension.
        places: slot -> (number of the buffer, start, end).
    """

    __slots__ = ("buffers", "places")

    def __init__(self, buffers: Sequence[Any], places: Sequence[tuple[int, int, int]]) -> None:
        self.buffers, self.places = buffers, places

    def take(self, value: Value) -> np.ndarray:
        """The array of one of the values, which is computed from now on."""
        number, start, end = self.places[value.slot]
        array = value.array = np.array(np.asarray(self.buffers[number])[start:end]).reshape(value.aval.size)
        value.trace = None
        return array
