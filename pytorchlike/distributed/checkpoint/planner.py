"""``torch.distributed.checkpoint.default_planner``: the settings of torch's planners.  One process has nothing to plan."""

from __future__ import annotations

from typing import Any

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "is_partial"]


def _check_flat(flatten_state_dict: bool) -> None:
    if not flatten_state_dict:
        raise NotImplementedError("torch.distributed.checkpoint: flatten_state_dict=False is not supported; nested dictionaries are always flattened")


class DefaultSavePlanner:
    """How a state dictionary is saved: settings about several processes change nothing.

    Raises:
        NotImplementedError: ``flatten_state_dict=False``.
    """

    __module__ = "torch.distributed.checkpoint.default_planner"

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False, enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        _check_flat(flatten_state_dict)


class DefaultLoadPlanner:
    """How a state dictionary is loaded.

    Args:
        allow_partial_load: what the checkpoint does not have stays as it is.

    Raises:
        NotImplementedError: ``flatten_state_dict=False``.
    """

    __module__ = "torch.distributed.checkpoint.default_planner"

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False) -> None:
        _check_flat(flatten_state_dict)
        self.allow_partial_load = allow_partial_load


def is_partial(planner: Any) -> bool:
    """Whether a planner lets names be missing.

    Raises:
        NotImplementedError: it is none of those here.
    """
    if planner is not None and type(planner) not in (DefaultLoadPlanner, DefaultSavePlanner):
        raise NotImplementedError(f"torch.distributed.checkpoint: planner is not supported: {type(planner).__name__}; only the default ones are")
    return getattr(planner, "allow_partial_load", False)
