"""Collectives of one process: what all processes have is what this one has."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.process_groups import ProcessGroup, members
from ..tensors.tensor import Tensor
from .group import ReduceOp

__all__ = [
    "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "broadcast",
    "broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
]  # fmt: skip


class Work:
    """A collective that was started with ``async_op=True``: it is over."""

    __module__ = "torch.distributed.distributed_c10d"

    def __init__(self, result: list[Tensor]) -> None:
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True at once."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    is_success = is_completed

    def result(self) -> list[Tensor]:
        """The tensors that were written."""
        return self._result


def _tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             Instead got {type(value)}")
    return value


def _tensors(values: Any, name: str) -> list[Tensor]:
    if not isinstance(values, list) or not all(isinstance(v, Tensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             Instead got {type(values)}"
        )
    return values


def _root(name: str, rank: int | None, group_rank: int | None) -> None:
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_src and src" if name != "dst" else "Can't specify both group_dst and dst")
    if (rank or 0) != 0 or (group_rank or 0) != 0:
        raise RuntimeError(f"invalid root rank: {rank if group_rank is None else group_rank}")


def _copy(targets: Sequence[Tensor], sources: Sequence[Tensor], what: str) -> None:
    """Write the values of the only process.

    Raises:
        RuntimeError: not one tensor each, or tensors that do not fit.
    """
    if len(targets) != 1 or len(sources) != 1:
        raise RuntimeError(f"{what}: invalid output tensor list at index 0 (expected length 1, got {len(targets)})")
    target, source = targets[0], sources[0]
    if target.numel() != source.numel() or target.dtype != source.dtype:
        raise RuntimeError(f"{what}: invalid tensor size at index 0 (expected {tuple(source.shape)}, got {tuple(target.shape)})")
    if target is not source:
        with no_grad():
            target.copy_(source.reshape(target.shape))


def _done(group: Any, async_op: bool, result: list[Tensor]) -> Work | None:
    return Work(result) if async_op and members(group) is not None else None


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Combine a tensor of all processes: it stays as it is."""
    _tensor(tensor, "tensor")
    members(group)
    return _done(group, async_op, [tensor])


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Combine a tensor of all processes in one of them: it stays as it is."""
    _tensor(tensor, "tensor")
    members(group)
    _root("dst", dst, group_dst)
    return _done(group, async_op, [tensor])


def broadcast(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Take over a tensor of one process: it stays as it is."""
    _tensor(tensor, "tensor")
    members(group)
    _root("src", src, group_src)
    return _done(group, async_op, [tensor])


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """The tensor of each process."""
    targets, source = _tensors(tensor_list, "tensor_list"), _tensor(tensor, "tensor")
    if members(group) is not None:
        _copy(targets, [source], "all_gather")
    return _done(group, async_op, targets)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes, one behind the other."""
    target, source = _tensor(output_tensor, "output_tensor"), _tensor(input_tensor, "input_tensor")
    if members(group) is not None:
        _copy([target], [source], "all_gather_into_tensor")
    return _done(group, async_op, [target])


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None, group: ProcessGroup | None = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """The tensor of each process, in one of them."""
    _tensor(tensor, "tensor")
    _root("dst", dst, group_dst)
    if members(group) is None:
        return None
    if gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _copy(_tensors(gather_list, "gather_list"), [tensor], "gather")
    return _done(group, async_op, gather_list)


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """A tensor of one process to each."""
    _tensor(tensor, "tensor")
    _root("src", src, group_src)
    if members(group) is None:
        return None
    if scatter_list is None:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy([tensor], _tensors(scatter_list, "scatter_list"), "scatter")
    return _done(group, async_op, [tensor])


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Combine lists of tensors, one element of the result to each process."""
    target, sources = _tensor(output, "output"), _tensors(input_list, "input_list")
    if members(group) is not None:
        _copy([target], sources, "reduce_scatter")
    return _done(group, async_op, [target])


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Combine tensors, a part of the result to each process."""
    target, source = _tensor(output, "output"), _tensor(input, "input")
    if members(group) is not None:
        _copy([target], [source], "reduce_scatter_tensor")
    return _done(group, async_op, [target])


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """A tensor from each process to each."""
    targets, sources = _tensors(output_tensor_list, "output_tensor_list"), _tensors(input_tensor_list, "input_tensor_list")
    if members(group) is not None:
        _copy(targets, sources, "all_to_all")
    return _done(group, async_op, targets)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None, input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """A part of a tensor from each process to each."""
    target, source = _tensor(output, "output"), _tensor(input, "input")
    if members(group) is not None:
        _copy([target], [source], "all_to_all_single")
    return _done(group, async_op, [target])


def _sent(value: Any) -> Any:
    """What arrives when an object is sent: a copy, by pickle as in torch."""
    return pickle.loads(pickle.dumps(value))


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """The object of each process."""
    if members(group) is not None:
        object_list[0] = _sent(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: ProcessGroup | None = None, group_dst: int | None = None
) -> None:
    """The object of each process, in one of them."""
    _root("dst", dst, group_dst)
    if members(group) is None:
        return
    if object_gather_list is None:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    object_gather_list[0] = _sent(obj)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None, device: Any = None, group_src: int | None = None
) -> None:
    """Take over objects of one process: they stay as they are."""
    members(group)
    _root("src", src, group_src)


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None,
    group: ProcessGroup | None = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """An object of one process to each."""
    _root("src", src, group_src)
    if members(group) is None:
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    scatter_object_output_list[0] = _sent(scatter_object_input_list[0])


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: list[int] | None = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait for all processes: there are no others."""
    members(group)
    return _done(group, async_op, [])


def monitored_barrier(group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes: there are no others."""
    members(group)


def _refuse(peer: int | None, group: Any, what: str) -> None:
    members(group)
    if (peer or 0) == 0:
        raise ValueError(f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.")
    raise ValueError(f"Global rank {peer} is not part of group {group}")


def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send to another process: there is none.

    Raises:
        ValueError: always.
    """
    _refuse(dst if group_dst is None else group_dst, group, "destination")


def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive from another process: there is none.

    Raises:
        ValueError: always.
    """
    _refuse(src if group_src is None else group_src, group, "source")
    return -1


def isend(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """`send`, without waiting."""
    send(tensor, dst, group, tag, group_dst)
    return None


def irecv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """`recv`, without waiting."""
    recv(tensor, src, group, tag, group_src)
    return None
