"""``torch.distributed.checkpoint.state_dict_saver``: ``save`` and ``async_save``."""

from __future__ import annotations

import io
import os
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ... import serialization
from ...tensors.convert import host_array
from ...tensors.tensor import Tensor
from .filesystem import FileSystemWriter, folder_of
from .flat import flatten, resolved
from .planner import is_partial

__all__ = ["async_save", "save", "save_state_dict"]


def _parts(state_dict: dict[str, Any]) -> tuple[dict[str, np.ndarray], bytes]:
    """The arrays of the tensors, and the bytes of everything else (with tensors that orbax has no files for)."""
    arrays: dict[str, np.ndarray] = {}
    others: dict[str, Any] = {}
    for name, leaf in flatten(resolved(state_dict))[0].items():
        if isinstance(leaf, Tensor) and leaf.numel() and not leaf.is_meta:
            arrays[name] = host_array(leaf, "torch.distributed.checkpoint")
        else:
            others[name] = leaf
    file = io.BytesIO()
    serialization.save(others, file)
    return arrays, file.getvalue()


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Save a state dictionary in a folder.

    Args:
        state_dict: tensors, plain values, nested dictionaries of them, and modules, optimizers and the like, whose state is saved.
        checkpoint_id: the folder.
        storage_writer: in its place, a `FileSystemWriter`.
        planner: a `DefaultSavePlanner`.
        process_group: one of this process.
    """
    is_partial(planner)
    writer = folder_of(FileSystemWriter, checkpoint_id, storage_writer, process_group=process_group)
    writer.write(*_parts(state_dict))


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: Any = None,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future:
    """`save` in another thread; what is saved are the values at the time of the call.

    Args:
        async_checkpointer_type, async_stager: not supported.
    """
    is_partial(planner)
    writer = folder_of(
        FileSystemWriter, checkpoint_id, storage_writer, process_group=process_group, async_stager=async_stager,
        async_checkpointer_type=async_checkpointer_type,
    )  # fmt: skip
    arrays, others = _parts(state_dict)
    executor = ThreadPoolExecutor(1, thread_name_prefix="async_save")
    try:
        return executor.submit(writer.write, arrays, others)
    finally:
        executor.shutdown(wait=False)


def save_state_dict(
    state_dict: dict[str, Any], storage_writer: FileSystemWriter, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False,
    planner: Any = None,
) -> None:  # fmt: skip
    """The older name of `save`."""
    warnings.warn("`save_state_dict` is deprecated and will be removed in future versions.Please use `save` instead.", FutureWarning, stacklevel=2)
    save(state_dict, storage_writer=storage_writer, process_group=process_group, planner=planner)
