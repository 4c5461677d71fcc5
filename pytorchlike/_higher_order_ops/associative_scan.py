"""`associative_scan`: all partial results of an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from ..core import pytree
from ..graph.value import aval_of
from ._parts import describe_difference, is_tensor_tree, one_instruction, record_part, slices

__all__ = ["associative_scan"]


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """All partial results of an associative function of two slices along a dimension, computed as a tree.

    Args:
        combine_fn: of two containers like a slice of ``xs``, returns another one.
        combine_mode: "pointwise" or "generic", which are the same here.

    Raises:
        ValueError: arguments of other types, torch's texts.
        RuntimeError: the results are not like the slices.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    elements, structure = pytree.flatten(xs)
    if not elements:
        raise ValueError("Expected at least 1 xs leaf")
    if not is_tensor_tree(xs):
        raise ValueError("xs leaves must be a Tensor")
    at, shape = slices(elements, dim, "associative_scan")
    count = len(elements)
    part = record_part(
        "torch.associative_scan",
        lambda *all: combine_fn(pytree.unflatten(all[:count], structure), pytree.unflatten(all[count:], structure)),
        [*elements, *elements], shape,
    )  # fmt: skip
    wanted = [aval_of(shape(x), x.dtype, x.device) for x in elements]
    describe_difference(wanted, part.outputs("combine_fn's result"), ("xs", "combine_fn's results"), "torch.ops.higher_order.associative_scan")

    def build(combine: Callable) -> Callable:
        def both(a: Any, b: Any) -> Any:
            return jax.vmap(lambda x, y: tuple(combine(*x, *y)), in_axes=at, out_axes=at)(a, b)

        return lambda *arrays: jax.lax.associative_scan(both, tuple(arrays), reverse=reverse, axis=at)

    results = one_instruction("associative_scan", (part,), elements, (at, reverse), build)
    return pytree.unflatten(list(results), structure)
