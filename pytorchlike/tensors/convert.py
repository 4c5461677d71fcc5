"""Between tensors and everything else: Python numbers, lists, numpy arrays (shared memory), dlpack, ``jax.Array``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..core import dtype as dtypes
from ..core import state as settings
from ..core.device import CPU, device, of_jax_device
from ..core.dtype import dtype
from ..graph import recorder
from ..graph.value import aval_of, constant
from . import layout
from .geometry import contiguous, geometry
from .storage import HostMemory
from .tensor import Tensor, make_storage, make_tensor, tensor_method

__all__ = ["from_jax", "from_numpy", "host_array", "to_jax"]


# ---------------------------------------------------------------------------------------------------------------- numbers
def host_array(tensor: Tensor, reason: str) -> np.ndarray:
    """The tensor's elements as a numpy array that nobody may write to; waits for them."""
    value = tensor._value if tensor._storage is None else tensor._read()
    if value.aval.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    array = recorder.synchronise(value, reason)
    if isinstance(array, jax.core.Tracer):
        raise jax.errors.ConcretizationTypeError(array, f"{reason} needs numbers, and there are none inside a JAX transformation")
    return np.asarray(array)


@tensor_method
def item(self: Tensor) -> Any:
    """The element of a one-element tensor as a Python number.

    Raises:
        RuntimeError: more or fewer elements.
    """
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    if self.is_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return host_array(self, "item").item()


@tensor_method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers (a number for a 0-d tensor)."""
    array = host_array(self, "tolist")
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        array = array.astype(np.float32)
    return array.tolist()


@tensor_method
def __bool__(self: Tensor) -> bool:
    count = self.numel()
    if count != 1:
        if count == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(host_array(self, "bool").item())


@tensor_method
def __float__(self: Tensor) -> float:
    return float(item(self))


@tensor_method
def __int__(self: Tensor) -> int:
    return int(item(self))


@tensor_method
def __complex__(self: Tensor) -> complex:
    return complex(item(self))


@tensor_method
def __index__(self: Tensor) -> int:
    if self.numel() != 1 or self.dtype.is_floating_point or self.dtype.is_complex:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


@tensor_method
def __len__(self: Tensor) -> int:
    shape = self.shape
    if not shape:
        raise TypeError("len() of a 0-d tensor")
    return shape[0]


@tensor_method
def __iter__(self: Tensor) -> Any:
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@tensor_method
def __reversed__(self: Tensor) -> Tensor:
    return self if self.ndim == 0 else self.flip(0)


@tensor_method
def __contains__(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool((element == self).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


# ---------------------------------------------------------------------------------------------------------------- numpy
_NO_NUMPY_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."


@tensor_method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The tensor as a numpy array that shares its memory, as torch's does: writes are seen on both sides.

    Args:
        force: detach and copy to the CPU first where needed.

    Raises:
        RuntimeError: it requires a gradient.
        TypeError: it is not on the CPU, or numpy has no such dtype.
    """
    if force:
        self = self.detach().cpu()
    if self.requires_grad:
        raise RuntimeError(_NO_NUMPY_GRAD)
    if self.device != CPU:
        if self.is_meta:
            raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    if self.dtype.numpy.kind == "V" or self.dtype.numpy.name.startswith(("bfloat16", "float8")):
        from ..core.promotion import scalar_type_name

        raise TypeError(f"Got unsupported ScalarType {scalar_type_name(self.dtype)}")
    storage = make_storage(self)
    if storage.host is None:
        base = storage.base
        values = np.asarray(recorder.synchronise(storage.value, "numpy"))
        owner = np.empty(base.numel, values.dtype)
        host = HostMemory(owner, owner[:], base)
        host.write(values)
        storage.host = host
    return storage.host.window(self._geometry)


@tensor_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    found = numpy(self)
    return found if dtype is None else found.astype(dtype, copy=False)


@tensor_method
def __array_wrap__(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    return from_numpy(np.array(array.astype(np.uint8) if array.dtype == bool else array, ndmin=0))


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a numpy array.

    Raises:
        TypeError: not an array, or a dtype without counterpart.
        ValueError: negative strides.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    found = dtypes.from_numpy(array.dtype)
    if array.dtype != found.numpy:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported.")
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently supported. "
            "(You can probably work around this by making a copy of your array  with array.copy().)"
        )
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    stride = tuple(s // array.itemsize for s in array.strides) if array.size else layout.contiguous_strides(array.shape)
    at = geometry(array.shape, stride)
    extent = at.end
    memory = owner.reshape(-1, copy=False) if owner.flags.c_contiguous else None
    start = (array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // array.itemsize
    if memory is None or memory.dtype != array.dtype:
        memory = np.lib.stride_tricks.as_strided(array, (extent,), (array.itemsize,))
    else:
        memory = memory[start : start + extent]
    base = at if at.is_contiguous or layout.is_non_overlapping_and_dense(at.size, at.stride) else contiguous((extent,))
    aval = aval_of(tuple(base.size), found, CPU, base.stride)
    tensor = make_tensor(constant(np.empty(0), aval))
    storage = make_storage(tensor)
    storage.host = HostMemory(owner, memory, base)
    tensor._geometry = at
    tensor._seen = -1
    return tensor


# ---------------------------------------------------------------------------------------------------------------- jax, dlpack
def to_jax(tensor: Tensor) -> jax.Array:
    """The tensor's elements as a ``jax.Array`` (never shared: arrays do not change)."""
    value = tensor._content()
    recorder.synchronise(value, "jax")
    with jax.enable_x64(True):
        return recorder.to_device_array(value)


def from_jax(array: jax.Array, target: device | None = None) -> Tensor:
    """A tensor of a ``jax.Array``'s elements, on the same device; shares the buffer, which stays as it is."""
    where = target
    if where is None:
        where = CPU if isinstance(array, jax.core.Tracer) else of_jax_device(next(iter(array.devices())))
    return make_tensor(constant(array, aval_of(array.shape, dtypes.from_numpy(array.dtype), where)))


@tensor_method
def __dlpack__(self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.device == CPU:
        return numpy(self).__dlpack__()
    return to_jax(self).__dlpack__(stream=stream)


@tensor_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (1, 0) if self.device == CPU else to_jax(self).__dlpack_device__()


# ---------------------------------------------------------------------------------------------------------------- torch.tensor
def infer_array(data: Any, wanted: dtype | None) -> tuple[np.ndarray, dtype]:
    """Nested sequences, numbers, numpy scalars as a new numpy array, and the dtype torch infers for them.

    Raises:
        ValueError: ragged nesting.
        TypeError: elements that are no numbers.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
        found = dtypes.from_numpy(array.dtype) if wanted is None else wanted
        return array.astype(found.numpy), found
    shape = _shape_of(data)
    flat = list(_leaves(data, shape, 0))
    if wanted is None:
        wanted = _inferred(flat)
    try:
        array = _filled(flat, wanted, shape)
    except OverflowError as error:
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow") from error
    return array, wanted


def _filled(flat: list[Any], wanted: dtype, shape: tuple[int, ...]) -> np.ndarray:
    if wanted.numpy.kind in "iu" or wanted is dtypes.bool_:
        if wanted is not dtypes.bool_:
            flat = [int(v) for v in flat]
        info_min, info_max = (0, 1) if wanted is dtypes.bool_ else (int(np.iinfo(wanted.numpy).min), int(np.iinfo(wanted.numpy).max))
        if wanted is not dtypes.bool_ and any(not info_min <= v <= info_max for v in flat):
            if wanted is dtypes.int64:
                raise RuntimeError("Overflow when unpacking long long")
            bad = next(v for v in flat if not info_min <= v <= info_max)
            if bad < 0 and not wanted.is_signed and -bad <= info_max:
                return np.array(flat, np.int64).astype(wanted.numpy).reshape(shape)
            raise RuntimeError(f"value cannot be converted to type {_c_type(wanted)} without overflow")
        return np.array([bool(v) for v in flat] if wanted is dtypes.bool_ else flat, wanted.numpy).reshape(shape)
    if not wanted.is_complex and any(isinstance(v, complex) for v in flat):
        raise TypeError(f"can't convert complex to {wanted.name}")
    return np.array(flat, np.complex128 if wanted.is_complex else np.float64).astype(wanted.numpy).reshape(shape)


def _c_type(wanted: dtype) -> str:
    return {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t"}.get(wanted.name, wanted.name)


def _is_sequence(data: Any) -> bool:
    return isinstance(data, (list, tuple, range)) or (isinstance(data, Sequence) and not isinstance(data, str))


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while True:
        if isinstance(data, Tensor):
            return (*shape, *data.shape)
        if isinstance(data, np.ndarray):
            return (*shape, *data.shape)
        if not _is_sequence(data):
            if isinstance(data, str):
                raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
            return tuple(shape)
        shape.append(len(data))
        if len(data) == 0:
            return tuple(shape)
        data = data[0]


def _leaves(data: Any, shape: tuple[int, ...], depth: int) -> Any:
    if isinstance(data, Tensor):
        data = data.detach().cpu().tolist() if data.ndim else data.item()
    elif isinstance(data, (np.ndarray, np.generic)):
        data = data.tolist()
    if depth == len(shape):
        if _is_sequence(data):
            raise ValueError(f"expected sequence of length {0} at dim {depth} (got {len(data)})")
        if not isinstance(data, (int, float, complex, bool)):
            if hasattr(data, "__float__") or hasattr(data, "__index__"):
                data = data.__index__() if hasattr(data, "__index__") else float(data)
            else:
                raise TypeError(f"new(): invalid data type '{type(data).__name__}'" if isinstance(data, str)
                                else f"Could not infer dtype of {type(data).__name__}")  # fmt: skip
        yield data
        return
    if not _is_sequence(data):
        raise TypeError(f"not a sequence at dim {depth}: {type(data).__name__}")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for element in data:
        yield from _leaves(element, shape, depth + 1)


def _inferred(flat: list[Any]) -> dtype:
    default = settings.default_dtype()
    if not flat:
        return default
    if any(isinstance(v, complex) for v in flat):
        return dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
    if any(isinstance(v, float) for v in flat):
        return default
    if all(isinstance(v, bool) for v in flat):
        return dtypes.bool_
    return dtypes.int64


