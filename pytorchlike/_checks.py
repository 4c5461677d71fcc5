"""``torch._check`` and its kin: errors of a class for a condition, as shape functions of operators raise them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .core.dtype import bool_
from .dispatch import overrides
from .tensors.tensor import Tensor

__all__ = [
    "_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value",
    "_check_with",
]  # fmt: skip


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise an error unless a condition holds.

    Args:
        message: makes the text; called only then.

    Raises:
        error_type: it does not hold; TypeError: it is no bool, or the message cannot be called, torch's texts.
    """
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to PyTorch.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


_check = functools.partial(_check_with, RuntimeError)
_check_index = functools.partial(_check_with, IndexError)
_check_value = functools.partial(_check_with, ValueError)
_check_type = functools.partial(_check_with, TypeError)
_check_not_implemented = functools.partial(_check_with, NotImplementedError)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise a RuntimeError unless a number may be a size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise an error unless all elements of a tensor of bools are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)  # type: ignore[attr-defined]


_check_tensor_all = functools.partial(_check_tensor_all_with, RuntimeError)


def _assert(condition: Any, message: str) -> None:
    """``assert`` as a call, which `torch.fx` keeps in a graph.

    Raises:
        AssertionError: it does not hold.
    """
    if type(condition) is not Tensor and overrides.wanted((condition,)):
        overrides.hand_over(_assert, (condition, message), {}, (condition,))
    elif not condition:
        raise AssertionError(message)


_assert.__module__ = "torch"
