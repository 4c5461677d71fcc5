"""Calls of views as copies and of scatters into views, compared with torch's."""

from .sample import FLOATS, Sample, T

_X = T(2, 3)
_TURNED = T(2, 3, transposed=True)

SAMPLES = [
    Sample("permute_copy", _X, (1, 0), dtypes=("int64", "float64")),
    Sample("transpose_copy", _TURNED, 0, 1, dtypes=FLOATS),
    Sample("t_copy", _X),
    Sample("view_copy", _X, (3, 2)),
    Sample("view_copy", _X, (4, 2)),
    Sample("view_copy", _X, "torch.int32"),
    Sample("expand_copy", T(2, 1), (3, 2, 2)),
    Sample("squeeze_copy", T(2, 1, 3)),
    Sample("squeeze_copy", T(2, 1, 3), 1),
    Sample("squeeze_copy", T(2, 1, 3), (0, 1)),
    Sample("unsqueeze_copy", _TURNED, 1),
    Sample("select_copy", _X, 1, 2),
    Sample("slice_copy", _X, 1, 0, 3, 2),
    Sample("diagonal_copy", _X, 1),
    Sample("unfold_copy", T(5), 0, 3, 1),
    Sample("as_strided_copy", _X, (2, 2), (1, 2)),
    Sample("split_copy", _X, 2, 1),
    Sample("split_with_sizes_copy", _X, [1, 2], 1),
    Sample("unbind_copy", _X, 1),
    Sample("alias_copy", _TURNED),
    Sample("detach_copy", _X, grad=False),
    Sample("narrow_copy", _X, 1, -2, 2, dtypes=("int64", "float64"), grad=False),  # torch refuses it at backward
    Sample("narrow_copy", _X, 2, 0, 1),
    Sample("unsafe_split", _X, 2, 1),
    Sample("unsafe_split_with_sizes", _X, [1, 2], 1),
    Sample("unsafe_chunk", T(5), 2),
    Sample("unsafe_chunk", T(5), 0),
    Sample("slice_scatter", _X, T(2, 2), 1, 0, 3, 2, dtypes=("int64", "float64")),
    Sample("slice_scatter", _X, T(2, 2), 1, 0, 1),
    Sample("slice_scatter", _X, T(2, 1), 1, 0, 1, step=0),
    Sample("select_scatter", _X, T(2), 1, -1, dtypes=("int64", "float64")),
    Sample("select_scatter", _X, T(3), 1, 0),
    Sample("select_scatter", _X, T(2), 1, 3),
    Sample("diagonal_scatter", T(2, 3, 2), T(3, 1), -1, 0, 2, dtypes=("int64", "float64")),
    Sample("diagonal_scatter", T(3, 3), T(2), 1),
    Sample("diagonal_scatter", _X, T(3)),
    Sample("diagonal_scatter", _X, T(2), 0, 0, 0),
    Sample("as_strided_scatter", _X, T(2), (2,), (2,), 1, grad=False),  # torch gives the gradient of what was written over
    Sample("as_strided_scatter", _TURNED, T(2), (2,), (2,), grad=False),
    Sample("as_strided_scatter", _X, T(3), (2,), (2,)),
]
