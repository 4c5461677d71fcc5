"""`nn.quantized`, `nn.quantizable` and `nn.intrinsic`: what computes in floats equals torch's; what holds integers is refused by name."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

import pytorchlike

from .outcomes import same


def space(torch: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"{torch.__name__}.nn.{name}")


def tensors(torch: Any, *shapes: tuple[int, ...]) -> list[Any]:
    return [torch.randn(shape) for shape in shapes]


FUNCTIONS = [
    lambda f, x, y: f.add(x, y), lambda f, x, y: f.add_scalar(x, 2.0), lambda f, x, y: f.mul(x, y), lambda f, x, y: f.mul_scalar(x, 3),
    lambda f, x, y: f.cat([x, y], 1), lambda f, x, y: f.add_relu(x, y), lambda f, x, y: f.matmul(x, y), lambda f, x, y: f(x), lambda f, x, y: repr(f),
]  # fmt: skip


@pytest.mark.parametrize("name", ["FloatFunctional", "FXFloatFunctional"])
def test_operations_as_methods(name: str) -> None:
    for function in FUNCTIONS:
        same(lambda torch, function=function: function(getattr(space(torch, "quantized"), name)(), *tensors(torch, (2, 2), (2, 2))))


LAYERS = [
    ("LSTMCell", (4, 3), {}, [(2, 4)]),
    ("LSTMCell", (4, 3), {"split_gates": True, "bias": False}, [(2, 4)]),
    ("LSTM", (4, 3), {"num_layers": 2}, [(5, 2, 4)]),
    ("LSTM", (4, 3), {"bidirectional": True, "batch_first": True, "num_layers": 2}, [(2, 5, 4)]),
    ("MultiheadAttention", (4, 2), {}, [(3, 2, 4), (5, 2, 4), (5, 2, 4)]),
    ("MultiheadAttention", (4, 2), {"bias": False, "kdim": 3, "vdim": 6, "add_zero_attn": True}, [(3, 2, 4), (5, 2, 3), (5, 2, 6)]),
    ("MultiheadAttention", (4, 1), {"batch_first": True, "add_bias_kv": True}, [(2, 3, 4), (2, 5, 4), (2, 5, 4)]),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shapes"), LAYERS, ids=str)
def test_quantizable_layers(name: str, args: tuple, kwargs: dict, shapes: list) -> None:
    def run(torch: Any) -> Any:
        layer = getattr(space(torch, "quantizable"), name)(*args, **kwargs)
        result = layer(*tensors(torch, *shapes))
        total = result[0].square().sum()
        total.backward()
        gradients = [None if p.grad is None else p.grad for p in layer.parameters()]
        return repr(layer), layer.training, list(layer.state_dict()), list(layer.parameters()), result, gradients

    same(run)


def test_states_of_an_lstm_can_be_given() -> None:
    def run(torch: Any) -> Any:
        layer = space(torch, "quantizable").LSTM(4, 3, bidirectional=True)
        return layer(*tensors(torch, (5, 2, 4)), tuple(tensors(torch, (2, 2, 3), (2, 2, 3))))

    same(run)


@pytest.mark.parametrize("build", [
    lambda i, n: i.ConvReLU2d(n.Conv2d(1, 2, 2), n.ReLU()), lambda i, n: i.ConvBnReLU1d(n.Conv1d(1, 2, 2), n.BatchNorm1d(2), n.ReLU()),
    lambda i, n: i.LinearBn1d(n.Linear(2, 2), n.BatchNorm1d(2)), lambda i, n: i.BNReLU3d(n.BatchNorm3d(2), n.ReLU()),
    lambda i, n: i.ConvBn2d(n.Conv2d(1, 2, 2), n.ReLU()), lambda i, n: i.ConvBnReLU2d(n.Conv2d(1, 2, 2), n.BatchNorm2d(2), n.Tanh()),
])  # fmt: skip
def test_fused_layers(build: Any) -> None:
    same(lambda torch: (repr(made := build(space(torch, "intrinsic"), torch.nn)), list(made.state_dict()), made.training))


def test_what_holds_integers_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="torch.nn.quantized.Linear: there are no quantized tensors"):
        print(pytorchlike.nn.quantized.Linear)
    with pytest.raises(AttributeError, match="quantization-aware modules"):
        print(pytorchlike.nn.qat)
