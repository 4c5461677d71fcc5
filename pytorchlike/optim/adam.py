"""Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer

__all__ = ["Adam", "MOMENT_CHECKS", "adam"]

#: What Adam and its relatives check.
MOMENT_CHECKS = (
    Check("lr", "learning rate"),
    Check("eps", "epsilon value"),
    Check("betas.0", "beta parameter at index 0", below=1.0),
    Check("betas.1", "beta parameter at index 1", below=1.0),
    Check("weight_decay", "weight_decay value"),
)


class Adam(RuleOptimizer):
    """Adam, arXiv:1412.6980 algorithm 1; ``amsgrad`` is arXiv:1904.09237, ``decoupled_weight_decay`` makes it AdamW."""

    CHECKS = MOMENT_CHECKS
    STATE = {"step": "count", "exp_avg": "mu", "exp_avg_sq": "nu", "max_exp_avg_sq": "nu_max"}
    NUMBERS = ("lr", "betas", "eps", "weight_decay")
    SWITCHES = ("maximize", "weight_decay", "amsgrad", "decoupled_weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        super().__init__(params, defaults)

    @classmethod
    def state_keys(cls, on: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(cls.STATE) if on["amsgrad"] else ("step", "exp_avg", "exp_avg_sq")

    @classmethod
    def _apply_sparse(cls, param: Tensor, grad: Tensor, state: dict[str, Any], group: Mapping[str, Any]) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return decayed(t, h, on, t.scale_by_adam(h, on["amsgrad"]))


def decayed(t: Any, h: Any, on: Mapping[str, Any], scaled: Any) -> Any:
    """The chain with weight decay before the scaling (L2) or behind it (decoupled, arXiv:1711.05101)."""
    decay = [t.add_decayed_weights(h["weight_decay"])] if on["weight_decay"] else []
    order = [scaled, *decay] if on.get("decoupled_weight_decay") else [*decay, scaled]
    return t.chain(*order, t.scale(-h["lr"]))


def adam(
    params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor], max_exp_avg_sqs: list[Tensor], state_steps:
    list[Tensor], foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None, grad_scale:
    Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False, decoupled_weight_decay: bool = False, *, amsgrad: bool,
    beta1: float | Tensor, beta2: float | Tensor, lr: float | Tensor, weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """The update of `Adam` on lists of tensors, which are written to; what flags choose in torch changes nothing, as in the class."""
    states = {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs}
    group = {
        "lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
        "decoupled_weight_decay": decoupled_weight_decay,
    }  # fmt: skip
    Adam.apply_to(params, grads, states, group, fused=fused, grad_scale=grad_scale, found_inf=found_inf)
