"""Adafactor."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from ..core import dtype as dtypes
from ..core.typeinfo import finfo
from ..tensors.tensor import Tensor
from ._rules import RuleOptimizer, _full

__all__ = ["Adafactor", "adafactor"]


class Adafactor(RuleOptimizer):
    """Adafactor, arXiv:1804.04235: the second moment of a matrix as the product of a column and a row.

    Raises:
        RuntimeError: on a step with complex parameters or sparse gradients, torch's texts.
    """

    STATE = {"step": "count", "row_var": "row_var", "col_var": "col_var", "variance": "variance"}
    SWITCHES = ("maximize", "weight_decay")

    def __init__(
        self, params: Any, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0,
        weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for number, value in enumerate(eps, 1):
            if value is not None and not value >= 0.0:
                raise ValueError(f"epsilon{number} should be >= 0 but is: {value}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    @classmethod
    def numbers(cls, group: Mapping[str, Any]) -> dict[str, Any]:
        first, second = group["eps"]
        eps = {"eps.1": second} if first is None else {"eps.0": first, "eps.1": second}
        return eps | {name: group[name] for name in ("lr", "beta2_decay", "d", "weight_decay")}

    @classmethod
    def state_keys(cls, on: Mapping[str, Any]) -> tuple[str, ...]:
        return ("step", "row_var", "col_var") if on["factored"] else ("step", "variance")

    def _init_state(self, param: Tensor, group: dict[str, Any], on: Mapping[str, Any]) -> dict[str, Hashable]:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if param.grad is not None and param.grad.is_sparse:
            raise RuntimeError("Adafactor does not support sparse gradients")
        state, shape = self.state[param], tuple(param.shape)
        if not state:
            state["step"] = _full((), 0.0, dtypes.float32, param)
            if len(shape) > 1:
                state["row_var"] = _full((*shape[:-1], 1), 0.0, param.dtype, param)
                state["col_var"] = _full((*shape[:-2], 1, shape[-1]), 0.0, param.dtype, param)
            else:
                state["variance"] = _full(shape, 0.0, param.dtype, param)
        # Where none is given, torch takes the first parameter's for the whole group.
        first = next(p for p in group["params"] if p.grad is not None)
        return {"factored": len(shape) > 1, "epsilon": float(finfo(first.dtype).eps)}

    @staticmethod
    def rule(t: Any, h: Any, on: Mapping[str, Any]) -> Any:
        return t.adafactor(h, on["epsilon"], on["factored"], on["weight_decay"])


def adafactor(
    params: list[Tensor], grads: list[Tensor], row_vars: list[Tensor | None], col_vars: list[Tensor | None], variances: list[Tensor | None],
    state_steps: list[Tensor], foreach: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool
    = False, *, d: float, lr: float | Tensor, beta2_decay: float, weight_decay: float, eps1: float, eps2: float, maximize: bool,
) -> None:  # fmt: skip
    """The update of `Adafactor` on lists of tensors, which are written to: rows and columns for matrices, variances for the others."""
    states: dict[str, list[Any]] = {"step": state_steps, "row_var": row_vars, "col_var": col_vars, "variance": variances}
    group = {"lr": lr, "beta2_decay": beta2_decay, "eps": (eps1, eps2), "d": d, "weight_decay": weight_decay, "maximize": maximize}
    own: list[dict[str, Hashable]] = [{"factored": grad.dim() > 1, "epsilon": float(finfo(params[0].dtype).eps)} for grad in grads]
    Adafactor.apply_to(params, grads, states, group, own, grad_scale=grad_scale, found_inf=found_inf)
