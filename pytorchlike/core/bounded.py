"""Tables that remember what was made, without growing for ever, and keys that tell numbers apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = ["are_same", "kind_of", "remember"]

Key = TypeVar("Key")
Made = TypeVar("Made")


def remember(table: dict[Key, Made], key: Key, made: Made, most: int) -> Made:
    """Enter something into a table that may have so many entries; a full one forgets the older half (programs whose sizes keep changing
    make new entries all the time)."""
    if len(table) >= most:
        for old in list(itertools.islice(table, most // 2)):
            table.pop(old, None)
    table[key] = made
    return made


def are_same(numbers: Sequence[float], others: Sequence[float]) -> bool:
    """Whether floats are equal, and their zeros of the same signs."""
    return numbers == others and (0.0 not in numbers or _signs(numbers) == _signs(others))


def _signs(numbers: Sequence[float]) -> list[float]:
    return list(map(math.copysign, itertools.repeat(1.0), numbers))


def kind_of(value: Any) -> Any:
    """What a key has beside a value, since equal ones may mean other things: its type (``1`` is ``True``), and the signs of zeros (``0.0`` is ``-0.0``)."""
    kind = value.__class__
    if kind is float:
        return kind if value else (kind, math.copysign(1.0, value))
    if kind is complex:
        return kind if value.real and value.imag else (kind, kind_of(value.real), kind_of(value.imag))
    return tuple(map(kind_of, value)) if kind is tuple else kind
