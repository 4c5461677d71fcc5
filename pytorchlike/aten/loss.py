"""Losses: a public function with torch's arguments resolves ``reduction``, an operator computes the reduced value in one program.

Gradients come from JAX's derivative of the operator except where a rule is written: for the losses trained with most, and where torch
makes a choice of its own.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..dispatch.registry import FUNCTION, Promote, composite, op
from .elementwise import rounding_to
from .reduce import is_integral, scalar_type, widened
from .vector_norm import sign

__all__ = ["LEGACY", "PUBLIC", "hinge", "reduced", "reduction_of", "refuse_integers"]

PUBLIC = ("nn.functional",)
LEGACY = "bool? size_average=None, bool? reduce=None, str reduction='mean'"


# --- reduction ----------------------------------------------------------------------------------------------------------------------


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction meant; the two old arguments win over the new one, with torch's warning."""
    if size_average is not None or reduce is not None:
        average = size_average is None or size_average
        reduction = ("mean" if average else "sum") if reduce is None or reduce else "none"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=4)
    elif reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(losses, reduction: str, dtype):
    """The losses, their mean or their sum, in the given dtype."""
    if reduction == "mean":
        losses = jnp.mean(losses)
    elif reduction == "sum":
        losses = jnp.sum(losses)
    return losses.astype(dtype)


def _share(g, count: int, reduction: str):
    """The gradient that reaches every single loss."""
    return widened(g) / max(count, 1) if reduction == "mean" else widened(g)


def hinge(x):
    """The positive part; as with torch's clamp the gradient passes at 0, and not at NaN."""
    return jnp.where(x >= 0, x, jnp.where(jnp.isnan(x), lax.stop_gradient(x), 0))


def refuse_integers(kernel: str):
    """A check that raises what torch's kernel of this name raises for integers."""

    def check(self: Any, *_: Any) -> None:
        if is_integral(self.dtype):
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type(self.dtype)}'")

    return check


def _warn_about_sizes(input, target) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def _check_weight_size(weight, input) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


# --- distances ----------------------------------------------------------------------------------------------------------------------


def _count(*shapes) -> int:
    return math.prod(jnp.broadcast_shapes(*shapes))


@op("mse_loss.reduced(Tensor self, Tensor target, str reduction) -> Tensor", promote=Promote.DEFAULT, forms=FUNCTION, namespaces=())
def squared_error(self, target, reduction):
    """The squared difference."""
    return reduced(jnp.square(widened(self) - widened(target)), reduction, self.dtype)


@squared_error.grad("self")
def _(g, self, target, reduction):
    return 2 * _share(g, _count(self.shape, target.shape), reduction) * (widened(self) - widened(target))


@squared_error.grad("target")
def _(g, self, target, reduction):
    return 2 * _share(g, _count(self.shape, target.shape), reduction) * (widened(target) - widened(self))


@squared_error.check
def _(self, target, reduction):
    refuse_integers("mse_cpu")(self)


@composite(f"mse_loss(Tensor input, Tensor target, {LEGACY}, Tensor? weight=None) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean squared difference; with ``weight`` the weighted mean."""
    _warn_about_sizes(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        return squared_error(input, target, reduction)
    _check_weight_size(weight, input)
    losses = squared_error(input, target, "none") * weight
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / weight.sum()


@op("l1_loss.reduced(Tensor self, Tensor target, str reduction) -> Tensor", promote=Promote.DEFAULT, forms=FUNCTION, namespaces=())
def absolute_error(self, target, reduction):
    """The absolute difference."""
    losses = jnp.abs(widened(self) - widened(target))
    return reduced(losses, reduction, losses.dtype if jnp.iscomplexobj(self) else self.dtype)


@absolute_error.grad("self")
def _(g, self, target, reduction):
    return _share(g, _count(self.shape, target.shape), reduction) * sign(self - target)


@absolute_error.grad("target")
def _(g, self, target, reduction):
    return _share(g, _count(self.shape, target.shape), reduction) * sign(target - self)


@absolute_error.check
def _(self, target, reduction):
    if is_integral(self.dtype) and reduction == "mean":
        raise RuntimeError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {scalar_type(self.dtype)}"
        )


@composite(f"l1_loss(Tensor input, Tensor target, {LEGACY}, Tensor? weight=None) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean absolute difference; ``weight`` multiplies each."""
    _warn_about_sizes(input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if weight is None:
        return absolute_error(input, target, reduction)
    _check_weight_size(weight, input)
    return _weighted(absolute_error(input, target, "none"), weight, reduction)


def _weighted(losses, weight, reduction: str):
    losses = losses * weight
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


@op("smooth_l1_loss.reduced(Tensor self, Tensor target, str reduction, float beta) -> Tensor", promote=Promote.DEFAULT, forms=FUNCTION,
    namespaces=())  # fmt: skip
def smooth_absolute_error(self, target, reduction, beta):
    """Quadratic below ``beta``, linear above."""
    distance = jnp.abs(widened(self) - widened(target))
    if beta != 0:
        distance = jnp.where(distance < beta, 0.5 * jnp.square(distance) / beta, distance - 0.5 * beta)
    return reduced(distance, reduction, self.dtype)


def _smooth_gradient(g, difference, count: int, reduction: str, beta: float):
    slope = jnp.sign(difference)
    if beta != 0:
        slope = jnp.where(jnp.abs(difference) < beta, difference / beta, slope)
    return _share(g, count, reduction) * slope


@smooth_absolute_error.grad("self")
def _(g, self, target, reduction, beta):
    return _smooth_gradient(g, widened(self) - widened(target), _count(self.shape, target.shape), reduction, beta)


@smooth_absolute_error.grad("target")
def _(g, self, target, reduction, beta):
    return _smooth_gradient(g, widened(target) - widened(self), _count(self.shape, target.shape), reduction, beta)


@smooth_absolute_error.check
def _(self, target, reduction, beta):
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    refuse_integers("smooth_l1_cpu")(self)


@composite(f"smooth_l1_loss(Tensor input, Tensor target, {LEGACY}, float beta=1.0) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """The absolute difference less half of ``beta``; below ``beta`` a parabola that meets it."""
    _warn_about_sizes(input, target)
    return smooth_absolute_error(input, target, reduction_of(reduction, size_average, reduce), beta)


@op("huber_loss.reduced(Tensor self, Tensor target, str reduction, float delta) -> Tensor", forms=FUNCTION, namespaces=())
def huber(self, target, reduction, delta):
    """Half the square below ``delta``, ``delta`` times the distance above; the result has the dtype of ``self``."""
    distance = jnp.abs(widened(self) - widened(target).astype(widened(self).dtype))
    losses = jnp.where(distance <= delta, 0.5 * jnp.square(distance), delta * (distance - 0.5 * delta))
    return reduced(losses, reduction, self.dtype)


def _huber_gradient(g, difference, count: int, reduction: str, delta: float):
    slope = jnp.where(jnp.abs(difference) < delta, difference, delta * jnp.sign(difference))
    return _share(g, count, reduction) * slope


@huber.grad("self")
def _(g, self, target, reduction, delta):
    return _huber_gradient(g, widened(self) - widened(target), _count(self.shape, target.shape), reduction, delta)


@huber.grad("target")
def _(g, self, target, reduction, delta):
    return _huber_gradient(g, widened(target) - widened(self), _count(self.shape, target.shape), reduction, delta)


@huber.check
def _(self, target, reduction, delta):
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    refuse_integers("huber_cpu")(self)


@composite("huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor", forms=FUNCTION,
           namespaces=PUBLIC)  # fmt: skip
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference; beyond ``delta`` linear with that slope."""
    _warn_about_sizes(input, target)
    reduction = reduction_of(reduction)
    if weight is None:
        return huber(input, target, reduction, delta)
    _check_weight_size(weight, input)
    return _weighted(huber(input, target, "none", delta), weight, reduction)


# --- binary and divergences ---------------------------------------------------------------------------------------------------------


@op("binary_cross_entropy.reduced(Tensor self, Tensor target, Tensor? weight, str reduction) -> Tensor", forms=FUNCTION, namespaces=())
def binary_entropy(self, target, weight, reduction):
    """The cross-entropy of probabilities; torch bounds both logarithms by -100."""
    x, t = widened(self), widened(target)
    losses = (t - 1) * jnp.maximum(jnp.log1p(-x), -100) - t * jnp.maximum(jnp.log(x), -100)
    return reduced(losses if weight is None else losses * widened(weight), reduction, self.dtype)


#: What torch's kernel holds the quotient's denominator above; a float in its source.
_ENTROPY_EPSILON = float(np.float32(1e-12))


@jax.custom_jvp
def _entropy_slope(x, t):
    """The derivative of the cross-entropy; its own is torch's, which bounds the denominator in another way."""
    return (x - t) / jnp.maximum((1 - x) * x, _ENTROPY_EPSILON)


@_entropy_slope.defjvp
def _(primals, tangents):
    (x, t), (x_tangent, t_tangent) = primals, tangents
    # torch adds 1e-12, which is lost at 1 where a program adds it to the 1 first
    along_x = (x * x - 2 * x * t + t) / (jnp.square(jnp.maximum(x, 1e-12)) * jnp.square(jnp.maximum(1 - x, 1e-12)))
    along_t = -1 / jnp.maximum((1 - x) * x, _ENTROPY_EPSILON)
    return _entropy_slope(x, t), along_x * x_tangent + along_t * t_tangent


@binary_entropy.grad("self")
def _(g, self, target, weight, reduction):
    x = widened(self)
    slope = _entropy_slope(x, widened(target))
    slope = slope if weight is None else slope * widened(weight)
    return _share(g, x.size, reduction) * slope


@binary_entropy.grad("target")
def _(g, self, weight, reduction):
    x = widened(self)
    slope = jnp.maximum(jnp.log1p(-x), -100) - jnp.maximum(jnp.log(x), -100)
    slope = slope if weight is None else slope * widened(weight)
    return _share(g, x.size, reduction) * slope


@binary_entropy.check
def _(self, target, weight, reduction):
    for other in (target, weight):
        if other is not None and other.dtype != self.dtype:
            raise RuntimeError(f"Found dtype {scalar_type(other.dtype)} but expected {scalar_type(self.dtype)}")
    refuse_integers("binary_cross_entropy")(self)


@binary_entropy.data_check(RuntimeError, "all elements of input should be between 0 and 1")
def _(self):
    return ~((self >= 0) & (self <= 1))


@binary_entropy.data_check(RuntimeError, "all elements of target should be between 0 and 1")
def _(target):
    return ~((target >= 0) & (target <= 1))


@composite(f"binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, {LEGACY}) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The cross-entropy of probabilities ``input`` and ``target``."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    return binary_entropy(input, target, weight, reduction)


@op(
    "binary_cross_entropy_with_logits.reduced(Tensor self, Tensor target, Tensor? weight, Tensor? pos_weight, str reduction) -> Tensor",
    promote=Promote.DEFAULT,
    forms=FUNCTION,
    namespaces=(),
)
def logit_entropy(self, target, weight, pos_weight, reduction):
    """The cross-entropy of logits, without overflow."""
    x, t, rounded = widened(self), widened(target), rounding_to(self.dtype)
    share = 1 if pos_weight is None else rounded(_positive_share(t, pos_weight, rounded))
    losses = rounded(rounded(rounded(1 - t) * x) - rounded(share * rounded(jax.nn.log_sigmoid(x))))
    return reduced(losses if weight is None else rounded(losses * widened(weight)), reduction, self.dtype)


def _positive_share(target, pos_weight, rounded=lambda x: x):
    return 1 if pos_weight is None else rounded(rounded(widened(pos_weight) - 1) * target) + 1


@logit_entropy.grad("self")
def _(g, self, target, weight, pos_weight, reduction):
    x, t = widened(self), widened(target)
    slope = (1 - t) - _positive_share(t, pos_weight) * jax.nn.sigmoid(-x)
    return _share(g, _count(self.shape, target.shape), reduction) * (slope if weight is None else slope * widened(weight))


@logit_entropy.check
def _(self, target, weight, pos_weight, reduction):
    refuse_integers("log_sigmoid_cpu")(self)


@composite(
    f"binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, {LEGACY}, Tensor? pos_weight=None) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """The cross-entropy of ``input.sigmoid()`` and ``target``; ``pos_weight`` multiplies the positive part."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if not target.is_floating_point():
        if target.dtype.category == 0:
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
            )
        name = scalar_type(target.dtype.numpy)
        raise RuntimeError(f"result type {scalar_type(input.dtype.numpy)} can't be cast to the desired output type {name}")
    return logit_entropy(input, target, weight, pos_weight, reduction)


@op(
    "kl_div.reduced(Tensor self, Tensor target, str reduction, bool log_target) -> Tensor",
    promote=Promote.DEFAULT,
    forms=FUNCTION,
    namespaces=(),
)
def divergence(self, target, reduction, log_target):
    """``target * (log(target) - self)``; ``batchmean`` divides the sum by the first dimension."""
    x, t = widened(self), widened(target)
    losses = jnp.exp(t) * (t - x) if log_target else jax.scipy.special.xlogy(t, t) - t * x
    if reduction == "batchmean":
        return (jnp.sum(losses) / self.shape[0] if self.ndim else losses).astype(self.dtype)
    return reduced(losses, reduction, self.dtype)


@divergence.grad("self")
def _(g, target, reduction, log_target, self_meta):
    t = widened(target)
    share = (
        widened(g) / self_meta.shape[0]
        if reduction == "batchmean" and self_meta.ndim
        else _share(g, _count(self_meta.shape, target.shape), reduction)
    )
    return -share * (jnp.exp(t) if log_target else t)


@composite(f"kl_div(Tensor input, Tensor target, {LEGACY}, bool log_target=False) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The divergence of ``target`` from log-probabilities ``input``; ``mean`` is over elements, ``batchmean`` over samples."""
    if size_average is not None or reduce is not None or reduction != "batchmean":
        reduction = reduction_of(reduction, size_average, reduce)
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=3,
            )
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    return divergence(input, target, reduction, log_target)


# --- classes ------------------------------------------------------------------------------------------------------------------------


def _class_axis(ndim: int) -> int:
    return 1 if ndim > 1 else 0


def _targets(self, target):
    """Targets shaped like the input without its classes (a 1-D input may come with one target in a 1-D tensor)."""
    axis = _class_axis(self.ndim)
    return target.reshape(self.shape[:axis] + self.shape[axis + 1 :])


def _target_weights(target, weight, ignore_index: int, dtype):
    """The weight of every target's class, 0 where it is ignored; and the targets with 0 in place of ignored ones."""
    valid = target != ignore_index
    safe = jnp.where(valid, target, 0)
    weights = valid.astype(dtype) if weight is None else jnp.where(valid, jnp.take(widened(weight), safe, mode="clip"), 0)
    return weights, safe


@op(
    "nll_loss.reduced(Tensor self, Tensor target, Tensor? weight, str reduction, int ignore_index) -> Tensor", forms=FUNCTION, namespaces=()
)
def negative_likelihood(self, target, weight, reduction, ignore_index):
    """The negated log-probability of every target; ``mean`` weighs by the targets' class weights."""
    axis, shape = _class_axis(self.ndim), target.shape
    target = _targets(self, target)
    weights, safe = _target_weights(target, weight, ignore_index, widened(self).dtype)
    picked = widened(jnp.squeeze(jnp.take_along_axis(self, jnp.expand_dims(safe, axis), axis, mode="clip"), axis))
    losses = jnp.where(target == ignore_index, 0, -picked * weights)
    if reduction == "none":
        return losses.reshape(shape).astype(self.dtype)
    total = jnp.sum(losses)
    return (total / jnp.sum(weights) if reduction == "mean" else total).astype(self.dtype)


@negative_likelihood.grad("self")
def _(g, target, weight, self, reduction, ignore_index):  # asks for ``self``: the gradient's own gradient is zero, not missing
    # a comparison with the class numbers, not a scatter: XLA fuses it with the gradient of log_softmax into one pass
    axis = _class_axis(self.ndim)
    target, g = _targets(self, target), widened(g)
    weights, safe = _target_weights(target, weight, ignore_index, g.dtype)
    if reduction == "mean":
        total = jnp.sum(weights)
        g = g / jnp.where(total == 0, 1, total)  # the mean of nothing is NaN, its gradient 0
    share = jnp.expand_dims(-weights * (g.reshape(target.shape) if reduction == "none" else g), axis)
    hit = lax.broadcasted_iota(jnp.int32, self.shape, axis) == jnp.expand_dims(safe, axis).astype(jnp.int32)
    return jnp.where(hit, share, 0)


@negative_likelihood.grad("weight")
def _(g, weight_meta):
    return jnp.zeros(weight_meta.shape, g.dtype)  # torch gives class weights no gradient


@negative_likelihood.check
def _(self, target, weight, reduction, ignore_index):
    shape, size = list(self.shape), list(target.shape)
    if len(shape) < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {len(shape)})")
    if len(shape) == 1 and size not in ([], [1]):
        if len(size) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {size[0]}")
    if len(shape) == 2 and len(size) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(shape) > 1 and (not size or shape[0] != size[0]):
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({size[0] if size else 1}).")
    expected = shape[:1] + shape[2:]
    if len(shape) == 4 and len(size) == 3 and size != expected:
        raise RuntimeError(f"size mismatch (got input: {shape} , target: {size}")
    if len(shape) > 2 and size != expected:
        raise RuntimeError(f"Expected target size {expected}, got {size}")
    if scalar_type(target.dtype) not in ("Long", "Byte"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_type(target.dtype)}")
    classes = shape[_class_axis(len(shape))]
    if weight is not None and list(weight.shape) != [classes]:
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(self.dtype)} but found {scalar_type(weight.dtype)}")
    refuse_integers("nll_loss_out_frame")(self)


@negative_likelihood.data_check(IndexError, "Target {} is out of bounds.")
def _(self_meta, target, ignore_index):
    return (target != ignore_index) & ((target < 0) | (target >= self_meta.shape[_class_axis(self_meta.ndim)])), target


@composite(
    "nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, "
    "str reduction='mean') -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negated log-probability that ``input`` gives to the classes ``target``.

    Shape:   input ``(N, C, *)`` or ``(C)``, target ``(N, *)`` or ``()``
    """
    return negative_likelihood(input, target, weight, reduction_of(reduction, size_average, reduce), ignore_index)


@op("cross_entropy.smoothing(Tensor self, Tensor target, Tensor? weight, str reduction, int ignore_index) -> Tensor", forms=FUNCTION,
    namespaces=())  # fmt: skip
def uniform_likelihood(self, target, weight, reduction, ignore_index):
    """The negated log-probabilities summed over all classes: what label smoothing mixes in."""
    axis, x = _class_axis(self.ndim), widened(self)
    shaped = x if weight is None else x * widened(weight).reshape(-1, *(1,) * (self.ndim - axis - 1))
    valid = _targets(self, target) != ignore_index
    losses = jnp.where(valid, -jnp.sum(shaped, axis), 0)
    if reduction == "none":
        return losses.astype(self.dtype)
    total = jnp.sum(losses)
    if reduction == "mean":
        total = total / jnp.sum(_target_weights(_targets(self, target), weight, ignore_index, x.dtype)[0])
    return total.astype(self.dtype)


@op(
    "cross_entropy.soft(Tensor self, Tensor target, Tensor? weight, str reduction, float label_smoothing) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def soft_entropy(self, target, weight, reduction, label_smoothing):
    """The cross-entropy of log-probabilities ``self`` and probabilities ``target``."""
    axis, x, t = _class_axis(self.ndim) if self.ndim else 0, widened(self), widened(target)
    classes = self.shape[axis] if self.ndim else 1
    if label_smoothing > 0:
        t = t * (1 - label_smoothing) + label_smoothing / classes
    losses = x * t
    if weight is not None:
        losses = losses * widened(weight).reshape(-1, *(1,) * (self.ndim - axis - 1))
    if reduction == "none":
        return -(jnp.sum(losses, axis) if self.ndim else losses).astype(self.dtype)
    total = -jnp.sum(losses)
    return (total / (self.size / classes) if reduction == "mean" else total).astype(self.dtype)


@soft_entropy.check
def _(self, target, weight, reduction, label_smoothing):
    if not jnp.issubdtype(target.dtype, jnp.floating):
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {scalar_type(target.dtype)}")
    classes = self.shape[_class_axis(self.ndim)] if self.ndim else 1
    if weight is not None and list(weight.shape) != [classes]:
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes "
            f"but got weight tensor of shape: {list(weight.shape)}"
        )


@composite(
    "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, "
    "str reduction='mean', float label_smoothing=0.0) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """The cross-entropy of logits ``input`` and class numbers or class probabilities ``target``.

    Shape:   input ``(N, C, *)`` or ``(C)``, target ``(N, *)`` or ``()``, or the input's when it holds probabilities
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.shape == target.shape:
        if not target.is_floating_point():
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {scalar_type(target.dtype.numpy)}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return soft_entropy(input.log_softmax(_class_axis(input.dim())), target, weight, reduction, label_smoothing)
    logits = input.log_softmax(_class_axis(input.dim()))
    loss = negative_likelihood(logits, target, weight, reduction, ignore_index)
    if label_smoothing > 0:
        classes = input.shape[_class_axis(input.dim())]
        uniform = uniform_likelihood(logits, target, weight, reduction, ignore_index)
        loss = loss * (1 - label_smoothing) + uniform * (label_smoothing / classes)
    return loss
