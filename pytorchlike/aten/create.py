"""New tensors of one value, or of values that do not matter.

Each public function settles dtype, device and strides (`Target`) and has one operator without tensors make the values.
"""

from __future__ import annotations

import functools
import math
import operator as python
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.device import accelerator_type, as_device
from ..core.dtype import BOOL, BY_NAME, FLOATING, INTEGRAL, complex32, complex64, dtype
from ..core.promotion import number_dtype, scalar_type_name
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
PLACED = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool requires_grad=False"
OPTIONS = f"*, {PLACED}, Tensor? out=None"

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
        if self.dtype is complex32:
            return self._narrow(operator, *args, stride=stride)
        plain = self.out is None and stride is None
        result = call_factory(operator, (*args, self.dtype), self.dtype, self.device, self.requires_grad and plain)
        if stride is not None and stride != result.stride():
            result = make_tensor(relayout(result._content(), stride))
        if self.out is not None:
            return _written(self.out, result)
        if thread.state.levels and self.like is not None:
            result = with_batch_of(self.like, result)
        return result.requires_grad_() if self.requires_grad and not plain else result

    def _narrow(self, operator: Operator, *args: Any, stride: tuple[int, ...] | None) -> Any:
        """`make` for a dtype that tensors of another class have."""
        wanted, self.requires_grad, self.dtype = self.requires_grad, False, complex64
        return self.make(operator, *args, stride=stride).to(complex32).requires_grad_(wanted)

    def fill(self, size: tuple[int, ...], value: Any, stride: tuple[int, ...] | None = None) -> Any:
        """A tensor of one value.

        Raises:
            RuntimeError: the dtype cannot hold it, or the machine the tensor; torch's texts.
        """
        require_fits(value, self.dtype)
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


def as_size(size: Any, function: str) -> tuple[int, ...]:
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


def as_number(value: Any) -> Any:
    """A Python number for a number, a numpy scalar or a 0-d tensor."""
    return value.item() if hasattr(value, "item") else value


def require_fits(value: Any, to: dtype) -> None:
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


@composite(f"zeros(int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def zeros(size, **options):
    """A tensor of zeros."""
    return Target("zeros", **options).fill(as_size(size, "zeros"), 0)


@composite(f"ones(int[] size, {OPTIONS}) -> Tensor", forms=FUNCTION)
def ones(size, **options):
    """A tensor of ones."""
    return Target("ones", **options).fill(as_size(size, "ones"), 1)


@composite(f"full(int[] size, Scalar fill_value, {OPTIONS}) -> Tensor", forms=FUNCTION)
def full(size, fill_value, **options):
    """A tensor of one value, by default of the value's own kind: bool, int64, the default dtype or its complex one."""
    if not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    if getattr(fill_value, "ndim", 0):
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
    value = as_number(fill_value)
    return Target("full", **options, inferred=number_dtype(value, default_dtype())).fill(as_size(size, "full"), value)


@composite(f"scalar_tensor(Scalar s, *, {PLACED}) -> Tensor", forms=FUNCTION)
def scalar_tensor(s, **options):
    """A 0-d tensor of the default dtype."""
    return Target("scalar_tensor", **options).fill((), as_number(s))


@composite(f"empty(int[] size, *, MemoryFormat? memory_format=None, {OPTIONS[3:]}) -> Tensor", forms=FUNCTION)
def empty(size, memory_format, **options):
    """A tensor whose values do not matter (zeros here)."""
    size = as_size(size, "empty")
    return Target("empty", **options).fill(size, 0, _strides_in(memory_format, size))


def _strides_in(memory_format: Any, size: tuple[int, ...]) -> tuple[int, ...] | None:
    if memory_format is None:
        return None
    if _format_name(memory_format) == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve")
    return format_strides(_format_name(memory_format), size, contiguous_strides(size))


def _strided(target: Target, size: Any, stride: Any) -> Any:
    size, stride = as_size(size, target.function), tuple(map(python.index, stride))
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    if min(stride, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={listed(size)} and strides={listed(stride)}")
    if is_non_overlapping_and_dense(size, stride):
        return target.fill(size, 0, stride)
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
    wanted, target.requires_grad = target.requires_grad, False
    return target.fill((span,), 0).as_strided(size, stride).requires_grad_(wanted)


@composite(f"empty_strided(int[] size, int[] stride, *, {PLACED}) -> Tensor", forms=FUNCTION)
def empty_strided(size, stride, **options):
    """A tensor with these strides, whose values do not matter (zeros here)."""
    return _strided(Target("empty_strided", **options), size, stride)


@composite(f"empty_permuted(int[] size, int[] physical_layout, *, {PLACED}) -> Tensor", forms=FUNCTION)
def empty_permuted(size, physical_layout, **options):
    """A dense tensor whose values do not matter (zeros here), its dimensions in memory in the order ``physical_layout``, the innermost last."""
    size, order = as_size(size, "empty_permuted"), tuple(map(python.index, physical_layout))
    if len(size) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; "
            f"i.e. len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for position, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index {position}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(order)) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    strides = dict(zip(order, contiguous_strides(tuple(size[d] for d in order))))
    return Target("empty_permuted", **options).fill(size, 0, tuple(strides[d] for d in range(len(size))))


def _fill_like(function: str, self: Any, value: Any, memory_format: Any, options: dict[str, Any]) -> Any:
    if not isinstance(self, Tensor):
        raise TypeError(f"{function}(): argument 'input' (position 1) must be Tensor, not {type(self).__name__}")
    target = Target(function, **options, like=self)
    size = tuple(self.shape)
    kept = "preserve_format" if memory_format is None else _format_name(memory_format)
    return target.fill(size, value, format_strides(kept, size, tuple(self.stride())))


_LIKE = f"*, MemoryFormat? memory_format=None, {PLACED}"


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
    return _fill_like("full_like", self, as_number(fill_value), memory_format, options)


@composite(f"new_zeros(Tensor self, int[] size, *, {PLACED}) -> Tensor", forms=METHOD)
def new_zeros(self, size, **options):
    """Zeros with the dtype and device of this tensor."""
    return Target("new_zeros", **options, like=self).fill(as_size(size, "new_zeros"), 0)


@composite(f"new_ones(Tensor self, int[] size, *, {PLACED}) -> Tensor", forms=METHOD)
def new_ones(self, size, **options):
    """Ones with the dtype and device of this tensor."""
    return Target("new_ones", **options, like=self).fill(as_size(size, "new_ones"), 1)


@composite(f"new_empty(Tensor self, int[] size, *, {PLACED}) -> Tensor", forms=METHOD)
def new_empty(self, size, **options):
    """A tensor with the dtype and device of this one; its values do not matter (zeros here)."""
    return Target("new_empty", **options, like=self).fill(as_size(size, "new_empty"), 0)


@composite(f"new_full(Tensor self, int[] size, Scalar fill_value, *, {PLACED}) -> Tensor", forms=METHOD)
def new_full(self, size, fill_value, **options):
    """One value with the dtype and device of this tensor."""
    return Target("new_full", **options, like=self).fill(as_size(size, "new_full"), as_number(fill_value))


@composite(f"new_empty_strided(Tensor self, int[] size, int[] stride, *, {PLACED}) -> Tensor", forms=METHOD)
def new_empty_strided(self, size, stride, **options):
    """A tensor with these strides and the dtype and device of this one; its values do not matter (zeros here)."""
    return _strided(Target("new_empty_strided", **options, like=self), size, stride)
