"""``torch.backends.opt_einsum``: JAX depends on opt_einsum, so ``einsum`` finds its order of contractions with it."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

from .switches import SwitchModule

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether opt_einsum is installed."""
    return importlib.util.find_spec("opt_einsum") is not None


def get_opt_einsum() -> ModuleType | None:
    """The module opt_einsum, or None."""
    return importlib.import_module("opt_einsum") if is_available() else None


class _OptEinsum(SwitchModule):
    SWITCHES = ("enabled", "strategy")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "strategy" and value not in ("auto", "greedy", "optimal", None):
            raise ValueError(f"`strategy` must be one of the following: [auto, greedy, optimal] but is {value}")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _OptEinsum
