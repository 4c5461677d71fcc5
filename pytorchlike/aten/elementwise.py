"""What the pointwise families share: half precision computed in float32, numbers beside arrays, dtypes that torch has no kernel for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core import promotion
from ..core.dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, from_numpy
from ..core.promotion import scalar_type_name
from ..dispatch.registry import Operator

__all__ = [
    "BOOL", "COMPLEX", "FLOATING", "INTEGRAL", "beside", "category", "cpp_name", "not_implemented", "refuse_half", "rounded_once", "rounded_steps", "rounding_to",
    "supports",
]  # fmt: skip

_HALVES = (jnp.float16, jnp.bfloat16)


def rounded_once(function: Callable) -> Callable:
    """Let half-precision arrays be computed with in float32 and round the result once, as torch's kernels do."""

    def widened(value: Any) -> Any:
        return value.astype(jnp.float32) if isinstance(value, jax.Array) and value.dtype in _HALVES else value

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        arrays = [value for value in (*args, *kwargs.values()) if isinstance(value, jax.Array)]
        inexact = [array for array in arrays if jnp.issubdtype(array.dtype, jnp.inexact)]
        common = jnp.result_type(*inexact) if inexact else None
        if common not in _HALVES:
            return function(*args, **kwargs)
        result = function(*map(widened, args), **{name: widened(value) for name, value in kwargs.items()})
        return result.astype(common) if jnp.issubdtype(result.dtype, jnp.inexact) else result

    return wrapper


def rounded_steps(function: Callable, *arrays: Any) -> Any:
    """A computation whose steps half precision rounds one by one, as some of torch's kernels do; XLA would leave that out.

    Args:
        function: of a rounding function and the arrays, in float32 for half precision.
    """
    dtype = arrays[0].dtype
    if dtype not in _HALVES:
        return function(lambda x: x, *arrays)
    return function(rounding_to(dtype), *[x.astype(jnp.float32) for x in arrays]).astype(dtype)


def rounding_to(dtype: Any) -> Callable[[Any], Any]:
    """What rounds float32 to a half-precision dtype and leaves it float32; for other dtypes it changes nothing.

    A composite of torch's stores every step in the dtype of its arguments.  A conversion there and back XLA would leave out.
    """
    if dtype not in _HALVES:
        return lambda x: x
    return _to_float16 if dtype == jnp.float16 else lambda x: jax.lax.reduce_precision(jnp.asarray(x, jnp.float32), 8, 7)


def _to_float16(x: Any) -> Any:
    """Rounded to float16; XLA's reduction of precision takes numbers below the smallest normal one for zero, and derivatives with them."""
    x = jnp.asarray(x, jnp.float32)
    small = jnp.abs(x) < 2.0**-14
    near = jnp.where(small, jnp.round(jnp.where(small, x, 0) * 2.0**24) * 2.0**-24, jax.lax.reduce_precision(x, 5, 10))
    return jnp.where(jnp.isinf(x), x, x + jax.lax.stop_gradient(near - x))


def beside(number: Any, array: Any) -> Any:
    """A number in the dtype of the array it is used with; Python's own adapt by themselves."""
    return number.astype(array.dtype) if hasattr(number, "dtype") else number


def category(of: Any) -> int:
    """``BOOL``, ``INTEGRAL``, ``FLOATING`` or ``COMPLEX``, of an array, a number or a dtype."""
    return from_numpy(of if isinstance(of, np.dtype) else jnp.result_type(of)).category


def not_implemented(kernel: str, array: Any) -> NotImplementedError:
    """The error of a dtype that a kernel of torch's does not have."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(from_numpy(array.dtype))}'")


def supports(operator: Operator, kernel: str, *categories: int, tensors: tuple[str, ...] = ()) -> None:
    """Refuse arguments (those named, or all that take part in promotion) whose highest category is none of these.

    The text is that of torch's missing kernels.
    """
    schema = operator.schema
    names = tensors or operator.promoted or tuple(a.name for a in schema.arguments if a.is_tensor or a.is_scalar)

    @operator.check
    def _(**arguments: Any) -> None:
        highest = max((arguments[name] for name in names if hasattr(arguments[name], "dtype")), key=category)
        if category(highest) not in categories:
            raise not_implemented(kernel, highest)


def refuse_half(operator: Operator, kernel: str) -> None:
    """Refuse half precision, which torch's kernel does not have on the CPU."""

    @operator.check
    def _(**arguments: Any) -> None:
        for value in arguments.values():
            if getattr(value, "dtype", None) in _HALVES:
                raise not_implemented(kernel, value)


def cpp_name(dtype: Any) -> str:
    """The element type as C++ spells it: ``float`` for float32, ``long int`` for int64."""
    return promotion.cpp_name(from_numpy(dtype))
