"""What layers refuse when they are made or called, with torch's exceptions and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as theirs

import pytorchlike as ours


def _bilinear(t: Any, **first: Any) -> Any:
    return t.nn.Bilinear(2, 3, 4)(t.ones(5, 2, **first), t.ones(5, 3))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "rnn: input size": lambda t: t.nn.LSTM(0, 3),
    "rnn: no number": lambda t: t.nn.GRU("x", 3),
    "rnn: batch first": lambda t: t.nn.GRU(4, 3, batch_first=1),
    "rnn: bias": lambda t: t.nn.RNN(4, 3, bias=None),
    "rnn: no steps": lambda t: t.nn.RNN(4, 3)(t.ones(0, 2, 4)),
    "rnn: no steps, batch first": lambda t: t.nn.LSTM(4, 3, batch_first=True)(t.ones(2, 0, 4)),
    "cell: input": lambda t: t.nn.GRUCell(4, 3)(t.ones(2, 4, dtype=t.float64)),
    "cell: state": lambda t: t.nn.LSTMCell(4, 3)(t.ones(2, 4), (t.ones(2, 3, dtype=t.float64),) * 2),
    "cell: without bias": lambda t: t.nn.RNNCell(4, 3, bias=False)(t.ones(2, 4, dtype=t.float16)),
    "bilinear: features": lambda t: t.nn.Bilinear(0, 1, 1),
    "bilinear: dtype": lambda t: _bilinear(t, dtype=t.float64),
    "batch norm: eps": lambda t: t.nn.BatchNorm1d(3, eps=0.0)(t.ones(2, 3)),
    "batch norm: eps in evaluation": lambda t: t.nn.BatchNorm1d(3, eps=-1.0).eval()(t.ones(2, 3)),
    "rms norm: dimensions": lambda t: t.nn.RMSNorm((2, 3))(t.ones(3)),
    "local response norm: dimensions": lambda t: t.nn.CrossMapLRN2d(3)(t.ones(2, 3, 4)),
    "unfold: kernel": lambda t: t.nn.Unfold(0)(t.ones(2, 4, 8, 8)),
    "unfold: kernels": lambda t: t.nn.Unfold((1, 2, 3))(t.ones(2, 4, 8, 8)),
    "unfold: padding": lambda t: t.nn.Unfold(2, padding=-1)(t.ones(2, 4, 8, 8)),
    "unfold: strides": lambda t: t.nn.Unfold(2, stride=(1, 2, 3))(t.ones(2, 4, 8, 8)),
    "fold: dilation": lambda t: t.nn.Fold(8, 2, dilation=0)(t.ones(2, 16, 49)),
    "fold: size": lambda t: t.nn.Fold((8, 8, 8), 2)(t.ones(2, 16, 49)),
    "transposed convolution: output padding": lambda t: t.nn.ConvTranspose2d(4, 4, 3, output_padding=-1)(t.ones(2, 4, 8, 8)),
    "attention: keys": lambda t: t.nn.MultiheadAttention(4, 2, kdim=3, vdim=5)(t.ones(2, 1, 4), t.ones(2, 1, 4), t.ones(2, 1, 5)),
    "attention: values": lambda t: t.nn.MultiheadAttention(4, 2, kdim=3, vdim=5)(t.ones(2, 1, 4), t.ones(2, 1, 3), t.ones(2, 1, 4)),
    "triplets: dimensions": lambda t: t.nn.TripletMarginWithDistanceLoss(distance_function=t.nn.PairwiseDistance())(
        t.ones(2, 3), t.ones(3), t.ones(2, 3)),
    "huber: delta": lambda t: t.nn.HuberLoss(delta="x"),
}  # fmt: skip


def _outcome(run: Callable[[Any], Any], library: Any) -> Any:
    try:
        return run(library)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    mine, wanted = (_outcome(REFUSED[case], library) for library in (ours, theirs))
    assert isinstance(wanted, tuple) and isinstance(wanted[0], type), f"torch takes it: {wanted}"
    assert mine == wanted


@pytest.mark.parametrize("size", [1, 2, 3])
def test_empty_kernels_are_refused(size: int) -> None:
    """torch's texts are those of the libraries that it leaves the convolution to."""
    for library in (ours, theirs):
        layer = getattr(library.nn, f"Conv{size}d")(4, 4, 0)
        with pytest.raises(RuntimeError):
            layer(library.ones(2, 4, *(8,) * size)).sum().item()
