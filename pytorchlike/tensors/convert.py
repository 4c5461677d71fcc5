"""Between tensors and everything else: Python numbers, lists, numpy arrays (shared memory), dlpack, ``jax.Array``."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np

from ..core import dtype as dtypes
from ..core.capturing import break_capture
from ..core.device import CPU, device, of_jax_device
from ..graph import recorder
from ..graph.value import aval_of, constant
from . import layout
from .geometry import contiguous, geometry
from .storage import HostMemory
from .tensor import Tensor, make_storage, make_tensor, tensor_method

__all__ = ["from_dlpack", "from_jax", "from_numpy", "host_array", "to_jax"]


# ---------------------------------------------------------------------------------------------------------------- numbers
def host_array(tensor: Tensor, reason: str) -> np.ndarray:
    """The tensor's elements as a numpy array that nobody may write to; waits for them."""
    value = tensor._value if tensor._storage is None else tensor._content()
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


def _only_element(self: Tensor) -> Any:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


@tensor_method
def __float__(self: Tensor) -> float:
    return float(_only_element(self))


@tensor_method
def __int__(self: Tensor) -> int:
    return int(_only_element(self))


@tensor_method
def __complex__(self: Tensor) -> complex:
    return complex(_only_element(self))


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
        return bool((self == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


# ---------------------------------------------------------------------------------------------------------------- numpy
_READ_ONLY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this tensor will result in "
    "undefined behavior. You may want to copy the array to protect its data or make it writable before converting it to a tensor. This type of "
    "warning will be suppressed for the rest of this program."
)
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
        self = self.detach().cpu().resolve_conj().resolve_neg()  # type: ignore[attr-defined]
    if self.requires_grad:
        raise RuntimeError(_NO_NUMPY_GRAD)
    for bit, name in ((self.is_conj(), "conj"), (self.is_neg(), "neg")):
        if bit:
            kind = {"conj": "conjugate", "neg": "negative"}[name]
            raise RuntimeError(f"Can't call numpy() on Tensor that has {kind} bit set. Use tensor.resolve_{name}().numpy() instead.")
    if self.device != CPU:
        if self.is_meta:
            raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    if self.dtype.numpy.kind == "V" or self.dtype.numpy.name.startswith(("bfloat16", "float8")):
        from ..core.promotion import scalar_type_name

        raise TypeError(f"Got unsupported ScalarType {scalar_type_name(self.dtype)}")
    break_capture("a tensor becomes a numpy array")
    storage = make_storage(self)
    host = storage.host
    if host is None:
        base = storage.base
        values = np.asarray(recorder.synchronise(storage.value, "numpy"))
        owner = np.empty(base.numel, values.dtype)
        host = HostMemory(owner, owner[:], base)
        host.write(values)
        storage.share(host)
    return host.window(self._geometry)


@tensor_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    found = numpy(self)
    if dtype is not None and found.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return found.astype(dtype)
    return found.copy() if copy else found


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
            "(You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if any(s % array.itemsize for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory.")
    if not array.flags.writeable:
        warnings.warn(_READ_ONLY, UserWarning, stacklevel=2)
    if found.numpy.kind == "V":  # dtypes that numpy itself does not know: nothing to share
        return make_tensor(constant(np.array(array), aval_of(array.shape, found)))
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    stride = tuple(s // array.itemsize for s in array.strides) if array.size else layout.contiguous_strides(array.shape)
    at = geometry(array.shape, stride)
    extent = at.end
    dense = owner if owner.flags.c_contiguous else owner.T if owner.flags.f_contiguous else None
    start, rest = divmod(array.__array_interface__["data"][0] - owner.__array_interface__["data"][0], array.itemsize)
    if dense is None or rest or dense.dtype != array.dtype or type(dense) is not np.ndarray:
        memory = np.lib.stride_tricks.as_strided(array, (extent,), (array.itemsize,))
    else:
        memory = dense.reshape(-1)[start : start + extent]
    base = at if at.is_contiguous or layout.is_non_overlapping_and_dense(at.size, at.stride) else contiguous((extent,))
    aval = aval_of(tuple(base.size), found, CPU, base.stride)
    tensor = make_tensor(constant(np.empty(0), aval))
    storage = make_storage(tensor)
    storage.share(HostMemory(owner, memory, base))
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
        return numpy(self).__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
    array: Any = to_jax(self)
    return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@tensor_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (1, 0) if self.device == CPU else getattr(to_jax(self), "__dlpack_device__")()


class _Capsule:
    """A bare capsule as the object that exporters of the protocol are."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array (a ``jax.Array`` keeps its elements: writes do not reach it).

    Args:
        ext_tensor: an object with ``__dlpack__``, or a capsule.
        device, copy: where the result is to be, and whether it must (True) or must not (False) be a copy.

    Raises:
        RuntimeError: not such an object, torch's text.
    """
    if isinstance(ext_tensor, Tensor):
        made = ext_tensor.detach()
    elif isinstance(ext_tensor, jax.Array):
        made = from_jax(ext_tensor)
    else:
        if type(ext_tensor).__name__ == "PyCapsule":
            ext_tensor = _Capsule(ext_tensor)
        if not hasattr(ext_tensor, "__dlpack__"):
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have already "
                "constructed a tensor from it once."
            )
        if ext_tensor.__dlpack_device__()[0] == 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                made = from_numpy(np.from_dlpack(ext_tensor))
        else:
            made = from_jax(jax.dlpack.from_dlpack(ext_tensor))
    if device is not None:
        made = made.to(device)
    return made.clone() if copy else made
