"""``torch.distributed.nn.functional``: collectives that return new tensors and have gradients.

Each calls the collective of the same name and differentiates as the one that goes back: among one process that is the identity.
"""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function
from ...core.process_groups import ProcessGroup
from ...tensors.tensor import Tensor
from .. import collectives
from ..group import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


class _Collective(Function):
    """A tensor of this process, after ``send(copy)`` has written what the others have to it."""

    @staticmethod
    def forward(ctx: Any, send: Any, tensor: Tensor) -> Tensor:
        result = tensor.clone()
        send(result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, grads[0]


def _named(name: str) -> type[_Collective]:
    """A class of this name, which `grad_fn` shows."""
    return type(name, (_Collective,), {"__module__": __name__})


_AllReduce, _Broadcast, _Reduce, _Gather, _Scatter = map(_named, ("_AllReduce", "_Broadcast", "_Reduce", "_Gather", "_Scatter"))
_AllGather, _Reduce_Scatter, _AlltoAll, _AlltoAllSingle = map(_named, ("_AllGather", "_Reduce_Scatter", "_AlltoAll", "_AlltoAllSingle"))


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The tensors of all processes, combined.

    Raises:
        ValueError: there is no default group.
    """
    return _AllReduce.apply(lambda copy: collectives.all_reduce(copy, op, group), tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The tensors of all processes, combined in process ``dst``.

    Raises:
        RuntimeError: there is no such process.
    """
    return _Reduce.apply(lambda copy: collectives.reduce(copy, dst, op, group), tensor)


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """The tensor of process ``src``.

    Raises:
        RuntimeError: there is no such process.
    """
    return _Broadcast.apply(lambda copy: collectives.broadcast(copy, src, group), tensor)


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensor of each process, in process ``dst``.

    Raises:
        RuntimeError: there is no such process.
    """
    return (_Gather.apply(lambda copy: collectives.gather(tensor.detach(), [copy], dst, group), tensor),)


def scatter(tensors: list[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """The own one of the tensors that process ``src`` has for each.

    Raises:
        RuntimeError: there is no such process, or not one tensor for each.
    """
    return _Scatter.apply(lambda copy: collectives.scatter(copy, [each.detach() for each in tensors], src, group), tensors[0])


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensor of each process.

    Raises:
        ValueError: there is no default group.
    """
    return (_AllGather.apply(lambda copy: collectives.all_gather([copy], tensor.detach(), group), tensor),)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The own one of the tensors that all processes have for each, combined.

    Raises:
        RuntimeError: not one tensor for each process, or ``output`` has another size.
    """

    def send(copy: Tensor) -> None:
        collectives.reduce_scatter(output, [each.detach() for each in input_list], op, group)

    return _Reduce_Scatter.apply(send, input_list[0])


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """What each process has for this one.

    Raises:
        RuntimeError: not one tensor for each process, or an output has another size.
    """

    def send(copy: Tensor) -> None:
        collectives.all_to_all(output_tensor_list, [each.detach() for each in input_tensor_list], group)

    return (_AlltoAll.apply(send, input_tensor_list[0]),)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None, input_split_sizes: list[int] | None = None,
                      group: ProcessGroup | None = None) -> Tensor:  # fmt: skip
    """The parts of a tensor that each process has for this one.

    Raises:
        RuntimeError: ``output`` has another size.
    """

    def send(copy: Tensor) -> None:
        collectives.all_to_all_single(output, input.detach(), output_split_sizes, input_split_sizes, group)

    return _AlltoAllSingle.apply(send, input)
