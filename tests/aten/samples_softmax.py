"""Calls of the normalised exponentials, compared with torch's."""

from math import inf

from .sample import FLOATS, Sample, T

_INEXACT = (*FLOATS, "bfloat16", "complex64")

SAMPLES = [
    Sample("logsumexp", T(2, 3), 1, dtypes=(*_INEXACT, "int64", "bool")),
    Sample("logsumexp", T(2, 3, 4), (0, 2), True, dtypes=FLOATS),
    Sample("logsumexp", T(values=[[-inf, -inf], [inf, 1.0], [1000.0, 999.0]]), -1),
    Sample("logsumexp", T(0, 2), 0),
    Sample("softmax", T(2, 3), 1, dtypes=(*FLOATS, "bfloat16", "float16", "int64")),
    Sample("softmax", T(2, 3), 0, dtype="float64", dtypes=("float32", "int64")),
    Sample("softmax", T(values=[[-inf, -inf], [-inf, 1.0], [1000.0, 999.0]]), -1),
    Sample("softmax", T(0, 3), 0),
    Sample("softmax", T(), 0, dtypes=("float64",)),
    Sample("softmax", T(2, 3), 3),
    Sample("log_softmax", T(2, 3), -1, dtypes=(*FLOATS, "bfloat16", "int64")),
    Sample("log_softmax", T(2, 3), 0, dtype="float64"),
    Sample("log_softmax", T(values=[[-inf, 1.0], [1000.0, 900.0]]), 1),
    Sample("nn.functional.softmax", T(2, 3), dim=1, dtypes=FLOATS),
    Sample("nn.functional.softmax", T(2, 3), 0, dtype="float64"),
    Sample("nn.functional.log_softmax", T(2, 3), dim=-1, dtypes=FLOATS),
    Sample("nn.functional.softmin", T(2, 3), dim=1, dtypes=FLOATS),
]
