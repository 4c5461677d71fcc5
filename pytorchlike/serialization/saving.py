"""``torch.save``: the pickle of an object and the bytes of its storages, in a zip archive or in torch's old format."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from typing import IO, Any

import numpy as np

from ..tensors.pickling import memory_of
from ..tensors.storage import Storage
from . import options
from .files import check_writable, is_path, open_to_write, write_all
from .pickler import SavedStorages, make_pickler
from .zip_writer import ArchiveWriter

__all__ = ["DEFAULT_PROTOCOL", "MAGIC_NUMBER", "PROTOCOL_VERSION", "check_dill_version", "save"]

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_OLDEST_DILL = (0, 3, 1)


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object in a file that torch and pytorchlike can load.

    Tensors that share memory go on sharing it.  A path is written all or nothing: what stood there before stays until all is written.

    Args:
        f: a path, or an object with ``write``.
        pickle_module: pickles everything but the storages; only with ``pickle`` itself do our classes go by their names in torch.
        pickle_protocol: the pickle's protocol; ``weights_only=True`` can only load 2.
        _use_new_zipfile_serialization: False writes the format from before torch 1.6.

    Raises:
        RuntimeError: the folder does not exist; tensors of different dtypes share memory.
    """
    check_dill_version(pickle_module)
    check_writable(f)
    if not _use_new_zipfile_serialization and options.state.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    storages = SavedStorages(() if _use_new_zipfile_serialization else (None,))
    pickled = io.BytesIO()
    make_pickler(pickle_module, pickled, pickle_protocol, storages).dump(obj)
    with open_to_write(f) as file:
        if _use_new_zipfile_serialization:
            archive = ArchiveWriter(file, _folder(f), options.get_crc32_options(), options.config.save.storage_alignment)
            _write_archive(archive, pickled.getvalue(), storages, _disable_byteorder_record, is_sparse=is_path(f) and file.seekable())
        else:
            _write_old(file, pickled.getvalue(), storages, pickle_module, pickle_protocol)


def check_dill_version(pickle_module: Any) -> None:
    """Refuse versions of dill that are too old, as torch does."""
    if getattr(pickle_module, "__name__", None) == "dill":
        stated = pickle_module.__version__
        if tuple(int(part) for part in stated.split(".")[:3] if part.isdigit()) < _OLDEST_DILL:
            wanted = ".".join(map(str, _OLDEST_DILL))
            raise ValueError(f"'torch' supports dill >= {wanted}, but you have dill {stated}. Please upgrade dill or switch to 'pickle'")


def _folder(f: Any) -> str:
    """The folder in the archive: the file's name without its ending."""
    name = os.path.basename(os.fspath(f)) if is_path(f) else ""
    stem = name.rpartition(".")[0] or name if not name.startswith(".") else ""
    return stem if stem.isascii() and stem else "archive"


def _memory(storage: Storage) -> np.ndarray:
    return memory_of(storage, "torch.save")


def _write_archive(archive: ArchiveWriter, pickled: bytes, storages: SavedStorages, no_byte_order: bool, is_sparse: bool) -> None:
    archive.write_record("data.pkl", pickled)
    archive.write_record(".format_version", b"1")
    archive.write_record(".storage_alignment", str(options.config.save.storage_alignment).encode())
    if not no_byte_order:
        archive.write_record("byteorder", sys.byteorder.encode())
    for key, (storage, _) in storages.by_key.items():
        if options.state.skip_data:
            archive.leave_space(f"data/{key}", storage.nbytes, is_sparse)
        else:
            archive.write_record(f"data/{key}", _memory(storage))
    archive.finish()


def _write_old(file: IO[bytes], pickled: bytes, storages: SavedStorages, module: Any, protocol: int) -> None:
    sizes = {name: struct.calcsize(f"={name[0]}") for name in ("short", "int", "long")}
    system = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        module.dump(part, file, protocol=protocol)
    file.write(pickled)
    keys = sorted(storages.by_key)
    module.dump(keys, file, protocol=protocol)
    for key in keys:
        storage, itemsize = storages.by_key[key]
        file.write(struct.pack("<q", storage.nbytes // itemsize))
        write_all(file, _memory(storage))
