"""`VonMises`: angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.dtype import bool_, float64
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import T
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

#: Order -> coefficients for x up to 3.75, in powers of (x / 3.75) ** 2, and beyond, in powers of 3.75 / x: Abramowitz and Stegun, 9.8.1 - 9.8.4.
_BESSEL = {
    0: ((1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
        (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2)),
    1: ((0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
        (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2)),
}  # fmt: skip


def _polynomial(y: Tensor, coefficients: Sequence[float]) -> Tensor:
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + y * result
    return result


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """The logarithm of the modified Bessel function of order 0 or 1, for positive x."""
    if order not in _BESSEL:
        raise AssertionError(f"order must be 0 or 1, got {order}")
    near, far = _BESSEL[order]
    y = x / 3.75
    small = _polynomial(y * y, near)
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, far).log()
    return T.where(x < 3.75, (x.abs() * small if order else small).log(), large)


def _rejection_sample(loc: Tensor, concentration: Tensor, proposal_r: Tensor, x: Tensor) -> Tensor:
    """Angles by rejection from a wrapped Cauchy distribution; as in torch all of them go on until the last one is accepted.

    Ref: D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", 1979.
    """
    done = T.zeros(x.shape, dtype=bool_, device=loc.device)
    while not done.all():
        u1, u2, u3 = T.rand((3, *x.shape), dtype=loc.dtype, device=loc.device).unbind()
        z = (math.pi * u1).cos()
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
        x = T.where(accept, (u3 - 0.5).sign() * f.acos(), x)
        done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles from -pi to pi around ``loc``, with density proportional to ``exp(concentration * cos(x - loc))``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}  # type: ignore[assignment]
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        try:
            return super().expand(batch_shape)
        except NotImplementedError:
            loc, concentration = self.loc.expand(batch_shape), self.concentration.expand(batch_shape)
            return type(self)(loc, concentration, validate_args=self.__dict__.get("_validate_args"))

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        """The parameter of the proposal distribution; by its series for small concentrations."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return T.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        aligned = self.concentration * (value - self.loc).cos()
        return aligned - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, order=0)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws without gradients; computed in double precision."""
        with no_grad():
            x = T.empty(self._extended_shape(sample_shape), dtype=float64, device=self.loc.device)
            return _rejection_sample(self._loc, self._concentration, self._proposal_r, x).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The circular variance: 1 minus the length of the mean direction."""
        return 1 - (_log_modified_bessel_fn(self.concentration, 1) - _log_modified_bessel_fn(self.concentration, 0)).exp()
