"""Comparisons, logic, bits, and choosing between elements: results are bool, or elements of the arguments as they are."""

from __future__ import annotations

import functools
import operator as python_operator

import jax.numpy as jnp

from ..core.dtype import from_numpy
from ..core.promotion import scalar_type_name
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, Promote, composite, op
from ..tensors.tensor import Tensor
from .elementwise import BOOL, COMPLEX, FLOATING, INTEGRAL, category, cpp_name, supports

_choice = functools.partial(op, promote=Promote.DEFAULT, forms=ALL_FORMS)
_predicate = functools.partial(op, differentiable=False)


# ---------------------------------------------------------------------- comparisons
_COMPARISONS = {  # name: (function, alias, ordered)
    "eq": (python_operator.eq, (), False),
    "ne": (python_operator.ne, ("not_equal",), False),
    "lt": (python_operator.lt, ("less",), True),
    "le": (python_operator.le, ("less_equal",), True),
    "gt": (python_operator.gt, ("greater",), True),
    "ge": (python_operator.ge, ("greater_equal",), True),
}


def _declare_comparison(name, function, aliases, ordered):
    def body(self, other):
        return function(self, other)

    body.__doc__ = f"Whether ``self`` compares with ``other`` by ``{name}``, element by element."
    schema = f"{name}.Tensor(Tensor self, Tensor other) -> Tensor"
    operator = op(schema, promote=Promote.ALWAYS_BOOL, forms=ALL_FORMS, differentiable=False, aliases=aliases, numbers=("other",))(body)
    if ordered:
        supports(operator, f"{name}_cpu", BOOL, INTEGRAL, FLOATING)
    return operator


eq, ne, lt, le, gt, ge = (_declare_comparison(name, *facts) for name, facts in _COMPARISONS.items())


@_predicate("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor")
def isclose(self, other, rtol, atol, equal_nan):
    """Whether ``abs(self - other) <= atol + rtol * abs(other)``; equal infinities are close, NaN only with ``equal_nan``."""
    close = self == other
    if equal_nan and category(self) >= FLOATING:
        close |= jnp.isnan(self) & jnp.isnan(other)
    if rtol == 0 and atol == 0:
        return close
    if category(self) <= INTEGRAL:
        self, other = self.astype(jnp.float32), other.astype(jnp.float32)
    difference = jnp.abs(self - other)
    return close | (jnp.isfinite(difference) & (difference <= atol + jnp.abs(rtol * other)))


@isclose.check
def _(self, other, rtol, atol, equal_nan):
    if self.dtype != other.dtype:
        raise RuntimeError(f"{scalar_type_name(from_numpy(self.dtype))} did not match {scalar_type_name(from_numpy(other.dtype))}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")


@composite("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool")
def allclose(self, other, rtol, atol, equal_nan):
    """Whether all elements are close; see `isclose`."""
    return bool(self.isclose(other, rtol, atol, equal_nan).all().item())


@composite("equal(Tensor self, Tensor other) -> bool")
def equal(self, other):
    """Whether both tensors have the same shape and equal elements (NaN equals nothing)."""
    return self.shape == other.shape and bool(self.eq(other).all().item())


# ---------------------------------------------------------------------- properties of numbers
@_predicate("isnan(Tensor self) -> Tensor")
def isnan(self):
    """Whether each element is NaN."""
    return jnp.isnan(self)


@_predicate("isinf(Tensor self) -> Tensor")
def isinf(self):
    """Whether each element is infinite; for complex ones, whether a part is."""
    return jnp.isinf(self)


@_predicate("isfinite(Tensor self) -> Tensor")
def isfinite(self):
    """Whether each element is neither infinite nor NaN."""
    return jnp.isfinite(self)


@_predicate("isreal(Tensor self) -> Tensor")
def isreal(self):
    """Whether the imaginary part is zero."""
    return jnp.isreal(self)


def _is_infinity(self, infinity):
    return self == infinity if category(self) == FLOATING else jnp.zeros(self.shape, bool)


@_predicate("isposinf(Tensor self) -> Tensor", forms=FUNCTION | METHOD | OUT)
def isposinf(self):
    """Whether each element is plus infinity."""
    return _is_infinity(self, jnp.inf)


@_predicate("isneginf(Tensor self) -> Tensor", forms=FUNCTION | METHOD | OUT)
def isneginf(self):
    """Whether each element is minus infinity."""
    return _is_infinity(self, -jnp.inf)


for _operator in (isposinf, isneginf):

    @_operator.check
    def _(self, _name=_operator.name):
        if category(self) == COMPLEX:
            raise RuntimeError(f"{_name} does not support complex inputs.")


# ---------------------------------------------------------------------- logic
_LOGICAL = {"logical_and": python_operator.and_, "logical_or": python_operator.or_, "logical_xor": python_operator.ne}


def _declare_logical(name, function):
    def body(self, other):
        return function(self != 0, other != 0)

    body.__doc__ = f"``{name}`` of the truth values; what is not zero is true."
    return op(f"{name}(Tensor self, Tensor other) -> Tensor", promote=Promote.ALWAYS_BOOL, forms=ALL_FORMS, differentiable=False, numbers=())(body)


logical_and, logical_or, logical_xor = (_declare_logical(name, function) for name, function in _LOGICAL.items())


@_predicate("logical_not(Tensor self) -> Tensor", forms=ALL_FORMS)
def logical_not(self):
    """Whether each element is zero."""
    return self == 0


# ---------------------------------------------------------------------- bits
_BITWISE = {"bitwise_and": jnp.bitwise_and, "bitwise_or": jnp.bitwise_or, "bitwise_xor": jnp.bitwise_xor}


def _declare_bitwise(name, function):
    def body(self, other):
        return function(self, other)

    body.__doc__ = f"``{name}`` of integers; of bools their logical counterpart."
    schema = f"{name}.Tensor(Tensor self, Tensor other) -> Tensor"
    operator = op(schema, promote=Promote.DEFAULT, forms=ALL_FORMS, differentiable=False)(body)
    supports(operator, f"{name}_cpu", BOOL, INTEGRAL)
    return operator


bitwise_and, bitwise_or, bitwise_xor = (_declare_bitwise(name, function) for name, function in _BITWISE.items())


@_predicate("bitwise_not(Tensor self) -> Tensor", forms=ALL_FORMS)
def bitwise_not(self):
    """All bits flipped; of bools the logical not."""
    return jnp.bitwise_not(self)


supports(bitwise_not, "bitwise_not_cpu", BOOL, INTEGRAL)


def _out_of_range(count, array):
    """Which shifts are by more bits than there are, or by a negative number."""
    return (count < 0) | (count >= array.dtype.itemsize * 8)


@_choice("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", differentiable=False)
def bitwise_left_shift(self, other):
    """Bits shifted up; 0 where the shift is negative or wider than the number."""
    return jnp.where(_out_of_range(other, self), 0, jnp.left_shift(self, other))


@_choice("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", differentiable=False)
def bitwise_right_shift(self, other):
    """Bits shifted down, the sign kept; only the sign is left where the shift is negative or wider than the number."""
    rest = jnp.where(self < 0, -1, 0).astype(self.dtype) if jnp.issubdtype(self.dtype, jnp.signedinteger) else 0
    return jnp.where(_out_of_range(other, self), rest, jnp.right_shift(self, other))


supports(bitwise_left_shift, "lshift_cpu", INTEGRAL)
supports(bitwise_right_shift, "rshift_cpu", INTEGRAL)


# ---------------------------------------------------------------------- choosing by a condition
def _declare_where(overload, self_type, other_type):
    @op(f"where.{overload}(Tensor condition, {self_type} self, {other_type} other) -> Tensor", promote=Promote.DEFAULT,
        promoted=("self", "other"), forms=FUNCTION | OUT)  # fmt: skip
    def where(condition, self, other):
        """Elements of ``self`` where the condition holds, of ``other`` elsewhere."""
        return jnp.where(condition != 0, self, other)

    if self_type == "Tensor":
        where.grad("self")(lambda g, condition: jnp.where(condition != 0, g, 0))
    if other_type == "Tensor":
        where.grad("other")(lambda g, condition: jnp.where(condition != 0, 0, g))

    @where.check
    def _(condition, self, other):
        if condition.dtype not in (bool, jnp.uint8):
            name = scalar_type_name(from_numpy(condition.dtype))
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {name}")

    return where


where = _declare_where("self", "Tensor", "Tensor")
where_scalar_other = _declare_where("ScalarOther", "Tensor", "Scalar")
where_scalar_self = _declare_where("ScalarSelf", "Scalar", "Tensor")
where_scalars = _declare_where("Scalar", "Scalar", "Scalar")


@composite("where.method(Tensor self, Tensor condition, Tensor other) -> Tensor", forms=METHOD)
def where_method(self, condition, other):
    """Elements of ``self`` where the condition holds, of ``other``, a tensor or number, elsewhere."""
    if not isinstance(condition, Tensor):
        got = f"({type(condition).__name__}, {type(other).__name__})"
        raise TypeError(f"where() received an invalid combination of arguments - got {got}, but expected (Tensor condition, Tensor other)")
    return where(condition, self, other) if isinstance(other, Tensor) else where_scalar_other(condition, self, other)


def _check_mask(self, mask):
    if mask.dtype != bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {cpp_name(mask.dtype)}")


_STORED_AS = {"int64": "int64_t", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t"}


def _check_fits(value, dtype):
    """Raise torch's error when a number cannot be held by a dtype; unsigned ones also take what wraps around."""
    kind, fits = category(dtype), True
    if kind == INTEGRAL:
        limits = jnp.iinfo(dtype)
        low = -limits.max if limits.min == 0 else limits.min
        fits = not isinstance(value, complex) and value == value and low <= value <= limits.max
    elif kind == FLOATING:
        fits = not isinstance(value, complex) and (value != value or abs(value) == jnp.inf or abs(value) <= float(jnp.finfo(dtype).max))
    elif kind == COMPLEX:
        parts = (value.real, value.imag)
        fits = all(part != part or abs(part) == jnp.inf or abs(part) <= float(jnp.finfo(dtype).max) for part in parts)
    if not fits:
        name = from_numpy(dtype).name
        raise RuntimeError(f"value cannot be converted to type {_STORED_AS.get(name, cpp_name(dtype))} without overflow")


@op("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", forms=ALL_FORMS & ~OUT, static=("value",))
def masked_fill(self, mask, value):
    """``self`` with a number where the mask holds.

    Raises:
        RuntimeError: the mask is not bool, or the number does not fit the dtype.
    """
    return jnp.where(mask, jnp.asarray(_held(value, self.dtype), self.dtype), self)


def _held(value, dtype):
    """A number as a dtype holds it: integers cut off what is behind the point, unsigned ones wrap around."""
    if category(dtype) == INTEGRAL:
        return int(value) % 2 ** (8 * dtype.itemsize) if jnp.iinfo(dtype).min == 0 else int(value)
    return bool(value) if category(dtype) == BOOL else value


@masked_fill.grad("self")
def _(g, mask):
    return jnp.where(mask, 0, g)


@masked_fill.check
def _(self, mask, value):
    _check_mask(self, mask)
    _check_fits(value, self.dtype)


@op("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", forms=ALL_FORMS & ~OUT)
def masked_fill_tensor(self, mask, value):
    """``self`` with the one element of ``value`` where the mask holds."""
    return jnp.where(mask, value.astype(self.dtype), self)


@masked_fill_tensor.grad("self")
def _(g, mask):
    return jnp.where(mask, 0, g)


@masked_fill_tensor.grad("value")
def _(g, mask):
    return jnp.where(mask, g, 0)


#: Bits of a dtype, negative for floating ones -> what torch calls it when a complex number does not fit.
_UNFIT = {64: "int64_t", 32: "int", 16: "int16_t", 8: "int8_t", -64: "double", -32: "float"}


@masked_fill_tensor.data_check(RuntimeError, lambda bits: f"value cannot be converted to type {_UNFIT.get(bits, 'float')} without overflow")
def _(self_meta, value):
    if not jnp.issubdtype(value.dtype, jnp.complexfloating) or category(self_meta.dtype) not in (INTEGRAL, FLOATING):
        return False, 0
    return value.imag != 0, self_meta.dtype.itemsize * (8 if category(self_meta.dtype) == INTEGRAL else -8)


@masked_fill_tensor.check
def _(self, mask, value):
    _check_mask(self, mask)
    if value.ndim:
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")


@op("heaviside(Tensor self, Tensor values) -> Tensor", promote=Promote.DEFAULT, forms=ALL_FORMS, differentiable=False, numbers=())
def heaviside(self, values):
    """0 where ``self`` is negative or NaN, 1 where positive, ``values`` where zero."""
    return jnp.where(self == 0, values, (self > 0).astype(self.dtype))


@heaviside.check
def _(self, values):
    if COMPLEX in (category(self), category(values)):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if self.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


# ---------------------------------------------------------------------- the larger and the smaller
def _fmax(a, b):
    return jnp.where((a >= b) | _is_nan(b), a, b)


def _fmin(a, b):
    return jnp.where((a <= b) | _is_nan(b), a, b)


def _is_nan(array):
    return jnp.isnan(array) if category(array) == FLOATING else False


_EXTREMA = {  # name: (function, the comparison by which self is the one that is not chosen)
    "maximum": (jnp.maximum, python_operator.lt),
    "minimum": (jnp.minimum, python_operator.gt),
}


def _declare_extremum(name, function, loses):
    def body(self, other):
        return function(self, other)

    body.__doc__ = f"The {name} of both, NaN where one is.  Grad: halved between equal elements."
    operator = _choice(f"{name}(Tensor self, Tensor other) -> Tensor", forms=FUNCTION | METHOD | OUT, numbers=())(body)
    operator.grad("self")(lambda g, self, other: jnp.where(loses(self, other), 0, jnp.where(self == other, g / 2, g)))
    operator.grad("other")(lambda g, self, other: jnp.where(loses(other, self), 0, jnp.where(self == other, g / 2, g)))
    return operator


maximum, minimum = (_declare_extremum(name, *facts) for name, facts in _EXTREMA.items())

_NAN_EXTREMA = {"fmax": (_fmax, python_operator.ge), "fmin": (_fmin, python_operator.le)}


def _declare_nan_extremum(name, function, wins):
    def body(self, other):
        return function(self, other)

    body.__doc__ = f"{name.removeprefix('f').capitalize()} of both, the number where one is NaN.  Grad: to ``self`` between equal elements."
    operator = _choice(f"{name}(Tensor self, Tensor other) -> Tensor", forms=FUNCTION | METHOD | OUT, numbers=())(body)
    operator.grad("self")(lambda g, self, other: jnp.where(wins(self, other) | _is_nan(other), g, 0))
    operator.grad("other")(lambda g, self, other: jnp.where(wins(self, other) | _is_nan(other), 0, g))
    return operator


fmax, fmin = (_declare_nan_extremum(name, *facts) for name, facts in _NAN_EXTREMA.items())

for _operator in (maximum, minimum, fmax, fmin):

    @_operator.check
    def _(self, other, _name=_operator.name):
        if COMPLEX in (category(self), category(other)):
            raise RuntimeError(f"{_name} not implemented for complex tensors.")


# ---------------------------------------------------------------------- clamping
def _clamp(self, min, max):
    if min is not None:
        self = jnp.maximum(self, min)
    return self if max is None else jnp.minimum(self, max)


def _clamp_self(g, self, min, max):
    """The gradient of what is clamped: the bounds themselves let it through."""
    inside = True if min is None else self >= min
    return jnp.where(inside if max is None else inside & (self <= max), g, 0)


def _check_clamp(self, min, max, kernel):
    given = [bound for bound in (min, max) if bound is not None]
    if not given:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    kinds = [category(value) for value in (self, *given)]
    if COMPLEX in kinds:
        raise NotImplementedError("clamp is not supported for complex types")
    if all(kind == BOOL for kind in kinds):
        name = "clamp" if len(given) == 2 else "clamp_min" if max is None else "clamp_max"
        raise NotImplementedError(f"\"{name}{kernel}_cpu\" not implemented for 'Bool'")


@_choice("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", aliases=("clip",))
def clamp(self, min, max):
    """Elements below ``min`` become ``min``, those above ``max`` become ``max`` (which wins when the bounds cross); NaN stays."""
    return _clamp(self, min, max)


@clamp.grad("self")
def _(g, self, min, max):
    return _clamp_self(g, self, min, max)


@clamp.check
def _(self, min, max):
    _check_clamp(self, min, max, "_scalar")


@_choice("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", aliases=("clip",))
def clamp_tensor(self, min, max):
    """`clamp` with a bound for each element."""
    return _clamp(self, min, max)


@clamp_tensor.grad("self")
def _(g, self, min, max):
    return _clamp_self(g, self, min, max)


@clamp_tensor.grad("min")
def _(g, self, min, max):
    below = self < min
    return jnp.where(below if max is None else below & (min < max), g, 0)


@clamp_tensor.grad("max")
def _(g, self, min, max):
    above = self > max
    return jnp.where(above if min is None else above | (max < min), g, 0)


@clamp_tensor.check
def _(self, min, max):
    _check_clamp(self, min, max, "")


def _clamp_min(self, min):
    """Elements below ``min`` become ``min``; NaN stays."""
    return jnp.maximum(self, min)


def _clamp_max(self, max):
    """Elements above ``max`` become ``max``; NaN stays."""
    return jnp.minimum(self, max)


_CLAMP_RULES = {
    ("min", "self"): lambda g, self, min: jnp.where(self >= min, g, 0),
    ("min", "bound"): lambda g, self, min: jnp.where(self < min, g, 0),
    ("max", "self"): lambda g, self, max: jnp.where(self <= max, g, 0),
    ("max", "bound"): lambda g, self, max: jnp.where(self > max, g, 0),
}

for _name, _body in (("min", _clamp_min), ("max", _clamp_max)):
    for _overload, _type in (("", "Scalar"), (".Tensor", "Tensor")):
        _operator = _choice(f"clamp_{_name}{_overload}(Tensor self, {_type} {_name}) -> Tensor", numbers=())(_body)
        supports(_operator, f"{_name}imum_cpu", BOOL, INTEGRAL, FLOATING)
        _operator.grad("self")(_CLAMP_RULES[_name, "self"])
        if _overload:
            _operator.grad(_name)(_CLAMP_RULES[_name, "bound"])
