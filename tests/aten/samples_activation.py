"""Samples of the activation functions."""

from __future__ import annotations

from .sample import FLOATS, Sample, T

INF, NAN = float("inf"), float("nan")
HALVES = ("float16", "bfloat16")
KINKS = T(values=[-6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, NAN])

#: name: arguments after the input, one call each
_CALLS = {
    "relu": [()], "relu6": [()], "leaky_relu": [(), (0.2,)], "elu": [(), (0.5,)], "selu": [()], "celu": [(), (2.0,)],
    "gelu": [(), ("tanh",)], "silu": [()], "mish": [()], "softplus": [(), (2, 1.5)], "softsign": [()], "tanhshrink": [()],
    "hardtanh": [(), (-0.5, 3.0)], "hardswish": [()], "hardshrink": [(), (1.0,)], "softshrink": [(), (1.0,)],
    "logsigmoid": [()], "threshold": [(0.5, 7.0)],
}  # fmt: skip
_INPLACE = ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish")


_SIXTH = "torch takes 1/6 in single precision for the gradient"


def _named(name, arguments):
    return {"approximate": arguments[0]} if name == "gelu" and arguments else {}


def _samples(name, arguments, tensor, **options):
    positional = () if name == "gelu" else arguments
    return Sample(f"nn.functional.{name}", tensor, *positional, **_named(name, arguments), **options)


SAMPLES = [
    *[_samples(name, arguments, T(3, 4), dtypes=FLOATS) for name, calls in _CALLS.items() for arguments in calls],
    *[_samples(name, arguments, KINKS, gradgrad=False) for name, calls in _CALLS.items() for arguments in calls],
    *[_samples(name, calls[-1], T(8), dtypes=HALVES, gradgrad=False) for name, calls in _CALLS.items()],
    *[_samples(name, calls[-1], T(3, dtype="int64")) for name, calls in _CALLS.items()],
    *[_samples(name, calls[-1], T(values=[True], dtype="bool")) for name, calls in _CALLS.items()],
    *[Sample(f"nn.functional.{name}", T(3, 4, grad=False), inplace=True) for name in _INPLACE],
    Sample("nn.functional.hardsigmoid", T(3, 4), gradgrad=False, tolerance=(1e-6, 1e-6), reason=_SIXTH),
    Sample("nn.functional.hardsigmoid", KINKS, gradgrad=False, tolerance=(1e-6, 1e-6), reason=_SIXTH),
    Sample("nn.functional.hardsigmoid", T(8), dtypes=("float64", *HALVES), gradgrad=False, tolerance=(1e-2, 1e-3), reason=_SIXTH),
    Sample("nn.functional.hardsigmoid", T(3, dtype="int64")),
    Sample("relu", T(3, 4, transposed=True), dtypes=FLOATS),
    Sample("relu", T(0, 3)),
    Sample("selu", T(3)),
    Sample("celu", T(3), 0.5),
    Sample("threshold", T(4), 0.5, 2.0),
    Sample("threshold", T(values=[0, 1, 2]), 0.5, 1.5, dtypes=("int64",)),
    Sample("hardshrink", T(4), 0.3),
    Sample("nn.functional.silu", T(3), dtypes=("complex64",), grad=False),
    Sample("nn.functional.softplus", T(values=[-100.0, 0.0, 19.0, 21.0, 1000.0])),
    Sample("nn.functional.logsigmoid", T(values=[-100.0, 0.0, 100.0])),
    Sample("nn.functional.softshrink", T(3), -1.0),
    Sample("nn.functional.hardtanh", T(3), 2.0, 1.0),
    Sample("nn.functional.hardtanh", T(3, dtype="uint8")),
    Sample("nn.functional.celu", T(3), 0.0),
    Sample("nn.functional.gelu", T(3), approximate="other"),
    Sample("nn.functional.prelu", T(2, 3, 4), T(3)),
    Sample("nn.functional.prelu", T(2, 3), T(1), dtypes=FLOATS),
    Sample("nn.functional.prelu", T(values=[0.0, -1.0, NAN, 1.0]), T(values=[0.3]), gradgrad=False),
    Sample("prelu", T(3), T()),
    Sample("prelu", T(), T(1)),
    Sample("nn.functional.prelu", T(2, 3), T(2)),
    Sample("nn.functional.prelu", T(2, 3), T(3, 1)),
    Sample("nn.functional.prelu", T(2, 3), T(3, dtype="float64")),
    Sample("nn.functional.glu", T(4, 6), dtypes=FLOATS),
    Sample("nn.functional.glu", T(4, 6), 0),
    Sample("nn.functional.glu", T(3)),
    Sample("nn.functional.glu", T()),
    Sample("nn.functional.glu", T(4, 2), 2),
    Sample("nn.functional.rrelu", T(3, 4), dtypes=(*FLOATS, "float16")),
    Sample("nn.functional.rrelu", KINKS, 0.1, 0.2, gradgrad=False),
    Sample("nn.functional.rrelu", T(3, 4), 0.25, 0.25, training=True),  # one slope: nothing depends on the draw
    Sample("nn.functional.rrelu", T(3, 4, grad=False), inplace=True),
    Sample("nn.functional.rrelu", T(3), 0.5, 0.1),
    Sample("nn.functional.rrelu", T(3), INF, 0.1),
    Sample("nn.functional.rrelu", T(3, dtype="int64"), training=True),
    Sample("nn.functional.rrelu", T(3, dtype="float16"), training=True),
    Sample("nn.functional.rrelu", T(3, dtype="int64")),
    Sample("rrelu", T(3), 0.2, 0.4),
    Sample("rrelu_", T(3, grad=False), 0.2, 0.4),
]
