"""`while_loop`: a function that runs as long as another says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._dynamo.exc import UncapturedHigherOrderOpError
from ..aten.constructors import scalar_tensor
from ..core import pytree
from ..core.dtype import int64
from ..graph.value import aval_of
from ..tensors.tensor import Tensor
from ._loop_gradient import differentiable_loop
from ._parts import PartFunction, describe_difference, one_instruction, record_part

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """Call ``body_fn(*carried)``, which returns the next ``carried``, as long as ``cond_fn(*carried)`` is true.

    Args:
        carried_inputs: a tuple of containers of tensors, or of ints.

    The gradient runs the rounds again, from checkpoints (`_loop_gradient`); it has no second one.

    Raises:
        RuntimeError: the functions or inputs are something else, torch's texts.
        UncapturedHigherOrderOpError: the body's results are not like its inputs; torch's text.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list but got {type(carried_inputs)}.")
    leaves, structure = pytree.flatten(tuple(carried_inputs))
    if not all(isinstance(leaf, (Tensor, int)) for leaf in leaves):
        raise RuntimeError(f"Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists of tensor or int leaves, but got {carried_inputs}.")
    numbers = [k for k, leaf in enumerate(leaves) if not isinstance(leaf, Tensor)]
    tensors = [leaf if isinstance(leaf, Tensor) else scalar_tensor(leaf, dtype=int64) for leaf in leaves]
    given = pytree.unflatten(tensors, structure)
    test, body = record_part("torch.while_loop", cond_fn, given), record_part("torch.while_loop", body_fn, given)
    if len(test.region.leaves) != 1 or test.outputs("cond_fn's result")[0].numel != 1:
        raise UncapturedHigherOrderOpError(
            "torch.while_loop: unsupported cond_fn return type\n  Higher Order Operator: torch.while_loop\n"
            f"  Explanation: Expected cond_fn to return a scalar tensor or a bool but got {test.region.avals[0].size if test.region.avals else None}."
        )
    carried = [aval_of(tuple(t.shape), t.dtype, t.device) for t in tensors]
    describe_difference(body.outputs("body_fn's result"), carried, ("body_fn_output", "carried_inputs"), "torch.while_loop")

    def build(go_on: PartFunction, step: PartFunction) -> Callable:
        if not step.rules:
            return lambda *arrays: jax.lax.while_loop(lambda c: jnp.reshape(go_on(*c)[0], ()) != 0, lambda c: tuple(step(*c)), tuple(arrays))
        outside, tree = jax.tree.flatten([[f.outside, f.floats, f.ints] for f in (go_on, step)])

        def go_on_with(carry: tuple, given: tuple) -> Any:
            return jnp.reshape(go_on.run(carry, *jax.tree.unflatten(tree, given)[0])[0], ()) != 0

        def step_with(carry: tuple, given: tuple) -> tuple:
            return tuple(step.run(carry, *jax.tree.unflatten(tree, given)[1]))

        return lambda *arrays: differentiable_loop(go_on_with, step_with, tuple(arrays), tuple(outside))

    results: list[Any] = list(one_instruction("while_loop", (test, body), tensors, (), build))
    for k in numbers:
        results[k] = int(results[k].item())
    return pytree.unflatten(results, structure)
