"""Every layer of the table, compiled: captured and replayed, with the values, state and gradients of the layer itself."""

from __future__ import annotations

import copy
import warnings

import pytest

import pytorchlike as torch
from tests.nn.layers import LAYERS, Layer
from tests.nn.test_layers import _inputs, _tensors

#: Layers that look at numbers, with the reason.
NOT_CAPTURED = {
    "FractionalMaxPool2d": "draws random numbers on the host that are part of the operator",
    "FractionalMaxPool3d": "draws random numbers on the host that are part of the operator",
    "RReLU": "draws as many random numbers as there are negative ones",
    "CTCLoss": "the lengths are read",
    "AdaptiveLogSoftmaxWithLoss": "which cluster a target is in decides what is computed",
    "BatchNorm2d(4,){'momentum': None}": "the cumulative average divides by the count, a Python number",
}

#: The layers of a default run: one of each kind of state.
QUICK = {"Linear", "Conv2d", "BatchNorm1d", "LSTM", "MultiheadAttention", "Embedding", "Dropout", "LayerNorm", "CrossEntropyLoss"}


def _close(found, expected):
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5, equal_nan=True)


@pytest.mark.parametrize("entry", [pytest.param(e, marks=() if e.name in QUICK else pytest.mark.slow, id=str(e)) for e in LAYERS])
def test_compiled_layer(entry: Layer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(3)
        layer = getattr(torch.nn, entry.name)(*entry.args, **entry.kwargs)
        plain = copy.deepcopy(layer)
        compiled = torch.compile(layer)
        for k in range(3):
            inputs, again = _inputs(entry)[0], _inputs(entry)[0]
            torch.manual_seed(k)
            expected = _tensors(plain(*again))
            torch.manual_seed(k)
            found = _tensors(compiled(*inputs))
            _close(found, expected)
            _close(list(layer.state_dict().values()), list(plain.state_dict().values()))
            if entry.grad and any(t.requires_grad for t in expected):
                wanted = [t for t in [*again, *plain.parameters()] if t.requires_grad]
                mine = [t for t in [*inputs, *layer.parameters()] if t.requires_grad]
                gradients = torch.autograd.grad([t.square().sum() for t in expected if t.requires_grad], wanted, allow_unused=True)
                _close(torch.autograd.grad([t.square().sum() for t in found if t.requires_grad], mine, allow_unused=True), gradients)
        inner = compiled._compiled
        captured = bool(inner.replays and any(r.runs for r in inner.replays))
        assert captured or entry.name in NOT_CAPTURED or str(entry) in NOT_CAPTURED, [*map(str, inner.breaks), *inner.misses]
