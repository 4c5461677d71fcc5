"""Arithmetic that rounds where torch's compiled code rounds: C's functions, fused products and sums, and the normal fill built on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["box_muller", "fma32", "fma64", "one_by_one"]


def one_by_one(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """A function of the ``math`` module for each number: the C library's bits, where numpy's depend on the processor.

    It takes ten times as long as numpy's; where the result is rounded to float32 at once, numpy's serves.
    """
    return np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size).reshape(values.shape)


def fma32(a: np.ndarray, b: np.ndarray | float, c: np.ndarray | float) -> np.ndarray:
    """``a * b + c`` in float32 with one rounding; constants must be float32 values."""
    product = np.multiply(a, b, dtype=np.float64)  # exact
    product += c
    return product.astype(np.float32)


def fma64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """``a * b + c`` in float64 with one rounding, from the rounding errors of product and sum (T. J. Dekker, 1971)."""
    product = a * b
    if c == 0.0 or b == 1.0:
        return product + c
    high_a = a * 134217729.0  # 2**27 + 1 splits a significand of 53 bits in two halves
    high_a -= high_a - a
    high_b = b * 134217729.0
    high_b -= high_b - b
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    total = product + c
    rounded = total - product
    error += (product - (total - rounded)) + (c - rounded)
    return total + error


def _constants(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(value)) for value in values)


# The single precision logarithm, sine and cosine of the Cephes library (S. L. Moshier), which torch's vectorised normal fill evaluates.
_LOG = _constants(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1,
    -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2_LOW, _LN2_HIGH = _constants(-2.12194440e-4, 0.693359375)
_SIN = _constants(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _constants(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_PI_4 = _constants(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


def _rounded(values: np.ndarray) -> np.ndarray:
    """float64 ``values`` rounded to float32 ones in place: one operation in float64 and this is that operation in float32, fused or not."""
    values[...] = values.astype(np.float32)
    return values


def _polynomial(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    value = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        value += coefficient
        _rounded(value)
        value *= x
    value += coefficients[-1]
    return _rounded(value)


def _log32(x: np.ndarray) -> np.ndarray:
    """The logarithm of positive normal float32 numbers, as float64 that hold float32 values."""
    pattern = x.view(np.int32)
    significand = ((pattern & 0x7FFFFF) | 0x3F000000).view(np.float32)  # in [0.5, 1)
    small = significand < np.float32(math.sqrt(0.5))
    exponent = ((pattern >> 23) - 126 - small).astype(np.float64)
    x = (significand + significand * small - np.float32(1)).astype(np.float64)  # exact
    square = _rounded(x * x)
    y = _polynomial(x, _LOG)
    y *= x
    _rounded(y)
    y *= square
    y += _rounded(exponent * _LN2_LOW)
    _rounded(y)
    square *= -0.5
    y += square
    _rounded(y)
    y += x
    _rounded(y)
    exponent *= _LN2_HIGH
    exponent += y
    return _rounded(exponent)


def _sin_cos32(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of float32 angles that are not negative, as float64 that hold float32 values."""
    octant = ((x * np.float32(4 / math.pi)).astype(np.int32) + 1) & ~1
    turns, x = octant.astype(np.float64), x.astype(np.float64)
    for part in _PI_4:
        x += turns * part
        _rounded(x)
    square = _rounded(x * x)
    cosine = _polynomial(square, _COS)
    cosine *= square
    _rounded(cosine)
    cosine *= square
    cosine -= square * 0.5
    _rounded(cosine)
    cosine += 1.0
    _rounded(cosine)
    sine = _polynomial(square, _SIN)
    sine *= square
    _rounded(sine)
    sine *= x
    sine += x
    _rounded(sine)
    swap = (octant & 2) != 0
    sines, cosines = np.where(swap, cosine, sine), np.where(swap, sine, cosine)
    sines *= 1.0 - 0.5 * (octant & 4)  # the bit tells the sign
    cosines *= 0.5 * ((octant - 2) & 4) - 1.0
    return sines, cosines


#: Blocks of 16 handled at once: few enough for temporaries to stay in the cache (2048: 28 ms for a million numbers, all at once: 110 ms).
_ROWS = 2048


def box_muller(blocks: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Normal numbers from uniform ones in rows of 16: radii from the first eight, angles from the last eight."""
    first, second = blocks[:, :8], blocks[:, 8:]
    if blocks.dtype == np.float64:
        radius, angle = np.sqrt(-2.0 * one_by_one(math.log, 1.0 - first)), 2.0 * math.pi * second
        return fma64(np.concatenate([radius * one_by_one(math.cos, angle), radius * one_by_one(math.sin, angle)], axis=1), std, mean)
    result = np.empty_like(blocks)
    mean, std = _constants(mean, std)

    for start in range(0, len(blocks), _ROWS):
        rows = slice(start, start + _ROWS)
        radius = np.sqrt(-2.0 * _log32(np.float32(1) - first[rows]))
        _rounded(radius)
        sine, cosine = _sin_cos32(np.float32(2 * math.pi) * second[rows])
        for part, columns in ((cosine, slice(0, 8)), (sine, slice(8, 16))):
            part *= radius
            _rounded(part)
            part *= std
            part += mean
            result[rows, columns] = part
    return result
