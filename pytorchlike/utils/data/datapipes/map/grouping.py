"""Samples in batches."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from .._shared import Batches
from ..datapipe import DataChunk, MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(Batches, MapDataPipe):
    """Batches of a number of samples (`Batches`)."""

    def __getitem__(self, index: Any) -> DataChunk:
        batch: list[Any] = []
        try:
            for place in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[place])
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)
