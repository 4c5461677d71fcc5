"""Calls of the operators of aten/gather.py and aten/index.py."""

from tests.aten.sample import NUMBERS, Sample, T


def I(values, dtype="int64"):  # noqa: E743
    """Positions."""
    return T(values=values, dtype=dtype)


ROWS = I([[0, 1, 2], [2, 0, 0]])  # for 3 x 4, along dim 0
NARROW = I([[3], [0]])  # along dim 1
SHARED = I([[0, 0, 2, 0], [0, 1, 2, 0]])
TIES = T(values=[[1.0, 2.0, 2.0, 0.0], [0.0, -1.0, 2.0, 3.0], [2.0, 2.0, 0.0, 1.0]])
TIED_SOURCE = T(values=[[1.0, 2.0, 0.0, 0.0], [1.0, -1.0, 2.0, 0.0]])
MASK = T(values=[[True, False, True, False], [False, False, False, False], [True, True, True, True]], dtype="bool")
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")

SAMPLES = [
    Sample("gather", T(3, 4), 0, ROWS, dtypes=NUMBERS),
    Sample("gather", T(3, 4), -1, NARROW),
    Sample("gather", T(3, 4), 0, I([[0, 1], [2, 2]], "int32")),
    Sample("gather", T(), 0, I([0, 0])),
    Sample("gather", T(4), 0, I(3)),
    Sample("gather", T(3, 4), 0, T(0, dtype="int64")),
    Sample("scatter", T(3, 4), 1, I([[0, 1], [3, 2]]), T(2, 2)),
    Sample("scatter", T(3, 4), 1, I([[0, 1], [3, 2]]), T(2, 3), grad=False),
    Sample("scatter", T(3, 4), 0, I([[0, 1, 2, 0], [1, 0, 0, 1]]), 1.5, dtypes=NUMBERS),
    Sample("scatter", T(3, 4), dim=0, index=I([[0, 1, 2, 0]]), value=2),
    Sample("scatter", T(3, 4), 0, SHARED, T(2, 4), reduce="add", grad=False),
    Sample("scatter", T(3, 4), 0, SHARED, T(3, 5), reduce="multiply", grad=False),
    Sample("scatter", T(3, 4), 0, SHARED, 3.0, reduce="multiply", grad=False),
    Sample("scatter_add", T(3, 4), 0, SHARED, T(2, 4), dtypes=NUMBERS),
    Sample("scatter_add", T(5), 0, I(2), T()),
    *(Sample("scatter_reduce", T(3, 4), 0, SHARED, T(2, 4), reduce, dtypes=("float32", "int64", "uint8")) for reduce in REDUCTIONS),
    *(Sample("scatter_reduce", T(3, 4), 0, SHARED, T(2, 4), reduce, include_self=False) for reduce in REDUCTIONS),
    *(Sample("scatter_reduce", TIES, 0, SHARED, TIED_SOURCE, reduce, gradgrad=False) for reduce in REDUCTIONS),
    Sample("scatter_reduce", T(values=[1.0, float("nan"), 3.0]), 0, I([0, 1, 2]), T(values=[float("nan"), 1.0, 2.0]), "amax", grad=False),
    Sample("index_select", T(3, 4), 0, I([2, 0, 2]), dtypes=NUMBERS),
    Sample("index_select", T(3, 4), -1, I([1], "int32")),
    Sample("index_select", T(3, 4), 0, I(1)),
    Sample("index_select", T(), 0, I([0])),
    Sample("index_add", T(3, 4), 0, I([0, 0]), T(2, 4), dtypes=NUMBERS),
    Sample("index_add", T(3, 4), 1, I([3]), T(3, 1), alpha=2),
    Sample("index_add", T(3, 4), 1, I([3]), T(3, 1), alpha=-0.5),
    Sample("index_add", T(values=[True, False], dtype="bool"), 0, I([0, 0]), T(values=[True, True], dtype="bool")),
    Sample("index_copy", T(3, 4), 0, I([2, 0]), T(2, 4), dtypes=NUMBERS),
    Sample("index_copy", T(3), 0, I(1), T()),
    Sample("index_fill", T(3, 4), 0, I([0, -1]), 1.5, dtypes=NUMBERS),
    Sample("index_fill", T(3, 4), 1, I([0, 0]), T()),
    Sample("index_reduce", T(3, 4), 0, I([0, 0]), T(2, 4), "mean"),
    Sample("index_reduce", T(3, 4), 1, I([0, 2]), T(3, 2), "amax", include_self=False),
    Sample("index_reduce", T(3), 0, I([0]), T(), "prod"),
    Sample("scatter_reduce", T(), 0, I([0]), T(1), "amin"),
    Sample("scatter_reduce", T(values=[0.0, 2.0, 3.0]), 0, I([0, 0, 1]), T(values=[0.0, 4.0, 0.0]), "prod"),
    Sample("gather", T(3), 0, T(0)),
    Sample("take", T(3, 4), I([[0, -1], [11, 0]]), dtypes=NUMBERS),
    Sample("take", T(0), T(0, dtype="int64")),
    Sample("take_along_dim", T(3, 4), I([0, 11, 0])),
    Sample("take_along_dim", T(3, 4), I([[0, -1]]), 1, dtypes=NUMBERS),
    Sample("take_along_dim", T(1, 4), I([[0], [1], [0]]), dim=1),
    Sample("Tensor.put", T(3, 4), I([0, -1]), T(2), dtypes=NUMBERS),
    Sample("Tensor.put", T(3, 4), I([[0, 0]]), T(1, 2), accumulate=True),
    Sample("masked_select", T(3, 4), MASK, dtypes=NUMBERS),
    Sample("masked_select", T(4), MASK),
    Sample("masked_select", T(), T(values=True, dtype="bool")),
    Sample("masked_scatter", T(3, 4), MASK, T(8), dtypes=NUMBERS),
    Sample("masked_scatter", T(4), MASK, T(2, 4)),
    Sample("nonzero", T(values=[[0, 1], [2, 0]]), dtypes=NUMBERS),
    Sample("nonzero", T(values=[[0.0, float("nan")], [2, 0]]), as_tuple=True),
    Sample("nonzero", T(values=1.0)),
    Sample("nonzero", T(0, 3)),
    Sample("nonzero_static", T(values=[0, 1, 2]), size=3),
    Sample("nonzero_static", T(values=[0, 1, 2]), size=1),
    Sample("argwhere", T(values=[0, 1, 2])),
    Sample("where", T(values=[[0, 1], [2, 0]])),
    Sample("where", T(values=1.0)),
    Sample("Tensor.index_put", T(3, 4), [I([0, 2])], T(4)),
    Sample("Tensor.index_put", T(3, 4), [I([[0], [2]]), I([1, -1])], T()),
    Sample("Tensor.index_put", T(3, 4), [I([0, 0])], T(2, 4), accumulate=True),
    Sample("Tensor.index_put", T(3, 4), [T(values=[True, False, True], dtype="bool")], T(2, 4)),
    Sample("Tensor.index_put_", T(3, 4, grad=False), [T(values=[True, False, True], dtype="bool"), I([0, 3])], T()),
    Sample("gather", T(3), 0, T(0, dtype="uint8")),
    Sample("nonzero_static", T(2, 0), size=2),
]
