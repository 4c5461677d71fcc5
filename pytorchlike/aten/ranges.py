"""Ranges, identity matrices, indices of triangles and windows.

As in `create.py`, each public function settles dtype, device and strides and has one operator without tensors make the values.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.dtype import BOOL, BY_NAME, FLOATING, INTEGRAL, dtype, int32, int64
from ..core.promotion import promote_types, scalar_type_name
from ..core.state import default_dtype
from ..dispatch.registry import FUNCTION, Operator, composite, op
from .create import OPTIONS, PLACED, Target, as_number, require_fits
from .gather import C_NAMES

_made = functools.partial(op, namespaces=(), forms=FUNCTION, differentiable=False)


# --- what is computed: on the host, kept by the framework when small ---------------------------------------------------------------------


@_made("_arange(int length, Scalar start, Scalar step, ScalarType dtype) -> Tensor")
def progression(length, start, step, dtype):
    """``start + i * step``, computed in 64 bits and then rounded."""
    wide = np.int64 if dtype.category == INTEGRAL else np.float64
    return wide(start) + np.arange(length, dtype=wide) * wide(step)


def _spread(steps: int, start: Any, end: Any, dtype: dtype) -> np.ndarray:
    """Equal steps from ``start`` to ``end``, both met exactly: the second half is counted from the end.

    Computed in float64 for integers (and rounded towards zero later), in float32 for half precision, otherwise in the dtype itself.
    """
    wide: np.dtype
    if dtype.category == INTEGRAL:
        start, end = int(start), int(end)
        wide = np.dtype(np.float64)
    else:
        wide = dtype.numpy if dtype.itemsize >= 4 else np.dtype(np.float32)
    start, end = wide.type(start), wide.type(end)
    if steps == 1:
        return np.full(1, start)
    index = np.arange(steps)
    step = (end - start) / wide.type(steps - 1)
    return np.where(index < steps // 2, start + step * index.astype(wide), end - step * (steps - 1 - index).astype(wide))


@_made("_linspace(int steps, Scalar start, Scalar end, ScalarType dtype) -> Tensor")
def spread(steps, start, end, dtype):
    """``steps`` values in equal distances, both ends included."""
    return _spread(steps, start, end, dtype)


@_made("_logspace(int steps, Scalar start, Scalar end, Scalar base, ScalarType dtype) -> Tensor")
def log_spread(steps, start, end, base, dtype):
    """``base`` to the power of ``steps`` exponents in equal distances."""
    exponents = _spread(steps, start, end, dtype)
    return exponents.dtype.type(base) ** exponents


@_made("_eye(int rows, int columns, ScalarType dtype) -> Tensor")
def identity(rows, columns, dtype):
    """Ones on the main diagonal."""
    return np.eye(rows, columns, dtype=dtype.numpy)


@_made("_triangle_indices(bool upper, int rows, int columns, int offset, ScalarType dtype) -> Tensor")
def triangle(upper, rows, columns, offset, dtype):
    """Row and column of each element of a triangle, in row-major order."""
    return np.stack(np.triu_indices(rows, offset, columns) if upper else np.tril_indices(rows, offset, columns))


@_made("_cosine_window(int length, int period, float a0, float a1, float a2, ScalarType dtype) -> Tensor")
def cosine_window(length, period, a0, a1, a2, dtype):
    """``a0 - a1 cos(2 pi n / period) + a2 cos(4 pi n / period)``."""
    angle = np.arange(length) * (2 * math.pi / period)
    return a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle)


@_made("_triangle_window(int length, int period, ScalarType dtype) -> Tensor")
def triangle_window(length, period, dtype):
    """From 0 up to 1 in the middle of the period and down again."""
    return 1 - np.abs(np.arange(length) * (2 / period) - 1)


@_made("_kaiser_window(int length, int period, float beta, ScalarType dtype) -> Tensor")
def bessel_window(length, period, beta, dtype):
    """``i0(beta sqrt(1 - x^2)) / i0(beta)`` for x from -1 to 1."""
    x = np.arange(length) * (2 / period) - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)


# --- ranges ----------------------------------------------------------------------------------------------------------------------------


def _check_range(start: Any, end: Any, step: Any) -> None:
    for value in (start, end, step):
        if isinstance(value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _require_numbers(target: Target, kernel: str) -> None:
    if target.dtype.category == BOOL or (target.dtype.is_complex and kernel == "arange_cpu"):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(target.dtype)}'")


def _arange(start: Any, end: Any, step: Any, options: dict[str, Any]) -> Any:
    start, end, step = map(as_number, (start, end, step))
    numbers = (start, end, step)
    target = Target("arange", **options, inferred=int64 if all(isinstance(n, int) for n in numbers) else None)
    _check_range(*numbers)
    _require_numbers(target, "arange_cpu")
    if target.dtype is int64:
        for number in numbers:
            require_fits(number, int64)
        start, end, step = map(int, numbers)
        if step == 0:
            raise ValueError("step must be nonzero")
        length = max(-((start - end) // step), 0)
    else:
        length = math.ceil((float(end) - float(start)) / float(step))
        if target.dtype.category == INTEGRAL:
            start, step = int(start), int(step)
    return target.make(progression, length, start, step)


@composite(f"arange(Scalar end, {OPTIONS}) -> Tensor", forms=FUNCTION)
def arange(end, **options):
    """0, 1, 2 ... below ``end``; int64 for integers, otherwise the default dtype."""
    return _arange(0, end, 1, options)


@composite(f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {OPTIONS}) -> Tensor", forms=FUNCTION)
def arange_from(start, end, step, **options):
    """From ``start`` in steps to before ``end``; int64 if all three are integers, otherwise the default dtype."""
    return _arange(start, end, step, options)


@composite(f"range(Scalar start, Scalar end, Scalar step=1, {OPTIONS}) -> Tensor", forms=FUNCTION)
def closed_range(start, end, step, **options):
    """From ``start`` in steps up to ``end`` included, in the default dtype; torch deprecates it."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning, stacklevel=2,
    )  # fmt: skip
    start, end, step = map(as_number, (start, end, step))
    target = Target("range", **options)
    _check_range(start, end, step)
    return target.make(progression, math.floor((end - start) / step) + 1, start, step)


def _ends(function: str, start: Any, end: Any, steps: int, options: dict[str, Any]) -> tuple[Target, Any, Any]:
    for name, value in (("start", start), ("end", end)):
        if getattr(value, "ndim", 0):
            raise RuntimeError(
                f"{function} only supports 0-dimensional start and end tensors, but got {name} with {value.ndim} dimension(s)."
            )
    start, end = as_number(start), as_number(end)
    default = default_dtype()
    inferred = default
    if isinstance(start, complex) or isinstance(end, complex):
        inferred = default.to_complex()
        given = options["dtype"]
        if isinstance(given, dtype) and not given.is_complex:
            raise RuntimeError(
                f"torch.{function}(): inferred dtype c10::complex<{C_NAMES.get(default.name, default.name)}> can't be safely cast to "
                f"passed dtype {scalar_type_name(given)}"
            )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    target = Target(function, **options, inferred=inferred)
    _require_numbers(target, f"{function}_cpu")
    return target, start, end


def _linspace(start, end, steps, **options):
    """``steps`` values in equal distances, both ends included."""
    target, start, end = _ends("linspace", start, end, steps, options)
    return target.make(spread, steps, start, end)


def _logspace(start, end, steps, base, **options):
    """``base`` to the power of ``steps`` exponents in equal distances."""
    target, start, end = _ends("logspace", start, end, steps, options)
    return target.make(log_spread, steps, start, end, base)


for _kind, _overload in (("Scalar", ""), ("Tensor", ".Tensor_Tensor")):
    composite(f"linspace{_overload}({_kind} start, {_kind} end, int steps, {OPTIONS}) -> Tensor", forms=FUNCTION)(_linspace)
    composite(f"logspace{_overload}({_kind} start, {_kind} end, int steps, float base=10.0, {OPTIONS}) -> Tensor", forms=FUNCTION)(_logspace)


# --- matrices --------------------------------------------------------------------------------------------------------------------------


@composite(f"eye(int n, int? m=None, {OPTIONS}) -> Tensor", forms=FUNCTION)
def eye(n, m, **options):
    """The identity matrix, or ``n`` rows of ``m`` elements with ones on the main diagonal."""
    columns = n if m is None else m
    for name, value in (("n", n), ("m", columns)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return Target("eye", **options).make(identity, n, columns)


def _triangle_indices(function: str, row: int, col: int, offset: int, options: dict[str, Any]) -> Any:
    for name, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{name} must be non-negative, got{value}")
    target = Target(function, **options, inferred=int64)
    if target.dtype not in (int32, int64):
        raise NotImplementedError(f"\"{function}\" not implemented for '{scalar_type_name(target.dtype)}'")
    return target.make(triangle, function == "triu_indices", row, col, offset)


@composite(f"tril_indices(int row, int col, int offset=0, *, {PLACED}) -> Tensor", forms=FUNCTION)
def tril_indices(row, col, offset, **options):
    """Rows and columns of the elements on and below a diagonal, in row-major order."""
    return _triangle_indices("tril_indices", row, col, offset, options)


@composite(f"triu_indices(int row, int col, int offset=0, *, {PLACED}) -> Tensor", forms=FUNCTION)
def triu_indices(row, col, offset, **options):
    """Rows and columns of the elements on and above a diagonal, in row-major order."""
    return _triangle_indices("triu_indices", row, col, offset, options)


@op("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", forms=FUNCTION)
def vander(x, N, increasing):
    """The powers of a vector as columns, the highest first unless ``increasing``; integers become int64."""
    columns = x.shape[0] if N is None else N
    ours = next(d for d in BY_NAME.values() if d.numpy == x.dtype)
    x = x.astype(promote_types(ours, int64).numpy)
    if columns == 0:
        return jnp.zeros((x.shape[0], 0), x.dtype)
    factors = jnp.concatenate([jnp.ones((x.shape[0], 1), x.dtype), jnp.repeat(x[:, None], columns - 1, axis=1)], axis=1)
    powers = jnp.cumprod(factors, axis=1)
    return powers if increasing else jnp.flip(powers, 1)


@vander.check
def _(x, N, increasing):
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")


# --- windows ---------------------------------------------------------------------------------------------------------------------------


def _window(function: str, kernel: Operator, length: int, periodic: bool, options: dict[str, Any], *numbers: Any) -> Any:
    """A window of ``length`` elements; a periodic one is the start of a symmetric one that is longer by 1."""
    target = Target(function, **options)
    if target.dtype.category < FLOATING:
        raise RuntimeError(f"{function} expects floating point dtypes, got: {target.dtype}")
    if length < 0:
        raise RuntimeError(f"{function} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        return target.fill((length,), 1)
    return target.make(kernel, length, length if periodic else length - 1, *numbers)


@composite(f"hann_window(int window_length, bool periodic=True, {OPTIONS}) -> Tensor", forms=FUNCTION)
def hann_window(window_length, periodic, **options):
    """The Hann window."""
    return _window("hann_window", cosine_window, window_length, periodic, options, 0.5, 0.5, 0.0)


@composite(
    f"hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, {OPTIONS}) -> Tensor", forms=FUNCTION
)
def hamming_window(window_length, periodic, alpha, beta, **options):
    """The Hamming window ``alpha - beta cos``."""
    return _window("hamming_window", cosine_window, window_length, periodic, options, float(alpha), float(beta), 0.0)


@composite(f"blackman_window(int window_length, bool periodic=True, {OPTIONS}) -> Tensor", forms=FUNCTION)
def blackman_window(window_length, periodic, **options):
    """The Blackman window."""
    return _window("blackman_window", cosine_window, window_length, periodic, options, 0.42, 0.5, 0.08)


@composite(f"bartlett_window(int window_length, bool periodic=True, {OPTIONS}) -> Tensor", forms=FUNCTION)
def bartlett_window(window_length, periodic, **options):
    """The triangular window that starts at 0."""
    return _window("bartlett_window", triangle_window, window_length, periodic, options)


@composite(f"kaiser_window(int window_length, bool periodic=True, float beta=12.0, {OPTIONS}) -> Tensor", forms=FUNCTION)
def kaiser_window(window_length, periodic, beta, **options):
    """The Kaiser window of shape ``beta``."""
    return _window("kaiser_window", bessel_window, window_length, periodic, options, float(beta))
