"""How a tensor prints itself: ``repr``, ``format``.  The text is made in `printing`; the tape and the tensor stay as they are."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..core.state import default_dtype, thread
from ..graph.recorder import synchronise
from .printing import tensor_text
from .tensor import PLAIN_TYPES, Tensor, tensor_method

__all__: list[str] = []


@tensor_method
def __repr__(self: Tensor) -> str:
    """The tensor's elements and what is not obvious of it, as torch writes them.

    Inside a JAX transformation there are no elements to be shown yet: the text says ``traced``.
    """
    array: Any = None
    suffixes: list[str] = []
    if thread.state.levels:
        whole, suffixes = thread.state.levels[-1].shown(self)
        if whole is not None:
            return whole
    if not self.is_meta:
        array = synchronise(self._content(), "print")
        if isinstance(array, jax.core.Tracer):
            array = None
            suffixes.append("traced")
        else:
            array = np.asarray(array)
    try:
        node = self.grad_fn
        grad_fn = None if node is None else type(node).__name__
    except RuntimeError:  # a view that no operator may use any more
        grad_fn = "Invalid"
    return tensor_text(
        array, self.dtype, self.shape,
        device=None if self.is_cpu else str(self.device),
        requires_grad=self.requires_grad,
        grad_fn=grad_fn,
        default_dtype=default_dtype(),
        prefix="tensor(" if type(self) in PLAIN_TYPES else f"{type(self).__name__}(",
        suffixes=suffixes,
    )  # fmt: skip


@tensor_method
def __format__(self: Tensor, format_spec: str) -> str:
    """A 0-d tensor is formatted as its number, any other by its ``repr``.

    Raises:
        TypeError: a format for a tensor with dimensions.
    """
    if self.ndim == 0 and not self.is_meta and type(self) is Tensor:
        return format(self.item(), format_spec)
    return object.__format__(self, format_spec)
