"""The names that files know our objects by: those of torch.  Where the layouts of the packages agree, a name differs by its first word.

`torch_path` is for writing, `find` for reading; `safe` lists what ``weights_only=True`` may read.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, NamedTuple

from ..core import device as devices
from ..core import layouts
from ..core import size as sizes
from ..core.dtype import BY_NAME, dtype
from ..core.handle import RemovableHandle
from ..tensors import generator, rebuild
from ..tensors.storages import STORAGE_NAMES, TypedStorage, UntypedStorage
from ..tensors.tensor import Tensor

__all__ = ["SafeNames", "SourceChangeWarning", "StorageType", "find", "is_torch", "normalize_storage_type", "safe", "torch_path"]

_OURS = __name__.partition(".")[0]
_TORCH = "torch"
#: Folders that torch does not have: what is public of them is so at the top.
_INTERNAL = {"aten", "core", "dispatch", "graph", "tensors"}
#: Modules that torch's files name -> where what is in them is public, and a prefix that it has there no longer.
_MOVED = {
    "torch._C._nn": ("torch.nn.functional", ""), "torch._C._linalg": ("torch.linalg", "linalg_"), "torch._C._fft": ("torch.fft", "fft_"),
    "torch._C._special": ("torch.special", "special_"), "torch.tensor": ("torch._tensor", ""),
}  # fmt: skip
_DTYPES = {name: BY_NAME[kind] for kind, name in STORAGE_NAMES.items()}


class StorageType:
    """What ``torch.FloatStorage`` and its like mean in a file: a storage of this dtype."""

    __module__ = "torch.serialization"

    def __init__(self, name: str) -> None:
        self.name = name
        self._dtype = _DTYPES[name]

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        return self._dtype

    def __reduce__(self) -> tuple:
        return _storage_type, (self.name,)

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


class SourceChangeWarning(Warning):
    """Torch's warning for modules whose source changed since they were saved in the old format; never given here: sources are not read."""

    __module__ = "torch.serialization"


def normalize_storage_type(storage_type: type) -> Any:
    """The class of this name in ``torch``."""
    return getattr(importlib.import_module(_OURS), storage_type.__name__)


@functools.cache
def _storage_type(name: str) -> StorageType:
    return StorageType(name)


def _get_layout(name: str) -> layouts.layout:
    found = getattr(layouts, name.removeprefix("torch."), None)
    if not isinstance(found, layouts.layout):
        raise KeyError(name)
    return found


def _results(values: Any, attributes: Any = None) -> tuple:
    """What named results of an operator, ``torch.return_types.max``, become in a file of ours too."""
    return tuple(values)


_REBUILDERS = (
    "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_device_tensor_from_numpy", "_rebuild_meta_tensor_no_storage", "_rebuild_nested_tensor",
    "_rebuild_qtensor", "_rebuild_sparse_tensor", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_wrapper_subclass",
)  # fmt: skip


@functools.cache
def _functions() -> dict[str, Any]:
    """Torch's functions in files that stand elsewhere here."""
    from ..nn import parameter

    found = {f"torch._utils.{name}": getattr(rebuild, name) for name in _REBUILDERS}
    for name in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        found[f"torch._utils.{name}"] = getattr(parameter, name)
    return found | {"torch._tensor._rebuild_from_type_v2": rebuild._rebuild_from_type_v2, "torch.serialization._get_layout": _get_layout}


@functools.cache
def _paths() -> dict[Any, str]:
    """Our functions -> torch's names."""
    ours = {
        devices._device: "torch.device", sizes._size: "torch.Size", generator._generator: "torch._C.Generator",
        RemovableHandle: "torch.utils.hooks.RemovableHandle",
    }  # fmt: skip
    return ours | {function: path for path, function in _functions().items()}


def is_torch(module: str) -> bool:
    """Whether a module is torch or below it."""
    return module == _TORCH or module.startswith(_TORCH + ".")


def torch_path(found: Any, name: str | None = None) -> tuple[str, str] | None:
    """Module and name that a class or function of ours has in torch; None if it is not ours."""
    try:
        path = _paths().get(found)
    except TypeError:  # not hashable
        path = None
    if path is not None:
        head, _, last = path.rpartition(".")
        return head, last
    module = str(getattr(found, "__module__", None))
    name = name or str(getattr(found, "__qualname__", ""))
    if module.partition(".")[0] == _OURS:
        if module.removeprefix(_OURS + ".").partition(".")[0] in _INTERNAL and getattr(sys.modules[_OURS], name, None) is found:
            return _TORCH, name
        module = _TORCH + module.removeprefix(_OURS)
    return (module, name) if is_torch(module) else None


def find(module: str, name: str) -> Any:
    """What a global of torch means here.

    Raises:
        AttributeError: pytorchlike does not have it.
    """
    if name in _DTYPES:
        return _storage_type(name)
    path = f"{module}.{name}"
    if path in _functions():
        return _functions()[path]
    if path == "torch._C.Generator":
        return generator.Generator
    if path == "torch._C._VariableFunctionsClass":  # an attribute of which is torch.relu
        return importlib.import_module(_OURS)
    if module == "torch.return_types":
        return _results
    module, prefix = _MOVED.get(module, (module, ""))
    name = name.removeprefix(prefix)
    try:
        return functools.reduce(getattr, name.split("."), importlib.import_module(_OURS + module.removeprefix(_TORCH)))
    except (ImportError, AttributeError):
        raise AttributeError(f"the file needs {path}, which pytorchlike does not provide") from None


# -- what is safe ------------------------------------------------------------------------------------------------------------------------


class SafeNames(NamedTuple):
    """What a file may name under ``weights_only=True``.

    Attributes:
        values: by their paths, all that may be named.
        callables: those of them that may be called.
        missing: what torch allows and pytorchlike does not have.
    """

    values: dict[str, Any]
    callables: dict[str, Any]
    missing: frozenset[str]


_MISSING_DTYPES = (
    "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "complex32", "float4_e2m1fn_x2", "qint8", "qint32", "quint2x4", "quint4x2", "quint8",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)),
)  # fmt: skip
_MISSING = (
    "QInt8Storage", "QInt32Storage", "QUInt2x4Storage", "QUInt4x2Storage", "QUInt8Storage", "per_channel_affine",
    "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric",
)  # fmt: skip


def _encode(text: Any, encoding: Any) -> bytes:
    """``_codecs.encode``, as pickle protocol 2 writes bytes: only this encoding."""
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise TypeError("bytes are expected as latin1 text")
    return text.encode("latin1")


def _bytearray(*data: Any) -> bytearray:
    """``bytearray`` of bytes: not of a number, which could be large."""
    if len(data) == 2:
        data = (_encode(*data),)
    if len(data) > 1 or data and type(data[0]) is not bytes:
        raise TypeError("a bytearray is expected as bytes")
    return bytearray(*data)


@functools.cache
def safe() -> SafeNames:
    """What torch allows by default, and pytorchlike has."""
    from collections import Counter, OrderedDict

    from ..aten.legacy import LEGACY_TYPES
    from ..nn.parameter import Parameter

    callables = _functions() | {
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "torch.nn.parameter.Parameter": Parameter,
        "torch.Size": sizes.Size, "torch.device": devices.device, "_codecs.encode": _encode, "builtins.bytearray": _bytearray,
        "builtins.set": set, "builtins.complex": complex,
    }  # fmt: skip
    values = callables | {
        "torch.Tensor": Tensor, "torch.storage.TypedStorage": TypedStorage, "torch.storage.UntypedStorage": UntypedStorage,
        **{f"torch.{found.name}": found for found in BY_NAME.values()},
        **{f"{module}.{name}": _storage_type(name) for module in ("torch", "torch.cuda") for name in _DTYPES},
        **{f"torch.{name}": found for name, found in LEGACY_TYPES.items()},
    }  # fmt: skip
    return SafeNames(values, callables, frozenset(f"torch.{name}" for name in (*_MISSING_DTYPES, *_MISSING)))
