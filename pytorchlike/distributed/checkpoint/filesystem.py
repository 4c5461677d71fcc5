"""``torch.distributed.checkpoint.filesystem``: the folders that checkpoints lie in, written and read by orbax."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.process_groups import ProcessGroup

__all__ = ["FileSystemReader", "FileSystemWriter", "folder_of"]

_TENSORS, _OBJECTS = "tensors", "objects"


def _orbax() -> Any:
    try:
        import orbax.checkpoint as orbax
    except ImportError as error:
        raise ImportError("torch.distributed.checkpoint needs the package orbax-checkpoint: pip install orbax-checkpoint") from error
    return orbax


class FileSystemWriter:
    """Writes a checkpoint to a folder.

    Args:
        path: the folder; replaced as a whole when the checkpoint is complete.
        overwrite: whether it may exist.
        single_file_per_rank, ...: about torch's own files; without effect.
    """

    __module__ = "torch.distributed.checkpoint.filesystem"

    def __init__(
        self, path: str | os.PathLike, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
    ) -> None:  # fmt: skip
        self.path = os.path.abspath(os.fspath(path))
        self.overwrite = overwrite

    def write(self, arrays: dict[str, np.ndarray], objects: bytes) -> None:
        """Write arrays by name, and the bytes of everything else."""
        if not self.overwrite and os.path.exists(self.path):
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        with _orbax().PyTreeCheckpointer() as checkpointer:
            checkpointer.save(self.path, {_TENSORS: arrays, _OBJECTS: np.frombuffer(objects, np.uint8)}, force=True)


class FileSystemReader:
    """Reads a checkpoint from a folder."""

    __module__ = "torch.distributed.checkpoint.filesystem"

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = os.path.abspath(os.fspath(path))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays by name."""
        with _orbax().PyTreeCheckpointer() as checkpointer:
            found = checkpointer.metadata(self.path).item_metadata
        if found is None:
            raise FileNotFoundError(f"{self.path} is no checkpoint of torch.distributed.checkpoint.save")
        return {name: tuple(facts.shape) for name, facts in found.tree.get(_TENSORS, {}).items()}

    def read(self, names: Iterable[str]) -> tuple[dict[str, np.ndarray], bytes]:
        """Some of the arrays, and the bytes of everything else."""
        orbax = _orbax()
        wanted: dict[str, Any] = {_TENSORS: dict.fromkeys(names, 0), _OBJECTS: 0}
        if not wanted[_TENSORS]:
            del wanted[_TENSORS]
        as_numpy = orbax.RestoreArgs(restore_type=np.ndarray)
        how = {key: dict.fromkeys(value, as_numpy) if isinstance(value, dict) else as_numpy for key, value in wanted.items()}
        with orbax.PyTreeCheckpointer() as checkpointer:
            found = checkpointer.restore(self.path, args=orbax.args.PyTreeRestore(item=wanted, restore_args=how, partial_restore=True))
        return found.get(_TENSORS, {}), found[_OBJECTS].tobytes()


def folder_of(kind: type, checkpoint_id: Any, given: Any, **unsupported: Any) -> Any:
    """The reader or writer that the arguments of ``save`` and ``load`` mean.

    Raises:
        RuntimeError: neither a path nor a reader or writer is given.
        NotImplementedError: something is asked for that is not supported.
    """
    for name, value in unsupported.items():
        if value is not None and not isinstance(value, ProcessGroup):  # a group has one process
            raise NotImplementedError(f"torch.distributed.checkpoint: {name} is not supported")
    if given is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        return kind(checkpoint_id)
    if not isinstance(given, kind):
        raise NotImplementedError(f"torch.distributed.checkpoint: a {type(given).__name__} is not supported, only {kind.__name__}")
    return given if checkpoint_id is None else kind(checkpoint_id)
