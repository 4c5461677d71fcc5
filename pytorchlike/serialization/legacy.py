"""The format of ``torch.save`` from before torch 1.6: pickles one after the other, then the bytes of the storages."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from typing import IO, Any

import numpy as np

from ..core.dtype import bool_, dtype
from ..tensors.storages import TypedStorage, UntypedStorage
from .files import fill
from .locations import restorer
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION
from .stored import byteswapped, new_storage, placed_storage, storage_reference
from .unpickler import unpickle
from .zip_reader import aligned

__all__ = ["load_old"]

_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257


def load_old(file: IO[bytes], map_location: Any, pickle_module: Any, keywords: dict[str, Any], unsafe_message: str) -> Any:
    """Load what stands at the file's position.

    Raises:
        RuntimeError: it is damaged, or contradicts itself.
        NotImplementedError: it is in the tar format of torch 0.1.
    """
    _refuse_tar(file, pickle_module is None, unsafe_message)
    if unpickle(file, None, pickle_module, keywords) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    try:
        version = unpickle(file, None, pickle_module, keywords)
        if version != PROTOCOL_VERSION:
            raise RuntimeError(f"Invalid protocol version: {version}")
        unpickle(file, None, pickle_module, keywords)  # byte order and sizes of C's types: the bytes that follow are little-endian anyway
        storages = _Storages(file, map_location)
        found = unpickle(file, storages.find, pickle_module, keywords)
        storages.read(unpickle(file, None, pickle_module, keywords))
    except EOFError:
        raise pickle.UnpicklingError("pickle data was truncated") from None
    return found


def _refuse_tar(file: IO[bytes], weights_only: bool, unsafe_message: str) -> None:
    start = file.tell()
    head = file.read(_TAR_MAGIC_AT + len(_TAR_MAGIC))
    file.seek(start)
    if head[_TAR_MAGIC_AT:] == _TAR_MAGIC:
        if weights_only:
            raise RuntimeError(f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {unsafe_message}")
        raise NotImplementedError("torch.load: the tar format of torch 0.1 is not supported; load and save the file with a later torch")


class _Storages:
    """The storages that the pickle refers to: empty while it is read, as their bytes follow it."""

    def __init__(self, file: IO[bytes], map_location: Any) -> None:
        self._file = file
        self._restore = restorer(map_location)
        start = file.tell()
        self._left = file.seek(0, io.SEEK_END) - start
        file.seek(start)
        self._found: dict[Any, tuple[np.ndarray, dtype, UntypedStorage, TypedStorage]] = {}

    def find(self, reference: Any) -> Any:
        """What a reference in the pickle means: a storage, or a class with its source, which is not compared."""
        if isinstance(reference, tuple) and len(reference) > 1 and reference[0] in ("module", b"module"):
            return reference[1]
        kind, key, location, numel, view = storage_reference(reference, 5)
        if view is not None:
            raise NotImplementedError("torch.load: storages that are views of others (torch before 0.4) are not supported")
        if key not in self._found:
            nbytes = numel * kind.itemsize
            self._left -= nbytes
            if self._left < 0:
                raise RuntimeError(f"unexpected EOF, expected {-self._left} more bytes. The file might be corrupted.")
            memory = aligned(nbytes)
            made = new_storage(memory, kind)
            self._found[key] = (memory, kind, made, placed_storage(made, kind, self._restore(made, location)))
        return self._found[key][3]

    def read(self, keys: Any) -> None:
        """Read the bytes of all storages, in the order of the file."""
        if not isinstance(keys, list) or len(keys) != len(self._found) or not all(isinstance(key, (str, bytes, int)) for key in keys):
            raise RuntimeError("the file's list of storages is not that of the storages its pickle refers to. The file might be corrupted.")
        for key in keys:
            if key not in self._found:
                raise RuntimeError(f"storage key {key!r:.40} not found. The file might be corrupted.")
            memory, kind, made, placed = self._found.pop(key)
            self._read_one(memory, kind)
            if placed._storage is not made._storage:
                if placed.__dict__.get("_copies"):
                    raise NotImplementedError("torch.load: tensors of this dtype in the old format can only be loaded with map_location='cpu'")
                placed.untyped().copy_(made)

    def _read_one(self, memory: np.ndarray, kind: dtype) -> None:
        header = self._file.read(8)
        if len(header) < 8:
            raise RuntimeError("unexpected EOF, expected 8 more bytes. The file might be corrupted.")
        numel = struct.unpack("<q", header)[0]
        if numel * kind.itemsize != memory.nbytes:
            raise RuntimeError(f"storage has wrong byte size: expected {memory.nbytes} got {numel * kind.itemsize}")
        count = fill(self._file, memory.data)
        if count < memory.nbytes:
            raise RuntimeError(f"unexpected EOF, expected {memory.nbytes - count} more bytes. The file might be corrupted.")
        if sys.byteorder == "big":
            memory[:] = byteswapped(memory, kind)
        if kind is bool_:
            np.not_equal(memory, 0, out=memory.view(np.bool_))
