"""Hooks on tensors, leaves and nodes: registering and running them; ``retain_grad``."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ..core.handle import RemovableHandle, register
from ..core.promotion import scalar_type_name
from ..tensors.tape import AccumulateGrad, Node
from ..tensors.tensor import Tensor, make_tensor, tensor_method, tensor_property
from .sparse_gradients import content

__all__ = ["as_tensors", "as_values", "run_post_hooks", "run_pre_hooks", "run_tensor_hooks"]


# ---------------------------------------------------------------------------------------------------------------- registering
@tensor_method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook(gradient)`` whenever the gradient of this tensor has been computed; what it returns replaces the gradient.

    Raises:
        RuntimeError: the tensor does not require a gradient.
    """
    edge = self._current_edge()
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return register(edge[0].the_hooks().tensor.setdefault(edge[1], OrderedDict()), hook)


@tensor_property
def _backward_hooks(self: Tensor) -> OrderedDict[int, Callable] | None:
    """The dictionary of the hooks that `register_hook` registered; None when there was none yet."""
    edge = self._current_edge()
    return None if edge is None or edge[0].hooks is None else edge[0].hooks.tensor.get(edge[1])


@tensor_method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call ``hook(leaf)`` after a gradient was added to this leaf's ``.grad``.

    Raises:
        RuntimeError: not a leaf, or it does not require a gradient.
    """
    edge = self._current_edge()
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = edge[0]
    if type(node) is not AccumulateGrad:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if node.post_accumulate is None:
        node.post_accumulate = OrderedDict()
    return register(node.post_accumulate, hook)


@tensor_method
def retain_grad(self: Tensor) -> None:
    """Keep this tensor's gradient in ``.grad`` although it is no leaf.

    Raises:
        RuntimeError: it does not require a gradient.
    """
    edge = self._current_edge()
    if edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.is_leaf:
        return
    reference = weakref.ref(self)

    def keep(gradient: Tensor) -> None:
        tensor = reference()
        if tensor is not None:
            earlier = getattr(tensor, "_grad", None)
            tensor._grad = gradient.clone() if earlier is None else earlier + gradient

    edge[0].the_hooks().retain[edge[1]] = keep


# ---------------------------------------------------------------------------------------------------------------- running
def as_tensors(gradients: Sequence[Any]) -> list[Tensor | None]:
    """Gradients as hooks see them."""
    return [g if g is None or isinstance(g, Tensor) else make_tensor(g) for g in gradients]


def as_values(before: Sequence[Any], after: Sequence[Tensor | None]) -> list[Any]:
    """What hooks left of the gradients, as tensors where they were tensors ``before`` and as values elsewhere."""
    return [a if a is None or isinstance(b, Tensor) else content(a) for b, a in zip(before, after, strict=True)]


def run_tensor_hooks(node: Node, gradients: list[Any], create_graph: bool) -> list[Any]:
    """The hooks on single results of a node, then ``retain_grad``.

    Returns:
        the gradients that the hooks made of ``gradients``: tensors with ``create_graph``, else values.
    """
    hooks = node.hooks
    assert hooks is not None
    if not hooks.tensor and not hooks.retain:
        return gradients
    tensors = as_tensors(gradients)
    for number, own in hooks.tensor.items():
        for hook in list((own or {}).values()):
            tensors[number] = _checked(hook(tensors[number]), tensors[number], hook)
    for number, keep in hooks.retain.items():
        gradient = tensors[number]
        if gradient is not None:
            keep(gradient)
    return _unwrapped(tensors, create_graph)


def run_pre_hooks(node: Node, gradients: list[Any], create_graph: bool) -> list[Any]:
    """The hooks on all gradients that arrived at a node.

    Raises:
        TypeError, RuntimeError: a hook returned something else than a tuple of as many gradients; torch's texts.
    """
    assert node.hooks is not None
    if not node.hooks.pre:
        return gradients
    tensors = as_tensors(gradients)
    for hook in list(node.hooks.pre.values()):
        tensors = _replaced(hook(tuple(tensors)), tensors, hook)
    return _unwrapped(tensors, create_graph)


def run_post_hooks(node: Node, results: Sequence[Any], gradients: Sequence[Any], create_graph: bool) -> list[Any]:
    """The hooks on the gradients that a node computed; they see one for each of torch's edges.

    Raises:
        TypeError, RuntimeError: a hook returned something else than a tuple of as many gradients; torch's texts.
    """
    assert node.hooks is not None
    arrived = tuple(as_tensors(gradients))
    inputs = node.spread(as_tensors(results))
    for hook in list(node.hooks.post.values()):
        inputs = _replaced(hook(tuple(inputs), arrived), inputs, hook)
    return _unwrapped(node.gathered(inputs), create_graph)


def _unwrapped(tensors: Sequence[Tensor | None], create_graph: bool) -> list[Any]:
    return list(tensors) if create_graph else [None if t is None else content(t) for t in tensors]


def _replaced(answer: Any, tensors: list[Tensor | None], hook: Callable) -> list[Tensor | None]:
    """The gradients after a hook of a node."""
    if answer is None:
        return tensors
    if not isinstance(answer, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(answer).__name__}'")
    if len(answer) != len(tensors):
        raise RuntimeError(f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(answer)}, but expected {len(tensors)})")
    return [None if new is None else _checked(new, old, hook) for new, old in zip(answer, tensors, strict=True)]


def _checked(answer: Any, original: Tensor | None, hook: Callable) -> Tensor | None:
    """A gradient after a hook: the hook's answer, if it may stand for the original.

    Raises:
        TypeError: no tensor.
        RuntimeError: of another dtype, device or shape; torch's texts.
    """
    if answer is None:
        return original
    if original is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(answer, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    if answer.dtype is not original.dtype or answer.device.type != original.device.type:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {_type(original)} got {_type(answer)})")
    if answer.shape != original.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return answer


def _name(hook: Callable) -> str:
    return getattr(hook, "__name__", "<unknown>")


def _type(tensor: Tensor) -> str:
    kind = tensor.device.type
    return f"torch.{'' if kind == 'cpu' else kind + '.'}{scalar_type_name(tensor.dtype)}Tensor"
