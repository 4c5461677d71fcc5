"""Several pipes as one."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


def _check(pipes: tuple) -> None:
    if not pipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, MapDataPipe) for pipe in pipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(hasattr(type(pipe), "__len__") for pipe in pipes):
        raise TypeError("Expected all inputs to be `Sized`")


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """Pipes one behind the other, with the numbers from 0 on as keys."""

    def __init__(self, *datapipes: MapDataPipe) -> None:
        _check(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        rest = index
        for pipe in self.datapipes:
            if rest < len(pipe):  # type: ignore[arg-type]
                return pipe[rest]
            rest -= len(pipe)  # type: ignore[arg-type]
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)  # type: ignore[misc, arg-type]


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Pipes side by side: tuples of their samples."""

    def __init__(self, *datapipes: MapDataPipe) -> None:
        _check(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> tuple:
        found = []
        for pipe in self.datapipes:
            try:
                found.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error
        return tuple(found)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)  # type: ignore[arg-type]
