"""Reading ``dynamic_shapes``: it is checked against the arguments, and becomes symbols and shapes that have them in the place of sizes."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Sequence
from typing import Any

from ..core import pytree
from ..tensors.tensor import Tensor
from ..utils._pytree import BUILTIN_TYPES, GetAttrKey, MappingKey, SequenceKey, keystr, tree_flatten_with_path
from .dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, _DimHint, _DimHintType, _readable, affine_text, arguments_of
from .errors import ConstraintViolationError, UserError, UserErrorType
from .ranges import bounds_of, int_oo

__all__ = ["Argument", "Place", "Shape", "Symbol", "Symbols", "number_of", "read_shapes", "sizes_of"]


@dataclasses.dataclass
class Symbol:
    """A number that may differ from call to call, on which sizes of the arguments depend.

    Attributes:
        name: in the exported program, torch's.
        label: what the user calls it.
        kind: "Dim", "DYNAMIC" or "AUTO"; of the latter two, guards ask for a least size only where it is above 2.
        example: the number in the example arguments.
        least, most: bounds.
        is_input: it is itself a size of an argument.
        step, rest: it is ``rest`` more than a multiple of ``step``.
    """

    name: str
    label: str
    kind: str
    example: int
    least: int
    most: int | None
    is_input: bool = True
    step: int = 1
    rest: int = 0

    @property
    def is_within(self) -> bool:
        """Whether the example's size is within the bounds."""
        return self.least <= self.example and (self.most is None or self.example <= self.most)


@dataclasses.dataclass(frozen=True)
class Place:
    """A size that may differ: ``factor * symbol + offset``."""

    symbol: str
    factor: int = 1
    offset: int = 0

    def __str__(self) -> str:
        return affine_text(self.symbol, self.factor, self.offset)

    def of(self, sizes: dict[str, Any]) -> Any:
        """The size for a number of the symbol."""
        return self.factor * sizes[self.symbol] + self.offset

    def solved(self, size: int) -> int | None:
        """The symbol's number for a size, if there is one."""
        number, rest = divmod(size - self.offset, self.factor)
        return None if rest else number


Shape = tuple[Any, ...]  # of int and Place


def sizes_of(shape: Shape, numbers: dict[str, int]) -> tuple[int, ...]:
    """A shape for numbers of its symbols."""
    return tuple([place.of(numbers) if isinstance(place, Place) else place for place in shape])


@dataclasses.dataclass(frozen=True)
class Argument:
    """A leaf of the arguments, as error texts name it.

    Attributes:
        source: in the function, ``L['x'][0]``.
        path: the same without the function.
        name: in guards, ``x[0]``.
        place: in the call, ``*args[0][0]``.
    """

    source: str
    path: str
    name: str
    place: str


@dataclasses.dataclass
class Symbols:
    """The symbols of a program.

    Attributes:
        table: by name, in the order of the arguments.
        shapes: of each leaf of the arguments; None for what is no tensor.
        arguments: these leaves.
        places: in which dimension of which leaf a symbol was found: (number of the leaf, dimension, what was said of it).
    """

    table: dict[str, Symbol]
    shapes: list[Shape | None]
    arguments: list[Argument]
    places: list[tuple[int, int, Any]] = dataclasses.field(default_factory=list)

    @property
    def tensor_shapes(self) -> list[Shape]:
        """The shapes of the tensors among the arguments."""
        return [shape for shape in self.shapes if shape is not None]

    def source(self, name: str) -> str:
        """Where a symbol's size is read: ``L['x'].size()[0]``."""
        for argument, shape in zip(self.arguments, self.shapes, strict=True):
            for d, place in enumerate(shape or ()):
                if isinstance(place, Place) and place.symbol == name:
                    return f"{argument.source}.size()[{d}]"
        return name


def _invalid(message: str, kind: UserErrorType = UserErrorType.INVALID_INPUT) -> UserError:
    return UserError(kind, message, "dynamic_shapes_validation" if kind is UserErrorType.INVALID_INPUT else None)


def read_shapes(mod: Any, args: tuple, kwargs: dict[str, Any], shapes: Any) -> Symbols:
    """The symbols that ``dynamic_shapes`` says there are.

    Raises:
        UserError: it does not have the arguments' structure, or is not true of them; torch's texts.
        ConstraintViolationError: an example's size is out of bounds.
        NotImplementedError: a number among the arguments is to be dynamic.
    """
    named = arguments_of(mod, args, kwargs)
    if isinstance(shapes, (ShapesCollection, AdditionalInputs)):
        shapes = shapes.dynamic_shapes(mod, args, kwargs)
    leaves, arguments = _leaves(mod, args, kwargs, named)
    known = Symbols({}, [tuple(leaf.shape) if isinstance(leaf, Tensor) else None for leaf in leaves], arguments)
    if shapes is None or len(shapes) == 0:
        return known
    if not isinstance(shapes, (dict, tuple, list)):
        raise AssertionError(f"expected dynamic_shapes to be dict, tuple, or list, got {type(shapes)}")
    if isinstance(shapes, dict):
        _check_keys(named, shapes)
    given: list[tuple[Any, Any, tuple]] = []
    _match(dict(named) if isinstance(shapes, dict) else type(shapes)(named.values()), shapes, (), given)
    bounds: dict[str, tuple[Any, Any]] = {}
    for leaf, spec, path in given:
        _check(leaf, spec, path, bounds)
    _fill(known, leaves, given)
    return known


def _leaves(mod: Any, args: tuple, kwargs: dict[str, Any], named: dict[str, Any]) -> tuple[list[Any], list[Argument]]:
    """The leaves of the arguments in the order of ``(args, kwargs)``, and their names by those of the function's parameters."""
    function = mod.forward if hasattr(mod, "forward") else mod
    parameters = list(inspect.signature(function).parameters.values())
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    keywords = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "kwargs")
    leaves: list[Any] = []
    found = []

    def add(source: str, place: str, name: str, value: Any, given: str) -> None:
        for path, leaf in tree_flatten_with_path(value)[0]:
            leaves.append(leaf)
            inner = f"['{source}']{place}{keystr(path)}"
            found.append(Argument(f"L{inner}", inner, name + keystr(path), given + keystr(path)))

    for k, value in enumerate(args):
        if k < len(plain):
            add(plain[k], "", plain[k], value, f"*args[{k}]")
        else:
            add(rest, f"[{k - len(plain)}]", f"{rest}_{k - len(plain)}", value, f"*args[{k}]")
    for name, value in kwargs.items():
        if name in named:
            add(name, "", name, value, f"**kwargs[{name!r}]")
        else:
            add(keywords, f"[{name!r}]", name, value, f"**kwargs[{name!r}]")
    return leaves, found


def _check_keys(named: dict[str, Any], shapes: dict[str, Any]) -> None:
    if sorted(map(str, shapes)) == sorted(named):
        return
    message = (
        f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {list(named)} of `inputs`, but here they are {list(shapes)}. "
    )
    if len(named) == 1 and isinstance(next(iter(named.values())), dict):
        raise _invalid(
            message + "Since here `inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose `dynamic_shapes` in a list/tuple?"
        )
    raise _invalid(
        message + "Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`."
    )


def _match(value: Any, spec: Any, path: tuple, found: list[tuple[Any, Any, tuple]]) -> None:
    """Pair the leaves of the arguments with what is said of them."""
    kind, place = pytree.node_type(value), keystr(path)
    if kind not in pytree.SUPPORTED_NODES:
        found.append((value, spec, path))
        return
    children = pytree.SUPPORTED_NODES[kind].flatten_fn(value)[0]
    if kind not in BUILTIN_TYPES:  # a class of the user: its shapes are those of its parts in order
        parts = pytree.SUPPORTED_NODES[kind].flatten_fn(spec)[0] if pytree.node_type(spec) is kind else spec
        if isinstance(parts, dict):
            parts = list(parts.values())
        if not isinstance(parts, (list, tuple)):
            raise _mismatch(f"`inputs{place}` is a {kind}, but `dynamic_shapes{place}` is not")
        keys: list[Any] = [SequenceKey(k) for k in range(len(children))]
    else:
        other = pytree.node_type(spec)
        if other not in pytree.SUPPORTED_NODES:
            raise _mismatch(f"`inputs{place}` is a {kind}, but `dynamic_shapes{place}` is not")
        if other is not kind:
            raise _mismatch(f"`inputs{place}` is a {kind}, but `dynamic_shapes{place}` is a {other}")
        parts = pytree.SUPPORTED_NODES[kind].flatten_fn(spec)[0]
        if isinstance(value, dict) and len(parts) == len(children):
            if set(value) != set(spec):
                raise _mismatch(f"`inputs{place}` has keys {list(value)}, but `dynamic_shapes{place}` has keys {list(spec)}")
            parts, keys = [spec[key] for key in value], [MappingKey(key) for key in value]
        elif hasattr(value, "_fields"):
            keys = [GetAttrKey(name) for name in value._fields]
        else:
            keys = [SequenceKey(k) for k in range(len(children))]
    if len(children) != len(parts):
        raise _mismatch(f"`inputs{place}` has {len(children)} elements, but `dynamic_shapes{place}` has {len(parts)} elements")
    for key, child, part in zip(keys, children, parts, strict=True):
        _match(child, part, (*path, key), found)


def _mismatch(message: str) -> UserError:
    return _invalid(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {message}")


def _check(leaf: Any, spec: Any, path: tuple, bounds: dict[str, tuple[Any, Any]]) -> None:
    """Whether what is said of a leaf can be said."""
    place = keystr(path)
    if not isinstance(leaf, Tensor):
        if type(leaf) is int and isinstance(spec, Dim):
            raise ValueError("Unable to specify input integers as dynamic through named Dims. Please use Dim.AUTO/DYNAMIC instead.")
        if type(leaf) is int and isinstance(spec, _DimHint):
            if spec.type is _DimHintType.DYNAMIC:
                raise NotImplementedError(
                    f"export: `dynamic_shapes{place}` is Dim.DYNAMIC for an integer; numbers among the arguments are constants of the program"
                )
            return
        if type(leaf) is int and not (spec is None or isinstance(spec, int)):
            raise AssertionError(f"expected dynamic_shape to be None, int, or _DimHint for _IntWrapper, got {type(spec)}")
        if spec is not None and type(leaf) is not int:
            raise _invalid(
                f"Cannot associate shape {spec} specified at `dynamic_shapes{place}` to non-tensor type {type(leaf)} at `inputs{place}` (expected None)"
            )
        return
    if spec is None:
        return
    if not isinstance(spec, (dict, tuple, list)):
        raise _invalid(
            f"Unexpected input tensor shape {spec} specified at `dynamic_shapes{place}` (expected either a list/tuple of dimensions, or a dict mapping "
            "indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)"
        )
    if not isinstance(spec, dict) and len(spec) != leaf.dim():
        raise _invalid(
            f"Expected dynamic shape spec {spec} specified at `dynamic_shapes{place}` to have the same length as the actual tensor shape {leaf.shape} "
            f"(expected {leaf.dim()}, but got {len(spec)} instead)"
        )
    for d, dim in spec.items() if isinstance(spec, dict) else enumerate(spec):
        if isinstance(dim, Dim):
            _check_same_bounds(dim, bounds)
        elif dim is not None and not isinstance(dim, (int, _DimHint)):
            where = f"mapped to index {d}" if isinstance(spec, dict) else f"#{d}"
            raise _invalid(
                f"Unexpected dimension {where} in input tensor shape {spec} specified at `dynamic_shapes{place}` (expected None, an int, a Dim, Dim.AUTO, "
                f"Dim.STATIC, or Dim.DYNAMIC, but got {dim!r} instead)"
            )
        if isinstance(spec, dict) and not isinstance(d, int):
            raise TypeError(f"`dynamic_shapes{place}`: dimensions are integers, not {type(d).__name__}")
        if not -leaf.dim() <= d < leaf.dim():
            raise IndexError(f"`dynamic_shapes{place}`: the tensor has {leaf.dim()} dimensions, so {d} is out of range")


def _check_same_bounds(dim: Dim, bounds: dict[str, tuple[Any, Any]]) -> None:
    least, most = bounds.setdefault(dim.__name__, (dim.min, dim.max))
    if (least, most) != (dim.min, dim.max):
        raise UserError(
            UserErrorType.INVALID_INPUT,
            f"Found different definitions {_readable(dim.__name__, least, most)} and {dim!r} for the same symbolic dimension {dim!r}!",
        )


# ------------------------------------------------------------------------------------------------------------------ symbols
def _fill(known: Symbols, leaves: Sequence[Any], given: Sequence[tuple[Any, Any, tuple]]) -> None:
    """Put symbols in the shapes."""
    numbers: dict[int, list[int]] = {}
    for k, leaf in enumerate(leaves):
        numbers.setdefault(id(leaf), []).append(k)
    pending: list[tuple[int, int, Dim]] = []
    by_dim: dict[str, str] = {}
    used: set[int] = set()
    for leaf, spec, _ in given:
        if spec is None or not isinstance(leaf, Tensor):
            continue
        k = numbers[id(leaf)].pop(0) if len(numbers[id(leaf)]) > 1 else numbers[id(leaf)][0]
        for index, dim in sorted((d % leaf.dim(), dim) for d, dim in (spec.items() if isinstance(spec, dict) else enumerate(spec))):
            source, size = f"{known.arguments[k].source}.size()[{index}]", int(leaf.shape[index])
            if dim is None or isinstance(dim, _DimHint) and dim.type is _DimHintType.STATIC:
                continue
            known.places.append((k, index, dim))
            if isinstance(dim, int):
                if dim != size:
                    raise ConstraintViolationError(f"Static shape constraint of {dim} does not match input size of {size}, for {source}")
            elif isinstance(dim, _DimHint):
                _add(known, used, source, source, dim.type.name, size, dim, k, index)
            elif dim._parts[1:] == (1, 0):
                _add_named(known, used, by_dim, source, size, dim, k, index)
            else:
                pending.append((k, index, dim))
    for k, index, dim in pending:
        _add_derived(known, used, by_dim, k, index, dim)


def _name(source: str, used: set[int]) -> str:
    number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
    while number in used:
        number += 1
    used.add(number)
    return f"s{number}"


def _put(known: Symbols, k: int, index: int, place: Place) -> None:
    shape = known.shapes[k]
    assert shape is not None
    known.shapes[k] = (*shape[:index], place, *shape[index + 1 :])


def _add(known: Symbols, used: set[int], source: str, label: str, kind: str, size: int, dim: Any, k: int, index: int) -> Symbol:
    least, most = bounds_of(dim)
    symbol = Symbol(_name(source, used), label, kind, size, least if kind == "Dim" else max(least, 2), most)
    known.table[symbol.name] = symbol
    _put(known, k, index, Place(symbol.name))
    if kind == "Dim" and not symbol.is_within:
        raise ConstraintViolationError(f"{size} not in range [{max(symbol.least, 2)}, {int_oo if most is None else most}]")
    return symbol


def _add_named(known: Symbols, used: set[int], by_dim: dict[str, str], source: str, size: int, dim: Dim, k: int, index: int) -> None:
    name = dim.__name__
    if name not in by_dim:
        by_dim[name] = _add(known, used, source, name, "Dim", size, dim, k, index).name
        return
    symbol = known.table[by_dim[name]]
    if symbol.example != size:
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION, f"{source} = {size} is not equal to {known.source(symbol.name)} = {symbol.example}"
        )
    _put(known, k, index, Place(symbol.name))
    by_dim[name] = min(symbol.name, _name(source, used), key=number_of)
    _rename(known, symbol, by_dim[name])


def number_of(name: str) -> int:
    """The number in a symbol's name; of equal sizes, torch keeps the symbol with the least one."""
    return int(name[1:])


def _rename(known: Symbols, symbol: Symbol, name: str) -> None:
    old, symbol.name = symbol.name, name
    known.table = {each.name: each for each in known.table.values()}
    for k, shape in enumerate(known.shapes):
        if shape is not None:
            known.shapes[k] = tuple([Place(name, p.factor, p.offset) if isinstance(p, Place) and p.symbol == old else p for p in shape])


def _add_derived(known: Symbols, used: set[int], by_dim: dict[str, str], k: int, index: int, dim: Dim) -> None:
    """A dimension that is an expression of another; where that one is no argument's dimension, it is a symbol of its own."""
    root, factor, offset = dim._parts
    shape, source = known.shapes[k], f"{known.arguments[k].source}.size()[{index}]"
    assert shape is not None
    size = shape[index]
    if root.__name__ not in by_dim:
        number = Place("", factor, offset).solved(size)
        if number is None:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"Expected shape[{index}] = {size} of input Tensor to be of the form {dim!r}, where {root.__name__} is an integer",
            )
        least, most = bounds_of(root)
        symbol = Symbol(_name(root.__name__, used), root.__name__, "Dim", number, least, most, is_input=False)
        if not symbol.is_within:
            raise ConstraintViolationError(f"{number} not in range [{least}, {int_oo if most is None else most}]")
        known.table[symbol.name], by_dim[root.__name__] = symbol, symbol.name
    symbol = known.table[by_dim[root.__name__]]
    place = Place(symbol.name, factor, offset)
    if place.of({symbol.name: symbol.example}) != size:
        raise UserError(
            UserErrorType.CONSTRAINT_VIOLATION,
            f"Expected input {source} to be equal to {dim!r}, where {root.__name__} = {symbol.example}, but got {size}",
        )
    _put(known, k, index, place)
