"""`Graph`: nodes in order, which become Python code again."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .node import Node, map_arg

__all__ = ["Graph", "PythonCode"]


class PythonCode(NamedTuple):
    """Source, and the objects that it refers to by name."""

    src: str
    globals: dict[str, Any]


class Graph:
    """Nodes in order; the code of a `GraphModule`'s ``forward``."""

    __module__ = "torch.fx.graph"

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._nodes: list[Node] = []
        self._names: dict[str, int] = {}
        self._point: Node | None = None
        self._behind = 0
        self.owning_module = owning_module

    @property
    def nodes(self) -> list[Node]:
        """The nodes; a copy, so the graph may be changed in a loop over them."""
        return list(self._nodes)

    def _fresh(self, wanted: str) -> str:
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted).lstrip("_") or "_"
        if name[0].isdigit():
            name = f"_{name}"
        base = re.sub(r"_\d+$", "", name) if name in self._names else name
        while name in self._names or keyword.iskeyword(name) or hasattr(builtins, name) or name == "self":
            self._names[base] = self._names.get(base, 0) + 1
            name = f"{base}_{self._names[base]}"
        self._names.setdefault(name, 0)
        return name

    def create_node(self, op: str, target: Any, args: tuple | None = None, kwargs: dict[str, Any] | None = None, name: str | None = None,
                    type_expr: Any = None) -> Node:  # fmt: skip
        """A new node at the point of insertion.

        Raises:
            AssertionError: ``op`` is none of the kinds.
        """
        assert op in ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output"), op
        if name is None:
            base = target if isinstance(target, str) else getattr(target, "__name__", "function")
            name = base.replace(".", "_") if op != "call_method" else base
        node = Node(self, self._fresh(name), op, target, args or (), kwargs or {}, type_expr)
        if self._point is None:
            self._nodes.append(node)
        else:
            at = self._nodes.index(self._point) + self._behind
            self._nodes.insert(at, node)
            if self._behind:
                self._point = node
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An argument."""
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), {}, None, type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module."""
        return self.create_node("get_attr", qualified_name, (), {}, None, type_expr)

    def call_module(self, module_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None) -> Node:
        """A call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def call_method(self, method_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_function(self, the_function: Callable, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None, name: str | None = None) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the graph returns."""
        return self.create_node("output", "output", (result,), {}, "output", type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """A copy of another graph's node."""
        made = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform), node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy all nodes of a graph; return what its output becomes."""
        for node in g._nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], lambda n: val_map[n])
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody uses.

        Raises:
            RuntimeError: somebody does; torch's text.
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        to_erase._set((), {})
        to_erase._erased = True
        self._nodes.remove(to_erase)

    def _move(self, node: Node, to: Node, behind: int) -> None:
        if node is to:
            return
        self._nodes.remove(node)
        self._nodes.insert(self._nodes.index(to) + behind, node)

    @contextmanager
    def _inserting(self, node: Node | None, behind: int) -> Iterator[None]:
        previous = self._point, self._behind
        self._point, self._behind = node, behind
        try:
            yield
        finally:
            self._point, self._behind = previous

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which new nodes go before a node."""
        return self._inserting(n or (self._nodes[0] if self._nodes else None), 0)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which new nodes go behind a node."""
        return self._inserting(n, 1)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind."""
        return [node for node in self._nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The node of the result."""
        return next(node for node in reversed(self._nodes) if node.op == "output")

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes that nobody uses; whether there were any."""
        impure, changed = is_impure_node or Node.is_impure, False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Check that names are unique and nodes come before their users.

        Raises:
            RuntimeError: they do not.
        """
        seen: dict[Node, None] = {}
        names = set()
        for node in self._nodes:
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for each in node.all_input_nodes:
                if each not in seen:
                    raise RuntimeError(f"Argument '{each}' of Node '{node}' was used before it has been defined! Please check that Nodes in the graph are topologically ordered\n{self}")
            seen[node] = None
            names.add(node.name)

    def python_code(self, root_module: str = "self") -> PythonCode:
        """The graph as the source of ``forward``."""
        found: dict[str, Any] = {}
        parameters, lines = [root_module], []
        for node in self._nodes:
            if node.op == "placeholder":
                star = "*" * (len(node.target) - len(node.target.lstrip("*"))) if isinstance(node.target, str) else ""
                parameters.append(f"{star}{node.name}" + (f" = {_code(node.args[0], found)}" if node.args else ""))
            else:
                lines.append("    " + _statement(node, root_module, found))
        body = "\n".join(lines) or "    pass"
        return PythonCode(f"def forward({', '.join(parameters)}):\n{body}\n", found)

    def print_tabular(self) -> None:
        """Print a line for each node."""
        for node in self._nodes:
            print(f"{node.op:14}{node.name:20}{node.target!s:40}{node.args!s} {node.kwargs!s}")

    def __str__(self) -> str:
        return "graph():\n" + "\n".join([f"    {node.format_node()}" for node in self._nodes])


def _code(value: Any, found: dict[str, Any]) -> str:
    """An argument as source; objects that have none go into ``found``."""
    if isinstance(value, Node):
        return value.name
    if type(value) is tuple:
        return f"({', '.join([_code(v, found) for v in value])}{',' if len(value) == 1 else ''})"
    if type(value) is list:
        return f"[{', '.join([_code(v, found) for v in value])}]"
    if type(value) is dict:
        return "{" + ", ".join([f"{_code(k, found)}: {_code(v, found)}" for k, v in value.items()]) + "}"
    if type(value) is slice:
        return f"slice({_code(value.start, found)}, {_code(value.stop, found)}, {_code(value.step, found)})"
    if value is None or value is Ellipsis or type(value) in (bool, int, str) or type(value) is float and value - value == 0:
        return repr(value)
    return _object(value, getattr(value, "__name__", type(value).__name__), found)


def _object(value: Any, wanted: str, found: dict[str, Any]) -> str:
    base = name = "_" + re.sub(r"\W", "_", wanted)
    count = 0
    while name in found and found[name] is not value:
        count += 1
        name = f"{base}_{count}"
    found[name] = value
    return name


def _statement(node: Node, root: str, found: dict[str, Any]) -> str:
    if node.op == "output":
        return f"return {_code(node.args[0], found)}"
    if node.op == "get_attr":
        return f"{node.name} = {_path(root, str(node.target))}"
    args = [_code(a, found) for a in node.args]
    if node.op == "call_method":
        target, args = f"{args[0]}.{node.target}", args[1:]
    elif node.op == "call_module":
        target = _path(root, str(node.target))
    else:
        target = _object(node.target, getattr(node.target, "__name__", "function"), found)
    given = ", ".join([*args, *[f"{key} = {_code(a, found)}" for key, a in node.kwargs.items()]])
    return f"{node.name} = {target}({given})"


def _path(root: str, target: str) -> str:
    for part in target.split("."):
        root = f"{root}.{part}" if part.isidentifier() else f'getattr({root}, "{part}")'
    return root
