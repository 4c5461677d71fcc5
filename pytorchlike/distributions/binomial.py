"""`Binomial`: the number of successes in so many trials."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from ._binary import Binary
from ._functions import T
from .distribution import Distribution

__all__ = ["Binomial"]


class Binomial(Binary, Distribution):
    """How many of ``total_count`` trials succeed, each with probability ``probs`` (or of log odds ``logits``)."""

    arg_constraints = {  # type: ignore[assignment]
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._set_counts(total_count, probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_binary(Binomial, batch_shape, _instance, total_count=0)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return T.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        log_choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        # n log(1 + exp(logits)) without overflow; at zero the positive part has slope 1/2, so that the whole has its true gradient
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        log_failures = n * positive + n * (-logits.abs()).exp().log1p()
        return value * logits + log_choices - log_failures

    def _single_count(self, what: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return count

    def entropy(self) -> Tensor:
        """The entropy, as a sum over the support.

        Raises:
            NotImplementedError: the numbers of trials differ.
        """
        self._single_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._single_count("enumerate_support")
        values = T.arange(1 + count, dtype=self._param.dtype, device=self._param.device).view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values
