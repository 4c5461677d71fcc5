"""``torch.onnx``: nothing is exported; programs that ask whether they are being exported get an answer."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: there is no exporter."""
    raise NotImplementedError("torch.onnx.export is not supported by pytorchlike")
