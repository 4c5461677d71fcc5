"""Copies of a module on several devices, whose gradients go to the module's own parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar

from ...core.device import as_device, device
from ..modules.module import Module

__all__ = ["replicate"]

_M = TypeVar("_M", bound=Module)


def _replica(module: Any, where: device, detach: bool, memo: dict[int, Any]) -> Any:
    if id(module) in memo:
        return memo[id(module)]
    made = memo[id(module)] = copy.copy(module)
    state = made.__dict__
    state["_modules"] = {name: None if m is None else _replica(m, where, detach, memo) for name, m in module._modules.items()}
    state["_buffers"] = {name: None if b is None else b if b.device == where else b.to(where) for name, b in module._buffers.items()}
    state["_parameters"] = {}
    for name, parameter in module._parameters.items():
        # A copy is no parameter, but stands on the tape; on the module's own device it shares its memory.
        state[name] = None if parameter is None else (parameter.detach() if detach else parameter).to(where)
    return made


def replicate(network: _M, devices: Sequence[Any], detach: bool = False) -> list[_M]:
    """A copy of the module for each device.

    Args:
        detach: the copies' parameters have no gradient.
    """
    return [_replica(network, as_device(d), detach, {}) for d in devices]
