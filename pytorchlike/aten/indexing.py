"""``x[...]`` and ``x[...] = y``: ints, slices, None and Ellipsis are views; tensors, lists and masks are the ``index`` operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dtype import bool_, uint8
from ..dispatch import overrides
from ..dispatch.call import call_view, general_inplace, host_tensor
from ..dispatch.registry import Form, lookup, view
from ..tensors import geometry as geometries
from ..tensors.construct import infer_array
from ..tensors.geometry import Geometry
from ..tensors.tensor import PLAIN_TYPES, Tensor, tensor_method

__all__: list[str] = []

# A basic index is a tuple of parts: an int, None, or ("slice", start, stop, step); one for each dimension from the first on.


def _basic(at: Geometry, parts: tuple[Any, ...]) -> Geometry:
    dim = 0
    for part in parts:
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
                raise IndexError(f"index {part} is out of bounds for dimension {dim} with size {size}")
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
def _as_items(index: Any) -> list[Any]:
    """The items of an index; a list of slices or tensors counts as a tuple, as it did in old numpy."""
    if type(index) is tuple:
        return list(index)
    return [index]


def _consumed(item: Any) -> int:
    """How many dimensions of the tensor an item uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item.dtype in (bool_, uint8):
        return item.ndim
    return 1


def _bound(value: Any) -> int | None:
    return None if value is None else int(value) if not isinstance(value, Tensor) else int(value.item())


def _item(item: Any) -> Any:
    """An item in canonical form: int, None, Ellipsis, bool, a slice's tuple, or a tensor.

    Raises:
        IndexError, TypeError: something that does not index, torch's texts.
    """
    if item is None or item is Ellipsis or isinstance(item, (bool, int)):
        return item
    if isinstance(item, slice):
        step = _bound(item.step)
        if step is not None and step <= 0:
            raise ValueError("step must be greater than zero")
        return ("slice", _bound(item.start), _bound(item.stop), 1 if step is None else step)
    if isinstance(item, Tensor):
        if item.dtype.is_floating_point or item.dtype.is_complex:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, (list, tuple, np.ndarray, range)):
        array, _ = infer_array(item, None)
        if array.size == 0 and array.dtype.kind == "f":
            array = array.astype(np.int64)
        return _item(host_tensor(array))
    if hasattr(item, "__index__"):
        return item.__index__()
    raise TypeError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(item).__name__})"
    )


def _parse(tensor: Tensor, index: Any) -> tuple[tuple[Any, ...], list[Any] | None]:
    """``(basic parts, advanced)``: the view to take first, then for each dimension of it an index tensor or None (no list: none at all)."""
    items = [_item(i) for i in _as_items(index)]
    ellipses = sum(i is Ellipsis for i in items)
    used = sum(_consumed(i) for i in items)
    if used > tensor.ndim:
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
    if not any(isinstance(i, (Tensor, bool)) for i in expanded):
        return tuple(expanded), None
    if all(not isinstance(i, Tensor) or (i.ndim == 0 and i.dtype not in (bool_, uint8)) for i in expanded) and not any(isinstance(i, bool) for i in expanded):
        return tuple([i if not isinstance(i, Tensor) else int(i) for i in expanded]), None
    parts: list[Any] = []
    advanced: list[Any] = []
    for item in expanded:
        if isinstance(item, bool):
            parts.append(None)
            advanced.append(host_tensor(np.zeros(1 if item else 0, np.int64)))
        elif isinstance(item, Tensor):
            if item.dtype in (bool_, uint8):
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
    for d in range(mask.ndim):
        if mask.shape[d] != tensor.shape[dimension + d]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {d} does not match the shape of the indexed tensor {list(tensor.shape)} at "
                f"index {dimension + d}"
            )
    if mask.ndim == 0:
        return []
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
    if isinstance(index, Tensor) and index.dtype is bool_ and index.shape == self.shape and not isinstance(value, Tensor) and index.ndim:
        self.masked_fill_(index, value)
        return
    parts, advanced = _parse(self, index)
    if advanced is None:
        target = _basic_view(self, parts)
        if isinstance(value, Tensor):
            _copy_into(target, value)
        elif isinstance(value, (int, float, complex, np.number, np.bool_)):
            target.fill_(value)
        else:
            _copy_into(target, _as_value(value, self))
        return
    target = self if all(p == _EVERYTHING for p in parts) else _basic_view(self, parts)
    if not isinstance(value, Tensor):
        value = _as_value(value, self)
    elif value.dtype is not self.dtype and value.ndim:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {_type_text(self)} for the destination and {_type_text(value)} for the "
            "source."
        )
    if value.dtype is not self.dtype:
        value = value.to(self.dtype)
    if value.device != self.device:
        value = value.to(self.device)
    general_inplace(lookup("index_put"), (target, _trim(advanced), value, False))


def _copy_into(target: Tensor, value: Tensor) -> None:
    while value.ndim > target.ndim and value.shape[0] == 1:
        value = value.squeeze(0)
    if value.ndim > target.ndim or any(n not in (1, m) for n, m in zip(reversed(value.shape), reversed(target.shape))):
        raise RuntimeError(
            f"The expanded size of the tensor ({target.shape[-1] if target.ndim else 1}) must match the existing size ({value.shape[-1] if value.ndim else 1}) "
            f"at non-singleton dimension {max(target.ndim - 1, 0)}.  Target sizes: {list(target.shape)}.  Tensor sizes: {list(value.shape)}"
            if value.ndim <= target.ndim
            else f"expand({_type_text(value)}{list(value.shape)}, size={list(target.shape)}): the number of sizes provided ({target.ndim}) must be "
            f"greater or equal to the number of dimensions in the tensor ({value.ndim})"
        )
    target.copy_(value)


def _type_text(tensor: Tensor) -> str:
    from ..core.promotion import scalar_type_name

    return scalar_type_name(tensor.dtype)


def _as_value(value: Any, like: Tensor) -> Tensor:
    array, found = infer_array(value, None)
    made = host_tensor(array, found, like.device)
    return made if found is like.dtype else made.to(like.dtype)


@tensor_method
def __delitem__(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")

