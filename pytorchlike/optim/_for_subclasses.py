"""What optimizers written for torch import from ``torch.optim.optimizer`` beside `Optimizer`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.grad_mode import set_grad_enabled
from ..core import dtype as dtypes
from ..core.state import default_dtype
from ..tensors.tensor import Tensor

__all__ = ["ParamsT", "group_tensors"]

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


def group_tensors(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[tuple, tuple[list[list[Any]], list[int]]]:
    """Parallel lists of tensors, taken apart by device and dtype of those in the first list.

    Args:
        with_indices: also give the places of the tensors in the lists.
    """
    groups: dict[tuple, tuple[list[list[Any]], list[int]]] = {}
    for place, parallel in enumerate(zip(*tensorlistlist, strict=True)):
        first = parallel[0]
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for own, tensor in zip(lists, parallel):
            own.append(tensor)
        if with_indices:
            places.append(place)
    return groups


def _use_grad_for_differentiable(step: Callable) -> Callable:
    """A ``step`` that the tape records only if the optimizer is differentiable."""

    @functools.wraps(step)
    def switched(*args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(args[0].defaults["differentiable"]):
            return step(*args, **kwargs)

    return switched


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """(fused, foreach): neither, as a step is one program anyway."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Types of device on which step counts may live."""
    return ["cuda", "xla"] if supports_xla else ["cuda"]


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> dtypes.dtype:
    """The dtype of a step count."""
    return dtypes.float64 if default_dtype() is dtypes.float64 and not is_fused else dtypes.float32


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable | None = None) -> Callable[[Callable], Callable]:
    """A decorator that changes nothing."""
    return lambda function: function
