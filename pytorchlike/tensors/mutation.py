"""Writing into a tensor: its checks, the new content of its storage, and what becomes of its place on the tape."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.state import thread
from ..graph.value import Value
from . import inference, layout, views
from .geometry import Geometry
from .restricted import RESTRICTED, UNTRACKED, refusal
from .tape import Edge, connect, move_retained
from .tensor import Tensor, base_aval, make_storage, relayout

__all__ = ["check_no_overlap", "check_no_partial_overlap", "check_tape", "check_writable", "check_writable_memory", "write_into"]

_IS_A_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor "
    "before performing the operation."
)
_PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please clone() the "
    "tensor before performing the operation."
)

def check_writable_memory(tensor: Tensor) -> None:
    """Refuse tensors of which several elements share a memory location.

    Raises:
        RuntimeError: torch's text.
    """
    if tensor._storage is not None and layout.has_internal_overlap(tensor._geometry.size, tensor._geometry.stride):
        raise RuntimeError(_OVERLAP)


def check_no_partial_overlap(tensor: Tensor, others: Iterable[Tensor]) -> None:
    """Refuse to write into memory that an elementwise operator also reads as something else.

    Raises:
        RuntimeError: torch's text.
    """
    storage = tensor._storage
    if storage is None:
        return
    at = tensor._geometry
    for other in others:
        if other is tensor or other._storage is not storage:
            continue
        its = other._geometry
        if not at.numel or not its.numel or its is at or not all(layout.is_non_overlapping_and_dense(g.size, g.stride) for g in (at, its)):
            continue
        mine, theirs = tensor.element_size(), other.element_size()
        same_place = at.offset * mine == its.offset * theirs and at.numel == its.numel
        apart = at.offset * mine >= its.end * theirs or its.offset * theirs >= at.end * mine
        if same_place and _squeezed(at) != _squeezed(its) or not same_place and not apart:
            raise RuntimeError(_PARTIAL_OVERLAP)


def check_no_overlap(tensor: Tensor, others: Iterable[Tensor]) -> None:
    """Refuse to write into memory that an operator reads from anywhere, as torch's kernels that move elements around do.

    Raises:
        RuntimeError: torch's text.
    """
    for other in others:
        if other is tensor:  # also one without elements
            raise RuntimeError(_PARTIAL_OVERLAP)
        if tensor._storage is None or other._storage is not tensor._storage:
            continue
        at, its = tensor._geometry, other._geometry
        mine, theirs = tensor.element_size(), other.element_size()
        if at.numel and its.numel and at.offset * mine < its.end * theirs and its.offset * theirs < at.end * mine:
            raise RuntimeError(_PARTIAL_OVERLAP)


def _squeezed(at: Geometry) -> list[tuple[int, int]]:
    return [(n, s) for n, s in zip(at.size, at.stride) if n != 1]


def check_writable(tensor: Tensor, *, other_requires_grad: bool = False) -> None:
    """Refuse in-place operators where torch does, before anything was changed.

    Args:
        other_requires_grad: another argument of the operator is on the tape.

    Raises:
        RuntimeError: a leaf that asks for a gradient, a view of one, a view that may not be written to, overlapping memory.
    """
    state = thread.state
    if inference.was_used and not state.inference and tensor.is_inference():
        raise RuntimeError(inference.NOT_IN_PLACE)
    if state.grad_enabled:
        check_tape(tensor, other_requires_grad)
    check_writable_memory(tensor)


def check_tape(tensor: Tensor, other_requires_grad: bool = False) -> None:
    """The part of `check_writable` that has to do with gradients; it does not hold under ``no_grad``."""
    base = tensor._base
    edge = tensor._edge if base is not None and tensor._flags & RESTRICTED else tensor._current_edge()
    if base is not None:
        if tensor._flags & RESTRICTED and (edge is not None or base._edge is not None or other_requires_grad):
            raise RuntimeError(refusal(tensor._flags, edge, is_base=False))
        if base._edge[0].is_leaf if base._edge is not None else edge is not None:  # a base without an edge is a leaf, too
            raise RuntimeError(_VIEW_OF_LEAF)
    elif edge is not None and edge[0].is_leaf:
        raise RuntimeError(_IS_A_LEAF)


def write_into(tensor: Tensor, value: Value, edge: Edge | None = None) -> None:
    """Give a tensor new content; every alias sees it.

    Args:
        value: of the tensor's size and dtype.
        edge: where the new content stands on the tape; None when it is not recorded.
    """
    if thread.state.levels:
        value, edge = thread.state.levels[-1].fit_write(tensor, value, edge)
    storage = make_storage(tensor)
    if storage.host is not None:
        storage.refresh()
    base, at = storage.base, tensor._geometry
    tracked = not tensor._flags & UNTRACKED
    base_tensor = tensor._base_tensor
    old = storage.value
    if at is base:
        if value.aval.stride != old.aval.stride or value.origin is not None:
            value = relayout(value, old.aval.stride)
        new_base = value
    else:
        new_base = views.write(old, base, at, value)
    storage.replace(new_base, tracked=tracked)
    if at is not base:
        value.origin = (storage.changes, storage.changes.tracked)
    if not thread.state.grad_enabled:
        return
    if base_tensor is None:
        if edge is not None:
            move_retained(tensor._edge, edge)
            tensor._edge = edge
            storage.changes.written_by = (edge[0].name(), edge[1], old.aval.size)
    elif edge is not None or base_tensor._edge is not None:
        needed = (base_tensor._edge is not None, edge is not None)
        if base_tensor._geometry is base:
            backward = views.write_backward(needed, old.aval, base, at, value.aval)
        else:
            backward = views.write_backward(needed, base_aval(base_tensor), base, at, value.aval, base_tensor._geometry)
        before, now = base_tensor._edge, (connect(backward, (base_tensor._edge, edge), (old, value), (new_base,)), 0)
        move_retained(before, now)
        base_tensor._edge = now
        storage.changes.written_by = (now[0].name(), 0, old.aval.size)
        if tensor.retains_grad:
            tensor._current_edge()  # what is retained is the gradient of the new content
