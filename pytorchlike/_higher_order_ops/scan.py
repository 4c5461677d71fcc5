"""`scan`: a function of a carry and of each slice of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..core import pytree
from ..graph.value import aval_of
from ..tensors.tensor import Tensor
from ._parts import describe_difference, one_instruction, record_part, slices

__all__ = ["scan"]


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for the slices ``x`` of ``xs`` along a dimension: the last ``carry``, and all ``y``, stacked along it.

    Args:
        init: the first ``carry``, a container of tensors.
        xs: a container of tensors that are equally long along ``dim``.
        reverse: begin with the last slice.

    Raises:
        RuntimeError: arguments of other types, torch's texts.
        UncapturedHigherOrderOpError: the carry is not like ``init``.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    firsts, carry_structure = pytree.flatten(init)
    elements, structure = pytree.flatten(xs)
    if not firsts:
        raise RuntimeError("scan() operator requires init leaves.")
    for what, leaves in (("init", firsts), ("xs", elements)):
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"All {what} leaves must be a Tensor but got {leaf}")
    if not elements:
        return init, []
    at, shape = slices(elements, dim, "scan")
    ids = {id(x) for x in elements}
    part = record_part(
        "torch.scan", lambda *all: combine_fn(pytree.unflatten(all[: len(firsts)], carry_structure), pytree.unflatten(all[len(firsts) :], structure)),
        [*firsts, *elements], lambda tensor: shape(tensor) if id(tensor) in ids else None,
    )  # fmt: skip
    made = pytree.unflatten(list(range(len(part.region.leaves))), part.structure)
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise RuntimeError("scan: combine_fn must return a tuple of the next carry and the output")
    avals = part.outputs("combine_fn's result")
    count = len(firsts)
    describe_difference([aval_of(tuple(t.shape), t.dtype, t.device) for t in firsts], avals[: len(pytree.leaves(made[0]))], ("init", "carry"), "torch.ops.higher_order.scan")

    def build(step: Callable) -> Callable:
        def body(carry: Any, x: Any) -> Any:
            results = step(*carry, *x)
            return tuple(results[:count]), tuple(results[count:])

        def run(*arrays: Any) -> Any:
            moved = tuple([jnp.moveaxis(x, at, 0) for x in arrays[count:]])
            last, ys = jax.lax.scan(body, tuple(arrays[:count]), moved, reverse=reverse)
            return (*last, *[jnp.moveaxis(y, 0, min(at, y.ndim - 1)) for y in ys])

        return run

    results = one_instruction("scan", (part,), [*firsts, *elements], (at, reverse, count), build)
    carry, ys = pytree.unflatten(list(results), part.structure)
    return pytree.unflatten(pytree.leaves(carry), carry_structure), ys
