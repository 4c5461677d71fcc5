"""The cross-entropy of a linear layer's output, in one function."""

from __future__ import annotations

import math

from ..dispatch.registry import FUNCTION, composite
from .loss import PUBLIC, cross_entropy
from .matmul import linear


@composite(
    "linear_cross_entropy(Tensor input, Tensor linear_weight, Tensor target, *, Tensor? linear_bias=None, Tensor? weight=None, "
    "str reduction='mean', int? ignore_index=None, float label_smoothing=0.0, Any? options=None) -> Tensor",
    forms=FUNCTION,
    namespaces=PUBLIC,
)
def linear_cross_entropy(input, linear_weight, target, *, linear_bias, weight, reduction, ignore_index, label_smoothing, options):
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        linear_weight: ``(C, in_features)``, or ``(C, d1, ..., in_features)`` for a loss of several dimensions.
        ignore_index: the class that does not count, -100 unless given.
        options: how to work in pieces, to take less memory: accepted without effect, what runs at once is decided by XLA.

    Shape:   input ``(in_features)`` or ``(N, in_features)``, target as of `cross_entropy`
    """
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    *batch, features = input.shape
    if features != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {features} and {linear_weight.shape[-1]}, respectively"
        )
    classes, *places = linear_weight.shape[:-1]
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise RuntimeError(f"expected linear_bias shape {(classes, *places)}, got {tuple(linear_bias.shape)}")
    if places and not batch:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, (N, {features}), got "
            f"unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*batch, classes, *places)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    count = math.prod(places, start=classes)
    bias = None if linear_bias is None else linear_bias.reshape(count)
    logits = linear(input, linear_weight.reshape(count, features), bias).reshape(shape)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=ignored, label_smoothing=label_smoothing)
