"""`Aval`, what is known of a value before it is computed, and `Value`, one array of a trace, pending or computed."""

from __future__ import annotations

import weakref
from typing import Any

import jax
import numpy as np

from ..core.device import CPU, device, jax_device
from ..core.dtype import dtype
from ..core.size import Size
from ..core.state import ThreadState, on_new_thread, thread

__all__ = ["Aval", "InferenceValue", "Value", "aval_of", "constant", "contiguous_stride", "new_value", "on_device"]


def contiguous_stride(size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor, as torch counts them (a dimension of size 0 counts as 1)."""
    strides = []
    step = 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


class Aval:
    """Shape, dtype, device and strides of a value; interned, so equal ones are the same object.

    Strides are bookkeeping: the array behind a value always has the logical shape; they say how torch would lay it out.
    """

    __slots__ = ("size", "dtype", "device", "stride", "numel", "ndim", "shape_dtype", "differentiable", "is_contiguous", "is_meta", "__weakref__")

    def __init__(self, size: Size, dtype: dtype, device: device, stride: tuple[int, ...], is_contiguous: bool) -> None:
        self.size = size
        self.dtype = dtype
        self.device = device
        self.stride = stride
        self.numel = size.numel()
        self.ndim = len(size)
        self.shape_dtype = jax.ShapeDtypeStruct(size, dtype.numpy)
        self.differentiable = dtype.is_floating_point or dtype.is_complex
        self.is_contiguous = is_contiguous
        self.is_meta = device.type == "meta"

    # what an operator's checks look at
    @property
    def shape(self) -> Size:
        """The size, under the name that arrays give it."""
        return self.size

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.size)}@{self.device}"


#: Weak, since a program whose sizes keep changing makes new ones all the time.
_avals: weakref.WeakValueDictionary[tuple, Aval] = weakref.WeakValueDictionary()


def aval_of(size: tuple[int, ...], dtype: dtype, device: device = CPU, stride: tuple[int, ...] | None = None) -> Aval:
    """The one `Aval` of these facts; without strides, contiguous."""
    key = (size, dtype, device, stride)
    found = _avals.get(key)
    if found is None:
        size = Size(size)
        packed = contiguous_stride(size)
        if stride is not None and stride != packed:
            found = Aval(size, dtype, device, stride, False)
        else:
            found = _avals.get((size, dtype, device, None)) or Aval(size, dtype, device, packed, True)
        found = _avals.setdefault((size, dtype, device, None if found.is_contiguous else stride), found)
        _avals[(size, dtype, device, stride)] = found
    return found


class Value:
    """One array: pending in a trace (``trace`` is set) or computed (``array`` is set, ``trace`` is None).

    A value never changes.  In-place operators give a tensor another value; ``origin`` then tells, for the tape's check, of which
    version of which storage this one was the content.

    Attributes:
        aval: shape, dtype, device, strides.
        trace: the trace whose flush computes it, or None.
        slot: its number in that trace; never changes while it is pending.
        array: ``jax.Array`` (or a numpy array not yet sent to the device).
        origin: ``(a storage's changes, how many there were)`` or None.
    """

    __slots__ = ("aval", "trace", "slot", "array", "origin", "__weakref__")
    aval: Aval
    trace: Any
    slot: int
    array: Any
    origin: tuple[Any, int] | None

    def __repr__(self) -> str:
        return f"<value {self.aval} {'computed' if self.trace is None else f'pending, slot {self.slot}'}>"


class InferenceValue(Value):
    """A value that was made under ``inference_mode``: the tape may not save it."""

    __slots__ = ()


def _start_thread(state: ThreadState) -> None:
    state.value_class = Value


on_new_thread(_start_thread)
new_value = object.__new__


def constant(array: Any, aval: Aval) -> Value:
    """A computed value."""
    value: Value = new_value(thread.state.value_class)
    value.aval = aval
    value.trace = None
    value.slot = -1
    value.array = array
    value.origin = None
    return value


def on_device(array: np.ndarray, target: device) -> Any:
    """A numpy array as it should be held for a device: as it is for the CPU (XLA takes it when it runs), sent elsewhere."""
    return array if target == CPU else jax.device_put(array, jax_device(target))
