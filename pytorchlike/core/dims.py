"""Dimension arguments: negative ones counted from the end, with torch's errors."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["wrap_dim", "wrap_dims"]


def wrap_dim(dim: int, ndim: int) -> int:
    """``dim`` as a number from 0 to ``ndim - 1`` (a 0-d tensor is taken as having one dimension).

    Raises:
        IndexError: out of range, torch's text.
    """
    reach = max(ndim, 1)
    if not -reach <= dim < reach:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
    return dim + reach if dim < 0 else dim


def wrap_dims(dims: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Several dimensions wrapped; ``None`` and an empty sequence mean all of them.

    Raises:
        RuntimeError: one stands twice, torch's text.
    """
    if dims is None or len(dims) == 0:
        return tuple(range(ndim))
    wrapped: list[int] = []
    for d in dims:
        d = wrap_dim(d, ndim)
        if d in wrapped:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        wrapped.append(d)
    return tuple(wrapped) if ndim else ()
