"""Error, gamma and Bessel functions: `torch.special` and what of it has a name of its own at the top."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax

from ..core.lazy import LazyModule
from ..dispatch.registry import ALL_FORMS, FUNCTION, INPLACE, METHOD, OUT, Promote, op
from .elementwise import BOOL, FLOATING, INTEGRAL, rounded_once, supports

special = LazyModule("jax.scipy.special")  # importing it takes longer than all our operators

_float_op = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=ALL_FORMS)
_special_op = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=FUNCTION | OUT, namespaces=("special",))


# ---------------------------------------------------------------------- error functions
@_float_op("erf(Tensor self) -> Tensor", aliases=("special.erf",))
def erf(self):
    """The error function."""
    return lax.erf(self)


@_float_op("erfc(Tensor self) -> Tensor", aliases=("special.erfc",))
def erfc(self):
    """``1 - erf(x)``, precise for large x."""
    return lax.erfc(self)


@_float_op("erfinv(Tensor self) -> Tensor", aliases=("special.erfinv",))
def erfinv(self):
    """The inverse of the error function; infinite at -1 and 1, NaN outside."""
    return lax.erf_inv(self)


@erfinv.grad("self")
@rounded_once
def _(g, self):
    result = lax.erf_inv(self.astype(jnp.float64))  # an error in the last place of a result near 2 is ten times as large in its exponential
    return g * (math.sqrt(math.pi) / 2 * jnp.exp(result * result)).astype(g.dtype)


@_special_op("erfcx(Tensor self) -> Tensor")
@rounded_once
def erfcx(self):
    """``exp(x * x) * erfc(x)``."""
    far = self > (10 if self.dtype.itemsize == 8 else 5)  # by DLMF 7.12.1: JAX's is 0 or inf just below where erfc underflows
    term = series = jnp.ones_like(self)
    for k in range(1, 13):
        term = term * (1 - 2 * k) / (2 * self * self)
        series = series + term
    return jnp.where(far, series / (self * math.sqrt(math.pi)), special.erfcx(self))


@erfcx.grad("self")
def _(g, self, result):
    return g * (2 * self * result - 2 / math.sqrt(math.pi))


@_special_op("ndtr(Tensor self) -> Tensor")
def ndtr(self):
    """The area below the standard normal density up to x; in half precision with torch's roundings, which leave little of the tails."""
    if self.dtype.itemsize > 2:
        return special.ndtr(self)
    return (1 + _in_steps(lax.erf(_in_steps(self.astype(jnp.float32) / math.sqrt(2), self)), self)).astype(self.dtype) / 2


def _in_steps(x, like):
    """float32 rounded to a half precision, where XLA would leave the rounding out."""
    info = jnp.finfo(like.dtype)
    return lax.reduce_precision(x, info.nexp, info.nmant)


@ndtr.grad("self")
@rounded_once
def _(g, self):
    return g * jnp.exp(-self * self / 2) / math.sqrt(2 * math.pi)


@_special_op("log_ndtr(Tensor self) -> Tensor")
def log_ndtr(self):
    """The logarithm of `ndtr`, precise in the left tail."""
    return special.log_ndtr(self)


@_special_op("ndtri(Tensor self) -> Tensor")
def ndtri(self):
    """The inverse of `ndtr`."""
    return special.ndtri(self)


@ndtri.grad("self")
@rounded_once
def _(g, result):
    return g * (math.sqrt(2 * math.pi) * jnp.exp(result * result / 2))


# ---------------------------------------------------------------------- gamma functions
@_float_op("lgamma(Tensor self) -> Tensor", aliases=("special.gammaln",))
@rounded_once
def lgamma(self):
    """The logarithm of the magnitude of the gamma function."""
    return lax.lgamma(self)


@lgamma.grad("self")
@rounded_once
def _(g, self):
    return g * _digamma(self)


@_float_op("digamma(Tensor self) -> Tensor", aliases=("special.digamma", "special.psi"))
@rounded_once
def digamma(self):
    """The derivative of `lgamma`; at zero an infinity of the opposite sign."""
    return _digamma(self)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _polygamma(n, x):
    if n == 0:
        part = x - jnp.trunc(x)  # exact, so that the reflection is right near the poles
        left = special.digamma(jnp.where(x < 0, 1 - x, 1)) - math.pi / jnp.tan(math.pi * jnp.where(part == 0, 0.5, part))
        value = jnp.where(x < 0, jnp.where(part == 0, jnp.nan, left), special.digamma(jnp.where(x < 0, 1, x)))
        return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), value)
    return (-1) ** (n + 1) * math.gamma(n + 1) * _zeta(n + 1, x)


@_polygamma.defjvp
def _(n, primals, tangents):
    return _polygamma(n, *primals), tangents[0] * _polygamma(n + 1, *primals)


def _digamma(x):
    return _polygamma(0, x)


@digamma.grad("self")
@rounded_once
def _(g, self):
    return g * _polygamma(1, self)


@op("polygamma(int n, Tensor self) -> Tensor", promote=Promote.INT_TO_FLOAT, forms=FUNCTION | OUT, aliases=("special.polygamma",))
@rounded_once
def polygamma(n, self):
    """The n-th derivative of `digamma`."""
    return _polygamma(n, self)


@op("polygamma.method(Tensor self, int n) -> Tensor", promote=Promote.INT_TO_FLOAT, forms=METHOD | INPLACE)
@rounded_once
def polygamma_of(self, n):
    """The n-th derivative of `digamma`."""
    return _polygamma(n, self)


def _zeta(order, q):
    """The Hurwitz zeta function of an integer order; at negative q by its sum over all integers, which has period 1."""

    def right(x):  # where the series converges
        return special.zeta(jnp.full_like(q, order), x)

    negative = jnp.where(q > 0, -0.5, q)
    if order == 2:  # the sine is not reduced first: rounded where torch rounds, finite at the poles
        left = (math.pi / jnp.sin(math.pi * negative)) ** 2 - right(1 - negative)
        left = jnp.where(negative == 0, jnp.inf, left)
    else:
        within, beyond = negative - jnp.floor(negative), jnp.ceil(negative) - negative
        left = right(within) + (-1) ** order * (right(beyond) - right(1 - negative))
        left = jnp.where(within == 0, jnp.inf, left)
    value = jnp.where(q > 0, right(jnp.where(q > 0, q, 1)), left)
    return jnp.where(jnp.isinf(q), jnp.where(q > 0, 0, jnp.nan), jnp.where(jnp.isnan(q), q, value))


@polygamma.grad("self")
@polygamma_of.grad("self")
@rounded_once
def _(g, n, self):
    return g * _polygamma(n + 1, self)


def _check_order(n) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


@polygamma.check
def _(n, self):
    _check_order(n)


@polygamma_of.check
def _(self, n):
    _check_order(n)


@op("mvlgamma(Tensor self, int p) -> Tensor", promote=Promote.INT_TO_FLOAT, forms=ALL_FORMS, aliases=("special.multigammaln",))
@rounded_once
def mvlgamma(self, p):
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    steps = [lax.lgamma(self - 0.5 * i) for i in range(p)]
    return sum(steps) + p * (p - 1) / 4 * math.log(math.pi)


@mvlgamma.grad("self")
@rounded_once
def _(g, self, p):
    return g * sum(_digamma(self - 0.5 * i) for i in range(p))


@mvlgamma.check
def _(self, p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


@_special_op("zeta(Tensor self, Tensor other) -> Tensor")
def zeta(self, other):
    """The Hurwitz zeta function of exponent ``self`` from ``other`` on; NaN for exponents below 1, infinite at the poles."""
    pole = (self == 1) | ((other <= 0) & (other == jnp.floor(other)))
    value = jnp.where(pole, jnp.inf, special.zeta(self, other))
    return jnp.where(self < 1, jnp.nan, value)


@zeta.grad("self")
def _(g):
    raise NotImplementedError("the derivative for 'special_zeta: self' is not implemented.")


@zeta.grad("other")
def _(g, self, other):
    return -g * self * special.zeta(self + 1, other)


@_float_op("igamma(Tensor self, Tensor other) -> Tensor", aliases=("special.gammainc",), numbers=())
@rounded_once
def igamma(self, other):
    """The regularized lower incomplete gamma function."""
    return special.gammainc(self, other)


@_float_op("igammac(Tensor self, Tensor other) -> Tensor", aliases=("special.gammaincc",), numbers=())
@rounded_once
def igammac(self, other):
    """The regularized upper incomplete gamma function."""
    return special.gammaincc(self, other)


# ---------------------------------------------------------------------- Bessel functions
@_float_op("i0(Tensor self) -> Tensor", aliases=("special.i0",))
@rounded_once
def i0(self):
    """The modified Bessel function of order 0."""
    return special.i0(self)


@i0.grad("self")
@rounded_once
def _(g, self):
    return g * special.i1(self)


@_special_op("i0e(Tensor self) -> Tensor")
@rounded_once
def i0e(self):
    """`i0` scaled by ``exp(-abs(x))``."""
    return special.i0e(self)


@_special_op("i1(Tensor self) -> Tensor")
@rounded_once
def i1(self):
    """The modified Bessel function of order 1."""
    return special.i1(self)


@i1.grad("self")
@rounded_once
def _(g, self):
    tiny = jnp.abs(self) <= jnp.finfo(self.dtype).eps
    x = jnp.where(tiny, 1, self)
    return g * jnp.where(tiny, 0.5, special.i0(x) - special.i1(x) / x)


@_special_op("i1e(Tensor self) -> Tensor")
@rounded_once
def i1e(self):
    """`i1` scaled by ``exp(-abs(x))``."""
    return special.i1e(self)


# ---------------------------------------------------------------------- entropy
@_special_op("entr(Tensor self) -> Tensor")
@rounded_once
def entr(self):
    """``-x log(x)``: 0 at zero, -inf below."""
    positive = jnp.where(self > 0, self, 1)
    value = jnp.where(self > 0, -positive * jnp.log(positive), jnp.where(self == 0, 0.0, -jnp.inf))
    return jnp.where(jnp.isnan(self), self, value)


@entr.grad("self")
@rounded_once
def _(g, self):
    return g * (-jnp.log(self) - 1)


_KERNELS = {
    erf: "erf_vml_cpu", erfc: "erfc_vml_cpu", erfinv: "erfinv_vml_cpu", lgamma: "lgamma_vml_cpu", digamma: "digamma", i0: "i0_vml_cpu",
    ndtr: "erf_vml_cpu", log_ndtr: "log_ndtr_cpu", ndtri: "ndtri_cpu", erfcx: "erfcx_cpu", entr: "entr_cpu", i0e: "i0e_cpu",
    i1: "i1_cpu", i1e: "i1e_cpu", zeta: "zeta_cpu",
}  # fmt: skip
for _operator, _kernel in _KERNELS.items():
    supports(_operator, _kernel, BOOL, INTEGRAL, FLOATING)
