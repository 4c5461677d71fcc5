"""Storages of a file: what a reference in a pickle says, and memory that was read as a storage."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..core.device import META
from ..core.dtype import dtype, uint8
from ..graph.value import aval_of, constant
from ..tensors.storage import HostMemory, Storage
from ..tensors.storages import TypedStorage, UntypedStorage
from .names import StorageType

__all__ = ["byteswapped", "meta_storage", "new_storage", "placed_storage", "shared_storage", "storage_reference"]


def storage_reference(reference: Any, count: int) -> Any:
    """Dtype, key, location and number of elements of a reference to a storage, and what follows them.

    Args:
        count: how many fields there must be after the first.

    Raises:
        pickle.UnpicklingError: it is not one.
    """
    if not isinstance(reference, tuple) or len(reference) != count + 1 or reference[0] not in ("storage", b"storage"):
        raise pickle.UnpicklingError(f"expected a reference to a storage with {count} fields, but got {type(reference).__name__}")
    kind, key, location, numel, *rest = reference[1:]
    found = uint8 if kind is UntypedStorage else kind.dtype if isinstance(kind, StorageType) else None
    location = location.decode("ascii", "replace") if isinstance(location, bytes) else location
    is_right = found is not None and isinstance(key, (str, bytes, int)) and isinstance(location, str)
    if not is_right or type(numel) is not int or not 0 <= numel < 2**63:
        raise pickle.UnpicklingError("a reference to a storage with fields of the wrong type")
    return found, key, location, numel, *rest


def new_storage(memory: np.ndarray, kind: dtype) -> UntypedStorage:
    """A storage on the CPU of the bytes of an array, which nobody else writes to."""
    array = memory.view(kind.numpy)
    return UntypedStorage._of(Storage(constant(array if array.flags.aligned else array.copy(), aval_of(array.shape, kind))))


def shared_storage(memory: np.ndarray, kind: dtype) -> UntypedStorage:
    """A storage that shares the bytes of an array: what is written to it is written there."""
    made = new_storage(memory, kind)
    array = memory.view(kind.numpy)
    made._storage.share(HostMemory(array, array, made._storage.base))
    return made


def meta_storage(numel: int, kind: dtype) -> UntypedStorage:
    """A storage without data."""
    return UntypedStorage._of(Storage(constant(None, aval_of((numel,), kind, META))))


def placed_storage(made: UntypedStorage, kind: dtype, placed: Any) -> TypedStorage:
    """The storage that tensors are rebuilt on.

    Args:
        made: as it was read.
        placed: what ``map_location`` made of it.
    """
    if not isinstance(placed, (TypedStorage, UntypedStorage)):
        raise TypeError(f"map_location must return a storage or None, but got {type(placed).__name__}")
    found = TypedStorage(wrap_storage=UntypedStorage._of(placed._storage), dtype=kind)
    found.is_new = placed._storage is made._storage or placed.is_new
    return found


def byteswapped(memory: np.ndarray, kind: dtype) -> np.ndarray:
    """The bytes of elements in the other byte order."""
    word = kind.itemsize // 2 if kind.is_complex else kind.itemsize
    return memory.view(f"u{word}").byteswap().view(np.uint8)
