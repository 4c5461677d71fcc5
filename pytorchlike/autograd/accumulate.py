"""What happens at the leaves: a gradient is put into, or added to, ``leaf.grad``."""

from __future__ import annotations

import warnings
from typing import Any

from ..aten.sparse_tensor import SparseTensor
from ..dispatch.call import apply
from ..dispatch.derivative import Differentiable
from ..graph.recorder import record
from ..graph.value import Value
from ..tensors import layout
from ..tensors.mutation import write_into
from ..tensors.relayout import instruction as relayout_instruction
from ..tensors.tape import AccumulateGrad
from ..tensors.tensor import Tensor, make_tensor
from .grad_mode import kept
from .sparse_gradients import accumulate_sparse

__all__ = ["ADD", "accumulate", "warn_of_cycle"]

#: The sum of two gradients.
ADD = Differentiable("add", lambda a, b: a + b)

_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a memory leak. "
    "We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make sure to reset the .grad "
    "fields of your parameters to None after use to break the cycle and avoid the leak."
)
_has_warned = False


def warn_of_cycle() -> None:
    """Warn, once, of what ``backward(create_graph=True)`` keeps alive."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warnings.warn(_CYCLE, UserWarning, stacklevel=5)


def accumulate(node: AccumulateGrad, gradient: Any, create_graph: bool) -> None:
    """Add to a leaf's ``.grad``: in place as torch does, unless the backward pass itself is recorded.

    The first gradient gets the leaf's strides; values never change, so there is nothing to copy.

    Args:
        gradient: a tensor with ``create_graph``, else a value; or a sparse tensor; None adds nothing.
    """
    leaf = node.leaf()
    if leaf is None or leaf._edge is None:
        return
    if gradient is not None:
        _add(leaf, gradient, create_graph)
    if node.post_accumulate:
        for hook in list(node.post_accumulate.values()):
            answer = hook(leaf)
            if answer is not None:
                raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")


def _add(leaf: Tensor, gradient: Any, create_graph: bool) -> None:
    try:
        earlier = leaf._grad
    except AttributeError:
        earlier = None
    if gradient.__class__ is SparseTensor or earlier.__class__ is SparseTensor:
        accumulate_sparse(leaf, earlier, gradient, create_graph)
    elif earlier is None:
        leaf._grad = _in_layout_of(leaf, gradient) if create_graph else make_tensor(_value_in_layout_of(leaf, gradient))
    elif create_graph:
        leaf._grad = earlier + gradient
    else:
        write_into(earlier, record(ADD, (earlier._content(), gradient))[0])


def _wanted_stride(leaf: Tensor) -> tuple[int, ...] | None:
    """The strides of a leaf's gradient: its own if it is dense, else contiguous (None)."""
    shape, stride = leaf.shape, leaf.stride()
    return stride if layout.is_non_overlapping_and_dense(shape, stride) else None


def _value_in_layout_of(leaf: Tensor, gradient: Value) -> Value:
    aval = gradient.aval
    if aval.stride == (leaf._value.aval.stride if leaf._storage is None else leaf._geometry.stride) or not kept.grad_layout:
        return gradient
    wanted = _wanted_stride(leaf)
    if wanted is None and aval.is_contiguous or wanted is not None and all(n == 1 or a == b for n, a, b in zip(aval.size, aval.stride, wanted)):
        return gradient
    return record(relayout_instruction(wanted), (gradient,))[0]


def _in_layout_of(leaf: Tensor, gradient: Tensor) -> Tensor:
    return apply(relayout_instruction(_wanted_stride(leaf)), (gradient,))[0]
