"""RMSprop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer
from .adam import decayed

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(RuleOptimizer):
    """Rates by a running average of squared gradients (Hinton 2012), eps outside the root; ``centered`` is arXiv:1308.0850."""

    CHECKS = (
        Check("lr", "learning rate"),
        Check("eps", "epsilon value"),
        Check("momentum", "momentum value"),
        Check("weight_decay", "weight_decay value"),
        Check("alpha", "alpha value"),
    )
    STATE = {"step": "count", "square_avg": "nu", "momentum_buffer": "trace", "grad_avg": "mu"}
    NUMBERS = ("lr", "alpha", "eps", "weight_decay", "momentum")
    SWITCHES = ("maximize", "weight_decay", "momentum", "centered")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
        centered: bool = False, capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    @classmethod
    def state_keys(cls, on: Mapping[str, Any]) -> tuple[str, ...]:
        needs = {"momentum_buffer": on["momentum"], "grad_avg": on["centered"]}
        return tuple(key for key in cls.STATE if needs.get(key, True))

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        scale = t.scale_by_stddev if on["centered"] else t.scale_by_rms
        scaled = scale(h["alpha"], h["eps"], eps_in_sqrt=False)
        return decayed(t, h, on, t.chain(scaled, t.trace(h["momentum"])) if on["momentum"] else scaled)


def rmsprop(
    params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor], momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    has_complex: bool = False, *, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float, centered: bool,
) -> None:  # fmt: skip
    """The update of `RMSprop` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "square_avg": square_avgs, "momentum_buffer": momentum_buffer_list, "grad_avg": grad_avgs}
    group = {
        "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum, "centered": centered, "maximize": maximize,
    }  # fmt: skip
    RMSprop.apply_to(params, grads, states, group)
