"""Turning "a number or one for each dimension" into tuples."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple_of(count: int, value: Any) -> tuple:
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


_single = functools.partial(_ntuple_of, 1)
_pair = functools.partial(_ntuple_of, 2)
_triple = functools.partial(_ntuple_of, 3)
_quadruple = functools.partial(_ntuple_of, 4)


def _ntuple(count: int, name: str = "parse") -> Any:
    made = functools.partial(_ntuple_of, count)
    made.__name__ = name  # type: ignore[attr-defined]
    return made


def _reverse_repeat_tuple(values: tuple, count: int) -> tuple:
    """Each item ``count`` times, last item first: the order in which ``pad`` wants a convolution's padding."""
    return tuple(value for value in reversed(values) for _ in range(count))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [default if value is None else value for value, default in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict: dict, prefix: str) -> None:
    """Strip a prefix from the keys (and the metadata) of a state dictionary, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # The module that was wrapped has the prefix without its dot.
        if key == prefix.replace(".", "") or key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
