"""`Size`, the tuple that `Tensor.shape` returns."""

from __future__ import annotations

import math
from typing import SupportsIndex

__all__ = ["Size"]


class Size(tuple):
    """A shape: a tuple of ints that keeps its type under slicing and concatenation."""

    __slots__ = ()
    __module__ = "torch"

    def numel(self) -> int:
        """The number of elements a tensor of this shape has."""
        return math.prod(self)

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if type(item) is tuple else item

    def __add__(self, other: tuple) -> Size:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, count: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple:
        return _size, (tuple(self),)  # a function: the class calls itself torch.Size, where pickle would not find it


def _size(values: tuple) -> Size:
    return Size(values)
