"""Copies of tensors outside the tape: ``copy.deepcopy``, ``copy.copy`` and pickle; what shares memory goes on sharing it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..core.device import as_device
from ..core.dtype import BY_NAME
from ..graph.recorder import synchronise
from ..graph.value import aval_of, constant
from .geometry import geometry
from .storage import Storage
from .tensor import Tensor, make_storage, new_tensor, relayout, tensor_method

__all__ = ["on_storage"]


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


@tensor_method
def __reduce_ex__(self: Tensor, protocol: Any) -> tuple:
    at = self._where()
    parts = (make_storage(self), at.offset, tuple(at.size), tuple(at.stride), self.requires_grad)
    # The class calls itself torch.Tensor, where pickle would not find it: None stands for it.
    return _rebuild_tensor, (None if type(self) is Tensor else type(self), *parts), self.__dict__ or None


def _rebuild_tensor(cls: type | None, storage: Storage, offset: int, size: tuple, stride: tuple, requires_grad: bool) -> Any:
    made = on_storage(storage, geometry(size, stride, offset), cls or Tensor)
    return made.requires_grad_() if requires_grad else made


@tensor_method
def __setstate__(self: Tensor, state: dict) -> None:
    self.__dict__.update(state)


def _reduce_storage(self: Storage, protocol: Any) -> tuple:
    if self.host is not None:
        self.refresh()
    aval, base = self.value.aval, self.base
    if aval.is_meta:
        data = None
    else:
        array = np.asarray(synchronise(self.value, "pickle"))
        order = sorted(range(array.ndim), key=lambda d: (-base.stride[d], d))
        data = np.ascontiguousarray(array.transpose(order)).reshape(-1).view(np.uint8)
    return _rebuild_storage, (aval.dtype.name, str(aval.device), tuple(base.size), tuple(base.stride), data)


def _rebuild_storage(dtype: str, device: str, size: tuple, stride: tuple, data: np.ndarray | None) -> Storage:
    found, target = BY_NAME[dtype], as_device(device)
    aval = aval_of(size, found, target, stride)
    if data is None:
        return Storage(constant(None, aval))
    memory = data.view(found.numpy)
    strides = [s * memory.itemsize for s in stride]
    array = np.array(np.lib.stride_tricks.as_strided(memory, size, strides), order="C")
    if target.type != "cpu":
        import jax

        from ..core.device import jax_device

        with jax.enable_x64(True):
            array = jax.device_put(array, jax_device(target))
    return Storage(constant(array, aval))


Storage.__reduce_ex__ = _reduce_storage  # type: ignore[method-assign, assignment]
