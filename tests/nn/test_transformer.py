"""Transformer encoders and attention under every form of mask, in training and evaluation, against torch's."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import pytorchlike

from .outcomes import same

PADDINGS = {"right": [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 0, 1, 1, 1]], "left": [[1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]]}


def encoded(torch: Any, training: bool, padding: str, causal: bool = False, nested: bool = True, grad: bool = False, **layer: Any) -> Any:
    nn = torch.nn
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, 0.0, **{"batch_first": True, **layer}), 2, norm=nn.LayerNorm(8), enable_nested_tensor=nested
    )
    encoder.train(training)
    mask = nn.Transformer.generate_square_subsequent_mask(5) if causal else None
    x = torch.randn(3, 5, 8)
    with torch.set_grad_enabled(training or grad):
        return encoder.use_nested_tensor, encoder(
            x, mask=mask, src_key_padding_mask=torch.tensor(PADDINGS[padding]).bool() if encoder.layers[0].self_attn.batch_first else None
        )


SETTINGS = [
    {}, {"nested": False}, {"causal": True}, {"grad": True}, {"activation": "gelu"}, {"norm_first": True}, {"bias": False}, {"batch_first": False},
]  # fmt: skip
#: In evaluation torch has NaN where a position may attend to nothing (first ones under a causal mask, padded on the left), in training it has not.
CASES = [case for case in itertools.product([True, False], PADDINGS, SETTINGS) if case != (False, "left", {"causal": True})]


@pytest.mark.parametrize(("training", "padding", "settings"), CASES, ids=str)
def test_padded_positions_of_an_encoder(training: bool, padding: str, settings: dict) -> None:
    same(lambda torch: encoded(torch, training, padding, **settings), 2e-5)


def test_why_padding_is_computed_is_said_at_construction() -> None:
    def messages(torch: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for settings in ({"norm_first": True}, {"bias": False}, {"batch_first": False}, {"activation": torch.sigmoid}, {}):
                torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, **{"batch_first": True, **settings}), 1)
            torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(3, 1, 8, batch_first=True), 1)
        return [str(w.message) for w in caught]

    assert messages(pytorchlike) == messages(real_torch)


MASKS = [None, "bool", "float", "each head"]


@pytest.mark.parametrize(("mask", "padding", "needed"), list(itertools.product(MASKS, [None, "bool", "float"], [True, False])))
def test_masks_of_attention(mask: str | None, padding: str | None, needed: bool) -> None:
    def run(torch: Any) -> Any:
        layer = torch.nn.MultiheadAttention(8, 2, batch_first=needed)
        query, key = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
        if not needed:
            query, key = query.transpose(0, 1), key.transpose(0, 1)
        above = torch.tensor(np.triu(np.ones((4, 5)), 1).tolist()).bool()
        masks = {None: None, "bool": above, "float": torch.randn(4, 5), "each head": torch.randn(6, 4, 5)}
        paddings = {None: None, "bool": torch.tensor(PADDINGS["right"]).bool(), "float": torch.randn(3, 5)}
        result = layer(query, key, key, paddings[padding], needed, masks[mask], False)
        result[0].sum().backward()
        return result, layer.in_proj_weight.grad

    same(run, 2e-5)


def test_a_decoder_with_masks() -> None:
    def run(torch: Any) -> Any:
        nn = torch.nn
        model = nn.Transformer(8, 2, 2, 2, 16, 0.0)
        padding = torch.tensor(PADDINGS["right"]).bool()
        source, target = torch.randn(5, 3, 8), torch.randn(4, 3, 8)
        mask = nn.Transformer.generate_square_subsequent_mask(4)
        return model(source, target, tgt_mask=mask, src_key_padding_mask=padding, memory_key_padding_mask=padding, tgt_is_causal=True)

    same(run, 2e-5)
