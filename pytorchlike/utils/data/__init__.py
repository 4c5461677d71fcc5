"""``torch.utils.data``: datasets, samplers and the loader that makes batches of them."""

from typing import Any

from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader, _DatasetKind
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .prefetch import prefetch_to_device
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset", "RandomSampler", "Sampler",
    "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "_DatasetKind", "default_collate",
    "default_convert", "get_worker_info", "prefetch_to_device", "random_split",
]  # fmt: skip

_DATA_PIPES = frozenset({
    "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation", "datapipes", "functional_datapipe", "graph", "graph_settings",
    "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation", "runtime_validation_disabled",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _DATA_PIPES:
        raise AttributeError(f"torch.utils.data.{name}: data pipes are not in pytorchlike; use Dataset, IterableDataset and functions of batches")
    raise AttributeError(f"module 'torch.utils.data' has no attribute '{name}'")
