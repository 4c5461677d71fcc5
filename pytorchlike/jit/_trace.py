"""`trace`: functions and modules that are captured at once, with example inputs.

A traced call is captured like a scripted one.  Unlike torch's, a traced function is not frozen into what it did with the examples: inputs of
another shape, another mode or another outcome of a Python condition run the Python code again.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from . import _state
from ._script import Quiet, RecursiveScriptModule, ScriptFunction, ScriptModule, _around, shown

__all__ = ["TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "_script_if_tracing", "script_if_tracing", "trace", "trace_module"]

_DICT = (
    "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the container structure does not "
    "change based on the module's inputs. Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a "
    "`NamedTuple` instead). If you absolutely need this and know the side effects, pass strict=False to trace() to allow this behavior."
)


class TracerWarning(Warning):
    """torch's warning about code that cannot be traced faithfully; nothing gives it here."""

    __module__ = "torch.jit"

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Have torch's own modules give no such warning."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="torch.(?!jit)")


class TracingCheckError(Exception):
    """torch's error for a trace that does not do what the function did."""

    __module__ = "torch.jit._trace"


class TracedModule(RecursiveScriptModule):
    """A traced module; what it runs knows it by `torch.jit.is_tracing`."""

    __slots__ = ("_methods",)
    __module__ = "torch.jit._trace"
    _methods: dict[str, Callable]

    def __init__(self, original: Module, methods: Mapping[str, Any] | None = None) -> None:
        super().__init__(original, _state.tracing)
        made = {}
        for name in methods or ():
            if name != "forward":
                method = getattr(original, name)
                made[name] = Quiet(_around(method, _state.tracing), method, False, name)
        object.__setattr__(self, "_methods", made)

    def __getattribute__(self, name: str) -> Any:
        methods = object.__getattribute__(self, "_methods") if name[:1] != "_" else None
        return methods[name] if methods and name in methods else super().__getattribute__(name)

    def __repr__(self) -> str:
        return shown(self._original, lambda module: type(module).__name__)

    def _again(self, original: Module) -> TracedModule:
        return type(self)(original, dict.fromkeys(self._methods))


class TopLevelTracedModule(TracedModule):
    """What `trace` returns for a module."""

    __slots__ = ()
    __module__ = "torch.jit._trace"


def _check_output(result: Any, strict: bool) -> None:
    if isinstance(result, Mapping):
        if strict:
            raise RuntimeError(_DICT)
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        for each in result:
            _check_output(each, strict)
    elif not isinstance(result, Tensor):
        raise RuntimeError("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions")


def _arguments(inputs: Any, kwargs: Any) -> tuple[tuple, dict[str, Any]]:
    if kwargs is not None:
        if not isinstance(kwargs, dict):
            raise RuntimeError("example_kwarg_inputs should be a dict")
        return (), kwargs
    if inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if isinstance(inputs, (Tensor, dict)):
        return (inputs,), {}
    return tuple(inputs), {}


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None, check_tolerance: float = 1e-5,
          strict: bool = True, _force_outplace: bool = False, _module_class: Any = None, _compilation_unit: Any = None,
          example_kwarg_inputs: dict[str, Any] | None = None, _store_inputs: bool = True) -> Any:  # fmt: skip
    """Run a function or module with example inputs, capture the call, and return what replays it.

    Args:
        example_inputs: a tensor, or a tuple of arguments.
        check_trace, check_inputs, check_tolerance: accepted; calls that differ from a captured one run the Python code.
        strict: refuse dictionaries among the results.
        example_kwarg_inputs: keyword arguments instead of ``example_inputs``.

    Raises:
        RuntimeError: results that are no tensors or containers of tensors, torch's text.
    """
    if not _state.enabled():
        return func
    if isinstance(func, ScriptModule):
        warnings.warn("The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.", stacklevel=2)
        return func
    owner = getattr(func, "__self__", None)
    if inspect.ismethod(func) and isinstance(owner, Module) and func.__name__ == "forward":
        func = owner
    args, kwargs = _arguments(example_inputs, example_kwarg_inputs)
    if isinstance(func, Module):
        return _traced_module(func, {"forward": (args, kwargs)}, strict)
    if not callable(func):
        raise RuntimeError("Could not get name of python class object")
    traced = ScriptFunction(func, _state.tracing)
    _check_output(traced(*args, **kwargs), strict)
    return traced


def trace_module(mod: Module, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
                 check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
                 _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False, _store_inputs: bool = True) -> Any:  # fmt: skip
    """Run methods of a module with example inputs, capture the calls, and return a module that replays them.

    Args:
        inputs: the method's name -> its example inputs; see `trace` for the others.
        example_inputs_is_kwarg: the inputs are dictionaries of keyword arguments.

    Raises:
        AttributeError: not a module, or not a dictionary; torch's texts.
    """
    if not _state.enabled():
        return mod
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    given = {name: _arguments(None, each) if example_inputs_is_kwarg else _arguments(each, None) for name, each in inputs.items()}
    return _traced_module(mod, given, strict)


def _traced_module(module: Module, inputs: dict[str, tuple[tuple, dict]], strict: bool) -> TopLevelTracedModule:
    traced = TopLevelTracedModule(module, inputs)
    for name, (args, kwargs) in inputs.items():
        _check_output(getattr(traced, name)(*args, **kwargs), strict)
    return traced


def script_if_tracing(fn: Callable) -> Callable:
    """Mark a function that torch compiles when a trace calls it; here the trace captures what it does."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper


_script_if_tracing = script_if_tracing
