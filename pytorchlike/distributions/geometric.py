"""`Geometric`: failures before the first success."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..core.typeinfo import finfo
from ..tensors.tensor import Tensor
from . import constraints
from ._binary import Binary
from ._functions import F, T
from .distribution import Distribution, _holds
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(Binary, Distribution):
    """How many trials fail before the first success, which has probability ``probs`` (or log odds ``logits``)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}  # type: ignore[assignment]
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._set_probs_or_logits(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None and not _holds(constraints.positive, self.probs):
            value = self.probs.detach()
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to be positive but "
                f"found invalid values:\n{value[~(value > 0)]}"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_binary(Geometric, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return T.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = T.empty(shape, dtype=self.probs.dtype, device=self.probs.device).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)  # zero times minus infinity counts as zero
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
