"""`MultivariateNormal`: normal vectors."""

from __future__ import annotations

import math
from typing import Any

from ..core.size import Size
from ..dispatch.bind import broadcast_shapes
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T, linalg
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrix times vector, in batches."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _half_log_det(scale_tril: Tensor) -> Tensor:
    """Half the logarithm of the determinant of the matrix with this Cholesky factor."""
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """``x^T (L L^T)^-1 x`` in batches; the batch of x may be larger, its last dimensions multiples of those of L."""
    n, lead = bx.size(-1), bx.shape[:-1]
    dims = bL.dim() - 2
    outer = len(lead) - dims
    # split each batch dimension of x into (repeats, size in L), and let all repeats come first: they share a factor
    split = [part for size, own in zip(lead[outer:], bL.shape[:-2]) for part in (size // own, own)]
    repeats, own = [outer + 2 * i for i in range(dims)], [outer + 2 * i + 1 for i in range(dims)]
    order = [*range(outer), *repeats, *own, outer + 2 * dims]
    arranged = bx.reshape((*lead[:outer], *split, n)).permute(order)
    factors = bL.reshape(-1, n, n)
    columns = arranged.reshape(-1, factors.size(0), n).permute(1, 2, 0)
    distances = linalg.solve_triangular(factors, columns, upper=False).pow(2).sum(-2).t().reshape(arranged.shape[:-1])
    back = [*range(outer), *[place for i in range(dims) for place in (outer + i, outer + dims + i)]]
    return distances.permute(back).reshape(lead)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a matrix: a factor of the matrix itself, turned round, is the factor's inverse."""
    turned = linalg.cholesky(P.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).transpose(-2, -1)
    return linalg.solve_triangular(inverse, T.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` and one of: covariance matrix, its inverse, its lower Cholesky factor.

    ``scale_tril`` is what is computed with, so it is the cheapest to give.

    Raises:
        ValueError: none or several of the matrices are given, or too few dimensions.
    """

    arg_constraints = {  # type: ignore[assignment]
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix}
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            matrix_name = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{matrix_name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = Size(broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _scale_tril_of(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        matrices = {"covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
        new = self._expanded(MultivariateNormal, batch_shape, _instance, loc=1, **matrices)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return self._matrix(self._unbroadcasted_scale_tril.cholesky_inverse())

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, _standard_normal(shape, self.loc.dtype, self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + _half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


def _scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance matrix that is given in one of three forms."""
    if name == "scale_tril":
        return matrix
    return linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)
