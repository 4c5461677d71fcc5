"""`Elements`: what a view sees in its memory when that is not the storage's own elements; and torch's operators that make such views.

Most views see the elements of their storage as they are; their geometry has ``elements`` None.  ``view(dtype)``, ``view_as_real`` and
``view_as_complex`` see the same bytes as another dtype; ``conj`` and the imaginary part of a conjugate see them conjugated or negated
(torch's conjugate and negative bits).  `lens` reads and writes them.

The operators map a geometry and its elements to a geometry, with torch's errors.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..core import dtype as dtypes
from ..core.dtype import dtype
from ..core.promotion import scalar_type_name
from .geometry import Geometry, geometry

__all__ = ["Elements", "conj", "elements_of", "like_memory", "neg", "pair_of", "view_as_complex", "view_as_real", "view_dtype", "with_elements"]


class Elements(NamedTuple):
    """What the elements of a view are.

    Attributes:
        memory: the dtype of the storage.
        dtype: the dtype that the view has.
        conjugate, negative: whether the view's elements are the conjugates or the negatives of what is in memory.
    """

    memory: dtype
    dtype: dtype
    conjugate: bool = False
    negative: bool = False

    @property
    def is_recast(self) -> bool:
        """Whether the bytes are read as another dtype."""
        return self.memory is not self.dtype


def elements_of(at: Geometry, memory: dtype) -> Elements:
    """What a geometry's elements are, in a storage of dtype ``memory``."""
    return at.elements or Elements(memory, memory)


def with_elements(at: Geometry, found: Elements | None) -> Geometry:
    """The geometry with other elements."""
    plain = found is None or found.memory is found.dtype and not found.conjugate and not found.negative
    return geometry(at.size, at.stride, at.offset, None if plain else found)


def like_memory(at: Geometry) -> Geometry:
    """The geometry that counts in ``at``'s elements but sees them as they are."""
    return at if at.elements is None else geometry(at.size, at.stride, at.offset)


@functools.cache
def pair_of(part: dtype) -> dtype | None:
    """The complex dtype whose two parts have this dtype."""
    return {"float32": dtypes.complex64, "float64": dtypes.complex128}.get(part.name)


# -- the operators -----------------------------------------------------------------------------------------------------------------------


def conj(at: Geometry, found: Elements) -> Geometry:
    """``Tensor.conj`` of complex numbers: the conjugate bit is flipped."""
    return with_elements(at, found._replace(conjugate=not found.conjugate))


def neg(at: Geometry, found: Elements) -> Geometry:
    """``torch._neg_view``: the negative bit is flipped."""
    return with_elements(at, found._replace(negative=not found.negative))


def view_as_real(at: Geometry, found: Elements) -> Geometry:
    """Complex numbers as pairs of real ones, along a new last dimension.

    Raises:
        RuntimeError: they are real, or have the conjugate bit set.
    """
    if not found.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if found.conjugate:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    stride = (*[2 * s for s in at.stride], 1)
    return with_elements(geometry((*at.size, 2), stride, 2 * at.offset), found._replace(dtype=found.dtype.to_real()))


def view_as_complex(at: Geometry, found: Elements) -> Geometry:
    """Pairs of real numbers, which are the last dimension, as complex ones.

    Raises:
        RuntimeError: the dtype or the strides do not allow it.
    """
    pair = pair_of(found.dtype)
    if pair is None:
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: {scalar_type_name(found.dtype)}")
    if not at.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if at.size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if at.stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in at.stride[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if at.offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return with_elements(geometry(at.size[:-1], [s // 2 for s in at.stride[:-1]], at.offset // 2), found._replace(dtype=pair))


def view_dtype(at: Geometry, found: Elements, wanted: dtype) -> Geometry:
    """``Tensor.view(dtype)``: the same bytes as another dtype; where the size of an element changes, the last dimension does.

    Raises:
        RuntimeError: the last dimension or its stride does not allow it; a conjugate or negative bit is set.
    """
    if found.conjugate:
        raise RuntimeError("torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.")
    if found.negative:
        raise RuntimeError("torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.")
    if wanted is found.dtype:
        return with_elements(at, found)
    recast = found._replace(dtype=wanted)
    before, after = found.dtype.itemsize, wanted.itemsize
    if before == after:
        return with_elements(at, recast)
    names = f"to view {scalar_type_name(found.dtype)} as {scalar_type_name(wanted)} (different element sizes)"
    if not at.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {names}")
    if at.stride[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {names}, but got {at.stride[-1]}")
    if before > after:
        ratio = before // after
        size, stride, offset = at.size[-1] * ratio, [s * ratio for s in at.stride[:-1]], at.offset * ratio
    else:
        ratio = after // before
        if at.size[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {names}, but got {at.size[-1]}")
        if at.offset % ratio:
            raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {names}, but got {at.offset}")
        for d, s in enumerate(at.stride[:-1]):
            if s % ratio:
                raise RuntimeError(f"self.stride({d}) must be divisible by {ratio} {names}, but got {s}")
        size, stride, offset = at.size[-1] // ratio, [s // ratio for s in at.stride[:-1]], at.offset // ratio
    return with_elements(geometry((*at.size[:-1], size), (*stride, 1), offset), recast)
