"""The worker processes of `DataLoader`: what runs in one, and what a dataset can ask about the one it runs in."""

from __future__ import annotations

import queue
import random
import signal
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import jax
import numpy as np

from ....alias import install_as_torch
from ....tensors.generator import Generator, default_generator
from ..._exceptions import ExceptionWrapper
from . import transport
from .fetch import create_fetcher

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a dataset can know of the worker process it runs in.

    Attributes:
        id: from 0 on.
        num_workers: how many there are.
        seed: what the process's random numbers start from.
        dataset: this process's copy.
        rng, worker_method: as torch has them; workers are processes, each with its own generators.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The worker process this runs in; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Sent instead of a batch: the worker's stream has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Asks workers that are kept to start another pass; they answer with it."""

    seed: int | None = None


@dataclass
class Setup:
    """What a worker needs to begin, the same for all of them.

    Attributes:
        shared_seed: of a dataset of pipes.
        world: how many processes, each with its workers, share the data, and which of them this is.
    """

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    num_workers: int
    shared_seed: int | None = None
    world: tuple[int, int] = (1, 0)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of ``numpy.random`` in a worker, apart from that of ``random``."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(entropy).generate_state(4)]


def _listen(connection: Connection, messages: queue.SimpleQueue) -> None:
    """Take tasks as they come, so that the main process never waits; the end of the connection, which is its death too, is a None."""
    try:
        while True:
            messages.put(transport.receive(connection, private=True))
    except (EOFError, OSError):
        messages.put(None)


class _Worker:
    """One worker process's state."""

    def __init__(self, connection: Connection, worker_id: int) -> None:
        self.connection = connection
        self.id = worker_id
        self.where = f"in DataLoader worker process {worker_id}"
        self.by_value = False
        self.setup: Setup | None = None
        self.fetcher: Any = None
        self.failed: ExceptionWrapper | None = None
        self.ended = False

    def begin(self, message: transport.Message) -> None:
        """Seed this process and look at the dataset; what goes wrong is the answer to all tasks."""
        global _worker_info
        try:
            setup: Setup = transport.unpack(message)
            seed = setup.base_seed + self.id
            random.seed(seed)
            default_generator.manual_seed(seed)
            np.random.seed(_generate_state(setup.base_seed, self.id))
            _worker_info = WorkerInfo(self.id, setup.num_workers, seed, setup.dataset)
            self.set_up_pipes(setup)
            if setup.init_fn is not None:
                setup.init_fn(self.id)
            self.setup = setup
        except Exception:
            self.failed = ExceptionWrapper(where=self.where)
            return
        self.start_pass()

    def set_up_pipes(self, setup: Setup) -> None:
        """Seed a dataset of pipes and let it take this worker's part of the samples."""
        from ..datapipes.datapipe import IterDataPipe, MapDataPipe
        from ..graph_settings import apply_sharding

        self.seed_pipes(setup.dataset, setup.shared_seed)
        if isinstance(setup.dataset, (IterDataPipe, MapDataPipe)):
            world, rank = setup.world
            apply_sharding(setup.dataset, setup.num_workers * world, self.id * world + rank)

    def seed_pipes(self, dataset: Any, seed: int | None) -> None:
        """Seed a dataset of pipes; others have no seed."""
        from ..graph_settings import apply_random_seed

        if seed is not None:
            apply_random_seed(dataset, Generator().manual_seed(seed))

    def start_pass(self) -> None:
        """From the dataset's first sample."""
        if self.setup is None:
            return
        self.ended, self.failed, setup = False, None, self.setup
        try:
            self.fetcher = create_fetcher(setup.dataset_kind, setup.dataset, setup.auto_collation, setup.collate_fn, setup.drop_last)
        except Exception:
            self.failed = ExceptionWrapper(where=self.where)

    def result(self, index: Any) -> Any:
        """The batch of an index, or what came instead."""
        if self.failed is not None:
            return self.failed
        try:
            return self.fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and self.setup is not None and self.setup.dataset_kind:
                self.ended = True
                return _IterableDatasetStopIteration(self.id)
            return ExceptionWrapper(where=self.where)

    def answer(self, value: Any) -> None:
        """Send a result, its classes by value from the first time on that this is needed."""
        try:
            try:
                message = transport.pack(value, by_value=self.by_value, elements_only=True)
            except Exception:
                if self.by_value or not transport.can_pickle_by_value():
                    raise
                message = transport.pack(value, by_value=True, elements_only=True)
                self.by_value = True
        except Exception:
            message = transport.pack((value[0], ExceptionWrapper(where=self.where)))
        transport.send(self.connection, message)

    def run(self) -> None:
        """Answer tasks until the main process closes the connection."""
        messages: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(self.connection, messages), daemon=True).start()
        message = messages.get()
        if message is None:
            return
        self.begin(message)
        while (message := messages.get()) is not None:
            task = transport.unpack(message)
            if isinstance(task, _ResumeIteration):
                if self.setup is not None:
                    self.seed_pipes(self.setup.dataset, task.seed)
                self.start_pass()
                self.answer((task, None))
            elif not self.ended:
                position, index = task
                self.answer((position, self.result(index)))


def run_worker(connection: Connection, worker_id: int, alias: bool) -> None:
    """The main function of a worker process.

    Args:
        alias: make the name ``torch`` mean this package, as it does in the main process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process is interrupted too, and closes the connection
    jax.config.update("jax_platforms", "cpu")
    if alias:
        install_as_torch()
    try:
        _Worker(connection, worker_id).run()
    except (BrokenPipeError, ConnectionResetError):  # nobody waits for the batch any more
        pass
    finally:
        sys.stdout.flush()
