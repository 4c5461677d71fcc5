"""Clipping of gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ...aten.constructors import tensor as make_tensor
from ...aten.shape import stack
from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """The norm of all tensors taken as one vector.

    Raises:
        RuntimeError: the norm is not finite and ``error_if_nonfinite`` asks for it.
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return make_tensor(0.0)
    first = tensors[0].device
    total = stack([t.norm(norm_type).to(first) for t in tensors]).norm(norm_type)
    if error_if_nonfinite and bool(total.isnan().logical_or(total.isinf())):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error "
            "and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale gradients, whose norm is ``total_norm``, down to ``max_norm``."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    # The factor is 1 for small gradients; multiplying by it costs less than asking whether to.
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor.to(grad.device))


@no_grad()
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scale the gradients of the parameters, in place, so that their norm taken together is at most ``max_norm``; returns the norm before.

    Args:
        foreach: accepted, and without effect.
    """
    parameters = _listed(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    total_norm = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "torch.nn.utils.clip_grad_norm is now deprecated in favor of torch.nn.utils.clip_grad_norm_.", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of the gradients, in place, to ``[-clip_value, clip_value]``."""
    clip_value = float(clip_value)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(min=-clip_value, max=clip_value)
