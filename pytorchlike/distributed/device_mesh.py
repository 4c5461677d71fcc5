"""``torch.distributed.device_mesh``: the processes as a grid; of one process, which is all of them."""

from __future__ import annotations

import math
from typing import Any

from ..aten.constructors import tensor as _tensor
from ..core.dtype import int32
from ..core.process_groups import ProcessGroup, default_group
from ..tensors.tensor import Tensor
from .group import init_process_group, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of processes whose dimensions may have names.

    Args:
        device_type: such as "cpu".
        mesh: the processes' numbers, as a tensor or nested lists.
        mesh_dim_names: of each dimension.

    Raises:
        RuntimeError: there are more processes in the mesh than one.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None, **_: Any) -> None:
        self.device_type = device_type
        self.mesh: Tensor = mesh if isinstance(mesh, Tensor) else _tensor(mesh, dtype=int32)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names is not None else None
        if self.mesh.numel() > 1:
            raise RuntimeError(f"Mesh should not be bigger than default world size 1, but found {self.mesh.numel()} ranks!")
        if not is_initialized():
            init_process_group(rank=0, world_size=1, store=object())
        self._group = default_group()

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_rank(self) -> int:
        """The number of this process."""
        return 0

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this process along a dimension."""
        return 0

    def get_coordinate(self) -> tuple[int, ...]:
        """Where this process stands."""
        return (0,) * self.ndim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The processes along a dimension."""
        return self._group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group of each dimension."""
        return [self._group] * self.ndim

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        known = list(self.mesh_dim_names or ())
        if not known:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if not set(names) <= set(known):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {known}.")
        return DeviceMesh(self.device_type, self.mesh.reshape([1] * len(names)), mesh_dim_names=names)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names or (), self.shape, strict=False))
        return f"DeviceMesh({f'({sizes})' if sizes else self.shape}, {self.device_type!r})"


def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, **_: Any) -> DeviceMesh:
    """A mesh of all processes; the default group is made if there is none.

    Args:
        mesh_shape: the length of each dimension.

    Raises:
        RuntimeError: names that are not unique or not one for each dimension; more than one process.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                f"mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if math.prod(mesh_shape) > 1:
        raise RuntimeError(f"Mesh should not be bigger than default world size 1, but found {math.prod(mesh_shape)} ranks!")
    return DeviceMesh(device_type, _tensor([0], dtype=int32).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
