"""Datasets and functions for tests of worker processes, which import this module; it must stay light."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import numpy as np

import pytorchlike as ours
from pytorchlike.utils.data import IterableDataset


class Noted:
    """Samples by index that say where they were made.

    Args:
        data: the module that knows the worker.
    """

    def __init__(self, data) -> None:
        self.info = data.get_worker_info

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index):
        info = self.info()
        return {"index": index, "square": np.float32(index) ** 2, "worker": info.id, "of": info.num_workers, "text": str(index)}


class RandomNumbers(Noted):
    """What a worker's generators give first, and the seed they come from."""

    def __init__(self, data, randint) -> None:
        super().__init__(data)
        self.randint = randint

    def __getitem__(self, index):
        info = self.info()
        return info.seed, self.randint(1 << 30, (2,)).tolist(), random.random(), int(np.random.randint(1 << 30)), len(info.dataset)


class Counting:
    """A stream; the worker with id ``i`` gives ``3 + 2 * i`` numbers."""

    def __init__(self, data) -> None:
        self.info = data.get_worker_info

    def __iter__(self):
        worker = self.info().id
        return iter(range(100 * worker, 100 * worker + 3 + 2 * worker))

    def __len__(self) -> int:
        return 4

    def __repr__(self) -> str:
        return "counting"


class OurCounting(Counting, IterableDataset):
    """The stream as ours."""


class Troubled:
    """Index 0 is good; the others each do something else."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index):
        if index == 1:
            raise ValueError("no sample of this number")
        if index == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if index == 3:
            time.sleep(60)
        if index == 4:
            return threading.Lock()
        return index


class Kinds:
    """Tensors of several dtypes, strides and sizes, some of which share memory."""

    def __init__(self) -> None:
        self.table = ours.arange(40000, dtype=ours.float32).view(4, 10000)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index):
        large = ours.full((2, 3, 50, 50), float(index))
        return {
            "row": self.table[index], "half": self.table[index][:5].to(ours.bfloat16), "numbers": np.arange(6).reshape(2, 3), "bytes": b"x" * 70000,
            "last": large.to(memory_format=ours.channels_last), "empty": ours.empty(0, 3), "leaf": ours.ones(2, requires_grad=True), "scalar": ours.tensor(3),
        }  # fmt: skip


def greet(worker: int) -> None:
    """A ``worker_init_fn`` that draws and then fails in worker 1."""
    if worker == 1:
        raise KeyError("no beginning")
