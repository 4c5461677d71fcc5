"""`Dim`: which dimensions of the inputs may differ from those of the examples.

Operators bind sizes: in the process that has the module it is recorded again for each new one; what `export.save` writes is one program for all
sizes (symbolic.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..compiler.compiled import Unsupported
from ..core import pytree
from ..tensors.tensor import Tensor

__all__ = ["Dim", "dims", "is_within", "marked"]


class _Hint:
    def __init__(self, name: str) -> None:
        self.name, self.min, self.max = name, 0, None

    def __call__(self, min: int | None = None, max: int | None = None) -> _Hint:
        """The same with bounds."""
        made = _Hint(self.name)
        made.min, made.max = min or 0, max  # type: ignore[assignment]
        return made

    def __repr__(self) -> str:
        return f"_DimHint(type=<_DimHintType.{self.name}>)"


class Dim:
    """A named dimension that may differ, within bounds.

    Raises:
        AssertionError: ``max`` is not above ``min``; torch's text.
    """

    __module__ = "torch.export.dynamic_shapes"
    AUTO, DYNAMIC, STATIC = _Hint("AUTO"), _Hint("DYNAMIC"), _Hint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__ = self.name = name
        self.min, self.max = 0 if min is None else min, max
        if max is not None and max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    def __repr__(self) -> str:
        return f"Dim({self.name!r})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim`s."""
    return tuple([Dim(name, min=min, max=max) for name in names])


def marked(forward: Callable, args: tuple, kwargs: dict[str, Any], shapes: Any) -> list[dict[int, Any]]:
    """For each leaf of the arguments, the dimensions that may differ.

    Raises:
        Unsupported: ``shapes`` does not have the arguments' structure.
    """
    leaves = pytree.leaves((args, kwargs))
    if shapes is None:
        return [{} for _ in leaves]
    arguments = inspect.signature(forward).bind(*args, **kwargs).arguments
    if isinstance(shapes, dict):
        if set(shapes) != set(arguments):
            raise Unsupported(
                f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {list(arguments)} of `inputs`, but here they are "
                f"{list(shapes)}. Alternatively, you could also ignore arg names entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`."
            )
        pairs = [(value, shapes[name]) for name, value in arguments.items()]
    else:
        if len(shapes) != len(arguments):
            raise Unsupported(f"Expected `dynamic_shapes` to have {len(arguments)} entries, one for each input, but got {len(shapes)}")
        pairs = list(zip(arguments.values(), shapes, strict=True))
    found: dict[int, dict[int, Any]] = {}
    for value, spec in pairs:
        _mark(value, spec, found)
    return [found.get(id(leaf), {}) for leaf in leaves]


def _mark(value: Any, spec: Any, found: dict[int, dict[int, Any]]) -> None:
    if spec is None:
        return
    if isinstance(value, Tensor):
        items = spec.items() if isinstance(spec, dict) else enumerate(spec)
        found[id(value)] = {d: dim for d, dim in items if dim is not None and not isinstance(dim, int) and dim is not Dim.STATIC}
    elif isinstance(value, dict):
        for key, each in value.items():
            _mark(each, spec[key] if isinstance(spec, dict) else spec, found)
    elif isinstance(value, (list, tuple)):
        for each, part in zip(value, spec):
            _mark(each, part, found)


def is_within(dim: Any, size: int) -> str | None:
    """None, or the bound that a size is out of."""
    if size < dim.min:
        return f">= {dim.min}"
    return f"<= {dim.max}" if dim.max is not None and size > dim.max else None
