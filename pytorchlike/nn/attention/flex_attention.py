"""Attention whose scores and mask are given by functions; computed in full, without a kernel that skips blocks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from ...core import dtype as dtypes
from ...tensors.tensor import Tensor
from .. import functional as F
from .bias import _check_inputs
from .block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,  # noqa: F401 - public here
    BlockMask,
    _sliced_mask_mod_error,
    and_masks,
    create_block_mask,
    create_mask,
    indices,
    noop_mask,
    or_masks,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask",
    "or_masks",
]  # fmt: skip

_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")
_warned: set[str] = set()


class FlexKernelOptions(TypedDict, total=False):
    """Settings of torch's kernels; they are checked, and of no effect."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


class AuxRequest(NamedTuple):
    """What `flex_attention` shall return beside the result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithm of the sum of the scores' exponentials, and the largest score, of each query."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _check_options(options: Any, return_aux: AuxRequest | None) -> None:
    given = {} if options is None else dict(options)
    if "BACKEND" in given and given.get("FORCE_USE_FLEX_ATTENTION", False):
        raise RuntimeError(
            "BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. BACKEND supersedes the legacy knob; please drop "
            "FORCE_USE_FLEX_ATTENTION and only specify the desired BACKEND."
        )
    if given.get("BACKEND", "AUTO") not in _BACKENDS:
        raise ValueError(f"Invalid BACKEND value '{given['BACKEND']}'. Must be one of {_BACKENDS}")
    for name in ("OUTPUT_LOGSUMEXP", "OUTPUT_MAX"):
        if name in given:
            raise AssertionError(f"{name} must not be in kernel_options")


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    _check_inputs(query, key, value, allow_lowp_kv=True)
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension but got E={query.size(-1)} and E={key.size(-1)}."
        )
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads = query.size(1), key.size(1)
    if not enable_gqa and heads[0] != heads[1]:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads[0]} and Hkv={heads[1]}. Try setting enable_gqa=True "
            "for GQA."
        )
    if enable_gqa and heads[0] % heads[1]:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads[0]} and Hkv={heads[1]}."
        )
    batches = query.size(0), key.size(0)
    if batches[0] != batches[1]:
        start = "Expect query and key/value to have the same batch size, or "
        if block_mask is None:
            raise ValueError(f"{start}non-none block_mask, but got block_mask=None, Bq={batches[0]}, and Bkv={batches[1]}.")
        in_mask = block_mask.kv_num_blocks.size(0)
        if in_mask != batches[0]:
            raise ValueError(
                f"{start}block_mask and query to have the same batch size, but got Bq={batches[0]}, Bkv={batches[1]}, B_block_mask={in_mask}."
            )


def _check_mask(query: Tensor, key: Tensor, mask: BlockMask) -> None:
    if mask.mask_mod is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    lengths, known = (query.size(-2), key.size(-2)), tuple(mask.shape[-2:])
    start = f"block_mask was created for block_mask.shape={mask.shape} but got q_len={lengths[0]} and kv_len={lengths[1]}. As the block mask was "
    if lengths[0] > known[0] or lengths[1] > known[1]:
        raise ValueError(f"{start}created for a smaller length than you're using it for, you likely need to create a new block mask.")
    if lengths != known:
        raise ValueError(
            f"{start}created for a larger length than you're using it for, you can either 1. create a new block mask with the correct length, or 2. "
            "'adjust' the existing block mask to the correct length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block "
            "mask to the upper left corner, which does not work for all mask_mods!"
        )
    if query.device != mask.kv_num_blocks.device:
        raise RuntimeError(f"Expect q/k/v and block_mask to be on the same device but got {query.device} and {mask.kv_num_blocks.device}.")


def _warn_once(name: str, message: str, category: type[Warning] = UserWarning) -> None:
    if name not in _warned:
        _warned.add(name)
        warnings.warn(message, category, stacklevel=3)


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Tensor] | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False, kernel_options: FlexKernelOptions | None = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention with scores changed by a function, of what a mask shows.

    The functions are called once, on tensors of indices (and scores) for all places, so they have to work on each place for itself, as torch's
    have.  Everything is computed in full, on all devices, and has a gradient; queries that see no key get zeros.

    Args:
        query: ``(B, Hq, L, E)``; ``key``: ``(B, Hkv, S, E)``; ``value``: ``(B, Hkv, S, Ev)``.
        score_mod: ``score_mod(score, batch, head, query, key)`` -> the new score.
        scale: what products are multiplied with; ``1 / sqrt(E)`` if left out.
        enable_gqa: several query heads share one head of keys and values.
        return_lse, return_aux: return more beside the result, see `AuxRequest`.
        kernel_options: of no effect.

    Raises:
        ValueError: shapes do not go together, torch's texts.
    """
    _check_shapes(query, key, value, block_mask, enable_gqa)
    if block_mask is not None:
        _check_mask(query, key, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        message = "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead."
        _warn_once("deprecated_return_lse", message, FutureWarning)
    _check_options(kernel_options, return_aux)
    batches, heads = query.shape[:2]
    in_sight = None if block_mask is None else block_mask.elements(batches, heads)
    key, value = (t.expand(batches, -1, -1, -1) if t.size(0) != batches else t for t in (key, value))
    if score_mod is None and not return_lse and return_aux is None and query.dtype == key.dtype == value.dtype:
        return F.scaled_dot_product_attention(query, key, value, in_sight, scale=scale, enable_gqa=enable_gqa)
    out, lse, largest = _computed(query, key, value, score_mod, in_sight, 1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, largest if return_aux.max_scores else None)
    return (out, lse) if return_lse else out


def _computed(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Callable[..., Tensor] | None, in_sight: Tensor | None, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The result, and for each query the logarithm of the sum and the largest of the scores."""
    wide = dtypes.float64 if query.dtype is dtypes.float64 else dtypes.float32
    repeats = query.size(1) // key.size(1)
    if repeats > 1:
        key, value = (t.repeat_interleave(repeats, 1) for t in (key, value))
    scores = query.to(wide) @ key.to(wide).mT * scale
    if score_mod is not None:
        batches, heads, queries, keys = scores.shape
        scores = score_mod(scores, *indices(batches, heads, queries, keys, scores.device))
    if in_sight is not None:
        scores = scores.masked_fill(~in_sight, -math.inf)
    lse = scores.logsumexp(-1)
    total = lse.masked_fill(lse == -math.inf, 0.0).unsqueeze(-1)  # exp(-inf - 0) is 0: nothing in sight
    weights = (scores - total).exp()
    return (weights.to(value.dtype) @ value).to(query.dtype), lse, scores.amax(-1)
