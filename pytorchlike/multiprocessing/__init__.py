"""``torch.multiprocessing``: Python's multiprocessing; tensors are sent by value."""

from __future__ import annotations

import multiprocessing
import sys
from multiprocessing import *
from multiprocessing import reduction as reducer

from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [  # noqa: PLE0604 - and these
    "ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "get_all_sharing_strategies", "get_sharing_strategy", "reducer", "set_sharing_strategy", "spawn", "start_processes", *multiprocessing.__all__,
]  # fmt: skip

if sys.platform in ("darwin", "win32"):
    _all_sharing_strategies = {"file_system"}
else:
    _all_sharing_strategies = {"file_descriptor", "file_system"}


class _Sharing:
    """What `set_sharing_strategy` was given last."""

    strategy = "file_system" if sys.platform in ("darwin", "win32") else "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Keep the name of a strategy: tensors are sent by value, whatever it is.

    Raises:
        AssertionError: there is none of this name.
    """
    if new_strategy not in _all_sharing_strategies:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {_all_sharing_strategies}")
    _Sharing.strategy = new_strategy


def get_sharing_strategy() -> str:
    """The strategy that was set last."""
    return _Sharing.strategy


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return set(_all_sharing_strategies)


def init_reductions() -> None:
    """Nothing: tensors pickle by value."""
