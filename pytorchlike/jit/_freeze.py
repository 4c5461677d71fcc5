"""`freeze` and `optimize_for_inference`: scripted modules for inference only."""

from __future__ import annotations

import copy
from typing import Any

from ._script import RecursiveScriptModule, ScriptModule

__all__ = ["freeze", "optimize_for_inference", "run_frozen_optimizations"]


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A copy of a scripted module in eval mode whose parameters no longer ask for gradients.

    Limits: torch makes constants of the parameters; here they remain parameters, inputs of the program, so the copy's state_dict is not empty.

    Raises:
        RuntimeError: not a scripted module, or not in eval mode; torch's texts.
    """
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing.")
    original = copy.deepcopy(mod._original if isinstance(mod, RecursiveScriptModule) else mod)
    return RecursiveScriptModule(original.requires_grad_(False))


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None) -> None:
    """Accepted: XLA optimizes each program."""


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """A frozen copy of a scripted module (see `freeze`), whatever its mode."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.script to script your 'nn.Module'.")
    return freeze(mod.eval())
