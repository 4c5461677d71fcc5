"""Mathematical functions of one tensor, element by element.

Integers and bool become the default float where the function is not closed over them.  A function has a rule where torch saves the
result (or nothing) rather than the input, and where torch's gradient at an edge differs from that of the formula.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax

from ..core.dtype import bool_
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, Promote, composite, op
from .elementwise import COMPLEX, FLOATING, INTEGRAL, category, rounded_once, rounded_steps, supports

_float_op = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=ALL_FORMS)


# ---------------------------------------------------------------------- exponentials, logarithms, powers
@_float_op("exp(Tensor self) -> Tensor")
def exp(self):
    """e to the power of each element."""
    return jnp.exp(self)


@exp.grad("self")
def _(g, result):
    return g * jnp.conj(result)


@_float_op("exp2(Tensor self) -> Tensor", aliases=("special.exp2",))
@rounded_once
def exp2(self):
    """2 to the power of each element."""
    return jnp.exp2(self)


@exp2.grad("self")
@rounded_once
def _(g, result):
    return g * jnp.conj(result) * math.log(2)


@_float_op("expm1(Tensor self) -> Tensor", aliases=("special.expm1",))
def expm1(self):
    """``exp(x) - 1``, precise near zero."""
    return jnp.expm1(self)


@expm1.grad("self")
@rounded_once
def _(g, result):
    return g * jnp.conj(result + 1)


@_float_op("log(Tensor self) -> Tensor")
def log(self):
    """The natural logarithm."""
    return jnp.log(self)


@_float_op("log2(Tensor self) -> Tensor")
@rounded_once
def log2(self):
    """The logarithm to base 2."""
    return jnp.log2(self)


@_float_op("log10(Tensor self) -> Tensor")
@rounded_once
def log10(self):
    """The logarithm to base 10."""
    return jnp.log10(self)


@_float_op("log1p(Tensor self) -> Tensor", aliases=("special.log1p",))
def log1p(self):
    """``log(1 + x)``, precise near zero."""
    return jnp.log1p(self)


@_float_op("sqrt(Tensor self) -> Tensor")
def sqrt(self):
    """The square root; NaN for negative elements."""
    return jnp.sqrt(self)


@sqrt.grad("self")
@rounded_once
def _(g, result):
    return g / (2 * jnp.conj(result))


@_float_op("rsqrt(Tensor self) -> Tensor")
@rounded_once
def rsqrt(self):
    """The reciprocal of the square root."""
    return lax.rsqrt(self)


@rsqrt.grad("self")
@rounded_once
def _(g, result):
    return -0.5 * g * jnp.conj(result * result * result)


@op("square(Tensor self) -> Tensor", promote=Promote.BOOL_TO_LONG, forms=ALL_FORMS)
def square(self):
    """Each element times itself."""
    return self * self


@square.grad("self")
def _(g, self):
    return g * (2 * jnp.conj(self))


@_float_op("reciprocal(Tensor self) -> Tensor")
@rounded_once
def reciprocal(self):
    """``1 / x``."""
    return 1 / self


@reciprocal.grad("self")
@rounded_once
def _(g, result):
    return -g * jnp.conj(result * result)


# ---------------------------------------------------------------------- circular and hyperbolic functions
@_float_op("sin(Tensor self) -> Tensor")
def sin(self):
    """The sine."""
    return jnp.sin(self)


@_float_op("cos(Tensor self) -> Tensor")
def cos(self):
    """The cosine."""
    return jnp.cos(self)


@_float_op("tan(Tensor self) -> Tensor")
@rounded_once
def tan(self):
    """The tangent."""
    return jnp.tan(self)


@tan.grad("self")
@rounded_once
def _(g, result):
    return g * jnp.conj(1 + result * result)


@_float_op("asin(Tensor self) -> Tensor", aliases=("arcsin",))
@rounded_once
def asin(self):
    """The inverse of the sine, in [-pi/2, pi/2]."""
    return jnp.arcsin(self)


@_float_op("acos(Tensor self) -> Tensor", aliases=("arccos",))
@rounded_once
def acos(self):
    """The inverse of the cosine, in [0, pi]."""
    return jnp.arccos(self)


@_float_op("atan(Tensor self) -> Tensor", aliases=("arctan",))
@rounded_once
def atan(self):
    """The inverse of the tangent, in [-pi/2, pi/2]."""
    return jnp.arctan(self)


@_float_op("sinh(Tensor self) -> Tensor")
@rounded_once
def sinh(self):
    """The hyperbolic sine."""
    return jnp.sinh(self)


@_float_op("cosh(Tensor self) -> Tensor")
@rounded_once
def cosh(self):
    """The hyperbolic cosine."""
    return jnp.cosh(self)


@_float_op("tanh(Tensor self) -> Tensor", namespaces=("", "nn.functional"))
def tanh(self):
    """The hyperbolic tangent."""
    return jnp.tanh(self)


@tanh.grad("self")
@rounded_once
def _(g, result):
    return g * jnp.conj(1 - result * result)


@_float_op("asinh(Tensor self) -> Tensor", aliases=("arcsinh",))
@rounded_once
def asinh(self):
    """The inverse of the hyperbolic sine."""
    return jnp.arcsinh(self)


@_float_op("acosh(Tensor self) -> Tensor", aliases=("arccosh",))
@rounded_once
def acosh(self):
    """The inverse of the hyperbolic cosine; NaN below 1."""
    return jnp.arccosh(self)


@_float_op("atanh(Tensor self) -> Tensor", aliases=("arctanh",))
@rounded_once
def atanh(self):
    """The inverse of the hyperbolic tangent; NaN outside [-1, 1]."""
    return jnp.arctanh(self)


@atanh.grad("self")
@rounded_once
def _(g, self):
    return g * jnp.conj(1 / (1 - self * self))


@_float_op("sinc(Tensor self) -> Tensor", aliases=("special.sinc",))
@rounded_once
def sinc(self):
    """``sin(pi x) / (pi x)``, 1 at zero."""
    return jnp.sinc(self)


@_float_op("deg2rad(Tensor self) -> Tensor")
@rounded_once
def deg2rad(self):
    """Degrees as radians."""
    return self * (math.pi / 180)


@deg2rad.grad("self")
@rounded_once
def _(g):
    return g * (math.pi / 180)


@_float_op("rad2deg(Tensor self) -> Tensor")
@rounded_once
def rad2deg(self):
    """Radians as degrees."""
    return self * (180 / math.pi)


@rad2deg.grad("self")
@rounded_once
def _(g):
    return g * (180 / math.pi)


# ---------------------------------------------------------------------- sign and magnitude
@op("neg(Tensor self) -> Tensor", forms=ALL_FORMS, aliases=("negative",))
def neg(self):
    """``-x``."""
    return -self


@neg.grad("self")
def _(g):
    return -g


@neg.check
def _(self):
    if self.dtype == bool:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


@composite("positive(Tensor(a) self) -> Tensor(a)")
def positive(self):
    """The tensor itself.

    Raises:
        RuntimeError: on a bool tensor.
    """
    if self.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


@op("abs(Tensor self) -> Tensor", promote=Promote.COMPLEX_TO_FLOAT, forms=ALL_FORMS, aliases=("absolute",))
def abs(self):
    """The magnitude of each element.

    Grad: the sign, 0 at zero and at NaN.
    """
    return jnp.abs(self)


@abs.grad("self")
def _(g, self):
    return g * _sgn(self)


@op("sign(Tensor self) -> Tensor", forms=ALL_FORMS)
def sign(self):
    """-1, 0 or 1; 0 for NaN."""
    return _sgn(self)


@sign.check
def _(self):
    if category(self) == COMPLEX:
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")


@sign.grad("self")
def _(g):
    return jnp.zeros_like(g)


@op("sgn(Tensor self) -> Tensor", forms=ALL_FORMS)
def sgn(self):
    """The sign; for complex elements the number divided by its magnitude, 0 at zero."""
    return _sgn(self)


@sgn.grad("self")
def _(g, self):
    if category(self) != COMPLEX:
        return jnp.zeros_like(g)
    magnitude = jnp.where(self == 0, 1, jnp.abs(self))
    unit, turn = self / magnitude, g / magnitude
    return jnp.where(self == 0, 0, turn - (turn * jnp.conj(unit)).real * unit)


def _sgn(x):
    """-1, 0, 1 or a complex unit, in x's dtype; 0 where x is NaN (`jnp.sign` keeps the NaN)."""
    if x.dtype == bool:
        return x
    if category(x) == COMPLEX:
        magnitude = jnp.abs(x)
        return jnp.where(magnitude == 0, 0, x / jnp.where(magnitude == 0, 1, magnitude))
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


@op("signbit(Tensor self) -> Tensor", forms=FUNCTION | METHOD | OUT, differentiable=False)
def signbit(self):
    """Whether the sign bit is set: true for -0.0."""
    return jnp.signbit(self) if category(self) == FLOATING else self < 0


@signbit.check
def _(self):
    if category(self) == COMPLEX:
        raise NotImplementedError("signbit is not implemented for complex tensors.")


# ---------------------------------------------------------------------- rounding
_ROUNDINGS = {  # name: (function, aliases, what it does)
    "floor": (jnp.floor, (), "The largest integer that is not above each element."),
    "ceil": (jnp.ceil, (), "The smallest integer that is not below each element."),
    "round": (jnp.round, ("special.round",), "The nearest integer, halves to the even one."),
    "trunc": (jnp.trunc, ("fix",), "The integer part."),
}


def _declare_rounding(name, function, aliases, doc):
    def body(self):
        return function(self) if category(self) == FLOATING else self

    body.__doc__ = doc
    operator = op(f"{name}(Tensor self) -> Tensor", forms=ALL_FORMS, aliases=aliases)(body)
    operator.grad("self")(lambda g: jnp.zeros_like(g))

    @operator.check
    def _(self):
        if category(self) == COMPLEX and name != "round":
            raise NotImplementedError(f"{name} is not supported for complex inputs")

    supports(operator, f"{name}_vml_cpu", INTEGRAL, FLOATING)
    return operator


floor, ceil, round, trunc = (_declare_rounding(name, *facts) for name, facts in _ROUNDINGS.items())


@op("round.decimals(Tensor self, *, int decimals) -> Tensor", forms=ALL_FORMS, aliases=("special.round",))
@rounded_once
def round_decimals(self, decimals):
    """Rounded to a number of decimals; to tens, hundreds ... when it is negative."""
    power = 10.0 ** math.fabs(decimals)
    if decimals == 0:
        return jnp.round(self)
    return jnp.round(self * power) / power if decimals > 0 else jnp.round(self / power) * power


@round_decimals.grad("self")
def _(g):
    return jnp.zeros_like(g)


supports(round_decimals, "round_cpu", FLOATING)


@op("frac(Tensor self) -> Tensor", forms=ALL_FORMS)
@rounded_once
def frac(self):
    """The part behind the point, with the sign of the element."""
    return self - jnp.trunc(self)


@frac.grad("self")
def _(g):
    return g


supports(frac, "frac_cpu", FLOATING)


@op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", forms=ALL_FORMS)
def nan_to_num(self, nan, posinf, neginf):
    """NaN and infinities replaced: by zero and the largest finite numbers unless given."""
    kind = category(self)
    if kind == COMPLEX:
        return lax.complex(_replace_nonfinite(self.real, nan, posinf, neginf), _replace_nonfinite(self.imag, nan, posinf, neginf))
    return _replace_nonfinite(self, nan, posinf, neginf) if kind == FLOATING else self


def _replace_nonfinite(x, nan, posinf, neginf):
    limits = jnp.finfo(x.dtype)
    x = jnp.where(jnp.isnan(x), 0.0 if nan is None else nan, x)
    x = jnp.where(x == jnp.inf, float(limits.max) if posinf is None else posinf, x)
    return jnp.where(x == -jnp.inf, float(limits.min) if neginf is None else neginf, x)


@nan_to_num.grad("self")
def _(g, self):
    return jnp.where(jnp.isfinite(self), g, 0)


for _operator in (deg2rad, rad2deg):

    @_operator.check
    def _(self, _name=_operator.name):
        if category(self) == COMPLEX:
            raise RuntimeError(f"{_name} is not supported for complex tensors.")


supports(neg, "neg_cpu", INTEGRAL, FLOATING, COMPLEX)
supports(abs, "abs_cpu", INTEGRAL, FLOATING, COMPLEX)


# ---------------------------------------------------------------------- sigmoid and logit
@_float_op("sigmoid(Tensor self) -> Tensor", namespaces=("", "nn.functional"), aliases=("special.expit",))
@rounded_once
def sigmoid(self):
    """``1 / (1 + exp(-x))``."""
    return jax.nn.sigmoid(self)


@sigmoid.grad("self")
@rounded_once
def _(g, result):
    return g * jnp.conj((1 - result) * result)


@_float_op("logit(Tensor self, float? eps=None) -> Tensor", aliases=("special.logit",))
def logit(self, eps):
    """``log(x / (1 - x))``, the inverse of the sigmoid; with ``eps``, of x clamped to ``[eps, 1 - eps]``.

    Grad: outside the range 0 with ``eps`` and NaN without.
    """
    x = self if eps is None else jnp.clip(self, eps, 1 - eps)
    return rounded_steps(lambda rounded, x: jnp.log(rounded(x / rounded(1 - x))), x)


@logit.grad("self")
@rounded_once
def _(g, self, eps):
    low, high, outside = (0, 1, jnp.nan) if eps is None else (eps, 1 - eps, 0)
    slope = jnp.where((self == 0) | (self == 1), jnp.inf, 1 / (self * (1 - self)))
    return jnp.where((self < low) | (self > high), outside, g * slope)
