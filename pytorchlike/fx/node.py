"""`Node`, one step of a `Graph`."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

__all__ = ["Argument", "Node", "Target", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """A nested argument with a function applied to all that is no container."""
    if isinstance(a, tuple):
        made = [map_aggregate(each, fn) for each in a]
        return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
    if isinstance(a, list):
        return [map_aggregate(each, fn) for each in a]
    if isinstance(a, dict):
        return {key: map_aggregate(each, fn) for key, each in a.items()}
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """A nested argument with a function applied to its nodes."""
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


class Node:
    """One step of a graph.

    Attributes:
        op: placeholder, get_attr, call_function, call_module, call_method or output.
        name: of its result, unique in the graph.
        target: the function, or the name of what is called.
        users: the nodes that take its result.
        meta: notes of passes.
    """

    __module__ = "torch.fx.node"

    def __init__(self, graph: Any, name: str, op: str, target: Target, args: tuple, kwargs: dict[str, Any], return_type: Any = None) -> None:
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._args: tuple = ()
        self._kwargs: dict[str, Any] = {}
        self._erased = False
        self._set(args, kwargs)

    def _set(self, args: tuple, kwargs: dict[str, Any]) -> None:
        for node in self.all_input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        for node in self.all_input_nodes:
            node.users[self] = None

    @property
    def args(self) -> tuple:
        """Positional arguments, with nodes for results."""
        return self._args

    @args.setter
    def args(self, value: tuple) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments, with nodes for results."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        found: dict[Node, None] = {}
        map_arg((self._args, self._kwargs), lambda node: found.setdefault(node))
        return list(found)

    def _neighbour(self, step: int) -> Node:
        nodes = self.graph._nodes
        return nodes[(nodes.index(self) + step) % len(nodes)]

    @property
    def next(self) -> Node:
        """The node behind it."""
        return self._neighbour(1)

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._neighbour(-1)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Set one positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True) -> list[Node]:
        """Let all users take another node's result; return them."""
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take another node's result in the place of one."""
        args, kwargs = map_arg((self._args, self._kwargs), lambda node: new_input if node is old_input else node)
        self._set(args, kwargs)

    def prepend(self, x: Node) -> None:
        """Move a node to right before this one."""
        self.graph._move(x, self, 0)

    def append(self, x: Node) -> None:
        """Move a node to right behind this one."""
        self.graph._move(x, self, 1)

    def is_impure(self) -> bool:
        """Whether it must not be dropped although nobody uses its result."""
        return self.op in ("placeholder", "output") or self.op == "call_method" and str(self.target).endswith("_")

    def format_node(self) -> str:
        """A line of the graph's text."""
        if self.op == "placeholder":
            return f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]"
        if self.op == "output":
            return f"return {_shown(self._args[0])}"
        target = self.target if isinstance(self.target, str) else qualified_name(self.target)
        if self.op == "get_attr":
            return f"%{self.name} : [num_users={len(self.users)}] = get_attr[target={target}]"
        return f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={target}](args = {_shown(self._args)}, kwargs = {_shown(self._kwargs)})"

    def __repr__(self) -> str:
        return self.name


def _shown(value: Any) -> str:
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{key}: {_shown(each)}" for key, each in value.items()]) + "}"
    return str(value)


def qualified_name(function: Any) -> str:
    """The name under which generated code finds a function: ``torch.relu``, ``operator.add``."""
    name = getattr(function, "__name__", str(function))
    if getattr(builtins, name, None) is function:
        return name
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    module = (getattr(function, "__module__", None) or "").replace("pytorchlike", "torch", 1)
    return f"{module}.{name}" if module else name
