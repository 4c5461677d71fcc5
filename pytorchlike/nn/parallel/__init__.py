"""``torch.nn.parallel``: one process, several devices."""

import importlib.util

from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


def __getattr__(name: str) -> object:
    if name == "DistributedDataParallel" and importlib.util.find_spec(f"{__name__}.distributed"):
        return importlib.import_module(f"{__name__}.distributed").DistributedDataParallel
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute '{name}' (torch.nn.parallel.{name} is not in pytorchlike yet)")
