"""Calls of the matrix norms, determinants, inverses and systems, compared with torch's."""

from math import inf

from .sample import FLOATS, Sample, T

_INEXACT = (*FLOATS, "complex128")
_SQUARE = T(values=[[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.0, 2.0, 5.0]])
_LOWER = T(values=[[4.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 2.0, 5.0]])
_BATCH = T(values=[[[4.0, 1.0], [1.0, 3.0]], [[2.0, -1.0], [0.5, 1.0]]])
_ZERO = T(values=[[0.0, 0.0], [0.0, 0.0]])

SAMPLES = [
    Sample("norm", T(2, 3), dtypes=_INEXACT),
    Sample("norm", T(2, 3), "fro", 1, True, dtypes=FLOATS),
    Sample("norm", T(2, 3), "nuc", gradgrad=False, dtypes=FLOATS),
    Sample("norm", _ZERO, gradgrad=False),
    Sample("norm", T(2, 3), "best"),
    Sample("norm", T(2, 3), dtypes=("int64",)),
    Sample("norm", T(2, 2, 2), "nuc"),
    Sample("linalg.norm", T(2, 3), dtypes=_INEXACT),
    Sample("linalg.norm", T(4), 3, dtypes=FLOATS),
    Sample("linalg.norm", T(2, 3), 1, 1, dtypes=FLOATS),
    *(Sample("linalg.norm", T(2, 3), ord, gradgrad=False, dtypes=FLOATS) for ord in (2, -2, 1, -1, inf, "nuc", "fro")),
    Sample("linalg.norm", T(2, 3, 4), inf, (0, 2), True, dtypes=FLOATS),
    Sample("linalg.norm", T(2, 2, 2), 2),
    Sample("linalg.norm", T(2, 3), 3),
    Sample("linalg.norm", T(2, 3), "fro", 0),
    Sample("linalg.norm", T(2, 2, 2), dim=(0, 1, 2)),
    Sample("linalg.matrix_norm", T(2, 3, 4), dtypes=FLOATS),
    Sample("linalg.matrix_norm", T(2, 3, 4), 2, (0, 1), True, gradgrad=False, dtypes=FLOATS),
    Sample("linalg.matrix_norm", T(3)),
    Sample("linalg.matrix_norm", T(2, 3), dtypes=("int64",)),
    Sample("linalg.matrix_norm", T(2, 3), dim=(0, 0)),
    Sample("det", _SQUARE, dtypes=_INEXACT),
    Sample("linalg.det", _BATCH, dtypes=FLOATS),
    Sample("linalg.det", T(2, 3)),
    Sample("logdet", _SQUARE, dtypes=FLOATS),
    Sample("slogdet", _BATCH, dtypes=FLOATS),
    Sample("linalg.slogdet", _SQUARE, dtypes=_INEXACT),
    Sample("linalg.inv", _SQUARE, dtypes=_INEXACT),
    Sample("inverse", _BATCH, dtypes=FLOATS),
    Sample("linalg.inv", T(2, 3)),
    Sample("linalg.inv", T(3)),
    Sample("linalg.inv_ex", _SQUARE, dtypes=FLOATS),
    Sample("linalg.solve", _SQUARE, T(3), dtypes=_INEXACT),
    Sample("linalg.solve", _SQUARE, T(3, 2), dtypes=_INEXACT),
    Sample("linalg.solve", _BATCH, T(2, 2), dtypes=FLOATS),
    Sample("linalg.solve", _SQUARE, T(2, 3), left=False, dtypes=FLOATS),
    Sample("linalg.solve", _SQUARE, T(2, 3)),
    Sample("linalg.solve", _SQUARE, T(3, dtype="float64")),
    Sample("linalg.solve", T(2, 3), T(2)),
    Sample("linalg.solve_ex", _SQUARE, T(3, 2), dtypes=FLOATS),
    Sample("linalg.solve_triangular", _SQUARE, T(3, 2), upper=True, dtypes=_INEXACT),
    Sample("linalg.solve_triangular", _SQUARE, T(2, 3), upper=False, left=False, unitriangular=True, dtypes=FLOATS),
    Sample("linalg.solve_triangular", T(2, 3), T(3, 2), upper=True),
    Sample("triangular_solve", T(3, 2), _SQUARE, dtypes=FLOATS),
    Sample("cholesky_solve", T(3, 2), _LOWER, dtypes=FLOATS, gradgrad=False, reason="torch also fills the triangle that is not read"),
    Sample("cholesky_inverse", _SQUARE, upper=True, dtypes=FLOATS),
    Sample("matrix_power", _SQUARE, 3, dtypes=(*FLOATS, "int64")),
    Sample("linalg.matrix_power", _SQUARE, -2, dtypes=FLOATS),
    Sample("matrix_power", _SQUARE, 0, grad=False),
    Sample("matrix_power", T(2, 3), 2),
    Sample("matrix_exp", T(2, 2, low=-1.0, high=1.0), dtypes=FLOATS),
    Sample("linalg.vecdot", T(2, 3), T(2, 3), dtypes=_INEXACT),
    Sample("linalg.vander", T(3), dtypes=(*FLOATS, "int64")),
    Sample("linalg.vander", T(2, 3), N=4, dtypes=FLOATS),
    Sample("linalg.tensorinv", T(values=[[[2.0, 1.0]], [[1.0, 3.0]]]), ind=2, dtypes=FLOATS, strides=False, reason="torch permutes its result"),
    Sample("linalg.tensorsolve", T(values=[[[2.0, 1.0]], [[1.0, 3.0]]]), T(2, 1), dtypes=FLOATS),
    Sample("linalg.cond", _SQUARE, gradgrad=False, dtypes=FLOATS),
    Sample("linalg.cond", _SQUARE, 1, grad=False, dtypes=FLOATS),
    Sample("linalg.cond", _SQUARE, "fro", grad=False, dtypes=FLOATS),
    Sample("linalg.cond", T(2, 3), 1),
]
