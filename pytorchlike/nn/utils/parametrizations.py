"""Parametrizations of weights: orthogonal matrices, weight normalization, spectral normalization."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ...aten.compare import allclose
from ...aten.create import zeros_like
from ...aten.decompose import linalg_qr
from ...aten.linalg import solve
from ...aten.matrix_functions import matrix_exp
from ...aten.random import randn
from ...aten.ranges import eye
from ...aten.reflectors import householder_product, reflectors
from ...aten.shape import cat
from ...aten.weight_norm import norm_except_dim
from ...aten.weight_norm import weight_norm as normalized
from ...autograd.grad_mode import no_grad
from ...core import dtype as dtypes
from ...core.typeinfo import finfo
from ...tensors.tensor import Tensor
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _weight_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ------------------------------------------------------------------------------------------------------------- orthogonal matrices
class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(matrix: Tensor) -> bool:
    n, k = matrix.shape[-2:]
    identity = eye(k, dtype=matrix.dtype, device=matrix.device)
    return allclose(matrix.mH @ matrix, identity, atol=10.0 * n * float(finfo(matrix.dtype).eps))


def _made_orthogonal(matrix: Tensor) -> Tensor:
    """The Q of the one QR decomposition whose R has a positive diagonal."""
    q, r = linalg_qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal columns (or rows, if there are fewer).

    Args:
        use_trivialization: multiply with ``base``, the matrix that was assigned last (arXiv:1909.09501).
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.size(-2) < X.size(-1)
        if is_wide:
            X = X.mT
        if self.orthogonal_map is _OrthMaps.householder:
            below = X.tril(-1)
            factors = 2.0 / (1.0 + (below * below).sum(-2))
            Q = householder_product(below, factors)
            # The diagonal holds signs, through which nothing is differentiated.
            Q = Q * X.diagonal(dim1=-2, dim2=-1).to(dtypes.int32).unsqueeze(-2)
        else:
            Q = self._from_skew(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _from_skew(self, X: Tensor) -> Tensor:
        """The matrix exponential or the Cayley transform of a skew-symmetric matrix, its first columns."""
        n, k = X.shape[-2:]
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
        A = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            Q = matrix_exp(A)
        else:
            identity = eye(n, dtype=A.dtype, device=A.device)
            Q = solve(identity.add(A, alpha=-0.5), identity.add(A, alpha=0.5))
        return Q if n == k else Q[..., :k]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        given = Q
        is_wide = Q.size(-2) < Q.size(-1)
        if is_wide:
            Q = Q.mT
        n, k = Q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            A, tau = reflectors(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1  # no reflection at all
            return A.mT if is_wide else A
        if n != k:
            Q = cat([Q, randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)], -1)
        self.base = Q.clone() if n == k and _is_orthogonal(Q) else _made_orthogonal(Q)
        identity = zeros_like(given)
        identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # the signs of the householder map
        return identity


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Module:
    """Keep a matrix (or a batch of them) orthogonal, or unitary.

    Args:
        orthogonal_map: ``matrix_exp``, ``cayley`` or ``householder``; the first for square and complex matrices, else the last, if left out.
        use_trivialization: without it the first two cannot be assigned to, and start at another matrix.

    Raises:
        ValueError: no such matrix, or another map.
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    parametrized = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrized, unsafe=True)


# ------------------------------------------------------------------------------------------------------------ weight normalization
class _WeightNorm(Module):
    """A tensor from its lengths and its direction, arXiv:1602.07868."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Learn a tensor as lengths (``original0``) and direction (``original1``), arXiv:1602.07868.

    Args:
        dim: the dimension that keeps a length of its own for each index; None for one length.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        """Load what the older ``nn.utils.weight_norm`` saved."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


# ---------------------------------------------------------------------------------------------------------- spectral normalization
class _SpectralNorm(Module):
    """Divides a tensor by the largest singular value of its matrix, which is estimated by the power method, arXiv:1802.05957."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            start = [matrix.new_empty(size).normal_(0, 1) for size in matrix.shape]
            self.register_buffer("_u", F.normalize(start[0], dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(start[1], dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(weight_mat.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(weight_mat.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the vectors are written to at the next forward, perhaps before this one's backward.
        return weight / self._u.clone().vdot(matrix.mv(self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """Divide a tensor by its largest singular value, arXiv:1802.05957.

    Args:
        n_power_iterations: how many steps of the power method each forward makes in training.
        dim: the dimension of the outputs; that of the layer if left out.
    """
    weight = _weight_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
