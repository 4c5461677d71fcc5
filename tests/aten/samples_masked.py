"""Calls of reductions and normalizations that leave elements out, compared with torch's."""

from .sample import Sample, T

_X = T(3, 4)
_MASK = T(values=[[True, False, True, True], [False, True, True, False], [True, True, False, True]], dtype="bool")
_EMPTY_ROW = T(values=[[True, False, True, True], [False, False, False, False], [True, True, False, True]], dtype="bool")
_REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "var", "std", "norm", "logsumexp")

SAMPLES = [
    *[Sample(f"masked.{name}", _X, dim=1, mask=_MASK, dtypes=("float64",)) for name in _REDUCTIONS],
    *[Sample(f"masked.{name}", _X, mask=_MASK, keepdim=True, gradgrad=False) for name in _REDUCTIONS],
    *[Sample(f"masked.{name}", _X, 1, mask=_EMPTY_ROW, grad=False) for name in ("sum", "amin", "mean", "softmax", "log_softmax", "median")],
    *[Sample(f"masked.{name}", _X, 1, mask=_MASK, dtypes=("float64",)) for name in ("cumsum", "cumprod", "softmax", "softmin")],
    Sample("masked.log_softmax", _X, 1, mask=_MASK, grad=False),
    Sample("masked.sum", _X, (0, 1), mask=T(values=[True, False, True, True], dtype="bool"), dtypes=("int32",)),
    Sample("masked.sum", _X, (0, 0)),
    Sample("masked.sum", T(4), mask=_MASK),
    Sample("masked.amax", _X, 1, mask=_MASK, dtypes=("int32", "bool")),
    Sample("masked.argmax", _X, 1, mask=_MASK),
    Sample("masked.argmin", _X, mask=_MASK, dtypes=("int64",)),
    Sample("masked.mean", _X),
    Sample("masked.mean", _X, dtypes=("int64",)),
    Sample("masked.median", _X, 1, mask=_MASK, dtypes=("float64", "int32")),
    Sample("masked.median", _X, 1, mask=_EMPTY_ROW, dtypes=("int32",)),
    Sample("masked.var", _X, 1, False, mask=_MASK, dtypes=("int64", "complex128"), gradgrad=False),
    Sample("masked.std", _X, 1, True, correction=1, grad=False),
    Sample("masked.normalize", _X, 2.0, 1, mask=_MASK, gradgrad=False, dtypes=("float64",)),
    Sample("masked.logaddexp", _X, _X, input_mask=_MASK, other_mask=_EMPTY_ROW, grad=False),
]
