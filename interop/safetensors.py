"""Files of safetensors, read and written by that package's core; the functions are those of ``safetensors.torch``.

In a program that runs with pytorchlike as torch, ``import safetensors.torch`` yields this module: the original hands out addresses of
tensors, which are no addresses here.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from pytorchlike.core import dtype as dtypes
from pytorchlike.core.dtype import dtype
from pytorchlike.nn.modules.module import Module
from pytorchlike.serialization.stored import new_storage
from pytorchlike.serialization.zip_reader import aligned
from pytorchlike.tensors import rebuild
from pytorchlike.tensors.convert import host_array
from pytorchlike.tensors.layout import contiguous_strides
from pytorchlike.tensors.storages import TypedStorage
from pytorchlike.tensors.tensor import Tensor, make_storage

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model", "storage_ptr", "storage_size"]

#: Names of dtypes in the files.
_DTYPES: dict[str, dtype] = {
    "F64": dtypes.float64, "F32": dtypes.float32, "F16": dtypes.float16, "BF16": dtypes.bfloat16, "I64": dtypes.int64, "I32": dtypes.int32,
    "I16": dtypes.int16, "I8": dtypes.int8, "U64": dtypes.uint64, "U32": dtypes.uint32, "U16": dtypes.uint16, "U8": dtypes.uint8,
    "BOOL": dtypes.bool_, "C64": dtypes.complex64, "F8_E4M3": dtypes.float8_e4m3fn, "F8_E5M2": dtypes.float8_e5m2,
    "F8_E4M3FNUZ": dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": dtypes.float8_e5m2fnuz, "F8_E8M0": dtypes.float8_e8m0fnu,
}  # fmt: skip
_MORE = "More information at https://huggingface.co/docs/safetensors/torch_shared_tensors"

Shared = list[set[str]]


# -- reading -----------------------------------------------------------------------------------------------------------------------------


def _dtype_of(name: str) -> dtype:
    found = _DTYPES.get(name)
    if found is None:
        raise NotImplementedError(f"safetensors: the dtype {name} is not supported")
    return found


def _tensor(memory: np.ndarray, kind: dtype, shape: Iterable[int], device: Any) -> Tensor:
    size = tuple(shape)
    if kind is dtypes.bool_:
        memory = (memory != 0).view(np.uint8)
    storage = new_storage(memory, kind).to(device)
    handle = TypedStorage(wrap_storage=storage, dtype=kind)
    handle.is_new = True
    return rebuild._rebuild_tensor(handle, 0, size, contiguous_strides(size))


def load_file(filename: str | os.PathLike, device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Tensor]:
    """The tensors of a file by name.

    Args:
        backend: ``mmap`` maps the file, so that tensors are read when they are looked at; ``pread`` reads it.

    Raises:
        safetensors.SafetensorError: the file is damaged.
    """
    with safetensors.safe_open(filename, framework="np") as found:  # checks the header against the file
        parts = [(name, found.get_slice(name)) for name in found.offset_keys()]
        facts = [(name, _dtype_of(part.get_dtype()), part.get_shape()) for name, part in parts]
    if backend == "mmap":
        memory: np.ndarray = np.memmap(filename, np.uint8, "r").view(np.ndarray)
    elif backend == "pread":
        memory = aligned(os.path.getsize(filename))
        with open(filename, "rb") as file:
            file.readinto(memory.data)
    else:
        raise ValueError(f"backend must be 'mmap' or 'pread', got {backend!r}")
    start = 8 + int(memory[:8].view("<u8")[0])
    tensors = {}
    for name, kind, shape in facts:  # one behind the other, without gaps
        end = start + int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        tensors[name] = _tensor(memory[start:end], kind, shape, device)
        start = end
    return tensors


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors of a file's bytes by name."""
    parts = safetensors.deserialize(data)
    return {name: _tensor(np.frombuffer(part["data"], np.uint8), _dtype_of(part["dtype"]), part["shape"], "cpu") for name, part in parts}


# -- writing -----------------------------------------------------------------------------------------------------------------------------


def storage_ptr(tensor: Tensor) -> int:
    """A number that stands for the address of the tensor's memory: equal for all that share it."""
    return 0 if tensor.is_meta else make_storage(tensor).address


def storage_size(tensor: Tensor) -> int:
    """Bytes of the tensor's memory, all of it."""
    return make_storage(tensor).nbytes


def _span(tensor: Tensor) -> tuple[int, int]:
    """First byte, and the one behind the last, in the tensor's memory."""
    at = tensor._where()
    return at.offset * tensor.itemsize, at.end * tensor.itemsize


def _find_shared_tensors(state_dict: dict[str, Tensor]) -> Shared:
    """Names of tensors in groups that overlap in memory; a tensor that overlaps no other is a group of its own."""
    by_memory = defaultdict(list)
    for name, tensor in state_dict.items():
        if not tensor.is_meta and storage_size(tensor):
            by_memory[storage_ptr(tensor)].append((*_span(tensor), name))
    groups: Shared = []
    for spans in by_memory.values():
        reached = -1
        for start, end, name in sorted(spans):
            if start < reached:
                groups[-1].add(name)
            else:
                groups.append({name})
            reached = max(reached, end)
    return groups


def _is_complete(tensor: Tensor) -> bool:
    """Whether the tensor is all of its memory."""
    return tensor.storage_offset() == 0 and tensor.nbytes == storage_size(tensor)


def _remove_duplicate_names(
    state_dict: dict[str, Tensor], *, preferred_names: Iterable[str] | None = None, discard_names: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """For each group of tensors that overlap, the name to keep, with the others.

    Args:
        preferred_names: kept before others.
        discard_names: kept only if there are no others.

    Raises:
        RuntimeError: in some group no tensor is all of the memory.
    """
    preferred, discarded = set(preferred_names or ()), set(discard_names or ())
    removed: dict[str, list[str]] = {}
    for group in _find_shared_tensors(state_dict):
        complete = {name for name in group if _is_complete(state_dict[name])}
        if not complete:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for saving amongst: "
                f"{group}. None is covering the entire storage. {_MORE}"
            )
        kept = min(complete & preferred or complete - discarded or complete)
        if len(group) > 1:
            removed[kept] = sorted(group - {kept})
    return removed


def _arrays(tensors: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """The tensors as the arrays that the package's core takes.

    Raises:
        ValueError: something else than tensors by name, or tensors that are not contiguous.
        RuntimeError: tensors that share memory.
    """
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    shared = [group for group in _find_shared_tensors(tensors) if len(group) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: "
            f"{shared}. A potential way to correctly save your model is to use `save_model`. {_MORE}"
        )
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you are trying to save tensors "
                "which are reference of each other in which case it's recommended to save only the full tensors, and reslice at load time, or "
                "simply call `.contiguous()` on your tensor to pack it before saving."
            )
    return {name: np.ascontiguousarray(host_array(tensor, "safetensors")).reshape(tensor.shape) for name, tensor in tensors.items()}


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors."""
    return safetensors.numpy.save(_arrays(tensors), metadata)


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file; they must be contiguous and share no memory."""
    safetensors.numpy.save_file(_arrays(tensors), filename, metadata)


# -- modules -----------------------------------------------------------------------------------------------------------------------------


def save_model(model: Module, filename: str, metadata: dict[str, str] | None = None, force_contiguous: bool = True) -> None:
    """Write a module's state to a file; of tensors that share memory one is written, and the metadata say which stood for the others.

    Args:
        force_contiguous: copy tensors that are not contiguous, instead of refusing them.
    """
    state = dict(model.state_dict())
    notes = dict(metadata or {})
    for kept, removed in _remove_duplicate_names(state).items():
        for name in removed:
            notes.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}  # type: ignore[attr-defined]
    save_file(state, filename, notes or None)


def load_model(
    model: Module, filename: str | os.PathLike, strict: bool = True, device: Any = "cpu", *, backend: str = "mmap"
) -> tuple[set[str], list[str]]:
    """Load a module's state from a file of `save_model`.

    Returns:
        The names that the file lacks, and those that the module lacks.

    Raises:
        RuntimeError: there are such names, and ``strict`` is asked for.
    """
    state = load_file(filename, device, backend=backend)
    duplicates = _remove_duplicate_names(dict(model.state_dict()), preferred_names=state)
    found = model.load_state_dict(state, strict=False)
    missing, unexpected = set(found.missing_keys), list(found.unexpected_keys)
    for name in [name for removed in duplicates.values() for name in removed]:
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for complaint, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                lines.append(f"    {complaint} key(s) in state_dict: {listed}")
        raise RuntimeError("\n".join(lines))
    return missing, unexpected
