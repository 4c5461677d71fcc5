"""Flexible attention and block masks against torch's."""

import math
import warnings

import numpy as np
import pytest
import torch as theirs
import torch.nn.attention.flex_attention as their_flex

import pytorchlike as ours
import pytorchlike.nn.attention.flex_attention as our_flex

from ..outcomes import close, plain

FLEX = {ours: our_flex, theirs: their_flex}


def same(run, tolerance=1e-5):
    found = []
    their_flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # torch would compile it first
    for library, flex in FLEX.items():
        library.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(plain(run(library, flex)))
            except Exception as error:
                found.append([type(error).__name__, str(error)])
    close(*found, tolerance)
    return found[0]


def inputs(library, queries=5, keys=6, heads=4, kv_heads=4, dtype="float32"):
    sizes = (2, heads, queries, 8), (2, kv_heads, keys, 8), (2, kv_heads, keys, 3)
    return [library.randn(size).to(getattr(library, dtype)) for size in sizes]


def documents(library):
    return library.tensor([[0, 0, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2]])


MASKS = {
    "causal": lambda t: lambda b, h, q, kv: q >= kv,
    "window": lambda t: lambda b, h, q, kv: (q - kv).abs() <= 1,
    "documents": lambda t: lambda b, h, q, kv: documents(t)[b, q] == documents(t)[b, kv],
    "by head": lambda t: lambda b, h, q, kv: kv > h,
    "nothing": lambda t: lambda b, h, q, kv: kv < 0,
    "all": lambda t: FLEX[t].noop_mask,
    "both": lambda t: FLEX[t].and_masks(MASKS["causal"](t), MASKS["window"](t)),
    "either": lambda t: FLEX[t].or_masks(MASKS["causal"](t), MASKS["by head"](t)),
}
SCORES = {
    "none": lambda t: None,
    "distance": lambda t: lambda score, b, h, q, kv: score + (kv - q) * 0.1,
    "slopes": lambda t: lambda score, b, h, q, kv: score - t.tensor([0.5, 0.25, 0.125, 0.0625])[h] * (q - kv).abs(),
    "capped": lambda t: lambda score, b, h, q, kv: t.tanh(score / 2) * 2,
    "masking": lambda t: lambda score, b, h, q, kv: t.where(q >= kv, score, -math.inf),
    "table": lambda t: lambda score, b, h, q, kv: score * t.arange(36.0).view(6, 6)[q, kv].sin(),
}


@pytest.mark.parametrize(("mask", "score"), [(m, "none") for m in MASKS] + [("causal", s) for s in SCORES] + [(None, s) for s in SCORES])
def test_attention(mask, score):
    def run(library, flex):
        q, k, v = inputs(library)
        blocks = None if mask is None else flex.create_block_mask(MASKS[mask](library), 2, 4, 5, 6, "cpu", BLOCK_SIZE=2)
        return flex.flex_attention(q, k, v, SCORES[score](library), blocks)

    same(run)


@pytest.mark.parametrize("kwargs", [{"scale": 0.3}, {"enable_gqa": True}, {"return_lse": True}, {"kernel_options": {"BLOCK_M": 16}}], ids=str)
def test_options(kwargs):
    def run(library, flex):
        q, k, v = inputs(library, kv_heads=2 if "enable_gqa" in kwargs else 4)
        blocks = flex.create_block_mask(MASKS["causal"](library), None, None, 5, 6, "cpu")
        return [flex.flex_attention(q, k, v, s, blocks, **kwargs) for s in (None, SCORES["distance"](library))]

    same(run)


def test_half_precision_and_double():
    for dtype, tolerance in (("bfloat16", 2e-2), ("float64", 1e-10)):
        same(lambda t, flex, d=dtype: flex.flex_attention(*inputs(t, dtype=d), SCORES["distance"](t)).double(), tolerance)


def test_gradients_and_more_results(executor):
    """torch has no gradient on the CPU, so plain operators are the reference."""
    results = []
    for _ in range(2):
        ours.manual_seed(0)
        q, k, v = (x.requires_grad_() for x in inputs(ours))
        slopes = ours.tensor([0.5, 0.25, 0.125, 0.0625], requires_grad=True)
        if not results:
            blocks = our_flex.create_block_mask(MASKS["window"](ours), None, None, 5, 6)
            out, aux = our_flex.flex_attention(
                q, k, v, lambda s, b, h, i, j, slopes=slopes: s * slopes[h], blocks, return_aux=our_flex.AuxRequest(lse=True, max_scores=True)
            )
            lse, largest = aux
        else:
            scores = q @ k.mT / math.sqrt(8) * slopes.view(-1, 1, 1)
            at = ours.arange(5).view(-1, 1) - ours.arange(6)
            scores = scores.masked_fill(at.abs() > 1, -math.inf)
            out, lse, largest = scores.softmax(-1) @ v, scores.logsumexp(-1), scores.amax(-1)
        (out.square().sum() + lse.sum() + largest.sum()).backward()
        results.append([out, lse, largest, q.grad, k.grad, v.grad, slopes.grad])
    close(*map(plain, results), 1e-4)


def test_blocks_alone_say_what_is_in_sight():
    counts, columns = ours.tensor([[[1, 2]]], dtype=ours.int32), ours.tensor([[[[1, 0], [0, 1]]]], dtype=ours.int32)
    blocks = our_flex.BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=2)
    q = ours.zeros(1, 1, 4, 2)
    v = ours.arange(4.0).view(1, 1, 4, 1)
    assert our_flex.flex_attention(q, q, v, block_mask=blocks).flatten().tolist() == [2.5, 2.5, 1.5, 1.5]


def parts(mask):
    return [mask.shape, *mask.as_tuple()[:-1], mask.BLOCK_SIZE, mask.numel(), mask.sparsity(), mask.to_dense(), str(mask), repr(mask).replace("<lambda>", "f")]


@pytest.mark.parametrize(("mask", "kwargs"), [("causal", {}), ("documents", {"BLOCK_SIZE": (3, 2)}), ("nothing", {"separate_full_blocks": False})])
def test_block_masks(mask, kwargs):
    def run(library, flex):
        made = flex.create_block_mask(MASKS[mask](library), 2, None, 5, 6, "cpu", **{"BLOCK_SIZE": 2, **kwargs})
        others = [made[0], made[:, :, 1], made[1, 0, [0, 1]], made._adjust(3, 4), made.to("cpu")] if mask == "causal" else []
        return [
            *[[m.shape, *m.as_tuple()[:-1], m.numel()] for m in others],
            parts(made),
            made.to_string(grid_size=(2, 1), limit=1),
            len(made.as_tuple(False)),
        ]

    same(run)


def test_masks_as_tensors():
    def run(library, flex):
        masks = [flex.create_mask(MASKS[m](library), 2, 3, 5, 6, "cpu") for m in MASKS]
        return [*masks, flex.create_mask(SCORES["masking"](library), None, None, 3, 3, "cpu"), flex.AuxRequest(), flex.AuxOutput()]

    same(run)


def sliced(t, flex, q, k, v):
    return flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(MASKS["causal"](t), None, None, 5, 6, "cpu", BLOCK_SIZE=2)[:, :, :1])


def with_mask(queries, keys):
    return lambda t, flex, q, k, v: flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(MASKS["causal"](t), None, None, queries, keys, "cpu"))


ERRORS = [
    sliced, with_mask(4, 6), with_mask(5, 8),
    lambda t, flex, q, k, v: flex.flex_attention(q, k[..., :4], v),
    lambda t, flex, q, k, v: flex.flex_attention(q[0], k[0], v[0]),
    lambda t, flex, q, k, v: flex.flex_attention(q, k[:, :2], v[:, :2]),
    lambda t, flex, q, k, v: flex.flex_attention(q, k[:, :3], v[:, :3], enable_gqa=True),
    lambda t, flex, q, k, v: flex.flex_attention(q, k[:1], v[:1]),
    lambda t, flex, q, k, v: flex.flex_attention(q, k, v, return_lse=True, return_aux=flex.AuxRequest()),
    lambda t, flex, q, k, v: flex.flex_attention(q, k, v, kernel_options={"BACKEND": "FAST"}),
    lambda t, flex, q, k, v: flex.flex_attention(q, k, v, kernel_options={"BACKEND": "AUTO", "FORCE_USE_FLEX_ATTENTION": True}),
    lambda t, flex, q, k, v: flex.create_block_mask(lambda b, h, q: q, None, None, 2, 2, "cpu"),
    lambda t, flex, q, k, v: flex.create_block_mask(lambda b, h, q, k: q, None, None, 2, 2, "cpu", dq_kv_order=3),
    lambda t, flex, q, k, v: flex.and_masks(3),
    lambda t, flex, q, k, v: flex.BlockMask.from_kv_blocks(t.ones(1), t.ones(1)),
    lambda t, flex, q, k, v: flex.BlockMask.from_kv_blocks(t.ones(1, 1), t.ones(1, 1), t.ones(1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    found = same(lambda library, flex: ERRORS[case](library, flex, *inputs(library)))
    assert isinstance(found[0], str) and found[0].endswith("Error")


def test_a_step_compiles_once():
    from pytorchlike.graph import counters

    blocks = our_flex.create_block_mask(MASKS["causal"](ours), None, None, 5, 6)

    def step():
        return our_flex.flex_attention(*inputs(ours), SCORES["distance"](ours), blocks).sum().item()

    step()  # with what made the mask
    step()
    before = len(counters.compilations)
    assert np.isfinite(step()) and len(counters.compilations) == before
