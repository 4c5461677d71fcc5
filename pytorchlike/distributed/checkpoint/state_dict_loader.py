"""``torch.distributed.checkpoint.state_dict_loader``: ``load``."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

from ... import serialization
from ...autograd.grad_mode import no_grad
from ...tensors.convert import from_numpy
from ...tensors.tensor import Tensor
from .api import CheckpointException
from .filesystem import FileSystemReader, folder_of
from .flat import flatten, put, resolved
from .planner import is_partial

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load what a state dictionary names from a folder that `save` wrote, in place.

    Tensors are written into, other values replaced; modules, optimizers and the like get their state through ``load_state_dict``.  What else is in
    the folder is not read.  Values that are no tensors are unpickled with ``weights_only=True``.

    Args:
        checkpoint_id: the folder.
        storage_reader: in its place, a `FileSystemReader`.
        planner: a `DefaultLoadPlanner`.
        process_group: one of this process.

    Raises:
        CheckpointException: the folder is no checkpoint, lacks a name, or a shape differs.
    """
    partial = is_partial(planner)
    reader = folder_of(FileSystemReader, checkpoint_id, storage_reader, process_group=process_group)
    states = resolved(state_dict)
    try:
        _load(states, reader, partial)
    except (OSError, RuntimeError, ValueError) as error:
        raise CheckpointException("load", {0: error}) from error
    for key, value in state_dict.items():
        if states[key] is not value:
            if hasattr(value, "load_state_dict"):
                value.load_state_dict(states[key])
            else:
                state_dict[key] = states[key]


def _load(states: dict[str, Any], reader: FileSystemReader, partial: bool) -> None:
    leaves, paths = flatten(states)
    shapes = reader.shapes()
    arrays, packed = reader.read([name for name in leaves if name in shapes])
    others = serialization.load(io.BytesIO(packed))
    missing = [name for name in leaves if name not in arrays and name not in others]
    if missing and not partial:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {missing[0]}.")
    leaves = {name: leaf for name, leaf in leaves.items() if name not in missing}
    stored = {name: from_numpy(arrays[name]) if name in arrays else others[name] for name in leaves}
    for name, leaf in leaves.items():
        if name in arrays and not isinstance(leaf, Tensor):
            raise ValueError(f"{name} is a tensor in the checkpoint, and {type(leaf).__name__} in the state_dict to load into")
        if isinstance(leaf, Tensor) and isinstance(stored[name], Tensor) and stored[name].shape != leaf.shape:
            raise ValueError(f"Size mismatch between saved {stored[name].shape} and current: {leaf.shape} for {name}")
    for name, leaf in leaves.items():
        if isinstance(leaf, Tensor) and isinstance(stored[name], Tensor):
            with no_grad():
                leaf.detach().copy_(stored[name])  # type: ignore[attr-defined]
        else:
            put(states, paths[name], stored[name])


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: FileSystemReader, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False,
    planner: Any = None,
) -> None:  # fmt: skip
    """The older name of `load`."""
    warnings.warn("`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead.", FutureWarning, stacklevel=2)
    load(state_dict, storage_reader=storage_reader, process_group=process_group, planner=planner)
