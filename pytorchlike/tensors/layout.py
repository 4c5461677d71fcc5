"""How elements lie in memory: predicates and rules over (size, stride), and the strides that results of operators get.

Pure functions of tuples of ints; imports nothing of ours.  `Geometry` (geometry.py) is built on them.  Memory formats go by torch's
names: ``contiguous_format``, ``channels_last``, ``channels_last_3d``, ``preserve_format``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

__all__ = [
    "channels_last_3d_strides",
    "channels_last_strides",
    "contiguous_strides",
    "dim_order",
    "elementwise_strides",
    "format_strides",
    "has_internal_overlap",
    "is_channels_last",
    "is_channels_last_3d",
    "is_contiguous",
    "is_contiguous_in",
    "is_non_overlapping_and_dense",
    "preserve_strides",
    "suggest_memory_format",
]

Ints = tuple[int, ...]
_memo = functools.lru_cache(maxsize=8192)

#: The dimensions of (N, C, H, W) and (N, C, D, H, W) from the one that varies fastest to the slowest, when channels are last.
_CHANNELS_LAST = (1, 3, 2, 0)
_CHANNELS_LAST_3D = (1, 4, 3, 2, 0)


def _packed(size: Ints, fastest_first: Sequence[int]) -> Ints:
    strides, step = [0] * len(size), 1
    for dim in fastest_first:
        strides[dim] = step
        step *= size[dim]
    return tuple(strides)


def _is_packed(size: Ints, stride: Ints, fastest_first: Sequence[int]) -> bool:
    step = 1
    for dim in fastest_first:
        if size[dim] != 1:
            if stride[dim] != step:
                return False
            step *= size[dim]
    return True


# -- formats ---------------------------------------------------------------------------------------------------------------------------


@_memo
def contiguous_strides(size: Ints) -> Ints:
    """Row-major strides; a dimension of size 0 counts as 1."""
    return _packed(tuple(max(n, 1) for n in size), range(len(size))[::-1])


@_memo
def channels_last_strides(size: Ints) -> Ints:
    """The strides of (N, C, H, W) with the channel varying fastest.

    Raises:
        RuntimeError: another number of dimensions.
    """
    if len(size) != 4:
        raise RuntimeError("required rank 4 tensor to use channels_last format")
    return _packed(size, _CHANNELS_LAST)


@_memo
def channels_last_3d_strides(size: Ints) -> Ints:
    """The strides of (N, C, D, H, W) with the channel varying fastest.

    Raises:
        RuntimeError: another number of dimensions.
    """
    if len(size) != 5:
        raise RuntimeError("required rank 5 tensor to use channels_last_3d format")
    return _packed(size, _CHANNELS_LAST_3D)


@_memo
def is_contiguous(size: Ints, stride: Ints) -> bool:
    """Whether elements lie row-major without gaps; strides of dimensions of size 1 do not matter, an empty tensor is contiguous."""
    return 0 in size or _is_packed(size, stride, range(len(size))[::-1])


@_memo
def is_channels_last(size: Ints, stride: Ints) -> bool:
    """Whether these are (N, C, H, W) without gaps, the channel varying fastest."""
    return len(size) == 4 and _is_packed(size, stride, _CHANNELS_LAST)


@_memo
def is_channels_last_3d(size: Ints, stride: Ints) -> bool:
    """Whether these are (N, C, D, H, W) without gaps, the channel varying fastest."""
    return len(size) == 5 and _is_packed(size, stride, _CHANNELS_LAST_3D)


_IS_IN: dict[str, Callable[[Ints, Ints], bool]] = {
    "contiguous_format": is_contiguous,
    "preserve_format": is_contiguous,
    "channels_last": is_channels_last,
    "channels_last_3d": is_channels_last_3d,
}


def is_contiguous_in(memory_format: str, size: Ints, stride: Ints) -> bool:
    """What ``is_contiguous(memory_format=...)`` answers."""
    return _IS_IN[memory_format](size, stride)


def format_strides(memory_format: str, size: Ints, stride: Ints) -> Ints:
    """The strides of a new tensor of this format, made from one with these strides (``clone``, ``empty_like``, ``to``).

    Raises:
        RuntimeError: the format asks for another number of dimensions.
    """
    if memory_format == "preserve_format":
        return preserve_strides(size, stride)
    if memory_format == "contiguous_format":
        return contiguous_strides(size)
    return channels_last_strides(size) if memory_format == "channels_last" else channels_last_3d_strides(size)


@_memo
def suggest_memory_format(size: Ints, stride: Ints) -> str:
    """The format that convolutions, pooling and the like give their results: ``channels_last`` where the strides order dimensions so."""
    if len(size) == 4 and _is_ordered(size, stride, _CHANNELS_LAST):
        return "channels_last"
    if len(size) == 5 and _is_ordered(size, stride, _CHANNELS_LAST_3D):
        return "channels_last_3d"
    return "contiguous_format"


def _is_ordered(size: Ints, stride: Ints, fastest_first: Sequence[int]) -> bool:
    """Whether each dimension steps over the one before it, gaps allowed; what could be row-major as well is not."""
    if stride[1] == 0 or 0 in size:
        return False
    least = 0
    for dim in fastest_first:
        if stride[dim] < least or (dim == 0 and least == stride[1]):
            return False
        least = stride[dim] * size[dim]
    return True


# -- overlap ---------------------------------------------------------------------------------------------------------------------------


@_memo
def is_non_overlapping_and_dense(size: Ints, stride: Ints) -> bool:
    """Whether some order of the dimensions is contiguous: every element of the span has exactly one index."""
    if 0 in size:
        return True
    return _is_packed(size, stride, sorted(range(len(size)), key=lambda d: (size[d] > 1, stride[d])))


@_memo
def has_internal_overlap(size: Ints, stride: Ints) -> bool | None:
    """Whether two indices lead to one element: True when an index steps by 0, False when dense, None when torch does not look into it.

    torch refuses in-place writes for True only ("unsupported operation: more than one element of the written-to tensor refers to a
    single memory location. Please clone() the tensor before performing the operation.").
    """
    if is_non_overlapping_and_dense(size, stride):
        return False
    return True if any(s == 0 and n > 1 for s, n in zip(stride, size, strict=True)) else None


# -- results ---------------------------------------------------------------------------------------------------------------------------


def _order(size: Ints, operands: Sequence[Ints]) -> list[int]:
    """The dimensions from fastest to slowest, as TensorIterator sorts them by the strides of the operands.

    An insertion sort from the row-major order: the first operand that tells two dimensions apart decides; with equal strides the smaller
    one comes first; a stride of 0 tells nothing.
    """

    def compare(inner: int, outer: int) -> int:
        for stride in operands:
            a, b = stride[inner], stride[outer]
            if a == 0 or b == 0:
                continue
            if a != b:
                return -1 if a < b else 1
            if size[inner] > size[outer]:
                return 1
        return 0

    order = list(range(len(size)))[::-1]
    for start in range(1, len(order)):
        at = start
        for before in reversed(range(start)):
            verdict = compare(order[before], order[at])
            if verdict < 0:
                break
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    return order


def dim_order(size: Ints, stride: Ints) -> Ints:
    """The dimensions from the one that varies slowest to the fastest; row-major where the strides do not tell."""
    return tuple(_order(size, [stride])[::-1])


def elementwise_strides(size: Ints, operands: Sequence[tuple[Ints, Ints]]) -> Ints:
    """The strides of an elementwise operator's result, from the (size, stride) of its operands in order; numbers count as 0-d operands.

    Ref: torch's TensorIterator, probed with random operands (tests/tensors/test_layout.py).
    """
    size = tuple(size)
    if all(tuple(s) == size for s, _ in operands):
        strides = [tuple(stride) for _, stride in operands]
        for lies_so, packed in _FAST:
            if all(lies_so(size, stride) for stride in strides):
                return packed(size)
        if all(stride == strides[0] for stride in strides) and is_non_overlapping_and_dense(size, strides[0]):
            return strides[0]
    order = _order(size, [_broadcast_strides(size, *operand) for operand in operands])
    return contiguous_strides(size) if order == list(range(len(size)))[::-1] else _packed(size, order)


def _broadcast_strides(size: Ints, own_size: Ints, stride: Ints) -> Ints:
    lead = len(size) - len(own_size)
    kept = (0 if n == 1 and size[lead + d] != 1 else stride[d] for d, n in enumerate(own_size))
    return (*(0,) * lead, *kept)


#: All operands lying so, the result does.
_FAST = ((is_contiguous, contiguous_strides), (is_channels_last, channels_last_strides))


@_memo
def preserve_strides(size: Ints, stride: Ints) -> Ints:
    """The strides of ``clone()`` and ``empty_like``: the same when dense, otherwise the same order of dimensions without gaps."""
    if is_non_overlapping_and_dense(size, stride):
        return tuple(stride)
    return _packed(tuple(max(n, 1) for n in size), _order(size, [stride]))
