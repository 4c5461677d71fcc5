"""``torch.utils.serialization.config``: settings of ``torch.load`` and ``torch.save``, to be set on the two classes."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["load", "save"]


class load:  # noqa: N801 - torch's name
    """How files are read.

    Attributes:
        mmap: what ``torch.load(mmap=None)`` means.
        endianness: the byte order of files that do not state one (`serialization.LoadEndianness`); None is little.
        mmap_flags: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``.
        calculate_storage_offsets: accepted; offsets are always taken from the file's directory.
    """

    mmap: bool = False
    endianness: Any = None
    mmap_flags: int | None = None if sys.platform == "win32" else 2
    calculate_storage_offsets: bool = False


class save:  # noqa: N801 - torch's name
    """How files are written.

    Attributes:
        compute_crc32: write a checksum for each record.
        use_pinned_memory_for_d2h: accepted; JAX decides how arrays come to the host.
        storage_alignment: storages begin at multiples of this many bytes.
    """

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False
    storage_alignment: int = 64
