"""`while_loop`, `scan`, `associative_scan` and `map`: functions that run again and again."""

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
from ._parts import PartFunction, describe_difference, is_tensor_tree, one_instruction, record_part

__all__ = ["associative_scan", "map", "scan", "while_loop"]


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


def _slices(xs: list[Tensor], dim: int, name: str) -> tuple[int, Callable[[Tensor], tuple[int, ...]]]:
    """The dimension, counted from the front, and the shape of a slice of a tensor."""
    first = xs[0]
    at = dim + first.dim() if dim < 0 else dim
    if not 0 <= at < first.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-first.dim()}, {first.dim() - 1}], but got {dim})")
    lengths = {x.shape[at] for x in xs}
    if len(lengths) != 1:
        raise RuntimeError(f"{name}: All xs tensors must have same scan dim length")
    if 0 in lengths:
        raise RuntimeError(f"{name}: All xs leaves must at least have 1 number of elements in the scan dimension")
    return at, lambda x: (*x.shape[:at], *x.shape[at + 1 :])


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
    at, shape = _slices(elements, dim, "scan")
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
    at, shape = _slices(elements, dim, "associative_scan")
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
