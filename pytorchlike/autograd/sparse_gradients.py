"""Sparse tensors in a backward pass.

The tape sees the values of a sparse tensor (aten/sparse_tensor.py).  The gradients that arrive for those are dense; they become sparse ones where a
user looks at them.  Gradients that are sparse themselves come from look-ups (``embedding(sparse=True)``): such a `SparseTensor` travels in the place of
a value, straight to a leaf, and is dense for any other node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..aten.composed import ComposedTensor
from ..aten.sparse_tensor import SparseTensor
from ..tensors.mutation import write_into
from ..tensors.tape import AccumulateGrad, Edge
from ..tensors.tensor import Tensor, make_tensor

__all__ = ["accumulate_sparse", "added", "as_roots", "as_sparse", "content", "passed_on"]


def content(tensor: Tensor) -> Any:
    """What stands for a gradient in the pass: its value; a sparse one itself."""
    return tensor if isinstance(tensor, SparseTensor) else tensor._content()


def _tensor(gradient: Any) -> Tensor:
    return gradient if isinstance(gradient, Tensor) else make_tensor(gradient)


def added(earlier: Any, later: Any, create_graph: bool) -> Any:
    """The sum of two gradients, one of which is sparse; the elements of the later one come first, as in torch."""
    a, b = _tensor(earlier), _tensor(later)
    total = b + a if isinstance(a, SparseTensor) else a + b
    return total if create_graph else content(total)


def accumulate_sparse(leaf: Tensor, earlier: Tensor | None, gradient: Any, create_graph: bool) -> None:
    """Add to a leaf's ``.grad`` where it, or the gradient, is sparse: in place only if it is dense."""
    if earlier is None:
        leaf._grad = gradient if create_graph else gradient.detach()
    elif create_graph or isinstance(earlier, SparseTensor):
        leaf._grad = _tensor(added(earlier, gradient, create_graph))
    else:
        write_into(earlier, added(earlier, gradient, False))


def passed_on(gradients: Sequence[Tensor | None], edges: Sequence[Edge | None]) -> list[Tensor | None]:
    """The gradients that a node of Python code gave, dense where they do not go to a leaf."""
    return [
        g.to_dense() if isinstance(g, SparseTensor) and edge is not None and type(edge[0]) is not AccumulateGrad else g
        for g, edge in zip(gradients, edges, strict=True)
    ]


def as_roots(tensors: Sequence[Any], gradients: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What backward starts from, and the gradients given for it, with the elements in the place of sparse and masked tensors."""
    pairs = list(zip(tensors, gradients))
    given = tuple([t.to_gradient(g) if isinstance(t, ComposedTensor) and isinstance(g, Tensor) else g for t, g in pairs])
    return tuple([t._elements if isinstance(t, ComposedTensor) else t for t in tensors]), given


def as_sparse(inputs: Sequence[Any], gradients: Sequence[Any]) -> tuple[Any, ...]:
    """The gradients of inputs, sparse or masked for those that are."""
    return tuple([x.of_gradient(g) if isinstance(x, ComposedTensor) and g is not None else g for x, g in zip(inputs, gradients, strict=True)])
