"""`Dim`, and what else says which dimensions of the inputs may differ from those of the examples.

What is said is read by shape_specs.py and held against the module by constraints.py.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from ..core import pytree
from ..tensors.tensor import Tensor
from ..utils._pytree import tree_iter, tree_map_only
from .errors import UserError, UserErrorType
from .ranges import int_oo

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims", "refine_dynamic_shapes_from_suggested_fixes"]


class _DimHintType(Enum):
    AUTO = auto()
    STATIC = auto()
    DYNAMIC = auto()


@dataclasses.dataclass
class _DimHint:
    """A dimension without a name; called with bounds, the same with these."""

    type: _DimHintType
    min: int | None = None
    max: int | None = None
    _factory: bool | None = True

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:
        """The same with bounds.

        Raises:
            TypeError: it has bounds; AssertionError: they are none.  torch's texts.
        """
        if not self._factory:
            raise TypeError(f"'{type(self)}' object is not callable")
        for name, bound in (("min", min), ("max", max)):
            if bound is not None and bound < 0:
                raise AssertionError(f"{name} must be non-negative, got {bound}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return _DimHint(self.type, min, max, False)

    def __repr__(self) -> str:
        bounds = [f"{name}={bound}" for name, bound in (("min", self.min), ("max", self.max)) if bound is not None]
        return f"DimHint({', '.join([self.type.name, *bounds])})"


_DimHint.__module__ = "torch.export.dynamic_shapes"


class Dim:
    """A named dimension that may differ, within bounds; ``2 * dim + 1`` is one that differs with it.

    Attributes:
        AUTO: may differ if the module does not depend on its size.
        DYNAMIC: the same, but it is an error if the module needs one size.
        STATIC: is what it is in the examples.

    Raises:
        AssertionError: ``max`` is not above ``min``, or the name is none; torch's text.
    """

    __module__ = "torch.export.dynamic_shapes"
    AUTO, DYNAMIC, STATIC = _DimHint(_DimHintType.AUTO), _DimHint(_DimHintType.DYNAMIC), _DimHint(_DimHintType.STATIC)
    __name__: str
    min: Any
    max: Any

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min = 0 if min is None else min
        self.max = int_oo if max is None else max
        if not self.max > self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    @property
    def _parts(self) -> tuple[Dim, int, int]:
        """``root, factor, offset``."""
        return self, 1, 0

    def _derived(self, factor: int, offset: int) -> Dim:
        root, times, plus = self._parts
        return _DerivedDim(root, times * factor, plus * factor + offset)

    def _check(self, other: Any, what: str, is_right: bool, wanted: str) -> None:
        if not is_right:
            raise NotImplementedError(
                f"Attempted to {what}, where {wanted} was expected. (Only increasing linear operations with integer coefficients are supported.)"
            )

    def __add__(self, other: int) -> Dim:
        self._check(other, f"add {other} to {self.__name__}", type(other) is int, "an integer")
        return self._derived(1, other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        self._check(other, f"subtract {other} from {self.__name__}", type(other) is int, "an integer")
        return self._derived(1, -other)

    def __rsub__(self, other: int) -> Dim:
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. (Only increasing linear operations with integer coefficients are supported.)"
        )

    def __mul__(self, other: int) -> Dim:
        self._check(other, f"multiply {other} with {self.__name__}", type(other) is int and other > 0, "a positive integer")
        return self._derived(other, 0)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return _readable(self.__name__, self.min, self.max)


def _readable(name: str, least: Any, most: Any) -> str:
    bounds = [f"min={least}"] * (least not in (None, 2)) + [f"max={most}"] * (most is not None and most != int_oo)
    return f"Dim({', '.join([repr(name), *bounds])})"


def affine_text(name: str, factor: int, offset: int) -> str:
    """``factor * name + offset`` as torch writes it."""
    product = name if factor == 1 else f"{factor}*{name}"
    return product if not offset else f"{product} {'+' if offset > 0 else '-'} {abs(offset)}"


class _DerivedDim(Dim):
    """``factor * root + offset``."""

    def __init__(self, root: Dim, factor: int, offset: int) -> None:
        self.root, self.factor, self.offset = root, factor, offset
        self.__name__ = affine_text(root.__name__, factor, offset)

    @property
    def _parts(self) -> tuple[Dim, int, int]:
        return self.root, self.factor, self.offset

    def fn(self, size: int) -> int:
        """The size for one of the root."""
        return self.factor * size + self.offset

    def _bound(self, which: str, bound: Any, is_right: Callable[[Any], bool], wanted: str) -> Any:
        found = self.fn(bound)
        if not is_right(found):
            raise AssertionError(
                f"Expected derived {which} value of {self.__name__} to be {wanted}. Please specify an appropriate {which} value for "
                f"{self.root.__name__} (currently {bound})."
            )
        return found

    @property
    def min(self) -> Any:  # type: ignore[override]
        """The least size.

        Raises:
            AssertionError: it is below 0; torch's text.
        """
        return self._bound("min", self.root.min, lambda n: n >= 0, ">= 0")

    @property
    def max(self) -> Any:  # type: ignore[override]
        """The largest size.

        Raises:
            AssertionError: there is no such integer; torch's text.
        """
        if self.root.max is int_oo:
            return int_oo
        return self._bound("max", self.root.max, lambda n: n <= sys.maxsize - 1, f"<= {sys.maxsize - 1}")

    def __repr__(self) -> str:
        return self.__name__


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim`s."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def arguments_of(mod: Any, args: tuple, kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call by the names that the function has for them."""
    function = mod.forward if hasattr(mod, "forward") else mod
    return inspect.signature(function).bind(*args, **(kwargs or {})).arguments


# ------------------------------------------------------------------------------------------------------------- collections
class ShapesCollection:
    """Shapes by tensors, from which ``dynamic_shapes`` in the arguments' structure are made."""

    __module__ = "torch.export.dynamic_shapes"

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Tensor, Any]] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        """Say what may differ of a tensor.

        Raises:
            AssertionError: no tensor, or another shape was given; torch's texts.
        """
        if not isinstance(t, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor or non-_IntWrapper type {type(t)}")
        known = self._shapes.get(id(t))
        if known is not None and known[1] != shape:
            raise AssertionError(f"Shapes assigned to input do not match: expected {known[1]}, got {shape}")
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t: Any) -> Any:
        """What was said of a tensor; else an empty dictionary."""
        return self._shapes[id(t)][1] if id(t) in self._shapes else {}

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
        """The shapes in the structure of the arguments.

        Raises:
            ValueError: a tensor is not among the arguments.
        """
        found: set[int] = set()

        def shape(leaf: Any) -> Any:
            if id(leaf) not in self._shapes:
                return None
            found.add(id(leaf))
            return self._shapes[id(leaf)][1]

        shapes = pytree.tree_map(shape, dict(arguments_of(m, args, kwargs)))
        if set(self._shapes) - found:
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args. Maybe such tensors were copied when passing them as args? Maybe such "
                "tensors are contained in classes that were not registered with pytree?"
            )
        return shapes


class AdditionalInputs:
    """Further examples: a dimension that differs between them is `Dim.DYNAMIC`."""

    __module__ = "torch.export.dynamic_shapes"

    def __init__(self) -> None:
        self._examples: list[tuple[tuple, dict[str, Any]]] = []

    def add(self, args: tuple, kwargs: dict[str, Any] | None = None) -> None:
        """Add an example.

        Raises:
            AssertionError: ``args`` is no tuple, or ``kwargs`` no dictionary.
        """
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs or {}))

    def dynamic_shapes(self, m: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
        """The shapes that the examples and these arguments have in common.

        Raises:
            ValueError: an example has another structure; torch's texts.
        """
        first, *others = [dict(arguments_of(m, *each)) for each in ((args, kwargs), *self._examples)]

        def differing(leaf: Any, *alike: Any) -> Any:
            if isinstance(leaf, Tensor):
                sizes = [tuple(each.shape) for each in (leaf, *alike)]
                for size in sizes:
                    if len(size) != len(sizes[0]):
                        raise ValueError(f"Node arity mismatch; expected {len(sizes[0])}, but got {len(size)}.")
                return tuple([None if len(set(each)) == 1 else Dim.DYNAMIC for each in zip(*sizes, strict=True)])
            return None if all(each == leaf for each in alike) else Dim.DYNAMIC

        return pytree.tree_map(differing, first, *others)

    def verify(self, ep: Any) -> None:
        """Call a program with all examples; raises what it raises."""
        run = ep.module()
        for args, kwargs in self._examples:
            run(*args, **kwargs)


# ---------------------------------------------------------------------------------------------------------- suggested fixes
_FIX = re.compile(r"(\w+) = (?:Dim\('\w+'(?:, min=(\d+))?(?:, max=(\d+|oo))?\)|(?:(\d+)\*)?([A-Za-z_]\w*)(?: ([+-]) (\d+))?|(\d+))$")


def _named_dims(shapes: Any) -> Iterator[Dim]:
    yield from (leaf for leaf in tree_iter(shapes) if isinstance(leaf, Dim))


def refine_dynamic_shapes_from_suggested_fixes(msg: str, dynamic_shapes: Any) -> Any:
    """``dynamic_shapes`` with what an error's text suggests.

    Raises:
        UserError: the text suggests nothing.
    """
    _, found, text = msg.partition("Suggested fixes:")
    if not found:
        raise UserError(
            UserErrorType.INVALID_INPUT, "Suggested fixes not found in error message given to refine_dynamic_shapes_from_suggested_fixes()"
        )
    known = {root.__name__: root for dim in _named_dims(dynamic_shapes) for root in (dim, dim._parts[0])}
    derived: dict[str, tuple[str, int, int]] = {}
    fixed: dict[str, int | Dim] = {}
    for line in text.strip().splitlines():
        match = _FIX.match(line.strip())
        if match is None:
            continue
        name, least, most, factor, root, sign, offset, size = match.groups()
        if size is not None:
            fixed[name] = int(size)
        elif root is None:
            fixed[name] = known[name] = Dim(name, min=None if least is None else int(least), max=None if most in (None, "oo") else int(most))
        else:
            derived[name] = root, int(factor or 1), int(offset or 0) * (-1 if sign == "-" else 1)
    for name, (root, factor, offset) in derived.items():
        fixed[name] = known[root] * factor + offset if factor != 1 or offset else known[root]

    def fix(dim: Dim) -> Any:
        root, factor, offset = dim._parts
        if dim.__name__ in fixed:
            return fixed[dim.__name__]
        return factor * fixed[root.__name__] + offset if root.__name__ in fixed else dim

    return tree_map_only(Dim, fix, dynamic_shapes)
