"""Bessel and Airy functions of `torch.special`; like torch's they have no derivatives.

JAX has none of these but I0 and I1.  Small arguments take the power series, or the integral over a circle, whose trapezoidal sum converges
geometrically; larger ones take one integral for all: with ``s = sqrt(2 z) sinh(t / 2)`` the integral of K (DLMF 10.32.9) becomes
``exp(-z) / sqrt(z / 2)`` times that of ``exp(-s^2)`` times a smooth function, which some twenty equal steps evaluate to double precision.
H = J + iY is K on the imaginary axis, the Airy function is K of order 1/3.

Ref: DLMF (https://dlmf.nist.gov) sections 9.4, 9.6, 10.8, 10.9, 10.31, 10.32; Trefethen and Weideman, SIAM Review 56 (2014), for the sums.
"""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.lazy import LazyModule
from ..dispatch.registry import FUNCTION, OUT, Promote, op
from .elementwise import BOOL, FLOATING, INTEGRAL, refuse_half, supports

special = LazyModule("jax.scipy.special")

_bessel = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=FUNCTION | OUT, namespaces=("special",), differentiable=False)


# ------------------------------------------------------------------------------------------------------------------ the integral
class _Steps:
    """The points of the trapezoidal sum of ``exp(-s^2) f(s)`` over ``s > 0``, normalized to 1 for ``f = 1``.

    Its error is ``exp(-2 pi d / step)`` where the nearest singularity of f is d away from the real axis.
    """

    def __init__(self, step: float) -> None:
        s = np.arange(0, 6.4, step)
        self.squares = s * s
        self.weights = np.exp(-self.squares) * (2 * step / math.sqrt(math.pi))
        self.weights[0] /= 2

    def sum(self, values):
        """The sum over the last axis of f's values."""
        return jnp.sum(values * self.weights.astype(values.real.dtype), -1)

    def over(self, x):
        """``s^2 / (2 x)`` with the points along a new last axis."""
        return self.squares.astype(x.dtype) / (2 * x[..., None])


_WIDE = _Steps(0.3)  # for arguments whose singularity is 2 away
_NARROW = _Steps(0.18)  # 1.15 away


def _polynomial(coefficients: list[float], t):
    """The power series with these coefficients, by Horner's rule."""
    value = jnp.zeros_like(t)
    for c in reversed(coefficients):
        value = value * t + c
    return value


#: Harmonic numbers H_k, from H_0 = 0 on; with digamma(k + 1) = H_k - gamma.
_HARMONIC = [sum(1 / i for i in range(1, k + 1)) for k in range(25)]
#: Of the logarithmic series of order 0 and 1 (DLMF 10.31.2, 10.31.1).
_ORDER_0 = [_HARMONIC[k] / math.factorial(k) ** 2 for k in range(24)]
_ORDER_1 = [(_HARMONIC[k] + _HARMONIC[k + 1] - 2 * np.euler_gamma) / (math.factorial(k) * math.factorial(k + 1)) for k in range(24)]


# ------------------------------------------------------------------------------------------------------------------------ J and Y
_SMALL = 4.0  # up to here J by the circle and Y by its series
_SINES = np.sin(np.pi * (np.arange(7) + 0.5) / 14)


def _j0_small(x):
    return jnp.mean(jnp.cos(x[..., None] * _SINES.astype(x.dtype)), -1)


def _j1_small(x):
    sines = _SINES.astype(x.dtype)
    return jnp.mean(sines * jnp.sin(x[..., None] * sines), -1)


def _hankel(x, order: int):
    """J and Y of order 0 or 1 for large x: ``sqrt(2 / (pi x)) (P + iQ) exp(i (x - pi / 4 - order pi / 2))``."""
    y = _WIDE.over(x)
    size = 1 + y * y
    real = jnp.sqrt((jnp.sqrt(size) + 1) / (2 * size))  # of (1 + iy) ** -0.5
    imaginary = -y / (2 * size * real)
    if order:
        real, imaginary = real - 2 * y * imaginary, imaginary + 2 * y * real
    p, q = _WIDE.sum(real), _WIDE.sum(imaginary)
    sine, cosine = jnp.sin(x), jnp.cos(x)
    along, across = (sine + cosine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)  # cos and sin of the phase, times sqrt(2)
    amplitude = 1 / jnp.sqrt(math.pi * x)
    return amplitude * (p * along - q * across), amplitude * (p * across + q * along)


@_bessel("bessel_j0(Tensor self) -> Tensor")
def bessel_j0(self):
    """The Bessel function of the first kind of order 0."""
    x = jnp.abs(self)
    return jnp.where(x <= _SMALL, _j0_small(x), _hankel(jnp.maximum(x, _SMALL), 0)[0])


@_bessel("bessel_j1(Tensor self) -> Tensor")
def bessel_j1(self):
    """The Bessel function of the first kind of order 1."""
    x = jnp.abs(self)
    return jnp.where(x <= _SMALL, _j1_small(self), jnp.sign(self) * _hankel(jnp.maximum(x, _SMALL), 1)[0])


@_bessel("bessel_y0(Tensor self) -> Tensor")
def bessel_y0(self):
    """The Bessel function of the second kind of order 0; -inf at zero, NaN below."""
    x = self
    small = 2 / math.pi * ((jnp.log(x / 2) + np.euler_gamma) * _j0_small(x) - _polynomial(_ORDER_0, -x * x / 4))
    return jnp.where(x <= _SMALL, jnp.where(x == 0, -jnp.inf, small), _hankel(jnp.maximum(x, _SMALL), 0)[1])


@_bessel("bessel_y1(Tensor self) -> Tensor")
def bessel_y1(self):
    """The Bessel function of the second kind of order 1; -inf at zero, NaN below."""
    x = self
    series = -2 / x + 2 * jnp.log(x / 2) * _j1_small(x) - x / 2 * _polynomial(_ORDER_1, -x * x / 4)
    return jnp.where(x <= _SMALL, jnp.where(x == 0, -jnp.inf, series / math.pi), _hankel(jnp.maximum(x, _SMALL), 1)[1])


@_bessel("spherical_bessel_j0(Tensor self) -> Tensor")
def spherical_bessel_j0(self):
    """``sin(x) / x``."""
    return jnp.where(jnp.isinf(self), 0, jnp.where(self == 0, 1, jnp.sin(self) / self))


# ------------------------------------------------------------------------------------------------------------------------ I and K
@_bessel("modified_bessel_i0(Tensor self) -> Tensor")
def modified_bessel_i0(self):
    """The modified Bessel function of the first kind of order 0."""
    return jnp.where(jnp.isinf(self), jnp.nan, special.i0(self))


@_bessel("modified_bessel_i1(Tensor self) -> Tensor")
def modified_bessel_i1(self):
    """The modified Bessel function of the first kind of order 1."""
    return jnp.where(jnp.isinf(self), jnp.nan, special.i1(self))


def _scaled_k0(x):
    small = -(jnp.log(x / 2) + np.euler_gamma) * special.i0(x) + _polynomial(_ORDER_0, x * x / 4)
    large = jnp.sqrt(math.pi / (2 * x)) * _WIDE.sum(lax.rsqrt(1 + _WIDE.over(x)))
    return jnp.where(x <= 2, jnp.where(x == 0, jnp.inf, small * jnp.exp(x)), large)


def _scaled_k1(x):
    small = 1 / x + jnp.log(x / 2) * special.i1(x) - x / 4 * _polynomial(_ORDER_1, x * x / 4)
    y = _WIDE.over(x)
    large = jnp.sqrt(math.pi / (2 * x)) * _WIDE.sum((1 + 2 * y) * lax.rsqrt(1 + y))
    return jnp.where(x <= 2, jnp.where(x == 0, jnp.inf, small * jnp.exp(x)), large)


@_bessel("modified_bessel_k0(Tensor self) -> Tensor")
def modified_bessel_k0(self):
    """The modified Bessel function of the second kind of order 0; inf at zero, NaN below."""
    return _scaled_k0(self) * jnp.exp(-self)


@_bessel("modified_bessel_k1(Tensor self) -> Tensor")
def modified_bessel_k1(self):
    """The modified Bessel function of the second kind of order 1; inf at zero, NaN below."""
    return _scaled_k1(self) * jnp.exp(-self)


@_bessel("scaled_modified_bessel_k0(Tensor x) -> Tensor")
def scaled_modified_bessel_k0(x):
    """`modified_bessel_k0` times ``exp(x)``."""
    return _scaled_k0(x)


@_bessel("scaled_modified_bessel_k1(Tensor x) -> Tensor")
def scaled_modified_bessel_k1(x):
    """`modified_bessel_k1` times ``exp(x)``."""
    return _scaled_k1(x)


# --------------------------------------------------------------------------------------------------------------------------- Airy
def _airy_coefficients(first: int) -> list[float]:
    """Of the Maclaurin series in ``x^3`` (DLMF 9.4.1) of the solution that starts with ``x ** first``."""
    found = [1.0]
    for k in range(1, 14):
        found.append(found[-1] / ((3 * k - 1 + first) * (3 * k + first)))
    return found


_AIRY_AT_0 = 3 ** (-2 / 3) / math.gamma(2 / 3)
_SLOPE_AT_0 = -(3 ** (-1 / 3)) / math.gamma(1 / 3)


@_bessel("airy_ai(Tensor x) -> Tensor")
def airy_ai(x):
    """The Airy function Ai."""
    cube = jnp.clip(x, -1.6, 1) ** 3
    middle = _AIRY_AT_0 * _polynomial(_airy_coefficients(0), cube) + _SLOPE_AT_0 * x * _polynomial(_airy_coefficients(1), cube)
    size = jnp.maximum(jnp.abs(x), 1)
    zeta = 2 / 3 * size * jnp.sqrt(size)
    u = _NARROW.over(zeta)
    amplitude = 1 / math.sqrt(math.pi) / jnp.sqrt(jnp.sqrt(size))
    right = amplitude / 2 * jnp.exp(-zeta) * _NARROW.sum(jnp.cosh(2 / 3 * jnp.arcsinh(jnp.sqrt(u))) * lax.rsqrt(1 + u))
    # to the left Ai is twice the real part of K at imaginary argument, s^2 / (2 i zeta) = -iu
    root = jnp.sqrt(lax.complex(jnp.ones_like(u), -u))
    turned = jnp.sqrt(u / 2)
    power = jnp.log(lax.complex(turned, -turned) + root) * (2 / 3)
    left = _NARROW.sum(jnp.cosh(power) / root) * jnp.exp(lax.complex(jnp.zeros_like(zeta), math.pi / 4 - zeta))
    found = jnp.where(x > 1, right, jnp.where(x < -1.6, amplitude * left.real, middle))
    return jnp.where(jnp.isinf(x), jnp.nan, found)


for _operator in (bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0, modified_bessel_i0, modified_bessel_i1, modified_bessel_k0,
                  modified_bessel_k1, scaled_modified_bessel_k0, scaled_modified_bessel_k1, airy_ai):  # fmt: skip
    supports(_operator, f"{_operator.name}_cpu", BOOL, INTEGRAL, FLOATING)
    refuse_half(_operator, f"{_operator.name}_cpu")
