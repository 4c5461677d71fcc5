"""The process groups of this process: so far each has it as the only member.

Here and not in `distributed`, as modules and samplers below ask for the default group, too.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ProcessGroup", "default_group", "groups", "members"]


class ProcessGroup:
    """Processes that work together; this one alone.

    Attributes:
        backend: the name it was made with; nothing is sent by it.
    """

    __module__ = "torch.distributed.distributed_c10d"

    def __init__(self, backend: str = "gloo", group_name: str = "") -> None:
        self.backend = backend
        self.group_name = group_name
        self.group_desc = "default_pg"

    def rank(self) -> int:
        """The number of this process in the group."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1

    def name(self) -> str:
        """The name of the backend."""
        return self.backend


#: All groups, the default one first.
groups: list[ProcessGroup] = []


def default_group() -> ProcessGroup:
    """The group of all processes.

    Raises:
        ValueError: there is none, torch's text.
    """
    if not groups:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return groups[0]


def members(group: Any = None) -> ProcessGroup | None:
    """A group, the default one for None; None if this process is no member.

    Raises:
        ValueError: there is no default group, or this one is not among those that exist.
    """
    first = default_group()
    if group is None:
        return first
    if not isinstance(group, ProcessGroup):
        return None
    if group not in groups:
        raise ValueError("Invalid process group specified")
    return group
