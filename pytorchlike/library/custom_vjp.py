"""The gradient of an operator of a user inside of JAX's reverse mode, between ``rules_for_jax()`` (dispatch/custom_vjp.py): as a ``jax.custom_vjp``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..core.state import thread
from ..dispatch.derivative import fit_gradient
from ..graph.executors import inside_jax
from ..graph.instruction import enable_x64
from ..graph.value import Aval, constant
from ..tensors.tensor import Tensor, make_tensor
from .keys import AutoDispatchBelowAutograd

if TYPE_CHECKING:
    from .gradient import FlatValues, GradientFunction

__all__ = ["call_in_jax", "is_wanted"]


def is_wanted(tensors: Sequence[Tensor]) -> bool:
    """Whether JAX is to use the rules of operators, and transforms what this one is called with."""
    state = thread.state
    return state.on_tracers is not None and state.grad_enabled and any(isinstance(t._content().array, jax.core.Tracer) for t in tensors)


@jax.tree_util.register_static
class _Saved:
    """The node that the formula calls its ``ctx``, and the avals of what it saved: no arrays, but part of what the forward hands to the backward."""

    def __init__(self, node: Any, avals: list[Aval | None]) -> None:
        self.node, self.avals = node, avals


def _tensor(array: Any, aval: Aval) -> Tensor:
    return make_tensor(constant(array, aval))


def call_in_jax(gradient: GradientFunction, given: FlatValues) -> Any:
    """Call an operator; returns its flat results."""
    function = gradient.function
    places = [k for k, value in enumerate(given.flat) if isinstance(value, Tensor)]
    avals = [given.flat[k]._content().aval for k in places]
    shape: list[Any] = []  # the results, with avals in the place of tensors

    def run(arrays: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        flat = list(given.flat)
        for place, array, aval in zip(places, arrays, avals, strict=True):
            flat[place] = _tensor(array, aval)
        with AutoDispatchBelowAutograd():
            found = function.forward(*flat, given)
        outputs = found if isinstance(found, tuple) else (found,)
        shape[:] = [isinstance(found, tuple), [o._content().aval if isinstance(o, Tensor) else o for o in outputs]]
        return flat, outputs

    def arrays_of(outputs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([o._content().array for o in outputs if isinstance(o, Tensor)])

    @jax.custom_vjp
    def call(*arrays: Any) -> tuple[Any, ...]:
        return arrays_of(run(arrays)[1])

    def forward(*arrays: Any) -> tuple[Any, Any]:
        flat, outputs = run(arrays)
        node = function._backward_cls()
        node.needs_input_grad = tuple([k in places for k in range(len(given.flat) + 1)])
        with AutoDispatchBelowAutograd():
            function.setup_context(node, (*flat, given), outputs if shape[0] else outputs[0])
        saved, node.to_save = list(node.to_save), ()
        kept = _Saved(node, [None if s is None else s._content().aval for s in saved])
        return arrays_of(outputs), (kept, arrays_of(saved))

    def backward(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        kept, arrays = residuals
        left, arrived = iter(arrays), iter(cotangents)
        saved = [None if aval is None else _tensor(next(left), aval) for aval in kept.avals]
        grads: list[Any] = []
        for aval in shape[1]:
            cotangent: Any = next(arrived) if isinstance(aval, Aval) else None
            has_gradient = isinstance(aval, Aval) and aval.differentiable
            grads.append(_tensor(jnp.conj(cotangent), aval) if has_gradient else None)
        with inside_jax():  # `pure` is over when JAX calls this
            found = kept.node.with_saved(saved, lambda: kept.node.apply(*grads))
        found = found if isinstance(found, tuple) else (found,)
        gradients: list[Any] = []
        for place, aval in zip(places, avals, strict=True):
            tensor = found[place]
            used = isinstance(tensor, Tensor) and aval.differentiable
            gradients.append(fit_gradient(jnp.conj(tensor._content().array), aval) if used else None)
        return tuple(gradients)

    call.defvjp(forward, backward)
    with enable_x64(True):
        results = iter(call(*[given.flat[k]._content().array for k in places]))
    outputs = tuple([_tensor(next(results), o) if isinstance(o, Aval) else o for o in shape[1]])
    return outputs if shape[0] else outputs[0]
