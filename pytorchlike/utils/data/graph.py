"""The graph of the pipes that a pipe reads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe = IterDataPipe | MapDataPipe
#: Number of a pipe -> the pipe and the graph of those that it reads.
DataPipeGraph = dict[int, tuple[DataPipe, "DataPipeGraph"]]


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """The pipes among a pipe's attributes and the collections there, those of these, and so on.

    Raises:
        RuntimeError: not a pipe.
    """
    return _graph(datapipe, frozenset(), False)


def traverse(datapipe: DataPipe, only_datapipe: bool | None = None) -> DataPipeGraph:
    """The old name of `traverse_dps`.

    Args:
        only_datapipe: False looks into other objects, too.
    """
    message = "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
    if not only_datapipe:
        message += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(message, FutureWarning, stacklevel=2)
    return _graph(datapipe, frozenset(), not only_datapipe)


def _graph(pipe: DataPipe, above: frozenset[int], everywhere: bool) -> DataPipeGraph:
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    above = above | {id(pipe)}
    found: DataPipeGraph = {}
    for read in _pipes_in(vars(pipe), set(), everywhere):
        if id(read) not in above:
            found.update(_graph(read, above, everywhere))
    return {id(pipe): (pipe, found)}


def _pipes_in(value: Any, seen: set[int], everywhere: bool) -> Iterator[DataPipe]:
    """The pipes in a value, without those behind them."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _pipes_in(item, seen, everywhere)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _pipes_in(item, seen, everywhere)
    elif everywhere and hasattr(value, "__dict__") and not isinstance(value, type):
        yield from _pipes_in(vars(value), seen, everywhere)
