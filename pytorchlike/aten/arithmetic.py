"""Arithmetic of two tensors or of a tensor and a number: sums, products, quotients, powers and what is composed of them."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from ..core.promotion import scalar_type_name
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, Promote, composite, op
from .elementwise import (
    BOOL,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    beside,
    category,
    cpp_name,
    not_implemented,
    rounded_once,
    rounded_steps,
    supports,
)

_binary = functools.partial(op, promote=Promote.DEFAULT, forms=ALL_FORMS)
_float_binary = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=ALL_FORMS)


def _is_one(number):
    """Whether a factor is the default 1, which needs no multiplication."""
    return type(number) is int and number == 1


# ---------------------------------------------------------------------- sums
def _scaled(array, alpha):
    return array if _is_one(alpha) else array * beside(alpha, array)


def _check_alpha(alpha, *tensors):
    """torch's conditions on the factor of the second summand."""
    if _is_one(alpha):
        return
    highest, of_alpha = max(map(category, tensors)), category(alpha)
    if of_alpha == BOOL and highest != BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if highest <= INTEGRAL and of_alpha == FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if highest != COMPLEX and of_alpha == COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_subtraction(self, other, alpha):
    of_bool = [category(tensor) == BOOL for tensor in (self, other)]
    if all(of_bool):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if any(of_bool):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    _check_alpha(alpha, self, other)


@_binary("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promoted=("self", "other"))
@rounded_once
def add(self, other, alpha):
    """``self + alpha * other``; of two bools their logical or."""
    return jnp.add(self, _scaled(other, alpha))


@add.grad("self")
def _(g):
    return g


@add.grad("other")
def _(g, alpha):
    return _scaled(g, alpha)


@add.check
def _(self, other, alpha):
    _check_alpha(alpha, self, other)


@_binary("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promoted=("self", "other"), aliases=("subtract",))
@rounded_once
def sub(self, other, alpha):
    """``self - alpha * other``."""
    return self - _scaled(other, alpha)


@sub.grad("self")
def _(g):
    return g


@sub.grad("other")
def _(g, alpha):
    return -_scaled(g, alpha)


@_binary("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promoted=("self", "other"), forms=FUNCTION | METHOD, numbers=("other",))
@rounded_once
def rsub(self, other, alpha):
    """``other - alpha * self``."""
    return other - _scaled(self, alpha)


@rsub.grad("self")
def _(g, alpha):
    return -_scaled(g, alpha)


@rsub.grad("other")
def _(g):
    return g


sub.check(_check_subtraction)
rsub.check(_check_subtraction)


# ---------------------------------------------------------------------- products and quotients
@_binary("mul.Tensor(Tensor self, Tensor other) -> Tensor", aliases=("multiply",), unrounded=("self", "other"))
@rounded_once
def mul(self, other):
    """``self * other``; of two bools their logical and."""
    return jnp.multiply(self, other)


@mul.grad("self")
def _(g, other):
    return g * jnp.conj(other)


@mul.grad("other")
def _(g, self):
    return g * jnp.conj(self)


def _quotient_gradient(g, self, other):
    return -g * jnp.conj((self / other) / other)


def _declare_division(overload, other_type, aliases):
    @_float_binary(f"div.{overload}(Tensor self, {other_type} other) -> Tensor", aliases=aliases, unrounded=("self", "other"))
    @rounded_once
    def div(self, other):
        """``self / other``, always in floating point."""
        return self / other

    @div.grad("self")
    @rounded_once
    def _(g, other):
        return g / jnp.conj(other)

    return div


div = _declare_division("Tensor", "Tensor", ("divide", "true_divide"))
div_scalar = _declare_division("Scalar", "Scalar", ("divide",))


@div.grad("other")
@rounded_once
def _(g, self, other):
    return _quotient_gradient(g, self, other)


def _floor_quotient(a, b):
    """The quotient rounded down as Python does it: exact where ``floor(a / b)`` would round up first."""
    if category(a) != FLOATING:
        return jnp.floor_divide(a, b)
    rest = jnp.fmod(a, b)
    quotient = (a - rest) / b
    quotient = jnp.where((rest != 0) & ((b < 0) != (rest < 0)), quotient - 1, quotient)
    down = jnp.floor(quotient)
    down = jnp.where(quotient - down > 0.5, down + 1, down)
    return jnp.where(b == 0, a / b, jnp.where(quotient == 0, jnp.copysign(0.0, a / b).astype(a.dtype), down))


def _trunc_quotient(a, b):
    return jnp.trunc(a / b) if category(a) == FLOATING else lax.div(*jnp.broadcast_arrays(a, jnp.asarray(b, a.dtype)))


def _by_integer_zero(other):
    """Which elements divide integers by zero; both operands have the common dtype."""
    other = other if hasattr(other, "dtype") else np.asarray(other)
    return False if jnp.issubdtype(other.dtype, jnp.inexact) else other == 0


@rounded_once
def _rounded_quotient(self, other, rounding_mode):
    if rounding_mode is None:
        return jnp.true_divide(*(x.astype(jnp.float32) if category(x) <= INTEGRAL else x for x in (self, other)))
    return (_floor_quotient if rounding_mode == "floor" else _trunc_quotient)(self, other)


def _declare_rounded_division(overload, other_type):
    @_binary(f"div.{overload}(Tensor self, {other_type} other, *, str? rounding_mode) -> Tensor", aliases=("divide",), unrounded=("other",))
    def div_mode(self, other, rounding_mode):
        """The quotient rounded: ``"floor"`` down, ``"trunc"`` towards zero, None not at all.  Grad: 0 where it is rounded."""
        if rounding_mode == "trunc" and category(self) == FLOATING and getattr(other, "ndim", 0):
            return rounded_steps(lambda rounded, a, b: jnp.trunc(rounded(a / b)), self, other)  # torch rounds half precision before it cuts it
        return _rounded_quotient(self, other, rounding_mode)

    @div_mode.grad("self")
    @rounded_once
    def _(g, other, rounding_mode):
        return g / jnp.conj(other) if rounding_mode is None else jnp.zeros_like(g)

    @div_mode.check
    def _(self, other, rounding_mode):
        if rounding_mode not in (None, "floor", "trunc"):
            raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
        highest = max((self, other), key=category)
        if rounding_mode is not None and category(highest) in (BOOL, COMPLEX):
            raise not_implemented(f"div_{rounding_mode}_cpu", highest)

    @div_mode.data_check(RuntimeError, "ZeroDivisionError")
    def _(other, rounding_mode):
        return False if rounding_mode is None else _by_integer_zero(other)

    return div_mode


div_mode = _declare_rounded_division("Tensor_mode", "Tensor")
div_scalar_mode = _declare_rounded_division("Scalar_mode", "Scalar")


@div_mode.grad("other")
@rounded_once
def _(g, self, other, rounding_mode):
    return _quotient_gradient(g, self, other) if rounding_mode is None else jnp.zeros_like(g)


@_binary("floor_divide(Tensor self, Tensor other) -> Tensor", unrounded=("other",))
@rounded_once
def floor_divide(self, other):
    """The quotient rounded down."""
    return _floor_quotient(self, other)


@floor_divide.grad("self", "other")
def _(g):
    return jnp.zeros_like(g)


@_binary("remainder.Tensor(Tensor self, Tensor other) -> Tensor")
@rounded_once
def remainder(self, other):
    """What is left of the division rounded down; it has the sign of ``other``."""
    return jnp.remainder(self, other)


@remainder.grad("self")
def _(g):
    return g


@remainder.grad("other")
@rounded_once
def _(g, self, other):
    return -g * lax.stop_gradient(_floor_quotient(self, other))


@_binary("fmod.Tensor(Tensor self, Tensor other) -> Tensor", numbers=("other",))
@rounded_once
def fmod(self, other):
    """What is left of the division rounded towards zero; it has the sign of ``self``."""
    return jnp.fmod(self, other)


@fmod.grad("self")
def _(g):
    return g


@fmod.grad("other")
@rounded_once
def _(g, self, other):
    return -g * lax.stop_gradient(jnp.trunc(self / other))


for _operator, _kernel in ((floor_divide, "div_floor_cpu"), (remainder, "remainder_cpu"), (fmod, "fmod_cpu")):
    supports(_operator, _kernel, INTEGRAL, FLOATING)
    _operator.data_check(RuntimeError, "ZeroDivisionError")(_by_integer_zero)


@op("gcd(Tensor self, Tensor other) -> Tensor", promote=Promote.DEFAULT, forms=ALL_FORMS, differentiable=False, numbers=())
def gcd(self, other):
    """The greatest common divisor, never negative."""
    return jnp.gcd(self, other)


@op("lcm(Tensor self, Tensor other) -> Tensor", promote=Promote.DEFAULT, forms=ALL_FORMS, differentiable=False, numbers=())
def lcm(self, other):
    """The least common multiple, never negative."""
    return jnp.lcm(self, other)


supports(gcd, "gcd_cpu", INTEGRAL)
supports(lcm, "lcm_cpu", INTEGRAL)


# ---------------------------------------------------------------------- powers
def _power(x, exponent):
    """``x`` to the power of a Python number: products and roots where that is exact or what torch does."""
    if isinstance(exponent, complex):
        return jnp.power(x, exponent)
    if exponent == 0:
        return jnp.ones_like(x)
    if exponent == 1:
        return x
    if category(x) <= INTEGRAL:
        return lax.integer_pow(x, int(exponent))
    if exponent == 0.5:
        return jnp.sqrt(x)
    if exponent == -0.5:
        return lax.rsqrt(x)
    if exponent in (-2, -1, 2, 3, 4):
        return lax.integer_pow(x, int(exponent))
    return jnp.power(x, float(exponent))


@_binary("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", static=("exponent",))
def pow_scalar(self, exponent):
    """Each element to the power of one number, which half precision rounds, too.

    Raises:
        RuntimeError: integers to a negative integer power.
    """
    if self.dtype in (jnp.float16, jnp.bfloat16) and isinstance(exponent, float):
        exponent = float(np.asarray(exponent, self.dtype))
    return rounded_once(_power)(self, exponent)


@pow_scalar.grad("self")
@rounded_once
def _(g, self, exponent):
    return jnp.zeros_like(g) if exponent == 0 else g * jnp.conj(exponent * _power(self, exponent - 1))


@pow_scalar.check
def _(self, exponent):
    if category(self) <= INTEGRAL and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def _power_of(base, exponent):
    """Powers of arrays; integers to a negative power are 0 but for the bases 1 and -1."""
    if max(category(base), category(exponent)) > INTEGRAL:
        return jnp.power(base, exponent)
    value = jnp.power(base, jnp.maximum(exponent, 0))
    of_minus_one = jnp.where(exponent % 2 == 0, 1, -1)
    inverse = jnp.where(base == 1, 1, jnp.where(base == -1, of_minus_one, 0)).astype(value.dtype)
    return jnp.where(exponent < 0, inverse, value)


@jax.custom_jvp
def _raised(base, exponent):
    """The power, whose derivatives are the rules' at any order."""
    return jnp.power(base, exponent)


@functools.partial(_raised.defjvp, symbolic_zeros=True)
def _(primals, tangents):
    base, exponent = primals
    result = _raised(base, exponent)
    along_base, along_exponent = tangents
    change = jnp.zeros_like(result)
    if not isinstance(along_base, SymbolicZero):  # an infinite slope times a tangent of zeros would be NaN
        change = change + along_base * _base_slope(base, exponent)
    if not isinstance(along_exponent, SymbolicZero):
        change = change + along_exponent * _exponent_slope(base, exponent, result)
    return result, change


def _base_slope(base, exponent):
    """``exponent * base ** (exponent - 1)``, 0 where the exponent is."""
    return jnp.where(exponent == 0, 0, exponent * _raised(base, exponent - 1))


def _exponent_slope(base, exponent, result):
    """``result * log(base)``, 0 where the base is 0 and the exponent is not negative."""
    return jnp.where((base == 0) & (jnp.real(exponent) >= 0), 0, result * jnp.log(base))


@_binary("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", forms=FUNCTION | OUT)
@rounded_once
def pow_of_scalar(self, exponent):
    """One number to the power of each element."""
    return _power_of(self, exponent)


@pow_of_scalar.grad("exponent")
@rounded_once
def _(g, self, exponent, result):
    return g * jnp.conj(_exponent_slope(self.astype(result.dtype), exponent, result))


@_binary("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")
@rounded_once
def pow_tensor(self, exponent):
    """Each element of ``self`` to the power of that of ``exponent``.

    Grad: that of the base is 0 where the exponent is 0, that of the exponent where the base is 0 and the exponent not negative.
    """
    return _power_of(self, exponent)


supports(pow_tensor, "pow", INTEGRAL, FLOATING, COMPLEX)


@op("float_power(Tensor self, Tensor exponent) -> Tensor", forms=FUNCTION | METHOD | OUT, numbers=("self", "exponent"))
def float_power(self, exponent):
    """The power computed in double precision, complex where one of the two is."""
    kind = jnp.complex128 if COMPLEX in (category(self), category(exponent)) else jnp.float64
    return jnp.power(self.astype(kind), exponent.astype(kind))


@composite("float_power_(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", forms=METHOD)
def float_power_(self, exponent):
    """The in-place form, for tensors that hold double precision already."""
    power = float_power(self, exponent)
    if power.dtype is not self.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_type_name(self.dtype)} but the operation's result requires dtype "
            f"{scalar_type_name(power.dtype)}"
        )
    return self.copy_(power)


for _operator in (pow_tensor, float_power):

    @_operator.grad("self")
    @rounded_once
    def _(g, self, exponent):
        base, exponent = self.astype(g.dtype), exponent.astype(g.dtype)
        return g * jnp.conj(_base_slope(base, exponent))

    @_operator.grad("exponent")
    @rounded_once
    def _(g, self, exponent, result):
        return g * jnp.conj(_exponent_slope(self.astype(g.dtype), exponent, result))


# ---------------------------------------------------------------------- sums of products
_TERMS = ("self", "tensor1", "tensor2")


@_binary("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", promoted=_TERMS, numbers=(), unrounded=("value",))
@rounded_once
def addcmul(self, tensor1, tensor2, value):
    """``self + value * tensor1 * tensor2``."""
    return self + _scaled(tensor1, value) * tensor2


@addcmul.grad("self")
def _(g):
    return g


@addcmul.grad("tensor1")
@rounded_once
def _(g, tensor2, value):
    return g * jnp.conj(_scaled(tensor2, value))


@addcmul.grad("tensor2")
@rounded_once
def _(g, tensor1, value):
    return g * jnp.conj(_scaled(tensor1, value))


supports(addcmul, "addcmul_cpu_out", INTEGRAL, FLOATING, COMPLEX)


@_binary("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", promoted=_TERMS, numbers=(), unrounded=("value",))
@rounded_once
def addcdiv(self, tensor1, tensor2, value):
    """``self + value * tensor1 / tensor2``.

    Raises:
        RuntimeError: both factors are integers.
    """
    return self + _scaled(tensor1, value) / tensor2


@addcdiv.grad("self")
def _(g):
    return g


@addcdiv.grad("tensor1")
@rounded_once
def _(g, tensor2, value):
    return g * jnp.conj(beside(value, tensor2) / tensor2)


@addcdiv.grad("tensor2")
@rounded_once
def _(g, tensor1, tensor2, value):
    return -g * jnp.conj(_scaled(tensor1, value) / (tensor2 * tensor2))


@addcdiv.check
def _(self, tensor1, tensor2, value):
    if max(category(tensor1), category(tensor2)) <= INTEGRAL:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
            "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2))"
            ".to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
            "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
        )


# ---------------------------------------------------------------------- interpolation
@rounded_once
def _between(self, end, weight):
    """From the nearer of the two ends, so that the weights 0 and 1 give them exactly."""
    weight = beside(weight, self)
    step = end - self
    return jnp.where(jnp.abs(weight) < 0.5, self + weight * step, end - step * (1 - weight))


def _check_lerp(self, end, weight, kernel):
    for name, other in (("end", end), ("weight", weight)):
        if hasattr(other, "dtype") and other.dtype != self.dtype and not (name == "weight" and other.ndim == 0):
            raise RuntimeError(f"expected dtype {cpp_name(self.dtype)} for `{name}` but got dtype {cpp_name(other.dtype)}")
    if category(self) <= INTEGRAL:
        raise not_implemented(kernel, self)


def _declare_lerp(overload, weight_type, kernel):
    @op(f"lerp.{overload}(Tensor self, Tensor end, {weight_type} weight) -> Tensor", forms=ALL_FORMS)
    def lerp(self, end, weight):
        """``self + weight * (end - self)``."""
        return _between(self, end, weight)

    @lerp.grad("self")
    @rounded_once
    def _(g, weight):
        return g * jnp.conj(1 - beside(weight, g))

    @lerp.grad("end")
    @rounded_once
    def _(g, weight):
        return g * jnp.conj(beside(weight, g))

    @lerp.check
    def _(self, end, weight):
        _check_lerp(self, end, weight, kernel)

    return lerp


lerp_scalar = _declare_lerp("Scalar", "Scalar", "lerp_kernel_scalar")
lerp_tensor = _declare_lerp("Tensor", "Tensor", "lerp_kernel_tensor")


@lerp_tensor.grad("weight")
@rounded_once
def _(g, self, end):
    return g * jnp.conj(end - self)
