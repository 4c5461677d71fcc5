"""The name ``torch`` for pytorchlike: `install_as_torch` makes every ``import torch...`` in this process yield our modules.

It must import nothing of ours at the top: any layer may use `attribute_fallback`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["attribute_fallback", "install_as_torch"]

_OURS = __name__.rpartition(".")[0]
_TORCH = "torch"
#: Holds ``torch.py``; on ``sys.path`` it hands the alias on to worker processes that start a new interpreter.
SHIM_FOLDER = str(Path(__file__).with_name("as_torch"))


#: Modules of other packages that work on torch's memory, and ours that have the same functions.
_STAND_INS = {"safetensors.torch": f"{_OURS}.interop.safetensors"}


def _our_name(torch_name: str) -> str:
    return _STAND_INS.get(torch_name) or _OURS + torch_name.removeprefix(_TORCH)


def _is_torch(name: str) -> bool:
    return name == _TORCH or name.startswith(_TORCH + ".") or name in _STAND_INS


class _AliasLoader(Loader):
    """Yields the module of ours that stands behind a torch name; the module itself stays as it is."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_our_name(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has just put the alias's spec there


class _TorchDistribution(importlib.metadata.Distribution):
    """What ``importlib.metadata`` says of the package ``torch``: libraries look there for the version."""

    def read_text(self, filename: str) -> str | None:
        from .version import __version__

        return f"Metadata-Version: 2.1\nName: {_TORCH}\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).parent / path


class _TorchFinder(MetaPathFinder):
    """Finds ``torch`` and everything below it in this package."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not _is_torch(fullname):
            return None
        ours = _our_name(fullname)
        try:
            found = sys.modules.get(ours) or importlib.util.find_spec(ours)
        except ModuleNotFoundError:
            found = None
        if found is not None:
            return ModuleSpec(fullname, _AliasLoader())
        asked_only = sys._getframe(2).f_code is importlib.util.find_spec.__code__
        if asked_only:  # importlib.util.find_spec answers None for what is not there
            return None
        raise ModuleNotFoundError(f"No module named '{fullname}': pytorchlike does not provide {fullname}", name=fullname)

    def find_distributions(self, context: Any = None) -> Iterator[importlib.metadata.Distribution]:
        name = getattr(context, "name", None)
        if name is None or name.lower() == _TORCH:
            yield _TorchDistribution()


def install_as_torch() -> ModuleType:
    """Let ``torch`` and all its submodules mean pytorchlike in this process; return the package.

    The modules are the same objects under both names: ``sys.modules["torch.nn"] is sys.modules["pytorchlike.nn"]``.

    Raises:
        RuntimeError: the real torch is imported already.
    """
    package = importlib.import_module(_OURS)
    present = sys.modules.get(_TORCH)
    if present is not None and present is not package:
        raise RuntimeError(
            f"torch is already imported in this process, from {getattr(present, '__file__', 'an unknown place')}: "
            "call pytorchlike.install_as_torch() before anything imports torch, or run the script with 'python -m pytorchlike SCRIPT'"
        )
    if not any(isinstance(finder, _TorchFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TorchFinder())
    for name, module in list(sys.modules.items()):
        if name == _OURS or name.startswith(_OURS + "."):
            sys.modules.setdefault(_TORCH + name.removeprefix(_OURS), module)
    package.__name__ = _TORCH  # libraries look at it; imports inside the package go by __package__, pickles by the classes' __module__
    return package


def attribute_fallback(module_name: str, submodules: Iterable[str] = (), homes: Mapping[str, str] = {}) -> Callable[[str], Any]:
    """A module's ``__getattr__``: imports submodules at first use, and names what pytorchlike does not have yet.

    Args:
        module_name: ``__name__`` of the module.
        submodules: names below it that are imported when they are asked for.
        homes: names that are taken from one of the submodules when they are asked for, with the submodule of each.
    """
    torch_name = _TORCH + module_name.removeprefix(_OURS)
    lazy = frozenset(submodules)

    def __getattr__(name: str) -> Any:
        if name in lazy:
            return importlib.import_module(f"{module_name}.{name}")
        if name in homes:
            found = getattr(importlib.import_module(f"{module_name}.{homes[name]}"), name)
            setattr(sys.modules[module_name], name, found)
            return found
        reason = "" if name.startswith("__") else f" ({torch_name}.{name} is not in pytorchlike yet)"
        raise AttributeError(f"module '{torch_name}' has no attribute '{name}'{reason}", name=name, obj=sys.modules.get(module_name))

    return __getattr__
