"""Calls of the sorting operators and order statistics, compared with torch's."""

from math import nan

from .sample import FLOATS, NUMBERS, Sample, T

_REAL = (*NUMBERS, "bfloat16")
_NANS = T(values=[[2.0, nan, 1.0, 2.0], [0.0, 3.0, -1.0, 3.0]])
_COUNTED = T(values=[[3, 1, 1, 3, 3, 1, 2], [2, 2, 0, 1, 0, 5, 7]])
_DISTINCT = T(values=[[3.0, 1.0, 4.0, 2.0], [7.0, 9.0, 8.0, 6.0]])

SAMPLES = [
    Sample("sort", T(2, 5), stable=True, dtypes=(*_REAL, "bool", "complex64")),
    Sample("sort", _NANS, stable=True, dtypes=FLOATS),
    Sample("sort", _NANS, 1, True, dtypes=("float32",)),
    Sample("sort", _DISTINCT, dim=0, descending=True, dtypes=_REAL),
    Sample("sort", T()),
    Sample("sort", T(0, 3)),
    Sample("sort", T(2, 3), 5),
    Sample("argsort", _NANS, stable=True),
    Sample("argsort", _DISTINCT, 1, True, dtypes=_REAL),
    Sample("msort", T(4, 2), dtypes=_REAL),
    Sample("topk", _DISTINCT, 2, dtypes=_REAL),
    Sample("topk", _DISTINCT, 1, 0, False, dtypes=_REAL),
    Sample("topk", T(values=[1.0, nan, 2.0]), 2),
    Sample("topk", T(values=[1.0, nan, 2.0]), 2, largest=False),
    Sample("topk", T(), 1),
    Sample("topk", T(2, 3), 0),
    Sample("topk", T(2, 3), 4, dtypes=("float32",)),
    Sample("topk", T(2, 3), 1, dtypes=("bool", "complex64")),
    Sample("kthvalue", _DISTINCT, 2, dtypes=_REAL),
    Sample("kthvalue", _DISTINCT, 1, 0, True, dtypes=FLOATS),
    Sample("kthvalue", T(values=[nan, 1.0, 2.0]), 3),
    Sample("kthvalue", T(2, 3), 0),
    Sample("kthvalue", T(0, 2), 1, 0),
    Sample("kthvalue", T(), 1),
    Sample("median", _DISTINCT, dtypes=_REAL),
    Sample("median", _NANS),
    Sample("median", T(values=[2.0, 2.0, 1.0, 5.0]), dtypes=FLOATS),
    Sample("median", _DISTINCT, 1, dtypes=_REAL),
    Sample("median", _NANS, -1, True),
    Sample("median", T(0)),
    Sample("median", T(0, 2), 0),
    Sample("median", T(2, 3), dtypes=("bool", "complex64")),
    Sample("nanmedian", _NANS, dtypes=FLOATS),
    Sample("nanmedian", T(values=[[1.0, nan, 4.0, 2.0], [nan, nan, 7.0, nan]]), 1, dtypes=FLOATS),
    Sample("nanmedian", T(values=[nan, nan])),
    Sample("mode", _COUNTED, dtypes=NUMBERS),
    Sample("mode", _COUNTED, 1, True, dtypes=FLOATS),
    Sample("mode", T()),
    Sample("mode", T(0)),
    Sample("quantile", T(2, 5), 0.3, dtypes=(*FLOATS, "int64", "bfloat16")),
    *(Sample("quantile", _DISTINCT, 0.6, 1, interpolation=name, dtypes=FLOATS) for name in ("lower", "higher", "midpoint", "nearest")),
    Sample("quantile", T(2, 3, 4), T(values=[0.2, 0.5, 1.0], grad=False), 1, True, dtypes=FLOATS, strides=False, reason="torch permutes its result"),
    Sample("quantile", T(2, 3), T(values=[0.2, 0.5], grad=False), dtypes=FLOATS),
    Sample("quantile", T(values=[1.0, nan, 3.0]), 0.5),
    Sample("quantile", T(2, 3), 1.5),
    Sample("quantile", T(2, 3), T(values=[0.5, 1.5])),
    Sample("quantile", T(2, 3), T(values=[0.5], dtype="float64")),
    Sample("quantile", T(2, 3), 0.5, interpolation="best"),
    Sample("quantile", T(0), 0.5),
    Sample("nanquantile", T(values=[[1.0, nan, 3.0], [nan, nan, nan]]), 0.3, 1, dtypes=FLOATS),
    Sample("nanquantile", T(values=[[1.0, nan, 3.0], [4.0, 2.0, 9.0]]), T(values=[0.25, 0.75], grad=False), 0, True, dtypes=FLOATS, strides=False, reason="torch permutes its result"),
]
