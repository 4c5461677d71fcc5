"""Calls of functions of positions and of checksums, compared with torch's."""

from .sample import Sample, T

_INDICES = T(values=[3, 5], dtype="int64")

SAMPLES = [
    Sample("unravel_index", _INDICES, (2, 3)),
    Sample("unravel_index", T(values=[7], dtype="int8"), 4),
    Sample("unravel_index", T(0, dtype="int64"), (2, 3)),
    Sample("unravel_index", T(2), (2, 3)),
    Sample("unravel_index", _INDICES, (2, -3)),
    Sample("unravel_index", _INDICES, (2, 3.0)),
    Sample("broadcast_shapes", (2, 1), (3,), 4),
    Sample("broadcast_shapes", (1, 5), (4, 1, 1), 5),
    Sample("broadcast_shapes", (2, -1)),
    Sample("linalg.diagonal", T(2, 3, 4), offset=1, dtypes=("int64", "float64")),
    Sample("hash_tensor", T(2, 3), dtypes=("float32", "float16", "int32", "bool")),
    Sample("hash_tensor", T(2, 3), 1, keepdim=True, dtypes=("float64",)),
    Sample("hash_tensor", T(2, 3), mode=1),
    Sample("hash_tensor", T(0, 3)),
    Sample("grid_sampler_2d", T(1, 2, 3, 3), T(1, 2, 2, 2, low=-1.0, high=1.0), 0, 0, False, dtypes=("float64",)),
    Sample("grid_sampler_3d", T(1, 2, 2, 3, 3), T(1, 2, 1, 2, 3, low=-1.0, high=1.0), 0, 0, True, dtypes=("float64",)),
    Sample("nn.functional.linear_cross_entropy", T(2, 3), T(4, 3), T(values=[1, 3], dtype="int64"), linear_bias=T(4), dtypes=("float64",)),
    Sample("nn.functional.linear_cross_entropy", T(2, 3), T(4, 2, 3), T(2, 4, 2, low=0.1, high=1.0), reduction="sum", dtypes=("float64",)),
    Sample("nn.functional.linear_cross_entropy", T(3), T(4, 3), T(values=1, dtype="int64"), ignore_index=2, label_smoothing=0.1),
    Sample("nn.functional.linear_cross_entropy", T(3), T(4, 2, 3), T(values=1, dtype="int64")),
    Sample("nn.functional.linear_cross_entropy", T(2, 3), T(4, 4), T(values=[1, 3], dtype="int64")),
    Sample("nn.functional.linear_cross_entropy", T(2, 3), T(4, 3), T(2, 4), ignore_index=2),
]
