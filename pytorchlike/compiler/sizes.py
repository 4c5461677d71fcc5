"""Dynamic sizes: which dimensions of the arguments vary, by torch's marks or because they were seen to.

XLA's programs have fixed sizes, so each combination of sizes is captured on its own; what is dynamic decides which captures count as
recompilations of the same thing (`config.recompile_limit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensors.tensor import Tensor
from . import settings

__all__ = ["Sizes", "mark_dynamic", "mark_static", "maybe_mark_dynamic", "shapes_of"]

_DYNAMIC, _WEAK, _STATIC = "_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices", "_dynamo_static_indices"


def _mark(t: Any, index: Any, kind: str, others: tuple[str, ...] = ()) -> None:
    if not isinstance(t, Tensor):
        raise TypeError(f"expected a tensor whose dimensions are marked, but got {type(t).__name__}")
    for each in index if isinstance(index, (list, tuple)) else (index,):
        t.__dict__.setdefault(kind, set()).add(each)
        for other in others:
            t.__dict__.get(other, set()).discard(each)


def mark_dynamic(t: Any, index: int | list[Any] | tuple[Any], *, hint_override: int | None = None, min: int | None = None, max: int | None = None,
                 specialize_on: list[Any] | None = None) -> None:  # fmt: skip
    """The size of a tensor in a dimension varies: captures for other sizes do not count for ``config.recompile_limit``.

    Args:
        index: a dimension or several.
        hint_override, min, max, specialize_on: accepted; sizes are no symbols here that could be bounded.

    Raises:
        TypeError: ``t`` is no tensor.
    """
    _mark(t, index, _DYNAMIC)


def maybe_mark_dynamic(t: Any, index: int | list[Any] | tuple[Any]) -> None:
    """As `mark_dynamic`; torch's does not complain where the code depends on the size."""
    _mark(t, index, _WEAK)


def mark_static(t: Any, index: int | list[Any] | tuple[Any] | None = None) -> None:
    """Each size of a tensor in a dimension (None: in all) is a recompilation of its own."""
    if isinstance(t, Tensor):
        _mark(t, list(range(t.dim())) if index is None else index, _STATIC, (_DYNAMIC, _WEAK))


def shapes_of(leaves: Sequence[Any]) -> tuple[tuple[int, ...] | None, ...]:
    """The shapes of the tensors among flat arguments."""
    return tuple([tuple(leaf.shape) if isinstance(leaf, Tensor) else None for leaf in leaves])


class Sizes:
    """What of a compiled function's arguments varies.

    Args:
        dynamic: True: all sizes from the start; False: none; None: those that are marked, and those that were seen to vary.
    """

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.varying: set[tuple[int, int]] = set()

    def observe(self, leaves: Sequence[Any], shapes: Sequence[tuple[int, ...] | None], before: Sequence[tuple[int, ...] | None]) -> None:
        """Take note of a call that no captured one fits; ``before`` are the shapes of the one that was used last."""
        for k, shape in enumerate(shapes):
            if shape is None or self.dynamic is False:
                continue
            marks = leaves[k].__dict__
            static, chosen = marks.get(_STATIC, ()), {*marks.get(_DYNAMIC, ()), *marks.get(_WEAK, ())}
            was = before[k] if k < len(before) else None
            seen = settings.config.automatic_dynamic_shapes and was is not None and len(was) == len(shape)
            for d, n in enumerate(shape):
                if d not in static and (self.dynamic or d in chosen or d - len(shape) in chosen or seen and was is not None and was[d] != n):
                    self.varying.add((k, d))

    def are_alike(self, shapes: Sequence[tuple[int, ...] | None], others: Sequence[tuple[int, ...] | None]) -> bool:
        """Whether two calls have the same sizes where these are dynamic."""
        return len(shapes) != len(others) or all(
            (a := shapes[k]) is None or (b := others[k]) is None or len(a) != len(b) or a[d] == b[d] for k, d in self.varying if k < len(shapes)
        )
