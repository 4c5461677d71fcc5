"""The older way to say how a loss is reduced, ``size_average`` and ``reduce``, as the newer ``reduction``."""

from __future__ import annotations

import warnings

__all__ = ["legacy_get_string"]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """``reduction`` for the given flags, with a warning that names it."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=3)
    return reduction
