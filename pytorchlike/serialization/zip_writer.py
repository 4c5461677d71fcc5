"""`ArchiveWriter`: writes torch's zip archives, byte for byte in the layout of torch's own writer.

Records are stored, not compressed.  An extra field in front of each pads its bytes to a multiple of the alignment, so that a mapped file
can be used in place; torch computes offsets from this layout, so nothing of it is free.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, Any

from .files import write_all

__all__ = ["ArchiveWriter"]

#: From here on sizes and offsets stand in a zip64 field.
_LIMIT = 0xFFFFFFFF
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_UTF8, _DESCRIPTOR_FOLLOWS = 0x800, 0x8
_VERSION = b"3\n"
_PIECE = 1 << 20


class ArchiveWriter:
    """Writes records one after the other; `finish` writes the directory.

    Args:
        file: has ``write``; need not be seekable.
        folder: the folder in the archive that all records are in.
        compute_crc32: False writes 0 for all checksums.
        alignment: each record's bytes begin at a multiple of it.
    """

    def __init__(self, file: IO[bytes], folder: str, compute_crc32: bool = True, alignment: int = 64) -> None:
        self._file = file
        self._folder = folder
        self._compute_crc32 = compute_crc32
        self._alignment = alignment
        self._offset = 0
        self._directory: list[bytes] = []
        self._checksums = self._names = 0

    def write_record(self, name: str, data: Any) -> None:
        """Write a record of bytes, or of anything with the buffer protocol."""
        view = memoryview(data).cast("B")
        crc = zlib.crc32(view) if self._compute_crc32 else 0
        self._begin(name, view.nbytes, crc)
        self._write(view)
        self._end(view.nbytes, crc)

    def leave_space(self, name: str, nbytes: int, is_sparse: bool) -> None:
        """Write a record of zeros without a checksum, to be filled later.

        Args:
            is_sparse: the file can be sought in: leave a hole.
        """
        self._begin(name, nbytes, 0)
        if is_sparse:
            self._file.seek(nbytes, 1)
            self._offset += nbytes
        else:
            for start in range(0, nbytes, _PIECE):
                self._write(bytes(min(_PIECE, nbytes - start)))
        self._end(nbytes, 0)

    def finish(self) -> None:
        """Write torch's closing records and the directory."""
        self.write_record("version", _VERSION)
        self.write_record(".data/serialization_id", f"{self._names:020d}{self._checksums:020d}".encode())
        start, count = self._offset, len(self._directory)
        for entry in self._directory:
            self._write(entry)
        nbytes, end = self._offset - start, self._offset
        self._write(_END_64.pack(b"PK\6\6", _END_64.size - 12, 0x31E, 0x2D, 0, 0, count, count, nbytes, start))
        self._write(_LOCATOR.pack(b"PK\6\7", 0, end, 1))
        self._write(_END.pack(b"PK\5\6", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), min(nbytes, _LIMIT), min(start, _LIMIT), 0))

    def _begin(self, name: str, nbytes: int, crc: int) -> None:
        """The header of a record and its entry in the directory."""
        path = f"{self._folder}/{name}".encode()
        offset = self._offset
        large = b"".join(struct.pack("<Q", n) for n in (nbytes, nbytes, offset) if n >= _LIMIT)
        zip64 = struct.pack("<2H", 1, len(large)) + large if large else b""
        self._is_large = bool(large)
        flags = _UTF8 | (_DESCRIPTOR_FOLLOWS if nbytes else 0)
        before = offset + _LOCAL.size + len(path) + len(zip64) + 4
        padding = -before % self._alignment
        extra = zip64 + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        self._write(_LOCAL.pack(b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(path), len(extra)) + path + extra)
        shown = min(nbytes, _LIMIT)
        entry = _CENTRAL.pack(b"PK\1\2", 0, 0, flags, 0, 0, 0, crc, shown, shown, len(path), len(zip64), 0, 0, 0, 0, min(offset, _LIMIT))
        self._directory.append(entry + path + zip64)
        self._names = zlib.crc32(path, self._names)
        self._checksums = zlib.crc32(crc.to_bytes(4, "little"), self._checksums)

    def _end(self, nbytes: int, crc: int) -> None:
        if nbytes:
            self._write(struct.pack("<4sL2Q" if self._is_large else "<4s3L", b"PK\7\b", crc, nbytes, nbytes))

    def _write(self, data: Any) -> None:
        self._offset += write_all(self._file, data)
