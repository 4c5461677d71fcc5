"""torch.utils.module_tracker: which modules are running their forward."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside the block ``parents`` holds the dotted names of the modules that are running, ``Global`` among them.

    Limits: torch also follows the backward pass; here ``is_bw`` is always False.
    """

    is_bw = False

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._stack: list[str] = []
        self._handles: list[Any] = []

    def _name(self, module: Module) -> str:
        if module not in self._names:
            root = type(module).__name__
            for path, each in module.named_modules():
                self._names.setdefault(each, f"{root}.{path}" if path else root)
        return self._names[module]

    def _before(self, module: Module, inputs: Any) -> None:
        self._stack.append(self._name(module))
        self.parents.add(self._stack[-1])

    def _after(self, module: Module, inputs: Any, output: Any) -> None:
        name = self._stack.pop()
        if name not in self._stack:
            self.parents.discard(name)

    def __enter__(self) -> ModuleTracker:
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._stack.clear()
        self.parents = {"Global"}
