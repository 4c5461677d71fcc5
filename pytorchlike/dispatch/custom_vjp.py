"""The tape's rules inside JAX's own transformations: every operator as a ``jax.custom_vjp`` whose backward is its rule.

    with rules_for_jax():
        gradient = jax.grad(pure(function))(array)

Without the block, ``jax.grad`` of a function of tensors differentiates the operators' bodies, which at ties and kinks is JAX's convention;
inside of it, it is torch's.  Entry points:

- `rules_for_jax()`: a context manager for the thread, effective where values are tracers (`pytorchlike.interop.jax.pure` and the like);
- `with_rules(instruction, inputs, outputs)`: one instruction for given avals, as a ``jax.custom_vjp`` function of arrays.

A ``custom_vjp`` has no forward mode: ``jax.jvp``, ``jax.jacfwd`` and ``jax.hessian`` are to be used outside of the block.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from ..core.state import thread
from ..graph.instruction import Instruction, enable_x64
from ..graph.value import Aval

__all__ = ["rules_for_jax", "with_rules"]


@contextlib.contextmanager
def rules_for_jax() -> Iterator[None]:
    """Have JAX's reverse mode use the tape's rules for the operators that this thread runs on tracers inside the block."""
    state = thread.state
    previous, state.on_tracers = state.on_tracers, with_rules
    try:
        yield
    finally:
        state.on_tracers = previous


@jax.tree_util.register_static
class _Needed(tuple):
    """For each input of an instruction, whether its gradient is computed; no array, but part of what the forward hands to the backward."""


@functools.lru_cache(maxsize=4096)
def with_rules(instruction: Instruction, inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Callable[..., tuple[Any, ...]]:
    """An instruction as a function of arrays (and 0-d arrays for its numbers) that JAX differentiates with the tape's rule.

    Args:
        inputs, outputs: the avals of the instruction's arrays and results.

    Returns:
        a ``jax.custom_vjp`` function that returns a tuple of arrays.
    """
    count = len(inputs)

    @jax.custom_vjp
    def function(*arguments: Any) -> tuple[Any, ...]:
        with enable_x64(True):
            results = instruction.function(*arguments)
        return tuple(results) if isinstance(results, (tuple, list)) else (results,)

    def forward(*arguments: Any) -> tuple[Any, Any]:
        arrays = [a.value for a in arguments]
        needed = _Needed([a.perturbed and aval.differentiable for a, aval in zip(arguments, inputs)])
        results = function(*arrays)
        if not any(needed) or not any(a.differentiable for a in outputs):
            return results, (_Needed(), (), ())
        backward = instruction.derivative(tuple(needed), inputs, outputs)
        return results, (needed, backward.pick(arrays[:count], results), tuple(arrays[count:]))

    def pull_back(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        needed, saved, scalars = residuals
        present = tuple([not isinstance(c, SymbolicZero) and c.dtype != jax.dtypes.float0 for c in cotangents])
        gradients: list[Any] = [None] * (count + instruction.float_count + instruction.int_count)
        if not needed or not any(present):
            return tuple(gradients)
        backward = instruction.derivative(tuple(needed), inputs, outputs)
        with enable_x64(True):
            given = [jnp.conj(c) for c, there in zip(cotangents, present, strict=True) if there]
            found = backward.instruction(present).function(*saved, *given, *scalars)
            for position, gradient in zip(backward.needed_positions, found if isinstance(found, (tuple, list)) else (found,), strict=True):
                gradients[position] = jnp.conj(gradient)
        return tuple(gradients)

    function.defvjp(forward, pull_back, symbolic_zeros=True)
    return function
