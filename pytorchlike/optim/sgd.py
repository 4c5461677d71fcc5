"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import Check, RuleOptimizer, _full
from ._sparse import add_at

__all__ = ["SGD", "sgd"]


class SGD(RuleOptimizer):
    """Gradient descent with momentum, ``buffer = momentum * buffer + (1 - dampening) * grad``; the first gradient is not dampened."""

    CHECKS = (Check("lr", "learning rate"), Check("momentum", "momentum value"), Check("weight_decay", "weight_decay value"))
    STATE = {"momentum_buffer": "trace"}
    NUMBERS = ("lr", "momentum", "dampening", "weight_decay")
    SWITCHES = ("maximize", "momentum", "dampening", "weight_decay", "nesterov")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float | Tensor = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
            "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            for check in self.CHECKS:
                check(defaults[check.name])
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    @classmethod
    def _apply_sparse(cls, param: Tensor, grad: Tensor, state: dict[str, Any], group: Mapping[str, Any]) -> None:
        if group["weight_decay"]:
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if group["momentum"]:
            raise RuntimeError("SGD: momentum is not supported with sparse gradients")
        factor = float(group["lr"]) * (1.0 if group["maximize"] else -1.0)
        if param.is_sparse:
            param.add_(grad, alpha=factor)
        else:
            add_at(param, grad, factor)

    @classmethod
    def is_stateful(cls, on: Mapping[str, Any]) -> bool:
        return bool(on["momentum"])

    @classmethod
    def state_keys(cls, on: Mapping[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if on["momentum"] else ()

    def _init_state(self, param: Tensor, group: dict[str, Any], on: Mapping[str, Any]) -> dict[str, Hashable]:
        if not on["momentum"]:
            return {}
        first = self.state[param].get("momentum_buffer") is None
        super()._init_state(param, group, on)
        return {"first": first} if on["dampening"] or group.get("differentiable") else {}

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        decay = [t.add_decayed_weights(h["weight_decay"])] if on["weight_decay"] else []
        if not on["momentum"]:
            momentum = []
        elif "first" in on:
            momentum = [t.dampened_trace(h["momentum"], h["dampening"], on["nesterov"], on["first"])]
        else:
            momentum = [t.trace(h["momentum"], on["nesterov"])]
        return t.chain(*decay, *momentum, t.scale(-h["lr"]))


def sgd(
    params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None], has_sparse_grad: bool = False, foreach: bool | None
    = None, fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: float, momentum:
    float, lr: float, dampening: float, nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """The update of `SGD` on lists of tensors, which are written to; momenta that are None are put into their list."""
    first = [buffer is None for buffer in momentum_buffer_list] if momentum else [False] * len(params)
    for i, p in enumerate(params):
        if first[i]:
            momentum_buffer_list[i] = _full(p.shape, 0.0, p.dtype, p)
    group = {
        "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
    }  # fmt: skip
    own: list[dict[str, Hashable]] = [{"first": each} if dampening else {} for each in first]
    states = {"momentum_buffer": momentum_buffer_list} if momentum else {}
    SGD.apply_to(params, d_p_list, states, group, own, fused=fused, grad_scale=grad_scale, found_inf=found_inf)
