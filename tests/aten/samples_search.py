"""Calls of the operators that look values up and count them, compared with torch's."""

from math import nan

from .sample import NUMBERS, Sample, T

_SORTED = T(values=[[1.0, 3.0, 5.0, 7.0], [0.0, 2.0, 2.0, 9.0]])
_ROWS = T(values=[[3, 1], [3, 1], [1, 2], [3, 0]])
_NUMBERS = T(values=[3, 1, 2, 1, 1, 3])
_LONG = ("int64",)

SAMPLES = [
    Sample("searchsorted", T(values=[1.0, 3.0, 5.0]), T(values=[[3.0, 4.0], [nan, 0.0]])),
    Sample("searchsorted", T(values=[1, 3, 5]), T(2, 3, high=7), right=True, dtypes=NUMBERS),
    Sample("searchsorted", _SORTED, T(values=[[2.0, 9.0], [2.0, -1.0]]), side="right", out_int32=True),
    Sample("searchsorted", T(values=[3.0, 1.0, 2.0]), T(values=[1.5]), sorter=T(values=[1, 2, 0], dtype="int64")),
    Sample("searchsorted", T(values=[1.0, 3.0, 5.0]), 3),
    Sample("searchsorted", _SORTED, T(1)),
    Sample("searchsorted", T(2), T(1), side="both"),
    Sample("searchsorted", T(), T(1)),
    Sample("bucketize", T(values=[1, 5, 9, 0]), T(values=[1, 5]), dtypes=NUMBERS),
    Sample("bucketize", T(2, 3), T(values=[-1.0, 0.0, 1.0]), right=True, out_int32=True),
    Sample("bucketize", T(2, 3), T(2, 3)),
    Sample("isin", _NUMBERS, T(values=[1, 4]), dtypes=NUMBERS),
    Sample("isin", _NUMBERS, T(40, high=3), invert=True, dtypes=_LONG),
    Sample("isin", T(values=[1.0, nan]), T(values=[nan])),
    Sample("isin", _NUMBERS, 1, dtypes=_LONG),
    Sample("isin", T(2), T(2), dtypes=("bool",)),
    Sample("unique", _NUMBERS, dtypes=(*NUMBERS, "bool")),
    Sample("unique", _ROWS, return_inverse=True, return_counts=True, dtypes=_LONG),
    Sample("unique", _ROWS, dim=0, return_inverse=True, return_counts=True, dtypes=("int64", "float32")),
    Sample("unique", _ROWS, dim=1, dtypes=_LONG),
    Sample("unique", T(values=[nan, 1.0, nan]), grad=False),
    *[Sample(name, T(2, 0, 3), return_inverse=True, return_counts=True, dim=1) for name in ("unique", "unique_consecutive")],
    Sample("unique", T(2, 0, 3), dim=0),
    Sample("unique", T(0), grad=False),
    Sample("unique_consecutive", _NUMBERS, True, True, dtypes=_LONG),
    Sample("unique_consecutive", _ROWS, dim=0, return_counts=True, dtypes=_LONG),
    Sample("bincount", _NUMBERS, dtypes=("int64", "int32", "uint8", "float32")),
    Sample("bincount", _NUMBERS, minlength=6, dtypes=_LONG),
    Sample("bincount", _NUMBERS, T(6, dtype="float32", grad=False), dtypes=_LONG),
    Sample("bincount", T(values=[1, -1]), dtypes=_LONG),
    Sample("bincount", T(2, 2), dtypes=_LONG),
    Sample("histc", T(30), 5, grad=False, dtypes=("float32", "float64", "bfloat16")),
    Sample("histc", T(30), bins=4, min=-1, max=1, grad=False),
    Sample("histc", T(values=[1.0, 1.0]), 3, grad=False),
    Sample("histc", T(3), 0),
    Sample("histc", T(3), 3, 5, 1),
    Sample("histc", T(3), dtypes=_LONG),
    Sample("histogram", T(30), 5, grad=False),
    Sample("histogram", T(values=[0.0, 1.0, 2.0, 4.0, 5.0]), T(values=[0.0, 2.0, 4.0]), grad=False),
    Sample("histogram", T(30), 3, range=(0.0, 1.0), density=True, grad=False),
    Sample("histogram", T(30), 3, weight=T(30), grad=False),
]
