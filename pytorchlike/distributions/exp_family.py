"""`ExponentialFamily`: entropies and divergences by differentiating the log normalizer."""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..tensors.tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """The base of distributions with density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives ``_natural_params`` (theta), ``_log_normalizer`` (F) and ``_mean_carrier_measure`` (the mean of k).

    Ref: F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", 2010.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _normalizer_and_slopes(self) -> tuple[list[Tensor], Tensor, Any]:
        """Natural parameters cut off from the tape, the log normalizer there, and its gradients: the means of the statistics t."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        return parameters, normalizer, grad(normalizer.sum(), parameters, create_graph=True)

    def entropy(self) -> Tensor:
        """The entropy, of shape ``batch_shape``."""
        parameters, result, slopes = self._normalizer_and_slopes()
        result = result - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes):
            result = result - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result
