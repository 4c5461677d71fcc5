"""Dropout layers: active while training only."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    _functional: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._functional)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes each element with probability ``p`` and scales the rest by ``1 / (1 - p)``."""

    _functional = "dropout"


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of sequences."""

    _functional = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of images."""

    _functional = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of volumes."""

    _functional = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of inputs from `SELU`, arXiv:1706.02515."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
