"""Tensors taken apart for pickles, and rebuilt: torch's functions for it, with torch's names and arguments.

``pickle`` finds them here; files of ``torch.save`` name them ``torch._utils._rebuild_tensor_v2`` and so on, as torch's own files do.
All arguments are checked: a file may say anything.
"""

from __future__ import annotations

import copyreg
import math
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import META, as_device
from ..core.dtype import dtype as dtype_type
from ..graph.value import aval_of, constant
from .elements import elements_of, with_elements
from .geometry import Geometry, contiguous, geometry
from .layout import is_non_overlapping_and_dense
from .pickling import on_storage
from .storage import Storage
from .storages import STORAGE_NAMES, TypedStorage, UntypedStorage, recast
from .tensor import Tensor, TensorType, make_storage, make_tensor, tensor_method

__all__ = ["attributes_of", "set_attributes", "warn_if_has_hooks"]

_MOST_ELEMENTS = 2**63 - 1


# -- taking apart ------------------------------------------------------------------------------------------------------------------------


def attributes_of(tensor: Tensor) -> Any:
    """What users and subclasses put on a tensor: its ``__dict__``, with the slots of its class behind it if that has any."""
    slots = {}
    for cls in type(tensor).__mro__[: type(tensor).__mro__.index(Tensor)]:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(tensor, name):
                slots[name] = getattr(tensor, name)
    return (tensor.__dict__ or None, slots) if slots else tensor.__dict__


def set_attributes(tensor: Any, state: Any) -> None:
    """Put back what `attributes_of` returned.

    Raises:
        RuntimeError: the state is no dictionary of attributes, or names what a tensor itself is made of.
    """
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for found in (attributes or {}, slots or {}):
        if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
            raise RuntimeError(f"Invalid serialized state: {type(state).__name__}")
        if not found.keys().isdisjoint(Tensor.__slots__):
            raise RuntimeError(f"Invalid serialized state: {sorted(found.keys() & set(Tensor.__slots__))} are not attributes")
    tensor.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(tensor, name, value)


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of the hooks of a tensor, which are not saved with it."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


def _parts(tensor: Tensor) -> tuple[Callable, tuple]:
    """The function that rebuilds the tensor, whatever its class and attributes, and the arguments."""
    warn_if_has_hooks(tensor)
    dtype, requires_grad = tensor.dtype, tensor.requires_grad
    if tensor.is_meta:
        return _rebuild_meta_tensor_no_storage, (dtype, tuple(tensor.shape), tuple(tensor.stride()), requires_grad)
    storage = make_storage(tensor)
    where: tuple = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), requires_grad, OrderedDict())
    bits = {name: True for name, is_set in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if is_set}
    metadata = (bits,) if bits else ()
    if dtype.name in STORAGE_NAMES:
        return _rebuild_tensor_v2, (TypedStorage(wrap_storage=UntypedStorage._of(storage), dtype=dtype), *where, *metadata)
    return _rebuild_tensor_v3, (UntypedStorage._of(storage), *where, dtype, *metadata)


@tensor_method
def __reduce_ex__(self: Tensor, protocol: Any) -> tuple:
    function, args = _parts(self)
    state = attributes_of(self)
    if type(self) is Tensor and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(self), args, state)


@tensor_method
def __setstate__(self: Tensor, state: Any) -> None:
    set_attributes(self, state)


def _tensor_class() -> type:
    return Tensor


# The class calls itself torch.Tensor, where pickle would not find it.
copyreg.pickle(TensorType, lambda cls: (_tensor_class, ()) if cls is Tensor else cls.__qualname__)  # type: ignore[arg-type, return-value]


# -- rebuilding --------------------------------------------------------------------------------------------------------------------------


def _window(size: Any, stride: Any, offset: Any) -> Geometry:
    """The geometry of these numbers.

    Raises:
        RuntimeError: they make none.
    """
    for name, numbers in (("size", size), ("stride", stride), ("storage_offset", (offset,))):
        if not isinstance(numbers, (tuple, list)) or not all(type(n) is int and 0 <= n <= _MOST_ELEMENTS for n in numbers):
            raise RuntimeError(f"rebuilding a tensor: {name} must be made of non-negative ints below 2**63")
    if len(size) != len(stride):
        raise RuntimeError(f"rebuilding a tensor: mismatch in length of strides and shape, {len(stride)} and {len(size)}")
    if len(size) > 64 or math.prod(size) > _MOST_ELEMENTS:
        raise RuntimeError("rebuilding a tensor: the size has more than 64 dimensions or 2**63 elements")
    return geometry(size, stride, offset)


def _inside(storage: Storage, at: Geometry) -> Geometry:
    """The geometry, which must lie in the storage.

    Raises:
        RuntimeError: it does not, torch's text.
    """
    itemsize = storage.value.aval.dtype.itemsize
    if at.end > storage.base.numel:
        raise RuntimeError(
            f"setStorage: sizes {list(at.size)}, strides {list(at.stride)}, storage offset {at.offset}, and itemsize {itemsize} requiring a "
            f"storage size of {at.end * itemsize} are out of bounds for storage of size {storage.nbytes}"
        )
    return at


def _lay_out(storage: Storage, at: Geometry) -> None:
    """Give memory that was just read the shape of the tensor that fills it, so that reading this tensor costs nothing."""
    aval, base = storage.value.aval, storage.base
    is_whole = at is not base and not at.offset and at.numel == base.numel and is_non_overlapping_and_dense(at.size, at.stride)
    if not is_whole or base is not contiguous((base.numel,)) or storage.host is not None:
        return
    array = storage.value.array
    if isinstance(array, np.ndarray):
        shaped: Any = np.lib.stride_tricks.as_strided(array, at.size, [s * array.itemsize for s in at.stride], writeable=False)
    elif at.is_contiguous and not aval.is_meta:
        shaped = array.reshape(tuple(at.size))
    else:
        return
    origin = storage.value.origin
    storage.value = constant(shaped, aval_of(tuple(at.size), aval.dtype, aval.device, at.stride))
    storage.value.origin = origin
    storage.base = at


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any, dtype: dtype_type | None = None) -> Tensor:
    if not isinstance(storage, (TypedStorage, UntypedStorage)):
        raise RuntimeError(f"rebuilding a tensor: expected a storage, got {type(storage).__name__}")
    if dtype is None:
        dtype = storage.dtype if isinstance(storage, TypedStorage) else storage._storage.value.aval.dtype
    memory = recast(storage, dtype)
    at = _inside(memory, _window(size, stride, storage_offset))
    if storage.is_new:
        _lay_out(memory, at)
    return on_storage(memory, at)


def _as_dtype(found: Any) -> dtype_type:
    if not isinstance(found, dtype_type):
        raise RuntimeError(f"rebuilding a tensor: expected a torch.dtype, got {type(found).__name__}")
    return found


def _finished(tensor: Any, requires_grad: Any, metadata: Any) -> Tensor:
    if isinstance(metadata, dict) and metadata:
        found = elements_of(tensor._geometry, tensor.dtype)
        found = found._replace(conjugate=bool(metadata.get("conj")), negative=bool(metadata.get("neg")))
        tensor = on_storage(make_storage(tensor), with_elements(tensor._geometry, found))
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_tensor_v2(storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
                       metadata: Any = None) -> Tensor:  # fmt: skip
    return _finished(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, dtype: dtype_type,
                       metadata: Any = None) -> Tensor:  # fmt: skip
    return _finished(_rebuild_tensor(storage, storage_offset, size, stride, _as_dtype(dtype)), requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype: dtype_type, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    at = _window(size, stride, 0)
    memory = Storage(constant(None, aval_of((at.end,), _as_dtype(dtype), META)))
    return _finished(on_storage(memory, at), requires_grad, None)


def _rebuild_from_type_v2(function: Callable, new_type: type, args: tuple, state: Any) -> Any:
    made = function(*args)
    if type(made) is not new_type:
        requires_grad = made.requires_grad
        made = made.detach().as_subclass(new_type)
        made.requires_grad_(requires_grad)
    if type(made).__setstate__ is not Tensor.__setstate__:
        made.__setstate__(state)
    else:
        set_attributes(made, state)
    return made


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: dtype_type, device: Any, requires_grad: bool) -> Tensor:
    return _finished(data.to(dtype=dtype, device=as_device(device)), requires_grad, None)


def _rebuild_device_tensor_from_numpy(data: np.ndarray, dtype: dtype_type, device: Any, requires_grad: bool) -> Tensor:
    found: Any = make_tensor(constant(data, aval_of(data.shape, dtype)))
    return _rebuild_device_tensor_from_cpu_tensor(found, dtype, device, requires_grad)


def _unsupported(name: str, what: str) -> Callable:
    def rebuild(*args: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"torch._utils.{name}: {what} are not supported")

    rebuild.__name__ = rebuild.__qualname__ = name
    return rebuild


_rebuild_sparse_tensor = _unsupported("_rebuild_sparse_tensor", "sparse tensors in a file")
_rebuild_qtensor = _unsupported("_rebuild_qtensor", "quantized tensors in a file")
_rebuild_nested_tensor = _unsupported("_rebuild_nested_tensor", "nested tensors in a file")
_rebuild_wrapper_subclass = _unsupported("_rebuild_wrapper_subclass", "wrapper subclasses in a file")
