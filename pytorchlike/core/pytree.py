"""Nested containers of anything: `flatten` them into leaves and a `TreeSpec`, and `unflatten` them again.

As in torch, dictionaries keep their order and None is a leaf (jax's trees sort and drop them).  Containers are lists, tuples, named
tuples, dictionaries of the standard library, deques, and classes that were registered with `register`.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

__all__ = ["LEAF", "NodeKind", "TreeSpec", "broadcast", "flatten", "is_namedtuple", "leaves", "register", "tree_map", "unflatten"]


class NodeKind(NamedTuple):
    """How a class of containers comes apart (``value -> (children, context)``) and together (``children, context -> value``)."""

    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]


_KINDS: dict[type, NodeKind] = {
    tuple: NodeKind(lambda x: (x, None), lambda children, _: tuple(children)),
    list: NodeKind(lambda x: (x, None), lambda children, _: list(children)),
    dict: NodeKind(lambda x: (list(x.values()), list(x)), lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: NodeKind(lambda x: (list(x.values()), list(x)), lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: NodeKind(
        lambda x: (list(x.values()), [x.default_factory, list(x)]), lambda children, c: defaultdict(c[0], zip(c[1], children, strict=True))
    ),
    deque: NodeKind(lambda x: (list(x), x.maxlen), lambda children, maxlen: deque(children, maxlen)),
}
_NAMED = NodeKind(lambda x: (list(x), type(x)), lambda children, kind: kind(*children))
#: The torch.return_types: tuples whose class is made of one sequence.
_RESULTS = NodeKind(lambda x: (list(x), None), lambda children, kind: kind(tuple(children)))


def register(kind: type, flatten: Callable, unflatten: Callable) -> None:
    """Have a class count as a container.

    Raises:
        ValueError: it does already.
    """
    if kind in _KINDS:
        raise ValueError(f"{kind} is already registered as pytree node.")
    _KINDS[kind] = NodeKind(flatten, unflatten)


def is_namedtuple(value: Any) -> bool:
    """Whether a value is a tuple made by ``namedtuple`` or ``NamedTuple``."""
    return isinstance(value, tuple) and hasattr(value, "_fields") and hasattr(type(value), "_make")


class TreeSpec:
    """The structure of a nested container: its class, what else makes it, and the structures of its children.

    Attributes:
        kind: the container's class; None for a leaf.
        context: keys, named tuple class, ...
        children: the specs of its elements.
        leaf_count: how many leaves it has.
    """

    __slots__ = ("kind", "context", "children", "leaf_count")

    def __init__(self, kind: type | None, context: Any, children: Sequence[TreeSpec]) -> None:
        self.kind = kind
        self.context = context
        self.children = tuple(children)
        self.leaf_count = 1 if kind is None else sum(child.leaf_count for child in children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and (self.kind, self.context, self.children) == (other.kind, other.context, other.children)

    def __hash__(self) -> int:
        return hash((self.kind, repr(self.context), self.children))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.kind is None:
            return "*"
        kind = "namedtuple" if isinstance(self.context, type) else self.kind.__name__
        inner = f",\n{' ' * (indent + 2)}".join(child._text(indent + 2) for child in self.children)
        return f"TreeSpec({kind}, {self.context}, [{inner}])"


LEAF = TreeSpec(None, None, ())


def _node_kind(value: Any) -> NodeKind | None:
    kind = type(value)
    found = _KINDS.get(kind)
    if found is None and isinstance(value, tuple):
        return _NAMED if is_namedtuple(value) else _RESULTS if kind.__module__ == "torch.return_types" else None
    return found


def _kind_of(spec: TreeSpec) -> NodeKind:
    assert spec.kind is not None
    found = _KINDS.get(spec.kind)
    return found if found is not None else _NAMED if isinstance(spec.context, type) else _RESULTS


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a nested container, in order, and its structure."""
    found: list[Any] = []
    return found, _flatten(tree, found, is_leaf)


def _flatten(tree: Any, found: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _node_kind(tree)
    if kind is None:
        found.append(tree)
        return LEAF
    children, context = kind.flatten(tree)
    return TreeSpec(type(tree), context, [_flatten(child, found, is_leaf) for child in children])


def leaves(tree: Any) -> list[Any]:
    """The leaves of a nested container."""
    return flatten(tree)[0]


def unflatten(values: Iterable[Any], spec: TreeSpec) -> Any:
    """A nested container of this structure.

    Raises:
        ValueError: another number of leaves.
    """
    values = list(values)
    if len(values) != spec.leaf_count:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(values)} but the spec refers to a pytree that holds "
            f"{spec.leaf_count} items ({spec})."
        )
    return _unflatten(iter(values), spec)


def _unflatten(values: Any, spec: TreeSpec) -> Any:
    if spec.kind is None:
        return next(values)
    children = [_unflatten(values, child) for child in spec.children]
    kind = _kind_of(spec)
    return kind.unflatten(children, spec.kind if kind is _RESULTS else spec.context)


def tree_map(function: Callable, tree: Any, *others: Any) -> Any:
    """The container with ``function`` of each leaf (and of the leaves of ``others``, of the same structure) in the leaf's place."""
    values, spec = flatten(tree)
    return unflatten(map(function, values, *[leaves(other) for other in others]), spec)


def broadcast(prefix: Any, spec: TreeSpec) -> list[Any] | None:
    """For each leaf of ``spec`` the leaf of ``prefix`` that stands for it: a leaf in place of a container stands for all of its leaves.

    Returns:
        the leaves; None when the prefix does not fit the structure.
    """
    kind = _node_kind(prefix)
    if kind is None:
        return [prefix] * spec.leaf_count
    children, context = kind.flatten(prefix)
    if spec.kind is not type(prefix) or spec.context != context or len(children) != len(spec.children):
        return None
    found: list[Any] = []
    for child, child_spec in zip(children, spec.children):
        part = broadcast(child, child_spec)
        if part is None:
            return None
        found += part
    return found
