"""The tensors that a captured call found outside: where each is found again, and what must be as it was."""

from __future__ import annotations

from typing import Any

from ..graph.value import Aval, Value
from ..tensors.geometry import Geometry
from ..tensors.storage import Storage
from ..tensors.tape import AccumulateGrad
from ..tensors.tensor import Tensor

__all__ = ["Known", "attributes_of", "gradient_of", "kind_of_edge", "layout_of", "memory_of"]


def gradient_of(tensor: Tensor) -> Any:
    """``tensor.grad`` without its warning."""
    try:
        return tensor._grad
    except AttributeError:
        return None


def memory_of(tensor: Tensor) -> Value:
    """The value of a tensor's whole memory."""
    storage = tensor._storage
    if storage is None:
        return tensor._value
    if storage.host is not None:
        storage.refresh()
    return storage.value


def layout_of(tensor: Tensor) -> tuple[Aval, Geometry | None]:
    """What a tensor's content is like: the aval of its memory, and where it lies in it (None: it is the whole)."""
    storage = tensor._storage
    if storage is None:
        return tensor._value.aval, None
    at = tensor._geometry
    return storage.value.aval, None if at is storage.base and tensor._base_tensor is None else at


def kind_of_edge(tensor: Tensor) -> str:
    """``none``, ``inference`` (it may not come to the tape), ``leaf``, ``hooked`` (a leaf with hooks) or ``result``: where a tensor stands on the tape."""
    edge = tensor._current_edge()
    if edge is None:
        return "inference" if tensor.is_inference() else "none"
    node = edge[0]
    if type(node) is not AccumulateGrad:
        return "result"
    return "leaf" if node.hooks is None and not node.post_accumulate else "hooked"


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """What the user set as attributes of a tensor."""
    return {key: value for key, value in tensor.__dict__.items() if not key.startswith("_dynamo")}


class Known:
    """A tensor that existed before the call, and what it was like then.

    Attributes:
        number: in the order of their finding.
        is_fixed: it is found by identity (a parameter, a buffer); otherwise another tensor may stand in its place (an argument, a gradient).
        layout, edge: see `layout_of`, `kind_of_edge`.
        gradient: its ``.grad``.
        attributes: those that the user gave it.
        storage, memory, content, version, tracked, where_on_tape: what the call may change.
    """

    __slots__ = (
        "tensor", "number", "is_fixed", "where", "layout", "edge", "gradient", "storage", "memory", "content", "version", "tracked",
        "where_on_tape", "attributes",
    )  # fmt: skip

    def __init__(self, tensor: Tensor, number: int, is_fixed: bool, where: str) -> None:
        self.tensor, self.number, self.is_fixed, self.where = tensor, number, is_fixed, where
        self.edge = kind_of_edge(tensor)
        self.layout = layout_of(tensor)
        self.gradient: Tensor | None = gradient_of(tensor)
        self.memory = memory_of(tensor)
        self.storage: Storage | None = tensor._storage
        self.content: Value | None = getattr(tensor, "_value", None)
        self.version = 0 if self.storage is None else self.storage.version
        self.tracked = 0 if self.storage is None else self.storage.changes.tracked
        self.where_on_tape: Any = tensor._edge
        self.attributes = attributes_of(tensor)
