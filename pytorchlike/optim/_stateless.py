"""An optimizer that works on other parameters and states for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..tensors.tensor import Tensor
from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state requires"


def _state_of(given: Any) -> dict[Any, Any]:
    """The states by number of parameter.

    Raises:
        RuntimeError: they have another form, torch's text.
    """
    if not isinstance(given, dict):
        raise RuntimeError(
            f"{_NAME} swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts, got {type(given).__name__}."
        )
    if any(isinstance(key, Tensor) for key in given):
        raise RuntimeError(f"{_NAME} optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in given.items()):
        raise RuntimeError(f"{_NAME} per-parameter optimizer state entries to be dictionaries.")
    return given


def _groups_of(given: Any, optimizer: Optimizer) -> list[dict[str, Any]]:
    """The groups, checked against the optimizer's.

    Raises:
        RuntimeError: they differ in number, size or keys, torch's text.
    """
    if not isinstance(given, list):
        raise RuntimeError(f"{_NAME} swapin_optim_state['param_groups'] to be a list of param-group dicts, got {type(given).__name__}.")
    if len(given) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for i, (live, group) in enumerate(zip(optimizer.param_groups, given)):
        if not isinstance(group, dict):
            raise RuntimeError(f"{_NAME} each optimizer param group to be a dictionary.")
        numbers = group.get("params")
        if not isinstance(numbers, list) or not all(isinstance(n, int) for n in numbers):
            raise RuntimeError(f"{_NAME} optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids.")
        if len(numbers) != len(live["params"]):
            raise RuntimeError(f"swapin_optim_state param group {i} has a different number of params than the live optimizer param group.")
        only_given, only_live = [k for k in group if k not in live], [k for k in live if k not in group]
        if only_given or only_live:
            raise RuntimeError(
                f"{_NAME} optimizer.state_dict()-style param group keys to exactly match the live optimizer group keys for group {i}. "
                f"Keys only in swap-in: {only_given}. Keys only in live: {only_live}."
            )
    return given


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Let an optimizer work on other parameters and states inside the block; its own are back afterwards, untouched.

    Args:
        swapin_parameters: in the order of the optimizer's own.
        swapin_optim_state: of the form of ``optimizer.state_dict()``.  Its tensors are updated in place; nothing else of it changes.

    Raises:
        RuntimeError: the optimizer has no state yet, or what is given does not fit it.
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} initialized optimizer state.")
    if not isinstance(swapin_optim_state, dict):
        raise RuntimeError(f"{_NAME} a DCP-style optimizer state_dict.")
    states = _state_of(swapin_optim_state.get("state"))
    groups = _groups_of(swapin_optim_state.get("param_groups"), optimizer)
    params, numbers = list(swapin_parameters.values()), [n for group in groups for n in group["params"]]
    if len(numbers) > len(params):
        raise RuntimeError(f"{_NAME} the explicit parameter state to match optimizer.param_groups ordering.")
    unknown = [key for key in states if key not in numbers]
    if unknown:
        raise RuntimeError(
            f"{_NAME} swapin_optim_state['state'] to be keyed only by packed parameter ids from param_groups[*]['params']; got extra keys {unknown!r}."
        )
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        start = 0
        optimizer.state = defaultdict(dict)
        for live, group in zip(optimizer.param_groups, groups):
            live.update(group)
            live["params"] = params[start : start + len(group["params"])]
            start += len(group["params"])
            for param, number in zip(live["params"], group["params"]):
                optimizer.state[param] = dict(states.get(number, {}))
        yield
    finally:
        optimizer.state = own_state
        for live, own in zip(optimizer.param_groups, own_groups):
            live.clear()
            live.update(own)
