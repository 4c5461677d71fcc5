"""What distributions of yes-or-no events share: probabilities of yes or their logits, whichever is given."""

from __future__ import annotations

from typing import Any

from ..core.size import Size
from ..tensors.tensor import Tensor
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Binary", "require_one_of"]


def require_one_of(probs: Any, logits: Any) -> None:
    """Raise torch's error unless exactly one of them is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Binary:
    """A distribution with ``probs`` or ``logits``; the other one is computed when it is asked for.

    A mixin: it comes before `Distribution` among the bases.
    """

    _param: Tensor

    def _set_probs_or_logits(self, probs: Any, logits: Any) -> Size:
        """Take the parameter that is given; the batch shape is its shape."""
        require_one_of(probs, logits)
        name = "logits" if probs is None else "probs"
        (self._param,) = broadcast_all(logits if probs is None else probs)
        setattr(self, name, self._param)
        return self._param.size()

    def _set_counts(self, total_count: Any, probs: Any, logits: Any) -> Size:
        """The same beside a number of trials, which takes the parameter's dtype."""
        require_one_of(probs, logits)
        name = "logits" if probs is None else "probs"
        count, self._param = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(self._param)
        setattr(self, name, self._param)
        return self._param.size()

    def _expand_binary(self, cls: type, batch_shape: Any, _instance: Any, **parameters: int) -> Any:
        """What ``expand`` of ``cls`` returns; see `Distribution._expanded`."""
        new = self._expanded(cls, batch_shape, _instance, probs=0, logits=0, **parameters)  # type: ignore[attr-defined]
        new._param = new.__dict__["logits" if "logits" in new.__dict__ else "probs"]
        return new

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithm of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)
