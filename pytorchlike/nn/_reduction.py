"""The older way to say how a loss is reduced, ``size_average`` and ``reduce``, as the newer ``reduction``."""

from __future__ import annotations

import warnings

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]


def get_enum(reduction: str) -> int:
    """The number of a reduction in torch's C++: none 0, mean 1, sum 2.

    Raises:
        ValueError: there is no such reduction.
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return 1
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ("none", "mean", "sum").index(reduction)


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction for the given flags."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """``reduction`` for the given flags, with a warning that names it."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=3)
    return reduction
