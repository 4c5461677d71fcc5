"""From Python data to arrays: which shape and dtype ``torch.tensor`` finds in nested sequences, and the elements it takes from them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core import state as settings
from ..core.dtype import BOOL, INTEGRAL, dtype
from ..core.promotion import promote_types
from .convert import host_array
from .tensor import Tensor

__all__ = ["PYTHON_DTYPES", "array_of", "infer_array"]

#: Python's number types where a dtype is expected.
PYTHON_DTYPES = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}

_MAX_DIMS = 128
_OVERFLOW = "Overflow when unpacking long long"
_SLOW_LIST = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single numpy.ndarray with "
    "numpy.array() before converting to a tensor."
)


def infer_array(data: Any, wanted: dtype | None) -> tuple[np.ndarray, dtype]:
    """Nested sequences, numbers or an array as a new numpy array, and its dtype: ``wanted``, or what torch infers.

    Raises:
        ValueError, TypeError, RuntimeError: ragged nesting, elements that are no numbers or do not fit; torch's texts.
    """
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, Tensor):
        found = wanted or data.dtype
        return _cast(host_array(data, "tensor"), found), found
    array = array_of(data)
    if array is not None:
        found = dtypes.from_numpy(array.dtype)
        if array.dtype != found.numpy:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported."
            )
        return _cast(array, wanted or found), wanted or found
    shape = _shape_of(data)
    flat = _flatten(data, shape)
    if flat and type(flat[0]) is np.ndarray:
        flat = [element.item() if element.ndim == 0 else element for element in flat]
    kinds = set(map(type, flat))
    if wanted is None:
        wanted = _inferred(flat, kinds)
    return _filled(flat, kinds, wanted).reshape(shape), wanted


def array_of(data: Any) -> np.ndarray | None:
    """Arrays of any library, and numpy scalars, as numpy arrays; None for everything else."""
    if isinstance(data, (np.ndarray, np.generic)):
        return np.asarray(data)
    if hasattr(data, "__array__") and hasattr(data, "dtype") and not isinstance(data, Tensor):
        return np.asarray(data)
    return None


def _cast(array: np.ndarray, wanted: dtype) -> np.ndarray:
    """A copy in another dtype, as casts between tensors make it."""
    if array.dtype.kind == "c" and not wanted.is_complex:
        array = array != 0 if wanted.category == BOOL else array.real
    with np.errstate(all="ignore"):
        return np.array(array.astype(wanted.numpy))


def _is_sequence(data: Any) -> bool:
    """What C's ``PySequence_Check`` says; a tensor inside a list counts as a number."""
    kind = type(data)
    if kind is list or kind is tuple:
        return True
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not isinstance(data, (dict, Tensor, np.generic))


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while _is_sequence(data) and not (isinstance(data, np.ndarray) and data.ndim == 0):
        if len(shape) == _MAX_DIMS or isinstance(data, str):
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements at the depth of ``shape``, row by row."""
    level = [data]
    for depth, length in enumerate(shape):
        if depth and any(type(row) is np.ndarray for row in level):
            warnings.warn(_SLOW_LIST, UserWarning, stacklevel=4)
        following: list[Any] = []
        for row in level:
            if not _is_sequence(row):
                raise TypeError("not a sequence")
            if len(row) != length:
                raise ValueError(f"expected sequence of length {length} at dim {depth} (got {len(row)})")
            following.extend(row)
        level = following
    return level


def _inferred(flat: list[Any], kinds: set[type]) -> dtype:
    """The promoted dtype of all elements; Python's numbers count as the default dtypes, numpy scalars and tensors as their own.

    Raises:
        RuntimeError: an element has none.
    """
    default = settings.default_dtype()
    if not flat:
        return default
    found: set[dtype] = set()
    for kind in kinds:
        if issubclass(kind, np.generic):
            found.add(dtypes.from_numpy(kind))
        elif issubclass(kind, Tensor):
            found |= {element.dtype for element in flat if type(element) is kind}
        elif issubclass(kind, bool):
            found.add(dtypes.bool_)
        elif issubclass(kind, int):
            found.add(dtypes.int64)
        elif issubclass(kind, float):
            found.add(default)
        elif issubclass(kind, complex):
            found.add(default.to_complex())
        elif kind in (list, tuple):
            found.add(_inferred(*_parts([e for e in flat if type(e) is kind])))
        else:
            raise RuntimeError(f"Could not infer dtype of {kind.__name__}")
    result, *others = found
    for other in others:
        result = promote_types(result, other)
    return result


def _parts(rows: list[Any]) -> tuple[list[Any], set[type]]:
    flat = [element for row in rows for element in row]
    return flat, set(map(type, flat))


def _filled(flat: list[Any], kinds: set[type], wanted: dtype) -> np.ndarray:
    """Elements as an array of a dtype, converted one by one as Python converts numbers.

    Raises:
        TypeError, ValueError, RuntimeError: no number, or one that does not fit.
    """
    integral = wanted.category == INTEGRAL
    if not kinds <= {int, float, bool}:
        flat = [_number(element, integral) for element in flat]
    if wanted.category == BOOL:
        return np.array([bool(v) for v in flat], np.bool_)
    if integral:
        return _integers(flat, wanted)
    if wanted.is_complex:
        return np.array(flat, np.complex128).astype(wanted.numpy)
    if any(isinstance(v, complex) for v in flat):
        raise TypeError("must be real number, not complex")
    with np.errstate(over="ignore"):
        return np.array([float(v) for v in flat] if int in kinds else flat, np.float64).astype(wanted.numpy)


def _number(element: Any, integral: bool) -> Any:
    """A Python number of an element that is something else."""
    if isinstance(element, (bool, int, float, complex)):
        return element
    if isinstance(element, np.generic):
        return element.item()
    if isinstance(element, Tensor):
        if element.numel() != 1:
            if integral:
                raise TypeError("only integer tensors of a single element can be converted to an index")
            raise ValueError("only one element tensors can be converted to Python scalars")
        return element.detach().item()
    if integral:
        if hasattr(type(element), "__index__"):
            return element.__index__()
        raise TypeError(f"'{type(element).__name__}' object cannot be interpreted as an integer")
    if hasattr(type(element), "__float__"):
        return float(element)
    raise TypeError(f"must be real number, not {type(element).__name__}")


def _integers(flat: list[Any], wanted: dtype) -> np.ndarray:
    info = np.iinfo(wanted.numpy)
    try:
        whole = [v if type(v) is int else int(v) for v in flat]
    except (OverflowError, ValueError):  # an infinity, a NaN
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow") from None
    if not whole:
        return np.zeros(0, wanted.numpy)
    smallest, largest = min(whole), max(whole)
    if smallest < -(2**63) or largest >= (2**64 if wanted is dtypes.uint64 else 2**63):
        raise ValueError(_OVERFLOW)
    lowest = info.min if wanted.is_signed else -info.max  # negative numbers wrap around in unsigned dtypes
    if smallest < lowest or largest > info.max:
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow")
    if smallest < 0 and not wanted.is_signed:
        return np.array([v % (info.max + 1) for v in whole], wanted.numpy)
    return np.array(whole, wanted.numpy)
