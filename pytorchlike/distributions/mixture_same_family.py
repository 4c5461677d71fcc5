"""`MixtureSameFamily`: a draw from one of several distributions of a family."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A draw from the component that a `Categorical` picks.

    Args:
        mixture_distribution: the probabilities of the components.
        component_distribution: the components, along its last batch dimension.

    Raises:
        ValueError: other types, or shapes that do not fit.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # type: ignore[assignment]
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixture_shape, batch_shape = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(1 not in (n, m) and n != m for n, m in zip(reversed(mixture_shape), reversed(batch_shape))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture_shape}) is not compatible with `component_distribution.batch_shape`"
                f"({batch_shape})"
            )
        count, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape=batch_shape, event_shape=event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(MixtureSameFamily, batch_shape, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return new

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The probabilities of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _mix(self, values: Tensor) -> Tensor:
        """The components' values, weighted with their probabilities and added up."""
        return (self._pad_mixture_dimensions(self.mixture_distribution.probs) * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._mix(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances plus the variance of their means."""
        component = self.component_distribution
        return self._mix(component.variance) + self._mix((component.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:  # type: ignore[override]
        if self._validate_args:
            self._validate_sample(x)
        log_probs = self.component_distribution.log_prob(self._pad(x))
        return (log_probs + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            choice = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            index = choice.reshape((*choice.shape, *[1] * (1 + len(self.event_shape))))
            index = index.repeat((*[1] * choice.dim(), 1, *self.event_shape))
            return T.gather(drawn, dim, index).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """Probabilities with dimensions of size 1 for batches that the mixture has and they have not, and for the event."""
        own = len(self.mixture_distribution.batch_shape)
        missing = 0 if own == 1 else len(self.batch_shape) - own
        return x.reshape((*x.shape[:-1], *[1] * missing, x.shape[-1], *[1] * self._event_ndims))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
