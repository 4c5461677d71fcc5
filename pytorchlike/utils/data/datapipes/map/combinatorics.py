"""Samples in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...sampler import draw_seed
from .._shared import Shuffled
from ..datapipe import MapDataPipe

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(Shuffled):
    """The samples of a pipe by key as a stream, in random order.

    Args:
        indices: the keys, if they are not the numbers from 0 on.
    """

    def __init__(self, datapipe: MapDataPipe, *, indices: list | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices  # type: ignore[arg-type]
        self._shuffled_indices = self.indices

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
        while self._enabled and self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Draw the order of the next pass."""
        if self._enabled and self._seed is None:
            self._seed = draw_seed()
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
