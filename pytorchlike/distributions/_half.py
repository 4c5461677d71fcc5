"""What the distributions of absolute values share."""

from __future__ import annotations

import math
from typing import Any

from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .transformed_distribution import TransformedDistribution

__all__ = ["Half"]


class Half(TransformedDistribution):
    """The absolute value of a number that is distributed symmetrically around zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]
    base_dist: Any

    @property
    def scale(self) -> Tensor:
        """The scale of the symmetrical distribution."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return T.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return T.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:  # type: ignore[override]
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
