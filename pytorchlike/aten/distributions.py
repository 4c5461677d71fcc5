"""What ``torch.distributions`` draws beside the plain random tensors: gamma, Dirichlet and binomial numbers, and their gradients.

Numbers are drawn on the host from torch's CPU stream (`tensors.rejection`), so parameters that are still pending are computed first.  A
sample's gradient is that of the implicit function ``cdf(sample; parameter) = constant``: ``-(d cdf / d parameter) / density``.

Ref: M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", arXiv:1805.08498; torch approximates the same
derivatives by rational functions, to about three digits, where they are computed here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.lazy import LazyModule
from ..core.promotion import scalar_type_name
from ..core.state import thread
from ..dispatch.batching import Batched
from ..dispatch.bind import broadcast_shapes
from ..dispatch.call import host_tensor
from ..dispatch.registry import FUNCTION, Promote, composite, op
from ..graph.executors import immediate
from ..graph.recorder import materialise, synchronise
from ..tensors import rejection
from ..tensors.tensor import Tensor
from .random import _numbers, generator_for

special = LazyModule("jax.scipy.special")

#: More terms than a sample's series has, unless its total concentration is beyond 1e7.
_MOST_TERMS = 20_000

_gradient = functools.partial(op, promote=Promote.DEFAULT, forms=FUNCTION)


# --- gamma -----------------------------------------------------------------------------------------------------------------------------


@op("_standard_gamma.drawn(Tensor drawn, Tensor self) -> Tensor", namespaces=(), forms=FUNCTION)
def gamma_drawn(drawn, self):
    """Gamma numbers that were drawn for these concentrations."""
    return drawn


@gamma_drawn.grad("self")
def _(g, self, result):
    return g * _gamma_gradient(self, result)


def _gamma_gradient(concentration, sample):
    wide = concentration.astype(jnp.float64), sample.astype(jnp.float64)  # small samples underflow on the way in float32
    return lax.random_gamma_grad(*wide).astype(sample.dtype)


@composite("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", forms=FUNCTION)
def _standard_gamma(self, generator):
    """A gamma number of rate 1 for each concentration."""
    drawn = rejection.gamma(generator_for("_standard_gamma", generator, self.device), _numbers(self))
    made = host_tensor(drawn, self.dtype, self.device)
    return gamma_drawn(made, self) if self.requires_grad else made


@_gradient("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", differentiable=False)
def _standard_gamma_grad(self, output):
    """The gradient of gamma numbers ``output`` for their concentrations."""
    return _gamma_gradient(self, output)


# --- Dirichlet -------------------------------------------------------------------------------------------------------------------------


@composite("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", forms=FUNCTION)
def _sample_dirichlet(self, generator):
    """Dirichlet numbers for the concentrations in the last dimension; see `torch.distributions.Dirichlet` for their gradient."""
    drawn = rejection.dirichlet(generator_for("_sample_dirichlet", generator, self.device), _numbers(self))
    return host_tensor(drawn, self.dtype, self.device)


@_gradient("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", differentiable=False)
def _dirichlet_grad(x, alpha, total):
    """The gradient of a beta number ``x`` for its first concentration ``alpha`` of ``total``, divided by ``1 - x``."""
    wide = [array.astype(jnp.float64) for array in (x, alpha, total)]
    return _beta_gradient(*wide).astype(x.dtype)


def _beta_gradient(x, a, total):
    """``-(d cdf / d a) / density / (1 - x)`` by a series of the incomplete beta function in ``x``, or in ``1 - x`` for large ``x``.

    With F(x; a, b) = x^a (1 - x)^b / (a B(a, b)) sum_n (a + b)_n / (a + 1)_n x^n the powers and the beta function cancel against the density.
    """
    b = total - a
    left = (x < (a + 1) / (total + 2)) & (x < 0.9)
    own, other = jnp.where(left, a, b), jnp.where(left, x, 1 - x)
    log_slope = jnp.log(x) + special.digamma(total)

    def step(state):
        n, term, slope, sum_, sum_slopes = state
        term = term * (total + n) / (own + 1 + n) * other
        slope = slope + 1 / (total + n) - jnp.where(left, 1 / (a + 1 + n), 0)
        return n + 1, term, slope, sum_ + term, sum_slopes + term * slope

    def goes_on(state):
        n, term, slope, sum_, sum_slopes = state
        return (n < _MOST_TERMS) & jnp.any(term * (1 + jnp.abs(slope)) > 1e-10 * sum_)

    one = jnp.ones_like(x)
    _, _, _, total_sum, slopes = lax.while_loop(goes_on, step, (jnp.zeros((), jnp.float64), one, 0 * one, one, 0 * one))
    from_left = -x / a * (total_sum * (log_slope - special.digamma(a + 1)) + slopes)
    from_right = x / b * (total_sum * (log_slope - special.digamma(a)) + slopes)
    return jnp.where(left, from_left, from_right)


# --- counts ----------------------------------------------------------------------------------------------------------------------------


@composite("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", forms=FUNCTION)
def binomial(count, prob, generator):
    """How many of ``count`` trials succeed, each with probability ``prob``."""
    for name, tensor in (("count", count), ("prob", prob)):
        if not tensor.dtype.is_floating_point:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {scalar_type_name(tensor.dtype)}")
    if prob.dtype is not count.dtype:
        raise RuntimeError(f"Found dtype {scalar_type_name(prob.dtype)} but expected {scalar_type_name(count.dtype)}")
    source = generator_for("binomial", generator, count.device)
    size = broadcast_shapes(count.shape, prob.shape)
    drawn = rejection.binomial(source, np.broadcast_to(_numbers(count), size), np.broadcast_to(_numbers(prob), size))
    return host_tensor(drawn, count.dtype, count.device)


# --- checks of arguments ---------------------------------------------------------------------------------------------------------------


def is_true_everywhere(condition: Callable[[Any], Any], value: Any) -> bool:
    """Whether ``condition(value)`` is true everywhere; also True inside JAX's transformations, where there are no numbers to look at.

    It is computed at once and beside the trace, which runs only if ``value`` is pending in it.  Inside of ``vmap`` all elements count.
    """
    if thread.state.levels:
        found = condition(value)
        content = found._content()
        while type(content) is Batched:
            content = content.outer._content()
        array = synchronise(content, "validate_args")
    else:
        if isinstance(value, Tensor):
            materialise(value._value if value._storage is None else value._storage.value, "validate_args")
        with immediate():
            found = condition(value)
            if not isinstance(found, Tensor) or found.is_meta:
                return bool(found.all())
            array = found._content().array
    return isinstance(array, jax.core.Tracer) or bool(np.asarray(array).all())
