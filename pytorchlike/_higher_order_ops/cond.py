"""`cond`: one of two functions, by a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._dynamo.exc import TorchRuntimeError
from ..core import pytree
from ..tensors.tensor import Tensor
from ._parts import Part, is_tensor_tree, one_instruction, record_part

__all__ = ["cond"]


def cond(pred: bool | int | float | Tensor, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``, by a bool or a tensor with one element, whose number is not looked at.

    Both functions are recorded; they return tensors of the same shapes and dtypes, in the same structure.  Tensors that they take from
    elsewhere have gradients, too.

    Args:
        operands: containers of tensors.

    Raises:
        RuntimeError: ``pred``, the functions or the operands are something else; the branches' results differ.  torch's texts.
        NotImplementedError: random numbers in a branch.
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not is_tensor_tree(operands):
        raise RuntimeError(
            f"Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got {operands}."
        )
    if not isinstance(pred, Tensor):
        return (true_fn if pred else false_fn)(*operands)
    yes, no = (record_part("torch.cond", branch, operands) for branch in (true_fn, false_fn))
    _check_alike(yes, no)
    leaves = pytree.leaves(tuple(operands))

    def build(when_true: Callable, when_false: Callable) -> Callable:
        return lambda which, *given: jax.lax.cond(jnp.reshape(which, ()) != 0, when_true, when_false, *given)

    results = one_instruction("cond", (yes, no), [pred, *leaves], (), build, [aval.stride for aval in yes.region.avals])
    return yes.wrap(results)


def _check_alike(yes: Part, no: Part) -> None:
    first, second = yes.outputs("true_fn's result"), no.outputs("false_fn's result")
    if yes.structure != no.structure:
        raise TorchRuntimeError(
            f"Unmatched output spec from torch.cond branches: true branch tree_spec {yes.structure} vs false branch tree_spec {no.structure}."
        )
    for a, b in zip(first, second, strict=True):
        for what, x, y in (("dim", a.ndim, b.ndim), ("dtype", a.dtype, b.dtype), ("device", a.device, b.device), ("shape", a.size, b.size)):
            if x != y:
                raise TorchRuntimeError(f"When merging two branches' output in torch.cond,  expected same {what} but got {x} and {y}.")
