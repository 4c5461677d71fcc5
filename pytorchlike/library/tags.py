"""``torch.Tag``: what is said of an operator beside its schema."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

__all__ = ["Tag", "as_tags"]


class Tag(enum.IntEnum):
    """What is said of an operator; only ``inplace`` and ``out`` change what is done with it."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19

    __str__ = enum.Enum.__str__


Tag.__module__ = "torch"


def as_tags(tags: Any) -> tuple[Tag, ...]:
    """None, a tag or several as a tuple without repetitions."""
    if tags is None:
        return ()
    found: Iterable[Tag] = (tags,) if isinstance(tags, Tag) else tags
    return tuple(dict.fromkeys(found))
