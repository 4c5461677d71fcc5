"""What is set per thread (grad mode, inference mode, active modes, default device) and per process (default dtype)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import dtype as dtypes
from .device import device

__all__ = ["ThreadState", "default_dtype", "on_default_dtype_change", "on_new_thread", "set_default_dtype", "thread"]


class ThreadState:
    """The settings of one thread; reached by ``thread.state``, one look-up an operator.

    Attributes:
        slow: an operator must take the general way (a mode is active, values are tracers, ...); counts the reasons.
        grad_enabled: operators record the tape.
        inference: tensors made now are inference tensors.
        trace: the trace this thread records into (graph/recorder.py).
        immediate: operators run at once; counts the contexts that ask for it.
        modes: stack of ``__torch_function__`` / ``__torch_dispatch__`` modes, innermost last.
        device: default device set by ``set_default_device``; None is the CPU.
        checks: error flags of executed programs that nobody has looked at yet (graph/recorder.py).
        autocast: what autocast casts to; None when it is off.
        saved_tensor_hooks: stack of the hooks on what the tape saves.
        anomaly: nodes note where they were recorded.
        value_class: the class of the values made now (graph/value.py): another one under ``inference_mode``.
        capture: what a compiled function's call is being captured by (compiler/capture.py); None: nothing is captured.
        levels: the active transformations (``vmap``, forward mode), innermost last (dispatch/levels.py).
        transforms: how many functions of ``torch.func`` are running user code.
        off_tape_is_constant: JAX is transforming user code, and what is off the tape has no derivative for it (graph/executors.py).
        on_tracers: makes of an instruction the function to run on tracers (dispatch/custom_vjp.py); None is the instruction's own.
    """

    __slots__ = (
        "slow", "grad_enabled", "inference", "trace", "immediate", "modes", "device", "checks", "autocast", "saved_tensor_hooks", "anomaly",
        "capture", "value_class", "levels", "transforms", "on_tracers", "off_tape_is_constant",
    )  # fmt: skip

    def __init__(self) -> None:
        self.slow = 0
        self.grad_enabled = True
        self.inference = False
        self.trace: Any = None
        self.immediate = 0
        self.modes: list[Any] = []
        self.device: device | None = None
        self.checks: list[Any] = []
        self.autocast: Any = None
        self.saved_tensor_hooks: list[Any] = []
        self.anomaly = False
        self.capture: Any = None
        self.value_class: Any = None
        self.levels: list[Any] = []
        self.transforms = 0
        self.on_tracers: Callable[..., Callable] | None = None
        self.off_tape_is_constant = False


_initialisers: list[Callable[[ThreadState], None]] = []


class _Thread(threading.local):
    state: ThreadState

    def __init__(self) -> None:
        self.state = ThreadState()
        for initialise in _initialisers:
            initialise(self.state)


thread = _Thread()


def on_new_thread(initialise: Callable[[ThreadState], None]) -> None:
    """Have a function complete the state of every thread; it is called at once for the current one."""
    _initialisers.append(initialise)
    initialise(thread.state)


_default_dtype = dtypes.float32
_listeners: list[Callable[[], None]] = []


def default_dtype() -> dtypes.dtype:
    """The dtype of floating tensors made without a dtype."""
    return _default_dtype


def set_default_dtype(d: dtypes.dtype) -> None:
    """Set the dtype of floating tensors made without one.

    Raises:
        TypeError: not a floating dtype.
    """
    global _default_dtype
    if not isinstance(d, dtypes.dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the default type, got {type(d).__name__}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    if d is not _default_dtype:
        _default_dtype = d
        for notify in _listeners:
            notify()


def on_default_dtype_change(notify: Callable[[], None]) -> None:
    """Call a function after every change of the default dtype (what was inferred with the old one is void)."""
    _listeners.append(notify)
