"""Copies of tensors outside the tape: ``copy.deepcopy``, and storages in pickles; what shares memory goes on sharing it."""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np

from ..core.device import as_device, device
from ..core.dtype import BY_NAME
from ..graph.recorder import synchronise
from ..graph.value import aval_of, constant, on_device
from .storage import Storage
from .tensor import Tensor, make_storage, new_tensor, relayout, tensor_method

__all__ = ["memory_of", "on_storage", "placed"]


def on_storage(storage: Storage, at: Any, cls: type = Tensor) -> Any:
    """A leaf tensor of a geometry in a storage."""
    made: Any = new_tensor(cls)
    made._storage = storage
    made._geometry = at
    made._seen = -1
    made._edge = None
    made._base_tensor = None
    made._flags = 0
    return made


@tensor_method
def __deepcopy__(self: Tensor, memo: dict) -> Any:
    """A copy with its own memory, its own ``.grad`` and attributes; storages shared within one deepcopy stay shared.

    Raises:
        RuntimeError: not a leaf.
    """
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were attempting to "
            "deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    storage = make_storage(self)
    copied = memo.get(id(storage))
    if copied is None:
        if storage.host is not None:
            storage.refresh()
        copied = memo[id(storage)] = Storage(relayout(storage.value, storage.base.stride))
    made = memo[id(self)] = on_storage(copied, self._geometry, type(self))
    if self.requires_grad:
        made.requires_grad_()
    grad = getattr(self, "_grad", None)
    if grad is not None:
        made.grad = copy.deepcopy(grad, memo)
    if self.__dict__:
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def memory_of(storage: Storage, reason: str) -> np.ndarray:
    """A storage's bytes in the order of its memory; shares them with the computed value wherever that lies in this order.

    Raises:
        NotImplementedError: it is on the meta device.
    """
    if storage.host is not None:
        storage.refresh()
    if storage.value.aval.is_meta:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    array, stride = np.asarray(synchronise(storage.value, reason)), storage.base.stride
    order = sorted(range(array.ndim), key=lambda d: (-stride[d], d))
    return np.ascontiguousarray(array.transpose(order)).reshape(-1).view(np.uint8)


def _reduce_storage(self: Storage, protocol: Any) -> tuple:
    aval, base = self.value.aval, self.base
    data = None if aval.is_meta else memory_of(self, "pickle")
    return _rebuild_storage, (aval.dtype.name, str(aval.device), tuple(base.size), tuple(base.stride), data)


def _rebuild_storage(dtype: str, place: str, size: tuple, stride: tuple, data: np.ndarray | None) -> Storage:
    found, target = BY_NAME[dtype], as_device(place)
    aval = aval_of(size, found, target, stride)
    if data is None:
        return Storage(constant(None, aval))
    memory = data.view(found.numpy)
    strides = [s * memory.itemsize for s in stride]
    return Storage(constant(placed(np.array(np.lib.stride_tricks.as_strided(memory, size, strides), order="C"), target), aval))


def placed(array: np.ndarray, target: device) -> Any:
    """A numpy array on a device, with all its bits."""
    with jax.enable_x64(True):
        return on_device(array, target)


Storage.__reduce_ex__ = _reduce_storage  # type: ignore[method-assign, assignment]
