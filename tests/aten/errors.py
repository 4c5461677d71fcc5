"""Wrong calls: the table of `test_errors.py`, each compared with what torch raises."""

from __future__ import annotations

from .sample import Sample, T

#: Found when the operator is called.
CALLS = [
    Sample("add", T(2, 3), T(2, 4)),
    Sample("mul", T(3), T(4)),
    Sample("where", T(3, dtype="bool"), T(2), T(3)),
    Sample("add", T(3, dtype="int64"), T(3, dtype="int64"), alpha=0.5),
    Sample("add", T(3, dtype="bool"), T(3, dtype="bool"), alpha=0.5),
    Sample("sub", T(3, dtype="bool"), T(3, dtype="bool")),
    Sample("add", T(3), "a"),
    Sample("add", T(3), None),
    Sample("add", T(3), [1.0]),
    Sample("add", T(3)),
    Sample("add", T(3), T(3), T(3)),
    Sample("add", T(3), other=T(3), beta=1),
    Sample("neg", 1),
    Sample("neg", T(3, dtype="bool")),
    Sample("bitwise_and", T(3), T(3)),
    Sample("bitwise_not", T(3)),
    Sample("remainder", T(3, dtype="complex64"), 2),
    Sample("lt", T(3, dtype="complex64"), T(3, dtype="complex64")),
    Sample("maximum", T(3, dtype="complex64"), T(3, dtype="complex64")),
    Sample("floor", T(3, dtype="complex64")),
    Sample("sum", T(3), 1),
    Sample("sum", T(3, 2), -3),
    Sample("sum", T(3, 2), (0, 0)),
    Sample("sum", T(3), "a"),
    Sample("mean", T(3, dtype="int64")),
    Sample("max", T(0)),
    Sample("max", T(2, 0), 1),
    Sample("argmax", T(0)),
    Sample("softmax", T(3), 1),
    Sample("log_softmax", T(3, dtype="int64"), 0),
    Sample("cumsum", T(3), 1),
    Sample("std", T(3, dtype="int64")),
    Sample("matmul", T(2, 3), T(2, 3)),
    Sample("matmul", T(), T(2)),
    Sample("mm", T(2, 3), T(2, 3)),
    Sample("mm", T(3), T(3, 2)),
    Sample("mm", T(2, 3), T(3, 2, dtype="float64")),
    Sample("bmm", T(2, 3, 4), T(3, 4, 2)),
    Sample("bmm", T(3, 4), T(4, 2)),
    Sample("dot", T(3), T(4)),
    Sample("dot", T(3), T(3, dtype="float64")),
    Sample("mv", T(2, 3), T(2)),
    Sample("addmm", T(3, 3), T(2, 3), T(3, 2)),
    Sample("cat", [T(2, 3), T(2, 4)]),
    Sample("cat", []),
    Sample("cat", [T(2), 1]),
    Sample("cat", T(2)),
    Sample("stack", [T(2), T(3)]),
    Sample("stack", []),
    Sample("reshape", T(2, 3), (4, 2)),
    Sample("reshape", T(2, 3), (-1, -1)),
    Sample("reshape", T(2, 3), (-1, 4)),
    Sample("squeeze", T(2, 1), 2),
    Sample("unsqueeze", T(2), 3),
    Sample("transpose", T(2, 3), 0, 2),
    Sample("permute", T(2, 3), (0, 0)),
    Sample("permute", T(2, 3), (0,)),
    Sample("narrow", T(4), 0, 3, 2),
    Sample("select", T(4), 0, 4),
    Sample("split", T(4), [1, 2]),
    Sample("chunk", T(4), 0),
    Sample("gather", T(2, 3), 0, T(2, 4, dtype="int64")),
    Sample("gather", T(2, 3), 2, T(2, 3, dtype="int64")),
    Sample("gather", T(2, 3), 0, T(2, 3)),
    Sample("index_select", T(2, 3), 0, T(2, 2, dtype="int64")),
    Sample("index_select", T(2, 3), 0, T(2)),
    Sample("scatter", T(2, 3), 0, T(2, 3, dtype="int64"), T(2, 2)),
    Sample("topk", T(3), 4),
    Sample("kthvalue", T(3), 4),
    Sample("sort", T(3), 1),
    Sample("linalg.inv", T(2, 3)),
    Sample("linalg.solve", T(2, 2), T(3)),
    Sample("linalg.cholesky", T(2, 2, dtype="int64")),
    Sample("clamp", T(3)),
    Sample("zeros", -1),
    Sample("arange", 0, 4, -1),
    Sample("linspace", 0, 1, -1),
    Sample("nn.functional.cross_entropy", T(2, 3), T(3, dtype="int64")),
    Sample("nn.functional.mse_loss", T(2), T(2), reduction="average"),
    Sample("nn.functional.nll_loss", T(2, 3), T(2, dtype="int64"), reduction="average"),
    Sample("nn.functional.linear", T(2, 3), T(4, 2)),
    Sample("nn.functional.conv2d", T(1, 3, 4, 4), T(2, 2, 3, 3)),
    Sample("nn.functional.layer_norm", T(2, 3), (4,)),
]

#: Errors that depend on data: raised at the call where the numbers are known, else when numbers are looked at.
DATA = [
    Sample("gather", T(2, 3), 0, T(values=[[2, 0, 0]], dtype="int64")),
    Sample("index_select", T(2, 3), 0, T(values=[2], dtype="int64")),
    Sample("take", T(3), T(values=[3], dtype="int64")),
    Sample("scatter", T(2, 3), 0, T(values=[[2, 0, 0]], dtype="int64"), 1.0),
    Sample("Tensor.__getitem__", T(2, 3), T(values=[0, 7], dtype="int64")),
    Sample("index_put", T(2, 3), (T(values=[0, 1], dtype="int64"), T(values=[1, -9], dtype="int64")), T()),
    Sample("index_add", T(2, 3), 0, T(values=[0, 7], dtype="int64"), T(2, 3)),
    Sample("masked_scatter", T(3), T(values=[True, True, False], dtype="bool"), T(1)),
    Sample("bernoulli", T(values=[0.5, 1.5])),
    Sample("nn.functional.max_unpool1d", T(1, 1, 2), T(values=[[[0, 9]]], dtype="int64"), 2),
    Sample("nn.functional.embedding", T(values=[3], dtype="int64"), T(3, 2)),
    Sample("nn.functional.embedding_bag", T(values=[0, 1], dtype="int64"), T(3, 2), T(values=[0, 5], dtype="int64")),
    Sample("nn.functional.cross_entropy", T(2, 3), T(values=[0, 3], dtype="int64")),
    Sample("nn.functional.binary_cross_entropy", T(values=[0.5, 1.5]), T(2)),
    Sample("nn.functional.nll_loss", T(2, 3), T(values=[0, 3], dtype="int64")),
    Sample("nn.functional.gaussian_nll_loss", T(2, 2), T(2, 2), T(values=[[1.0, 1.0], [-1.0, 1.0]])),
    Sample("nn.functional.one_hot", T(values=[3], dtype="int64"), 3),
    Sample("bincount", T(values=[-1], dtype="int64")),
    Sample("floor_divide", T(values=[1], dtype="int64"), T(values=[0], dtype="int64")),
    Sample("remainder", T(values=[1], dtype="int64"), 0),
    Sample("div", T(values=[1], dtype="int64"), T(values=[0], dtype="int64"), rounding_mode="trunc"),
    Sample("searchsorted", T(values=[1.0, 2.0]), T(2), sorter=T(values=[0, 5], dtype="int64")),
]

#: Matrices that cannot be factorized: raised at the call in any case.
SINGULAR = [
    Sample("linalg.inv", T(values=[[1.0, 1.0], [1.0, 1.0]])),
    Sample("linalg.inv", T(values=[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])),
    Sample("linalg.solve", T(values=[[1.0, 1.0], [1.0, 1.0]]), T(2)),
    Sample("linalg.lu_factor", T(values=[[1.0, 1.0], [1.0, 1.0]])),
    Sample("linalg.cholesky", T(values=[[-1.0, 0.0], [0.0, 1.0]])),
]

#: In-place methods that are refused.
INPLACE = [
    Sample("add_", T(3), T(2, 3)),
    Sample("add_", T(3, dtype="int64"), 0.5),
    Sample("mul_", T(3, dtype="int64"), T(3)),
    Sample("div_", T(3, dtype="int64"), 2),
    Sample("sqrt_", T(3, dtype="int64")),
    Sample("copy_", T(3), T(4)),
    Sample("masked_fill_", T(3), T(3), 1.0),
    Sample("index_add_", T(3), 0, T(2, dtype="int64", low=0), T(3)),
    Sample("scatter_", T(2, 3), 0, T(3, 3, dtype="int64", low=0), T(3, 2)),
    Sample("clamp_", T(3)),
]

#: Texts that differ from torch's: of the order of a minor that JAX does not tell.
_OTHER_TEXT = {"linalg.cholesky"}


def has_numbers(sample: Sample) -> bool:
    """Whether the error depends on data, so that its text names numbers which are compared, too."""
    return sample.path not in _OTHER_TEXT and any(sample is s for s in (*DATA, *SINGULAR))
