"""Resilient backpropagation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer

__all__ = ["Rprop", "rprop"]


class Rprop(RuleOptimizer):
    """Steps by the sign of the gradient, of a size for each element (Riedmiller and Braun 1993)."""

    CHECKS = (Check("lr", "learning rate"),)
    STATE = {"step": "count", "prev": "previous", "step_size": "step_size"}
    INITIAL = {"step_size": "lr"}
    NUMBERS = ("lr", "etas", "step_sizes")
    SWITCHES = ("maximize",)

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50), *,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            self.CHECKS[0](lr)
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return t.chain(t.scale_by_rprop(h))


def rprop(
    params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor], state_steps: list[Tensor], foreach: bool | None =
    None, capturable: bool = False, maximize: bool = False, differentiable: bool = False, has_complex: bool = False, *, step_size_min: float,
    step_size_max: float, etaminus: float, etaplus: float,
) -> None:  # fmt: skip
    """The update of `Rprop` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "prev": prevs, "step_size": step_sizes}
    group = {"lr": 0.0, "etas": (etaminus, etaplus), "step_sizes": (step_size_min, step_size_max), "maximize": maximize}
    Rprop.apply_to(params, grads, states, group)
