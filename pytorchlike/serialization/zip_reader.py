"""`ArchiveReader`: reads the records of torch's zip archives, and trusts nothing that a file says of itself.

``zipfile`` reads the directory; records are read straight into the memory they are wanted in.  Nothing is ever extracted to a path.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import IO, Any, NamedTuple

import numpy as np

from .files import fill

__all__ = ["ALIGNMENT", "ArchiveReader", "aligned", "is_archive"]

#: XLA takes over memory that begins at a multiple of this many bytes, and copies other.
ALIGNMENT = 64

_CORRUPT = (
    " If you are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was "
    "not saved properly, was transferred incorrectly, or the file was modified after saving."
)
_SIGNATURE = b"PK\3\4"
_LOCAL = struct.Struct("<4s22x2H")
_STORED, _DEFLATED = 0, 8
_OLDEST, _NEWEST = 1, 10
_PIECE = 1 << 20
#: Compressed records may together become this much larger than the file, beside a fixed amount.
_MOST_INFLATION, _FREE_INFLATION = 100, 1 << 26


def is_archive(file: IO[bytes]) -> bool:
    """Whether a zip archive begins at the file's position, which stays as it is."""
    start = file.tell()
    found = file.read(len(_SIGNATURE))
    file.seek(start)
    return found == _SIGNATURE


class _Record(NamedTuple):
    header: int
    nbytes: int
    stored_nbytes: int
    crc: int
    method: int


class ArchiveReader:
    """The records of an archive by name.

    Args:
        file: readable and seekable.

    Raises:
        RuntimeError: it is no archive of torch's, or a broken one.
    """

    def __init__(self, file: IO[bytes]) -> None:
        import zipfile

        self._file = file
        self._inflated = 0
        file.seek(0, io.SEEK_END)
        self._size = file.tell()
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as found:
                self._end = found.start_dir
                entries = found.infolist()
        except Exception as error:  # zipfile raises nearly everything for what is no zip file
            reason = "not a ZIP archive" if self._size < 22 else "failed finding central directory"
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {reason}.{_CORRUPT}") from error
        self._records = self._index(entries)
        self._check_version()

    def _index(self, entries: list[Any]) -> dict[str, _Record]:
        first = entries[0].filename if entries else ""
        folder, slash, _ = first.partition("/")
        if not slash:
            raise RuntimeError(f"file in archive is not in a subdirectory: {first}" if entries else f"the archive is empty.{_CORRUPT}")
        records: dict[str, _Record] = {}
        end = 0
        for e in sorted(entries, key=lambda e: e.header_offset):
            next_end = e.header_offset + _LOCAL.size + e.compress_size
            if e.filename in records or e.header_offset < end or next_end > self._end:
                raise self._broken(e.filename, "it overlaps another record")
            if e.flag_bits & 1 or e.compress_type not in (_STORED, _DEFLATED):
                raise self._broken(e.filename, f"it is encrypted, or compressed with method {e.compress_type}")
            if e.compress_type == _STORED and e.compress_size != e.file_size:
                raise self._broken(e.filename, "its sizes differ")
            records[e.filename] = _Record(e.header_offset, e.file_size, e.compress_size, e.CRC, e.compress_type)
            end = next_end
        return {name.removeprefix(folder + "/"): record for name, record in records.items()}

    def _check_version(self) -> None:
        name = ".data/version" if self.has_record(".data/version") else "version"
        if not self.has_record(name):
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false.  (Could this error message be improved?  If so, please report an '
                "enhancement request to PyTorch.)"
            )
        stated = self.get_record(name).strip()
        if not stated.isdigit() or len(stated) > 4:
            raise RuntimeError(f"Couldn't parse the version {stated!r:.40} as Long Long.")
        version = int(stated)
        if version > _NEWEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum supported version for reading is {_NEWEST}. Your "
                "PyTorch installation may be too old."
            )
        if version < _OLDEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the minimum supported version for reading is {_OLDEST}. Your "
                "PyTorch script module file is too old. Please regenerate it with latest version of PyTorch to mitigate this issue."
            )

    def has_record(self, name: str) -> bool:
        """Whether there is such a record."""
        return name in self._records

    def _find(self, name: str) -> _Record:
        found = self._records.get(name)
        if found is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found.{_CORRUPT}")
        return found

    def offset_of(self, name: str) -> int | None:
        """Where the bytes of a record begin in the file; None if they are compressed."""
        record = self._find(name)
        self._file.seek(record.header)
        header = self._file.read(_LOCAL.size)
        signature, name_length, extra_length = _LOCAL.unpack(header) if len(header) == _LOCAL.size else (b"", 0, 0)
        start = record.header + _LOCAL.size + name_length + extra_length
        if signature != _SIGNATURE or start + record.stored_nbytes > self._end:
            raise self._broken(name, "invalid header or archive is corrupted")
        self._file.seek(start)
        return start if record.method == _STORED else None

    def nbytes_of(self, name: str) -> int:
        """The number of bytes of a record."""
        return self._find(name).nbytes

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self.read(name).tobytes()

    def read(self, name: str) -> np.ndarray:
        """The bytes of a record as a flat array, checked against their checksum if the file has one.

        Raises:
            RuntimeError: there is no such record, or it is damaged.
        """
        record = self._find(name)
        is_stored = self.offset_of(name) is not None
        array = aligned(record.nbytes if is_stored else self._inflatable(name, record))
        crc = self._read_stored(name, array) if is_stored else self._inflate(name, record, array)
        if record.crc and crc != record.crc:
            raise self._broken(name, "CRC-32 check failed")
        return array

    def _read_stored(self, name: str, array: np.ndarray) -> int:
        crc = 0
        for start in range(0, len(array), _PIECE):
            piece = array[start : start + _PIECE].data
            if fill(self._file, piece) < piece.nbytes:
                raise self._broken(name, "unexpected end of the file")
            crc = zlib.crc32(piece, crc)  # while it is in the cache
        return crc

    def _inflatable(self, name: str, record: _Record) -> int:
        """The size of a compressed record, if the file may become as large as that."""
        self._inflated += record.nbytes
        if self._inflated > _FREE_INFLATION + _MOST_INFLATION * self._size:
            raise self._broken(name, f"{self._inflated} bytes in an archive of {self._size} (a zip bomb?)")
        return record.nbytes

    def _inflate(self, name: str, record: _Record, array: np.ndarray) -> int:
        try:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(self._file.read(record.stored_nbytes), record.nbytes + 1)
        except zlib.error as error:
            raise self._broken(name, str(error)) from error
        if len(data) != record.nbytes:
            raise self._broken(name, f"expected {record.nbytes} bytes, got {len(data)}")
        array[:] = np.frombuffer(data, np.uint8)
        return zlib.crc32(data)

    def _broken(self, name: str, reason: str) -> RuntimeError:
        return RuntimeError(f"PytorchStreamReader failed reading file {name:.200}: {reason}.{_CORRUPT}")


def aligned(nbytes: int) -> np.ndarray:
    """Flat memory that XLA can use as it is."""
    memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT
    return memory[start : start + nbytes]
