"""The identity on values with other strides in the bookkeeping: ``clone``, ``contiguous`` and what makes a storage of its own."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..graph.instruction import Instruction
from ..graph.value import Aval
from .tape import Backward

__all__ = ["Relayout", "instruction"]


class Relayout(Instruction):
    """Copies a value; the result has the given strides (None: contiguous)."""

    __slots__ = ("stride",)

    def __init__(self, stride: tuple[int, ...] | None) -> None:
        super().__init__("clone", lambda x: x)
        self.stride = stride

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> Sequence[tuple[int, ...] | None]:
        return [self.stride]

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        return Backward("CloneBackward0", (), (), needed, inputs, outputs, lambda present: instruction(inputs[0].stride))


@functools.lru_cache(maxsize=4096)
def instruction(stride: tuple[int, ...] | None) -> Relayout:
    """The one instruction for these strides."""
    return Relayout(stride)
