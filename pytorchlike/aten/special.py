"""Error, gamma and Bessel functions: `torch.special` and what of it has a name of its own at the top."""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
from jax import lax

from ..core.lazy import LazyModule
from ..dispatch.registry import ALL_FORMS, FUNCTION, OUT, Promote, op
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


@_special_op("erfcx(Tensor self) -> Tensor")
def erfcx(self):
    """``exp(x * x) * erfc(x)``."""
    return special.erfcx(self)


@erfcx.grad("self")
def _(g, self, result):
    return g * (2 * self * result - 2 / math.sqrt(math.pi))


@_special_op("ndtr(Tensor self) -> Tensor")
@rounded_once
def ndtr(self):
    """The area below the standard normal density up to x."""
    return special.ndtr(self)


@_special_op("log_ndtr(Tensor self) -> Tensor")
def log_ndtr(self):
    """The logarithm of `ndtr`, precise in the left tail."""
    return special.log_ndtr(self)


@_special_op("ndtri(Tensor self) -> Tensor")
def ndtri(self):
    """The inverse of `ndtr`."""
    return special.ndtri(self)


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


def _digamma(x):
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), special.digamma(x))


@digamma.grad("self")
@rounded_once
def _(g, self):
    return g * _polygamma(1, self)


@op("polygamma(int n, Tensor self) -> Tensor", promote=Promote.INT_TO_FLOAT, forms=ALL_FORMS, aliases=("special.polygamma",))
@rounded_once
def polygamma(n, self):
    """The n-th derivative of `digamma`."""
    return _polygamma(n, self)


def _polygamma(n, x):
    if n == 0:
        return _digamma(x)
    return (-1) ** (n + 1) * math.gamma(n + 1) * _zeta(n + 1, x)


def _zeta(order, q):
    """The Hurwitz zeta function of an integer order: at negative q by reflection (order 2) or nine steps of its recurrence."""
    value = special.zeta(jnp.full_like(q, order), jnp.where(q > 0, q, 1))
    if order == 2:
        value_of_negative = (math.pi / jnp.sin(math.pi * (q - jnp.floor(q)))) ** 2 - special.zeta(
            jnp.full_like(q, order), 1 - jnp.where(q > 0, 0, q)
        )
    else:
        value_of_negative = sum(lax.integer_pow(q + k, -order) for k in range(9)) + special.zeta(
            jnp.full_like(q, order), jnp.where(q > -9, q + 9, jnp.nan)
        )
    value = jnp.where(q > 0, value, jnp.where(q == jnp.floor(q), jnp.inf, value_of_negative))
    return jnp.where(jnp.isinf(q), jnp.where(q > 0, 0, jnp.nan), jnp.where(jnp.isnan(q), q, value))


@polygamma.grad("self")
@rounded_once
def _(g, n, self):
    return g * _polygamma(n + 1, self)


@polygamma.check
def _(n, self):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


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
    """The Hurwitz zeta function of exponent ``self`` from ``other`` on."""
    return special.zeta(self, other)


@_float_op("igamma(Tensor self, Tensor other) -> Tensor", aliases=("special.gammainc",))
@rounded_once
def igamma(self, other):
    """The regularized lower incomplete gamma function."""
    return special.gammainc(self, other)


@_float_op("igammac(Tensor self, Tensor other) -> Tensor", aliases=("special.gammaincc",))
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
