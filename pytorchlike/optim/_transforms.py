"""The gradient transformations that optimizers are chained from: optax's, and those that optax lacks or defines otherwise than torch.

Imported at the first step only, as optax takes a while.  ``h`` holds hyper-parameters in the dtype of the arrays, ``h.exact`` in float64:
torch computes the scalars of a step with Python floats, and some of them cancel badly in float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from optax import (
    GradientTransformation,
    add_decayed_weights,
    apply_updates,
    chain,
    scale,
    scale_by_adadelta,
    scale_by_adamax,
    scale_by_rms,
    scale_by_stddev,
    trace,
)
from optax.tree import get, set

__all__ = [
    "adafactor", "add_decayed_weights", "apply_updates", "averaged_sgd", "chain", "dampened_trace", "get", "muon", "scale", "scale_by_adadelta",
    "scale_by_adam", "scale_by_adamax", "scale_by_decaying_rss", "scale_by_nadam", "scale_by_radam", "scale_by_rms", "scale_by_rprop",
    "scale_by_stddev", "set", "trace",
]  # fmt: skip


def _moments(g: Array, state: Any, h: Any) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Step count (int and float64), both moments, and the float64 bias corrections ``1 - beta ** count``."""
    b1, b2 = h["betas"]
    count = state.count + 1
    t = count.astype(jnp.float64)
    mu = state.mu + (1 - h.exact["betas"][0]).astype(g.dtype) * (g - state.mu)
    nu = b2 * state.nu + (1 - h.exact["betas"][1]).astype(g.dtype) * (g * g)
    return count, t, mu, nu, 1 - h.exact["betas"][0] ** t, 1 - h.exact["betas"][1] ** t


class AdamState(NamedTuple):
    """Step count and both moments."""

    count: Array  # type: ignore[assignment]
    mu: Array
    nu: Array


class AmsgradState(NamedTuple):
    """Adam's state and the largest second moment so far."""

    count: Array  # type: ignore[assignment]
    mu: Array
    nu: Array
    nu_max: Array


def scale_by_adam(h: Any, amsgrad: bool) -> GradientTransformation:
    """Adam, arXiv:1412.6980, and AMSGrad, arXiv:1904.09237, as torch has them.

    optax's Adam takes ``1 - 0.999`` in float32, which puts the second moment 1.3e-5 off; its AMSGrad takes the maximum after the bias is
    corrected, torch before.
    """

    def init(p: Array) -> AdamState | AmsgradState:
        count, zeros = jnp.zeros((), jnp.int32), jnp.zeros_like(p)
        return AmsgradState(count, zeros, zeros, zeros) if amsgrad else AdamState(count, zeros, zeros)

    def update(g: Array, state: Any, p: Array | None = None) -> tuple[Array, AdamState | AmsgradState]:
        count, _, mu, nu, correction1, correction2 = _moments(g, state, h)
        nu_max = jnp.maximum(state.nu_max, nu) if amsgrad else nu
        scaled = jnp.sqrt(nu_max) / jnp.sqrt(correction2).astype(g.dtype) + h["eps"]
        new = AmsgradState(count, mu, nu, nu_max) if amsgrad else AdamState(count, mu, nu)
        return mu / correction1.astype(g.dtype) / scaled, new

    return GradientTransformation(init, update)


class NadamState(NamedTuple):
    """Adam's state and the product of all momentum coefficients so far."""

    count: Array  # type: ignore[assignment]
    mu: Array
    nu: Array
    mu_product: Array


def scale_by_nadam(h: Any) -> GradientTransformation:
    """Adam with Nesterov momentum whose coefficient grows by a schedule (Dozat 2016; optax has no schedule)."""

    def init(p: Array) -> NadamState:
        zeros = jnp.zeros_like(p)
        return NadamState(jnp.zeros((), jnp.int32), zeros, zeros, jnp.ones((), p.dtype))

    def update(g: Array, state: NadamState, p: Array | None = None) -> tuple[Array, NadamState]:
        count, t, mu, nu, _, correction2 = _moments(g, state, h)
        b1, decay = h.exact["betas"][0], h.exact["momentum_decay"]
        now = b1 * (1 - 0.5 * 0.96 ** (t * decay))
        following = b1 * (1 - 0.5 * 0.96 ** ((t + 1) * decay))
        product = (state.mu_product.astype(jnp.float32) * now.astype(jnp.float32)).astype(jnp.float64)  # torch keeps it in float32
        scaled = jnp.sqrt(nu / correction2.astype(g.dtype)) + h["eps"]
        from_gradient = ((1 - now) / (1 - product)).astype(g.dtype) * g / scaled
        from_momentum = (following / (1 - product * following)).astype(g.dtype) * mu / scaled
        return from_gradient + from_momentum, NadamState(count, mu, nu, product.astype(g.dtype))

    return GradientTransformation(init, update)


def scale_by_radam(h: Any) -> GradientTransformation:
    """Rectified Adam, arXiv:1908.03265 algorithm 2, with torch's place for eps; the rectification needs float64 in the first steps."""

    def init(p: Array) -> AdamState:
        zeros = jnp.zeros_like(p)
        return AdamState(jnp.zeros((), jnp.int32), zeros, zeros)

    def update(g: Array, state: AdamState, p: Array | None = None) -> tuple[Array, AdamState]:
        count, t, mu, nu, correction1, correction2 = _moments(g, state, h)
        b2 = h.exact["betas"][1]
        limit = 2 / (1 - b2) - 1
        length = limit - 2 * t * b2**t / correction2
        safe = jnp.maximum(length, 5)  # keeps the root real where it is not used
        rectified = jnp.sqrt((safe - 4) * (safe - 2) * limit / ((limit - 4) * (limit - 2) * safe))
        adaptive = (rectified * jnp.sqrt(correction2)).astype(g.dtype) / (jnp.sqrt(nu) + h["eps"])
        corrected = mu / correction1.astype(g.dtype)
        return corrected * jnp.where(length > 5, adaptive, jnp.ones((), g.dtype)), AdamState(count, mu, nu)

    return GradientTransformation(init, update)


class RssState(NamedTuple):
    """Step count and sum of squared gradients."""

    count: Array  # type: ignore[assignment]
    sum_of_squares: Array


def scale_by_decaying_rss(h: Any) -> GradientTransformation:
    """Adagrad with a rate that decays by the step, and eps outside the root (optax has it inside)."""

    def init(p: Array) -> RssState:
        return RssState(jnp.zeros((), jnp.int32), jnp.zeros_like(p))

    def update(g: Array, state: RssState, p: Array | None = None) -> tuple[Array, RssState]:
        total = state.sum_of_squares + g * g
        rate = 1 / (1 + state.count.astype(jnp.float64) * h.exact["lr_decay"])
        return rate.astype(g.dtype) * g / (jnp.sqrt(total) + h["eps"]), RssState(state.count + 1, total)

    return GradientTransformation(init, update)


class DampenedTraceState(NamedTuple):
    """The momentum."""

    trace: Array


def dampened_trace(decay: Array, dampening: Array, nesterov: bool, first: bool) -> GradientTransformation:
    """Momentum into which only ``1 - dampening`` of each gradient goes, except for the first one, which torch detaches from the tape."""

    def init(p: Array) -> DampenedTraceState:
        return DampenedTraceState(jnp.zeros_like(p))

    def update(g: Array, state: DampenedTraceState, p: Array | None = None) -> tuple[Array, DampenedTraceState]:
        momentum = lax.stop_gradient(g) if first else decay * state.trace + (1 - dampening) * g
        return (g + decay * momentum if nesterov else momentum), DampenedTraceState(momentum)

    return GradientTransformation(init, update)


class RpropState(NamedTuple):
    """The gradient and the size of the step before."""

    previous: Array
    step_size: Array


def scale_by_rprop(h: Any) -> GradientTransformation:
    """Steps by the sign of the gradient; they grow while it stays and shrink when it turns, and then that gradient is left out."""

    def init(p: Array) -> RpropState:
        return RpropState(jnp.zeros_like(p), jnp.zeros_like(p))

    def update(g: Array, state: RpropState, p: Array | None = None) -> tuple[Array, RpropState]:
        shrink, grow = h["etas"]
        agreement = g * state.previous
        factor = jnp.where(agreement > 0, grow, jnp.where(agreement < 0, shrink, jnp.ones((), g.dtype)))
        step_size = jnp.clip(state.step_size * factor, *h["step_sizes"])
        g = jnp.where(agreement < 0, jnp.zeros((), g.dtype), g)
        return -jnp.sign(g) * step_size, RpropState(g, step_size)

    return GradientTransformation(init, update)


class AveragedSgdState(NamedTuple):
    """Step count, rate and averaging weight of the next step, the average of the parameter."""

    count: Array  # type: ignore[assignment]
    eta: Array
    average_weight: Array
    average: Array


def averaged_sgd(h: Any) -> GradientTransformation:
    """Polyak-Juditsky averaging (1992) as torch.optim.ASGD has it."""

    def init(p: Array) -> AveragedSgdState:
        return AveragedSgdState(jnp.zeros((), jnp.int32), jnp.zeros((), p.dtype), jnp.ones((), p.dtype), jnp.zeros_like(p))

    def update(g: Array, state: AveragedSgdState, p: Array | None = None) -> tuple[Array, AveragedSgdState]:
        assert p is not None, "averaging reads the parameter"
        t = (state.count + 1).astype(jnp.float64)
        change = -h["lambd"] * state.eta * p - state.eta * g
        new_p = p + change
        weight = state.average_weight
        average = jnp.where(weight == 1, new_p, state.average + (new_p - state.average) * weight)
        lr, lambd = h.exact["lr"], h.exact["lambd"]
        eta = lr / (1 + lambd * lr * t) ** h.exact["alpha"]
        weight = 1 / jnp.maximum(1, t - h.exact["t0"])
        return change, AveragedSgdState(state.count + 1, eta.astype(g.dtype), weight.astype(g.dtype), average)

    return GradientTransformation(init, update)


class FactoredState(NamedTuple):
    """Step count, and the second moment of a matrix as a column and a row."""

    count: Array  # type: ignore[assignment]
    row_var: Array
    col_var: Array


class VarianceState(NamedTuple):
    """Step count and second moment."""

    count: Array  # type: ignore[assignment]
    variance: Array


def _mixed(old: Array, new: Array, weight: Array) -> Array:
    """``(1 - weight) * old + weight * new``, exact at both ends as torch's lerp."""
    return jnp.where(weight < 0.5, old + weight * (new - old), new - (new - old) * (1 - weight))


def adafactor(h: Any, epsilon: float, factored: bool, decays: bool) -> GradientTransformation:
    """Adafactor, arXiv:1804.04235 algorithms 4 and 5, with torch's relative step sizes; the change of the parameter, its decay included.

    Args:
        epsilon: the first eps where ``h`` has only the second.
    """

    def init(p: Array) -> FactoredState | VarianceState:
        count = jnp.zeros((), jnp.int32)
        return FactoredState(count, p, p) if factored else VarianceState(count, p)

    def root_mean_square(x: Array) -> Array:
        return jnp.sqrt(jnp.sum(x * x)) / x.size**0.5

    def update(g: Array, state: Any, p: Array | None = None) -> tuple[Array, FactoredState | VarianceState]:
        assert p is not None, "the step is relative to the parameter"
        count = state.count + 1
        t = count.astype(jnp.float64)
        lr, eps2, eps1 = h["lr"], h["eps"][-1], h["eps"][0] if len(h["eps"]) > 1 else epsilon
        weight = (t ** h.exact["beta2_decay"]).astype(g.dtype)
        size = jnp.maximum(eps2, root_mean_square(p)) * jnp.minimum(h.exact["lr"], 1 / jnp.sqrt(t)).astype(g.dtype)
        if factored:
            row = _mixed(state.row_var, jnp.mean(g * g, -1, keepdims=True), weight)
            column = _mixed(state.col_var, jnp.mean(g * g, -2, keepdims=True), weight)
            estimate = row * column / jnp.maximum(jnp.mean(row, -2, keepdims=True), eps1)
            new: FactoredState | VarianceState = FactoredState(count, row, column)
        else:
            estimate = _mixed(state.variance, g * g, weight)
            new = VarianceState(count, estimate)
        step = g / jnp.sqrt(jnp.maximum(estimate, eps1 * eps1))
        step = -size / jnp.maximum(1, root_mean_square(step) / h["d"]) * step
        return (step - lr * h["weight_decay"] * p if decays else step), new

    return GradientTransformation(init, update)


def _nearly_orthogonal(x: Array, coefficients: tuple[Array, Array, Array], steps: int, eps: Array) -> Array:
    """Newton-Schulz steps in bfloat16; products are summed in float32, as torch's are."""
    half = jnp.bfloat16

    def product(a: Array, b: Array) -> Array:
        return jnp.matmul(a, b, preferred_element_type=jnp.float32)

    a, b, c = (number.astype(jnp.float32) for number in coefficients)
    wide = x.shape[0] <= x.shape[1]
    x = (x if wide else x.T).astype(half)
    norm = jnp.sqrt(jnp.sum(jnp.square(x.astype(jnp.float32)))).astype(half)
    x = x / jnp.maximum(norm, eps.astype(half))
    for _ in range(steps):
        gram = product(x, x.T).astype(half)
        gram = (b * gram.astype(jnp.float32) + c * product(gram, gram)).astype(half)
        x = (a * x.astype(jnp.float32) + product(gram, x)).astype(half)
    return x if wide else x.T


def muon(h: Any, nesterov: bool, steps: int, adjustment: str | None) -> GradientTransformation:
    """Muon (Keller Jordan 2024); the change of the parameter, its decay included."""

    def init(p: Array) -> DampenedTraceState:
        return DampenedTraceState(jnp.zeros_like(p))

    def update(g: Array, state: DampenedTraceState, p: Array | None = None) -> tuple[Array, DampenedTraceState]:
        assert p is not None, "the decay reads the parameter"
        momentum = h["momentum"]
        trace = _mixed(state.trace, g, (1 - h.exact["momentum"]).astype(g.dtype))
        direction = _nearly_orthogonal(_mixed(g, trace, momentum) if nesterov else trace, h["ns_coefficients"], steps, h["eps"])
        rows, columns = g.shape
        factor = 0.2 * max(rows, columns) ** 0.5 if adjustment == "match_rms_adamw" else max(1, rows / columns) ** 0.5
        lr = h["lr"]
        return -lr * h["weight_decay"] * p - lr * factor * direction.astype(g.dtype), DampenedTraceState(trace)

    return GradientTransformation(init, update)
