"""``torch.distributed.tensor``: how a tensor lies on a mesh.  There are no tensors in several processes; code that asks whether it has one gets the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .device_mesh import DeviceMesh

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]


class Placement:
    """Where the elements of a tensor are along a dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part of them, along a dimension."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether each process has all of them."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether they are to be added up."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part, along a dimension of the tensor."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, repr=False)
class Replicate(Placement):
    """Each process has all."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """All processes' tensors are to be combined."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


class DTensor(Tensor):
    """A tensor in several processes; none is ever made.

    Raises:
        NotImplementedError: always, when it is made.
    """

    def __new__(cls, *_: Any, **__: Any) -> NoReturn:  # type: ignore[misc]
        raise NotImplementedError("torch.distributed.tensor.DTensor: tensors in several processes are not supported")


def distribute_tensor(tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, **_: Any) -> NoReturn:
    """A tensor spread over a mesh.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.distributed.tensor.distribute_tensor: tensors in several processes are not supported")


def distribute_module(module: Module, device_mesh: DeviceMesh | None = None, *_: Any, **__: Any) -> NoReturn:
    """A module whose parameters are spread over a mesh.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("torch.distributed.tensor.distribute_module: tensors in several processes are not supported")
