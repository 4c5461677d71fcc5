"""Functions of two floats, element by element: angles, lengths, logarithms of sums, binary exponents."""

from __future__ import annotations

import functools

import jax.numpy as jnp

from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, Promote, op
from .elementwise import BOOL, COMPLEX, FLOATING, INTEGRAL, category, rounded_once, supports

_binary = functools.partial(op, promote=Promote.DEFAULT, forms=ALL_FORMS)
_float_binary = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=ALL_FORMS)


@_float_binary("atan2(Tensor self, Tensor other) -> Tensor", aliases=("arctan2",), numbers=())
@rounded_once
def atan2(self, other):
    """The angle of the point (other, self), in [-pi, pi].  Grad: 0 at the origin."""
    return jnp.arctan2(self, other)


def _over_square(numerator, self, other):
    square = self * self + other * other
    return jnp.where(square == 0, 0, numerator / jnp.where(square == 0, 1, square))


@atan2.grad("self")
@rounded_once
def _(g, self, other):
    return g * _over_square(other, self, other)


@atan2.grad("other")
@rounded_once
def _(g, self, other):
    return g * _over_square(-self, self, other)


supports(atan2, "atan2_cpu", BOOL, INTEGRAL, FLOATING)


@_binary("hypot(Tensor self, Tensor other) -> Tensor", numbers=())
@rounded_once
def hypot(self, other):
    """The length of the hypotenuse."""
    return jnp.hypot(self, other)


@hypot.grad("self")
@rounded_once
def _(g, self, result):
    return g * (self / result)


@hypot.grad("other")
@rounded_once
def _(g, other, result):
    return g * (other / result)


supports(hypot, "hypot_cpu", FLOATING)


@_float_binary("copysign.Tensor(Tensor self, Tensor other) -> Tensor", numbers=("other",))
def copysign(self, other):
    """The magnitude of ``self`` with the sign of ``other``."""
    return jnp.copysign(self, other)


@copysign.grad("self")
def _(g, self, result):
    return jnp.where(self == 0, 0, g * (result / self))


@copysign.grad("other")
def _(g):
    return jnp.zeros_like(g)


supports(copysign, "copysign_cpu", BOOL, INTEGRAL, FLOATING)


@op("nextafter(Tensor self, Tensor other) -> Tensor", promote=Promote.DEFAULT, forms=ALL_FORMS, numbers=())
def nextafter(self, other):
    """The next representable number from ``self`` towards ``other``."""
    return jnp.nextafter(self, other)


@nextafter.grad("self")
def _(g):
    return g


@nextafter.grad("other")
def _(g):
    return jnp.zeros_like(g)


supports(nextafter, "nextafter_cpu", FLOATING)


def log_add_exp(a, b):
    """`jnp.logaddexp`; of complex numbers the logarithm of ``1 + exp(smaller - larger)`` added to the larger one, by real parts."""
    if not jnp.iscomplexobj(a):
        return jnp.logaddexp(a, b)
    smaller, larger = jnp.where(a.real < b.real, a, b), jnp.where(a.real >= b.real, a, b)
    same_infinity = ~jnp.isfinite(larger.real) & (smaller.real == larger.real)
    regular = jnp.log1p(jnp.exp(jnp.where(same_infinity, 0, smaller - larger))) + larger
    infinite = [jnp.where(same_infinity, x, 0) for x in (smaller, larger)]  # elsewhere the exponentials would overflow, and their derivatives be NaN
    found = jnp.where(same_infinity, jnp.where(smaller.real < 0, smaller, jnp.log(jnp.exp(infinite[0]) + jnp.exp(infinite[1]))), regular)
    return jnp.where(jnp.isnan(a) | jnp.isnan(b), complex(jnp.nan, jnp.nan), found)


@_binary("logaddexp(Tensor self, Tensor other) -> Tensor", forms=FUNCTION | METHOD | OUT, numbers=())
@rounded_once
def logaddexp(self, other):
    """``log(exp(self) + exp(other))`` without overflow; the imaginary part of a complex one is not brought back to ``(-pi, pi]``."""
    return log_add_exp(self, other)


@logaddexp.grad("self")
@rounded_once
def _(g, self, other):
    return g / jnp.conj(1 + jnp.exp(other - self))


@logaddexp.grad("other")
@rounded_once
def _(g, self, other):
    return g / jnp.conj(1 + jnp.exp(self - other))


supports(logaddexp, "logaddexp_cpu", FLOATING, COMPLEX)


@_binary("logaddexp2(Tensor self, Tensor other) -> Tensor", forms=FUNCTION | METHOD | OUT, numbers=())
@rounded_once
def logaddexp2(self, other):
    """``log2(2 ** self + 2 ** other)`` without overflow."""
    return jnp.logaddexp2(self, other)


@logaddexp2.grad("self")
@rounded_once
def _(g, self, other):
    return g / (1 + jnp.exp2(other - self))


@logaddexp2.grad("other")
@rounded_once
def _(g, self, other):
    return g / (1 + jnp.exp2(self - other))


supports(logaddexp2, "logaddexp2_cpu", FLOATING)


def _times_log(factor, logarithm, other):
    """A product with a logarithm, 0 where the factor is 0; NaN where ``other`` is."""
    return jnp.where(jnp.isnan(other), other, jnp.where(factor == 0, 0, factor * logarithm))


@_float_binary("xlogy.Tensor(Tensor self, Tensor other) -> Tensor", aliases=("special.xlogy",))
@rounded_once
def xlogy(self, other):
    """``self * log(other)``, 0 where ``self`` is 0 and ``other`` is not NaN."""
    return _times_log(self, jnp.log(other), other)


@xlogy.grad("self")
@rounded_once
def _(g, self, other):
    return jnp.where((self == 0) & (other <= 0), 0, _times_log(g, jnp.log(other), other))


@xlogy.grad("other")
@rounded_once
def _(g, self, other):
    return g * self / other


@_float_binary("xlog1py(Tensor self, Tensor other) -> Tensor", forms=FUNCTION | OUT, namespaces=("special",))
@rounded_once
def xlog1py(self, other):
    """``self * log1p(other)``, 0 where ``self`` is 0 and ``other`` is not NaN."""
    return _times_log(self, jnp.log1p(other), other)


@xlog1py.grad("self")
@rounded_once
def _(g, self, other):
    return jnp.where((self == 0) & (other <= -1), 0, _times_log(g, jnp.log1p(other), other))


@xlog1py.grad("other")
@rounded_once
def _(g, self, other):
    return g * self / (other + 1)


supports(xlogy, "xlogy_cpu", BOOL, INTEGRAL, FLOATING)
supports(xlog1py, "xlog1py_cpu", BOOL, INTEGRAL, FLOATING)


@_float_binary("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", numbers=())
@rounded_once
def ldexp(self, other):
    """``self * 2 ** other``."""
    return self * jnp.power(jnp.asarray(2, self.dtype), other)


@op("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", forms=FUNCTION | METHOD | OUT)
def frexp(self):
    """Mantissa, in magnitude from 0.5 to 1, and exponent of 2."""
    return jnp.frexp(self)


@frexp.grad("self")
def _(g, result1):
    return g[0] / jnp.exp2(result1.astype(g[0].dtype))


@frexp.check
def _(self):
    if category(self) != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
