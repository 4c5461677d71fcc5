"""Calls of the distances and similarities, compared with torch's."""

from math import inf

from .sample import FLOATS, Sample, T

_F = "nn.functional."
_ONCE = {"reason": "torch differentiates these distances once", "gradgrad": False}

SAMPLES = [
    Sample("dist", T(2, 3), T(2, 3), dtypes=(*FLOATS, "complex64")),
    Sample("dist", T(2, 3), T(3), 1, dtypes=FLOATS),
    Sample("dist", T(2, 3), T(2, 3, dtype="float64"), inf),
    Sample("dist", T(2, 3), T(2, 3), dtypes=("int64",)),
    Sample(_F + "pairwise_distance", T(2, 3), T(2, 3), dtypes=(*FLOATS, "int64")),
    Sample(_F + "pairwise_distance", T(2, 3), T(3), p=1.0, keepdim=True, dtypes=FLOATS),
    Sample(_F + "pairwise_distance", T(2, 3), T(2)),
    Sample(_F + "cosine_similarity", T(2, 3), T(2, 3), dtypes=(*FLOATS, "bfloat16", "int64")),
    Sample(_F + "cosine_similarity", T(4, 1, 3), T(2, 3), dim=-1, dtypes=FLOATS),
    Sample(
        _F + "cosine_similarity",
        T(values=[[0.0, 0.0, 0.0], [0.0, 1.0, -2.0]]),
        T(2, 3),
        gradgrad=False,
        reason="torch leaves the second derivative at 0 undefined",
    ),  # fmt: skip
    Sample(_F + "cosine_similarity", T(2, 3), T(2, 3), dim=2),
    *(Sample("cdist", T(2, 3), T(4, 3), p, dtypes=FLOATS, **_ONCE) for p in (2.0, 1.0, 0.5, 3.0, inf)),
    Sample("cdist", T(30, 3), T(4, 3), dtypes=FLOATS, **_ONCE),
    Sample("cdist", T(2, 3), T(5, 4, 3), dtypes=FLOATS, **_ONCE),
    Sample("cdist", T(values=[[1.0, 2.0]]), T(values=[[1.0, 2.0], [2.0, 3.0]]), dtypes=FLOATS, **_ONCE),
    Sample("cdist", T(0, 3), T(4, 3)),
    Sample("cdist", T(2, 3), T(4, 3), 2.0, "donot_use_mm_for_euclid_dist"),
    Sample("cdist", T(2, 3), T(4, 2)),
    Sample("cdist", T(3), T(4, 3)),
    Sample("cdist", T(2, 3), T(4, 3), dtypes=("int64",)),
    Sample("cdist", T(2, 3), T(4, 3), -1.0),
    *(Sample(_F + "pdist", T(4, 3), p, dtypes=FLOATS, **_ONCE) for p in (2.0, 1.0, 3.0, inf)),
    Sample("pdist", T(values=[[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]), **_ONCE),
    Sample("pdist", T(1, 3)),
    Sample("pdist", T(3)),
    Sample("pdist", T(2, 3), -1.0),
]
