"""What a guard compares by value and what by identity, and what containers hold, whatever their classes make of it."""

from __future__ import annotations

import enum
import operator
import struct
from collections import OrderedDict, deque
from typing import Any

import numpy as np

from ..core.device import device
from ..core.dtype import dtype
from ..core.layouts import layout, memory_format
from ..core.size import Size
from ..core.typeinfo import finfo, iinfo

__all__ = ["CONTAINERS", "LARGEST_CONTAINER", "MISSING", "base_of", "copied", "is_alike", "is_equal", "is_same_table", "is_simple", "members"]

MISSING: Any = type("_Missing", (), {"__repr__": lambda self: "<missing>"})()

#: Types of values that are compared, not held; objects of the user's classes that derive from them have attributes and methods of their own.
_SIMPLE = frozenset({
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), dtype, device, Size, layout, memory_format, slice, range, finfo, iinfo,
})  # fmt: skip
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
_BASES = frozenset({OrderedDict, *CONTAINERS})

#: A container with more entries than this is a table: it is compared with a copy, if what it holds is numbers and strings.
LARGEST_CONTAINER = 2048


def is_simple(value: Any) -> bool:
    """Whether a value is compared with what it was, rather than held."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(map(is_simple, value))
    if kind is slice:
        return is_simple((value.start, value.stop, value.step))
    return kind in _SIMPLE or isinstance(value, np.generic) and not isinstance(value, (enum.Enum, np.object_))


def is_equal(new: Any, old: Any) -> bool:
    """Whether a simple value is what it was: of the same types, and equal to the last bit (NaN equals NaN, 0.0 is not -0.0)."""
    kind = type(old)
    if type(new) is not kind:
        return False
    if kind is float:
        return struct.pack("d", new) == struct.pack("d", old) or new != new and old != old
    if isinstance(old, (tuple, frozenset)):
        return len(new) == len(old) and all(map(is_equal, new, old))  # the order of a set's members can be seen
    if kind is complex:
        return is_equal((new.real, new.imag), (old.real, old.imag))
    if kind is slice or kind is range:
        return is_equal((new.start, new.stop, new.step), (old.start, old.stop, old.step))
    if isinstance(old, np.generic):
        return new.dtype == old.dtype and new.tobytes() == old.tobytes()
    return bool(new == old)


def is_same_table(new: Any, old: Any) -> bool:
    """Whether a large container of numbers and strings is what it was."""
    if len(new) != len(old):
        return False
    if isinstance(new, dict):
        return is_same_table(list(new), list(old)) and is_same_table(list(new.values()), list(old.values()))
    return all(map(operator.is_, new, old)) or all(map(is_equal, new, old))


def is_alike(new: Any, old: Any) -> bool:
    """Whether a number that each replay reads anew may take the place of another: the same type, and zero where it was zero."""
    if type(new) is tuple and type(old) is tuple:
        return len(new) == len(old) and all(map(is_alike, new, old))
    return type(new) is type(old) and bool(new) == bool(old)


def base_of(container: Any) -> Any:
    """The class of Python's that a container's class is or derives from: its methods look at what is there, the user's do what they like."""
    return next(cls for cls in type(container).__mro__ if cls in _BASES)


def members(container: Any) -> list[Any]:
    """What iterating over a container gives; of a dictionary the keys."""
    return list(base_of(container).__iter__(container))


def copied(container: Any) -> Any:
    """The entries of a container, as a dictionary or a list."""
    return {key: dict.__getitem__(container, key) for key in members(container)} if isinstance(container, dict) else members(container)
