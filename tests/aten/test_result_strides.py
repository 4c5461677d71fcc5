"""How results lie in memory when an input is not contiguous: as torch's do, for every operator of the table of such results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.dispatch.bind import _stride_rules
from pytorchlike.dispatch.registry import OPERATORS

F = "nn.functional."
#: The function's name -> arguments that follow the tensor.
TRANSPOSED: dict[str, tuple] = {
    **dict.fromkeys("neg trunc floor ceil round frac sgn sign signbit isnan isinf isfinite isreal isposinf isneginf nan_to_num angle".split(), ()),
    **dict.fromkeys([F + name for name in "celu elu selu gelu silu mish hardshrink softshrink hardtanh hardsigmoid hardswish leaky_relu relu6 softplus".split()], ()),
    F + "threshold": (0.1, 2.0), "float_power": (2.0,), "flip": ((0,),), "roll": (1, 0), "sort": (), "msort": (), "argsort": (), "diff": (), "frexp": (),
}  # fmt: skip

CHANNELS_LAST: dict[str, Callable[[Any, Any], Any]] = {
    **{f"{name} {d}": (lambda T, x, f=f: f(T.nn.functional)(x)) for d in (4, 5) for name, f in {
        "pad": lambda F: lambda x: F.pad(x, (1, 1)),
        "replicate": lambda F: lambda x: F.pad(x, (1, 1) * (x.ndim - 2), "replicate"),
        "circular": lambda F: lambda x: F.pad(x, (1, 1) * (x.ndim - 2), "circular"),
        "interpolate": lambda F: lambda x: F.interpolate(x, scale_factor=2),
        "max_pool": lambda F: lambda x: (F.max_pool2d if x.ndim == 4 else F.max_pool3d)(x, 2),
        "avg_pool": lambda F: lambda x: (F.avg_pool2d if x.ndim == 4 else F.avg_pool3d)(x, 2),
        "adaptive_avg_pool": lambda F: lambda x: (F.adaptive_avg_pool2d if x.ndim == 4 else F.adaptive_avg_pool3d)(x, 2),
        "batch_norm": lambda F: lambda x: F.batch_norm(x, None, None, training=True),
        "group_norm": lambda F: lambda x: F.group_norm(x, 2),
    }.items()},
    "index_put": lambda T, x: x.index_put((T.tensor([0]),), T.tensor(1.0)),
    "index_fill": lambda T, x: x.index_fill(0, T.tensor([0]), 1.0),
    "conv": lambda T, x: T.nn.functional.conv2d(x, T.ones(3, 4, 2, 2)),
    "conv, by the weight": lambda T, x: T.nn.functional.conv2d(x.contiguous(), T.ones(3, 4, 2, 2).contiguous(memory_format=T.channels_last)),
    "conv_transpose": lambda T, x: T.nn.functional.conv_transpose2d(x, T.ones(4, 3, 2, 2)),
    "cat": lambda T, x: T.cat([x, x], 1),
    "cat of both": lambda T, x: T.cat([x, x.contiguous()], 1),
    "pixel_shuffle": lambda T, x: T.nn.functional.pixel_shuffle(x, 2),
    "glu": lambda T, x: T.nn.functional.glu(x, 1),
    "prelu": lambda T, x: T.nn.functional.prelu(x, T.ones(4)),
    "lerp": lambda T, x: T.lerp(x, x, 0.5),
    "softmax": lambda T, x: x.softmax(1),
}  # fmt: skip


def _strides(result: Any) -> list[tuple]:
    return [(tuple(r.shape), tuple(r.stride())) for r in (result if isinstance(result, (tuple, list)) else [result])]


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed(name: str) -> None:
    found = []
    for T in (real_torch, ours):
        function = T
        for part in name.split("."):
            function = getattr(function, part)
        found.append(_strides(function(T.rand(3, 4).t(), *TRANSPOSED[name])))
    assert found[1] == found[0]


@pytest.mark.parametrize("name", CHANNELS_LAST)
def test_channels_last(name: str) -> None:
    found = []
    for T in (real_torch, ours):
        x = T.rand(2, 4, 6, 6, 6) if name.endswith("5") else T.rand(2, 4, 6, 6)
        x = x.contiguous(memory_format=T.channels_last_3d if x.ndim == 5 else T.channels_last)
        found.append(_strides(CHANNELS_LAST[name](T, x)))
    assert found[1] == found[0]


def test_the_table_names_operators() -> None:
    assert set(_stride_rules()) <= {operator.qualified_name for operator in OPERATORS.values()}
