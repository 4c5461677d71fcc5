"""Process groups of one process: making them, asking for ranks and sizes, what they are called."""

from __future__ import annotations

import enum
import os
from datetime import timedelta
from typing import Any

from ..core.process_groups import ProcessGroup, default_group, groups, members

__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "ReduceOp", "destroy_process_group", "get_backend", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "is_backend_available",
    "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group",
]  # fmt: skip


class ReduceOp(enum.IntEnum):
    """How the values of all processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class Backend(str):
    """The name of a backend, in small letters.  One process sends nothing, so all of them do the same here."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"
    __module__ = "torch.distributed.distributed_c10d"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The default group, None before it is made."""
        return groups[0] if groups else None


class group(metaclass=_World):  # noqa: N801
    """``group.WORLD``."""


class GroupMember(metaclass=_World):
    """``GroupMember.WORLD``, and what `new_group` returns to processes that are no members."""

    NON_GROUP_MEMBER = -100


def is_initialized() -> bool:
    """Whether the default group exists."""
    return bool(groups)


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
    store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None, _ranks: list[int] | None = None,
) -> None:  # fmt: skip
    """Make the default group, of this process alone.

    Args:
        backend: any of torch's names.
        init_method: ``env://``, the default, takes rank and size from ``RANK`` and ``WORLD_SIZE``; with others both must be given.
        world_size, rank: how many processes there are, and which one this is.

    Raises:
        ValueError: there is a default group, or rank or size are missing.
        NotImplementedError: there are several processes.
    """
    if groups:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and (world_size <= 0 or rank < 0):
        raise AssertionError("world_size must be positive if using store" if world_size <= 0 else "rank must be non-negative if using store")
    if store is None and (init_method or "env://") == "env://":
        size_given, rank_given = world_size, rank
        rank = rank_given if rank_given >= 0 else int(_environment("RANK"))
        world_size = size_given if size_given >= 0 else int(_environment("WORLD_SIZE"))
        _environment("MASTER_ADDR"), _environment("MASTER_PORT")
    elif store is None and min(world_size, rank) < 0:
        kind = str(init_method).partition("://")[0]
        missing = "rank" if rank < 0 else "world size"
        raise ValueError(f"Error initializing torch.distributed using {kind}:// rendezvous: {missing} parameter missing")
    if world_size != 1:
        raise NotImplementedError(f"torch.distributed.init_process_group: a world of {world_size} processes; only one process is supported")
    groups.append(ProcessGroup(Backend(backend or Backend.GLOO), group_name or "0"))


def _environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set")
    return os.environ[name]


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget a group; all of them if it is the default one."""
    if group is None and not groups:
        raise AssertionError("Process group cannot be None")
    found = members(group)
    if found is groups[0]:
        groups.clear()
    elif found is not None:
        groups.remove(found)


def new_group(
    ranks: list[int] | None = None, timeout: timedelta | None = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """Another group of this process.

    Raises:
        ValueError: ranks that do not exist.
    """
    first = default_group()
    if ranks is not None:
        if len(ranks) > 1:
            raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
        if any(rank != 0 for rank in ranks):
            raise ValueError("The new group's rank should be within the world_size set by init_process_group")
        if not ranks:
            return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(Backend(backend) if backend else first.backend, str(len(groups)))
    made.group_desc = group_desc or "undefined"
    groups.append(made)
    return made


def get_rank(group: ProcessGroup | None = None) -> int:
    """The number of this process in a group; -1 if it is no member."""
    return -1 if members(group) is None else 0


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes are in a group; -1 if this one is no member."""
    return -1 if members(group) is None else 1


def get_backend(group: ProcessGroup | None = None) -> Any:
    """The backend that a group was made with."""
    found = members(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of the members in the world."""
    return [] if members(group) is None else [0]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a process of the world."""
    if members(group) is None or global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a member of a group."""
    if members(group) is None or group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank among the processes of this machine, from ``LOCAL_RANK``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, assuming you are not running "
        "in a multi-device context and want the code to run locally instead."
    )


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be named; none sends anything."""
    return backend.lower() == Backend.GLOO


def is_gloo_available() -> bool:
    """True: what one process can do, it does under every name, and gloo is torch's name on a CPU."""
    return True


def is_nccl_available() -> bool:
    """False: there is no NCCL."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
