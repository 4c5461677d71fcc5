"""`GeneralizedPareto`: what exceeds a high threshold."""

from __future__ import annotations

import math
from typing import Any

from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Survival function ``(1 + concentration * z) ** (-1 / concentration)`` of ``z = (x - loc) / scale``; at 0 it is exponential."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}  # type: ignore[assignment]
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(GeneralizedPareto, batch_shape, _instance, loc=0, scale=0, concentration=0)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = T.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _split(self) -> tuple[Tensor, Tensor]:
        """Where the distribution is exponential, and concentrations that can be divided by."""
        is_zero = T.isclose(self.concentration, T.zeros_like(self.concentration))
        return is_zero, T.where(is_zero, T.ones_like(self.concentration), self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(T.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, concentration = self._split()
        power = 1 / concentration + T.ones_like(z)
        decay = T.where(power == 0, power, power * (concentration * z).log1p())
        return -self.scale.log() - T.where(is_zero, z, decay)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of draws beyond ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_zero, concentration = self._split()
        return T.where(is_zero, -z, -(concentration * z).log1p() / concentration)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, concentration = self._split()
        log_survival = (-value).log1p()
        powered = self.loc + self.scale / concentration * (-concentration * log_survival).expm1()
        return T.where(is_zero, self.loc - self.scale * log_survival, powered)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN from concentration 1 on."""
        exists = self.concentration < 1
        return T.where(exists, self.loc + self.scale / (1 - T.where(exists, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance; NaN from concentration 1/2 on."""
        exists = self.concentration < 0.5
        concentration = T.where(exists, self.concentration, 0.25)
        return T.where(exists, self.scale**2 / ((1 - concentration) ** 2 * (1 - 2 * concentration)), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
