"""What torch lets users pass as ``options={"guard_filter_fn": ...}``, to check fewer guards.

All guards are checked here, as their time is small and a wrong result is worse; the functions answer as torch's, for code that combines them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn.parameter import Parameter

__all__ = [
    "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe",
]  # fmt: skip


def keep_portable_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Tensors of arguments, sizes, and settings of the process."""
    return [g.guard_type in ("GLOBAL_STATE", "SHAPE_ENV") or g.guard_type == "TENSOR_MATCH" and not g.is_global for g in guard_entries]


def keep_tensor_guards_unsafe(guard_entries: Sequence[Any], keep_parameters: bool = False) -> list[bool]:
    """Tensors, with or without parameters."""
    return [g.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(g.value, Parameter)) for g in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """All but globals."""
    return [not g.is_global for g in guard_entries]


def skip_all_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """None."""
    return [False] * len(guard_entries)


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """All but attributes of torch's own modules."""
    return [not g.orig_guard.source.is_unspecialized_builtin_nn_module() for g in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """All but attributes of modules."""
    return [not g.orig_guard.source.is_unspecialized_nn_module() for g in guard_entries]
