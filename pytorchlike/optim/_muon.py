"""Muon."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from ..tensors.tensor import Tensor
from ._rules import RuleOptimizer

__all__ = ["Muon", "muon"]

_ADJUSTMENTS = ("original", "match_rms_adamw")


class Muon(RuleOptimizer):
    """Muon (Keller Jordan 2024): the momentum of a matrix, made nearly orthogonal by Newton-Schulz steps in bfloat16.

    Args:
        ns_coefficients, ns_steps: the polynomial of a step, and how many there are.
        adjust_lr_fn: scales the rate by the matrix's shape: ``original``, or ``match_rms_adamw``, arXiv:2502.16982.

    Raises:
        ValueError: a parameter that is no matrix, or on a step coefficients other than three, or too many steps.
    """

    STATE = {"momentum_buffer": "trace"}
    NUMBERS = ("lr", "weight_decay", "momentum", "ns_coefficients", "eps")

    def __init__(
        self, params: Any, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for text, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{text} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients, "eps": eps,
            "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    @classmethod
    def switches(cls, group: Mapping[str, Any]) -> dict[str, Hashable]:
        return {"maximize": False, **{name: group[name] for name in ("nesterov", "ns_steps", "adjust_lr_fn")}}

    def _init_state(self, param: Tensor, group: dict[str, Any], on: Mapping[str, Any]) -> dict[str, Hashable]:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if param.grad is not None and param.grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        _check_steps(group)
        return super()._init_state(param, group, on)

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return t.muon(h, on["nesterov"], on["ns_steps"], on["adjust_lr_fn"])


def muon(
    params: list[Tensor], grads: list[Tensor], muon_momentum_bufs: list[Tensor], *, foreach: bool | None = None, lr: float, weight_decay: float,
    momentum: float, nesterov: bool, ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float, adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:  # fmt: skip
    """The update of `Muon` on lists of matrices, which are written to."""
    group = {
        "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients, "ns_steps": ns_steps,
        "eps": eps, "adjust_lr_fn": adjust_lr_fn,
    }  # fmt: skip
    _check_steps(group)
    Muon.apply_to(params, grads, {"momentum_buffer": muon_momentum_bufs}, group)


def _check_steps(group: Mapping[str, Any]) -> None:
    if group["ns_steps"] >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
