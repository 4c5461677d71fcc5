"""The windows of `torch.signal.windows`: computed on the host in double precision, then rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core.dtype import float32, float64
from ..dispatch.registry import FUNCTION, composite, op
from .create import PLACED, Target

OPTIONS = f"bool sym=True, {PLACED}"


@op("_signal_window(str shape, int length, float period, float[] numbers, ScalarType dtype) -> Tensor", namespaces=(), forms=FUNCTION, differentiable=False)
def signal_window(shape, length, period, numbers, dtype):
    """A window of one of the shapes of `_SHAPES`."""
    return _SHAPES[shape](np.arange(length), period, *numbers)


def _kaiser(n, period, beta):
    x = np.minimum(n * (2 * beta / period) - beta, beta)
    return np.i0(np.sqrt(np.maximum(beta * beta - x * x, 0))) / np.i0(beta)


#: Functions of the elements' numbers, the period, and what else a shape needs.
_SHAPES: dict[str, Callable] = {
    "bartlett": lambda n, period: 1 - np.abs(n * (2 / period) - 1),
    "cosine": lambda n, period: np.sin((n + 0.5) * (math.pi / period)),
    "exponential": lambda n, period, tau, center: np.exp(-np.abs(n - center) / tau),
    "gaussian": lambda n, period, deviation: np.exp(-(((n - period / 2) / deviation) ** 2) / 2),
    "general_cosine": lambda n, period, *a: sum((-1) ** i * w * np.cos(i * n * (2 * math.pi / period)) for i, w in enumerate(a)),
    "kaiser": _kaiser,
}


def _target(function: str, length: int, options: dict[str, Any]) -> Target:
    """What the window is to be.

    Raises:
        ValueError: a length, layout or dtype that there is no window for, torch's texts.
    """
    layout = options.pop("layout")
    target = Target(function, layout=None, **options)
    if length < 0:
        raise ValueError(f"{function} requires non-negative window length, got M={length}")
    if layout is not None and str(layout) != "torch.strided":
        raise ValueError(f"{function} is implemented for strided tensors only, got: {layout}")
    if target.dtype not in (float32, float64):
        raise ValueError(f"{function} expects float32 or float64 dtypes, got: {target.dtype}")
    return target


def _windows(schema: str) -> Callable:
    return composite(schema, forms=FUNCTION, namespaces=("signal.windows",))


def _cosines(function: str, M: int, a: Any, sym: bool, options: dict[str, Any]) -> Any:
    target = _target(function, M, options)
    if M <= 1:
        return target.fill((M,), 1)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return target.make(signal_window, "general_cosine", M, float(M - 1 if sym else M), tuple(map(float, a)))


@_windows(f"general_cosine(int M, *, Any a, {OPTIONS}) -> Tensor")
def general_cosine(M, *, a, sym, **options):
    """The sum of cosines of 0, 1, 2 ... periods with the weights ``a``, of alternating sign."""
    return _cosines("general_cosine", M, a, sym, options)


@_windows(f"general_hamming(int M, *, float alpha=0.54, {OPTIONS}) -> Tensor")
def general_hamming(M, *, alpha, sym, **options):
    """``alpha - (1 - alpha) cos``."""
    return _cosines("general_cosine", M, [alpha, 1.0 - alpha], sym, options)


@_windows(f"hamming(int M, *, {OPTIONS}) -> Tensor")
def hamming(M, *, sym, **options):
    """The Hamming window, ``0.54 - 0.46 cos``."""
    return _cosines("general_cosine", M, [0.54, 0.46], sym, options)


@_windows(f"hann(int M, *, {OPTIONS}) -> Tensor")
def hann(M, *, sym, **options):
    """The Hann window, ``0.5 - 0.5 cos``."""
    return _cosines("general_cosine", M, [0.5, 0.5], sym, options)


@_windows(f"blackman(int M, *, {OPTIONS}) -> Tensor")
def blackman(M, *, sym, **options):
    """The Blackman window of three cosines."""
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, options)


@_windows(f"nuttall(int M, *, {OPTIONS}) -> Tensor")
def nuttall(M, *, sym, **options):
    """The Nuttall window of four cosines.

    Ref: Nuttall, IEEE Trans. Acoust. Speech Signal Process. 29 (1981).
    """
    return _cosines("general_cosine", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, options)


@_windows(f"bartlett(int M, *, {OPTIONS}) -> Tensor")
def bartlett(M, *, sym, **options):
    """The triangular window that starts at 0."""
    target = _target("bartlett", M, options)
    return target.fill((M,), 1) if M <= 1 else target.make(signal_window, "bartlett", M, float(M - 1 if sym else M), ())


@_windows(f"cosine(int M, *, {OPTIONS}) -> Tensor")
def cosine(M, *, sym, **options):
    """Half a period of the sine."""
    return _target("cosine", M, options).make(signal_window, "cosine", M, float(max(M, 1) if sym or M <= 1 else M + 1), ())


@_windows(f"exponential(int M, *, float? center=None, float tau=1.0, {OPTIONS}) -> Tensor")
def exponential(M, *, center, tau, sym, **options):
    """``exp(-abs(n - center) / tau)``; the centre of a symmetric window is its middle."""
    target = _target("exponential", M, options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M - 1 if sym or M <= 1 else M) / 2 if center is None else center
    return target.make(signal_window, "exponential", M, 0.0, (float(tau), float(middle)))


@_windows(f"gaussian(int M, *, float std=1.0, {OPTIONS}) -> Tensor")
def gaussian(M, *, std, sym, **options):
    """The normal density of standard deviation ``std``, 1 in the middle."""
    target = _target("gaussian", M, options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return target.make(signal_window, "gaussian", M, float(M - 1 if sym or M <= 1 else M), (float(std),))


@_windows(f"kaiser(int M, *, float beta=12.0, {OPTIONS}) -> Tensor")
def kaiser(M, *, beta, sym, **options):
    """The Kaiser window of shape ``beta``."""
    target = _target("kaiser", M, options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return target.fill((M,), 1) if M <= 1 else target.make(signal_window, "kaiser", M, float(M - 1 if sym else M), (float(beta),))
