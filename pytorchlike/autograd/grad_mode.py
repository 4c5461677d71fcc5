"""Switches of the tape: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from ..core.state import thread
from ..graph.value import InferenceValue, Value
from ..tensors import inference

__all__ = [
    "enable_grad", "enforce_grad_layout_policy", "inference_mode", "is_grad_enabled", "is_inference", "is_inference_mode_enabled",
    "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def is_grad_enabled() -> bool:
    """Whether operators are recorded on the tape."""
    return thread.state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is active."""
    return thread.state.inference


def is_inference(input: Any) -> bool:
    """Whether a tensor was made under `inference_mode`."""
    return input.is_inference()


class _Switch:
    """A context manager that is a decorator, too: of functions, generators and (as torch allows) classes."""

    def _again(self) -> _Switch:
        return type(self)()

    def __call__(self, function: Callable) -> Callable:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return switched

    def _wrap_generator(self, function: Callable) -> Callable:
        """The mode holds while the generator runs, not between its values."""

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with self._again():
                    response = generator.send(None)
                while True:
                    try:
                        request = yield response
                    except GeneratorExit:
                        with self._again():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self._again():
                            response = generator.throw(error)
                    else:
                        with self._again():
                            response = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return switched

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError


class no_grad(_Switch):  # noqa: N801 - torch's name
    """Operators are not recorded on the tape inside the block (or the decorated function)."""

    _to = False

    def __new__(cls, orig_func: Callable | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)

    def __init__(self, orig_func: Callable | None = None) -> None:
        self.previous: list[bool] = []

    def __enter__(self) -> None:
        state = thread.state
        self.previous.append(state.grad_enabled)
        state.grad_enabled = self._to

    def __exit__(self, *error: object) -> None:
        thread.state.grad_enabled = self.previous.pop()


class enable_grad(no_grad):  # noqa: N801 - torch's name
    """Operators are recorded inside the block, also within `no_grad`."""

    _to = True


class set_grad_enabled(_Switch):  # noqa: N801 - torch's name
    """Switch recording on or off: at once, and back at the end when used as a context manager or decorator."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.previous = thread.state.grad_enabled
        thread.state.grad_enabled = self.mode

    def __call__(self, function: Callable) -> Callable:
        thread.state.grad_enabled = self.previous
        return super().__call__(function)

    def _again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        thread.state.grad_enabled = self.mode

    def __exit__(self, *error: object) -> None:
        thread.state.grad_enabled = self.previous


class inference_mode(_Switch):  # noqa: N801 - torch's name
    """Like `no_grad`, and ``is_inference_mode_enabled()`` is true."""

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        inference_mode.__init__(made)
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)
        self.previous: list[tuple[bool, bool]] = []

    def _again(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        state = thread.state
        self.previous.append((state.grad_enabled, state.inference))
        inference.was_used = True
        state.inference = self.mode
        state.value_class = InferenceValue if self.mode else Value
        if self.mode:
            state.grad_enabled = False

    def __exit__(self, *error: object) -> None:
        state = thread.state
        state.grad_enabled, state.inference = self.previous.pop()
        state.value_class = InferenceValue if state.inference else Value


class _Kept(threading.local):
    """Per thread: settings that only their own switches and few others look at.

    Attributes:
        grad_layout: gradients of leaves get the leaves' strides.
        multithreading: what `set_multithreading_enabled` was told.
    """

    grad_layout = True
    multithreading = True


kept = _Kept()


class _KeptSwitch(_Switch):
    """A switch of one of the settings in `_Kept`: at once, and back at the end when used as a context manager or decorator."""

    _name = ""

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.prev = getattr(kept, self._name)
        setattr(kept, self._name, mode)

    def __call__(self, function: Callable) -> Callable:
        setattr(kept, self._name, self.prev)
        return super().__call__(function)

    def _again(self) -> _KeptSwitch:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        setattr(kept, self._name, self.mode)

    def __exit__(self, *error: object) -> None:
        setattr(kept, self._name, self.prev)


class enforce_grad_layout_policy(_KeptSwitch):  # noqa: N801 - torch's name
    """Whether the first gradient of a leaf gets the leaf's strides (the default) or stays as it comes."""

    _name = "grad_layout"


class set_multithreading_enabled(_KeptSwitch):  # noqa: N801 - torch's name
    """Accepted without effect: a backward pass runs in the thread that calls it."""

    _name = "multithreading"
