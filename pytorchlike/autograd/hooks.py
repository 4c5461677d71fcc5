"""Hooks: on tensors' gradients, on nodes, on leaves after accumulation; ``retain_grad``."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ..tensors.tape import AccumulateGrad, Node
from ..tensors.tensor import Tensor, tensor_method

__all__ = ["RemovableHandle"]

_next_id = itertools.count()


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook away; also a context manager.

    Args:
        hooks: the dictionary that the hook is kept in.
    """

    def __init__(self, hooks: dict[int, Callable], *, extra_dict: Any = None) -> None:
        self.hooks = hooks
        self.id = next(_next_id)

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def _register(hooks: dict[int, Callable], hook: Callable) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


@tensor_method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook(gradient)`` whenever the gradient of this tensor has been computed; what it returns replaces the gradient.

    Raises:
        RuntimeError: the tensor does not require a gradient.
    """
    edge = self._current_edge()
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return _register(edge[0].the_hooks().tensor.setdefault(edge[1], {}), hook)


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
        node.post_accumulate = {}
    return _register(node.post_accumulate, hook)


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
            tensor._grad = gradient if earlier is None else earlier + gradient

    edge[0].the_hooks().retain[edge[1]] = keep


def _register_prehook(self: Node, hook: Callable) -> RemovableHandle:
    """Call ``hook(grad_outputs)`` before the node runs; a returned tuple replaces them."""
    return _register(self.the_hooks().pre, hook)


def _register_node_hook(self: Node, hook: Callable) -> RemovableHandle:
    """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; a returned tuple replaces the ``grad_inputs``."""
    return _register(self.the_hooks().post, hook)


Node.register_prehook = _register_prehook  # type: ignore[attr-defined]
Node.register_hook = _register_node_hook  # type: ignore[attr-defined]
