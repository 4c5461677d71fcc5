"""torch's operators that cut a tensor into several parts, as maps from a geometry to a tuple of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dims import wrap_dim
from .geometry import Geometry, Ints, select, slice

__all__ = ["chunk", "numpy_split", "split", "split_with_sizes", "tensor_split", "unbind"]

_memo = functools.lru_cache(maxsize=8192)


def _cut(at: Geometry, dim: int, bounds: Sequence[tuple[int, int]]) -> tuple[Geometry, ...]:
    return tuple(slice(at, dim, first, last) for first, last in bounds)


@_memo
def split(at: Geometry, split_size: int, dim: int = 0) -> tuple[Geometry, ...]:
    """``Tensor.split`` into parts of ``split_size``; the last one may be smaller.

    Raises:
        RuntimeError: a negative size, or 0 for a dimension that is not empty.
    """
    if at.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    dim = wrap_dim(dim, at.ndim)
    reach = at.size[dim]
    if split_size == 0 and reach:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {reach}")
    starts = range(0, reach, split_size) if reach else (0,)
    return _cut(at, dim, [(start, start + split_size) for start in starts])


@_memo
def split_with_sizes(at: Geometry, split_sizes: Ints, dim: int = 0) -> tuple[Geometry, ...]:
    """``Tensor.split`` into parts of given sizes.

    Raises:
        RuntimeError: they do not sum up to the dimension's size.
    """
    if at.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    reach = at.size[wrap_dim(dim, at.ndim)]
    if any(n < 0 for n in split_sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}")
    if sum(split_sizes) != reach:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {reach} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    ends = [sum(split_sizes[: i + 1]) for i in range(len(split_sizes))]
    return _cut(at, dim, [(end - n, end) for n, end in zip(split_sizes, ends, strict=True)])


@_memo
def chunk(at: Geometry, chunks: int, dim: int = 0) -> tuple[Geometry, ...]:
    """``Tensor.chunk``: at most ``chunks`` parts of one size, the last one may be smaller.

    Raises:
        RuntimeError: ``chunks`` is not positive.
    """
    if at.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    reach = at.size[wrap_dim(dim, at.ndim)]
    if reach == 0:
        return split_with_sizes(at, (0,) * chunks, dim)
    return split(at, -(-reach // chunks), dim)


@_memo
def tensor_split(at: Geometry, indices_or_sections: int | Ints, dim: int = 0) -> tuple[Geometry, ...]:
    """``Tensor.tensor_split``: at given indices, or into sections whose sizes differ by one at most.

    Raises:
        RuntimeError: no dimensions, or no sections.
    """
    if at.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, at.ndim)
    reach = at.size[dim]
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        least, more = divmod(reach, sections)
        ends = [least * (i + 1) + min(i + 1, more) for i in range(sections)]
    else:
        ends = [*indices_or_sections, reach]
    return _cut(at, dim, list(zip([0, *ends], ends, strict=False)))


#: numpy's names: the dimension that is cut (for ``hsplit`` of a vector: 0), and the dimensions a tensor must have.
_NUMPY_SPLITS = {"hsplit": (1, 1), "vsplit": (0, 2), "dsplit": (2, 3)}


@_memo
def numpy_split(name: str, at: Geometry, indices_or_sections: int | Ints) -> tuple[Geometry, ...]:
    """``hsplit``, ``vsplit`` and ``dsplit``: equal sections, or parts between given indices.

    Raises:
        RuntimeError: too few dimensions, or a size that the sections do not divide.
    """
    dim, least = _NUMPY_SPLITS[name]
    if at.ndim < least:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {at.ndim} dimensions!")
    dim = min(dim, at.ndim - 1)
    if isinstance(indices_or_sections, int) and (indices_or_sections == 0 or at.size[dim] % indices_or_sections):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {at.size[dim]} is not divisible by the "
            f"split_size {indices_or_sections}!"
        )
    return tensor_split(at, indices_or_sections, dim)


@_memo
def unbind(at: Geometry, dim: int = 0) -> tuple[Geometry, ...]:
    """``Tensor.unbind``: one part for each index of a dimension, which goes away.

    Raises:
        IndexError: no dimensions.
    """
    dim = wrap_dim(dim, at.ndim)
    if at.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(select(at, dim, i) for i in range(at.size[dim]))
