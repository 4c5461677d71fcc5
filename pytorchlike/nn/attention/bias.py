"""Causal masks that are aligned to a corner, as arguments of attention."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from ...aten.create import ones
from ...core import dtype as dtypes
from ...core.device import device as torch_device
from ...tensors.tensor import Tensor
from .. import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner the mask's diagonal ends in when there are more keys than queries, or fewer."""

    UPPER_LEFT = enum.auto()
    LOWER_RIGHT = enum.auto()


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, allow_lowp_kv: bool = False) -> None:
    """Raise torch's errors for inputs of attention that do not go together."""
    start = "Expected query, key, and value to"
    kinds = [("dtype", "the same dtype"), ("device", "the same device type")]
    for what, same in kinds[1:] if allow_lowp_kv else kinds:
        found = [getattr(t, what) for t in (query, key, value)]
        if found[0] != found[1] or found[0] != found[2]:
            raise ValueError(f"{start} have {same}, but got query.{what}: {found[0]}, key.{what}: {found[1]}, and value.{what}: {found[2]} instead.")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(
            f"{start} all be  at least 2 dimensional, but got query.dim: {query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )


class CausalBias(Tensor):
    """A causal mask of ``seq_len_q`` queries and ``seq_len_kv`` keys; only attention takes it."""

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2)

    def _materialize(self, device: torch_device | None = None) -> Tensor:
        """The mask as a tensor: True where a key is in sight."""
        whole = ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=dtypes.bool_)
        return whole.tril(0 if self.variant is CausalVariant.UPPER_LEFT else self.seq_len_kv - self.seq_len_q)

    @staticmethod
    def _dispatch(
        query: Tensor, key: Tensor, value: Tensor, attn_mask: CausalBias, dropout_p: float = 0.0, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        """Attention with this mask.

        Raises:
            ValueError: ``is_causal`` as well, or inputs that do not go together.
        """
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        others = {"dropout_p": dropout_p, "scale": scale, "enable_gqa": enable_gqa}
        if attn_mask.seq_len_q == attn_mask.seq_len_kv or attn_mask.variant is CausalVariant.UPPER_LEFT:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True, **others)
        _check_inputs(query, key, value)
        return F.scaled_dot_product_attention(query, key, value, attn_mask._materialize(query.device), **others)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Take over attention; everything else treats the mask as the tensor it is not."""
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """The causal mask whose diagonal starts in the upper left corner: what ``is_causal=True`` means."""
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal mask whose diagonal ends in the lower right corner: the last query sees all keys."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
