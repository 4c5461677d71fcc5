"""Whose code it is that a call runs, and what code reads and does: the part of compiler/watch.py that looks at functions instead of running them."""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
import types
from collections import OrderedDict, deque
from typing import Any

from ..graph import provenance

__all__ = ["COMPUTING_LIBRARIES", "chains", "global_names", "imports", "is_ours", "is_pure", "kind_of", "may_subscript"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_SITE = tuple({sysconfig.get_paths()[k] + os.sep for k in ("purelib", "platlib")})
#: Modules of the standard library that only compute.
_PURE = (
    "functools", "contextlib", "collections", "abc", "_collections_abc", "enum", "typing", "types", "copy", "copyreg", "operator", "dataclasses",
    "inspect", "warnings", "re", "numbers", "string", "keyword", "weakref", "_weakrefset", "reprlib", "itertools", "heapq", "bisect", "fractions",
    "statistics", "textwrap", "ast", "dis", "opcode", "token", "tokenize", "linecache", "traceback", "graphlib", "importlib", "_py_abc", "struct",
)  # fmt: skip
#: Extension modules whose functions only compute.
_PURE_EXTENSIONS = {"math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections", "_collections", "_abc", "_struct", "_bisect", "_heapq", "_weakref"}
#: Frozen modules that ask the operating system, and their functions that do not.
_FILES = ("<frozen os>", "<frozen genericpath>", "<frozen posixpath>", "<frozen ntpath>", "<frozen io>")
_OF_TEXT = {
    "join", "split", "splitext", "_splitext", "basename", "dirname", "normpath", "normcase", "isabs", "fspath", "commonprefix", "commonpath", "_get_sep",
    "encode", "decode", "encodekey", "check_str",
}  # fmt: skip
_IMPURE_BUILTINS = {"print", "input", "open", "exec", "eval", "compile", "breakpoint", "__import__", "delattr", "globals"}
#: The flag of classes that are made while Python runs.
_HEAP_TYPE = 1 << 9
_PURE_OWNERS = (list, tuple, dict, set, frozenset, deque, str, bytes, int, float, complex, bool, range, slice, types.MappingProxyType, type, types.FunctionType, OrderedDict)
#: Names by which code reads or writes all entries of a dictionary.
_WHOLE = frozenset({"items", "values", "keys", "update", "setdefault", "copy", "deepcopy", "dict", "list", "repr", "str"})
#: Libraries that only compute when the package calls them.
COMPUTING_LIBRARIES = ("jax", "jaxlib", "numpy", "optax", "scipy", "ml_dtypes", "flax")


def is_ours(module: str | None) -> bool:
    """Whether a module of this name is part of the package (or what the package is called instead)."""
    return module is None or module.partition(".")[0] in ("pytorchlike", "torch", "builtins")


def kind_of(code: types.CodeType, space: dict[str, Any]) -> str:
    """Of code with these globals: ours, pure (may be called), impure (a library that is not watched), or user."""
    filename = code.co_filename
    if filename in _FILES:  # the frozen modules that ask the system
        return "pure" if code.co_name in _OF_TEXT or "_Environ" in getattr(code, "co_qualname", "_Environ") else "impure"
    if filename == "<string>":  # made by a library for one of its classes, as methods of data classes and named tuples are, or given to python -c
        module = str(space.get("__name__"))
        filename = getattr(sys.modules.get(module), "__file__", None) or ("<frozen" if module.startswith("namedtuple_") else filename)
    return _kind_of_file(filename)


@functools.cache
def _kind_of_file(filename: str) -> str:
    if filename.startswith((*provenance.OURS, "<frozen")):
        return "ours"
    if filename.startswith(_SITE):
        rest = next(filename[len(site) :] for site in _SITE if filename.startswith(site))
        return "impure" if rest.split(os.sep)[0] in COMPUTING_LIBRARIES else "user"
    if filename.startswith(_STDLIB):
        first = filename[len(_STDLIB) :].split(os.sep)[0].removesuffix(".py")
        return "pure" if first in _PURE else "impure"
    if f"{os.sep}interop{os.sep}" in filename and filename.startswith(os.path.dirname(_PACKAGE.rstrip(os.sep))):
        return "ours"
    return "user"


def is_pure(function: Any) -> bool:
    """Whether a function of an extension module only computes, or changes only what its owner's copy will show."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(function, "__module__", None) or ""
        if module == "builtins":
            return function.__name__ not in _IMPURE_BUILTINS
        return module in _PURE_EXTENSIONS or is_ours(module) or isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType))
    if isinstance(owner, type) and not owner.__flags__ & _HEAP_TYPE and owner.__module__ not in ("builtins", "collections"):
        return is_ours(owner.__module__)  # not the class methods of dates, which tell the time
    return isinstance(owner, _PURE_OWNERS) or is_ours(type(owner).__module__) or type(owner).__name__ in ("Pattern", "Match")


@functools.cache
def global_names(code: types.CodeType) -> tuple[list[str], list[str]]:
    """The globals that a code object reads, and those that it writes."""
    reads: dict[str, None] = {}
    writes: list[str] = []
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            reads[name] = None
        elif instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or instruction.opname == "STORE_DEREF" and name in code.co_freevars:
            writes.append(name)
    return list(reads), writes


@functools.cache
def imports(code: types.CodeType) -> list[tuple[str, int]]:
    """The modules that a code object imports: (name, how many dots stand before it)."""
    found = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    return [(instruction.argval, found[k - 2].argval or 0) for k, instruction in enumerate(found) if instruction.opname == "IMPORT_NAME"]


@functools.cache
def chains(code: types.CodeType) -> list[tuple[str, ...]]:
    """Globals, and variables of closures, and what the code looks up in them: ``nn.functional.relu`` is ("nn", "functional", "relu")."""
    found: list[list[str]] = []
    is_open = False
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            found.append([instruction.argval])
            is_open = True
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and is_open:
            found[-1].append(instruction.argval)
        elif name not in ("CACHE", "EXTENDED_ARG"):
            is_open = False
    return list({tuple(chain): None for chain in found if len(chain) > 1})


@functools.cache
def may_subscript(code: types.CodeType, key: str) -> bool:
    """Whether code may read or write the entry of this name of an optimizer's group: it mentions the name, or handles groups as a whole."""
    return _mentions(code.co_consts, key) or "param_groups" in code.co_names and not _WHOLE.isdisjoint(code.co_names)


def _mentions(constants: tuple, key: str) -> bool:
    return any(constant == key if isinstance(constant, str) else isinstance(constant, tuple) and _mentions(constant, key) for constant in constants)
