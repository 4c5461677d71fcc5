"""``torch.load``: chooses the format and the unpickler, and reads archives; the format from before torch 1.6 is in `legacy`."""

from __future__ import annotations

import io
import mmap as mapping
import os
import pickle
import re
import sys
import warnings
from typing import IO, Any

import numpy as np

from ..core.dtype import bool_, dtype
from ..tensors.storages import TypedStorage, UntypedStorage
from . import options
from .files import is_path, open_to_read
from .legacy import load_old
from .locations import MAP_LOCATION, is_meta, restorer
from .names import safe
from .safe_globals import user_globals
from .saving import check_dill_version
from .stored import byteswapped, meta_storage, new_storage, placed_storage, shared_storage, storage_reference
from .unpickler import globals_in, unpickle
from .zip_reader import ArchiveReader, is_archive

__all__ = ["get_unsafe_globals_in_checkpoint", "load"]

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running `torch.load` "
    "with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it only if you got the file from a "
    "trusted source."
)
_DOCUMENTATION = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
_TRUE = ("1", "y", "yes", "true")


def load(
    f: Any,
    map_location: MAP_LOCATION = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load an object saved by ``torch.save``, torch's or ours.

    Args:
        f: a path, or a file that can be sought in.
        map_location: where storages go: a device or its name; a dictionary from the names in the file to others; a function
            ``(storage, name) -> storage or None``.  By default where they were.
        pickle_module: unpickles everything but the storages; only with ``weights_only=False``.
        weights_only: load only tensors, containers, plain values and what `add_safe_globals` allows; nothing that a file says is run.  The
            default, unless a ``pickle_module`` is given.
        mmap: map the file instead of reading it: storages are read when they are looked at, and their checksums are not compared.
        pickle_load_args: for the unpickler, with ``weights_only=False``.

    Raises:
        pickle.UnpicklingError: the file is no checkpoint, or needs what ``weights_only=True`` does not allow.
        RuntimeError: the file is damaged, or contradicts itself.
    """
    weights_only = _is_weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if not weights_only and pickle_module is None:
        pickle_module = pickle
    check_dill_version(pickle_module)
    if mmap is None:
        mmap = options.config.load.mmap
    keywords = {"encoding": "utf-8", **pickle_load_args}
    if is_path(f) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    with open_to_read(f) as file:
        try:
            if is_archive(file):
                return _load_archive(f, file, map_location, pickle_module, mmap, keywords)
            if mmap:
                name = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(
                    f"mmap can only be used with files saved with `torch.save({name}_use_new_zipfile_serialization=True), please torch.save your "
                    "checkpoint with this option in order to use mmap."
                )
            return load_old(file, map_location, pickle_module, keywords, UNSAFE_MESSAGE)
        except pickle.UnpicklingError as error:
            if not weights_only:
                raise
            raise pickle.UnpicklingError(_advice(str(error))) from None


def _is_weights_only(asked: bool | None, pickle_module: Any) -> bool:
    forced, forbidden = (os.getenv(f"TORCH_FORCE_{name}WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE for name in ("", "NO_"))
    if forced and forbidden:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set."
        )
    if forced:
        return True
    if asked is not None:
        return bool(asked)
    if forbidden:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not explicitly passed to "
            "`torch.load`, forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return pickle_module is None


def _advice(message: str) -> str:
    """The text of torch's error for what ``weights_only=True`` refused."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you trust the "
            f"source of the checkpoint\033[0m. \n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` please check the "
            f"recommended steps in the following error message.\n\tWeightsUnpickler error: {message}{_DOCUMENTATION}"
        )
    request = (
        "Please file an issue with the following so that we can make `weights_only=True` compatible with your use case: WeightsUnpickler error: "
    )
    blocked = re.search(r"whose module (\S+) is blocked", message)
    return f"Weights only load failed. {UNSAFE_MESSAGE}\n{'' if blocked else request}\n\n{message}{_DOCUMENTATION}"


def _load_safetensors(path: str, map_location: Any) -> Any:
    for unsupported, kind in ((isinstance(map_location, dict), "dict"), (callable(map_location), "callable")):
        if unsupported:
            raise RuntimeError(
                f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device instead."
            )
    try:
        from ..interop.safetensors import load_file

        return load_file(path, device="cpu" if map_location is None else map_location)
    except ImportError as error:
        raise RuntimeError(
            "Attempting to load a safetensors file but safetensors is not installed. Please install safetensors with: pip install safetensors"
        ) from error


# -- archives ----------------------------------------------------------------------------------------------------------------------------


def _load_archive(f: Any, file: IO[bytes], map_location: Any, pickle_module: Any, mmap: bool, keywords: dict[str, Any]) -> Any:
    archive = ArchiveReader(file)
    if archive.has_record("constants.pkl"):
        if pickle_module is None:
            raise RuntimeError(f"Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {UNSAFE_MESSAGE}")
        raise NotImplementedError("torch.load: TorchScript archives (torch.jit.save) are not supported")
    if mmap and not is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    storages = _ArchiveStorages(archive, map_location, _mapped(f) if mmap else None)
    return unpickle(io.BytesIO(archive.get_record("data.pkl")), storages.find, pickle_module, keywords)


def _mapped(path: Any) -> np.ndarray:
    """The bytes of a file, mapped; they can be written to with ``MAP_SHARED``."""
    shared = sys.platform != "win32" and options.get_default_mmap_options() == mapping.MAP_SHARED
    with open(path, "r+b" if shared else "rb") as file:
        return np.frombuffer(mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_WRITE if shared else mapping.ACCESS_READ), np.uint8)


class _ArchiveStorages:
    """The storages of an archive, read when the pickle refers to them."""

    def __init__(self, archive: ArchiveReader, map_location: Any, mapped: np.ndarray | None) -> None:
        self._archive = archive
        self._mapped = mapped
        self._restore = restorer(map_location)
        self._is_meta = is_meta(map_location)
        self._swap = options.byte_order(archive.get_record("byteorder") if archive.has_record("byteorder") else None) != sys.byteorder
        self._found: dict[str, TypedStorage] = {}

    def find(self, reference: Any) -> TypedStorage:
        """The storage that a reference in the pickle means."""
        kind, key, location, numel = storage_reference(reference, 4)
        if key not in self._found:
            name, nbytes = f"data/{key}", numel * kind.itemsize
            stored = self._archive.nbytes_of(name)
            if stored != nbytes:
                raise RuntimeError(f"{name}: storage has wrong byte size: expected {nbytes} got {stored}")
            made = meta_storage(numel, kind) if self._is_meta else self._load(name, nbytes, kind)
            self._found[key] = placed_storage(made, kind, made if self._is_meta else self._restore(made, location))
        return self._found[key]

    def _load(self, name: str, nbytes: int, kind: dtype) -> UntypedStorage:
        if options.state.skip_data:
            return new_storage(np.zeros(nbytes, np.uint8), kind)
        start = None if self._mapped is None else self._archive.offset_of(name)
        if start is None or self._mapped is None:
            memory = self._archive.read(name)
        else:
            memory = self._mapped[start : start + nbytes]
            if memory.flags.writeable and not self._swap:
                return shared_storage(memory, kind)
        if self._swap:
            memory = byteswapped(memory, kind)
        if kind is bool_:
            memory = (memory != 0).view(np.uint8)
        return new_storage(memory, kind)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """What a file names that ``weights_only=True`` would refuse, by its path; nothing is run.

    Raises:
        ValueError: not an archive of ``torch.save``.
    """
    with open_to_read(f) as file:
        if not is_archive(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = ArchiveReader(file)
        if archive.has_record("constants.pkl"):
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
        return list(globals_in(archive.get_record("data.pkl")) - safe().values.keys() - user_globals().keys())
