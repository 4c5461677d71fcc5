"""Functions that ``torch`` has besides those of ``nn.functional``: losses with a number for the reduction, norms that also return their statistics.

As in torch, their default is no reduction, and the statistics of layer and batch norms are off the tape.  They are compositions of the public
operators, so their gradients are those of what they call.
"""

from __future__ import annotations

from typing import Any

from ..core.dtype import bool_
from ..dispatch.registry import FUNCTION, OUT, composite, lookup
from . import loss, loss_margin
from .random import dropout_noise
from .vector_norm import vector_norm

_REDUCTIONS = ("none", "mean", "sum")


# ---------------------------------------------------------------------------------------------------------------- losses
@composite(
    "binary_cross_entropy_with_logits.native(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=0) -> Tensor",
    forms=FUNCTION,
)
def binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction):
    """That of ``nn.functional``, with 0, 1 or 2 for no reduction, the mean or the sum."""
    return loss.binary_cross_entropy_with_logits(self, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight)


@composite("kl_div.native(Tensor self, Tensor target, int reduction=0, *, bool log_target=False) -> Tensor", forms=FUNCTION)
def kl_div(self, target, reduction, log_target):
    """The divergence, with 0, 1 or 2 for no reduction, the mean over elements or the sum."""
    return loss.divergence(self, target, _REDUCTIONS[reduction], log_target)


@composite(
    "poisson_nll_loss.native(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", forms=FUNCTION
)
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """That of ``nn.functional``, with 0, 1 or 2 for no reduction, the mean or the sum."""
    return lookup("poisson_nll_loss")(input, target, log_input, full, eps=eps, reduction=_REDUCTIONS[reduction])


@composite(
    "cosine_embedding_loss.native(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=0) -> Tensor", forms=FUNCTION
)
def cosine_embedding_loss(input1, input2, target, margin, reduction):
    """That of ``nn.functional``, with 0, 1 or 2 for no reduction, the mean or the sum."""
    return loss_margin.cosine_embedding_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


@composite("hinge_embedding_loss.native(Tensor self, Tensor target, float margin=1., int reduction=0) -> Tensor", forms=FUNCTION)
def hinge_embedding_loss(self, target, margin, reduction):
    """That of ``nn.functional``, with 0, 1 or 2 for no reduction, the mean or the sum."""
    return loss_margin.hinge_embedding_loss(self, target, margin, reduction=_REDUCTIONS[reduction])


@composite(
    "margin_ranking_loss.native(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=0) -> Tensor", forms=FUNCTION
)
def margin_ranking_loss(input1, input2, target, margin, reduction):
    """That of ``nn.functional``, with 0, 1 or 2 for no reduction, the mean or the sum."""
    return loss_margin.margin_ranking_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


@composite(
    "triplet_margin_loss.native(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=1e-06, bool swap=False, "
    "int reduction=0) -> Tensor",
    forms=FUNCTION,
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction):
    """That of ``nn.functional``, with 0, 1 or 2 for no reduction, the mean or the sum."""
    return loss_margin.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_REDUCTIONS[reduction])


# ---------------------------------------------------------------------------------------------------------------- norms
def _normalized(x: Any, dims: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """Elements less their mean and over their deviation; the mean and the reciprocal of the deviation, dimensions kept."""
    mean = x.mean(dims, True)
    away = x - mean
    scale = (away.square().mean(dims, True) + eps).rsqrt()
    return away * scale, mean, scale


def _moved(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@composite(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    forms=FUNCTION,
)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`nn.functional.layer_norm`, the means, and the reciprocals of the standard deviations."""
    result = lookup("layer_norm")(input, normalized_shape, weight, bias, eps)  # checks
    _, mean, scale = _normalized(input, tuple(range(-len(normalized_shape), 0)), eps)
    return result, mean.detach(), scale.detach()


@composite(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
    forms=FUNCTION,
)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`nn.functional.group_norm`, the means, and the reciprocals of the standard deviations, ``(N, group)``."""
    x, mean, scale = _normalized(input.reshape(N, group, C // group * HxW), (-1,), eps)
    shape = (1, C) + (1,) * (input.dim() - 2)
    moved = _moved(x.reshape(input.shape), *[None if t is None else t.reshape(shape) for t in (weight, bias)])
    return moved, mean.reshape(N, group), scale.reshape(N, group)


@composite(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    forms=FUNCTION,
)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`nn.functional.batch_norm`, and in training the means and the reciprocals of the standard deviations of the batch."""
    result = lookup("batch_norm")(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return result, input.new_empty(0), input.new_empty(0)
    _, mean, scale = _normalized(input, (0, *range(2, input.dim())), eps)
    return result, mean.detach().flatten(), scale.detach().flatten()


@composite("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", forms=FUNCTION)
def native_dropout(input, p, train):
    """The input with elements dropped and the others scaled, and a mask of those that were kept."""
    if train is False:
        return input.clone(), input.new_ones(input.shape, dtype=bool_)
    noise = dropout_noise(input, p)
    return input * noise, noise != 0


@composite("native_channel_shuffle(Tensor self, int groups) -> Tensor", forms=FUNCTION, namespaces=("", "nn.functional"))
def native_channel_shuffle(self, groups):
    """`nn.functional.channel_shuffle`."""
    return lookup("channel_shuffle")(self, groups)


@composite("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", forms=FUNCTION | OUT)
def frobenius_norm(self, dim, keepdim):
    """The square root of the sum of squares over one or two dimensions, or all."""
    return vector_norm(self, 2.0, dim or None, keepdim)


@composite("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", forms=FUNCTION | OUT)
def nuclear_norm(self, keepdim):
    """The sum of the singular values."""
    return lookup("matrix_norm.str_ord")(self, "nuc", (-2, -1), keepdim)


@composite("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", forms=FUNCTION | OUT)
def nuclear_norm_dim(self, dim, keepdim):
    """The sums of the singular values of the matrices in two dimensions."""
    return lookup("matrix_norm.str_ord")(self, "nuc", dim, keepdim)


# ---------------------------------------------------------------------------------------------------------------- methods as functions
@composite("detach_(Tensor(a!) self) -> Tensor(a!)", forms=FUNCTION)
def detach_(self):
    """Take a tensor off the tape."""
    return self.detach_()


@composite("index_put_.function(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)", forms=FUNCTION)
def index_put_(self, indices, values, accumulate):
    """Write at the positions that tensors of indices name."""
    return self.index_put_(indices, values, accumulate)


@composite("embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)", forms=FUNCTION)
def embedding_renorm_(self, indices, max_norm, norm_type):
    """Shorten the rows that are named and longer than ``max_norm`` to it."""
    return self.copy_(lookup("_rows_within")(self.detach(), indices, max_norm, norm_type))


@composite("dequantize(Tensor self) -> Tensor")
def dequantize(self):
    """The numbers that a quantized tensor stands for; a plain tensor in float32."""
    return self.float()


def _declare_copy(name: str) -> None:
    @composite(f"{name}_copy(Tensor self) -> Tensor", forms=FUNCTION | OUT)
    def copying(self):
        return lookup(name)(self).clone()

    copying.__doc__ = f"What `{name}` gives, as a copy."


_declare_copy("view_as_real")
_declare_copy("view_as_complex")
