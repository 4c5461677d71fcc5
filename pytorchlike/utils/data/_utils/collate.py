"""Batches out of samples: `default_collate` stacks, `default_convert` only makes tensors of arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ....aten.constructors import as_tensor, tensor
from ....aten.shape import stack
from ....core.dtype import float64
from ....tensors.tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_err_msg_format", "default_collate_fn_map", "default_convert"]

default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
#: Kinds of numpy elements a tensor cannot have: bytes, text, objects.
_NO_NUMBERS = frozenset("SaUO")


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _rebuilt_mapping(like: Mapping, items: dict) -> Any:
    """``items`` in a mapping of the type of ``like`` where that can be made, else in a dict."""
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(items)
            return clone
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _rebuilt_sequence(like: Sequence, items: list) -> Any:
    """``items`` in a sequence of the type of ``like`` where that can be made, else in a list."""
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def default_convert(data: Any) -> Any:
    """Arrays and numpy numbers become tensors, in dicts, tuples and lists too; everything else stays as it is."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        if isinstance(data, np.ndarray) and data.dtype.kind in _NO_NUMBERS:
            return data
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt_mapping(data, {key: default_convert(data[key]) for key in data})
    if _is_namedtuple(data):
        return kind(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]  # torch makes lists of tuples
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt_sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict | None = None) -> Any:
    """A batch of a list of samples, kind by kind.

    Args:
        collate_fn_map: type, or tuple of types -> function of ``(batch, collate_fn_map=...)``.

    Raises:
        RuntimeError: sequences of different lengths.
        TypeError: a kind that cannot be batched.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for types, function in collate_fn_map.items():
            if isinstance(first, types):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _rebuilt_mapping(first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first})
    if _is_namedtuple(first):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _rebuilt_sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Tensors are stacked along a new first dimension."""
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Arrays are stacked along a new first dimension."""
    first = batch[0]
    if first.dtype.kind in _NO_NUMBERS:
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    plain = collate_fn_map is None or collate_fn_map.get(Tensor) is collate_tensor_fn
    if plain and all(array.shape == first.shape and array.dtype == first.dtype for array in batch):
        return as_tensor(np.stack(batch))  # one copy on the host; a tensor of each sample would cost an operator each
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Numpy's numbers keep their dtype."""
    same = all(type(number) is type(batch[0]) for number in batch)
    return as_tensor(np.array(batch) if same else batch)


def collate_float_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Python's floats become float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Python's ints become int64, bools bool."""
    return tensor(batch)


def collate_str_fn(batch: Sequence, *, collate_fn_map: dict | None = None) -> Any:
    """Texts stay a sequence of texts."""
    return batch


default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch of a list of samples: tensors, arrays and numbers are stacked, dicts, tuples and lists part by part."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
