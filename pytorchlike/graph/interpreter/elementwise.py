"""Primitives that compute each element by itself."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
from jax import lax

from .. import cache
from .table import PRIMITIVES, Equation, NotInterpretable, Run, dtype_of, primitive

#: Primitives without parameters that are one function of numpy.
_UFUNCS: dict[str, Any] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.absolute, "square": np.square,
    "max": np.maximum, "min": np.minimum, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "real": np.real, "imag": np.imag, "conj": np.conjugate,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "cbrt": np.cbrt, "nextafter": np.nextafter,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not, "is_finite": np.isfinite,
}  # fmt: skip


def _enter(name: str, function: Any) -> None:
    PRIMITIVES[name] = lambda equation: function


for _name, _function in _UFUNCS.items():
    _enter(_name, _function)

#: Primitives whose numpy function knows no narrow floats, or not this one of them; computed in float32.
_SPECIAL = {"erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "psi", "bessel_i0e": "i0e", "bessel_i1e": "i1e",
            "igamma": "gammainc", "igammac": "gammaincc", "zeta": "zeta", "regularized_incomplete_beta": "betainc"}  # fmt: skip


#: Arrays go through special functions in blocks of this many elements ...
_BLOCK = 1 << 14

#: ... unless they have fewer elements than this: then Python's, where it has them (the import of SciPy takes 60 ms).
_SMALL = 1 << 10
_SCALAR = {"erf": math.erf, "erfc": math.erfc}


@functools.cache
def _block_kernel(name: str) -> Run:
    """A special function by XLA, which takes a fifth of SciPy's time and compiles once for all sizes."""
    cache.configure()
    return jax.jit(getattr(lax, name))


@primitive(*_SPECIAL)
def _special(equation: Equation) -> Run:
    """Special functions, by SciPy (which JAX depends on) where they are few elements."""
    name, dtype = equation.primitive.name, dtype_of(equation.outvars[0])
    if len(equation.invars) == 1 and math.prod(equation.outvars[0].aval.shape) >= _SMALL:
        return functools.partial(_in_blocks, _block_kernel(name))
    if name in _SCALAR:
        single = _SCALAR[name]
        return lambda x: np.fromiter(map(single, x.ravel().tolist()), dtype, x.size).reshape(x.shape)
    import scipy.special

    function = getattr(scipy.special, _SPECIAL[name])
    if dtype.itemsize >= 4:
        return function
    return lambda *arrays: function(*[a.astype(np.float32) for a in arrays]).astype(dtype)


def _in_blocks(kernel: Run, x: Any) -> Any:
    flat, result = np.ascontiguousarray(x).reshape(-1), np.empty(x.size, x.dtype)
    for start in range(0, x.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        count = len(block)
        if count < _BLOCK:
            block = np.concatenate([block, np.ones(_BLOCK - count, x.dtype)])
        result[start : start + count] = np.asarray(kernel(block))[:count]
    return result.reshape(x.shape)


@primitive("polygamma")
def _polygamma(equation: Equation) -> Run:
    """The derivatives of digamma, by SciPy for float64."""
    import scipy.special

    dtype = dtype_of(equation.outvars[0])
    return lambda n, x: scipy.special.polygamma(n, x).astype(dtype)


@primitive("rsqrt")
def _rsqrt(equation: Equation) -> Run:
    one = dtype_of(equation.outvars[0]).type(1)
    return lambda x: one / np.sqrt(x)


@primitive("logistic")
def _logistic(equation: Equation) -> Run:
    one = dtype_of(equation.outvars[0]).type(1)
    return lambda x: one / (one + np.exp(-x))


@primitive("sign")
def _sign(equation: Equation) -> Run:
    dtype = dtype_of(equation.outvars[0])
    if dtype.kind == "c":
        return lambda x: np.where(x == 0, x, x / np.abs(x)).astype(dtype)
    if dtype.kind in "ui":
        return np.sign
    return lambda x: np.where(x == 0, x, np.sign(x))  # keeps the sign of zero


@primitive("div")
def _div(equation: Equation) -> Run:
    """Division; of integers towards zero, and by zero -1 (all bits), as XLA does."""
    dtype = dtype_of(equation.outvars[0])
    if dtype.kind not in "ui":
        return np.divide

    def divide(a: Any, b: Any) -> Any:
        safe = np.where(b == 0, dtype.type(1), b)
        quotient = a // safe
        if dtype.kind == "i":
            quotient = quotient + ((a % safe != 0) & ((a < 0) != (safe < 0))).astype(dtype)
        return np.where(b == 0, ~dtype.type(0), quotient)

    return divide


@primitive("rem")
def _rem(equation: Equation) -> Run:
    """The remainder with the sign of the dividend; of integers by zero the dividend."""
    if dtype_of(equation.outvars[0]).kind not in "ui":
        return np.fmod
    return lambda a, b: np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


@primitive("pow")
def _pow(equation: Equation) -> Run:
    base, exponent = map(dtype_of, equation.invars)
    return np.power if base == exponent else lambda x, y: np.power(x, y.astype(base))


@primitive("integer_pow")
def _integer_pow(equation: Equation) -> Run:
    """A fixed integer power, by multiplications like XLA's."""
    exponent, dtype = equation.params["y"], dtype_of(equation.outvars[0])

    def power(x: Any) -> Any:
        n, square, result = abs(exponent), x, None
        while n:
            if n & 1:
                result = square if result is None else result * square
            n >>= 1
            if n:
                square = square * square
        if result is None:
            return np.ones_like(x)
        return dtype.type(1) / result if exponent < 0 else result

    return power


@primitive("round")
def _round(equation: Equation) -> Run:
    method = equation.params["rounding_method"]
    if int(method) == 1:
        return np.rint
    return lambda x: np.where(np.abs(x - np.trunc(x)) == 0.5, x + np.copysign(x.dtype.type(0.5), x), np.rint(x))  # half away from zero


@primitive("clamp")
def _clamp(equation: Equation) -> Run:
    return lambda low, x, high: np.minimum(np.maximum(x, low), high)


@primitive("select_n")
def _select_n(equation: Equation) -> Run:
    if dtype_of(equation.invars[0]).kind == "b":
        return lambda which, no, yes: np.where(which, yes, no)
    return lambda which, *cases: np.choose(which, cases)


@primitive("complex")
def _complex(equation: Equation) -> Run:
    dtype = dtype_of(equation.outvars[0])

    def combine(real: Any, imaginary: Any) -> Any:
        result = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imaginary)), dtype)
        result.real, result.imag = real, imaginary
        return result

    return combine


@primitive("convert_element_type")
def _convert(equation: Equation) -> Run:
    """Another dtype; floats outside of an integer type's range become its ends, NaN zero, as XLA does."""
    old, new = dtype_of(equation.invars[0]), np.dtype(equation.params["new_dtype"])
    if old.kind == "c" and new.kind not in "c":
        if new.kind == "b":
            return lambda x: x != 0
        return lambda x: np.real(x).astype(new)
    if new.kind in "ui" and (old.kind == "f" or old.name == "bfloat16"):
        least, largest = np.iinfo(new).min, np.iinfo(new).max

        def saturate(x: Any) -> Any:
            if x.ndim == 0 and least < (number := float(x)) < largest:
                return new.type(int(number))
            x = np.asarray(x, np.float64)
            inside = (x > float(least)) & (x < float(largest))
            if inside.all():
                return x.astype(new)
            result = np.where(inside, x, 0.0).astype(new)
            return np.where(x >= float(largest), new.type(largest), np.where(x <= float(least), new.type(least), result))

        return saturate
    return lambda x: x.astype(new)


@primitive("bitcast_convert_type")
def _bitcast(equation: Equation) -> Run:
    old, new = dtype_of(equation.invars[0]), np.dtype(equation.params["new_dtype"])
    shape = equation.outvars[0].aval.shape
    if old.kind == "b" or new.kind == "b":
        raise NotInterpretable("bitcast of bool")
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(new).reshape(shape)


@primitive("reduce_precision")
def _reduce_precision(equation: Equation) -> Run:
    import ml_dtypes

    kept = {(8, 7): ml_dtypes.bfloat16, (5, 10): np.float16, (8, 23): np.float32, (11, 52): np.float64}
    narrow = kept.get((equation.params["exponent_bits"], equation.params["mantissa_bits"]))
    if narrow is None:
        raise NotInterpretable("reduce_precision")
    dtype = dtype_of(equation.outvars[0])
    return lambda x: x.astype(narrow).astype(dtype)


def _bits(equation: Equation) -> int:
    return 8 * dtype_of(equation.invars[0]).itemsize


@primitive("shift_left")
def _shift_left(equation: Equation) -> Run:
    bits = _bits(equation)
    return lambda x, n: np.where((n >= 0) & (n < bits), x << (n & (bits - 1)).astype(x.dtype), x.dtype.type(0))


@primitive("shift_right_arithmetic")
def _shift_right_arithmetic(equation: Equation) -> Run:
    bits, dtype = _bits(equation), dtype_of(equation.invars[0])
    signed = np.dtype(f"i{dtype.itemsize}")

    def shift(x: Any, n: Any) -> Any:
        n = np.where((n >= 0) & (n < bits), n, n.dtype.type(bits - 1))
        return (x.astype(signed) >> n.astype(signed)).astype(dtype)

    return shift


@primitive("shift_right_logical")
def _shift_right_logical(equation: Equation) -> Run:
    bits, dtype = _bits(equation), dtype_of(equation.invars[0])
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def shift(x: Any, n: Any) -> Any:
        inside = (n >= 0) & (n < bits)
        return np.where(inside, (x.astype(unsigned) >> np.where(inside, n, 0).astype(unsigned)).astype(dtype), dtype.type(0))

    return shift


@primitive("population_count")
def _population_count(equation: Equation) -> Run:
    dtype = dtype_of(equation.invars[0])
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(x.astype(unsigned)).astype(dtype)


@primitive("clz")
def _clz(equation: Equation) -> Run:
    bits, dtype = _bits(equation), dtype_of(equation.invars[0])
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def leading_zeros(x: Any) -> Any:
        x = x.astype(unsigned)
        for shift in (1, 2, 4, 8, 16, 32):
            if shift < bits:
                x = x | (x >> unsigned.type(shift))
        return (bits - np.bitwise_count(x)).astype(dtype)

    return leading_zeros
