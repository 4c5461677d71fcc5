"""Losses with a margin, and negative log-likelihoods of Poisson and normal variables; see `loss.py`."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from ..dispatch.registry import FUNCTION, Promote, composite, op
from .elementwise import rounding_to
from .loss import LEGACY, PUBLIC, hinge, reduced, reduction_of, refuse_integers
from .reduce import scalar_type, widened
from .vector_norm import norm_by_rule

# --- pairs and rankings -------------------------------------------------------------------------------------------------------------


@op(
    "cosine_embedding_loss.reduced(Tensor self, Tensor input2, Tensor target, float margin, str reduction) -> Tensor",
    promote=Promote.INT_TO_FLOAT,
    promoted=("self", "input2"),
    forms=FUNCTION,
    namespaces=(),
)
def cosine_embedding(self, input2, target, margin, reduction):
    """One less the cosine where ``target`` is 1, the cosine above ``margin`` where it is -1."""
    a, b = widened(self), widened(input2)
    square1, square2 = jnp.sum(a * a, -1) + 1e-12, jnp.sum(b * b, -1) + 1e-12
    cosine = jnp.sum(a * b, -1) / jnp.sqrt(square1 * square2)
    losses = jnp.where(target == 1, 1 - cosine, 0) + jnp.where(target == -1, hinge(cosine - margin), 0)
    return reduced(losses, reduction, self.dtype)


@cosine_embedding.check
def _(self, input2, target, margin, reduction):
    if len(target.shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = len(target.shape) + 1
    if len(self.shape) != wanted or len(input2.shape) != wanted:
        raise RuntimeError(
            f"{wanted - 1}D target tensor expects {wanted}D input tensors, but found inputs with sizes {list(self.shape)} and {list(input2.shape)}."
        )


@composite(
    f"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, {LEGACY}) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """Pulls pairs with target 1 to a cosine of 1, pushes those with target -1 below ``margin``."""
    return cosine_embedding(input1, input2, target, margin, reduction_of(reduction, size_average, reduce))


@op(
    "margin_ranking_loss.reduced(Tensor self, Tensor input2, Tensor target, float margin, str reduction) -> Tensor",
    promote=Promote.INT_TO_FLOAT,
    forms=FUNCTION,
    namespaces=(),
)
def margin_ranking(self, input2, target, margin, reduction):
    """The positive part of ``-target * (self - input2) + margin``."""
    return reduced(hinge(-widened(target) * (widened(self) - widened(input2)) + margin), reduction, self.dtype)


@composite(
    f"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, {LEGACY}) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """Wants ``input1`` above ``input2`` by ``margin`` where ``target`` is 1, below where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, "
            f"input2: {input2.size()}, target: {target.size()} "
        )
    return margin_ranking(input1, input2, target, margin, reduction)


@op("hinge_embedding_loss.reduced(Tensor self, Tensor target, float margin, str reduction) -> Tensor", forms=FUNCTION, namespaces=())
def hinge_embedding(self, target, margin, reduction):
    """``self`` where ``target`` is 1, the positive part of ``margin - self`` where it is -1, both elsewhere."""
    x, rounded = widened(self), rounding_to(self.dtype)
    losses = jnp.where(target != 1, hinge(rounded(rounded(margin) - x)), 0) + jnp.where(target != -1, x, 0)
    return reduced(rounded(losses), reduction, self.dtype)


@composite(f"hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, {LEGACY}) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """A loss for distances ``input``: small where ``target`` is 1, above ``margin`` where it is -1."""
    return hinge_embedding(input, target, margin, reduction_of(reduction, size_average, reduce))


@op("soft_margin_loss.reduced(Tensor self, Tensor target, str reduction) -> Tensor", promote=Promote.DEFAULT, forms=FUNCTION, namespaces=())
def soft_margin(self, target, reduction):
    """``log(1 + exp(-target * self))``."""
    return reduced(jnp.log1p(jnp.exp(-widened(target) * widened(self))), reduction, self.dtype)


@composite(f"soft_margin_loss(Tensor input, Tensor target, {LEGACY}) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The logistic loss for targets 1 and -1."""
    return soft_margin(input, target, reduction_of(reduction, size_average, reduce))


# --- triplets -----------------------------------------------------------------------------------------------------------------------


def _distance(a, b, p: float, eps: float, rounded):
    difference = rounded(rounded(a - b) + eps)
    return rounded(norm_by_rule(difference, p, (difference.ndim - 1,), False))


@op(
    "triplet_margin_loss.reduced(Tensor self, Tensor positive, Tensor negative, float margin, float p, float eps, bool swap, str reduction) "
    "-> Tensor",
    promote=Promote.INT_TO_FLOAT,
    forms=FUNCTION,
    namespaces=(),
)
def triplet_margin(self, positive, negative, margin, p, eps, swap, reduction):
    """The positive part of the distance to ``positive`` less that to ``negative`` plus ``margin``."""
    anchor, near, far = widened(self), widened(positive), widened(negative)
    rounded = rounding_to(self.dtype)
    apart = _distance(anchor, far, p, eps, rounded)
    if swap:
        apart = jnp.minimum(apart, _distance(near, far, p, eps, rounded))
    losses = hinge(rounded(rounded(rounded(margin) + _distance(anchor, near, p, eps, rounded)) - apart))
    return reduced(losses, reduction, jnp.finfo(self.dtype).dtype)


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, "
    f"{LEGACY}) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """Wants ``anchor`` nearer to ``positive`` than to ``negative`` by ``margin``."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    return triplet_margin(anchor, positive, negative, margin, p, eps, swap, reduction)


@composite(
    "triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *, Any? distance_function=None, float margin=1.0, "
    "bool swap=False, str reduction='mean') -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """`triplet_margin_loss` with a distance of one's own."""
    reduction = reduction_of(reduction)
    if distance_function is None:
        return triplet_margin_loss(anchor, positive, negative, margin, swap=swap, reduction=reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    apart = distance_function(anchor, negative)
    if swap:
        apart = apart.minimum(distance_function(positive, negative))
    losses = (margin + distance_function(anchor, positive) - apart).clamp_min(0)
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


# --- classes with a margin ----------------------------------------------------------------------------------------------------------


@op(
    "multi_margin_loss.reduced(Tensor self, Tensor target, int p, float margin, Tensor? weight, str reduction) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def multi_margin(self, target, p, margin, weight, reduction):
    """How far, to the power ``p``, other classes come within ``margin`` of the target's score; the mean over classes."""
    x, shape = jnp.atleast_2d(widened(self)), target.shape
    at = target.reshape(x.shape[0])
    classes = x.shape[1]
    gap = margin - jnp.take_along_axis(x, at[:, None], 1, mode="clip") + x
    gap = jnp.where((gap > 0) & (jnp.arange(classes) != at[:, None]), gap, 0)
    losses = jnp.sum(gap**p, 1) / classes
    if weight is not None:
        losses = losses * jnp.take(widened(weight), at, mode="clip")
    return reduced(losses.reshape(shape), reduction, self.dtype)


@multi_margin.check
def _(self, target, p, margin, weight, reduction):
    shape, size = list(self.shape), list(target.shape)
    samples = shape[0] if len(shape) == 2 else 1
    if len(shape) > 2 or 0 in shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}")
    if len(shape) == 2 and size != [samples]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{samples}], but got {size}. Input has shape {shape}."
        )
    if weight is not None and list(weight.shape) != shape[-1:]:
        raise RuntimeError(f"inconsistent weight size, expected {shape[-1]} but got {list(weight.shape)}")
    if scalar_type(target.dtype) != "Long":
        raise RuntimeError(f"expected scalar type Long but found {scalar_type(target.dtype)}")
    refuse_integers("multi_margin_loss_cpu")(self)


@multi_margin.data_check(RuntimeError, "target out of range")
def _(self_meta, target):
    return (target < 0) | (target >= (self_meta.shape or (1,))[-1])


@composite(
    f"multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, {LEGACY}) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The hinge loss over classes; ``target`` is the class of every sample."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return multi_margin(input, target, p, margin, weight, reduction)


@op("multilabel_margin_loss.reduced(Tensor self, Tensor target, str reduction) -> Tensor", forms=FUNCTION, namespaces=())
def multilabel_margin(self, target, reduction):
    """How far classes that are no target come within 1 of every target's score; targets end at the first -1."""
    x, at = jnp.atleast_2d(widened(self)), jnp.atleast_2d(target)
    classes = x.shape[1]
    counts = jnp.cumprod(at >= 0, 1).astype(bool)
    safe = jnp.where(counts, at, 0)
    is_target = jnp.any((safe[:, :, None] == jnp.arange(classes)) & counts[:, :, None], 1)
    gap = 1 - jnp.take_along_axis(x, safe, 1, mode="clip")[:, :, None] + x[:, None, :]
    gap = jnp.where((gap > 0) & counts[:, :, None] & ~is_target[:, None, :], gap, 0)
    losses = jnp.sum(gap, (1, 2)) / classes
    return reduced(losses if self.ndim == 2 else losses[0], reduction, self.dtype)


@multilabel_margin.check
def _(self, target, reduction):
    if tuple(self.shape) != tuple(target.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    if scalar_type(target.dtype) != "Long":
        raise RuntimeError(f"expected scalar type Long but found {scalar_type(target.dtype)}")


@multilabel_margin.data_check(RuntimeError, "argument #2 'target' is out of range")
def _(self_meta, target):
    return (target < -1) | (target >= (self_meta.shape or (1,))[-1])


@composite(f"multilabel_margin_loss(Tensor input, Tensor target, {LEGACY}) -> Tensor", forms=FUNCTION, namespaces=PUBLIC)
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The hinge loss over several classes; every row of ``target`` lists classes up to the first -1."""
    return multilabel_margin(input, target, reduction_of(reduction, size_average, reduce))


@op(
    "multilabel_soft_margin_loss.reduced(Tensor self, Tensor target, Tensor? weight, str reduction) -> Tensor",
    promote=Promote.DEFAULT,
    forms=FUNCTION,
    namespaces=(),
)
def multilabel_soft_margin(self, target, weight, reduction):
    """The mean over classes of the binary cross-entropy of logits."""
    x, t = widened(self), widened(target)
    losses = -(t * jax.nn.log_sigmoid(x) + (1 - t) * jax.nn.log_sigmoid(-x))
    losses = losses if weight is None else losses * widened(weight)
    return reduced(jnp.sum(losses, -1) / self.shape[-1], reduction, self.dtype)


@composite(
    f"multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, {LEGACY}) -> Tensor", forms=FUNCTION, namespaces=PUBLIC
)
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The binary cross-entropy of every class, averaged over classes."""
    return multilabel_soft_margin(input, target, weight, reduction_of(reduction, size_average, reduce))


# --- likelihoods --------------------------------------------------------------------------------------------------------------------


@op(
    "poisson_nll_loss.reduced(Tensor self, Tensor target, bool log_input, bool full, float eps, str reduction) -> Tensor",
    promote=Promote.INT_TO_FLOAT,
    forms=FUNCTION,
    namespaces=(),
)
def poisson_likelihood(self, target, log_input, full, eps, reduction):
    """``rate - target * log(rate)``; ``full`` adds Stirling's approximation of the rest where ``target`` is above 1."""
    x, t, rounded = widened(self), widened(target), rounding_to(self.dtype)
    if log_input:
        losses = rounded(rounded(jnp.exp(x)) - rounded(t * x))
    else:
        losses = rounded(x - rounded(t * rounded(jnp.log(rounded(x + eps)))))
    if full:
        above = jnp.where(t > 1, t, 1)
        rest = rounded(rounded(above * rounded(jnp.log(above))) - above)
        losses = rounded(losses + jnp.where(t > 1, rounded(rest + rounded(0.5 * rounded(jnp.log(rounded(2 * math.pi * above))))), 0))
    return reduced(losses, reduction, self.dtype)


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, "
    "bool? reduce=None, str reduction='mean') -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """The negative log-likelihood of counts ``target`` under the rate ``input`` (or its logarithm)."""
    return poisson_likelihood(input, target, log_input, full, eps, reduction_of(reduction, size_average, reduce))


@op(
    "gaussian_nll_loss.reduced(Tensor self, Tensor target, Tensor var, bool full, float eps, str reduction) -> Tensor",
    promote=Promote.DEFAULT,
    forms=FUNCTION,
    namespaces=(),
)
def gaussian_likelihood(self, target, var, full, eps, reduction):
    """Half of ``log(var) + (self - target) ** 2 / var``.

    Grad: to ``var`` also where it is below ``eps`` and ``eps`` is used in its place.
    """
    x, t, v = widened(self), widened(target), widened(var)
    v = v + jax.lax.stop_gradient(jnp.maximum(v, eps) - v)
    losses = 0.5 * (jnp.log(v) + jnp.square(x - t) / v) + (0.5 * math.log(2 * math.pi) if full else 0)
    return reduced(losses, reduction, self.dtype)


@gaussian_likelihood.data_check(ValueError, "var has negative entry/entries")
def _(var):
    return var < 0


@composite(
    "gaussian_nll_loss(Tensor input, Tensor target, Tensor var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood of ``target`` under a normal variable with mean ``input`` and variance ``var`` (at least ``eps``)."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
    elif var.size() != input.size():
        differing = [n for m, n in zip(input.size(), var.size()) if m != n]
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or sum(differing) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return gaussian_likelihood(input, target, var, full, eps, reduction)
