"""What steps of streams and of pipes by key have in common."""

from __future__ import annotations

import random
from typing import Any, TypeVar

from .datapipe import DataChunk, IterDataPipe

__all__ = ["Batches", "Shuffled"]

S = TypeVar("S", bound="Shuffled")


class Batches:
    """Batches of a number of samples; the last may have fewer.

    Args:
        drop_last: leave out a last batch that is not full.
        wrapper_class: what is made of the list of samples.
    """

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: type[DataChunk] = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        full, rest = divmod(self._source_length(self.datapipe), self.batch_size)  # type: ignore[attr-defined]
        return full + (rest > 0 and not self.drop_last)


class Shuffled(IterDataPipe):
    """A stream in random order, which can be turned off."""

    def __init__(self) -> None:
        super().__init__()
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self: S, shuffle: bool = True) -> S:
        """Turn the shuffling on or off; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self: S, seed: int) -> S:
        """Seed the next pass; returns the pipe."""
        self._seed = seed
        return self
