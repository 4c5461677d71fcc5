"""Weight normalization: a tensor as a direction and lengths along one dimension."""

from __future__ import annotations

from ..dispatch.registry import FUNCTION, OPERATORS, composite

__all__ = ["norm_except_dim", "weight_norm"]


@composite("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", forms=FUNCTION)
def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one, which keeps its place; over all of them for ``dim=-1``."""
    if dim == -1:
        return v.norm(pow)
    if not -v.dim() <= dim < v.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-v.dim()}, {v.dim() - 1}], but got {dim})")
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, True) if others else v.abs()


@composite("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", forms=FUNCTION)
def weight_norm(v, g, dim=0):
    """The direction of ``v`` with the lengths ``g``."""
    return v * (g / OPERATORS["norm_except_dim"](v, 2, dim))
