"""`symbolic_trace`: a module's or function's graph, found by running it on proxies."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..nn.modules.container import ModuleDict, ModuleList, Sequential
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

#: (globals, name) of the functions that are kept as calls.
_wrapped: list[tuple[dict[str, Any], str]] = []


def wrap(fn_or_name: Any) -> Any:
    """Keep a function, given by itself or by its name in the calling module, as one call in graphs.

    Raises:
        RuntimeError: neither a function nor a name.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped.append((frame.f_back.f_globals, name))
    return fn_or_name


class Tracer(TracerBase):
    """Runs a module on proxies; subclasses say what is kept as one call.

    Attributes:
        root: the module.
    """

    __module__ = "torch.fx._symbolic_trace"

    def __init__(self, autowrap_modules: Any = (), autowrap_functions: Any = (), param_shapes_constant: bool = False) -> None:
        self.root: Module = Module()
        self.graph = Graph()

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a submodule is kept as one call: those of ``torch.nn`` are, but for containers."""
        return type(m).__module__.startswith(("torch.nn", "pytorchlike.nn", "torch.ao.nn")) and not isinstance(m, (Sequential, ModuleList, ModuleDict))

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule.

        Raises:
            NameError: it is none.
        """
        for name, each in self.root.named_modules():
            if each is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Called for each call of a submodule."""
        name = self.path_of_module(m)
        return self.create_proxy("call_module", name, args, kwargs) if self.is_leaf_module(m, name) else forward(*args, **kwargs)

    def _leaf_arg(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            pairs = [*self.root.named_parameters(), *self.root.named_buffers(), *vars(self.root).items()]
            name = next((name for name, each in pairs if each is a), None)
            if name is None:
                name = f"_tensor_constant{sum(k.startswith('_tensor_constant') for k in vars(self.root))}"
                self.root.__dict__[name] = a
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return a

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args: dict[str, Any] | None = None) -> tuple[Callable, list[Any]]:
        """The function and the proxies that it is called with."""
        parameters = list(inspect.signature(root_fn).parameters.values())
        args: list[Any] = [self.root] if is_module else []
        for p in parameters[1:] if is_module else parameters:
            if concrete_args and p.name in concrete_args:
                args.append(concrete_args[p.name])
                continue
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise NotImplementedError(f"torch.fx: *{p.name} of a traced function is not supported; give it in concrete_args")
            default = () if p.default is p.empty else (p.default,)
            args.append(self.create_proxy("placeholder", p.name, default, {}))
        return root_fn, args

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Raises:
            TraceError: what Python does depends on a value.
        """
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        self.graph = Graph(tracer_cls=type(self))
        function, args = self.create_args_for_root(type(root).forward if is_module else root, is_module, concrete_args)
        with _Patched(self):
            result = function(*args)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph


class _Patched:
    """While it is on, calls of submodules and of wrapped functions reach a tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def __enter__(self) -> None:
        tracer, original = self.tracer, Module.__call__
        self.call, self.functions = Module.__dict__.get("__call__"), []  # usually inherited

        def call_module(module: Module, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(module, lambda *a, **k: original(module, *a, **k), args, kwargs)

        Module.__call__ = call_module  # type: ignore[method-assign, assignment]
        for names, name in _wrapped:
            function = names.get(name) or (names["__builtins__"] if isinstance(names["__builtins__"], dict) else vars(names["__builtins__"]))[name]
            self.functions.append((names, name, names.get(name)))
            names[name] = _noticing(function)

    def __exit__(self, *error: object) -> None:
        if self.call is None:
            del Module.__call__
        else:
            Module.__call__ = self.call  # type: ignore[method-assign]
        for names, name, function in reversed(self.functions):
            if function is None:
                del names[name]
            else:
                names[name] = function


def _noticing(function: Callable) -> Callable:
    @functools.wraps(function)
    def noticed(*args: Any, **kwargs: Any) -> Any:
        proxy = next((a for a in (*args, *kwargs.values()) if isinstance(a, Proxy)), None)
        return function(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", function, args, kwargs)

    return noticed


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module whose ``forward`` is the graph of a module or function.

    Args:
        concrete_args: arguments that are taken as they are.

    Raises:
        TraceError: what Python does depends on a value.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name if name.isidentifier() else "GraphModule")
