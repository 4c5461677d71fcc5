"""Calls of LDL factorizations, Householder products and projections on low rank, compared with torch's."""

from .sample import FLOATS, Sample, T

_SYMMETRIC = T(values=[[0.0, 1.0, 2.0], [1.0, 0.0, 0.5], [2.0, 0.5, 3.0]])
_HERMITIAN = T(values=[[0.0, 1 - 1j, 2.0], [1 + 1j, 0.0, 0.5j], [2.0, -0.5j, 3.0]], dtype="complex128", grad=False)
_ZERO = T(values=[[0.0, 0.0], [0.0, 0.0]])
_PIVOTS = T(values=[3, 3, 3], dtype="int32")
_TALL = T(values=[[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]])
_FACTORS = T(values=[0.5, 0.3])

SAMPLES = [
    Sample("linalg.ldl_factor", _SYMMETRIC, dtypes=FLOATS, grad=False),
    Sample("linalg.ldl_factor", _HERMITIAN, hermitian=True),
    Sample("linalg.ldl_factor", _HERMITIAN),
    Sample("linalg.ldl_factor", T(2, 3)),
    Sample("linalg.ldl_factor", T(3, 3), dtypes=("float16", "int64")),
    Sample("linalg.ldl_factor", _ZERO, grad=False),
    Sample("linalg.ldl_factor_ex", _ZERO, grad=False),
    Sample("linalg.ldl_solve", T(values=[[3.0, 0.0, 0.0], [0.2, -1.3, 0.0], [0.7, -0.5, 0.3]], grad=False), _PIVOTS, T(2, 3, 2), dtypes=FLOATS),
    Sample("linalg.ldl_solve", _HERMITIAN, _PIVOTS, T(3, 1, dtype="complex128", grad=False), hermitian=True),
    Sample("linalg.ldl_solve", T(3, 3), _PIVOTS, T(2, 2)),
    Sample("linalg.ldl_solve", T(3, 3), _FACTORS, T(3, 2)),
    Sample("geqrf", _TALL, dtypes=(*FLOATS, "complex128"), grad=False),
    Sample("geqrf", T(3)),
    Sample("geqrf", T(2, 2), dtypes=("int64",)),
    Sample("orgqr", _TALL, _FACTORS, dtypes=("float64",)),
    Sample("ormqr", _TALL, _FACTORS, T(3, 2), dtypes=("float64", "complex128")),
    Sample("ormqr", _TALL, _FACTORS, T(2, 3), False, True, dtypes=("float64", "complex128")),
    Sample("ormqr", _TALL, _FACTORS, T(2, 2)),
    Sample("linalg.householder_product", T(2, 3), T(2)),
    Sample("linalg.householder_product", _TALL, T(2, 2)),
    Sample("svd_lowrank", T(values=[[1.0, 2.0, 3.0], [2.0, 4.0, 6.5]]), 1, grad=False, tolerance=(1e-3, 1e-3), reason="signs of random projections"),
    Sample("pca_lowrank", T(3, 2), 4),
]
