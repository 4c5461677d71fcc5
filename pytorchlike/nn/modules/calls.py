"""Calling a module, and its hooks: the base of `Module` that runs forward with what was registered around it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...core.handle import RemovableHandle, register
from ...tensors.tensor import Tensor
from .hooks import BackwardHook, unwrap_backward_result

__all__ = [
    "Calls", "or_else", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip

# Hooks that act on every module; other libraries read these dictionaries by name.
_global_buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever a buffer is registered; a result that is not None takes the buffer's place."""
    return register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a module is registered; a result that is not None takes its place."""
    return register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a parameter is registered; a result that is not None takes its place."""
    return register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, args)`` before every module's forward."""
    return register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Callable, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every module's forward."""
    marks = (*((_global_forward_hooks_with_kwargs,) if with_kwargs else ()), *((_global_forward_hooks_always_called,) if always_call else ()))
    extra = (_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called)
    return register(_global_forward_hooks, hook, marks=marks, extra=extra)


def _set_global_backward_style(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The old style of backward hook, for every module."""
    _set_global_backward_style(full=False)
    return register(_global_backward_hooks, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module whose gradients were computed."""
    _set_global_backward_style(full=True)
    return register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` for every module whose output's gradients have arrived."""
    return register(_global_backward_pre_hooks, hook)


def or_else(answer: Any, value: Any) -> Any:
    """What a hook returned, or the value it was shown when it returned nothing."""
    return value if answer is None else answer


class Calls:
    """The part of `Module` that calls ``forward`` and the hooks around it."""

    _forward_pre_hooks: OrderedDict[int, Callable]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks: OrderedDict[int, Callable]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Callable]
    _backward_pre_hooks: OrderedDict[int, Callable]
    _is_full_backward_hook: bool | None
    forward: Callable[..., Any]
    _compiled_call_impl: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
            or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks
            or self._compiled_call_impl
        ):  # fmt: skip
            return self._wrapped_call_impl(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        call = self._compiled_call_impl or self._call_impl
        return call(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args: tuple, kwargs: dict) -> Any:
        called: set[int] = set()
        try:
            return self._hooked(args, kwargs, called)
        except Exception:
            # Hooks registered with always_call run even now, with no result; what they raise must not hide the first error.
            for key, hook, with_kwargs in self._all_forward_hooks():
                if key in called or not (key in _global_forward_hooks_always_called or key in self._forward_hooks_always_called):
                    continue
                try:
                    hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
                except Exception as error:
                    kind = "global module forward hook" if key in _global_forward_hooks_always_called else "module forward hook"
                    warnings.warn(f"{kind} with ``always_call=True`` raised an exception that was silenced as another error was raised in "
                                  f"forward: {error}", stacklevel=2)  # fmt: skip
            raise

    def _all_forward_hooks(self) -> list[tuple[int, Callable, bool]]:
        return [
            *((key, hook, key in _global_forward_hooks_with_kwargs) for key, hook in _global_forward_hooks.items()),
            *((key, hook, key in self._forward_hooks_with_kwargs) for key, hook in self._forward_hooks.items()),
        ]

    def _hooked(self, args: tuple, kwargs: dict, called: set[int]) -> Any:
        pre_hooks = self._get_backward_pre_hooks()
        full_hooks, old_hooks = self._get_backward_hooks()
        args, kwargs = self._run_forward_pre_hooks(args, kwargs)
        backward = None
        if full_hooks or pre_hooks:
            backward = BackwardHook(self, full_hooks, pre_hooks)
            args = backward.setup_input_hook(args)
        result = self.forward(*args, **kwargs)
        for key, hook, with_kwargs in self._all_forward_hooks():
            called.add(key)
            result = or_else(hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result), result)
        if backward is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                    stacklevel=3,
                )
            result = backward.setup_output_hook(result)
        if old_hooks:
            tensor = unwrap_backward_result(result)
            node = None if tensor is None else tensor.grad_fn
            if node is not None:
                for hook in old_hooks:
                    node.register_hook(lambda grad_input, grad_output, hook=hook: hook(self, grad_input, grad_output))
        return result

    def _run_forward_pre_hooks(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        for key, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                answer = hook(self, args, kwargs)
                if answer is not None:
                    if not (isinstance(answer, tuple) and len(answer) == 2):
                        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {answer}.")
                    args, kwargs = answer
            else:
                answer = hook(self, args)
                if answer is not None:
                    args = answer if isinstance(answer, tuple) else (answer,)
        return args, kwargs

    def _get_backward_hooks(self) -> tuple[list, list]:
        everywhere = list(_global_backward_hooks.values())
        own = list(self._backward_hooks.values())
        full = [*(everywhere if _global_is_full_backward_hook is True else ()), *(own if self._is_full_backward_hook is True else ())]
        old = [*(everywhere if _global_is_full_backward_hook is False else ()), *(own if self._is_full_backward_hook is False else ())]
        return full, old

    def _get_backward_pre_hooks(self) -> list:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, args)`` (or ``hook(module, args, kwargs)``) before forward; a result that is not None replaces the arguments."""
        marks = (self._forward_pre_hooks_with_kwargs,)
        return register(self._forward_pre_hooks, hook, prepend, marks if with_kwargs else (), marks)

    def register_forward_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
        """Call ``hook(module, args[, kwargs], output)`` after forward; a result that is not None replaces the output.

        Args:
            always_call: call it with None as output even when forward raises.
        """
        marks = (*((self._forward_hooks_with_kwargs,) if with_kwargs else ()), *((self._forward_hooks_always_called,) if always_call else ()))
        extra = (self._forward_hooks_with_kwargs, self._forward_hooks_always_called)
        return register(self._forward_hooks, hook, prepend, marks, extra)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the output's gradients arrive; a result that is not None replaces them."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the input's gradients are there; a result replaces ``grad_input``."""
        if self._is_full_backward_hook is False:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.")
        self._is_full_backward_hook = True
        return register(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The old style of backward hook: sees the gradients of the node behind the output."""
        if self._is_full_backward_hook is True:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.")
        self._is_full_backward_hook = False
        return register(self._backward_hooks, hook)
