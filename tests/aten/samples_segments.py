"""Calls of reductions of segments, compared with torch's."""

from .sample import Sample, T

_LENGTHS = T(values=[3, 0, 1, 2], dtype="int64")
_OFFSETS = T(values=[0, 2, 2, 5], dtype="int32")
_BATCHED = T(values=[[1, 3], [4, 0]], dtype="int64")
_TIES = T(values=[[2.0, 0.0], [2.0, 0.0], [1.0, 3.0], [0.0, 5.0], [float("nan"), 4.0], [1.0, 4.0]])
_KINDS = ("sum", "mean", "max", "min", "prod")
_NO_SECOND = {"gradgrad": False}  # torch has no second derivative

SAMPLES = [
    *[Sample("segment_reduce", T(6, 2), kind, lengths=_LENGTHS, dtypes=("float64", "float16"), **_NO_SECOND) for kind in _KINDS],
    *[Sample("segment_reduce", T(6, 2), kind, lengths=_LENGTHS, initial=0.5, dtypes=("float64",), **_NO_SECOND) for kind in _KINDS],
    *[Sample("segment_reduce", _TIES, kind, lengths=_LENGTHS, dtypes=("float64",), **_NO_SECOND) for kind in ("max", "min")],
    Sample("segment_reduce", T(values=[[2.0, 0.0], [2.0, 0.0], [1.0, 3.0], [0.0, 5.0]]), "prod", lengths=T(values=[2, 2], dtype="int64"),
           dtypes=("float64",), **_NO_SECOND),
    *[Sample("segment_reduce", T(6), kind, offsets=_OFFSETS, **_NO_SECOND) for kind in ("sum", "amax")],
    *[Sample("segment_reduce", T(2, 4, 3), kind, lengths=_BATCHED, axis=1, **_NO_SECOND) for kind in ("mean", "min")],
    Sample("segment_reduce", T(6), "sum", lengths=T(values=[1, 2], dtype="int64"), unsafe=True, grad=False),
    Sample("segment_reduce", T(0, 2), "amin", lengths=T(values=[0, 0], dtype="int64"), grad=False),
]  # fmt: skip

REFUSED = [
    Sample("segment_reduce", T(4), "median", lengths=T(values=[4], dtype="int64")),
    Sample("segment_reduce", T(4), "sum"),
    Sample("segment_reduce", T(4), "sum", indices=T(values=[0, 0, 0, 0], dtype="int64")),
    Sample("segment_reduce", T(4, dtype="int64"), "sum", lengths=T(values=[4], dtype="int64")),
    Sample("segment_reduce", T(4), "sum", lengths=T(values=[4.0])),
    Sample("segment_reduce", T(4), "sum", offsets=T(values=[0.0, 4.0])),
    Sample("segment_reduce", T(4, 2), "sum", lengths=T(values=[1, 1], dtype="int64"), axis=1),
    Sample("segment_reduce", T(4, 2), "sum", offsets=T(values=[0, 2], dtype="int64"), axis=-1),
    Sample("segment_reduce", T(4), "sum", lengths=T(values=[4], dtype="int64"), axis=2),
    Sample("segment_reduce", T(4), "sum", lengths=T(values=[2, 1], dtype="int64")),
    Sample("segment_reduce", T(4), "sum", lengths=T(values=[5, -1], dtype="int64")),
    Sample("segment_reduce", T(4), "sum", offsets=T(values=[0, 3, 2, 4], dtype="int64")),
    Sample("segment_reduce", T(), "sum", lengths=T(values=[1], dtype="int64")),
]
