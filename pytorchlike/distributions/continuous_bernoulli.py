"""`ContinuousBernoulli`: numbers between 0 and 1 with the density of a Bernoulli distribution's probabilities."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from ._binary import Binary
from ._functions import F, T
from .distribution import _holds
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Binary, ExponentialFamily):
    """Density proportional to ``probs ** x * (1 - probs) ** (1 - x)`` for x from 0 to 1.

    Args:
        lims: between these probabilities, around 1/2, Taylor series stand in for formulas that divide zero by zero.

    Ref: G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli", arXiv:1907.06845.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        batch_shape = self._set_probs_or_logits(probs, logits)
        if probs is not None:
            if validate_args is not None and not _holds(self.arg_constraints["probs"], self.probs):
                raise ValueError("The parameter probs has invalid values")
            self._param = self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_binary(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter as a probability, kept off 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Probabilities that the exact formulas can be evaluated at."""
        return T.where(self._outside_unstable_region(), self.probs, self._lims[0] * T.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what the density is divided by."""
        cut = self._cut_probs()
        low = cut <= 0.5
        below, above = T.where(low, cut, T.zeros_like(cut)), T.where(cut >= 0.5, cut, T.ones_like(cut))
        log_norm = (_log_failure(cut) - cut.log()).abs().log() - T.where(low, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        square = (self.probs - 0.5).pow(2)
        return T.where(self._outside_unstable_region(), log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * square) * square)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / (_log_failure(cut) - cut.log())
        x = self.probs - 0.5
        return T.where(self._outside_unstable_region(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (_log_failure(cut) - cut.log()).pow(2)
        square = (self.probs - 0.5).pow(2)
        return T.where(self._outside_unstable_region(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * square) * square)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(T.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        exact = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = T.where(self._outside_unstable_region(), exact, value)
        return T.where(value <= 0.0, T.zeros_like(value), T.where(value >= 1.0, T.ones_like(value), inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        log_failure = _log_failure(cut)
        exact = ((-cut + value * (2.0 * cut - 1.0)).log1p() - log_failure) / (cut.log() - log_failure)
        return T.where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Tensor:
        log_failure = _log_failure(self.probs)
        return self.mean * (log_failure - self.probs.log()) - self._cont_bern_log_norm() - log_failure

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = T.where(outside, x, low * T.ones_like(x))
        exact = cut.expm1().abs().log() - cut.abs().log()
        return T.where(outside, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)


def _log_failure(probs: Tensor) -> Tensor:
    return (-probs).log1p()
