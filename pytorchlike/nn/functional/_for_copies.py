"""Functions that torch's own layers call, which layers copied from there, or derived from them, import.

They state torch's names with an underscore; our layers have their own ways (``aten/attention.py``).
"""

from __future__ import annotations

import warnings
from typing import Any

from ...aten.attention import _check_multi_head
from ...aten.create import zeros_like
from ...aten.matmul import linear
from ...aten.norm import _check_not_single as _verify_batch_size
from ...aten.softmax import _implicit_dim as _get_softmax_dim
from ...core import dtype as dtypes
from ...tensors.tensor import Tensor
from .. import _reduction as _Reduction
from ..modules.utils import _list_with_default, _pair, _single, _triple

__all__ = [
    "_Reduction", "_canonical_mask", "_check_key_padding_mask", "_get_softmax_dim", "_in_projection", "_in_projection_packed", "_list_with_default",
    "_mha_shape_check", "_none_or_dtype", "_pair", "_single", "_triple", "_verify_batch_size",
]  # fmt: skip


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """Query, key and value of attention from one weight that stacks theirs."""
    width = q.size(-1)
    if q is k and k is v:  # one product
        return list(linear(q, w, b).chunk(3, -1))
    biases = (None,) * 3 if b is None else b.split(width)
    return [linear(x, weight, bias) for x, weight, bias in zip((q, k, v), w.split(width), biases, strict=True)]


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None, b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Query, key and value of attention from a weight each.

    Raises:
        AssertionError: a weight or bias of another shape, torch's text.
    """
    width = q.size(-1)
    for name, x, weight in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        if tuple(weight.shape) != (width, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(width, x.size(-1))}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and tuple(bias.shape) != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether a call of multi-head attention is batched.

    Raises:
        AssertionError: shapes that do not fit.
    """
    return _check_multi_head(query, key, value, key_padding_mask, attn_mask, num_heads)


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask of booleans as numbers to add, a floating one as it is; a warning if another mask has another dtype.

    Raises:
        AssertionError: another dtype.
    """
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=2)
    return mask if mask.is_floating_point() else zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Any) -> Any:
    """The dtype of a tensor, None for None.

    Raises:
        RuntimeError: anything else.
    """
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """Refuse a mask of another shape."""
    for dim, wanted in enumerate((bsz, src_len)):
        if key_padding_mask.shape[dim] != wanted:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {key_padding_mask.shape[dim]}")
