"""Settings of ``torch.save`` and ``torch.load``; those of the process live in ``torch.utils.serialization.config``, as in torch."""

from __future__ import annotations

import mmap
import sys
import threading
from enum import Enum
from typing import Any

from ..utils.serialization import config

__all__ = [
    "LoadEndianness", "byte_order", "get_crc32_options", "get_default_load_endianness", "get_default_mmap_options", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data", "state",
]  # fmt: skip


class LoadEndianness(Enum):
    """Byte orders of files that do not state theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _State(threading.local):
    """What `skip_data` sets for a thread."""

    skip_data = False


state = _State()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files that do not state theirs; None means little."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of files that do not state theirs."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def byte_order(stated: bytes | None) -> str:
    """The byte order of a file, ``little`` or ``big``.

    Args:
        stated: what the file says, if it does.

    Raises:
        ValueError: it says something else.
    """
    if stated is not None:
        if stated not in (b"little", b"big"):
            raise ValueError("Unknown endianness type: " + stated.decode(errors="replace"))
        return stated.decode()
    return {LoadEndianness.BIG: "big", LoadEndianness.NATIVE: sys.byteorder}.get(config.load.endianness, "little")


def get_crc32_options() -> bool:
    """Whether ``torch.save`` writes checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether ``torch.save`` writes checksums; files without them are loaded unchecked."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """How ``torch.load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``."""
    return config.load.mmap_flags


class set_default_mmap_options:  # noqa: N801 - torch's name
    """Set how ``torch.load(mmap=True)`` maps files, for good or for a ``with`` block.

    Args:
        flags: ``mmap.MAP_PRIVATE``, or ``mmap.MAP_SHARED``: what is then written to the tensors is written to the file.
    """

    def __init__(self, flags: int) -> None:
        if sys.platform == "win32":
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        config.load.mmap_flags = self.prev


class skip_data:  # noqa: N801 - torch's name
    """Save without the bytes of storages (their place in the file stays empty), or load tensors of zeros, within a ``with`` block.

    Args:
        materialize_fake_tensors: accepted; there are no fake tensors here.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = state.skip_data
        state.skip_data = True

    def __exit__(self, *error: Any) -> None:
        state.skip_data = self._before
