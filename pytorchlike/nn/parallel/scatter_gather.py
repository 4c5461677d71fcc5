"""Batches cut into parts for several devices, and results put together again; both have gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...aten.shape import cat, stack
from ...core.device import as_device
from ...tensors.tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_asdict") and hasattr(value, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """A value for each device, with tensors, also those in lists, tuples and dictionaries, cut along a dimension; other objects are shared."""
    devices = [as_device(d) for d in target_gpus]

    def parts_of(value: Any) -> Any:
        if isinstance(value, Tensor):
            return tuple(part.to(device) for part, device in zip(value.chunk(len(devices), dim), devices))
        if isinstance(value, dict) and value:
            return [type(value)(each) for each in zip(*map(parts_of, value.items()))]
        if isinstance(value, (tuple, list)) and len(value):
            each_device = zip(*map(parts_of, value))
            return [type(value)(*each) if _is_namedtuple(value) else type(value)(each) for each in each_device]
        return [value] * len(devices)

    return parts_of(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments for each device."""
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{} for _ in range(count - len(named))]
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of several devices as one on the target device: tensors one behind the other, scalars as a vector.

    Raises:
        ValueError: dictionaries of different sizes.
    """
    device = as_device("cpu" if target_device == -1 else target_device)

    def whole(results: Sequence[Any]) -> Any:
        first = results[0]
        if isinstance(first, Tensor):
            moved = [r.to(device) for r in results]
            return stack(moved) if first.dim() == 0 else cat(moved, dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(first) != len(r) for r in results):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, whole([r[key] for r in results])) for key in first)
        parts = map(whole, zip(*results, strict=True))
        return type(first)._make(parts) if _is_namedtuple(first) else type(first)(parts)

    return whole(outputs)
