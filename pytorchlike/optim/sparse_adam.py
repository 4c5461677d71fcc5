"""Adam for gradients of which most rows are missing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..graph.instruction import Instruction
from ..graph.recorder import record, step_boundary
from ..tensors.mutation import write_into
from ..tensors.tensor import Tensor
from ._rules import _full
from .optimizer import Optimizer, loss_of

__all__ = ["SparseAdam", "update_at"]


class SparseAdam(Optimizer):
    """Adam that updates only the elements which a sparse gradient states: moments and parameters of the others stay as they are.

    Raises:
        ValueError: sparse or complex parameters.
        RuntimeError: on a step with a dense gradient, torch's text.
    """

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [(p, [i, j]) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        sparse, complex_ = [at for p, at in places if p.is_sparse], [at for p, at in places if p.is_complex()]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complex_:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters that have a gradient, where it has elements.

        Args:
            closure: computes the loss anew and returns it; so does ``step`` then.
        """
        loss = loss_of(closure)
        for group in self.param_groups:
            with_gradient = [p for p in group["params"] if p.grad is not None]
            for p in with_gradient:
                if not p.grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                state = self.state[p]
                if not state:
                    state.update(step=0, exp_avg=_full(p.shape, 0.0, p.dtype, p), exp_avg_sq=_full(p.shape, 0.0, p.dtype, p))
                state["step"] += 1
            for p in with_gradient:
                state, own = self.state[p], {key: group[key] for key in ("lr", "betas", "eps")}
                update_at(p, p.grad, state["exp_avg"], state["exp_avg_sq"], state["step"], **own, maximize=group.get("maximize", False))
        step_boundary("optimizer.step")
        return loss


def update_at(
    param: Tensor, grad: Any, mean: Tensor, square: Tensor, step: int, *, lr: Any, betas: tuple[float, float], eps: float, maximize: bool
) -> None:
    """One update of a parameter and its moments, where the gradient has elements."""
    grad = grad.coalesce()  # the update is not linear: each place once
    indices, values = grad._indices(), grad._values()
    if not values.numel():
        return
    beta1, beta2 = betas
    size = float(lr) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    targets = [param, mean, square]
    arguments = [*targets, indices, -values if maximize else values]
    numbers = (1 - beta1, 1 - beta2, float(eps), size)
    for target, value in zip(targets, record(_instruction(), tuple([a._content() for a in arguments]), numbers), strict=True):
        write_into(target, value)


@functools.cache
def _instruction() -> Instruction:
    """The update: takes parameter, moments, indices, values of the gradient, and the numbers."""
    import jax.numpy as jnp

    def function(param: Any, mean: Any, square: Any, indices: Any, values: Any, *numbers: Any) -> tuple:
        take1, take2, eps, size = (n.reshape(()).astype(values.dtype) for n in numbers)
        at = tuple(indices)
        mean_change = (values - mean[at]) * take1
        square_change = (values * values - square[at]) * take2
        new_mean, new_square = mean[at] + mean_change, square[at] + square_change
        step = -size * new_mean / (jnp.sqrt(new_square) + eps)
        return param.at[at].add(step), mean.at[at].add(mean_change), square.at[at].add(square_change)

    return Instruction("SparseAdam.step", function, float_count=4)
