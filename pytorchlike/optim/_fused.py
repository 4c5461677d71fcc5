"""``torch._fused_adam_`` and its like: the optimizers' updates of lists of tensors, with step counts that count this step already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..tensors.tensor import Tensor
from .adagrad import adagrad
from .adam import adam
from .sgd import sgd

__all__ = ["_fused_adagrad_", "_fused_adam_", "_fused_adamw_", "_fused_sgd_"]


def _before(state_steps: list[Tensor]) -> list[Tensor]:
    """The counts before this step: the functions of lists count it themselves."""
    return [step - 1 for step in state_steps]


def _adam_(name: str, says: str, decoupled_weight_decay: bool) -> Callable[..., None]:
    @no_grad()
    def fused(
        self: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], max_exp_avg_sqs: list[Tensor],
        state_steps: list[Tensor], *, lr: float | Tensor, beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
        grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
    ) -> None:  # fmt: skip
        adam(
            self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, _before(state_steps), fused=True, grad_scale=grad_scale, found_inf=found_inf,
            decoupled_weight_decay=decoupled_weight_decay, amsgrad=amsgrad, beta1=beta1, beta2=beta2, lr=lr, weight_decay=weight_decay, eps=eps,
            maximize=maximize,
        )  # fmt: skip

    fused.__name__ = fused.__qualname__ = name
    fused.__doc__ = f"{says}'s step on lists of tensors, which are written to (``state_steps`` are not)."
    return fused


_fused_adam_ = _adam_("_fused_adam_", "Adam", decoupled_weight_decay=False)
_fused_adamw_ = _adam_("_fused_adamw_", "AdamW", decoupled_weight_decay=True)


@no_grad()
def _fused_sgd_(
    self: list[Tensor], grads: list[Tensor], momentum_buffer_list: list[Tensor], *, weight_decay: float, momentum: float, lr: float | Tensor,
    dampening: float, nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
) -> None:  # fmt: skip
    """The step of gradient descent on lists of tensors, which are written to; the first step sets the momenta."""
    starting = bool(is_first_step and momentum)
    buffers: list[Any] = [None] * len(self) if starting or not momentum else momentum_buffer_list
    sgd(
        self, grads, buffers, fused=True, grad_scale=grad_scale, found_inf=found_inf, weight_decay=weight_decay, momentum=momentum, lr=lr,  # type: ignore[arg-type]
        dampening=dampening, nesterov=nesterov, maximize=maximize,
    )  # fmt: skip
    if starting and not (found_inf is not None and found_inf.item()):
        for target, buffer in zip(momentum_buffer_list, buffers, strict=True):
            target.copy_(buffer)


@no_grad()
def _fused_adagrad_(
    self: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor], *, lr: float | Tensor, lr_decay: float,
    weight_decay: float, eps: float, maximize: bool, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
) -> None:  # fmt: skip
    """Adagrad's step on lists of tensors, which are written to (``state_steps`` are not)."""
    adagrad(
        self, grads, state_sums, _before(state_steps), fused=True, grad_scale=grad_scale, found_inf=found_inf, lr=lr,  # type: ignore[arg-type]
        weight_decay=weight_decay, lr_decay=lr_decay, eps=eps, maximize=maximize,
    )  # fmt: skip
