"""`Distribution`, the base of all distributions: shapes, checks of arguments and values, expanding."""

from __future__ import annotations

import warnings
from typing import Any

from ..aten.distributions import is_true_everywhere
from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from .constraints import Constraint
from .utils import lazy_property

__all__ = ["Distribution"]


def _holds(constraint: Constraint, value: Any) -> bool:
    """Whether a value lies within a constraint everywhere.

    Numbers are needed for that.  What has been computed is looked at without touching what is pending; a pending value runs the trace.
    """
    with no_grad():
        return is_true_everywhere(constraint.check, value)


class Distribution:
    """The base of probability distributions.

    Args:
        batch_shape: the shape of the parameters: so many distributions, independent of each other.
        event_shape: the shape of one draw.
        validate_args: whether parameters, and values passed to `log_prob` and the like, are checked; by default as
            `set_default_validate_args` says.  A check looks at numbers, so it runs what is pending.

    Raises:
        ValueError: a parameter violates its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Switch the checks on (the default, unless Python runs with ``-O``) or off for distributions made from now on.

        Raises:
            ValueError: not a bool.
        """
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from another parameter, which is checked
            value = getattr(self, name)
            if not _holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to satisfy "
                    f"the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """This distribution with its batch shape expanded; parameters are expanded, not copied or checked again.

        Args:
            _instance: what a subclass made already and wants filled in.
        """
        raise NotImplementedError

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """What `expand` fills in: the given object or a new one of this type, whose ``__init__`` must then be the one of ``cls``."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls: type, batch_shape: Any, _instance: Any, **parameters: int) -> Any:
        """What the ``expand`` of ``cls`` returns.

        Args:
            parameters: name -> how many of its last dimensions belong to an event; those that were not given or computed are left out.
        """
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name, event_dim in parameters.items():
            value = self.__dict__.get(name)
            if value is not None:
                setattr(new, name, value.expand(batch_shape + value.shape[value.dim() - event_dim :]))
        return self._finished(cls, new, batch_shape, self.event_shape)

    def _finished(self, cls: type, new: Any, batch_shape: Any, event_shape: Any) -> Any:
        """A new instance whose shapes are set and whose arguments need no checks."""
        super(cls, new).__init__(batch_shape, event_shape, validate_args=False)  # type: ignore[arg-type]
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """Name of a parameter -> what it must satisfy; parameters that are no tensors may be missing."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """What draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the largest density or probability."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each component."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each component."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws without gradients, of shape ``sample_shape + batch_shape + event_shape``."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws that are differentiable functions of the parameters, of shape ``sample_shape + batch_shape + event_shape``."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``; deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of draws up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along dimension 0, before the batch and event dimensions.

        Args:
            expand: whether the batch dimensions have their sizes, or all size 1.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, of shape ``batch_shape``."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        return Size(tuple(sample_shape)) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        """Check a value passed to `log_prob`, `cdf` or the like.

        Raises:
            ValueError: no tensor, of a shape that does not fit, or outside of the support.
        """
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual, event_shape = value.size(), self._event_shape
        if actual[len(actual) - len(event_shape) :] != event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {actual} vs {event_shape}.")
        expected = self._batch_shape + event_shape
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(actual), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not _holds(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) of "
                f"the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items())
        return f"{self.__class__.__name__}({shown})"
