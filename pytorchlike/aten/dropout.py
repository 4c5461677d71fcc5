"""The dropout family: the noise is drawn from the default generator, the rest is arithmetic."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..dispatch.registry import FUNCTION, composite
from .random import dropout_noise, feature_noise, keep_mask
from .reduce import scalar_type

_PUBLIC = ("nn.functional",)
#: The value that dropped elements take in alpha dropout: SELU's limit for large negative inputs, negated (arXiv:1706.02515).
_ALPHA = 1.7580993408473766


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _times(input, noise, inplace: bool):
    return input.mul_(noise) if inplace else input.mul(noise)


def _check_dtype(input) -> None:
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_type(input.dtype.numpy)}")


def _dropped(input, p: float, training: bool, inplace: bool):
    if not training or p == 0 or input.numel() == 0:
        return input
    _check_dtype(input)
    return _times(input, dropout_noise(input, p), inplace)


def _features_dropped(input, p: float, training: bool, inplace: bool):
    if not training or p == 0 or input.numel() == 0:
        return input
    _check_dtype(input)
    return _times(input, feature_noise(input, p), inplace)


def _without_batch(input, ndim: int, p: float, training: bool, inplace: bool):
    """`_features_dropped` for inputs of ``ndim`` dimensions, or one less: without a batch."""
    if input.dim() == ndim:
        return _features_dropped(input, p, training, inplace)
    result = _features_dropped(input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def _alpha_dropped(input, p: float, training: bool, inplace: bool, features: bool):
    """Elements are replaced by ``-_ALPHA``, then all are scaled so that mean 0 and variance 1 stay."""
    if not training or p == 0 or input.numel() == 0:
        return input
    _check_dtype(input)
    kept: Any = keep_mask(input, p, features=features)
    if p == 1:
        return _times(input, kept, inplace)
    scale = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (kept - 1) * (_ALPHA * scale) + _ALPHA * scale * p
    result = _times(input, kept * scale, inplace)
    return result.add_(shift) if inplace else result + shift


@composite("dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def dropout(input, p=0.5, training=True, inplace=False):
    """In training every element is zeroed with probability ``p``, the others are scaled by ``1 / (1 - p)``."""
    _check_probability(p)
    return _dropped(input, p, training, inplace)


@composite(
    "alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC
)
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of what SELU returns."""
    _check_probability(p)
    return _alpha_dropped(input, p, training, inplace, features=False)


@composite(
    "feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Alpha dropout of whole feature maps."""
    _check_probability(p)
    return _alpha_dropped(input, p, training, inplace, features=True)


@composite("dropout1d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def dropout1d(input, p=0.5, training=True, inplace=False):
    """In training whole channels of ``(N, C, L)`` or ``(C, L)`` are zeroed with probability ``p``."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _without_batch(input, 3, p, training, inplace)


@composite("dropout2d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def dropout2d(input, p=0.5, training=True, inplace=False):
    """In training whole channels of ``(N, C, H, W)`` are zeroed with probability ``p``; a 3-D input counts as ``(N, C, L)``."""
    _check_probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an error in a future release. "
            "To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to provide channel-wise "
            "dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=3,
        )
    elif input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is interpreted "
            "as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
            "dropout1d instead.",
            stacklevel=3,
        )
    return _features_dropped(input, p, training, inplace)


@composite("dropout3d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def dropout3d(input, p=0.5, training=True, inplace=False):
    """In training whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)`` are zeroed with probability ``p``."""
    _check_probability(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated and will result in an error in a future release. "
            "To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to provide channel-wise "
            "dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=3,
        )
    return _without_batch(input, 5, p, training, inplace)


def _declare_native(name: str, run: Callable) -> None:
    """``torch.NAME(input, p, train)`` and the form that works in place."""

    @composite(f"{name}.train(Tensor input, float p, bool train) -> Tensor", forms=FUNCTION)
    def native(input, p, train):
        """The function of `nn.functional`, in the argument order of the operator."""
        _check_probability(p)
        return run(input, p, train, False)

    @composite(f"{name}_(Tensor(a!) input, float p, bool train) -> Tensor(a!)", forms=FUNCTION)
    def native_inplace(input, p, train):
        """The same in place."""
        _check_probability(p)
        return run(input, p, train, True)


_declare_native("dropout", _dropped)
_declare_native("feature_dropout", _features_dropped)
_declare_native("alpha_dropout", lambda input, p, train, inplace: _alpha_dropped(input, p, train, inplace, False))
_declare_native("feature_alpha_dropout", lambda input, p, train, inplace: _alpha_dropped(input, p, train, inplace, True))
