"""Objects saved by one library and loaded by the other, and descriptions of them that can be compared."""

from __future__ import annotations

import io
import types
from typing import Any

import numpy as np
import torch as real_torch

import pytorchlike as ours
from pytorchlike.tensors.convert import host_array

REAL, OURS = real_torch, ours


def saved(library: Any, obj: Any, **keywords: Any) -> io.BytesIO:
    """A file of the library's, at its beginning."""
    file = io.BytesIO()
    library.save(obj, file, **keywords)
    file.seek(0)
    return file


def exchange(source: Any, target: Any, obj: Any, **keywords: Any) -> Any:
    """What ``target`` loads of the object that ``source`` saved."""
    return target.load(saved(source, obj), **keywords)


def content(tensor: Any) -> bytes:
    """The elements of a tensor of either library, in logical order."""
    if isinstance(tensor, real_torch.Tensor):
        return tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(real_torch.uint8).numpy().tobytes()
    return host_array(tensor, "test").tobytes()


def described(value: Any) -> Any:
    """What two libraries must agree on."""
    if isinstance(value, (real_torch.Tensor, ours.Tensor)):
        meta = value.device.type == "meta"
        facts = (type(value).__name__, str(value.dtype), str(value.device), tuple(value.shape), tuple(value.stride()), value.storage_offset())
        more = () if meta else (value.untyped_storage().nbytes(), content(value))
        return ("tensor", *facts, value.requires_grad, value.is_leaf, sorted(value.__dict__), *more)
    if isinstance(value, (real_torch.storage.TypedStorage, real_torch.storage.UntypedStorage, ours.storage.TypedStorage, ours.storage.UntypedStorage)):
        return (type(value).__name__, value.tolist())
    if isinstance(value, dict):
        return (type(value).__name__, [(described(k), described(v)) for k, v in value.items()], described(getattr(value, "_metadata", None)))
    if isinstance(value, (list, tuple, set)):
        return (type(value).__name__, [described(v) for v in value])
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return value.__name__
    return (type(value).__name__, repr(value))
