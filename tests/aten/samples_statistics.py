"""Calls of covariances, numerical derivatives and histograms of points, compared with torch's."""

from .sample import FLOATS, Sample, T

_X = T(values=[[0.1, 3.0, 2.0, -1.0], [2.0, 1.0, 0.3, 0.2], [0.0, 1.0, 2.0, 9.0]])
_OFTEN = T(values=[1, 2, 3, 1], dtype="int64")
_HEAVY = T(values=[1.0, 0.2, 3.0, 1.0])
_PLACES = [T(values=[0.0, 1.0, 3.0]), T(values=[0.0, 1.0, 3.0, 4.0])]
_POINTS = T(values=[[0.0, 1.0], [2.0, 2.0], [1.0, 3.0], [0.5, 0.5]])

SAMPLES = [
    Sample("cov", _X, dtypes=("int64", *FLOATS, "complex128")),
    Sample("cov", _X, correction=0, fweights=_OFTEN, dtypes=("float64",)),
    Sample("cov", _X, fweights=_OFTEN, aweights=_HEAVY, dtypes=("float64",)),
    Sample("cov", T(4), aweights=_HEAVY),
    Sample("cov", T(2, 3, 4)),
    Sample("cov", T(2, 4), fweights=_HEAVY),
    Sample("cov", T(2, 4), aweights=T(values=[-1.0, 1.0, 1.0, 1.0])),
    Sample("corrcoef", _X, dtypes=("int64", "float64", "complex128")),
    Sample("corrcoef", T(4)),
    Sample("gradient", _X, dtypes=("int64", "float64")),
    Sample("gradient", _X, spacing=[1.0, 2.0], edge_order=2, dtypes=("float64",)),
    Sample("gradient", _X, spacing=_PLACES, dtypes=("float64",)),
    Sample("gradient", _X, spacing=_PLACES[1:], dim=1, edge_order=2, dtypes=("float64",)),
    Sample("gradient", _X, spacing=[1.0]),
    Sample("gradient", _X, dim=(0, 0)),
    Sample("gradient", T(2, 2), edge_order=2),
    Sample("histogramdd", _POINTS, [2, 3], dtypes=FLOATS, grad=False),
    Sample("histogramdd", _POINTS, 2, [0.0, 1.0, 1.0, 3.0], T(4), True, grad=False),
    Sample("histogramdd", _POINTS, [T(values=[0.0, 1.0, 2.0]), T(values=[0.0, 2.0, 4.0])], grad=False),
    Sample("histogramdd", _POINTS, [2]),
    Sample("histogramdd", T(4), 2),
    Sample("histogram", T(values=[float("nan"), 1.0]), 2, grad=False),
]
