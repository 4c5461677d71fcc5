"""What a dataset can ask about the worker process it runs in; batches are made in the main process, so there is none."""

from __future__ import annotations

from typing import Any

__all__ = ["WorkerInfo", "get_worker_info"]


class WorkerInfo:
    """``id``, ``num_workers``, ``seed`` and ``dataset`` of a worker process."""

    __module__ = "torch.utils.data._utils.worker"

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


def get_worker_info() -> WorkerInfo | None:
    """The worker process this runs in; None in the main process."""
    return None
