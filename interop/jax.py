"""Between pytorchlike and JAX: arrays both ways, and modules as pure functions for ``jax.grad``, ``jax.jit``, ``jax.vmap``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from pytorchlike.compiler.region import evaluator, placeholder, record_region
from pytorchlike.core import pytree
from pytorchlike.graph import executors
from pytorchlike.graph.instruction import enable_x64
from pytorchlike.nn.modules.module import Module
from pytorchlike.tensors.convert import from_jax, to_jax
from pytorchlike.tensors.tensor import Tensor

__all__ = ["from_jax", "functionalize", "pure", "to_jax", "to_jaxpr"]


def _tensors(tree: Any) -> Any:
    return jax.tree.map(lambda a: from_jax(a) if isinstance(a, jax.Array) else a, tree)


def _array(tensor: Tensor) -> Any:
    """What is there, or, for a tensor from outside that is still pending, what comes of it."""
    value = tensor._content()
    return value.array if value.trace is None else executors._computed(value)


def _arrays(tree: Any) -> Any:
    return jax.tree.map(lambda t: _array(t) if isinstance(t, Tensor) else t, tree, is_leaf=lambda t: isinstance(t, Tensor))


def pure(function: Callable) -> Callable:
    """A function of tensors as a function of ``jax.Array``s (in nested containers), for use inside JAX's transformations.

    Operators run at once on the arrays that JAX passes, so derivatives are JAX's own; what runs under ``no_grad`` or stands behind ``detach()`` has
    none, as on the tape (a detached tensor is a copy here).  Of an ``autograd.Function`` JAX differentiates the ``forward``.
    """

    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        with executors.inside_jax():
            return _arrays(function(*_tensors(args), **_tensors(kwargs)))

    return on_arrays


def functionalize(module: Module) -> tuple[Callable, dict[str, jax.Array], dict[str, jax.Array]]:
    """A module as a pure function, and its parameters and buffers as arrays.

    Returns:
        ``(apply, params, buffers)``: ``apply(params, buffers, *args, **kwargs)`` -> ``(outputs, buffers)``, where the returned buffers are
        those after the call (running statistics).  The module itself is not changed.
    """
    params = {name: to_jax(p) for name, p in module.named_parameters()}
    buffers = {name: to_jax(b) for name, b in module.named_buffers()}

    def apply(params: dict[str, Any], buffers: dict[str, Any], *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        with executors.inside_jax(), _swapped(module, {**params, **buffers}):
            outputs = _arrays(module(*_tensors(args), **_tensors(kwargs)))
            after = {name: _array(b) for name, b in module.named_buffers()}
        return outputs, after

    return apply, params, buffers


@contextmanager
def _swapped(module: Module, arrays: dict[str, Any]) -> Iterator[None]:
    """The module with tensors of these arrays in place of its own parameters and buffers."""
    replaced: dict[int, Tensor] = {}
    undo: list[tuple[dict, str, Any]] = []
    try:
        for prefix, submodule in module.named_modules():
            for store in (submodule._parameters, submodule._buffers):
                for name, own in list(store.items()):
                    full = f"{prefix}.{name}" if prefix else name
                    if own is None or (full not in arrays and id(own) not in replaced):
                        continue
                    new = replaced.setdefault(id(own), from_jax(arrays[full]) if full in arrays else own)
                    undo.append((store, name, own))
                    store[name] = new  # a parameter that is shared is replaced by the same tensor everywhere
        yield
    finally:
        for store, name, own in undo:
            store[name] = own


def to_jaxpr(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """The program of a call as a ``jax.core.ClosedJaxpr``; nothing is computed.

    Its inputs are the tensors among the arguments, then those that the function takes from elsewhere (parameters), then Python numbers; its outputs
    the tensors of the result, then the new contents of arguments that were written to.

    Raises:
        RuntimeError: numbers are needed in the middle, with the line.
    """
    leaves, structure = pytree.flatten((args, kwargs))
    given = [placeholder(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    new_args, new_kwargs = pytree.unflatten(given, structure)
    tensors = [leaf for leaf in given if isinstance(leaf, Tensor)]
    name = getattr(function, "__name__", type(function).__name__)
    region = record_region(name, lambda: function(*new_args, **new_kwargs), tensors, lambda reason: RuntimeError(f"{name} is no program: {reason}"))
    run, count = evaluator(region, rules=False), len(tensors)
    outside, floats = len(region.outside), len(region.floats)
    shapes = [jax.ShapeDtypeStruct(tuple(t.shape), t.dtype.numpy) for t in [*tensors, *region.outside]]
    numbers = [jax.ShapeDtypeStruct((), np.float64)] * floats + [jax.ShapeDtypeStruct((), np.int64)] * len(region.ints)
    with enable_x64(True):
        return jax.make_jaxpr(lambda *a: run(a[:count], a[count : count + outside], a[count + outside :][:floats], a[count + outside :][floats:]))(
            *shapes, *numbers
        )
