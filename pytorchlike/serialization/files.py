"""What ``torch.save`` and ``torch.load`` accept as a file: paths, which are replaced only by complete files, and objects like files."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import IO, Any, TypeGuard

__all__ = ["check_seekable", "check_writable", "fill", "is_path", "open_to_read", "open_to_write", "write_all"]

_LONGEST_NAME = 200


def is_path(f: Any) -> TypeGuard[str | os.PathLike]:
    """Whether this is the name of a file, not a file."""
    return isinstance(f, (str, os.PathLike))


def check_writable(f: Any) -> None:
    """Raise torch's error for what is neither a path nor a file to write to."""
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not is_path(f) and not callable(f.write):
        raise TypeError(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")


def check_seekable(f: Any) -> None:
    """Raise torch's error for a file that cannot be sought in."""
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" in str(error) or "tell" in str(error):
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to "
                "load from it instead."
            ) from None
        raise


@contextlib.contextmanager
def open_to_read(f: Any) -> Iterator[IO[bytes]]:
    """The file of a path, closed at the end; or a file object, left open."""
    if is_path(f):
        with open(f, "rb") as file:
            yield file
    else:
        check_seekable(f)
        yield f


@contextlib.contextmanager
def open_to_write(f: Any) -> Iterator[IO[bytes]]:
    """The file of a path, or a file object, flushed at the end.

    What a path names is replaced at the end, and only if all went well: until then the bytes are in another file beside it.
    """
    if not is_path(f):
        yield f
        if hasattr(f, "flush"):
            f.flush()
        return
    target = os.path.realpath(f)
    folder, name = os.path.split(target)
    if not os.fspath(f) or not name:
        raise RuntimeError(f"invalid file name: {os.fspath(f)}")
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")
    beside = os.path.join(folder, f".{name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.tmp")
    descriptor = None
    if os.path.isfile(target) or not os.path.exists(target):  # not a pipe or a device
        with contextlib.suppress(PermissionError):  # the folder cannot be written to, but perhaps the file can
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    if descriptor is None:
        with open(target, "wb") as file:
            yield file
        return
    try:
        with open(descriptor, "wb") as file:
            yield file
        if os.path.exists(target):
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def write_all(file: IO[bytes], data: Any) -> int:
    """Write bytes, or anything with the buffer protocol, as a whole; how many bytes that were."""
    left = memoryview(data).cast("B")
    count = left.nbytes
    while left.nbytes:
        written = file.write(left)
        left = left[written:] if isinstance(written, int) else left[:0]  # raw files may take a part; some objects say nothing
    return count


def fill(file: IO[bytes], view: memoryview) -> int:
    """Read into a piece of memory until it is full or the file ends; the number of bytes read."""
    left = view
    while left.nbytes:
        if hasattr(file, "readinto"):
            count = file.readinto(left) or 0
        else:
            data = file.read(left.nbytes)
            count = len(data)
            left[:count] = data
        if not count:
            break
        left = left[count:]
    return view.nbytes - left.nbytes
