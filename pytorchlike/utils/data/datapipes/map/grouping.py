"""Samples in batches."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Batches of a number of samples; the last may have fewer.

    Args:
        drop_last: leave out a last batch that is not full.
        wrapper_class: what is made of the list of samples.
    """

    def __init__(self, datapipe: MapDataPipe, batch_size: int, drop_last: bool = False, wrapper_class: type[DataChunk] = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index: Any) -> DataChunk:
        batch: list[Any] = []
        try:
            for place in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[place])
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        full, rest = divmod(self._source_length(self.datapipe), self.batch_size)
        return full + (rest > 0 and not self.drop_last)
