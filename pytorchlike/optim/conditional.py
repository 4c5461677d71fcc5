"""Updates that a number on the device decides about, without looking at it: what captured training steps need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor, make_tensor
from ._rules import RuleOptimizer

__all__ = ["run_unless", "tensors_written_by"]


def run_unless(condition: Tensor, written: Sequence[Tensor], run: Callable[[], Any]) -> Any:
    """Run a function, and put what it writes back where a condition holds.

    Args:
        condition: of one element; the function has no effect on the tensors where it is true.
        written: the tensors that the function may write to.

    Returns:
        what the function returns.
    """
    before = [tensor._content() for tensor in written]  # values never change: nothing is copied
    result = run()
    with no_grad():
        for tensor, value in zip(written, before, strict=True):
            if tensor._content() is not value:
                tensor.copy_(lookup("where.self")(condition.to(tensor.device), make_tensor(value), tensor))
    return result


def tensors_written_by(optimizer: Any) -> list[Tensor] | None:
    """All tensors that a step of an optimizer changes; None if that is not known beforehand, as in the first step, which makes the state."""
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        return None
    found: list[Tensor] = []
    for group in optimizer.param_groups:
        is_stateful = not isinstance(optimizer, RuleOptimizer) or optimizer.is_stateful(optimizer.switches(group))
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            state = optimizer.state.get(parameter, {})
            if is_stateful and not state or not all(isinstance(each, Tensor) for each in state.values()):
                return None
            found += [parameter, *state.values()]
    return found
