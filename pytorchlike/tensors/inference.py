"""Tensors made under ``inference_mode``: what may not be done with them outside of it, https://github.com/pytorch/rfcs/pull/17."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.value import InferenceValue, Value

__all__ = ["NOT_IN_PLACE", "NO_GRADIENT", "NO_VERSION", "refuse_saving", "was_used"]

NOT_IN_PLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before doing inplace "
    "update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
NO_GRADIENT = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
NO_VERSION = "Inference tensors do not track version counter."
_NOT_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by autograd. To "
    "work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)

#: Whether ``inference_mode`` was entered in this process: before that, nothing has to be looked at.
was_used = False


def refuse_saving(values: Sequence[Value]) -> None:
    """Refuse to keep inference values for backward.

    Raises:
        RuntimeError: torch's text.
    """
    for value in values:
        if value.__class__ is InferenceValue:
            raise RuntimeError(_NOT_SAVED)
