"""How the samples of a batch are got from a dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....aten.constructors import tensor as make_tensor
from ..dataset import Subset, TensorDataset
from .collate import default_collate

__all__: list[str] = []


def _stacked(dataset: Any, indices: list[int]) -> list | None:
    """The batch of a `TensorDataset`, or of a subset of one, by one look-up a tensor; None for other datasets.

    It is what collating the samples gives, without two operators a sample.
    """
    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or not indices or any(type(i) is not int for i in indices):
        return None
    where = make_tensor(indices)
    return [tensor[where] for tensor in dataset.tensors]


class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Samples by index."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.collate_fn is default_collate and isinstance(possibly_batched_index, list):
            batch = _stacked(self.dataset, possibly_batched_index)
            if batch is not None:
                return batch
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(possibly_batched_index))
        return self.collate_fn([self.dataset[index] for index in possibly_batched_index])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Samples in the order they come."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = []
        for _ in possibly_batched_index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(data)


def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> Any:
    """The fetcher of a kind of dataset: 0 for samples by index, 1 for a stream."""
    fetcher = _IterableDatasetFetcher if kind else _MapDatasetFetcher
    return fetcher(dataset, auto_collation, collate_fn, drop_last)
