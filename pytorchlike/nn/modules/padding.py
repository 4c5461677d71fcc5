"""Padding layers."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d",
    "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

#: Number of dimensions -> what turns a number into the padding at both ends of each of them.
_ENDS = {1: _pair, 2: _quadruple, 3: _ntuple(6)}


class _Pad(Module):
    """Pads the last ``_spatial`` dimensions in one of `pad`'s modes."""

    __constants__ = ["padding"]
    _spatial: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ENDS[self._spatial](padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]
    _spatial: int

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.value = value
        self.padding = _ENDS[self._spatial](padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._spatial + 1, self._spatial + 2):
            raise ValueError(f"expected {self._spatial + 1}D or {self._spatial + 2}D input (got {input.dim()}D input)")


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class CircularPad1d(_CircularPadNd):
    """Continues a sequence periodically."""

    _spatial = 1


class CircularPad2d(_CircularPadNd):
    """Continues an image periodically."""

    _spatial = 2


class CircularPad3d(_CircularPadNd):
    """Continues a volume periodically."""

    _spatial = 3


class ConstantPad1d(_ConstantPadNd):
    """Continues a sequence with a number."""

    _spatial = 1


class ConstantPad2d(_ConstantPadNd):
    """Continues an image with a number."""

    _spatial = 2


class ConstantPad3d(_ConstantPadNd):
    """Continues a volume with a number."""

    _spatial = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Continues a sequence by its mirror image, the edge not repeated."""

    _spatial = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Continues an image by its mirror image, the edge not repeated."""

    _spatial = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Continues a volume by its mirror image, the edge not repeated."""

    _spatial = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Continues a sequence by its edge."""

    _spatial = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Continues an image by its edge."""

    _spatial = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Continues a volume by its edge."""

    _spatial = 3


class ZeroPad1d(ConstantPad1d):
    """Continues a sequence with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Continues an image with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Continues a volume with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
