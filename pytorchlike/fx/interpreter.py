"""`Interpreter`: runs a graph node by node, by methods that subclasses may replace; `Transformer`: makes a new graph that way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy
from .tracer import Tracer

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; each kind of node has a method of its name.

    Args:
        module: a `GraphModule`, or what has the attributes that ``graph`` refers to.
        garbage_collect_values: forget a result behind its last use.

    Attributes:
        env: node -> result.
    """

    __module__ = "torch.fx.interpreter"

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        last_uses = {used: node for node in self.graph.nodes for used in node.all_input_nodes}
        for used, node in last_uses.items():
            self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph returns for arguments.

        Args:
            initial_env: results that are known already.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter: Iterator = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, ()):
                    del self.env[used]
            if node.op == "output":
                return self.env[node]
        return None

    def run_node(self, n: Node) -> Any:
        """The result of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The next argument.

        Raises:
            RuntimeError: there is none, and no default; torch's text.
        """
        if target.startswith("*"):
            return list(self.args_iter)
        found = next(self.args_iter, self)
        if found is not self:
            return found
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module, by its path.

        Raises:
            RuntimeError: there is none; torch's text.
        """
        found, path = self.module, target.split(".")
        for k, name in enumerate(path):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(path[: k + 1])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        """A node's arguments, with results in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """An argument with results in the place of nodes."""
        return map_arg(args, lambda node: self.env[node])


class Transformer(Interpreter):
    """Makes a new graph of a `GraphModule`; what its methods do to the proxies that they get becomes nodes."""

    __module__ = "torch.fx.interpreter"

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = _IntoGraph(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Proxy:
        """An argument of the new graph."""
        return Proxy(self.new_graph.create_node("placeholder", target, args), self.tracer)

    def get_attr(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Proxy:
        """An attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A submodule's call in the new graph."""
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A function's call in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        found = self.run()
        self.new_graph.output(map_aggregate(found, lambda a: a.node if isinstance(a, Proxy) else a))
        return GraphModule(self.module, self.new_graph)


class _IntoGraph(Tracer):
    """Writes to a graph that exists; all submodules stay calls."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return True
