"""Hooks: on tensors' gradients, on leaves after accumulation; ``retain_grad``."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable

from ..core.handle import RemovableHandle, register
from ..tensors.tape import AccumulateGrad
from ..tensors.tensor import Tensor, tensor_method

__all__: list[str] = []

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
            tensor._grad = gradient if earlier is None else earlier + gradient

    edge[0].the_hooks().retain[edge[1]] = keep
