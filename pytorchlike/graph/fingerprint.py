"""What an instruction computes, told so that every process tells it alike: the keys under which programs are kept on the disk.

A function is told by where its code stands and by what it holds: closure, defaults, the object it is a method of.  Code is known by its place
because the sources of this package, and the versions of the libraries below it, are part of the key (`environment`).  Of other code nothing
is known (it may read any global variable), so what has a function of the user's in it has no fingerprint.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import pathlib
import platform
import sys
import types
from collections.abc import Callable
from importlib import util
from typing import Any

import jax
import numpy as np

from ..core.device import device
from ..core.dtype import dtype
from .value import Aval

__all__ = ["Unknown", "described", "digest", "environment", "remembered"]

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = ("jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "optax")
_KNOWN = frozenset({_PACKAGE, "_operator", "builtins", "functools", "math", "operator", *_LIBRARIES})

#: Objects of these types are their text.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), slice, np.dtype, np.generic, device)

#: Words in the names of those settings of JAX that do not change our programs (which are always traced with 64 bits).
_WITHOUT_EFFECT = ("cache", "log", "dump", "enable_x64")


class Unknown(Exception):  # noqa: N818 - an answer, not an error
    """Something that another process may not know by the same name."""


def digest(*things: Any) -> bytes:
    """16 bytes for some things.

    Raises:
        Unknown: one of them cannot be told.
    """
    try:
        told = repr([described(thing) for thing in things])
    except RecursionError:
        raise Unknown("something that is part of itself") from None
    return hashlib.blake2b(told.encode(), digest_size=16).digest()


def described(thing: Any) -> Any:
    """A thing as nested tuples of texts and numbers, equal in all processes that have the same `environment`.

    Raises:
        Unknown: it cannot be told.
    """
    if isinstance(thing, _PLAIN) and not isinstance(thing, enum.Enum):
        return type(thing).__name__, repr(thing)
    if isinstance(thing, (tuple, list)):
        return type(thing).__name__, [described(each) for each in thing]
    if isinstance(thing, dict):
        return "dict", [(described(key), described(value)) for key, value in thing.items()]
    if isinstance(thing, (set, frozenset)):
        return "set", sorted([repr(described(each)) for each in thing])
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return "array", str(thing.dtype), thing.shape, hashlib.blake2b(thing.tobytes()).hexdigest()
    if isinstance(thing, Aval):
        return "aval", tuple(thing.size), thing.dtype.name, str(thing.device), thing.stride
    if isinstance(thing, dtype):
        return "torch", thing.name
    tell = getattr(type(thing), "fingerprint", None)
    if tell is not None:
        return type(thing).__name__, described(tell(thing))
    if isinstance(thing, functools.partial):
        return "partial", described(thing.func), described(thing.args), described(thing.keywords)
    if isinstance(thing, types.MethodType):
        return "method", described(thing.__func__), described(thing.__self__)
    if isinstance(thing, enum.Enum):
        return "enum", _by_name(type(thing)), thing.name
    if isinstance(thing, jax.numpy.ufunc):
        name = str(getattr(thing, "__name__"))  # the class does not declare it
        return ("name", "jax.numpy", name) if getattr(jax.numpy, name, None) is thing else _function(thing)
    return _by_name(thing) or _function(thing)


def _by_name(thing: Any) -> tuple[str, str, str] | None:
    """What a module of known code has under the thing's own name (ours may say that they are torch's)."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    top, dot, rest = module.partition(".")
    module = f"{_PACKAGE}{dot}{rest}" if top == "torch" else module
    if module.partition(".")[0] not in _KNOWN:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return ("name", module, name) if found is thing else None


def _function(thing: Any) -> tuple:
    space = getattr(thing, "__globals__", None)
    if not isinstance(thing, types.FunctionType) or not isinstance(space, dict) or str(space.get("__name__")).partition(".")[0] not in _KNOWN:
        raise Unknown(f"{type(thing).__name__} {thing!r}")
    cells = [cell.cell_contents for cell in thing.__closure__ or ()]
    return "function", space["__name__"], _code(thing.__code__), described(cells), described(thing.__defaults__), described(thing.__kwdefaults__)


def _code(code: types.CodeType) -> tuple:
    """Where code stands, and enough to tell two functions of one line from each other."""
    constants = [_code(c) if isinstance(c, types.CodeType) else described(c) for c in code.co_consts]
    return code.co_name, code.co_firstlineno, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def environment() -> bytes:
    """A digest of all that programs depend on beside their instructions: sources, versions, the processor, settings of JAX and XLA."""
    settings = [(name, repr(value)) for name, value in sorted(jax.config.values.items()) if not any(word in name for word in _WITHOUT_EFFECT)]
    return digest(_unchanging(), settings, os.environ.get("XLA_FLAGS", ""))


@functools.cache
def _unchanging() -> tuple:
    return sys.version, [_state_of(_file_of(name)) for name in _LIBRARIES], _sources(pathlib.Path(__file__).parents[1]), platform.machine(), _processor()


def _file_of(library: str) -> str | None:
    """The first file of a library, which has another time for each version that is installed."""
    found = util.find_spec(library)
    return None if found is None else found.origin


def _state_of(file: str | None) -> tuple | None:
    if file is None:
        return None
    state = os.stat(file)
    return file, state.st_size, state.st_mtime_ns


def _sources(folder: pathlib.Path) -> str:
    """Sizes and times of all files of the package."""
    found, folders = [], [str(folder)]
    for place in folders:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".tsv")):
                    state = entry.stat()
                    found.append((entry.path, state.st_size, state.st_mtime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return hashlib.blake2b(repr(sorted(found)).encode()).hexdigest()


def _processor() -> str:
    """What the processor can do: programs are made for it."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:
        return platform.processor()


def remembered(tell: Callable[[Any], Any]) -> Callable[[Any], bytes]:
    """A method that tells what an object is as one that gives the digest of it, computed once and kept in ``_fingerprint``."""

    @functools.wraps(tell)
    def fingerprint(self: Any) -> bytes:
        found = self._fingerprint
        if found is None:
            self._fingerprint = Unknown(f"{self!r} is part of itself")
            try:
                found = digest(tell(self))
            except Unknown as reason:
                found = reason
            self._fingerprint = found
        if isinstance(found, Unknown):
            raise found
        return found

    return fingerprint
