"""Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer
from .adam import MOMENT_CHECKS, decayed

__all__ = ["NAdam", "nadam"]


class NAdam(RuleOptimizer):
    """Adam with Nesterov momentum and a momentum schedule (Dozat 2016)."""

    CHECKS = (*MOMENT_CHECKS, Check("momentum_decay", "momentum_decay value"))
    STATE = {"step": "count", "mu_product": "mu_product", "exp_avg": "mu", "exp_avg_sq": "nu"}
    INITIAL = {"mu_product": 1.0}
    SCALARS = frozenset({"step", "mu_product"})
    NUMBERS = ("lr", "betas", "eps", "weight_decay", "momentum_decay")
    SWITCHES = ("maximize", "weight_decay", "decoupled_weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_nadam(h))


def nadam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], mu_products: list[Tensor], state_steps:
    list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
    has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float, weight_decay: float, momentum_decay: float, eps:
    float,
) -> None:  # fmt: skip
    """The update of `NAdam` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "mu_product": mu_products, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
    group = {
        "lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
        "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
    }  # fmt: skip
    NAdam.apply_to(params, grads, states, group)
