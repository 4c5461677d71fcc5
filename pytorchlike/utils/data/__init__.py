"""``torch.utils.data``: datasets, samplers and the loader that makes batches of them."""

from typing import Any

from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader, _DatasetKind
from .datapipes._decorator import functional_datapipe, guaranteed_datapipes_determinism, non_deterministic
from .datapipes.datapipe import DataChunk, IterDataPipe, MapDataPipe
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .prefetch import prefetch_to_device
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataChunk", "DataLoader", "Dataset", "DistributedSampler", "IterDataPipe", "IterableDataset",
    "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "functional_datapipe", "get_worker_info",
    "guaranteed_datapipes_determinism", "non_deterministic", "prefetch_to_device", "random_split",
]  # fmt: skip

_WITHOUT = {
    "DFIterDataPipe": "pipes of data frames are", "argument_validation": "validation of pipes at run time is",
    "runtime_validation": "validation of pipes at run time is", "runtime_validation_disabled": "validation of pipes at run time is",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _WITHOUT:
        raise AttributeError(f"torch.utils.data.{name}: {_WITHOUT[name]} not in pytorchlike")
    raise AttributeError(f"module 'torch.utils.data' has no attribute '{name}'")
