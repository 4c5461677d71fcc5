"""torch.utils._pytree: nested containers as lists of leaves, by torch's names (see `core/pytree.py`), with paths and texts of structures."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import types
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from ..core import pytree
from ..core.pytree import SUPPORTED_NODES, TreeSpec, flatten, is_namedtuple_class, node_type, tree_map, unflatten
from ..core.pytree import NodeDef as NodeDef

__all__ = [
    "Context", "DumpableContext", "FlattenFn", "FromDumpableContextFn", "LeafSpec", "PyTree", "PyTreeSpec", "ToDumpableContextFn", "TreeSpec",
    "UnflattenFn", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
    "key_get", "keystr", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip

Context = Any
PyTree = Any
DumpableContext = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
PyTreeSpec = TreeSpec
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})

IsLeaf = Callable[[Any], bool] | None
tree_flatten = flatten
_get_node_type = node_type
_broadcast_to_and_flatten = pytree.broadcast


class _Leaves(type):
    """All structures of leaves are instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_Leaves):
    """The structure of a leaf; use ``spec.is_leaf()``."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return pytree.LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of such parts."""
    children = list(iterable)
    if any(not isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dictionary of such parts."""
    parts = dict(mapping, **kwargs)
    if any(not isinstance(child, TreeSpec) for child in parts.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {parts!r}.")
    return TreeSpec(dict, list(parts), list(parts.values()))


# ------------------------------------------------------------------------------------------------------------------- flat and back
def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is no container (or ``is_leaf`` says so)."""
    return is_leaf is not None and is_leaf(tree) or node_type(tree) not in SUPPORTED_NODES


def tree_unflatten(leaves: Any, treespec: Any) -> PyTree:
    """A nested container of a structure; the two arguments may stand the other way round.

    Raises:
        TypeError: neither is a structure.
    """
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
        leaves, treespec = treespec, leaves
    return unflatten(leaves, treespec)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a nested container."""
    return flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a nested container, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a nested container."""
    return flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves([*args, *kwargs.values()])


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call a function with each leaf; returns the container itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable], Callable]:
    """A decorator: the function is applied to values of these classes (or for which a predicate holds) only.

    Raises:
        TypeError: neither a class, classes, nor a predicate.
    """
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):
        chosen: Callable[[Any], bool] = lambda x: isinstance(x, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        chosen = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def decorate(func: Callable) -> Callable:
        @functools.wraps(func)
        def applied(x: Any) -> Any:
            return func(x) if chosen(x) else x

        return applied

    return decorate


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` for leaves of these classes; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map_` for leaves of these classes."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves of these classes."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for a leaf of these classes."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


# ---------------------------------------------------------------------------------------------------------------------- paths
@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What stands there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What stands there."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What stands there."""
        return getattr(obj, self.name)


def _with_keys(tree: PyTree, kind: Any) -> list[tuple[Any, Any]]:
    """The children of a container with their keys.

    Raises:
        ValueError: its class was registered without a function for that.
    """
    definition = SUPPORTED_NODES[kind]
    if definition.flatten_with_keys_fn is not None:
        return list(definition.flatten_with_keys_fn(tree)[0])
    if kind not in BUILTIN_TYPES and kind.__module__ != "torch.return_types":
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    children = definition.flatten_fn(tree)[0]
    if kind in STANDARD_DICT_TYPES:
        return [(MappingKey(key), child) for key, child in zip(tree, children)]
    if kind is namedtuple:
        return [(GetAttrKey(field), child) for field, child in zip(tree._fields, children)]
    return [(SequenceKey(i), child) for i, child in enumerate(children)]


def _paths(path: tuple, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[tuple, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    for key, child in _with_keys(tree, node_type(tree)):
        yield from _paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple, Any]]:
    """Pairs of path and leaf."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    """Pairs of path and leaf, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` with a function that is also given the path."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others)])


def keystr(kp: Iterable[Any]) -> str:
    """A path as text: ``['a'][0].b``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---------------------------------------------------------------------------------------------------------------- registering
class _Serialized(NamedTuple):
    """How the structure of a class is written as JSON."""

    typ: Any
    serialized_type_name: str | None
    to_dumpable_context: Callable | None = None
    from_dumpable_context: Callable | None = None


CONSTANT_NODES: set[type] = set()


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a value without leaves."""

    value: Any


def register_pytree_node(
    cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *, serialized_type_name: str | None = None,
    to_dumpable_context: Callable | None = None, from_dumpable_context: Callable | None = None, flatten_with_keys_fn: Callable | None = None,
) -> None:  # fmt: skip
    """Have a class count as a container.

    Args:
        serialized_type_name, to_dumpable_context, from_dumpable_context: for `treespec_dumps`.
        flatten_with_keys_fn: for paths.

    Raises:
        ValueError: it does already, or one of the functions for `treespec_dumps` is missing.
    """
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    pytree.register(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    if serialized_type_name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *others: Any, **kwargs: Any) -> None:
    """The old name of `register_pytree_node`."""
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use `torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning, stacklevel=2,
    )  # fmt: skip
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _private_register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, **kwargs: Any) -> None:
    """Register a class, also if it is already."""
    if cls in SUPPORTED_NODES:
        warnings.warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=3)
        del SUPPORTED_NODES[cls]
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _deregister_pytree_node(cls: type) -> None:
    """Have a class no longer count as a container."""
    del SUPPORTED_NODES[cls]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None, serialized_type_name: str | None = None
) -> None:
    """Have a dataclass, or a class made from named arguments, count as a container.

    Args:
        field_names: what makes an instance; all fields of a dataclass if left out.
        drop_field_names: fields of a dataclass that are left out.

    Raises:
        ValueError: the fields are not known, or not all of them are named.
    """
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass.")
    else:
        known = [f.name for f in dataclasses.fields(cls) if f.init]
        field_names = known if field_names is None else field_names
        wanted = set(known) - set(drop_field_names or []) if field_names is not known else set(known)
        missing, unexpected = wanted - set(field_names), set(field_names) - wanted
        if missing or unexpected:
            message = "field_names does not include all dataclass fields.\n"
            if missing:
                message += (
                    f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please add them to "
                    "`field_names`, otherwise please add them to `drop_field_names`.\n"
                )
            if unexpected:
                message += f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them to `drop_field_names`.\n"
            raise ValueError(message)
    names: list[str] = field_names

    def take_apart(obj: Any) -> tuple[list[Any], Context]:
        present = [name for name in names if getattr(obj, name) is not None]
        return [getattr(obj, name) for name in present], [present, [name for name in names if name not in present]]

    def put_together(values: Iterable[Any], context: Context) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Context]:
        values, context = take_apart(obj)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values)], context

    _private_register_pytree_node(
        cls, take_apart, put_together, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys
    )


def register_constant(cls: type) -> None:
    """Have a class count as a container without leaves, so that its values are part of the structure.

    Raises:
        TypeError: its values cannot be compared, or not hashed.
    """
    for method in ("__eq__", "__hash__"):
        if getattr(cls, method) is (object.__eq__ if method == "__eq__" else None):
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    take_apart: Callable = lambda x: ([], ConstantNode(x))
    _private_register_pytree_node(cls, take_apart, lambda _, context: context.value, flatten_with_keys_fn=take_apart)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether `register_constant` was called for a class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Let `treespec_dumps` write a class of named tuples."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(cls, serialized_type_name)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


# ------------------------------------------------------------------------------------------------------------ kinds of tuples
def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is one of the named sequences of Python's standard library (``time.struct_time``)."""
    names = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type) and cls.__bases__ == (tuple,) and all(isinstance(getattr(cls, name, None), int) for name in names)
        and not cls.__flags__ & 1 << 10
    )  # fmt: skip


def is_structseq_instance(obj: Any) -> bool:
    """Whether a value is such a sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether something is such a sequence or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


# --------------------------------------------------------------------------------------------------------- structures as text
class _EnumEncoder(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        if isinstance(o, Enum):
            return {"__enum__": True, "fqn": f"{type(o).__module__}:{type(o).__qualname__}", "name": o.name}
        return super().default(o)


def _enum_of(value: dict[str, Any]) -> Any:
    if "__enum__" not in value:
        return value
    module, _, name = value["fqn"].partition(":")
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))[value["name"]]  # type: ignore[index]


def _namedtuple_name(kind: Any) -> str:
    found = SUPPORTED_SERIALIZED_TYPES.get(kind)
    if found is None or found.serialized_type_name is None:
        reason = "didn't register a" if found is None else "couldn't find a"
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {kind} because we {reason} serializated_type_name. Please register using "
            "`_register_namedtuple`."
        )
    return found.serialized_type_name


def _namedtuple_of(name: str) -> Any:
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serializated name.")
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _defaultdict_text(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": keys}


def _defaultdict_context(text: dict[str, Any]) -> list[Any]:
    return [getattr(importlib.import_module(text["default_factory_module"]), text["default_factory_name"]), text["dict_context"]]


SUPPORTED_SERIALIZED_TYPES: dict[Any, _Serialized] = {
    kind: _Serialized(kind, f"{'collections' if kind in (OrderedDict, deque) else 'builtins'}.{kind.__name__}")
    for kind in (tuple, list, dict, OrderedDict, deque)
}
SUPPORTED_SERIALIZED_TYPES[namedtuple] = _Serialized(namedtuple, "collections.namedtuple", _namedtuple_name, _namedtuple_of)
SUPPORTED_SERIALIZED_TYPES[defaultdict] = _Serialized(defaultdict, "collections.defaultdict", _defaultdict_text, _defaultdict_context)
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str | None, Any] = {found.serialized_type_name: kind for kind, found in SUPPORTED_SERIALIZED_TYPES.items()}


def _as_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    found = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if found is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if found.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    if found.to_dumpable_context is not None:
        context = found.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=_EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using "
                "_register_pytree_node."
            ) from error
    return {"type": found.serialized_type_name, "context": context, "children_spec": [_as_json(child) for child in spec.children()]}


def _of_json(found: dict[str, Any]) -> TreeSpec:
    if found["type"] is None:
        return pytree.LEAF
    if found["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {found['type']} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[found["type"]]
    read = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    context = json.loads(found["context"], object_hook=_enum_of) if read is None else read(found["context"])
    return TreeSpec(kind, context, [_of_json(child) for child in found["children_spec"]])


def _check_protocol(protocol: Any) -> None:
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    protocol = 1 if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _as_json(treespec)), cls=_EnumEncoder)


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote."""
    protocol, found = json.loads(serialized)
    _check_protocol(protocol)
    return _of_json(found)


class _Star(str):
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as the text of a container whose leaves are stars."""
    return repr(treespec.unflatten([_Star("*")] * treespec.num_leaves))


# ------------------------------------------------------------------------------------------------- private names that libraries use
def _dict_flatten(d: dict) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict) -> tuple[list[tuple[Any, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten(d: list) -> tuple[list[Any], Context]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Context) -> list:
    return list(values)


def _list_flatten_with_keys(d: list) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None
