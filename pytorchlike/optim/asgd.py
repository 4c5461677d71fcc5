"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer

__all__ = ["ASGD", "asgd"]


class ASGD(RuleOptimizer):
    """Gradient descent that keeps the average of the parameters in ``state[p]["ax"]`` (Polyak and Juditsky 1992)."""

    CHECKS = (Check("lr", "learning rate"), Check("weight_decay", "weight_decay value"))
    STATE = {"step": "count", "eta": "eta", "mu": "average_weight", "ax": "average"}
    INITIAL = {"eta": "lr", "mu": 1.0}
    SCALARS = frozenset({"step", "eta", "mu"})
    NUMBERS = ("lr", "lambd", "alpha", "t0", "weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return t.chain(*([t.add_decayed_weights(h["weight_decay"])] if on["weight_decay"] else []), t.averaged_sgd(h))


def asgd(
    params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor], etas: list[Tensor], state_steps: list[Tensor], foreach: bool
    | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False, *, lambd: float,
    lr: float, t0: float, alpha: float, weight_decay: float,
) -> None:  # fmt: skip
    """The update of `ASGD` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "eta": etas, "mu": mus, "ax": axs}
    group = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize}
    ASGD.apply_to(params, grads, states, group)
