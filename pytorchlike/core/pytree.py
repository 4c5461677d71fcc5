"""Nested containers of anything: `flatten` them into leaves and a `TreeSpec`, and `unflatten` them again.

As in torch, dictionaries keep their order and None is a leaf (jax's trees sort and drop them).  Containers are lists, tuples, named
tuples, dictionaries of the standard library, deques, and classes that were registered with `register`.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

__all__ = [
    "LEAF", "SUPPORTED_NODES", "NodeDef", "TreeSpec", "broadcast", "flatten", "is_namedtuple_class", "leaves", "node_type", "register", "tree_map",
    "unflatten",
]  # fmt: skip


class NodeDef(NamedTuple):
    """How a class of containers comes apart (``value -> (children, context)``) and together (``children, context -> value``).

    Attributes:
        flatten_with_keys_fn: like ``flatten_fn``, with pairs of key and child.
    """

    type: Any
    flatten_fn: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Sequence[tuple[Any, Any]], Any]] | None = None


#: Class -> how it is taken apart; all named tuples are under ``collections.namedtuple``.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(tuple, lambda x: (list(x), None), lambda children, _: tuple(children)),
    list: NodeDef(list, lambda x: (x, None), lambda children, _: list(children)),
    dict: NodeDef(dict, lambda x: (list(x.values()), list(x)), lambda children, keys: dict(zip(keys, children, strict=True))),
    namedtuple: NodeDef(namedtuple, lambda x: (list(x), type(x)), lambda children, kind: kind(*children)),
    OrderedDict: NodeDef(
        OrderedDict, lambda x: (list(x.values()), list(x)), lambda children, keys: OrderedDict(zip(keys, children, strict=True))
    ),
    defaultdict: NodeDef(
        defaultdict, lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda children, c: defaultdict(c[0], zip(c[1], children, strict=True)),
    ),
    deque: NodeDef(deque, lambda x: (list(x), x.maxlen), lambda children, maxlen: deque(children, maxlen)),
}  # fmt: skip
_DICTS = frozenset({dict, OrderedDict, defaultdict})
_BUILTIN = frozenset(SUPPORTED_NODES)


def register(kind: type, flatten: Callable, unflatten: Callable, flatten_with_keys: Callable | None = None) -> None:
    """Have a class count as a container.

    Raises:
        ValueError: it does already.
    """
    if kind in SUPPORTED_NODES:
        raise ValueError(f"{kind} is already registered as pytree node.")
    SUPPORTED_NODES[kind] = NodeDef(kind, flatten, unflatten, flatten_with_keys)


def is_namedtuple_class(kind: Any) -> bool:
    """Whether a class was made by ``namedtuple`` or ``NamedTuple``."""
    return (
        isinstance(kind, type) and issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)
        and callable(getattr(kind, "_make", None)) and callable(getattr(kind, "_asdict", None))
    )  # fmt: skip


def node_type(tree: Any) -> Any:
    """What a container is registered under; its class where it is none."""
    kind = type(tree)
    if kind in _BUILTIN or not isinstance(tree, tuple):
        return kind
    if is_namedtuple_class(kind):
        return namedtuple
    if kind.__module__ == "torch.return_types" and kind not in SUPPORTED_NODES:
        register(kind, lambda x: (list(x), None), lambda children, _: kind(tuple(children)))
    return kind


class TreeSpec:
    """The structure of a nested container: its class, what else makes it, and the structures of its children.

    Attributes:
        type: what the container is registered under; None for a leaf.
        context: keys, named tuple class, ...
        num_nodes, num_leaves, num_children: how many containers and leaves, leaves, and direct children there are.
    """

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    num_nodes: int
    num_leaves: int

    def __init__(self, type: Any, context: Any, children_specs: Sequence[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = list(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in self._children)
        self.num_children = len(self._children)

    @property
    def context(self) -> Any:
        """What makes the container beside its class and its children."""
        return self._context

    def is_leaf(self) -> bool:
        """Whether this is the structure of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self is other or (
            str(self.type) == str(other.type) and self._context == other._context and self._children == other._children
        )

    def __hash__(self) -> int:
        context: Any = None  # that of a registered class may not be hashable
        if self.type is defaultdict:
            context = self._context[0], tuple(self._context[1])
        elif self.type in _DICTS:
            context = tuple(self._context)
        elif self.type in _BUILTIN:
            context = self._context
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(child._text(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A nested container of this structure.

        Raises:
            ValueError: another number of leaves.
        """
        values = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers to a pytree that holds {self.num_leaves} "
                f"items ({self})."
            )
        return self._build(iter(values))

    def _build(self, values: Any) -> Any:
        if self.type is None:
            return next(values)
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(values) for child in self._children], self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What stands in a container where this structure has its leaves; dictionaries may be of another class.

        Raises:
            ValueError: the container does not begin with this structure, torch's texts.
        """
        if self.type is None:
            return [tree]
        found: list[Any] = []
        for child, part in zip(self._children, self._parts_of(tree), strict=True):
            found += child.flatten_up_to(part)
        return found

    def _parts_of(self, tree: Any) -> Sequence[Any]:
        kind = node_type(tree)
        are_dicts = self.type in _DICTS and kind in _DICTS
        if kind != self.type and not are_dicts:
            raise ValueError(f"{'Node type' if self.type in _BUILTIN else 'Type'} mismatch; expected {self.type!r}, but got {kind!r}.")
        parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(parts) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(parts)}.")
        if are_dicts:
            return self._in_order(tree)
        if context != self._context and kind is not deque:
            if self.type not in _BUILTIN:
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}.")
        return parts

    def _in_order(self, tree: dict) -> list[Any]:
        """The values of a dictionary in the order of this structure's keys."""
        keys = self._context[1] if self.type is defaultdict else self._context
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            message = f"; missing key(s): {missing}" if missing else ""
            raise ValueError(f"Node keys mismatch{message}{f'; extra key(s): {extra}' if extra else ''}.")
        return [tree[key] for key in keys]


LEAF = TreeSpec(None, None, ())


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a nested container, in order, and its structure."""
    found: list[Any] = []
    return found, _flatten(tree, found, is_leaf)


def _flatten(tree: Any, found: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else node_type(tree)
    if kind not in SUPPORTED_NODES:
        found.append(tree)
        return LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, found, is_leaf) for child in children])


def leaves(tree: Any) -> list[Any]:
    """The leaves of a nested container."""
    return flatten(tree)[0]


def unflatten(values: Iterable[Any], spec: TreeSpec) -> Any:
    """A nested container of this structure.

    Raises:
        ValueError: another number of leaves.
    """
    return spec.unflatten(values)


def tree_map(function: Callable, tree: Any, *others: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The container with ``function`` of each leaf, and of what stands there in the others, in the leaf's place."""
    values, spec = flatten(tree, is_leaf)
    return spec.unflatten(list(map(function, values, *[spec.flatten_up_to(other) for other in others])))


def broadcast(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """For each leaf of ``spec`` the leaf of ``prefix`` that stands for it: a leaf in place of a container stands for all of its leaves.

    Returns:
        the leaves; None when the prefix does not fit the structure.
    """
    values, prefix_spec = flatten(prefix)
    try:
        parts = prefix_spec.flatten_up_to(spec.unflatten([0] * spec.num_leaves))
    except ValueError:
        return None
    return [value for value, part in zip(values, parts, strict=True) for _ in leaves(part)]
