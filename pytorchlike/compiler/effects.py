"""What a call changed in the dictionaries, lists and sets that it could reach, and in numpy's random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .values import MISSING, copied, is_equal, is_simple, members

__all__ = ["differences", "is_same", "numpy_state"]


def differences(container: dict, before: dict, where: str) -> Iterator[tuple[dict, Any, Any, str]]:
    """What makes a dictionary what it is now: (dictionary, key, value or MISSING, where), in this order; entries that moved are taken out first."""
    after = copied(container)
    expected = [key for key in before if key in after] + [key for key in after if key not in before]
    first = next((k for k, (mine, key) in enumerate(zip(after, expected, strict=True)) if mine is not key), len(expected))
    moved = set(map(id, expected[first:]))
    for key in before:
        if key not in after or id(key) in moved:
            yield container, key, MISSING, where
    for k, (key, value) in enumerate(after.items()):
        old = before.get(key, MISSING)
        if k >= first or old is not value and not (is_simple(value) and is_equal(value, old)):
            yield container, key, value, where


def is_same(container: Any, before: list) -> bool:
    """Whether a list, tuple, deque or set holds what it held, in the same order."""
    after = members(container)
    return len(after) == len(before) and all(a is b for a, b in zip(after, before, strict=True))


def numpy_state() -> Any:
    """The state of the generator that numpy's functions share."""
    state: Any = np.random.get_state(legacy=False)
    return np.append(state["state"]["key"], (state["state"]["pos"], state["has_gauss"]))
