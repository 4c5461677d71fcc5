"""``torch.onnx``: nothing is exported; programs that ask whether they are being exported get an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: there is no exporter."""
    raise NotImplementedError("torch.onnx.export is not supported by pytorchlike")


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable, opset_version: int) -> None:
    """Accepted without effect: how an exporter would write a library's operator."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted without effect."""
