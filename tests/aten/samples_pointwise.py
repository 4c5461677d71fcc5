"""Samples of the functions of one tensor."""

from __future__ import annotations

from .sample import FLOATS, NUMBERS, Sample, T

INF, NAN = float("inf"), float("nan")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, INF, -INF, NAN]

#: name: (range of random values, further edge values)
_RANGES = {
    "exp": (-2, 2), "exp2": (-2, 2), "expm1": (-2, 2), "log": (0.1, 3), "log2": (0.1, 3), "log10": (0.1, 3), "log1p": (-0.9, 3),
    "sqrt": (0.1, 3), "rsqrt": (0.1, 3), "square": (-2, 2), "reciprocal": (0.3, 2), "sin": (-3, 3), "cos": (-3, 3), "tan": (-1.2, 1.2),
    "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": (-3, 3), "sinh": (-2, 2), "cosh": (-2, 2), "tanh": (-2, 2), "asinh": (-3, 3),
    "acosh": (1.1, 3), "atanh": (-0.9, 0.9), "sinc": (0.1, 2), "deg2rad": (-180, 180), "rad2deg": (-3, 3), "abs": (-2, 2),
    "sigmoid": (-3, 3), "logit": (0.1, 0.9), "erf": (-2, 2), "erfc": (-2, 2), "erfinv": (-0.9, 0.9), "lgamma": (0.2, 4),
    "i0": (-3, 3), "special.i0e": (-3, 3), "special.i1": (0.1, 3), "special.i1e": (0.1, 3),
    "special.entr": (0.1, 2), "special.ndtr": (-2, 2), "special.ndtri": (0.1, 0.9), "special.log_ndtr": (-3, 3),
    "special.erfcx": (-1, 3), "angle": (-2, 2), "frac": (-3, 3), "neg": (-2, 2), "sgn": (-2, 2), "sign": (-2, 2),
    "nan_to_num": (-2, 2), "floor": (-3, 3), "ceil": (-3, 3), "round": (-3, 3), "trunc": (-3, 3), "conj_physical": (-2, 2),
}  # fmt: skip
#: Functions whose values at EDGES are compared too (the others differ in the last bits or in the sign of a zero there).
_WITH_EDGES = (
    "exp", "exp2", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "reciprocal", "sin", "tanh", "abs", "sigmoid", "erf", "sgn", "sign",
    "nan_to_num", "floor", "ceil", "round", "trunc", "angle", "logit", "special.entr", "neg"
)  # fmt: skip
_OF_COMPLEX = (
    "exp", "log", "sqrt", "rsqrt", "square", "reciprocal", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sigmoid", "abs", "neg", "sgn", "angle",
    "conj_physical", "atan", "asinh", "log2", "expm1",
)  # fmt: skip
_OF_INTEGERS = (
    "exp", "log", "sqrt", "sin", "tanh", "sigmoid", "erf", "reciprocal", "square",
    "abs", "neg", "sign", "floor", "round", "angle", "nan_to_num", "deg2rad",
)  # fmt: skip
_IN_HALF = (
    "exp", "log", "log2", "sqrt", "rsqrt", "square", "sin", "tanh", "sinh", "asinh",
    "sigmoid", "abs", "neg", "floor", "round", "erf", "reciprocal", "deg2rad", "sgn",
)  # fmt: skip

_HALF = "torch rounds after each step of the gradient"

SAMPLES = [
    *[Sample(name, T(3, 4, low=low, high=high), dtypes=FLOATS) for name, (low, high) in _RANGES.items()],
    Sample(
        "digamma", T(3, low=0.2, high=4.0), dtypes=FLOATS, tolerance=(3e-6, 2e-6), reason="torch's trigamma has errors of 1e-9 in float64"
    ),
    # The sign of torch's infinite gradient of logit at -0.0 is another in its vector code than in its scalar code, and so from processor to processor.
    *[Sample(name, T(values=EDGES), gradgrad=False, grad=name != "logit") for name in _WITH_EDGES],
    Sample("logit", T(values=[each for each in EDGES if str(each) != "-0.0"]), gradgrad=False),
    *[Sample(name, T(2, 3), dtypes=COMPLEX) for name in _OF_COMPLEX],
    *[Sample(name, T(5, low=1, high=6), dtypes=("int64", "uint8")) for name in _OF_INTEGERS],
    *[Sample(name, T(8, low=0.3, high=0.9), dtypes=HALVES, gradgrad=False, tolerance=(2e-2, 2e-3), reason=_HALF) for name in _IN_HALF],
    *[Sample(name, T(values=[True, False], dtype="bool")) for name in ("exp", "sqrt", "sgn", "square", "sigmoid", "nan_to_num")],
    Sample("exp", T(0, 3)),
    Sample("tanh", T(3, 4, transposed=True), dtypes=FLOATS),
    Sample("nn.functional.sigmoid", T(3)),
    Sample("nn.functional.tanh", T(3)),
    Sample("special.expit", T(3)),
    Sample("special.psi", T(3, low=0.5)),
    Sample("special.gammaln", T(3, low=0.5)),
    *[
        Sample(alias, T(3, low=-0.8, high=0.8))
        for alias in ("arcsin", "arccos", "arctan", "arcsinh", "arctanh", "absolute", "negative", "fix")
    ],
    Sample("arccosh", T(3, low=1.2)),
    Sample("positive", T(3)),
    Sample("conj", T(3)),
    Sample("conj", T(3), dtypes=COMPLEX),
    Sample("signbit", T(values=EDGES), dtypes=(*FLOATS, *HALVES)),
    Sample("signbit", T(values=[-1, 0, 3], dtype="int64")),
    Sample("round", T(values=[0.5, 1.5, 2.5, -0.5, -1.5, 1234.5678]), dtypes=FLOATS),
    Sample("round", T(values=[1.2345, -1234.5678, 0.125]), decimals=2, dtypes=FLOATS),
    Sample("round", T(values=[1250.0, 1350.0, -44.0]), decimals=-2),
    Sample("frac", T(values=[-1.5, 0.0, 2.25, 1.0])),
    Sample("nan_to_num", T(values=EDGES), 7.0, 8.0, -9.0, dtypes=(*FLOATS, "float16")),
    Sample("nan_to_num", T(values=[complex(NAN, INF), complex(1.0, -INF)], dtype="complex64"), grad=False),
    Sample("logit", T(values=[0.0, 0.05, 0.3, 0.9, 1.0, NAN]), 0.1, gradgrad=False),
    Sample("logit", T(values=[-0.5, 0.3, 1.5]), gradgrad=False),
    Sample("angle", T(values=[0j, 3 + 4j, -1 + 0j, -2 - 1j], dtype="complex64"), gradgrad=False),
    Sample("abs", T(values=[0j, 3 + 4j, -1 + 0j], dtype="complex64"), gradgrad=False),
    Sample("sgn", T(values=[0j, 3 + 4j, -1 + 0j], dtype="complex64"), gradgrad=False),
    Sample("complex", T(3), T(3), dtypes=FLOATS),
    Sample("complex", T(2, 1), T(3)),
    Sample("polar", T(3, low=0.5), T(3), dtypes=FLOATS),
    *[Sample(name, T(values=[0.0, -0.0, 1.0, 0.5, -2.5, INF, NAN]), gradgrad=False) for name in ("lgamma", "digamma")],
    Sample("polygamma", 1, T(values=[0.5, 2.0, 7.5, -0.5])),
    Sample("polygamma", 2, T(4, low=0.5, high=4.0)),
    Sample("special.polygamma", 0, T(4, low=0.5, high=4.0)),
    Sample("mvlgamma", T(3, low=2.0, high=4.0), 3),
    Sample("special.multigammaln", T(3, low=2.0, high=4.0), 2),
    Sample("special.zeta", T(values=[2.0, 3.5, 1.5]), T(values=[1.0, 2.0, 0.5]), grad=False),
    Sample("igamma", T(3, low=0.5), T(3, low=0.5), grad=False),
    Sample("special.gammaincc", T(3, low=0.5), T(3, low=0.5), grad=False),
    Sample("frexp", T(values=[0.0, 1.0, -3.5, 1e-3, 1e10]), dtypes=FLOATS),
    Sample("neg", T(3, low=1, high=9), dtypes=NUMBERS),
    Sample("neg", T(values=[True], dtype="bool")),
    Sample("abs", T(values=[True], dtype="bool")),
    Sample("sign", T(2, dtype="complex64")),
    Sample("floor", T(values=[True], dtype="bool")),
    Sample("round", T(2, dtype="complex64")),
    Sample("deg2rad", T(2, dtype="complex64")),
    Sample("frac", T(2, dtype="int64")),
    Sample("erf", T(2, dtype="complex64")),
    Sample("polar", T(2), T(2, dtype="float64")),
    Sample("complex", T(2, dtype="int64"), T(2, dtype="int64")),
    Sample("polygamma", 0, T(values=[-4.997, -0.5, -1.0, 0.0, -10.3, -9.0001]), grad=False),
    Sample("Tensor.sum_to_size", T(dtype="bool", values=True), (), grad=False),
    Sample("conj_physical", T(2, 2), dtypes=("float32", "complex64")),
    Sample("logit", T(50, low=0.1, high=0.9), dtypes=("bfloat16", "float16"), grad=False),
]
