"""Adadelta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer
from .adam import decayed

__all__ = ["Adadelta", "adadelta"]


class Adadelta(RuleOptimizer):
    """Rates from running averages of squared gradients and squared steps, arXiv:1212.5701."""

    CHECKS = (
        Check("lr", "learning rate"),
        Check("rho", "rho value", below=1.0, closed=True),
        Check("eps", "epsilon value"),
        Check("weight_decay", "weight_decay value"),
    )
    STATE = {"step": "count", "square_avg": "e_g", "acc_delta": "e_x"}
    NUMBERS = ("lr", "rho", "eps", "weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach: bool | None = None,
        *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable, "foreach": foreach,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_adadelta(h["rho"], h["eps"]))


def adadelta(
    params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], acc_deltas: list[Tensor], state_steps: list[Tensor], capturable: bool =
    False, foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *, lr: float, rho: float, eps: float,
    weight_decay: float, maximize: bool,
) -> None:  # fmt: skip
    """The update of `Adadelta` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas}
    group = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    Adadelta.apply_to(params, grads, states, group)
