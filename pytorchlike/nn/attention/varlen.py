"""``torch.nn.attention.varlen``: attention over sequences of different lengths that stand one behind the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...aten.ranges import arange
from ...aten.search import searchsorted
from ...tensors.tensor import Tensor
from .. import functional as F

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What `varlen_attn` returns beside its result.

    Attributes:
        lse: the logarithms of the sums of exponentials of the scores.
    """

    lse: bool = False


def _places(total: int, starts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each token the sequence, the place in it, and the sequence's length."""
    tokens = arange(total, device=starts.device)
    sequence = searchsorted(starts, tokens, right=True) - 1
    inside = sequence.clamp(0, starts.numel() - 2)
    return sequence, tokens - starts[inside], (starts[1:] - starts[:-1])[inside]


def _mask(query: Tensor, key: Tensor, starts_q: Tensor, starts_k: Tensor, window: tuple[int, int], used: Tensor | None) -> Tensor:
    """Which keys a query sees: those of its own sequence, inside of the window that ends where both sequences end."""
    sequence_q, place_q, length_q = _places(query.size(0), starts_q)
    sequence_k, place_k, length_k = _places(key.size(0), starts_k)
    lengths = starts_k[1:] - starts_k[:-1] if used is None else used
    sees = (sequence_q[:, None] == sequence_k) & (place_k < lengths[sequence_k.clamp(0, lengths.numel() - 1)])
    last = lengths[sequence_q.clamp(0, lengths.numel() - 1)] - length_q
    distance = place_k - (place_q + last)[:, None]
    left, right = window
    if left >= 0:
        sees = sees & (distance >= -left)
    return sees & (distance <= right) if right >= 0 else sees


def varlen_attn(
    query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
    return_aux: AuxRequest | None = None, scale: float | None = None, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False,
    seqused_k: Tensor | None = None, block_table: Tensor | None = None, num_splits: int | None = None,
) -> Any:  # fmt: skip
    """Attention within each of several sequences.  The scores of all pairs are computed and masked, so the cost is that of one long sequence.

    Args:
        query: ``(tokens, heads, features)``; key and value likewise.
        cu_seq_q, cu_seq_k: where sequences begin, and the end of the last: ``(sequences + 1,)``; those of the queries by default.
        max_q, max_k: the longest lengths; not needed here.
        window_size: how many keys to the left and to the right of a query it sees, -1 for all; ``(-1, 0)`` is causal.
        seqused_k: how many keys of each sequence count.
        num_splits: accepted; results do not depend on how the work is divided.

    Returns:
        ``(tokens, heads, features)``; zeros for queries without keys.  With ``return_aux.lse`` also ``(tokens, heads)``.

    Raises:
        ValueError: numbers of heads that do not go together, torch's texts.
        NotImplementedError: ``block_table``.
    """
    heads_q, heads_k = query.size(1), key.size(2 if block_table is not None else 1)
    if not enable_gqa and heads_q != heads_k:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads_q} and Hkv={heads_k}. "
            "Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads_q % heads_k:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads_q} and Hkv={heads_k}.")
    if block_table is not None:
        raise NotImplementedError("varlen_attn(block_table=...): keys in pages are not in pytorchlike; put the pages one behind the other")
    sees = _mask(query, key, cu_seq_q, cu_seq_q if cu_seq_k is None else cu_seq_k, window_size, seqused_k)
    q, k, v = (x.transpose(0, 1) for x in (query, key, value))
    if heads_q != heads_k:
        k, v = (x.repeat_interleave(heads_q // heads_k, 0) for x in (k, v))
    result = F.scaled_dot_product_attention(q, k, v, sees, scale=scale).masked_fill(~sees.any(-1)[:, None], 0).transpose(0, 1)
    if return_aux is None or not return_aux.lse:
        return result
    scores = (q.float() @ k.float().transpose(-1, -2)) * (q.size(-1) ** -0.5 if scale is None else scale)
    return result, scores.masked_fill(~sees, float("-inf")).logsumexp(-1).transpose(0, 1)


def varlen_attn_out(
    out: Tensor, query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
    return_aux: AuxRequest | None = None, scale: float | None = None, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False,
    seqused_k: Tensor | None = None, block_table: Tensor | None = None, num_splits: int | None = None,
) -> Any:  # fmt: skip
    """`varlen_attn` whose result is written into ``out``."""
    found = varlen_attn(
        query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux=return_aux, scale=scale, window_size=window_size, enable_gqa=enable_gqa,
        seqused_k=seqused_k, block_table=block_table, num_splits=num_splits,
    )  # fmt: skip
    if isinstance(found, tuple):
        return out.copy_(found[0]), found[1]
    return out.copy_(found)
