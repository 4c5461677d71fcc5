"""`StudentT`: the mean of a few normal numbers, measured in their own deviation."""

from __future__ import annotations

import math
from typing import Any

from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """``loc + scale * t`` where t has ``df`` degrees of freedom: a standard normal number over the root of a mean square."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}  # type: ignore[assignment]
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(StudentT, batch_shape, _instance, df=0, loc=0, scale=0)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to 1 degree of freedom."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to 2 degrees of freedom, NaN up to 1."""
        exists = self.df > 2
        df = T.where(exists, self.df, 3.0)
        variance = self.scale.pow(2) * df / (df - 2)
        return T.where(exists, variance, T.where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * (squares / self.df).rsqrt())

    def _log_norm(self) -> Tensor:
        """The logarithm of the beta function that the density is divided by, beside scale and root of ``df``."""
        return (0.5 * self.df).lgamma() + math.lgamma(0.5) - (0.5 * (self.df + 1.0)).lgamma()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        log_norm = self.scale.log() + 0.5 * self.df.log() + self._log_norm()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - log_norm

    def entropy(self) -> Tensor:
        upper = 0.5 * (self.df + 1)
        return self.scale.log() + upper * (upper.digamma() - (0.5 * self.df).digamma()) + 0.5 * self.df.log() + self._log_norm()
