"""`Wishart`: sample covariance matrices of normal vectors."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..aten.constructors import tensor
from ..core.size import Size
from ..core.typeinfo import finfo
from ..dispatch.bind import broadcast_shapes
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _half_log_det, _scale_tril_of
from .utils import _lower_triangle, _Number, lazy_property

__all__ = ["Wishart"]

_LOG_2 = math.log(2)
#: How often singular draws are drawn again.
_TRIES = 10


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of `mvlgamma`."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return (x.unsqueeze(-1) - T.arange(p, dtype=x.dtype, device=x.device) / 2).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """Positive definite matrices ``X.T @ X`` of ``df`` normal vectors of covariance V, given as itself, its inverse or its Cholesky factor.

    Raises:
        AssertionError: none or several of the matrices are given.
        ValueError: too few dimensions, or too few degrees of freedom.

    Ref: S. Sawyer, "Wishart distributions and inverse-Wishart sampling", 2007 (Bartlett's decomposition).
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The degrees of freedom must exceed the dimension minus one."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, _Number):
            batch_shape = matrix.shape[:-2]
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = Size(broadcast_shapes(matrix.shape[:-2], df.shape))
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if self.df.lt(event_shape[-1]).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.", stacklevel=2)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        self._unbroadcasted_scale_tril = _scale_tril_of(name, matrix)
        self._dist_chi2 = self._diagonal_chi2()

    def _diagonal_chi2(self) -> Chi2:
        """The squares on the diagonal of Bartlett's factor."""
        scale_tril = self._unbroadcasted_scale_tril
        steps = T.arange(scale_tril.shape[-1], dtype=scale_tril.dtype, device=scale_tril.device)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand((*self.df.shape, -1)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        matrices = {"covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2, "_unbroadcasted_scale_tril": 2}
        new = self._expanded(Wishart, batch_shape, _instance, df=0, **matrices)
        new._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        new._dist_chi2 = new._diagonal_chi2()
        return new

    def _matrix(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of V."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance V of the normal vectors."""
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of V."""
        factor = self._unbroadcasted_scale_tril
        return self._matrix(T.eye(factor.shape[-1], device=factor.device, dtype=factor.dtype).cholesky_solve(factor))

    def _per_matrix(self, numbers: Tensor) -> Tensor:
        return numbers.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The densest matrix; NaN with too few degrees of freedom."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._per_matrix(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self._per_matrix(self.df) * (V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = Size()) -> Tensor:
        """Draws that may be singular by rounding."""
        p = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=finfo(diagonal.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        below = (*sample_shape, *self._batch_shape, p * (p - 1) // 2)
        noise[(..., *_lower_triangle(p, -1))] = T.randn(below, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _any_in_batch(self, flags: Tensor) -> Tensor:
        return flags.amax(self._batch_dims) if self._batch_shape else flags

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Tensor:
        """Draws that are differentiable functions of the parameters.

        torch 2.13 takes the positive definite draws for singular ones here, so it warns and draws them once more; this does the same,
        for the stream's sake.

        Args:
            max_try_correction: how often singular draws are drawn again, 10 times if None.
        """
        sample = self._bartlett_sampling(sample_shape)
        again = self._any_in_batch(self.support.check(sample))
        if not again.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(_TRIES if max_try_correction is None else max_try_correction):
            drawn = self._bartlett_sampling((int(again.sum()),))
            mask = again.clone()  # it is saved for the gradient
            sample[mask] = drawn
            again[mask] = self._any_in_batch(~self.support.check(drawn))
            if not again.any():
                break
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        trace = value.cholesky_solve(factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        log_norm = nu * (p * _LOG_2 / 2 + _half_log_det(factor)) + (nu / 2).mvlgamma(p)
        return (nu - p - 1) / 2 * value.slogdet().logabsdet - trace / 2 - log_norm

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        log_volume = (p + 1) * (p * _LOG_2 / 2 + _half_log_det(self._unbroadcasted_scale_tril))
        return log_volume + (nu / 2).mvlgamma(p) - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p) + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-(-2 * x).slogdet().logabsdet + _LOG_2 * p) + half.mvlgamma(p)
