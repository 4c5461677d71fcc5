"""`Proxy`: what stands for a value while a function is traced; each thing done to it becomes a `Node`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """Code did something with a `Proxy` that depends on its value."""

    __module__ = "torch.fx.proxy"


class TracerBase:
    """What makes nodes of calls.

    Attributes:
        graph: where they go.
    """

    graph: Any

    def create_node(self, kind: str, target: Any, args: tuple, kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None) -> Node:
        """A new node at the graph's end."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node's result."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Any, args: tuple, kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None,
                     proxy_factory_fn: Any = None) -> Proxy:  # fmt: skip
        """A new node for a call with proxies among its arguments, as a proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Any:
        """An argument with nodes in the place of proxies."""
        return map_aggregate(a, lambda each: each.node if isinstance(each, Proxy) else self._leaf_arg(each))

    def _leaf_arg(self, a: Any) -> Any:
        return a

    def to_bool(self, obj: Proxy) -> bool:
        """Called where Python asks whether a proxy is true.

        Raises:
            TraceError: always, unless a subclass knows.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """Called where Python iterates over a proxy.

        Raises:
            TraceError: always, unless a subclass knows.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. See the "
            "torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and check out the Proxy docstring "
            "for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Called where a proxy's keys are asked for."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that appends to a graph which exists."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph


class Proxy:
    """What stands for a value.

    Args:
        node: whose result it is.
        tracer: makes the nodes of what is done with it.
    """

    __module__ = "torch.fx.proxy"

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k.startswith("__") and k.endswith("__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') at module scope")

    def keys(self) -> Any:
        """The keys of a dictionary."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """A public function was called with proxies."""
        found: list[Proxy] = []
        map_aggregate((args, kwargs or {}), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        tracer = found[0].tracer
        owner = getattr(orig_method, "__qualname__", "").split(".")[0]
        if owner in ("Tensor", "TensorBase"):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs or {})
        return tracer.create_proxy("call_function", orig_method, args, kwargs or {})


class Attribute(Proxy):
    """An attribute of a value; a call of it is a method's."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads it, made when it is needed."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "eq", "ne", "lt", "gt", "le", "ge", "getitem",
)  # fmt: skip
_REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift")


def _install() -> None:
    def forward(target: Any) -> Any:
        return lambda self, *args: self.tracer.create_proxy("call_function", target, (self, *args), {})

    def reflected(target: Any) -> Any:
        return lambda self, other: self.tracer.create_proxy("call_function", target, (other, self), {})

    for name in (*_BINARY, "neg", "pos", "invert", "abs"):
        setattr(Proxy, f"__{name.strip('_')}__", forward(getattr(operator, name)))
    for name in _REFLECTED:
        setattr(Proxy, f"__r{name.strip('_')}__", reflected(getattr(operator, name)))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_install()
