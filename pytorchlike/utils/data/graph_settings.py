"""Settings of all pipes of a graph: shuffling, seeds, and which part of the samples a process takes."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .graph import DataPipe, DataPipeGraph, traverse_dps
from .sampler import draw_seed

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[DataPipe]:
    """The pipes of a graph, each once."""
    found: dict[int, DataPipe] = {}

    def walk(part: DataPipeGraph) -> None:
        for number, (pipe, below) in part.items():
            if number not in found:
                found[number] = pipe
                walk(below)

    walk(graph)
    return list(found.values())


def _has(pipe: DataPipe, *names: str) -> bool:
    """Whether these are methods of a pipe."""
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(
    datapipe: DataPipe, num_of_instances: int, instance_id: int, sharding_group: Any = SHARDING_PRIORITIES.DEFAULT
) -> DataPipe:
    """Let all ``sharding_filter`` of a graph take the part of one process.

    Raises:
        RuntimeError: there are two, one behind the other.
    """

    def walk(graph: DataPipeGraph, before: Any = None) -> None:
        for pipe, below in graph.values():
            applied = before
            if isinstance(pipe, _ShardingIterDataPipe) or _has(pipe, "apply_sharding"):
                if before is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {before} while trying to apply to {pipe}"
                    )
                with_group = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                pipe.apply_sharding(num_of_instances, instance_id, **({"sharding_group": sharding_group} if with_group else {}))
                applied = pipe
            walk(below, applied)

    walk(traverse_dps(datapipe))
    return datapipe


def apply_shuffle_settings(datapipe: DataPipe, shuffle: bool | None = None) -> DataPipe:
    """Turn the shuffling of a graph on or off; None leaves it.  A graph without a shuffler gets one, with a warning."""
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _has(pipe, "set_shuffle", "set_seed")]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """The old name of `apply_random_seed`."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """Seed the pipes of a graph that have a ``set_seed``, each with a number that a generator draws."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has(pipe, "set_seed"):
            pipe.set_seed(draw_seed(rng))
    return datapipe
