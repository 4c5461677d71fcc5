"""Samples in batches, by number or by key, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from .._shared import Batches
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(Batches, IterDataPipe):
    """Batches of a number of samples (`Batches`)."""

    def __iter__(self) -> Iterator[DataChunk]:
        batch: list[Any] = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches.

    Args:
        unbatch_level: how many levels are taken apart, -1 for all.
    """

    def __init__(self, datapipe: IterDataPipe, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._dive(element, unbatch_level=self.unbatch_level)

    def _dive(self, element: Any, unbatch_level: int) -> Iterator[Any]:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if unbatch_level == 0 or (unbatch_level == -1 and not isinstance(element, list)):
            yield element
        elif isinstance(element, list):
            for item in element:
                yield from self._dive(item, max(unbatch_level - 1, -1))
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Samples that have a key in common.

    Args:
        keep_key: give ``(key, samples)``.
        buffer_size: how many samples wait; with one more the largest group goes.
        group_size: groups of this size go at once.
        guaranteed_group_size: the least size of a group that goes because the buffer is full.
        drop_remaining: forget smaller ones instead of raising an error.
    """

    def __init__(
        self, datapipe: IterDataPipe, group_key_fn: Callable[[Any], Any], *, keep_key: bool = False, buffer_size: int = 10000,
        group_size: int | None = None, guaranteed_group_size: int | None = None, drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        _check_unpickable_fn(group_key_fn)
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        if group_size is not None and buffer_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk
        self.reset()

    def _largest(self) -> list[Any] | None:
        """Take the largest group out of the buffer; None if it is too small and dropped."""
        key = max(self.buffer_elements, key=lambda each: len(self.buffer_elements[each]))
        group, least = self.buffer_elements[key], self.guaranteed_group_size
        enough = least is None or len(group) >= least
        if not enough and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(group))
        del self.buffer_elements[key]
        self.curr_buffer_size -= len(group)
        return group if enough else None

    def _given(self, key: Any, group: list[Any]) -> Any:
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            key = self.group_key_fn(item)
            self.buffer_elements[key].append(item)
            self.curr_buffer_size += 1
            if self.group_size is not None and self.group_size == len(self.buffer_elements[key]):
                yield self._given(key, self.buffer_elements[key])
                self.curr_buffer_size -= len(self.buffer_elements.pop(key))
            if self.curr_buffer_size == self.max_buffer_size:
                group = self._largest()
                if group is not None:
                    yield self._given(key, group)  # with the key of the sample that came, as in torch
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements.pop(key)
            self.curr_buffer_size -= len(group)
            yield self._given(key, group)

    def reset(self) -> None:
        """Empty the buffer."""
        self.curr_buffer_size = 0
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
