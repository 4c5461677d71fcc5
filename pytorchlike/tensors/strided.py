"""Windows of a storage read and written with numpy, which has strides itself: what `windows` does, for the interpreter.

``base`` and ``at`` are as in `windows`: a geometry without gaps from offset 0, and any geometry over the same memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .geometry import Geometry

__all__ = ["adjoint", "erase", "read", "write"]


def _order(base: Geometry) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest one in memory."""
    return tuple(sorted(range(base.ndim), key=lambda d: (-base.stride[d], -base.size[d])))


def _memory(base: Geometry, value: Any) -> Any:
    """The elements in the order of memory, as a vector."""
    if not base.is_contiguous:
        value = value.transpose(_order(base))
    return np.ascontiguousarray(value).reshape(-1)


def _from_memory(base: Geometry, memory: Any) -> Any:
    """The inverse of `_memory`."""
    if base.is_contiguous:
        return memory.reshape(base.size)
    order = _order(base)
    return np.transpose(memory.reshape([base.size[d] for d in order]), np.argsort(order))


def _window(memory: Any, at: Geometry, start: int) -> Any:
    item, dtype = memory.itemsize, memory.dtype
    if dtype.isbuiltin == 1:
        return np.ndarray(at.size, dtype, memory, start * item, [s * item for s in at.stride])  # ten times as fast as `as_strided`
    raw = memory.view(f"u{item}")  # numpy knows no strides of float8
    return as_strided(raw[start:], at.size, [s * item for s in at.stride]).view(dtype)


def _is_disjoint(at: Geometry) -> bool:
    """Whether each index surely leads to an element of its own: every step is longer than all that the smaller ones reach."""
    reach = 0
    for stride, n in sorted((s, n) for s, n in zip(at.stride, at.size) if n > 1):
        if stride <= reach:
            return False
        reach += stride * (n - 1)
    return True


def read(base: Geometry, at: Geometry, start: int, value: Any) -> Any:
    """The window's elements, in the memory of the value where that is laid out like the base."""
    if at.numel == 0:
        return np.empty(at.size, value.dtype)
    return _window(_memory(base, value), at, start)


def adjoint(base: Geometry, at: Geometry, start: int, g: Any) -> Any:
    """The base with the window's elements added up where they lie, zeros elsewhere."""
    if at.numel == base.numel and start == 0 and at.numel:
        if at.is_contiguous:
            return _from_memory(base, np.ascontiguousarray(g).reshape(-1))
        order = sorted(range(at.ndim), key=lambda d: (-at.stride[d], -at.size[d]))
        sorted_g = np.transpose(g, order)
        expected = 1
        for n, d in zip(reversed(sorted_g.shape), reversed(order)):
            if n != 1 and at.stride[d] != expected:
                break
            expected *= n
        else:  # the window is the whole memory in another order
            return _from_memory(base, np.ascontiguousarray(sorted_g).reshape(-1))
    memory = np.zeros(base.numel, g.dtype)
    if at.numel == 0:
        return _from_memory(base, memory)
    if _is_disjoint(at):
        _window(memory, at, start)[...] = g
    else:
        np.add.at(memory, _window(np.arange(base.numel), at, start), g)
    return _from_memory(base, memory)


def write(base: Geometry, at: Geometry, start: int, value: Any, new: Any) -> Any:
    """The base with the window's elements replaced."""
    memory = np.array(_memory(base, value))
    if at.numel:
        _window(memory, at, start)[...] = new
    return _from_memory(base, memory)


def erase(base: Geometry, at: Geometry, start: int, g: Any) -> Any:
    """The base with zeros in the window."""
    return write(base, at, start, g, g.dtype.type(0))
