"""torch.overrides: what tensor-like classes and modes that implement ``__torch_function__`` need."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .dispatch import forms
from .dispatch import overrides as _overrides
from .dispatch.modes import BaseTorchFunctionMode, TorchFunctionMode
from .dispatch.overrides import hand_over, nowrap_functions, wanted
from .tensors.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_overridable_functions",
    "get_testing_overrides", "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip

#: torch's public namespaces that hold overridable functions.
_NAMESPACES = ("", "nn.functional", "linalg", "special", "fft")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is active, or an argument's class has a ``__torch_function__`` that is not disabled."""
    return wanted(tuple(relevant_args))


def has_torch_function_unary(tensor: Any) -> bool:
    """`has_torch_function` for one argument."""
    return wanted((tensor,))


def has_torch_function_variadic(*tensors: Any) -> bool:
    """`has_torch_function` for arguments passed one by one."""
    return wanted(tensors)


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Hand the call of a Python function to the mode or class that takes it over.

    Args:
        public_api: the function as its users call it.
        relevant_args: the arguments that may have a ``__torch_function__``.

    Raises:
        TypeError: nobody answered.
    """
    return hand_over(public_api, args, kwargs, tuple(relevant_args))


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor or has a ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def wrap_torch_function(dispatcher: Callable) -> Callable[[Callable], Callable]:
    """Make a function overridable.

    Args:
        dispatcher: takes the function's arguments and returns those that may have a ``__torch_function__``.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if wanted(relevant):
                return hand_over(wrapped, args, kwargs, relevant)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def get_default_nowrap_functions() -> set[Callable]:
    """Functions whose results the default ``__torch_function__`` leaves as they are."""
    return set(nowrap_functions())


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The functions that ``__torch_function__`` may be given, by the module or class that holds them."""
    found: dict[Any, list[Callable]] = {}
    for namespace in _NAMESPACES:
        holder = f"torch.{namespace}".rstrip(".")
        found[holder] = [forms.function(namespace, name) for name in forms.names_of(namespace)]
    found[Tensor] = [forms.method(name) for name in forms.method_names()]
    return found


@functools.cache
def get_testing_overrides() -> dict[Callable, Callable]:
    """For each overridable function one that takes the same arguments and returns -1."""
    found: dict[Callable, Callable] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = _stand_in(function)
    return found


def _stand_in(function: Callable) -> Callable:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        stand_in.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except (TypeError, ValueError):  # several overloads
        pass
    return stand_in


@functools.cache
def _names() -> dict[Any, str]:
    names: dict[Any, str] = {}
    for holder, functions in get_overridable_functions().items():
        prefix = "torch.Tensor" if holder is Tensor else holder
        for function in functions:
            names.setdefault(function, f"{prefix}.{function.__name__}")
    for name, member in vars(Tensor).items():
        if isinstance(member, property):
            names[member.__get__] = f"torch.Tensor.{name}.__get__"
    return names


def resolve_name(f: Callable) -> str | None:
    """The public name of a function that ``__torch_function__`` was given: ``torch.Tensor.add``, ``torch.Tensor.shape.__get__``.

    Returns None for what is no function of torch.
    """
    found = _names().get(f)
    name = getattr(f, "__name__", "")
    if found is None and vars(Tensor).get(name) is f:
        return f"torch.Tensor.{name}"
    return found


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of `Tensor`, or the getter of a property."""
    return vars(Tensor).get(getattr(func, "__name__", "")) is func or getattr(func, "__name__", "") == "__get__"


class enable_reentrant_dispatch:  # noqa: N801 - torch's name
    """Calls inside the block are handed over again, also from within a ``__torch_function__`` that switched that off."""

    def __enter__(self) -> None:
        self.saved = (_overrides._switches.classes_off, _overrides._switches.modes_off)
        _overrides._switches.classes_off = _overrides._switches.modes_off = 0

    def __exit__(self, *error: object) -> None:
        _overrides._switches.classes_off, _overrides._switches.modes_off = self.saved
