"""`map`: a function of each slice of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from ..core import pytree
from ..tensors.tensor import Tensor
from ._parts import is_tensor_tree, one_instruction, record_part

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for the slices ``x`` of ``xs`` along the first dimension, stacked.

    Args:
        xs: a container of tensors that are equally long.
        args: containers of tensors, the same for all slices.

    Raises:
        RuntimeError: something else than tensors in ``xs``, torch's texts.
    """
    elements, structure = pytree.flatten(xs)
    if not is_tensor_tree(xs) or not elements:
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {elements}.")
    if any(x.dim() == 0 for x in elements) or len({x.shape[0] for x in elements}) != 1:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {[x.shape for x in elements]}.")
    if elements[0].shape[0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    others, rest = pytree.flatten(args)
    count = len(elements)
    ids = {id(x) for x in elements}
    tensors = [leaf for leaf in others if isinstance(leaf, Tensor)]

    def call(*all: Any) -> Any:
        given = iter(all[count:])
        return f(pytree.unflatten(all[:count], structure), *pytree.unflatten([next(given) if isinstance(o, Tensor) else o for o in others], rest))

    part = record_part("torch.map", call, [*elements, *tensors], lambda tensor: tuple(tensor.shape[1:]) if id(tensor) in ids else None)
    part.outputs("f's result")

    def build(one: Callable) -> Callable:
        return lambda *arrays: jax.lax.map(lambda x: tuple(one(*x, *arrays[count:])), tuple(arrays[:count]))

    return part.wrap(one_instruction("map", (part,), [*elements, *tensors], (count,), build))
