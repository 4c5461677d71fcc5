"""Steps with sparse gradients: only the elements that a gradient states are read and written."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from ..graph.instruction import Instruction
from ..graph.recorder import record
from ..tensors.mutation import write_into
from ..tensors.tensor import Tensor

__all__ = ["adagrad_at", "add_at"]


def _update(instruction: Instruction, targets: list[Tensor], grad: Any, numbers: tuple[float, ...]) -> None:
    """Record an update, a function of (targets, indices, values, numbers), and write the new values into the targets."""
    arguments = [*targets, grad._indices(), grad._values()]
    for target, value in zip(targets, record(instruction, tuple([a._content() for a in arguments]), numbers), strict=True):
        write_into(target, value)


def add_at(param: Tensor, grad: Tensor, factor: float) -> None:
    """Add a multiple of a sparse gradient."""
    _update(_add(), [param], grad, (factor,))


@functools.cache
def _add() -> Instruction:
    def function(param: Any, indices: Any, values: Any, factor: Any) -> tuple:
        change = values * factor.reshape(()).astype(values.dtype)
        return (param.at[tuple(indices)].add(change.astype(param.dtype)),)

    return Instruction("SGD.sparse_step", function, float_count=1)


def adagrad_at(param: Tensor, total: Tensor, step: Tensor, grad: Any, lr: float, lr_decay: float, eps: float, sign: float) -> None:
    """A step of Adagrad where the gradient has elements; ``step`` counts all steps."""
    _update(_adagrad(), [param, total, step], grad.coalesce(), (lr, lr_decay, eps, sign))


@functools.cache
def _adagrad() -> Instruction:
    def function(param: Any, total: Any, step: Any, indices: Any, values: Any, *numbers: Any) -> tuple:
        lr, lr_decay, eps, sign = (n.reshape(()).astype(values.dtype) for n in numbers)
        at, values = tuple(indices), values * sign
        rate = lr / (1 + step.astype(values.dtype) * lr_decay)
        total = total.at[at].add(values * values)
        return param.at[at].add(-rate * values / (jnp.sqrt(total[at]) + eps)), total, step + 1

    return Instruction("Adagrad.sparse_step", function, float_count=4)
