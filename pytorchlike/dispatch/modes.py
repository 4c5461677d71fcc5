"""Modes: `TorchFunctionMode` and `TorchDispatchMode` see all calls of a thread inside their block; ``with torch.device(...)``."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..core.device import as_device, device
from ..core.state import thread
from . import keys, overrides

__all__ = ["BaseTorchFunctionMode", "TorchDispatchMode", "TorchFunctionMode", "current_dispatch_modes", "current_function_modes"]


class TorchFunctionMode:
    """Inside the block ``__torch_function__(func, types, args, kwargs)`` is called instead of every public function.

    The mode is off while its ``__torch_function__`` runs, so calling ``func`` goes on to what lies below: outer modes, then subclasses.
    """

    def __torch_function__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Answer a call; ``func(*args, **kwargs)`` is what it would have done."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        overrides.watch_methods()
        thread.state.modes.append(self)
        thread.state.slow += 1
        return self

    def __exit__(self, *error: object) -> None:
        thread.state.modes.pop()
        thread.state.slow -= 1


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


class TorchDispatchMode:
    """Inside the block ``__torch_dispatch__(func, types, args, kwargs)`` is called with the overload (``torch.ops.aten.add.Tensor``) of each operator.

    The mode is off while its ``__torch_dispatch__`` runs.

    Limits: what is no operator here is not seen: factories, random numbers, ``detach``, ``clone``, casts, and the backward pass, whose rules are
    recorded as they are.
    """

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Answer an operator's call; ``func(*args, **kwargs)`` is what it would have done."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        keys.python_state.modes.append(self)
        thread.state.slow += 1
        return self

    def __exit__(self, *error: object) -> None:
        keys.python_state.modes.pop()
        thread.state.slow -= 1


def current_function_modes() -> list[Any]:
    """The active `TorchFunctionMode`s of this thread, innermost last."""
    return list(thread.state.modes)


def current_dispatch_modes() -> list[Any]:
    """The active `TorchDispatchMode`s of this thread, innermost last."""
    return list(keys.python_state.modes)


# ---------------------------------------------------------------------------------------------------------------- with torch.device(...)
class _Devices(threading.local):
    def __init__(self) -> None:
        self.outer: list[device | None] = []


_devices = _Devices()


def _enter(self: device) -> device:
    """Tensors of this thread are made here inside the block, unless a call says where."""
    _devices.outer.append(thread.state.device)
    thread.state.device = as_device(self)
    return self


def _exit(self: device, *error: object) -> None:
    thread.state.device = _devices.outer.pop()


def _decorate(self: device, function: Callable) -> Callable:
    """The function with this device as its default device."""

    @functools.wraps(function)
    def placed(*args: Any, **kwargs: Any) -> Any:
        with self:
            return function(*args, **kwargs)

    return placed


for _name, _member in (("__enter__", _enter), ("__exit__", _exit), ("__call__", _decorate)):
    setattr(device, _name, _member)
