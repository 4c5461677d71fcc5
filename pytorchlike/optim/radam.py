"""Rectified Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import RuleOptimizer
from .adam import MOMENT_CHECKS, decayed

__all__ = ["RAdam"]


class RAdam(RuleOptimizer):
    """Adam whose rate is rectified while the second moment is uncertain, arXiv:1908.03265."""

    __module__ = "torch.optim.radam"
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
