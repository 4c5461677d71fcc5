"""torch.autograd.variable: `Variable`, what tensors on the tape were called before every tensor was one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..aten.legacy import LEGACY_TYPES
from ..tensors.tensor import Tensor
from .task import current_task

__all__ = ["Variable"]


class _Engine:
    """What libraries reach for as ``Variable._execution_engine``."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call a function when the running backward pass has ended.

        Raises:
            RuntimeError: none is running.
        """
        task = current_task()
        if task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        task.callbacks.append(callback)


class VariableMeta(type):
    """Every tensor is a `Variable`."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(tensor, requires_grad)``: a tensor of the same memory, off the tape, as a leaf.

    Raises:
        TypeError: ``data`` is no tensor.
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if volatile is not None:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", UserWarning, stacklevel=2)
        if data is None:
            data = LEGACY_TYPES["FloatTensor"]()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and not data._aval().differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return data.detach().requires_grad_(requires_grad)
