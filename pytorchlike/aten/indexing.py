"""``x[...]`` and ``x[...] = y``: ints, slices, None and Ellipsis are views; tensors, lists and masks are the ``index`` operators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dtype import bool_, uint8
from ..core.promotion import scalar_type_name
from ..dispatch import overrides
from ..dispatch.batching import batch_of
from ..dispatch.call import general_inplace, host_tensor
from ..dispatch.registry import Form, lookup, view
from ..dispatch.view import call_view
from ..tensors import geometry as geometries
from ..tensors.construct import infer_array
from ..tensors.geometry import Geometry
from ..tensors.tensor import PLAIN_TYPES, Tensor, tensor_method
from .create import require_fits

__all__: list[str] = []

# A basic index is a tuple of parts: an int, None, or ("slice", start, stop, step); one for each dimension from the first on.


def _basic(at: Geometry, parts: tuple[Any, ...]) -> Geometry:
    dim = 0
    for number, part in enumerate(parts):
        if part is None:
            at = geometries.unsqueeze(at, dim)
            dim += 1
        elif isinstance(part, tuple):
            if part != _EVERYTHING:
                at = geometries.slice(at, dim, part[1], part[2], part[3])
            dim += 1
        else:
            size = at.size[dim]
            if not -size <= part < size:
                raise IndexError(f"index {part} is out of bounds for dimension {number} with size {size}")
            at = geometries.select(at, dim, part)
    return at


_EVERYTHING = ("slice", None, None, 1)


def _declare(name: str) -> Any:
    def body(self, parts):
        """A basic index; named after its last part, as torch's chain of views is."""
        return _basic(self, parts)

    return view(f"{name}.basic(Tensor(a) self, int[] parts) -> Tensor(a)", forms=Form(0), namespaces=())(body)


_SELECT, _SLICE, _UNSQUEEZE, _ALIAS = (_declare(name) for name in ("select", "slice", "unsqueeze", "alias"))


def _basic_view(tensor: Tensor, parts: tuple[Any, ...]) -> Tensor:
    for part in reversed(parts):
        if part != _EVERYTHING:
            operator = _SLICE if isinstance(part, tuple) else _UNSQUEEZE if part is None else _SELECT
            return call_view(operator, tensor, (parts,))
    return call_view(_ALIAS, tensor, (parts,))


# ---------------------------------------------------------------------------------------------------------------- parsing
_NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use x[tuple(seq)] instead of "
    "x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error or a different "
    "result"
)
_BYTE_MASK = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
#: A sequence of this many items or more is never taken for a tuple.
_LONGEST_TUPLE = 32


def _is_sequence(item: Any) -> bool:
    return isinstance(item, (list, tuple, str, range, np.ndarray)) or isinstance(item, Sequence)


def _as_items(index: Any) -> list[Any]:
    """The items of an index; a list that holds slices, tensors or sequences counts as a tuple, as it did in old numpy."""
    if type(index) is tuple:
        return list(index)
    if isinstance(index, (Tensor, np.ndarray)) or not _is_sequence(index) or len(index) >= _LONGEST_TUPLE:
        return [index]
    if any(i is None or i is Ellipsis or isinstance(i, (slice, Tensor)) or _is_sequence(i) for i in index):
        if not isinstance(index, tuple):
            warnings.warn(_NOT_A_TUPLE, UserWarning, stacklevel=5)
        return list(index)
    return [index]


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tensor) and item.dtype in (bool_, uint8)


def _consumed(item: Any) -> int:
    """How many dimensions of the tensor an item uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.ndim if _is_mask(item) else 1


def _bound(value: Any) -> int | None:
    """A slice's start, stop or step.

    Raises:
        TypeError: no integer.
    """
    if value is None or type(value) is int:
        return value
    if not hasattr(type(value), "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return value.__index__()


def _item(item: Any) -> Any:
    """An item in canonical form: int, None, Ellipsis, bool, a slice's tuple, or a tensor.

    Raises:
        IndexError, TypeError, ValueError: something that does not index, torch's texts.
    """
    if item is None or item is Ellipsis or isinstance(item, (bool, int)):
        return item
    if isinstance(item, slice):
        step = _bound(item.step)
        if step is not None and step <= 0:
            raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
        return ("slice", _bound(item.start), _bound(item.stop), 1 if step is None else step)
    if isinstance(item, Tensor):
        if item.dtype.is_floating_point or item.dtype.is_complex:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if item.dtype is uint8:
            warnings.warn(_BYTE_MASK, UserWarning, stacklevel=6)
        return item
    if isinstance(item, np.integer):
        return int(item)
    if _is_sequence(item):
        array, _ = infer_array(item, None)
        if array.size == 0 and array.dtype.kind == "f":
            array = array.astype(np.int64)
        return _item(host_tensor(array))
    if hasattr(type(item), "__index__") and not isinstance(item, np.bool_):
        return item.__index__()
    kind = type(item)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    raise IndexError(f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {name})")


def _parse(tensor: Tensor, index: Any) -> tuple[tuple[Any, ...], list[Any] | None]:
    """``(basic parts, advanced)``: the view to take first, then for each dimension of it an index tensor or None (no list: none at all)."""
    items = [_item(i) for i in _as_items(index)]
    ellipses = sum(i is Ellipsis for i in items)
    used = sum(_consumed(i) for i in items)
    if used > tensor.ndim:
        if tensor.ndim == 0 and any(isinstance(i, tuple) for i in items):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {tensor.ndim}")
    fill = [_EVERYTHING] * (tensor.ndim - used)
    expanded: list[Any] = []
    for item in items:
        if item is Ellipsis:
            expanded += fill
            fill = []
        else:
            expanded.append(item)
    if ellipses == 0:
        expanded += fill
    if not any(isinstance(i, bool) or isinstance(i, Tensor) and (i.ndim or _is_mask(i) or batch_of(i) is not None) for i in expanded):
        return tuple([int(i) if isinstance(i, Tensor) else i for i in expanded]), None
    parts: list[Any] = []
    advanced: list[Any] = []
    for item in expanded:
        if isinstance(item, bool) or _is_mask(item) and item.ndim == 0:
            parts.append(None)
            advanced.append(host_tensor(np.zeros(1 if item else 0, np.int64)))
        elif isinstance(item, Tensor):
            if _is_mask(item):
                advanced += _mask_to_indices(tensor, item, _dimension_at(tensor, parts))
                parts += [_EVERYTHING] * item.ndim
            else:
                parts.append(_EVERYTHING)
                advanced.append(item)
        else:
            parts.append(item)
            if not isinstance(item, int):
                advanced.append(None)
    return tuple(parts), advanced


def _dimension_at(tensor: Tensor, parts: list[Any]) -> int:
    return sum(1 for p in parts if p is not None)


def _mask_to_indices(tensor: Tensor, mask: Tensor, dimension: int) -> list[Tensor]:
    """A mask as one index tensor for each of its dimensions (this needs the mask's numbers)."""
    if batch_of(mask) is not None:
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask."
        )
    for d in range(mask.ndim):
        if mask.shape[d] != tensor.shape[dimension + d]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {d} does not match the shape of the indexed tensor {list(tensor.shape)} at "
                f"index {dimension + d}"
            )
    return list(lookup("nonzero")(mask).unbind(1))


# ---------------------------------------------------------------------------------------------------------------- reading and writing
@tensor_method
def __getitem__(self: Tensor, index: Any) -> Any:
    if self.__class__ not in PLAIN_TYPES and overrides.wanted((self,)):
        return overrides.hand_over(Tensor.__getitem__, (self, index), {})
    if index.__class__ is int:
        if self._storage is None and not self._value.aval.size or self._storage is not None and not self._geometry.size:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            )
        return call_view(_SELECT, self, ((index,),))
    parts, advanced = _parse(self, index)
    if advanced is None:
        return _basic_view(self, parts)
    source = self if all(p == _EVERYTHING for p in parts) else _basic_view(self, parts)
    return lookup("index.Tensor")(source, _trim(advanced))


def _trim(advanced: list[Any]) -> list[Any]:
    while advanced and advanced[-1] is None:
        advanced = advanced[:-1]
    return advanced


@tensor_method
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    if self.__class__ not in PLAIN_TYPES and overrides.wanted((self,)):
        overrides.hand_over(Tensor.__setitem__, (self, index, value), {})
        return
    if not isinstance(value, Tensor):
        _check_number(self, value)
        if isinstance(index, Tensor) and index.dtype is bool_ and index.shape == self.shape and index.ndim:
            self.masked_fill_(index, value)
            return
    parts, advanced = _parse(self, index)
    if advanced is None:
        target = _basic_view(self, parts)
        if isinstance(value, Tensor):
            _copy_into(target, value)
        else:
            target.fill_(value)
        return
    target = self if all(p == _EVERYTHING for p in parts) else _basic_view(self, parts)
    if not isinstance(value, Tensor):
        array, found = infer_array(value, self.dtype)
        value = host_tensor(array, found, self.device)
    elif value.dtype is not self.dtype:
        if value.numel() != 1 or not all(isinstance(i, (bool, tuple)) or i is None or i is Ellipsis or _is_mask(i) for i in map(_item, _as_items(index))):
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {scalar_type_name(self.dtype)} for the destination and "
                f"{scalar_type_name(value.dtype)} for the source."
            )
        value = value.to(self.dtype)
    if value.device != self.device:
        value = value.to(self.device)
    general_inplace(lookup("index_put"), (target, _trim(advanced), value, False))


def _check_number(tensor: Tensor, value: Any) -> None:
    """Refuse what is no number, and numbers that the tensor's dtype cannot hold."""
    if isinstance(value, np.integer):
        value = int(value)
    if not isinstance(value, (int, float, complex)):
        kind = type(value)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"can't assign a {name} to a {tensor.type()}")
    require_fits(value, tensor.dtype)


def _copy_into(target: Tensor, value: Tensor) -> None:
    while value.ndim > target.ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    if value.ndim > target.ndim:
        raise RuntimeError(
            f"expand({value.type()}{{{list(value.shape)}}}, size={list(target.shape)}): the number of sizes provided ({target.ndim}) must be "
            f"greater or equal to the number of dimensions in the tensor ({value.ndim})"
        )
    for d in range(1, value.ndim + 1):
        wanted, own = target.shape[-d], value.shape[-d]
        if own not in (1, wanted):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted}) must match the existing size ({own}) at non-singleton dimension "
                f"{target.ndim - d}.  Target sizes: {list(target.shape)}.  Tensor sizes: {list(value.shape)}"
            )
    target.copy_(value)


@tensor_method
def __delitem__(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")

