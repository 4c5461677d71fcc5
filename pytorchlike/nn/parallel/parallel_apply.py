"""Modules called on inputs of their own; what they record runs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None, devices: Sequence[Any] | None = None
) -> list[Any]:
    """The result of each module for its inputs.

    Raises:
        AssertionError: there are not as many modules as inputs.
    """
    named = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    if len(modules) != len(named):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of kwargs {len(named)}")
    return [module(*(i if isinstance(i, (list, tuple)) else (i,)), **k) for module, i, k in zip(modules, inputs, named)]
