"""Several streams as one, and one as several."""

from __future__ import annotations

import copy as copies
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

from .._decorator import functional_datapipe
from .._tracking import described
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _check_unpickable_fn

__all__ = ["ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """Streams one behind the other."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(self._source_length(pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One sample of each stream in turn, until the shortest has no more."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*self.datapipes):
            yield from row

    def __len__(self) -> int:
        return min(self._source_length(pipe) for pipe in self.datapipes) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Streams side by side: tuples of their samples, until the shortest has no more."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple]:
        yield from zip(*self.datapipes)

    def __len__(self) -> int:
        return min(self._source_length(pipe) for pipe in self.datapipes)


class _Divided(IterDataPipe):
    """A stream that several `_ChildDataPipe` read; each has a queue of what others have read for it."""

    def __init__(self, datapipe: IterDataPipe, num_instances: int, buffer_size: int, name: str) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warnings.warn(f"Unlimited buffer size is set for `{name}`, please be aware of OOM at random places", UserWarning, stacklevel=4)
        self.reset()

    def reset(self) -> None:
        """Start from the beginning of the stream."""
        self._source: Iterator[Any] | None = None
        self._ended = False
        self._stopped = [True] * self.num_instances
        self._queues: list[deque[Any]] = [deque() for _ in range(self.num_instances)]

    def __getstate__(self) -> Any:
        passing = ("_source", "_ended", "_stopped", "_queues")
        return self._hooked_state({key: value for key, value in self.__dict__.items() if key not in passing})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.reset()

    def _advance(self, instance_id: int) -> None:
        """Read until there is a sample for one of the children.

        Raises:
            StopIteration: there is none.
        """
        raise NotImplementedError

    def samples_of(self, instance_id: int) -> Iterator[Any]:
        """The samples of one child."""
        if self._source is None and self._stopped[instance_id]:
            if not self._ended:
                self._source = iter(self.main_datapipe)
            self._stopped = [False] * self.num_instances
        queue = self._queues[instance_id]
        try:
            while not self._stopped[instance_id]:
                if not queue:
                    try:
                        if self._source is None:
                            raise StopIteration
                        self._advance(instance_id)
                    except StopIteration:
                        self._ended, self._source = True, None
                        self._stopped[instance_id] = True
                        break
                yield self._given(queue.popleft())
        finally:
            self._stopped[instance_id] = True
            if all(self._stopped):
                self._source = None
            while queue:
                StreamWrapper.close_streams(queue.popleft())

    def _given(self, value: Any) -> Any:
        return value

    def is_every_instance_exhausted(self) -> bool:
        """Whether all children have read all."""
        return self._ended and all(self._stopped)


class _ForkerIterDataPipe(_Divided):
    """The stream behind `ForkerIterDataPipe`."""

    def __init__(
        self, datapipe: IterDataPipe, num_instances: int, buffer_size: int = 1000, copy: Literal["shallow", "deep"] | None = None
    ) -> None:
        super().__init__(datapipe, num_instances, buffer_size, "fork")
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self.copy_fn = {"shallow": copies.copy, "deep": copies.deepcopy}.get(copy) if copy else None

    def _given(self, value: Any) -> Any:
        return value if self.copy_fn is None else self.copy_fn(value)

    def _advance(self, instance_id: int) -> None:
        assert self._source is not None
        value = next(self._source)
        for queue in self._queues:
            queue.append(value)
        # what the slowest child has not read, without this one, which the child that asked is about to take
        if self.buffer_size >= 0 and max(len(queue) for queue in self._queues) > self.buffer_size:
            raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")

    def get_length_by_instance(self, instance_id: int) -> int:
        """How many samples a child has."""
        return len(self.main_datapipe)  # type: ignore[arg-type]


class _DemultiplexerIterDataPipe(_Divided):
    """The stream behind `DemultiplexerIterDataPipe`."""

    def __init__(self, datapipe: IterDataPipe, num_instances: int, classifier_fn: Callable, drop_none: bool, buffer_size: int) -> None:
        super().__init__(datapipe, num_instances, buffer_size, "demux")
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def _advance(self, instance_id: int) -> None:
        assert self._source is not None
        while True:
            value = next(self._source)
            number = self.classifier_fn(value)
            if number is None and self.drop_none:
                StreamWrapper.close_streams(value)
                continue
            if number is None or not 0 <= number < self.num_instances:
                raise ValueError(f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {number} is returned.")
            self._queues[number].append(value)
            if number == instance_id:
                return
            if self.buffer_size >= 0 and sum(map(len, self._queues)) > self.buffer_size:
                raise BufferError(f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient.")

    def get_length_by_instance(self, instance_id: int) -> int:
        """Nobody knows before.

        Raises:
            TypeError: always.
        """
        raise TypeError


class _ChildDataPipe(IterDataPipe):
    """One of several readers of a stream.  An iterator of a child that has begun with the others ends theirs, one that catches up does not."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: _Divided, instance_id: int) -> None:
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.samples_of(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)  # type: ignore[attr-defined]

    def _begin_iteration(self) -> int:
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting "
                    "the buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=3,
                )
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return self._valid_iterator_id

    def _is_valid(self, iterator_id: int) -> bool:
        return iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id

    def _invalidated(self) -> str:
        return (
            "This iterator has been invalidated, because a new iterator has been created "
            f"from one of the ChildDataPipes of {described(self.main_datapipe)}."
        )


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A list of pipes that all have the samples of one; the pipe itself if only one is asked for.

    Args:
        buffer_size: how far one may read ahead of the others; -1 for no limit.
        copy: give each a copy of the samples, "shallow" or "deep".
    """

    def __new__(
        cls, datapipe: IterDataPipe, num_instances: int, buffer_size: int = 1000, copy: Literal["shallow", "deep"] | None = None
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if num_instances == 1:
            return datapipe
        main = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(main, number) for number in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A list of pipes among which the samples of one are divided.

    Args:
        classifier_fn: says the number of the pipe a sample goes to.
        drop_none: leave out samples for which it says None.
        buffer_size: how many samples may wait until they are asked for; -1 for no limit.
    """

    def __new__(
        cls,
        datapipe: IterDataPipe,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        _check_unpickable_fn(classifier_fn)
        main = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(main, number) for number in range(num_instances)]
