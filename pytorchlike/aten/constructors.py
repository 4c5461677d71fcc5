"""``tensor``, ``as_tensor``, ``asarray`` and the questions asked of tensors (``is_tensor``, ``numel``, ``result_type``, ...)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core import promotion
from ..core import state as settings
from ..core.device import CPU, as_device, device
from ..core.dtype import dtype
from ..core.size import Size
from ..core.state import thread
from ..dispatch.call import host_tensor
from ..tensors.construct import PYTHON_DTYPES, array_of, infer_array
from ..tensors.convert import from_dlpack, from_numpy
from ..tensors.storages import TypedStorage, UntypedStorage
from ..tensors.tensor import Tensor
from .copy import OTHER_KINDS, to

__all__ = [
    "as_tensor", "asarray", "broadcast_shapes", "can_cast", "from_dlpack", "from_file", "from_numpy", "frombuffer", "get_default_device", "get_default_dtype", "get_device", "is_complex", "is_conj", "is_distributed",
    "is_floating_point", "is_neg", "is_nonzero", "is_signed", "is_storage", "is_tensor", "numel", "promote_types", "result_type", "scalar_tensor", "set_default_device", "set_default_dtype",
    "tensor", "typename",
]  # fmt: skip


COPY_CONSTRUCT = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)


def as_dtype(given: Any, function: str) -> dtype | None:
    """A ``dtype=`` argument, which may be one of Python's number types.

    Raises:
        TypeError: anything else.
    """
    if given is None or isinstance(given, dtype):
        return given
    found = PYTHON_DTYPES.get(given) if isinstance(given, type) else None
    if found is None:
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return found


def tensor(data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new tensor of nested sequences, numbers or an array; the elements are always copied.

    Raises:
        ValueError, TypeError, RuntimeError: ragged or non-numeric data, overflow; torch's texts.
    """
    dtype = as_dtype(dtype, "tensor")
    if dtype in OTHER_KINDS and not isinstance(data, Tensor):
        return tensor(data, device=device).to(dtype).requires_grad_(requires_grad)
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("torch.tensor"), UserWarning, stacklevel=2)
        made = to(data.detach(), None if device is None else as_device(device), dtype, copy=True)
        return made.requires_grad_(requires_grad)
    array, found = infer_array(data, dtype)
    if requires_grad and not (found.is_floating_point or found.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return host_tensor(array, found, None if device is None else as_device(device), requires_grad)


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Data as a tensor, without copying where that is possible: tensors as they are, numpy arrays sharing memory."""
    target = None if device is None else as_device(device)
    dtype = as_dtype(dtype, "as_tensor")
    if isinstance(data, Tensor):
        return to(data, target, dtype)
    array = None if isinstance(data, np.generic) else array_of(data)
    if array is not None:
        return to(from_numpy(array), target or thread.state.device, dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """Data as a tensor that shares memory unless ``copy`` says otherwise."""
    made = as_tensor(obj, dtype=dtype, device=device)
    if copy and (made is obj or isinstance(obj, np.ndarray)):
        made = made.clone()
    if requires_grad and not made.requires_grad:
        made = made.detach().requires_grad_()
    elif not requires_grad and made.requires_grad:
        made = made.detach()
    return made


def from_file(filename: Any, shared: bool | None = None, size: int = 0, *, dtype: dtype | None = None, layout: Any = None, device: Any = None,
              pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A 1-D tensor on the CPU whose memory is a file.

    Args:
        shared: write what is written into the tensor to the file, which is made or made longer as needed.
        size: number of elements.

    Raises:
        RuntimeError: another device, the file does not exist (without ``shared``) or is too short.
    """
    if device is not None and as_device(device).type != "cpu":
        raise RuntimeError(f"from_file: only tensors on the CPU are supported, got {device}")
    found = as_dtype(dtype, "from_file") or settings.default_dtype()
    path, needed = Path(filename), size * found.itemsize
    if shared:
        with path.open("ab") as file:
            if file.tell() < needed:
                file.truncate(needed)
    elif not path.exists():
        raise RuntimeError(f"unable to open file <{filename}> in read-only mode: No such file or directory (2)")
    elif path.stat().st_size < needed:
        raise RuntimeError(f"file <{filename}> size <{path.stat().st_size}> is smaller than the required mapping size <{needed}>")
    if not size:
        return from_numpy(np.empty(0, found.numpy))
    return from_numpy(np.asarray(np.memmap(path, found.numpy, "r+" if shared else "c", shape=(size,))))


def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the memory of an object with the buffer protocol."""
    made = from_numpy(np.frombuffer(buffer, dtype.numpy, count, offset))
    return made.requires_grad_() if requires_grad else made


def scalar_tensor(s: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of a number; its dtype is the default one."""
    return tensor(s, dtype=dtype or settings.default_dtype(), device=device, requires_grad=requires_grad)


def typename(obj: Any, /) -> str:
    """The old type name of a tensor, the full name of a class, a function or of the class of anything else."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    module, name = getattr(named, "__module__", None) or "", getattr(named, "__qualname__", None) or named.__name__
    return (name if module in ("", "builtins") else f"{module}.{name}").replace("pytorchlike", "torch", 1)


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating one."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.dtype.is_complex


def is_conj(input: Tensor) -> bool:
    """Whether the elements are those in memory conjugated."""
    return input.is_conj()


def is_neg(input: Tensor) -> bool:
    """Whether the elements are those in memory negated."""
    return input.is_neg()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


def is_distributed(input: Tensor) -> bool:
    """Kept for old code: False."""
    return False


def get_device(input: Tensor) -> int:
    """The index of the tensor's device; -1 on the CPU."""
    return input.get_device()  # type: ignore[attr-defined]


def is_nonzero(input: Tensor) -> bool:
    """Whether a one-element tensor is not zero.

    Raises:
        RuntimeError: more or fewer elements.
    """
    return bool(input)


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def get_default_dtype() -> dtype:
    """The dtype of floating tensors made without one."""
    return settings.default_dtype()


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of floating tensors made without one."""
    settings.set_default_dtype(d)


def get_default_device() -> device:
    """Where tensors are made without a device."""
    return thread.state.device or CPU


def set_default_device(device: Any) -> None:
    """Set where tensors are made without a device, for this thread."""
    thread.state.device = None if device is None else as_device(device)


def broadcast_shapes(*shapes: Any) -> Size:
    """The size to which tensors of these sizes (tuples, or ints for one dimension) broadcast.

    Raises:
        RuntimeError: two of them do not match, torch's text.
        ValueError: one is negative.
    """
    sizes = [tuple(s) if isinstance(s, Sequence) and not isinstance(s, str) else (s,) for s in shapes]
    common = [1] * max(map(len, sizes), default=0)
    for number, size in enumerate(sizes):
        for d in range(-1, -1 - len(size), -1):
            if size[d] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if common[d] == 1:
                common[d] = size[d]
            elif size[d] not in (1, common[d]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size[d]} at {d}! Mismatching argument at index {number} had {size}; but "
                    f"expected shape should be broadcastable to {common}"
                )
    return Size(common)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds the values of both."""
    return promotion.promote_types(type1, type2)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether torch's rules allow the conversion in a result."""
    return promotion.can_cast(from_, to)


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an arithmetic result of two tensors or numbers."""
    default = settings.default_dtype()
    operands = []
    for operand in (tensor1, tensor2):
        if isinstance(operand, Tensor):
            operands.append((operand.dtype, promotion.DIM if operand.ndim else promotion.ZERO_DIM))
        else:
            operands.append((promotion.number_dtype(operand, default), promotion.NUMBER))
    return promotion.result_dtype(operands, default)


