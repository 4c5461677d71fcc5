"""torch's oldest constructors: ``torch.Tensor(2, 3)``, ``torch.LongTensor([1])`` and their like, ``x.new(...)``, ``x.new_tensor(...)``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core import state as settings
from ..core.device import as_device, device_count
from ..core.dtype import dtype
from ..core.size import Size
from ..core.state import thread
from ..dispatch.call import host_tensor
from ..tensors.construct import infer_array
from ..tensors.storages import TypedStorage, UntypedStorage
from ..tensors.tensor import Tensor, alias_of, tensor_method
from .constructors import COPY_CONSTRUCT, as_dtype, tensor
from .copy import TYPE_NAMES, to
from .create import empty

__all__ = ["LEGACY_TYPES", "OPTION_NAMES", "new_legacy", "set_default_tensor_type"]

#: torch's C++ names of element types, as the old constructors' errors give them.
OPTION_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int", "int32": "int",
    "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
}  # fmt: skip


def _options(found: dtype, place: Any) -> str:
    return (
        f"TensorOptions(dtype={OPTION_NAMES.get(found.name, found.name)}, device={place}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) or (
        isinstance(value, Tensor) and value.ndim == 0 and not value.dtype.is_floating_point and not value.dtype.is_complex
    )


def new_legacy(args: tuple[Any, ...], wanted: dtype | None, device: Any = None, size: Any = None, data: Any = None) -> Tensor:
    """What the old constructors make: of ints a tensor of that size (zeros here), of a sequence its elements, of a tensor an alias.

    Args:
        wanted: the dtype; None is the default one for new elements and takes tensors as they are.

    Raises:
        TypeError: another dtype's tensor, no sequence; torch's texts.
    """
    place = None if device is None else as_device(device)
    found = wanted or settings.default_dtype()
    if size is not None:
        args = (Size(size),)
    elif data is not None:
        args = (data,)
    if not args:
        return empty((0,), dtype=found, device=place)
    first = args[0]
    if len(args) == 1 and isinstance(first, Tensor) and not (first.ndim == 0 and wanted is not None and _is_int(first)):
        if wanted is not None and first.dtype is not wanted:
            raise TypeError(f"expected {_options(wanted, place or 'cpu')} (got {_options(first.dtype, first.device)})")
        return alias_of(first)
    if len(args) == 1 and isinstance(first, (UntypedStorage, TypedStorage)):
        return empty((0,), dtype=first._storage.value.aval.dtype, device=place).set_(first)
    if len(args) == 1 and isinstance(first, Size) or all(map(_is_int, args)):
        sizes = tuple(map(int, first if isinstance(first, Size) else args))
        if any(n < 0 for n in sizes):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {list(sizes)}")
        return empty(sizes, dtype=found, device=place)
    if len(args) > 1:
        position, bad = next((k, a) for k, a in enumerate(args) if not _is_int(a))
        raise TypeError(
            f"new(): argument 'size' failed to unpack the object at pos {position + 1} with error \"type must be tuple of ints,but got "
            f'{type(bad).__name__}"'
        )
    if not isinstance(first, str) and not hasattr(type(first), "__getitem__"):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    array, _ = infer_array(first, found)
    return host_tensor(array, found, place)


def _construct(cls: type, *args: Any, device: Any = None, size: Any = None, data: Any = None, **others: Any) -> Any:
    made = new_legacy(args, None, device, size, data)
    return made if cls is Tensor else alias_of(made, cls)


Tensor.__new__ = _construct  # type: ignore[method-assign, assignment]


@tensor_method
def new(self: Tensor, *args: Any, device: Any = None, size: Any = None) -> Tensor:
    """A tensor of this one's dtype and device, made as the old constructors make it."""
    return new_legacy(args, self.dtype, self.device if device is None else device, size)


@tensor_method
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               layout: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A copy of data with this tensor's dtype and device."""
    found = as_dtype(dtype, "new_tensor") or self.dtype
    place = self.device if device is None else as_device(device)
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("tensor.new_tensor"), UserWarning, stacklevel=2)
        return to(data.detach(), place, found, copy=True).requires_grad_(requires_grad)
    return tensor(data, dtype=found, device=place, requires_grad=requires_grad)


class tensortype(type):  # noqa: N801 - torch's name
    """The class of the old tensor types: not classes of tensors, but answers to ``isinstance``."""

    __module__ = "torch"
    dtype: dtype
    is_cuda: bool

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.is_cuda == cls.is_cuda

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls

    def __call__(cls, *args: Any, **keywords: Any) -> Tensor:
        if cls.is_cuda and not device_count("cuda"):
            raise TypeError(f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled.")
        device = keywords.pop("device", "cuda" if cls.is_cuda else None)
        return new_legacy(args, cls.dtype, device, **keywords)


def _legacy_type(name: str, found: dtype, is_cuda: bool) -> tensortype:
    members = {"__module__": "torch.cuda" if is_cuda else "torch", "dtype": found, "is_cuda": is_cuda, "is_sparse": False, "layout": "strided"}
    return tensortype(name, (), members)


#: ``torch.FloatTensor`` and the like under their names, with ``cuda.`` in front for those of ``torch.cuda``.
LEGACY_TYPES: dict[str, tensortype] = {
    prefix + name: _legacy_type(name, found, bool(prefix))
    for prefix in ("", "cuda.")
    for name, found in TYPE_NAMES.items()
    if not name.startswith("Complex")
}


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, and the device that goes with it, by one of the old tensor types; deprecated in torch.

    Args:
        t: a type such as ``torch.DoubleTensor``, or its name.

    Raises:
        TypeError: no floating type, or one of a device that is not there.
    """
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and torch.set_default_device() as "
        "alternatives.", UserWarning, stacklevel=2,
    )  # fmt: skip
    if isinstance(t, str):
        name = t.removeprefix("torch.")
        if name not in LEGACY_TYPES:
            raise TypeError(f"invalid type name {t!r}: no tensor type of torch")
        t = LEGACY_TYPES[name]
    if t is Tensor:
        return
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if t.is_cuda and not device_count("cuda"):
        raise TypeError(f"type {t.__module__}.{t.__name__} not available. Torch not compiled with CUDA enabled.")
    settings.set_default_dtype(t.dtype)
    thread.state.device = as_device("cuda") if t.is_cuda else None
