"""`save` and `load` of scripted and traced modules, in the container of `torch.export.save`."""

from __future__ import annotations

from typing import Any

__all__ = ["load", "save"]


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Not yet."""
    raise NotImplementedError("torch.jit.save is not supported")


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Not yet."""
    raise NotImplementedError("torch.jit.load is not supported")
