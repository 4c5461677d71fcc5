"""Draws that cannot know how many numbers of the stream they will take: gamma, Dirichlet, binomial and Poisson numbers.

Like those of `draws`, they give torch's numbers bit for bit and leave the generator in the same state.  They run on the host, one number
after the other, at about a microsecond each: the next one begins where the stream stands when the last one was accepted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

import numpy as np

from ..core.dtype import float32, float64
from .draws import _FLOATS, _dtype_of, _refuse
from .generator import Generator

__all__ = ["binomial", "dirichlet", "gamma", "poisson"]

#: Uniform numbers that are drawn at once; those left over are put back.
_PIECE = 512


class _OneByOne:
    """53-bit uniform and normal numbers one after the other; on leaving the block the generator stands behind the last one taken.

    Attributes:
        uniform: gives the next number in [0, 1).
        normal: gives the next standard normal number; they come in pairs, whose second one waits, in the generator too.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    def __enter__(self) -> _OneByOne:
        self._before = self._generator.packed_state()
        self._waiting = self._generator._normal
        self._drawn = 0
        self._rest: Iterator[float] = iter(())
        self.uniform = self._uniforms().__next__
        self.normal = self._normals().__next__
        return self

    def _uniforms(self) -> Iterator[float]:
        while True:
            self._rest = iter(self._generator.uniform64(_PIECE).tolist())
            self._drawn += _PIECE
            yield from self._rest

    def _normals(self) -> Iterator[float]:
        while True:
            second = self._waiting
            if second is None:
                angle, complement = self.uniform(), self.uniform()
                radius = math.sqrt(-2.0 * math.log1p(-complement))
                angle *= 2.0 * math.pi
                second = self._waiting = radius * math.sin(angle)
                yield radius * math.cos(angle)
            self._waiting = None
            yield second

    def __exit__(self, *raised: object) -> None:
        self._generator.unpack_state(self._before)
        self._generator.words32(2 * (self._drawn - operator.length_hint(self._rest)))
        self._generator._normal = self._waiting


# --- gamma and Dirichlet ---------------------------------------------------------------------------------------------------------------


def gamma(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """What ``_standard_gamma`` draws: a number of rate 1 for each concentration, never below the dtype's smallest normal number.

    Raises:
        NotImplementedError: the dtype is neither float32 nor float64.
    """
    kind = _dtype_of(concentration)
    if kind not in (float32, float64):
        _refuse("gamma_cpu", kind)
    return _at_least_tiny(_gammas(generator, concentration).astype(concentration.dtype))


def dirichlet(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """What ``_sample_dirichlet`` draws: gamma numbers of double precision, divided by their sums over the last dimension.

    Raises:
        NotImplementedError: the dtype is neither float32 nor float64.
    """
    kind = _dtype_of(concentration)
    if kind not in (float32, float64):
        _refuse("dirichlet", kind)
    gammas = _at_least_tiny(_gammas(generator, concentration.astype(np.float64)))
    shares = (gammas / gammas.sum(axis=-1, keepdims=True)).astype(concentration.dtype)
    one = shares.dtype.type(1)
    return np.minimum(_at_least_tiny(shares), np.nextafter(one, shares.dtype.type(0)))


def _at_least_tiny(values: np.ndarray) -> np.ndarray:
    """NaN becomes the smallest normal number, too, as in C++'s ``max``."""
    tiny = np.finfo(values.dtype).tiny
    return np.where(values > tiny, values, tiny)


def _gammas(generator: Generator, concentration: np.ndarray) -> np.ndarray:
    """Double-precision gamma numbers; what depends on the concentration alone is rounded to its dtype, as in torch.

    Ref: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000, doi:10.1145/358407.358414; below 1 by a
    number of the concentration plus one times a power of a uniform number.
    """
    alpha = concentration.ravel()
    real = alpha.dtype.type
    small = alpha < 1
    third, squeeze = real(np.float32(1) / np.float32(3)), float(np.float32(0.0331))  # torch writes them as C++ floats
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        shape = (np.where(small, alpha + real(1), alpha) - third).astype(np.float64)
        slope = 1.0 / np.sqrt(9.0 * shape)
        power = np.where(small, (real(1) / alpha).astype(np.float64), 0.0)
    values = np.zeros(alpha.shape)
    log = math.log
    with _OneByOne(generator) as numbers:
        uniform, normal = numbers.uniform, numbers.normal
        for i, (zero, d, c, exponent) in enumerate(zip((alpha == 0).tolist(), shape.tolist(), slope.tolist(), power.tolist())):
            if zero:
                continue
            scale = _power(1.0 - uniform(), exponent) if exponent else 1.0
            while True:
                x = normal()
                y = 1.0 + c * x
                if y <= 0.0:
                    continue
                v = y * y * y
                u = 1.0 - uniform()
                xx = x * x
                if u < 1.0 - squeeze * xx * xx or log(u) < 0.5 * xx + d * (1.0 - v + log(v)):
                    break
            values[i] = scale * d * v
    return values.reshape(concentration.shape)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


# --- counts ----------------------------------------------------------------------------------------------------------------------------


def binomial(generator: Generator, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """What ``binomial`` draws for arrays of one shape and dtype: geometric waiting times while few successes are expected, else rejection.

    Raises:
        NotImplementedError: the dtype is neither float32 nor float64.
    """
    kind = _dtype_of(count)
    if kind not in (float32, float64):
        _refuse("binomial_cpu", kind)
    with _OneByOne(generator) as numbers:
        values = [_binomial(n, p, numbers.uniform) for n, p in zip(count.ravel().tolist(), prob.ravel().tolist())]
    return np.array(values, np.float64).astype(count.dtype).reshape(count.shape)


def _binomial(n: float, p: float, uniform: Callable[[], float]) -> float:
    if n <= 0.0 or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return n
    if p > 0.5:
        return n - _binomial(n, 1.0 - p, uniform)
    if math.isnan(p) or math.isnan(n):
        return math.nan
    return _successes_by_rejection(n, p, uniform) if n * p >= 10.0 else _successes_by_waiting(n, p, uniform)


def _successes_by_waiting(n: float, p: float, uniform: Callable[[], float]) -> float:
    """Adds up how many trials each next success takes, until they are more than ``n``."""
    successes, trials, log_failure = 0.0, 0.0, math.log1p(-p)
    while True:
        u = uniform()
        trials += math.ceil(math.log(u) / log_failure) if u else math.inf
        if trials > n:
            return successes
        successes += 1.0


def _successes_by_rejection(n: float, p: float, uniform: Callable[[], float]) -> float:
    """Ref: W. Hoermann, "The generation of binomial random variates", 1993, algorithm BTRS."""
    spread = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center = n * p + 0.5
    accept = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((n + 1) * p)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + center) if us else -1
        if us >= 0.07 and v <= accept:
            return k
        if k < 0 or k > n:
            continue
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling_rest(mode) + _stirling_rest(n - mode) - _stirling_rest(k) - _stirling_rest(n - k)
        )  # fmt: skip
        if v == 0.0 or math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _stirling_rest(k: float) -> float:
    """What Stirling's formula lacks to the logarithm of ``k!``."""
    above = k + 1
    if k <= 9:
        return math.lgamma(above) - ((k + 0.5) * math.log(above) - above + 0.5 * math.log(2 * math.pi))
    return (1 / 12 - (1 / 360 - 1 / 1260 / (above * above)) / (above * above)) / above


def poisson(generator: Generator, rates: np.ndarray) -> np.ndarray:
    """What ``poisson(rates)`` draws, one rate after the other: products of uniforms below 10, from there on transformed rejection.

    Raises:
        RuntimeError: a rate is negative.

    Ref: W. Hoermann, "The transformed rejection method for generating Poisson random variables", 1993, algorithm PTRS.
    """
    kind = _dtype_of(rates)
    if kind not in _FLOATS:
        _refuse("poisson_cpu", kind)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with _OneByOne(generator) as numbers:
        values = [_poisson(rate, numbers.uniform) for rate in rates.ravel().tolist()]
    return np.array(values, np.float64).astype(rates.dtype).reshape(rates.shape)


def _poisson(rate: float, uniform: Callable[[], float]) -> int:
    if rate == 0.0:
        return 0
    if rate < 10.0:
        limit, product, count = math.exp(-rate), uniform(), 0
        while product > limit:
            product *= uniform()
            count += 1
        return count
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    accept = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        count = math.floor((2.0 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= accept:
            return count
        if count < 0 or (us < 0.013 and v > us):
            continue
        if v == 0.0 or math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= (
            -rate + count * log_rate - math.lgamma(count + 1)
        ):
            return count
