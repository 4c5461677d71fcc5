"""Adagrad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer
from ._sparse import adagrad_at
from .adam import decayed

__all__ = ["Adagrad", "adagrad"]


class Adagrad(RuleOptimizer):
    """Rates by the sum of all squared gradients (Duchi et al. 2011); the state is there from the start, as in torch."""

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

    @classmethod
    def _apply_sparse(cls, param: Tensor, grad: Tensor, state: dict[str, Any], group: Mapping[str, Any]) -> None:
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        sign = -1.0 if group["maximize"] else 1.0
        adagrad_at(param, state["sum"], state["step"], grad, float(group["lr"]), float(group["lr_decay"]), float(group["eps"]), sign)

    def share_memory(self) -> None:
        """Accepted; states are not shared between processes."""

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_decaying_rss(h))


def adagrad(
    params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor], fused: bool | None = None, grad_scale: Tensor
    | None = None, found_inf: Tensor | None = None, has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
    has_complex: bool = False, *, lr: float, weight_decay: float, lr_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """The update of `Adagrad` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "sum": state_sums}
    group = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    Adagrad.apply_to(params, grads, states, group, fused=fused, grad_scale=grad_scale, found_inf=found_inf)
