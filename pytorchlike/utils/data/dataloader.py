"""`DataLoader`: batches of a dataset, made in the main process or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from ...aten.constructors import as_tensor
from ...core.device import device_count
from ...tensors.generator import Generator
from . import _utils
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import Dataset, IterableDataset
from .graph_settings import apply_random_seed, apply_sharding, apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T = TypeVar("T", covariant=True)
default_collate = _utils.collate.default_collate
default_convert = _utils.collate.default_convert
get_worker_info = _utils.worker.get_worker_info
#: Attributes that may not be set once the loader is made.
_FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


class _DatasetKind:
    """Whether samples are found by index or come as a stream."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> Any:
        return _utils.fetch.create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """The sampler of a stream: asks for the next one, without end."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T]):
    """Iterates over the batches of a dataset, with torch's arguments.

    Args:
        num_workers: how many processes make batches; 0 makes them in the main process.  They are spawned, not forked, and work on the CPU; what
            they make comes in memory that both processes map.  With cloudpickle installed, the main module need not be importable.
        pin_memory: accepted; JAX chooses the memory from which it copies to a device.
        multiprocessing_context: "fork" is replaced by "spawn", with a warning.
    """

    dataset: Dataset[T]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            if isinstance(dataset, IterDataPipe):
                apply_shuffle_settings(dataset, shuffle)  # as in torch, a shuffler that this adds behind the pipe is not read
                shuffle = None
            self._check_stream(shuffle, sampler, batch_sampler)
        elif shuffle is not None:
            shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    @staticmethod
    def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    @staticmethod
    def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        for name, value, allowed in (
            ("shuffle", shuffle, (False, None)),
            ("sampler", sampler, (None,)),
            ("batch_sampler", batch_sampler, (None,)),
        ):
            if not any(value is choice for choice in allowed):
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """How worker processes are started; None spawns them."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    f"multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                        f"but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start method, "
                    f"but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if self.persistent_workers and self.num_workers > 0:  # one iterator for all epochs: it draws its seed once
            if self._iterator is None:
                self._iterator = self._get_iterator()
            else:
                self._iterator._reset(self)
            return self._iterator
        return self._get_iterator()

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # A stream may have another length than it says: the iterator warns when it turns out so.
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            full, rest = divmod(length, self.batch_size)
            length = full if self.drop_last or not rest else full + 1
        return length

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than processors."""
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if self.num_workers and (usable is None or self.num_workers > usable):
            note = "" if hasattr(os, "sched_getaffinity") else " (`cpuset` is not taken into account)"
            suggested = (
                f"Our suggested max number of worker in current system is {usable}{note}, which is smaller than what this DataLoader is going to create."
                if usable is not None
                else "DataLoader is not able to compute a suggested max number of worker in current system."
            )
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. {suggested} Please be aware that excessive worker "
                "creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=2,
            )


def _world() -> tuple[int, int]:
    """How many processes share the data, and which of them this is."""
    from ... import distributed

    ready = distributed.is_available() and distributed.is_initialized()
    return (distributed.get_world_size(), distributed.get_rank()) if ready else (1, 0)


class _BaseDataLoaderIter:
    """One pass over a loader's batches."""

    def __init__(self, loader: DataLoader) -> None:
        self._dataset = loader.dataset
        self._shared_seed = self._seed_pipes(loader)
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._collate_fn = loader.collate_fn
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._persistent_workers = loader.persistent_workers
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,"
                f"ignore pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=4,
            )
        self._pin_memory = loader.pin_memory and device_count("cuda") > 0
        if loader.pin_memory and not self._pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.", stacklevel=4
            )
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _seed_pipes(self, loader: DataLoader) -> int | None:
        """Seed the pipes of a dataset that is made of such with a number that all processes share; None for other datasets."""
        if not isinstance(self._dataset, IterDataPipe):
            return None
        seed = draw_seed(loader.generator)
        if _world()[0] > 1:
            from ... import distributed

            shared = as_tensor(seed)
            distributed.broadcast(shared, src=0)
            seed = int(shared.item())
        apply_random_seed(self._dataset, Generator().manual_seed(seed))
        return seed

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._shared_seed = self._seed_pipes(loader)

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        from ...graph.recorder import step_boundary

        step_boundary("DataLoader")
        data = self._next_data()
        if self._pin_memory:
            data = _utils.pin_memory.pin_memory(data)
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and expected is not None and self._num_yielded > expected:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be {expected}(when accessing len(dataloader)), "
                f"but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at each worker. "
                    "Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
                )
            warnings.warn(message, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches made where they are asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(self._dataset, *_world())
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches made by worker processes, which are ``prefetch_factor`` batches each ahead of what is asked for.

    Tasks go round the workers, and each answers in the order of its tasks, so a batch in order is the next answer of one worker.

    Attributes:
        _pending: number of the task -> its worker, for batches that were not yet returned, in order.
        _active: whether a worker's stream may have more.
        _tasks: how many tasks a worker has.
    """

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._in_order = loader.in_order
        self._prefetch_factor: int = loader.prefetch_factor  # type: ignore[assignment]
        setup = _utils.worker.Setup(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last, self._base_seed, loader.worker_init_fn,
            self._num_workers, self._shared_seed, _world(),
        )  # fmt: skip
        self._pool = _utils.pool.Pool(setup, loader.multiprocessing_context, self._timeout)
        self._workers = self._pool.processes
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if not first_iter:
            self._resume()
        self._send_idx = 0
        self._pending: dict[int, int] = {}
        self._active = [True] * self._num_workers
        self._tasks = [0] * self._num_workers
        self._cycle = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _resume(self) -> None:
        """Start another pass in all workers; what is left of the last one is dropped."""
        for worker in range(self._num_workers):
            self._pool.send(worker, _utils.worker._ResumeIteration(self._shared_seed))
        for worker in range(self._num_workers):
            while not isinstance(self._pool.receive([worker])[0], _utils.worker._ResumeIteration):
                pass

    def _try_put_index(self) -> None:
        """Give the next task to the worker whose turn it is, if there are a task and a worker."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        most = self._prefetch_factor * self._num_workers
        for worker in itertools.islice(self._cycle, self._num_workers):
            if self._active[worker] and (self._in_order or self._tasks[worker] < most // sum(self._active)):
                break
        else:
            return
        self._pool.send(worker, (self._send_idx, index))
        self._pending[self._send_idx] = worker
        self._tasks[worker] += 1
        self._send_idx += 1

    def _next_data(self) -> Any:
        while True:
            for position in [p for p, worker in self._pending.items() if not self._active[worker]]:
                del self._pending[position]  # its worker's stream had ended
            if not self._pending:
                if not self._persistent_workers:
                    self._pool.stop()
                raise StopIteration
            waiting = set(self._pending.values()) if not self._in_order else [next(iter(self._pending.values()))]
            position, data = self._pool.receive(list(waiting))
            if isinstance(data, _utils.worker._IterableDatasetStopIteration):
                self._active[data.worker_id] = False
                if not self._persistent_workers:
                    self._pool.finish(data.worker_id)
                self._try_put_index()
                continue
            worker = self._pending.pop(position)
            self._tasks[worker] -= 1
            self._try_put_index()
            if isinstance(data, _utils.ExceptionWrapper):
                data.reraise()
            return data

    def _shutdown_workers(self) -> None:
        self._pool.stop()
