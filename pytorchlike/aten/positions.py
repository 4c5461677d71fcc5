"""From numbers of elements to their coordinates."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence

from ..core.dtype import INTEGRAL, int64
from ..dispatch.registry import FUNCTION, composite
from .constructors import tensor


@composite("unravel_index(Tensor indices, Any shape) -> Tensor[]", forms=FUNCTION)
def unravel_index(indices, shape):
    """The coordinates, one tensor for each dimension, of elements of a tensor of this shape that are numbered in row-major order."""
    if indices.dtype.category != INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in shape:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    steps = [*itertools.accumulate((1, *shape[:0:-1]), operator.mul)][::-1] if shape else []
    found = indices.unsqueeze(-1).floor_divide(tensor(steps, dtype=int64)) % tensor(shape, dtype=int64)
    return found.unbind(-1)
