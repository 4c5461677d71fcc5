"""Look-ups in a table whose gradient is sparse: the rows that were looked up, in that order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.state import thread
from ..tensors.tape import FREED, CustomNode, announce, next_number
from ..tensors.tensor import Tensor, make_tensor
from .sparse_tensor import coo, host, index_tensor

__all__ = ["is_recorded", "looked_up"]


class _SparseEmbedding(CustomNode):
    """The tape's node of a look-up with ``sparse=True``."""

    __slots__ = ("shape", "padding_idx", "scales", "result_aval")

    def __init__(self, weight: Tensor, indices: Tensor, padding_idx: int, scales: bool, result: Tensor) -> None:
        self.edges = (weight._current_edge(),)
        self.saved, self.scalars, self.hooks = (indices._content(),), None, None
        self.number = next_number()
        self.shape, self.padding_idx, self.scales = tuple(weight.shape), padding_idx, scales
        self.result_aval = result._aval()
        announce(self)

    def name(self) -> str:
        return "EmbeddingBackward0"

    def output_count(self) -> int:
        return 1

    def output_aval(self, number: int) -> Any:
        return self.result_aval

    def run(self, grads: list[Any], create_graph: bool, keep: bool) -> list[Any]:
        """The gradient of the table."""
        if self.scales:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        if self.saved is None:
            raise RuntimeError(FREED)
        if grads[0] is None:
            return [None]
        indices = make_tensor(self.saved[0]).reshape(-1).long()
        values = grads[0].reshape(-1, self.shape[1])
        if self.padding_idx >= 0:
            kept = index_tensor(np.flatnonzero(host(indices) != self.padding_idx), indices.device)
            indices, values = indices.index_select(0, kept), values.index_select(0, kept)
        if not keep:
            self.saved = None
        return [coo(indices.unsqueeze(0), values, self.shape)]


_SparseEmbedding.__name__ = _SparseEmbedding.__qualname__ = "EmbeddingBackward0"
_SparseEmbedding.__module__ = "torch.autograd.graph"


def is_recorded(weight: Tensor) -> bool:
    """Whether a look-up now is recorded for a sparse gradient; inside of transformations the gradient is dense."""
    return thread.state.grad_enabled and not thread.state.levels and weight.requires_grad


def looked_up(rows: Any, weight: Tensor, indices: Tensor, padding_idx: int, scales: bool) -> Tensor:
    """The result of a look-up, ``rows(weight, indices, ...)``, recorded for a sparse gradient."""
    result = rows(weight.detach(), indices, padding_idx, False, True)
    result._edge = (_SparseEmbedding(weight, indices, padding_idx, scales, result), 0)
    return result
