"""Calls of the cumulative operators, compared with torch's."""

from math import inf, nan

from .sample import FLOATS, NUMBERS, Sample, T

_ALL = (*NUMBERS, "bool", "bfloat16", "complex128")
_STEPS = T(values=[1.0, 1.0, 0.0, nan, 2.0, nan])

SAMPLES = [
    Sample("cumsum", T(2, 3), 1, dtypes=_ALL),
    Sample("cumsum", T(2, 3), 0, dtype="float64"),
    Sample("cumsum", T(40, 33), 0),
    Sample("cumsum", T(33, 40), -1),
    Sample("cumsum", T(), 0, dtypes=("float64",)),
    Sample("cumsum", T(0, 3), 0),
    Sample("cumsum", T(2, 3), 3),
    Sample("cumprod", T(2, 3), 1, dtypes=_ALL),
    Sample("cumprod", T(values=[[1.5, 0.0, 2.0, 0.0], [2.0, 3.0, 0.0, 1.0]]), -1, dtypes=FLOATS),
    Sample("cumprod", T(3), 0, dtype="float64"),
    Sample("cummax", T(2, 4), 1, dtypes=(*NUMBERS, "bool", "bfloat16", "complex64")),
    Sample("cummax", T(values=[1.0, 1.0, 0.0, 2.0, 2.0]), 0, dtypes=FLOATS),
    Sample("cummax", _STEPS, 0, grad=False),
    Sample("cummax", T(), 0),
    Sample("cummax", T(0, 2), 0),
    Sample("cummin", T(2, 4), 0, dtypes=(*NUMBERS, "bool")),
    Sample("cummin", _STEPS, 0, grad=False),
    Sample("logcumsumexp", T(2, 3), 1, dtypes=(*FLOATS, "bfloat16", "int64")),
    Sample("logcumsumexp", T(values=[-inf, -inf, 0.0, 1000.0]), 0, grad=False),
    Sample("diff", T(2, 4), dtypes=(*NUMBERS, "bool", "complex128")),
    Sample("diff", T(4, 3), n=2, dim=0, dtypes=FLOATS),
    Sample("diff", T(2, 3), prepend=T(2, 1), append=T(2, 2), dtypes=FLOATS),
    Sample("diff", T(2, 3), 5),
    Sample("diff", T()),
    Sample("diff", T(2, 3), -1),
    Sample("diff", T(2, 3), prepend=T(3)),
    Sample("diff", T(2, 3), prepend=T(3, 2)),
    Sample("trapezoid", T(2, 3), dtypes=(*FLOATS, "int64", "bool")),
    Sample("trapezoid", T(2, 3), dx=0.5, dim=0, dtypes=FLOATS),
    Sample("trapezoid", T(2, 3), T(3), dtypes=FLOATS),
    Sample("trapezoid", T(2, 3), T(2)),
    Sample("trapezoid", T()),
    Sample("trapz", T(2, 3), T(2, 3), dim=0, dtypes=FLOATS),
    Sample("cumulative_trapezoid", T(2, 3), dtypes=(*FLOATS, "int64")),
    Sample("cumulative_trapezoid", T(2, 3), T(3), dtypes=FLOATS),
    Sample("cumulative_trapezoid", T(3, 2), dx=3, dim=0, dtypes=FLOATS),
    Sample("logcumsumexp", T(4, 2), 0, dtypes=("complex64",), grad=False),
    Sample("logcumsumexp", T(4, 2, low=700.0, high=800.0), 0, dtypes=("complex128",)),
]
