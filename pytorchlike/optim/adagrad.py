"""Adagrad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer
from ._sparse import adagrad_at
from .adam import decayed

__all__ = ["Adagrad"]


class Adagrad(RuleOptimizer):
    """Rates by the sum of all squared gradients (Duchi et al. 2011); the state is there from the start, as in torch."""

    __module__ = "torch.optim.adagrad"
    CHECKS = (
        Check("lr", "learning rate"),
        Check("lr_decay", "lr_decay value"),
        Check("weight_decay", "weight_decay value"),
        Check("initial_accumulator_value", "initial_accumulator_value value"),
        Check("eps", "epsilon value"),
    )
    STATE = {"step": "count", "sum": "sum_of_squares"}
    INITIAL = {"sum": "initial_accumulator_value"}
    NUMBERS = ("lr", "lr_decay", "weight_decay", "eps")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
        eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay, "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(p, group, self.switches(group))

    def _apply_sparse(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state, sign = self.state[param], -1.0 if group["maximize"] else 1.0
        adagrad_at(param, state["sum"], state["step"], grad, float(group["lr"]), float(group["lr_decay"]), float(group["eps"]), sign)

    def share_memory(self) -> None:
        """Accepted; states are not shared between processes."""

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_decaying_rss(h))
