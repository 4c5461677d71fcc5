"""The largest or smallest eigenvalues of large symmetric matrices by LOBPCG, which only multiplies by the matrix.

Every iteration looks for the best eigenvectors in the span of the current ones, their residuals and the previous change (Knyazev, SIAM J. Sci.
Comput. 23 (2001), 517).  The basis of that span is made orthonormal through the eigenvectors of its Gram matrix, and directions in it that
others span already are left out (Stathopoulos and Wu, SIAM J. Sci. Comput. 23 (2002), 2165; Duersch et al., arXiv:1704.07458).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..core.dtype import float32, float64
from ..core.typeinfo import finfo
from ..dispatch.registry import FUNCTION, composite, op
from ..tensors.tensor import Tensor
from .compare import where
from .decompose import eigh, reciprocal
from .matmul import adjoint, multiply
from .random import randn
from .shape import cat, stack

__all__ = ["Iteration"]


class Iteration:
    """The iteration on one matrix, as a ``tracker`` sees it.

    Attributes:
        A, B, iK: the matrices of ``A x = e B x``, and the preconditioner (None: the identity).
        E, X, R: eigenvalues, eigenvectors and residuals so far; ``S`` is the basis that they were found in.
        iparams, fparams, bparams: the sizes and tolerances of the call.
        ivars, fvars, bvars, tvars: ``istep``, ``iterations_left``, ``converged_count``; norms; ``force_stop``, which a tracker may set; ``rerr``.
    """

    def __init__(self, A: Any, B: Any, X: Any, iK: Any, iparams: dict, fparams: dict, bparams: dict) -> None:
        self.A, self.B, self.iK, self.X = A, B, iK, X
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.ivars: dict[str, int] = {"istep": 0, "iterations_left": iparams["niter"], "converged_count": 0}
        self.fvars: dict[str, float] = {}
        self.bvars: dict[str, bool] = {"force_stop": False}
        self.tvars: dict[str, Any] = {}
        self.E = X.new_zeros(X.shape[1])
        self.R = X
        self.S = X
        self._before: Any = None

    def _mass(self, x: Any) -> Any:
        return x if self.B is None else self.B @ x

    def _orthonormal(self, s: Any) -> tuple[Any, Any]:
        """Columns that are orthonormal (by ``B``), and which of them are none: their direction is spanned by the others."""
        dropped = None
        for _ in range(2):  # once more for what rounding left
            length = (s * self._mass(s)).sum(0).clamp_min(0).sqrt()
            s = s * where(length > 0, 1 / length, 0)
            values, vectors = eigh(s.mT @ self._mass(s))
            dropped = values <= finfo(s.dtype).eps * s.shape[1] * values[-1]
            s = (s @ vectors) * where(dropped, 0, values.clamp_min(finfo(s.dtype).tiny).rsqrt())
        return s, dropped

    def advance(self) -> None:
        """One iteration."""
        n = self.X.shape[1]
        if self._before is None:
            found = self.X
        else:
            residual = self.R if self.iK is None else self.iK @ self.R
            found = cat([self.X, residual, *self._before], 1)
        self.S, dropped = self._orthonormal(found)
        reduced = self.S.mT @ (self.A @ self.S)
        beyond = 2 * reduced.abs().sum() + 1
        largest = self.bparams["largest"]
        reduced = reduced + where(dropped, -beyond if largest else beyond, 0).diag()
        values, vectors = eigh(reduced)
        if largest:
            values, vectors = values.flip(0), vectors.flip(1)
        self.E, moved = values[:n], self.S @ vectors[:, :n]
        if self._before is not None:
            self._before = [moved - self.X @ (self.X.mT @ self._mass(moved))]
        else:
            self._before = []
        self.X = moved
        self.R = self.A @ moved - self._mass(moved) * self.E
        self.ivars["istep"] += 1
        self.ivars["iterations_left"] -= 1
        self._measure(moved)

    def _measure(self, x: Any) -> None:
        """Which eigenpairs have converged: the first ones whose residual is small beside the terms that it is the difference of."""
        if not self.fvars:
            norm = x.norm()
            numbers = stack([norm, (self.A @ x).norm() / norm, self._mass(x).norm() / norm]).tolist()
            self.fvars = dict(zip(("X_norm", "A_norm", "B_norm"), numbers))
        scale = x.norm(dim=0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        self.tvars["rerr"] = self.R.norm(dim=0) / scale
        small = [error < self.fparams["tol"] for error in self.tvars["rerr"].tolist()]
        self.ivars["converged_count"] = (*small, False).index(False)

    def is_over(self) -> bool:
        """Whether what was asked for has converged, or the iterations are used up."""
        over = self.ivars["iterations_left"] == 0 or self.ivars["converged_count"] >= self.iparams["k"]
        return bool(self.bvars["force_stop"]) or over


def _solve(A: Any, B: Any, X: Any, iK: Any, sizes: dict, tolerances: dict, switches: dict, tracker: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of one matrix."""
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    if X is None:
        X = randn(m, n, dtype=float64 if A.dtype is float64 else float32, device=A.device)
    if tuple(X.shape) != (m, n):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {(m, n)}")
    worker = Iteration(A, B, X, iK, dict(sizes), dict(tolerances), dict(switches))
    while True:
        worker.advance()
        if tracker is not None:
            tracker(worker)
        if worker.is_over():
            return worker.E[:k], worker.X[:, :k]


@op("_lobpcg_eigenpairs(Tensor A, Tensor eigenvalues, Tensor eigenvectors, str refusal) -> (Tensor, Tensor)", forms=FUNCTION, namespaces=())
def eigenpairs(A, eigenvalues, eigenvectors, refusal):
    """Some eigenvalues and eigenvectors of a symmetric matrix, found elsewhere: what the matrix's gradient hangs on.

    Args:
        refusal: why there is no gradient; empty when there is.
    """
    return eigenvalues, eigenvectors


@eigenpairs.grad("A")
def _(g, A, eigenvalues, eigenvectors, refusal):
    """Inside the span of the eigenvectors as for `eigh`; towards the rest of the space by a solve with ``e - A`` there."""
    if refusal:
        raise ValueError(refusal)
    u, e = eigenvectors, eigenvalues
    off = ~jnp.eye(e.shape[-1], dtype=bool)
    turning = multiply(adjoint(u), g[1])
    inner = jnp.where(off, turning * reciprocal(e[..., None, :] - e[..., :, None]), g[0][..., None])
    span = multiply(u, adjoint(u))
    outside = jnp.eye(A.shape[-1], dtype=A.dtype) - span
    shifted = e[..., :, None, None] * outside[..., None, :, :] - multiply(outside, multiply(A, outside))[..., None, :, :]
    away = jnp.linalg.solve(shifted + span[..., None, :, :], adjoint(multiply(outside, g[1]))[..., None])[..., 0]
    found = multiply(multiply(u, inner), adjoint(u)) + multiply(adjoint(away), adjoint(u))
    return (found + adjoint(found)) / 2


@eigenpairs.grad("eigenvalues", "eigenvectors")
def _(g, eigenvalues_meta):
    return jnp.zeros(eigenvalues_meta.shape, eigenvalues_meta.dtype)


def _refusal(A: Any, B: Any) -> str:
    """Why there is no gradient, torch's text; empty when there is."""
    lacks = "lobpcg.backward does not support {} input yet. Note that lobpcg.forward does though."
    if any(t is not None and str(t.layout) != "torch.strided" for t in (A, B)):
        return lacks.format("sparse")
    if A.dtype.is_complex:
        return lacks.format("complex")
    return "" if B is None else "lobpcg.backward does not support backward with B != I yet."


@composite(
    "lobpcg(Tensor A, int? k=None, Tensor? B=None, Tensor? X=None, int? n=None, Tensor? iK=None, int? niter=None, float? tol=None, "
    "bool? largest=None, str? method=None, Any tracker=None, Any ortho_iparams=None, Any ortho_fparams=None, Any ortho_bparams=None) "
    "-> (Tensor, Tensor)",
    forms=FUNCTION,
)
def lobpcg(A, k, B, X, n, iK, niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams):
    """Eigenvalues, and eigenvectors as columns, of ``A x = e B x`` with symmetric ``A`` and positive definite ``B``.

    Args:
        A: a matrix, dense or sparse, or a batch of dense ones.
        k, n: how many are asked for (1), and how many are iterated on (``k``, or the columns of ``X``).
        X: where to start; random otherwise.
        iK: the preconditioner, an approximate inverse of ``A``.
        tol: the relative residual at which an eigenpair has converged.
        method: ``basic`` or ``ortho``, which are the same here: the basis is always made orthonormal.
        tracker: called with the `Iteration` after each of them.

    Grad: that of symmetric ``A``, with respect to what was found.
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    differentiated = next((t for t in (A, B) if isinstance(t, Tensor) and t.requires_grad), None)
    refusal = _refusal(A, B)
    if differentiated is not None and not refusal:
        A = differentiated = (A + A.mT) / 2
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested eigenpairs (={n})"
        )
    sizes = {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter, **(ortho_iparams or {})}
    tolerances = {"tol": finfo(float64 if A.dtype is float64 else float32).eps ** 0.5 if tol is None else tol, **(ortho_fparams or {})}
    switches = {"largest": True if largest is None else largest, **(ortho_bparams or {})}
    a, b, x = (None if t is None else t.detach() for t in (A, B, X))
    if A.dim() == 2:
        values, vectors = _solve(a, b, x, iK, sizes, tolerances, switches, tracker)
    else:
        batch = A.shape[:-2]
        parts = [[None] * batch.numel() if t is None else t.reshape(-1, *t.shape[-2:]).unbind() for t in (a, b, x)]
        found = [
            _solve(a, b, x, iK, {**sizes, "batch_index": i}, tolerances, switches, tracker) for i, (a, b, x) in enumerate(zip(*parts))
        ]
        values, vectors = (stack(part).reshape(*batch, *part[0].shape) for part in zip(*found))
    if differentiated is None:
        return values, vectors
    if str(differentiated.layout) != "torch.strided":
        differentiated = (differentiated.coalesce() if str(differentiated.layout) == "torch.sparse_coo" else differentiated).values()
    return eigenpairs(differentiated, values, vectors, refusal)
