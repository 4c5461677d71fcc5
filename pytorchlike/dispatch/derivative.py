"""From an operator's rules to the tape: which values are saved, and the instruction that computes the gradients.

A rule is a pure function, recorded as an instruction of its own, so its derivative (for gradients of gradients) is JAX's derivative
of the rule.  An operator without a rule is differentiated by ``jax.vjp`` of its forward, in the same trace.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from ..core import state as core_state
from ..graph.generic import Bound
from ..graph.instruction import Instruction
from ..graph.value import Aval
from ..tensors.tape import Backward

__all__ = ["Differentiable", "backward_name", "fit_gradient", "vjp_backward"]


def backward_name(declared: Any, inputs: Sequence[Aval] = ()) -> str:
    """torch's node name: ``add`` -> ``AddBackward0``, ``log_softmax`` -> ``LogSoftmaxBackward0``; others are in data/node_names.tsv.

    Args:
        declared: the operator.
        inputs: what it is called with, as some operators of ours are several of torch's, by their inputs' dimensions.
    """
    name = declared.qualified_name
    dimensions = ",".join([str(len(aval.size)) for aval in inputs])
    found = _node_names().get(f"{name}/{dimensions}") or _node_names().get(name)
    return found or _in_capitals(declared.name)


def _in_capitals(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_")) + "Backward0"


@functools.cache
def _node_names() -> dict[str, str]:
    table = Path(core_state.__file__).parent / "data" / "node_names.tsv"
    return dict(line.split("\t") for line in table.read_text().splitlines()[1:])


class Differentiable(Instruction):
    """An instruction whose derivative, unless a subclass knows better, is JAX's."""

    __slots__ = ()

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        return vjp_backward(self, needed, inputs, outputs)


def _zero(aval: Aval) -> jax.Array:
    return jnp.zeros(aval.size, aval.dtype.numpy)


def spread(grads: Sequence[Any], present: tuple[bool, ...], outputs: Sequence[Aval]) -> list[Any]:
    """One gradient for each output: zeros where none arrived, None where an output has no gradient at all."""
    arrived = iter(grads)
    return [next(arrived) if there else _zero(aval) if aval.differentiable else None for there, aval in zip(present, outputs, strict=True)]


def fit_gradient(gradient: Any, aval: Aval) -> Any:
    """A gradient in the broadcast shape and promoted dtype as one of the input's own shape and dtype."""
    if gradient is None:
        return _zero(aval)
    gradient = jnp.asarray(gradient)
    if gradient.shape != aval.size:
        gradient = sum_to_size(gradient, aval.size)
    if gradient.dtype != aval.dtype.numpy:
        if aval.dtype.is_floating_point and jnp.iscomplexobj(gradient):
            gradient = gradient.real
        gradient = gradient.astype(aval.dtype.numpy)
    return gradient


def sum_to_size(array: Any, size: tuple[int, ...]) -> Any:
    """Sum over the dimensions along which ``size`` was broadcast to the array's shape."""
    extra = array.ndim - len(size)
    axes = (*range(extra), *[extra + d for d, n in enumerate(size) if n == 1 and array.shape[extra + d] != 1])
    return array.sum(axes, dtype=array.dtype).reshape(size) if axes else jnp.broadcast_to(array, size)


def vjp_backward(instruction: Instruction, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...],
                 name: str | None = None) -> Backward:  # fmt: skip
    """The derivative as ``jax.vjp`` of the forward, in torch's convention (the conjugate of JAX's)."""
    count = len(inputs)

    def build(present: tuple[bool, ...]) -> Instruction:
        def make(avals: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
            return functools.partial(_pull_back, instruction, needed, present, avals)

        bound = Bound((vjp_backward, instruction, needed, present), inputs, make)
        return Differentiable(f"{instruction.name}_backward", make(inputs), instruction.float_count, instruction.int_count, bound=bound)

    return Backward(name or _in_capitals(instruction.name), range(count), (), needed, inputs, outputs, build)


def _pull_back(instruction: Instruction, needed: tuple[bool, ...], present: tuple[bool, ...], inputs: Sequence[Aval], *arguments: Any) -> tuple[Any, ...]:
    """What the instruction made by `vjp_backward` computes, of (inputs, gradients that are there, numbers)."""
    count, given = len(inputs), sum(present)
    arrays, grads, scalars = arguments[:count], arguments[count : count + given], arguments[count + given :]
    positions = [k for k, need in enumerate(needed) if need]

    def forward(*differentiated: Any) -> tuple[Any, ...]:
        full = list(arrays)
        for position, array in zip(positions, differentiated, strict=True):
            full[position] = array
        results = instruction.function(*full, *scalars)
        results = results if isinstance(results, (tuple, list)) else (results,)
        # a gradient of zeros for the others would make NaN where their derivatives are infinite
        return tuple([result for result, there in zip(results, present, strict=True) if there])

    _, pull = jax.vjp(forward, *[arrays[p] for p in positions])
    cotangents = tuple([jnp.conj(g) for g in grads])
    return tuple(fit_gradient(jnp.conj(g), inputs[p]) for g, p in zip(pull(cotangents), positions, strict=True))


def rule_backward(operator: Any, instruction: Any, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
    """The derivative by the operator's rules, one for each differentiable argument.

    Args:
        operator: the declaration, with ``rules``.
        instruction: the recorded call, which knows which argument each input belongs to (``instruction.layout``).
    """
    layout = instruction.layout
    if operator.without_grad:
        known = layout.named_avals([a.shape_dtype for a in inputs])
        absent = {name for name, predicate in operator.without_grad.items() if predicate(**{p: known[p] for p in _parameters(predicate)})}
        needed = tuple([need and layout.argument_of[k] not in absent for k, need in enumerate(needed)])
    wanted = sorted({layout.argument_of[k] for k, need in enumerate(needed) if need}, key=layout.order.index)
    if any(name not in operator.rules for name in wanted):
        found = vjp_backward(instruction, needed, inputs, outputs, backward_name(operator, inputs))
        found.described, found.pattern = (instruction, frozenset(layout.order)), _edge_pattern(operator, layout, inputs)
        return found
    parameters = {name: _parameters(operator.rules[name]) for name in wanted}
    asked = {p for names in parameters.values() for p in names}
    saved_inputs = [k for k, name in enumerate(layout.argument_of) if name in asked]
    saved_outputs = [k for k in range(len(outputs)) if (f"result{k}" in asked or (k == 0 and "result" in asked))]
    compute = instruction.compute_dtype(inputs)

    def build(present: tuple[bool, ...]) -> Instruction:
        def make(avals: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
            return functools.partial(run, present, avals[: len(inputs)], avals[len(inputs) :])

        bound = Bound((rule_backward, instruction, needed, present), (*inputs, *outputs), make)
        return Differentiable(f"{operator.name}_backward", make(bound.avals), instruction.float_count, instruction.int_count, bound=bound)

    def run(present: tuple[bool, ...], inputs: Sequence[Aval], outputs: Sequence[Aval], *arguments: Any) -> tuple[Any, ...]:
        arguments_left = iter(arguments)
        arrays: list[Any] = [None] * len(inputs)
        for k in saved_inputs:
            arrays[k] = next(arguments_left)
        results = {k: next(arguments_left) for k in saved_outputs}
        grads = spread([next(arguments_left) for there in present if there], present, outputs)
        known = layout.named(instruction.cast(arrays, compute), list(arguments_left), compute)
        known |= {f"result{k}": array for k, array in results.items()} | ({"result": results[0]} if 0 in results else {})
        known |= {f"{name}_meta": meta for name, meta in layout.named_avals([a.shape_dtype for a in inputs]).items()}
        known["g"] = grads[0] if len(outputs) == 1 else tuple(grads)
        gradients: list[Any] = []
        for name in wanted:
            found = operator.rules[name](**{p: known[p] for p in parameters[name]})
            positions = [k for k, owner in enumerate(layout.argument_of) if owner == name]
            for position, gradient in zip(positions, found if layout.is_list(name) else [found], strict=True):
                if needed[position]:
                    gradients.append((position, fit_gradient(gradient, inputs[position])))
        return tuple(gradient for _, gradient in sorted(gradients, key=lambda pair: pair[0]))

    made = Backward(backward_name(operator, inputs), saved_inputs, saved_outputs, needed, inputs, outputs, build)
    made.described, made.pattern = (instruction, frozenset(asked)), _edge_pattern(operator, layout, inputs)
    return made


#: Operators for which torch has an overload that takes a number, where others make a tensor of it.
_TAKE_NUMBERS = frozenset({"fmod", "pow", "remainder", "rsub"})


def _edge_pattern(operator: Any, layout: Any, inputs: tuple[Aval, ...]) -> tuple[int | None, ...] | None:
    """See `Backward.pattern`: torch counts numbers and missing tensors in the place of tensors, but not tensors that never have a gradient."""
    pattern: list[int | None] = []
    position = 0
    for argument, part in zip(operator.schema.arguments, layout.parts, strict=True):
        if part[0] == "list":
            for there in part[1]:
                pattern.append(position if there else None)
                position += there
        elif argument.type not in ("Tensor", "Tensor?"):
            continue
        elif part[0] != "tensor":
            if operator.name not in _TAKE_NUMBERS and (not operator.rules or argument.name in operator.rules):
                pattern.append(None)
        else:
            if inputs[position].differentiable or not operator.rules or argument.name in operator.rules:
                pattern.append(position)
            position += 1
    return None if pattern == list(range(len(inputs))) else tuple(pattern)


@functools.cache
def _parameters(rule: Callable) -> tuple[str, ...]:
    return tuple(inspect.signature(rule).parameters)


