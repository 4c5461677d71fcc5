"""Streams in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...sampler import Sampler, SequentialSampler, draw_seed
from .._decorator import functional_datapipe
from .._shared import Shuffled
from ..datapipe import IterDataPipe

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe):
    """What a sampler yields.

    Args:
        sampler: its class, made with the pipe as ``data_source``.
    """

    def __init__(
        self,
        datapipe: IterDataPipe,
        sampler: type[Sampler] = SequentialSampler,
        sampler_args: tuple | None = None,
        sampler_kwargs: dict | None = None,
    ) -> None:
        if not hasattr(type(datapipe), "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return self._source_length(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffled):
    """Samples in random order, as far as a buffer allows.

    Args:
        buffer_size: how many samples wait; one of them goes whenever another comes.
        unbatch_level: how many levels of batches are taken apart first.
    """

    def __init__(self, datapipe: IterDataPipe, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self._buffer: list[Any] = []
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        for item in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(item)
                continue
            place = self._rng.randint(0, len(self._buffer) - 1)
            chosen, self._buffer[place] = self._buffer[place], item
            yield chosen
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return self._source_length(self.datapipe)

    def reset(self) -> None:
        """Empty the buffer and seed the order."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(draw_seed() if self._seed is None else self._seed)
            self._seed = None
