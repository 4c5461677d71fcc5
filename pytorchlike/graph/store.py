"""Programs and shapes that other processes have found, on the disk: what a script's second start need not trace and compile.

JAX's own cache (`cache`) saves XLA's work, but is asked only when a program has been traced and lowered.  Here a program is found by what was
recorded (`fingerprint`).  There is one folder for each environment; those that were not used for long are removed.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import pathlib
import pickle
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from . import cache
from .fingerprint import environment

__all__ = ["compiling", "keep_program", "load_program", "number_list", "shapes", "take_over", "used_here"]

#: So many environments' programs are kept: changes of this package's sources, of libraries, of XLA's flags.
_MOST_ENVIRONMENTS = 8

Shapes = list[tuple[tuple[int, ...], str]]


def _folder() -> pathlib.Path | None:
    """Where the programs of this environment are; None without a cache."""
    base = cache.folder()
    return None if base is None else _made(base, environment().hex())


@functools.lru_cache(maxsize=16)
def _made(base: str, name: str) -> pathlib.Path | None:
    top = pathlib.Path(base) / "programs"
    folder = top / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        others = sorted(top.iterdir(), key=lambda f: f.stat().st_mtime, reverse=True)
    except OSError:  # no place to write to, or another process removes folders, too
        return folder if folder.is_dir() else None
    for old in others[_MOST_ENVIRONMENTS:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


#: The files that this process has read or written, in this order.
_used: dict[str, None] = {}


def _read(name: str) -> bytes | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        content = (folder / name).read_bytes()
    except OSError:
        return None
    _used[name] = None
    return content


def _write(name: str, content: bytes) -> None:
    """Write a file at once: other processes see all of it or nothing."""
    folder = _folder()
    if folder is None:
        return
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        os.replace(file.name, folder / name)
    except OSError:  # a full disk costs a compilation the next time
        return
    _used[name] = None


# --------------------------------------------------------------------------------------------------------------------- programs
def load_program(key: bytes, target: Any) -> tuple[Any, Any] | None:
    """A compiled program for a device, and what was kept with it.

    Args:
        key: a digest of all that makes the program.
        target: a device of JAX.
    """
    content = _read(key.hex())
    if content is None:
        return None
    from jax.experimental import serialize_executable

    try:
        (program, arguments, results), extra = pickle.loads(content)
        return serialize_executable.deserialize_and_load(program, arguments, results, target.client, [target]), extra
    except Exception:  # whatever a file from elsewhere raises: it is compiled again, and written anew
        return None


def keep_program(key: bytes, compiled: Any, extra: Any) -> None:
    """Keep a program that was compiled now (see `compiling`), and what is to be known beside it."""
    if _folder() is None:
        return
    from jax.experimental import serialize_executable

    try:
        content = pickle.dumps((serialize_executable.serialize(compiled), extra))
    except (ValueError, NotImplementedError):  # constants that are arguments, references
        return
    _write(key.hex(), content)


_loading = threading.local()


@contextlib.contextmanager
def compiling() -> Iterator[list[str]]:
    """Gives a list that has an entry after the block if a program compiled in it came from JAX's cache.

    Such a program cannot be kept: XLA writes out only a part of one that it has read (jaxlib 0.10.2).
    """
    _listen()
    _loading.events = []
    yield _loading.events


@functools.cache
def _listen() -> None:
    def note(event: str, **_: Any) -> None:
        if event == "/jax/compilation_cache/cache_hits" and hasattr(_loading, "events"):
            _loading.events.append(event)

    jax.monitoring.register_event_listener(note)


def number_list(key: bytes, compute: Callable[[], list[int]]) -> list[int]:
    """Numbers that somebody has computed for this key, or now computes."""
    content = _read(key.hex())
    try:
        found = None if content is None else json.loads(content)
    except ValueError:
        found = None
    if found is None:
        found = compute()
        _write(key.hex(), json.dumps(found).encode())
    return found


# ------------------------------------------------------------------------------------------------------------------- whole stores
def used_here() -> tuple[bytes, list[str]] | None:
    """The programs that this process has compiled or found, as the content of a zip file, and their names; None: there are none."""
    folder, archive = _folder(), io.BytesIO()
    if folder is None:
        return None
    names = []
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = environment().hex().encode()
        for name in [*_used, _SHAPES]:
            if (folder / name).is_file():
                file.write(folder / name, name)
                names.append(name)
    return (archive.getvalue(), names) if names else None


def take_over(content: bytes) -> list[str] | None:
    """Keep what `used_here` has given in another place; returns the names, or None where it is for other sources, libraries or processors.

    Raises:
        ValueError: it is something else.
    """
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError("these are no cache artifacts")
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        if file.comment != environment().hex().encode():
            return None
        names = [name for name in file.namelist() if os.path.basename(name) == name]
        for name in names:
            _write(name, file.read(name))
    shapes.open()
    return names


# ----------------------------------------------------------------------------------------------------------------------- shapes
class _ShapeTable:
    """Shapes and dtypes of instructions' results, a line for each in one file to which processes append."""

    def __init__(self) -> None:
        self._folder: pathlib.Path | None = None
        self._known: dict[str, str] = {}
        self._new: list[str] = []

    def open(self) -> None:
        """Look again where this environment's file is."""
        folder = _folder()
        if folder != self._folder:
            self._folder, self._known = folder, {} if folder is None else _lines(folder / _SHAPES)

    def find(self, key: bytes) -> list[jax.ShapeDtypeStruct] | None:
        """The results' shapes and dtypes."""
        text = self._known.get(key.hex())
        try:
            return None if text is None else [jax.ShapeDtypeStruct(tuple(shape), jax.numpy.dtype(name)) for shape, name in json.loads(text)]
        except ValueError:  # a line that was cut off
            return None

    def note(self, key: bytes, outputs: Sequence[Any]) -> None:
        """Some instruction's results were found out; `save` writes them."""
        self._new.append(f"{key.hex()} {json.dumps([(o.shape, str(o.dtype)) for o in outputs])}\n")

    def save(self) -> None:
        """Append what was noted to the file."""
        lines, self._new = self._new, []
        if self._folder is None or not lines:
            return
        try:
            with open(self._folder / _SHAPES, "a") as file:
                file.write("".join(lines))
        except OSError:
            return


_SHAPES = "shapes"


def _lines(file: pathlib.Path) -> dict[str, str]:
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {key: text for line in lines for key, _, text in [line.partition(" ")] if text.endswith("]")}


shapes = _ShapeTable()
