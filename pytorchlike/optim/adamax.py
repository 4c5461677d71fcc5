"""Adam with the infinity norm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import RuleOptimizer
from .adam import MOMENT_CHECKS, decayed

__all__ = ["Adamax", "adamax"]


class Adamax(RuleOptimizer):
    """Adam with the infinity norm, arXiv:1412.6980 section 7.1."""

    CHECKS = MOMENT_CHECKS
    STATE = {"step": "count", "exp_avg": "mu", "exp_inf": "nu"}
    NUMBERS = ("lr", "betas", "eps", "weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_adamax(*h["betas"], eps=h["eps"]))


def adamax(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor], state_steps: list[Tensor], foreach: bool | None =
    None, maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *, eps: float, beta1: float,
    beta2: float, lr: float, weight_decay: float,
) -> None:  # fmt: skip
    """The update of `Adamax` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "exp_avg": exp_avgs, "exp_inf": exp_infs}
    group = {"lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    Adamax.apply_to(params, grads, states, group)
