"""Samples of the connectionist temporal classification loss."""

from __future__ import annotations

from .sample import FLOATS, Sample, T

F = "nn.functional."
SCORES = T(5, 2, 4, low=-3.0, high=0.0)
PADDED = T(values=[[1, 2], [3, 1]], dtype="int64")
JOINED = T(values=[1, 2, 3], dtype="int64")
REPEATED = T(values=[[1, 1], [3, 3]], dtype="int64")


def ints(*values):
    return T(values=list(values), dtype="int64")


def ctc(*args, **kwargs):
    return Sample(F + "ctc_loss", *args, gradgrad=False, **kwargs)  # torch has no second derivative


_INF = float("-inf")
_SPARSE = T(values=[[[-1.0, -2.0, -1.5, _INF]], [[-0.5, _INF, -1.5, _INF]], [[-2.0, -1.0, -0.5, _INF]]])

SAMPLES = [
    ctc(SCORES, PADDED, ints(5, 4), ints(2, 1), dtypes=FLOATS),
    ctc(SCORES, PADDED, (5, 4), (2, 1), reduction="none"),
    ctc(SCORES, JOINED, (5, 4), (2, 1), 0, "sum"),
    ctc(SCORES, PADDED, (5, 4), (0, 1)),
    ctc(SCORES, PADDED, (1, 4), (2, 1), reduction="none"),
    ctc(SCORES, PADDED, (1, 4), (2, 1), zero_infinity=True),
    ctc(SCORES, PADDED, (0, 4), (2, 1), reduction="none", zero_infinity=True),
    ctc(SCORES, PADDED, (0, 5), (0, 2), 3, "none"),
    ctc(SCORES, REPEATED, (5, 2), (2, 2), reduction="sum"),
    ctc(SCORES, T(values=[[1, 0], [3, 1]], dtype="int64"), (5, 4), (2, 1), grad=False),  # a blank among the targets is no alignment
    ctc(SCORES, T(2, 0, dtype="int64"), (5, 4), (0, 0)),
    ctc(T(5, 4, low=-3.0, high=0.0), ints(1, 2), T(values=5, dtype="int64"), T(values=2, dtype="int64"), reduction="none"),
    ctc(_SPARSE, T(values=[[1, 2]], dtype="int64"), (3,), (2,), reduction="sum"),
    ctc(_SPARSE, T(values=[[3, 2]], dtype="int64"), (3,), (2,), reduction="none", zero_infinity=True),
    Sample("ctc_loss", SCORES, PADDED, (5, 4), (2, 1), 0, 2, True, gradgrad=False),
]

SAMPLES += [  # calls that torch refuses
    ctc(SCORES, ints(1, 2), (5, 4), (2, 1), grad=False),
    ctc(SCORES, PADDED, (5, 4), (3, 1), grad=False),
    ctc(SCORES, PADDED, ints(6, 4), ints(2, 1), grad=False),
    ctc(SCORES, PADDED, (-1, 4), (2, 1), grad=False),
    ctc(SCORES, PADDED, (5, 4), (-2, 1), grad=False),
    ctc(SCORES, PADDED, (5,), (2, 1), grad=False),
    ctc(SCORES, PADDED, (5, 4), (2, 1), 4, grad=False),
    ctc(SCORES, PADDED, T(2), ints(2, 1), grad=False),
    ctc(SCORES, PADDED, (5, 4), (2, 1), reduction="average", grad=False),
    ctc(T(5, 2, 4, dtype="int64"), PADDED, (5, 4), (2, 1), grad=False),
    ctc(T(4), PADDED, (5, 4), (2, 1), grad=False),
    ctc(T(5, 0, 4), T(0, 2, dtype="int64"), (), (), grad=False),
]
