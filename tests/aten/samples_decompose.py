"""Calls of the factorizations, compared with torch's."""

from .sample import FLOATS, Sample, T

_POSITIVE = T(values=[[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]])
_GENERAL = T(values=[[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.0, 2.0, 5.0]])
_TALL = T(values=[[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]])
_WIDE = T(values=[[1.0, 2.0, 0.5], [0.5, -1.0, 3.0]])
_SIGNS = {"grad": False, "reason": "vectors are unique up to their signs, so gradients of single elements are not"}

SAMPLES = [
    Sample("cholesky", _POSITIVE, dtypes=(*FLOATS, "complex128")),
    Sample("linalg.cholesky", _POSITIVE, upper=True, dtypes=FLOATS),
    Sample("linalg.cholesky", T(2, 3)),
    Sample("linalg.cholesky_ex", _POSITIVE, dtypes=FLOATS),
    Sample("linalg.qr", _TALL, dtypes=(*FLOATS, "complex128")),
    Sample("linalg.qr", _WIDE, grad=False),
    Sample("linalg.qr", _WIDE, "r", grad=False),
    Sample("linalg.qr", _TALL, "complete", grad=False),
    Sample("linalg.qr", _WIDE, "best"),
    Sample("linalg.qr", T(2, 3), dtypes=("int64",)),
    Sample("qr", _TALL, dtypes=FLOATS),
    Sample("linalg.svd", _WIDE, False, **_SIGNS),
    Sample("linalg.svd", _TALL, **_SIGNS),
    Sample("linalg.svd", T(2, 3), dtypes=("int64",)),
    Sample("svd", _WIDE, **_SIGNS),
    Sample("svd", _WIDE, compute_uv=False, grad=False, strides=False, reason="zeros: the order of the factor that is not computed"),
    Sample("linalg.svdvals", T(2, 3), gradgrad=False, dtypes=(*FLOATS, "complex128")),
    Sample("linalg.eigh", _POSITIVE, **_SIGNS),
    Sample("linalg.eigh", T(2, 3)),
    Sample("linalg.eigh", _POSITIVE, "X"),
    Sample("linalg.eigvalsh", _POSITIVE, dtypes=(*FLOATS, "complex128")),
    Sample("linalg.eigvalsh", _GENERAL, "U", gradgrad=False, dtypes=FLOATS),
    Sample("linalg.eig", _POSITIVE, grad=False),
    Sample("linalg.eigvals", _POSITIVE, dtypes=FLOATS),
    Sample("linalg.lu_factor", _GENERAL, dtypes=FLOATS),
    Sample("linalg.lu_factor_ex", _WIDE, dtypes=FLOATS),
    Sample("linalg.lu", _GENERAL, dtypes=FLOATS),
    Sample("linalg.lu", _TALL, dtypes=FLOATS),
    Sample("linalg.lu_solve", _GENERAL, T(values=[1, 2, 3], dtype="int32"), T(3, 2), dtypes=FLOATS),
    Sample("linalg.lu_solve", _GENERAL, T(values=[3, 2, 3], dtype="int32"), T(2, 3), left=False, adjoint=True, dtypes=FLOATS),
    Sample("lu_solve", T(3, 2), _GENERAL, T(values=[3, 3, 3], dtype="int32"), dtypes=FLOATS),
    Sample("lu_unpack", _GENERAL, T(values=[2, 3, 3], dtype="int32"), dtypes=FLOATS),
    Sample("linalg.pinv", _TALL, dtypes=(*FLOATS, "complex128")),
    Sample("linalg.pinv", _WIDE, rtol=0.7, gradgrad=False, dtypes=FLOATS),
    Sample("linalg.pinv", _POSITIVE, hermitian=True, gradgrad=False, dtypes=FLOATS),
    Sample("pinverse", _WIDE, dtypes=FLOATS),
    Sample("linalg.matrix_rank", _WIDE),
    Sample("linalg.matrix_rank", _POSITIVE, hermitian=True),
    Sample("linalg.matrix_rank", _WIDE, tol=3.0),
    Sample("linalg.matrix_rank", _WIDE, atol=3.0, rtol=0.0),
    Sample("linalg.lstsq", _TALL, T(3, 1), gradgrad=False, dtypes=FLOATS),
    Sample("linalg.lstsq", _WIDE, T(2, 2), gradgrad=False, dtypes=FLOATS),
    Sample("linalg.lstsq", _TALL, T(3, 1), driver="gelsd", grad=False),
    Sample("linalg.lstsq", _WIDE, T(3, 1)),
    Sample("linalg.householder_product", _TALL, T(values=[0.5])),
    Sample("linalg.householder_product", _TALL, T(values=[0.5, 1.5])),
]
