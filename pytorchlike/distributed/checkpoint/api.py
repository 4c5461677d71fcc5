"""``torch.distributed.checkpoint.api``: the exception of saving and loading."""

from __future__ import annotations

from typing import Any

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """What went wrong in each process.

    Attributes:
        failures: number of the process -> its exception.
    """

    __module__ = "torch.distributed.checkpoint.api"

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self.failures = failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self.failures.keys()}"]
        return "\n".join([*lines, *(f"({type(error).__name__}) {error} (RANK {rank})" for rank, error in self.failures.items())])
