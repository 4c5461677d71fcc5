"""Singular vectors and principal components of matrices of low rank, by random projections.

Ref: Halko, Martinsson, Tropp, SIAM Review 53 (2011), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from ..core.dtype import FLOATING
from ..core.state import default_dtype
from ..dispatch.registry import FUNCTION, composite, lookup
from .decompose import linalg_qr, linalg_svd


def _basis(A, q, niter, M):
    """An orthonormal basis of ``q`` columns of the range of ``A - M``, the better the more often the matrix is applied."""

    def times(matrix, x):
        return matrix @ x

    dtype = A.dtype if A.dtype.category >= FLOATING else default_dtype()
    columns = lookup("randn")(A.shape[-1], q, dtype=dtype, device=A.device)
    product = times(A, columns) if M is None else times(A, columns) - times(M, columns)
    basis = linalg_qr(product).Q
    for _ in range(niter):
        for matrix, mean in ((A.mH, None if M is None else M.mH), (A, M)):
            product = times(matrix, basis) if mean is None else times(matrix, basis) - times(mean, basis)
            basis = linalg_qr(product).Q
    return basis


def _svd(A, q, niter, M):
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.size())
    if rows < columns:
        A, M = A.mH, None if M is None else M.mH
    basis = _basis(A, q, niter, M)
    small = basis.mH @ A if M is None else basis.mH @ A - basis.mH @ M
    u, s, vh = linalg_svd(small, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (v, s, u) if rows < columns else (u, s, v)


@composite("svd_lowrank(Tensor A, int? q=6, int? niter=2, Tensor? M=None) -> Tensor[]", forms=FUNCTION)
def svd_lowrank(A, q, niter, M):
    """The ``q`` largest singular values of ``A - M`` and their vectors, ``A - M ~ U diag(S) V^H``.

    Args:
        q: a number somewhat above the rank.
        niter: how often the matrix and its adjoint are applied to sharpen the result.
    """
    return _svd(A, q, niter, M)


@composite("pca_lowrank(Tensor A, int? q=None, bool center=True, int niter=2) -> Tensor[]", forms=FUNCTION)
def pca_lowrank(A, q, center, niter):
    """The principal components of samples (rows): `svd_lowrank`, of the centred matrix unless told otherwise.

    Args:
        q: how many, 6 at most unless given.
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _svd(A - A.mean(dim=(-2,), keepdim=True) if center else A, q, niter, None)
