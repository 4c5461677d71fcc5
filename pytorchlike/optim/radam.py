"""Rectified Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import RuleOptimizer
from .adam import MOMENT_CHECKS, decayed

__all__ = ["RAdam", "radam"]


class RAdam(RuleOptimizer):
    """Adam whose rate is rectified while the second moment is uncertain, arXiv:1908.03265."""

    CHECKS = MOMENT_CHECKS
    STATE = {"step": "count", "exp_avg": "mu", "exp_avg_sq": "nu"}
    NUMBERS = ("lr", "betas", "eps", "weight_decay")
    SWITCHES = ("maximize", "weight_decay", "decoupled_weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_radam(h))


def radam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], state_steps: list[Tensor],
    decoupled_weight_decay: bool = False, foreach: bool | None = None, differentiable: bool = False, capturable: bool = False, has_complex: bool
    = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float, weight_decay: float, eps: float,
) -> None:  # fmt: skip
    """The update of `RAdam` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
    group = {
        "lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "decoupled_weight_decay": decoupled_weight_decay,
        "maximize": maximize,
    }  # fmt: skip
    RAdam.apply_to(params, grads, states, group)
