"""Tables that remember what was made, without growing for ever."""

from __future__ import annotations

import itertools
from typing import TypeVar

__all__ = ["remember"]

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
