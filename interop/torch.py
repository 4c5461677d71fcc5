"""Between pytorchlike and real torch, which has to be installed: tensors both ways, sharing memory on the CPU."""

from __future__ import annotations

import torch

from pytorchlike.core import dtype as dtypes
from pytorchlike.tensors.convert import from_numpy
from pytorchlike.tensors.tensor import Tensor

__all__ = ["from_torch", "to_torch"]


def from_torch(tensor: torch.Tensor) -> Tensor:
    """A pytorchlike tensor of a CPU tensor of torch; shares the memory (bfloat16 is copied)."""
    tensor = tensor.detach().cpu()
    if tensor.dtype is torch.bfloat16:
        return from_numpy(tensor.float().numpy()).to(dtypes.bfloat16)
    return from_numpy(tensor.numpy())


def to_torch(tensor: Tensor) -> torch.Tensor:
    """A torch tensor of a pytorchlike tensor; shares the memory on the CPU (bfloat16 is copied)."""
    tensor = tensor.detach().cpu()
    if tensor.dtype is dtypes.bfloat16:
        return torch.from_numpy(tensor.float().numpy()).bfloat16()
    return torch.from_numpy(tensor.numpy())
