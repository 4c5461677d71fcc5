"""Calls of the vector norms, compared with torch's."""

from math import inf, nan

from .sample import FLOATS, Sample, T

_ZERO = T(values=[[0.0, 0.0, 0.0], [0.0, 1.0, -2.0]])
_TIES = T(values=[[1.0, -2.0, 2.0], [0.5, 0.5, -0.5]])
_KINK = {"reason": "torch leaves the second derivative at a kink undefined", "gradgrad": False}

SAMPLES = [
    *(Sample("norm", T(2, 3), p, dtypes=(*FLOATS, "bfloat16", "complex64")) for p in (2, 1, 3, 0.5, 1.5, inf, -inf)),
    *(Sample("norm", _ZERO, p, 1, dtypes=FLOATS, **_KINK) for p in (2, 1, 3, 1.5, inf)),
    *(Sample("norm", _TIES, p, 1, True, dtypes=FLOATS, **_KINK) for p in (inf, -inf)),
    Sample("norm", T(2, 3), 0, grad=False),
    Sample("norm", T(2, 3), 2, (0, 1), dtypes=FLOATS),
    Sample("norm", T(2, 3), p=2, dim=1, keepdim=True, dtype="float64"),
    Sample("norm", T(2, 3), p=None, dim=1),
    Sample("norm", T(values=[1.0, nan]), inf, grad=False),
    Sample("norm", T(2, 3), 2, dtypes=("int64",)),
    Sample("norm", T(2, 3), 2, (0, 0)),
    Sample("norm", T(0), inf),
    Sample("norm", T(0, 2), inf, 0),
    Sample("norm", T(0), 2),
    Sample("norm", T(2, 3), 2, dtype="float16"),
    Sample("norm", T(2, 3), 2, dtype="int64"),
    Sample("linalg.vector_norm", T(2, 3), dtypes=(*FLOATS, "float16", "complex128")),
    Sample("linalg.vector_norm", T(2, 3, 4), 3, (0, -1), True, dtypes=FLOATS),
    Sample("linalg.vector_norm", T(2, 3), ord=0, grad=False),
    *(Sample("renorm", T(values=[[0.0, 0.0, 0.0], [1.0, -2.0, 0.5]]), p, 0, 1.5, dtypes=("float64", "complex128")) for p in (2, 1.5, inf)),
    Sample("renorm", T(2, 3), 2, 0, 1.0, dtypes=("bfloat16", "int64")),
    Sample("renorm", T(2, 3), -1, 0, 1.0),
    Sample("renorm", T(2, 3), 2, 0, -1.0),
    Sample("renorm", T(3), 2, 0, 1.0),
]
