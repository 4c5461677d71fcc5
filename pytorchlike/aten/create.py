"""New tensors: constants, ranges, identity matrices and windows.

Each public function settles dtype, device and strides (`Target`) and has one operator without tensors make the values.
"""

from __future__ import annotations

import functools
import math
import operator as python
import warnings
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.device import accelerator_type, as_device
from ..core.dtype import BOOL, BY_NAME, FLOATING, INTEGRAL, dtype, int32, int64
from ..core.promotion import number_dtype, promote_types, scalar_type_name
from ..core.state import default_dtype, thread
from ..core.typeinfo import finfo, iinfo
from ..dispatch.batching import with_batch_of
from ..dispatch.call import call_factory
from ..dispatch.registry import FUNCTION, METHOD, Operator, composite, op
from ..tensors.layout import contiguous_strides, format_strides, is_non_overlapping_and_dense
from ..tensors.tensor import Tensor, make_tensor, relayout
from .gather import C_NAMES
from .shape import listed

#: The keywords that every factory takes, as its schema lists them and `Target` takes them.
_PLACED = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool requires_grad=False"
_OPTIONS = f"*, {_PLACED}, Tensor? out=None"

_PYTHON_DTYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


# --- what is computed: on the host, kept by the framework when small ---------------------------------------------------------------------

_made = functools.partial(op, namespaces=(), forms=FUNCTION, differentiable=False)


@_made("_filled(int[] size, Scalar value, ScalarType dtype) -> Tensor")
def filled(size, value, dtype):
    """One value everywhere; negative integers wrap around in unsigned dtypes."""
    if isinstance(value, complex) and not dtype.is_complex:
        value = value.real
    if dtype.category == INTEGRAL:
        value = int(value) % (1 << dtype.itemsize * 8) if not dtype.is_signed else int(value)
    return np.broadcast_to(np.asarray(value, dtype.numpy), size)


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


# --- dtype, device and strides of the result -------------------------------------------------------------------------------------------


class Target:
    """What a new tensor is to be: the keywords of the factory functions, settled.

    Args:
        function: the public name, for error texts.
        inferred: the dtype if the caller gives none.
        like: the tensor whose device (and whose dtype, without ``inferred``) the result takes.

    Raises:
        TypeError, RuntimeError: torch's, for keywords that contradict each other or the machine.
        NotImplementedError: a layout other than strided.
    """

    def __init__(self, function: str, dtype: Any, layout: Any, device: Any, pin_memory: bool | None, requires_grad: bool,
                 out: Any = None, *, inferred: Any = None, like: Any = None) -> None:  # fmt: skip
        self.function = function
        self.out = out
        self.like = like
        self.requires_grad = requires_grad
        given = _as_dtype(dtype, function)
        if out is not None:
            if given is not None and given is not out.dtype:
                raise RuntimeError(
                    f"dtype {scalar_type_name(given)} does not match dtype of out parameter ({scalar_type_name(out.dtype)})"
                )
            given, device = out.dtype, out.device
        self.dtype = given or inferred or (default_dtype() if like is None else like.dtype)
        self.device = as_device(device if device is not None else thread.state.device if like is None else like.device)
        if layout is not None and str(layout) != "torch.strided":
            raise NotImplementedError(f"{function}: layout={layout} is not supported; make a dense tensor and convert it")
        if pin_memory and accelerator_type() == "cpu":
            raise RuntimeError(
                "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this system."
            )
        if requires_grad and self.dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")

    def make(self, operator: Operator, *args: Any, stride: tuple[int, ...] | None = None) -> Any:
        """What the operator makes of these arguments and the dtype; ``stride`` asks for a dense layout other than row-major."""
        plain = self.out is None and stride is None
        result = call_factory(operator, (*args, self.dtype), self.dtype, self.device, self.requires_grad and plain)
        if stride is not None and stride != result.stride():
            result = make_tensor(relayout(result._content(), stride))
        if self.out is not None:
            return _written(self.out, result)
        if thread.state.levels and self.like is not None:
            result = with_batch_of(self.like, result)
        return result.requires_grad_() if self.requires_grad and not plain else result

    def fill(self, size: tuple[int, ...], value: Any, stride: tuple[int, ...] | None = None) -> Any:
        """A tensor of one value.

        Raises:
            RuntimeError: the dtype cannot hold it, or the machine the tensor; torch's texts.
        """
        _require_fits(value, self.dtype)
        if math.prod(size) * self.dtype.itemsize >= 1 << 63:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={listed(size)}")
        return self.make(filled, size, value, stride=stride)


def _written(out: Any, result: Any) -> Any:
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def _as_dtype(given: Any, function: str) -> dtype | None:
    if given is None or isinstance(given, dtype):
        return given
    name = _PYTHON_DTYPES.get(given)
    if name is None:
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return BY_NAME[name]


def _as_size(size: Any, function: str) -> tuple[int, ...]:
    """A size as a tuple of ints.

    Raises:
        TypeError: an element is no integer, torch's text.
        RuntimeError: one is negative, torch's text.
    """
    if not isinstance(size, Sequence):
        if not hasattr(size, "__index__"):
            raise TypeError(f"{function}(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
        size = (size,)
    for position, item in enumerate(size):
        if not hasattr(item, "__index__"):
            raise TypeError(
                f"{function}(): argument 'size' (position 1) must be tuple of ints, but found element of type {type(item).__name__} at "
                f"pos {position}"
            )
    result = tuple(map(python.index, size))
    for item in result:
        if item < 0:
            if function == "zeros":
                raise RuntimeError("zeros: Dimension size must be non-negative.")
            raise RuntimeError(f"Trying to create tensor with negative dimension {item}: {listed(result)}")
    return result


def _number(value: Any) -> Any:
    """A Python number for a number, a numpy scalar or a 0-d tensor."""
    return value.item() if hasattr(value, "item") else value


def _require_fits(value: Any, to: dtype) -> None:
    """Refuse a number that the dtype cannot hold; negative ones wrap around in unsigned dtypes, as in torch.

    Raises:
        RuntimeError: torch's text.
    """
    if to.category == BOOL:
        return
    fits = True
    if isinstance(value, complex):
        if to.is_complex:
            return
        fits, value = value.imag == 0, value.real
    if to.category == INTEGRAL:
        limits = iinfo(to)
        low = limits.min if to.is_signed else -limits.max
        fits = fits and math.isfinite(value) and low <= value <= limits.max
    elif isinstance(value, (int, float)) and math.isfinite(value):
        fits = fits and abs(value) <= finfo(to).max
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {C_NAMES.get(to.name, to.name)} without overflow")


def _format_name(memory_format: Any) -> str:
    return str(memory_format).removeprefix("torch.")


# --- constants -------------------------------------------------------------------------------------------------------------------------


@composite(f"zeros(int[] size, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def zeros(size, **options):
    """A tensor of zeros."""
    return Target("zeros", **options).fill(_as_size(size, "zeros"), 0)


@composite(f"ones(int[] size, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def ones(size, **options):
    """A tensor of ones."""
    return Target("ones", **options).fill(_as_size(size, "ones"), 1)


@composite(f"full(int[] size, Scalar fill_value, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def full(size, fill_value, **options):
    """A tensor of one value, by default of the value's own kind: bool, int64, the default dtype or its complex one."""
    if not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    if getattr(fill_value, "ndim", 0):
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
    value = _number(fill_value)
    return Target("full", **options, inferred=number_dtype(value, default_dtype())).fill(_as_size(size, "full"), value)


@composite(f"scalar_tensor(Scalar s, *, {_PLACED}) -> Tensor", forms=FUNCTION)
def scalar_tensor(s, **options):
    """A 0-d tensor of the default dtype."""
    return Target("scalar_tensor", **options).fill((), _number(s))


@composite(f"empty(int[] size, *, MemoryFormat? memory_format=None, {_OPTIONS[3:]}) -> Tensor", forms=FUNCTION)
def empty(size, memory_format, **options):
    """A tensor whose values do not matter (zeros here)."""
    size = _as_size(size, "empty")
    return Target("empty", **options).fill(size, 0, _strides_in(memory_format, size))


def _strides_in(memory_format: Any, size: tuple[int, ...]) -> tuple[int, ...] | None:
    if memory_format is None:
        return None
    if _format_name(memory_format) == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve")
    return format_strides(_format_name(memory_format), size, contiguous_strides(size))


def _strided(target: Target, size: Any, stride: Any) -> Any:
    size, stride = _as_size(size, target.function), tuple(map(python.index, stride))
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={listed(size)} and strides={listed(stride)}")
    if is_non_overlapping_and_dense(size, stride):
        return target.fill(size, 0, stride)
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
    wanted, target.requires_grad = target.requires_grad, False
    return target.fill((span,), 0).as_strided(size, stride).requires_grad_(wanted)


@composite(f"empty_strided(int[] size, int[] stride, *, {_PLACED}) -> Tensor", forms=FUNCTION)
def empty_strided(size, stride, **options):
    """A tensor with these strides, whose values do not matter (zeros here)."""
    return _strided(Target("empty_strided", **options), size, stride)


def _fill_like(function: str, self: Any, value: Any, memory_format: Any, options: dict[str, Any]) -> Any:
    if not isinstance(self, Tensor):
        raise TypeError(f"{function}(): argument 'input' (position 1) must be Tensor, not {type(self).__name__}")
    target = Target(function, **options, like=self)
    size = tuple(self.shape)
    kept = "preserve_format" if memory_format is None else _format_name(memory_format)
    return target.fill(size, value, format_strides(kept, size, tuple(self.stride())))


_LIKE = f"*, MemoryFormat? memory_format=None, {_PLACED}"


@composite(f"zeros_like(Tensor self, {_LIKE}) -> Tensor", forms=FUNCTION)
def zeros_like(self, memory_format, **options):
    """Zeros with the size, and if dense the strides, of a tensor."""
    return _fill_like("zeros_like", self, 0, memory_format, options)


@composite(f"ones_like(Tensor self, {_LIKE}) -> Tensor", forms=FUNCTION)
def ones_like(self, memory_format, **options):
    """Ones with the size, and if dense the strides, of a tensor."""
    return _fill_like("ones_like", self, 1, memory_format, options)


@composite(f"empty_like(Tensor self, {_LIKE}) -> Tensor", forms=FUNCTION)
def empty_like(self, memory_format, **options):
    """A tensor with the size, and if dense the strides, of another; its values do not matter (zeros here)."""
    return _fill_like("empty_like", self, 0, memory_format, options)


@composite(f"full_like(Tensor self, Scalar fill_value, {_LIKE}) -> Tensor", forms=FUNCTION)
def full_like(self, fill_value, memory_format, **options):
    """One value with the size, dtype and if dense the strides of a tensor."""
    return _fill_like("full_like", self, _number(fill_value), memory_format, options)


@composite(f"new_zeros(Tensor self, int[] size, *, {_PLACED}) -> Tensor", forms=METHOD)
def new_zeros(self, size, **options):
    """Zeros with the dtype and device of this tensor."""
    return Target("new_zeros", **options, like=self).fill(_as_size(size, "new_zeros"), 0)


@composite(f"new_ones(Tensor self, int[] size, *, {_PLACED}) -> Tensor", forms=METHOD)
def new_ones(self, size, **options):
    """Ones with the dtype and device of this tensor."""
    return Target("new_ones", **options, like=self).fill(_as_size(size, "new_ones"), 1)


@composite(f"new_empty(Tensor self, int[] size, *, {_PLACED}) -> Tensor", forms=METHOD)
def new_empty(self, size, **options):
    """A tensor with the dtype and device of this one; its values do not matter (zeros here)."""
    return Target("new_empty", **options, like=self).fill(_as_size(size, "new_empty"), 0)


@composite(f"new_full(Tensor self, int[] size, Scalar fill_value, *, {_PLACED}) -> Tensor", forms=METHOD)
def new_full(self, size, fill_value, **options):
    """One value with the dtype and device of this tensor."""
    return Target("new_full", **options, like=self).fill(_as_size(size, "new_full"), _number(fill_value))


@composite(f"new_empty_strided(Tensor self, int[] size, int[] stride, *, {_PLACED}) -> Tensor", forms=METHOD)
def new_empty_strided(self, size, stride, **options):
    """A tensor with these strides and the dtype and device of this one; its values do not matter (zeros here)."""
    return _strided(Target("new_empty_strided", **options, like=self), size, stride)


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
    start, end, step = map(_number, (start, end, step))
    numbers = (start, end, step)
    target = Target("arange", **options, inferred=int64 if all(isinstance(n, int) for n in numbers) else None)
    _check_range(*numbers)
    _require_numbers(target, "arange_cpu")
    if target.dtype is int64:
        for number in numbers:
            _require_fits(number, int64)
        start, end, step = map(int, numbers)
        if step == 0:
            raise ValueError("step must be nonzero")
        length = max(-((start - end) // step), 0)
    else:
        length = math.ceil((float(end) - float(start)) / float(step))
        if target.dtype.category == INTEGRAL:
            start, step = int(start), int(step)
    return target.make(progression, length, start, step)


@composite(f"arange(Scalar end, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def arange(end, **options):
    """0, 1, 2 ... below ``end``; int64 for integers, otherwise the default dtype."""
    return _arange(0, end, 1, options)


@composite(f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def arange_from(start, end, step, **options):
    """From ``start`` in steps to before ``end``; int64 if all three are integers, otherwise the default dtype."""
    return _arange(start, end, step, options)


@composite(f"range(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def closed_range(start, end, step, **options):
    """From ``start`` in steps up to ``end`` included, in the default dtype; torch deprecates it."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning, stacklevel=2,
    )  # fmt: skip
    start, end, step = map(_number, (start, end, step))
    target = Target("range", **options)
    _check_range(start, end, step)
    return target.make(progression, math.floor((end - start) / step) + 1, start, step)


def _ends(function: str, start: Any, end: Any, steps: int, options: dict[str, Any]) -> tuple[Target, Any, Any]:
    for name, value in (("start", start), ("end", end)):
        if getattr(value, "ndim", 0):
            raise RuntimeError(
                f"{function} only supports 0-dimensional start and end tensors, but got {name} with {value.ndim} dimension(s)."
            )
    start, end = _number(start), _number(end)
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
    composite(f"linspace{_overload}({_kind} start, {_kind} end, int steps, {_OPTIONS}) -> Tensor", forms=FUNCTION)(_linspace)
    composite(f"logspace{_overload}({_kind} start, {_kind} end, int steps, float base=10.0, {_OPTIONS}) -> Tensor", forms=FUNCTION)(_logspace)


# --- matrices --------------------------------------------------------------------------------------------------------------------------


@composite(f"eye(int n, int? m=None, {_OPTIONS}) -> Tensor", forms=FUNCTION)
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


@composite(f"tril_indices(int row, int col, int offset=0, *, {_PLACED}) -> Tensor", forms=FUNCTION)
def tril_indices(row, col, offset, **options):
    """Rows and columns of the elements on and below a diagonal, in row-major order."""
    return _triangle_indices("tril_indices", row, col, offset, options)


@composite(f"triu_indices(int row, int col, int offset=0, *, {_PLACED}) -> Tensor", forms=FUNCTION)
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


@composite(f"hann_window(int window_length, bool periodic=True, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def hann_window(window_length, periodic, **options):
    """The Hann window."""
    return _window("hann_window", cosine_window, window_length, periodic, options, 0.5, 0.5, 0.0)


@composite(
    f"hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, {_OPTIONS}) -> Tensor", forms=FUNCTION
)
def hamming_window(window_length, periodic, alpha, beta, **options):
    """The Hamming window ``alpha - beta cos``."""
    return _window("hamming_window", cosine_window, window_length, periodic, options, float(alpha), float(beta), 0.0)


@composite(f"blackman_window(int window_length, bool periodic=True, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def blackman_window(window_length, periodic, **options):
    """The Blackman window."""
    return _window("blackman_window", cosine_window, window_length, periodic, options, 0.42, 0.5, 0.08)


@composite(f"bartlett_window(int window_length, bool periodic=True, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def bartlett_window(window_length, periodic, **options):
    """The triangular window that starts at 0."""
    return _window("bartlett_window", triangle_window, window_length, periodic, options)


@composite(f"kaiser_window(int window_length, bool periodic=True, float beta=12.0, {_OPTIONS}) -> Tensor", forms=FUNCTION)
def kaiser_window(window_length, periodic, beta, **options):
    """The Kaiser window of shape ``beta``."""
    return _window("kaiser_window", bessel_window, window_length, periodic, options, float(beta))
