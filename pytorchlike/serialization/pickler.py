"""Pickling under torch's names: the pickler of ``torch.save``, and how storages become references into the file."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import Any, NamedTuple

from ..core.dtype import dtype
from ..core.layouts import layout, memory_format
from ..tensors.storage import Storage
from ..tensors.storages import TypedStorage, UntypedStorage
from ..tensors.tensor import TensorType
from .locations import location_tag
from .names import StorageType, _get_layout, _storage_type, find, torch_path

__all__ = ["SavedStorages", "make_pickler"]


class _Saved(NamedTuple):
    storage: Storage
    itemsize: int


class SavedStorages:
    """The storages that a pickle refers to, by their keys in the order of their appearance.

    Args:
        tail: what follows the number of elements in a reference (the old format has one more field).
    """

    def __init__(self, tail: tuple = ()) -> None:
        self.by_key: dict[str, _Saved] = {}
        self._tail = tail
        self._seen: dict[Storage, tuple[str, Any]] = {}

    def persistent_id(self, found: Any) -> tuple | None:
        """The reference that stands for a storage in the pickle; None for everything else.

        Raises:
            RuntimeError: two tensors see the same memory as different dtypes, torch's text.
        """
        if not isinstance(found, (TypedStorage, UntypedStorage)):
            return None
        storage = found._storage
        kind: Any = UntypedStorage
        itemsize = 1
        seen_as = "uint8"
        if isinstance(found, TypedStorage):
            kind, itemsize, seen_as = _storage_type(found._pickle_storage_type()), found.dtype.itemsize, found.dtype.name
        key, before = self._seen.setdefault(storage, (str(len(self._seen)), seen_as))
        if before != seen_as and storage.nbytes:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        self.by_key.setdefault(key, _Saved(storage, itemsize))
        return ("storage", kind, key, location_tag(UntypedStorage._of(storage)), storage.nbytes // itemsize, *self._tail)


_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one in C cannot be told how to name globals


class _TorchPickler(_PythonPickler):
    """Names our classes and functions as torch names them."""

    dispatch: dict[type, Any] = dict(_PythonPickler.dispatch)

    def save_global(self, found: Any, name: str | None = None) -> None:
        """Write a reference to a class or a function."""
        path = torch_path(found, name)
        if path is None:
            super().save_global(found, name)
        else:
            self._write_path(found, *path)

    def save_named(self, found: Any) -> None:
        """Write a constant of torch's namespace."""
        self._write_path(found, "torch", found.name)

    def _write_path(self, found: Any, module: str, name: str) -> None:
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        elif "." in name:
            outer, _, name = name.rpartition(".")
            self.save_reduce(getattr, (find(module, outer), name), obj=found)
            return
        else:
            self.write(pickle.GLOBAL + module.encode() + b"\n" + name.encode() + b"\n")
        self.memoize(found)

    def save_layout(self, found: Any) -> None:
        """Write a layout as torch does."""
        self.save_reduce(_get_layout, (repr(found),), obj=found)


_TorchPickler.dispatch.update({
    FunctionType: _TorchPickler.save_global, TensorType: _TorchPickler.save_global, dtype: _TorchPickler.save_named,
    memory_format: _TorchPickler.save_named, StorageType: _TorchPickler.save_named, layout: _TorchPickler.save_layout,
})  # fmt: skip


def make_pickler(module: Any, file: Any, protocol: int, storages: SavedStorages) -> Any:
    """A pickler that puts storages aside.

    Args:
        module: ``pickle``, or a module with a ``Pickler`` like it, which names things its own way.
    """
    base: Any = _TorchPickler if module is pickle else module.Pickler

    class Pickler(base):  # type: ignore[misc]
        def persistent_id(self, found: Any) -> tuple | None:
            return storages.persistent_id(found)

    return Pickler(file, protocol=protocol)
