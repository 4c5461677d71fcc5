"""What gradient scaling needs: unscaling many gradients at once while looking for infinities, and the next scale.

Both are computed in the trace; nobody looks at the numbers here.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..dispatch.registry import FUNCTION, composite, op
from ..tensors.mutation import write_into
from .reduce import widened


@op("_amp_unscaled(Tensor[] grads, Tensor found_inf, Tensor inv_scale) -> Tensor[]", forms=FUNCTION, namespaces=(), differentiable=False)
def _amp_unscaled(grads, found_inf, inv_scale):
    """The gradients times ``inv_scale``, and behind them 1 if one of them has an element that is not finite, else ``found_inf``."""
    bad = jnp.zeros((), bool)
    for g in grads:
        bad |= ~jnp.all(jnp.isfinite(g))
    factor = inv_scale.reshape(())
    scaled = [(widened(g) * factor.astype(widened(g).dtype)).astype(g.dtype) for g in grads]
    return *scaled, jnp.where(bad, jnp.ones_like(found_inf), found_inf)


@composite("_amp_foreach_non_finite_check_and_unscale_(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> ()", forms=FUNCTION)
def _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale):
    """Multiply gradients by ``inv_scale``, in place; ``found_inf`` becomes 1 if one of them has an element that is not finite.

    Raises:
        RuntimeError: ``found_inf`` or ``inv_scale`` has more than one element, torch's text.
    """
    for name, tensor in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    targets = [*self, found_inf]
    for target, result in zip(targets, _amp_unscaled(list(self), found_inf, inv_scale), strict=True):
        write_into(target, result._content())


@op(
    "_amp_updated_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, Scalar factor, Scalar backoff, Scalar interval) -> (Tensor, Tensor)",
    forms=FUNCTION,
    namespaces=(),
    differentiable=False,
)
def _amp_updated_scale(self, growth_tracker, found_inf, factor, backoff, interval):
    """The next scale, and how many steps in a row had no infinity."""
    bad = found_inf.reshape(self.shape) != 0
    steps = growth_tracker + 1
    grows = steps == interval
    grown = self * factor.astype(self.dtype)
    grown = jnp.where(grows & jnp.isfinite(grown), grown, self)
    scale = jnp.where(bad, self * backoff.astype(self.dtype), grown)
    return scale, jnp.where(bad | grows, 0, steps).astype(growth_tracker.dtype)


@composite(
    "_amp_update_scale_(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, "
    "int growth_interval) -> Tensor",
    forms=FUNCTION,
)
def _amp_update_scale_(
    self: Any, growth_tracker: Any, found_inf: Any, scale_growth_factor: float, scale_backoff_factor: float, growth_interval: int
):
    """Let the scale back off if an infinity was found, and grow after ``growth_interval`` steps without one, in place."""
    numbers = float(scale_growth_factor), float(scale_backoff_factor), int(growth_interval)
    scale, tracker = _amp_updated_scale(self, growth_tracker, found_inf, *numbers)
    write_into(growth_tracker, tracker._content())
    write_into(self, scale._content())
    return self
