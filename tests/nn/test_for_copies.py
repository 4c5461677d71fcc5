"""What layers copied from torch, or derived from its, import with an underscore."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch as theirs

import pytorchlike as ours

from .outcomes import same


def _attention(t: Any) -> Any:
    """Multi-head attention as many repositories have it: torch's own function with a change."""
    F, nn = t.nn.functional, t.nn
    layer = nn.MultiheadAttention(4, 2)
    q, k = t.randn(3, 2, 4), t.randn(5, 2, 4)
    batched = F._mha_shape_check(q, k, k, None, None, 2)
    mask = F._canonical_mask(t.tensor([[False] * 4 + [True]] * 3), "attn_mask", F._none_or_dtype(None), "", q.dtype, check_other=False)
    packed = [
        F._in_projection_packed(a, b, c, layer.in_proj_weight, layer.in_proj_bias) for a, b, c in ((q, q, q), (q, k, k), (q, k, k * 2))
    ]
    parts, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    return batched, mask, packed, F._in_projection(q, k, k, *parts, *biases), F._none_or_dtype(q) == t.float32


def test_attention() -> None:
    same(_attention)


CASES = {
    "weights": lambda t: t.nn.functional._in_projection(*(t.ones(2, 4),) * 3, t.ones(4, 3), *(t.ones(4, 4),) * 2),
    "bias": lambda t: t.nn.functional._in_projection(*(t.ones(2, 4),) * 3, *(t.ones(4, 4),) * 3, None, t.ones(3)),
    "dtype of a mask": lambda t: t.nn.functional._canonical_mask(t.ones(2, dtype=t.int64), "mask", None, "", t.float32),
    "no mask": lambda t: t.nn.functional._canonical_mask(None, "mask", None, "", t.float32),
    "no tensor": lambda t: t.nn.functional._none_or_dtype(3),
    "padding": lambda t: t.nn.functional._check_key_padding_mask(t.ones(2, 3), 4, 2),
    "batch": lambda t: t.nn.functional._verify_batch_size(t.Size([1, 3])),
    "axis": lambda t: [t.nn.functional._get_softmax_dim("softmax", n, 1) for n in range(5)],
    "tuples": lambda t: (t.nn.functional._pair(2), t.nn.functional._triple((1, 2, 3)), t.nn.functional._list_with_default([None, 2], [3, 4, 5])),
    "reductions": lambda t: [t.nn.functional._Reduction.get_enum(name) for name in ("none", "mean", "sum", "elementwise_mean")],
    "reduction": lambda t: t.nn._reduction.get_enum("x"),
    "flags": lambda t: [t.nn._reduction.legacy_get_enum(a, b) for a in (None, True, False) for b in (None, False)],
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_helpers(case: str) -> None:
    same(CASES[case])


@pytest.mark.parametrize("library", [ours, theirs], ids=["ours", "torch"])
def test_causal_masks_are_known(library: Any) -> None:
    transformer = importlib.import_module(f"{library.__name__}.nn.modules.transformer")
    causal = library.nn.Transformer.generate_square_subsequent_mask(4)
    assert transformer._detect_is_causal_mask(causal) and transformer._detect_is_causal_mask(None, True)
    assert not transformer._detect_is_causal_mask(causal * 0) and not transformer._detect_is_causal_mask(causal, size=3)
    assert not transformer._detect_is_causal_mask(None) and not transformer._detect_is_causal_mask(causal, False)
    x = library.ones(2, 3, 4)
    assert [transformer._get_seq_len(each, first) for each in (x, x[0]) for first in (True, False)] == [3, 2, 3, 3]
