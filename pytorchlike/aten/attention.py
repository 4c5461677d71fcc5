"""Scaled dot-product attention as one operator with rules of its own, and multi-head attention built on it.

Scores and weights of half-precision inputs are kept in float32, as torch's fused kernels do.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..dispatch.registry import FUNCTION, OPERATORS, composite, op
from .conv import c_name
from .matmul import FULL
from .random import dropout_noise
from .reduce import scalar_type, widened

_PUBLIC = ("nn.functional",)
#: The switches of torch's kernels (``torch.backends.cuda``, ``torch.nn.attention``); XLA has one attention, so they are only kept.
KERNELS = {"cudnn": True, "flash": True, "mem_efficient": True, "math": True, "overrideable": True}


# --- the operator -------------------------------------------------------------------------------------------------------------------


def _product(a, b):
    """``a @ b`` in the dtype that sums are kept in."""
    wide = jnp.float32 if a.dtype.itemsize == 2 else a.dtype
    return jnp.matmul(a, b, precision=FULL, preferred_element_type=wide)


def _swap(x):
    return jnp.swapaxes(x, -1, -2)


def _scale(scale: float | None, query) -> float:
    return 1 / math.sqrt(query.shape[-1]) if scale is None else scale


def _heads_of(x, query, enable_gqa: bool):
    """Keys or values repeated so that every query head has one."""
    repeats = query.shape[-3] // x.shape[-3] if enable_gqa else 1
    return jnp.repeat(x, repeats, -3) if repeats > 1 else x


def _shared_heads(g, like, enable_gqa: bool):
    """The gradient of `_heads_of`."""
    if not enable_gqa or g.shape[-3] == like.shape[-3]:
        return g
    heads = like.shape[-3]
    return g.reshape(*g.shape[:-3], heads, g.shape[-3] // heads, *g.shape[-2:]).sum(-3)


def _powers(query, key, attn_mask, is_causal: bool, scale: float | None, enable_gqa: bool):
    """The exponentials of the scores less their maximum, and their sums; rows whose scores are all masked are 0 and have sum 1."""
    scores = _product(query, _swap(_heads_of(key, query, enable_gqa))) * _scale(scale, query)
    if is_causal:
        rows, columns = (lax.broadcasted_iota(jnp.int32, scores.shape[-2:], axis) for axis in (0, 1))
        scores = jnp.where(columns <= rows, scores, -jnp.inf)
    if attn_mask is not None:
        scores = jnp.where(attn_mask, scores, -jnp.inf) if attn_mask.dtype == bool else scores + attn_mask.astype(scores.dtype)
    if scores.shape[-1] == 0:
        return scores, 1
    peak = lax.stop_gradient(jnp.max(scores, -1, keepdims=True))
    powers = jnp.exp(scores - jnp.where(jnp.isneginf(peak), 0, peak))
    total = jnp.sum(powers, -1, keepdims=True)
    return powers, jnp.where(total == 0, 1, total)


def _weights(query, key, attn_mask, is_causal: bool, scale: float | None, enable_gqa: bool):
    """The softmax of the scores; rows whose scores are all masked are 0."""
    powers, total = _powers(query, key, attn_mask, is_causal, scale, enable_gqa)
    return powers / total


def _score_gradient(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa):
    """The gradient of the scores, before the scale."""
    weights = _weights(query, key, attn_mask, is_causal, scale, enable_gqa)
    slope = _product(g, _swap(_heads_of(value, query, enable_gqa)))
    if noise is not None:
        slope = slope * widened(noise)
    return weights * (slope - jnp.sum(slope * weights, -1, keepdims=True))


@op(
    "_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor? noise, bool is_causal, float? scale, bool enable_gqa) "
    "-> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def attention(query, key, value, attn_mask, noise, is_causal, scale, enable_gqa):
    """Values averaged with the softmax of the scaled products of queries and keys.

    Args:
        attn_mask: False where a key is out of sight, or numbers added to the scores.
        noise: what dropout multiplies the weights with.
        enable_gqa: several query heads share one head of keys and values.
    """
    powers, total = _powers(query, key, attn_mask, is_causal, scale, enable_gqa)
    if noise is not None:
        powers = powers * widened(noise)
    return (_product(powers.astype(value.dtype), _heads_of(value, query, enable_gqa)) / total).astype(query.dtype)


@attention.grad("query")
def _(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa):
    slope = _score_gradient(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa)
    return _product(slope.astype(key.dtype), _heads_of(key, query, enable_gqa)) * _scale(scale, query)


@attention.grad("key")
def _(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa):
    slope = _score_gradient(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa)
    return _shared_heads(_product(_swap(slope).astype(query.dtype), query) * _scale(scale, query), key, enable_gqa)


@attention.grad("value")
def _(g, query, key, value_meta, attn_mask, noise, is_causal, scale, enable_gqa):
    weights = _weights(query, key, attn_mask, is_causal, scale, enable_gqa)
    if noise is not None:
        weights = weights * widened(noise)
    return _shared_heads(_product(_swap(weights).astype(g.dtype), g), value_meta, enable_gqa)


@attention.grad("attn_mask")
def _(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa):
    return _score_gradient(g, query, key, value, attn_mask, noise, is_causal, scale, enable_gqa)


def _check_broadcast(a, b) -> None:
    for d, (m, n) in enumerate(zip(a[::-1], b[::-1])):
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {max(len(a), len(b)) - 1 - d}"
            )


@attention.check
def _(query, key, value, attn_mask, noise, is_causal, scale, enable_gqa):
    dims = [len(t.shape) for t in (query, key, value)]
    if min(dims) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {dims[0]} key.dim: {dims[1]} "
            f"and value.dim: {dims[2]} instead."
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {c_name(query.dtype)} key.dtype: "
            f"{c_name(key.dtype)} and value.dtype: {c_name(value.dtype)} instead."
        )
    if not jnp.issubdtype(query.dtype, jnp.inexact):
        raise RuntimeError(f"expected scalar type Float but found {scalar_type(query.dtype)}")
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        if attn_mask.dtype not in (bool, jnp.float32, query.dtype):
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {c_name(attn_mask.dtype)} "
                f"and  query.dtype: {c_name(query.dtype)} instead."
            )
    key_lead, value_lead = list(key.shape[:-2]), list(value.shape[:-2])
    if enable_gqa:
        heads = [t.shape[-3] if len(t.shape) > 2 else 0 for t in (query, key, value)]
        if 0 in heads or heads[0] % heads[1] or heads[0] % heads[2]:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
        key_lead[-1] = value_lead[-1] = heads[0]
    lead = list(query.shape[:-2])
    _check_broadcast(lead + [1, 1], key_lead + [1, 1])
    if query.shape[-1] != key.shape[-1]:
        if max(dims[:2]) == 2:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({query.shape[0]}x{query.shape[1]} and {key.shape[1]}x{key.shape[0]})"
            )
        count = math.prod(jnp.broadcast_shapes(tuple(lead), tuple(key_lead)))
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {query.shape[-1]}] but got: [{count}, {key.shape[-1]}]."
        )
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"Expected key and value to have the same sequence length, but got {key.shape[-2]} and {value.shape[-2]}.")
    _check_broadcast(lead + [1, 1], value_lead + [1, 1])
    if attn_mask is not None:
        scores = [*jnp.broadcast_shapes(tuple(lead), tuple(key_lead)), query.shape[-2], key.shape[-2]]
        _check_broadcast(scores, list(attn_mask.shape))


@composite(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
    "float? scale=None, bool enable_gqa=False) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    """Attention of queries ``(*, L, E)`` over keys ``(*, S, E)`` and values ``(*, S, Ev)``: ``(*, L, Ev)``.

    Dropout is applied whenever ``dropout_p`` is above 0, in evaluation as well.
    """
    noise = None
    if dropout_p > 0:
        lead = jnp.broadcast_shapes(tuple(query.shape[:-2]), tuple(query.shape[:-2] if enable_gqa else key.shape[:-2]))
        noise = dropout_noise(query.new_empty((*lead, query.shape[-2], key.shape[-2])), dropout_p)
    return attention(query, key, value, attn_mask, noise, is_causal, scale, enable_gqa)


# --- multi-head attention -----------------------------------------------------------------------------------------------------------


def _check_multi_head(query, key, value, key_padding_mask, attn_mask, num_heads: int) -> bool:
    """Whether the call is batched, after torch's checks of the shapes."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor")
    batched = query.dim() == 3
    start = f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected "
    if not key.dim() == value.dim() == query.dim():
        raise AssertionError(
            f"{start}`key` and `value` to be {query.dim()}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"{start}`key_padding_mask` to be `None` or {query.dim() - 1}-D but found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"{start}`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
    if attn_mask is not None and not batched and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return batched


def _as_numbers(mask, name: str, like):
    """A mask of booleans (True: out of sight) as numbers to add; a floating mask as it is."""
    if mask is None or mask.is_floating_point():
        return mask
    if scalar_type(mask.dtype.numpy) != "bool" and scalar_type(mask.dtype.numpy) != "Bool":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return like.new_zeros(mask.shape).masked_fill(mask, -math.inf)


def _projected(query, key, value, in_proj_weight, in_proj_bias, weights):
    """Query, key and value after their input projections; one product serves several that are the same tensor."""
    linear, width = OPERATORS["linear"], query.shape[-1]
    if weights is None:
        parts = list(in_proj_weight.chunk(3))
        if query is key and key is value:
            return linear(query, in_proj_weight, in_proj_bias).chunk(3, -1)
    else:
        parts = list(weights)
    biases: Any = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    if weights is None and key is value:
        q = linear(query, parts[0], biases[0])
        bias = None if in_proj_bias is None else in_proj_bias.narrow(0, width, 2 * width)
        return (q, *linear(key, in_proj_weight.narrow(0, width, 2 * width), bias).chunk(2, -1))
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), parts, biases))


@composite(
    "multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? in_proj_weight, "
    "Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor out_proj_weight, "
    "Tensor? out_proj_bias, bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, "
    "bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, "
    "Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False) -> (Tensor, Tensor)",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
    out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
    use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
    average_attn_weights=True, is_causal=False,
):  # fmt: skip
    """Attention by several heads over (length, batch, embedding), and its weights if they are asked for.

    Returns:
        The output ``(L, N, E)`` and the weights ``(N, L, S)`` (``(N, heads, L, S)`` when they are not averaged) or None.
    """
    batched = _check_multi_head(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        is_causal = False
    key_padding_mask, attn_mask = _as_numbers(key_padding_mask, "key_padding_mask", query), _as_numbers(attn_mask, "attn_mask", query)
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    for name, weight, x in zip(("query", "key", "value"), separate or (), (query, key, value)):
        if tuple(weight.shape) != (width, x.shape[-1]):
            raise AssertionError(f"expecting {name} weights shape of {(width, x.shape[-1])}, but got {weight.shape}")
    q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias, separate)
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
        expected = (1 if attn_mask.shape[0] == 1 else batch * num_heads, length, key.shape[0])
        if tuple(attn_mask.shape) != expected:
            shown = expected[1:] if expected[0] == 1 else expected
            got = tuple(attn_mask.shape)[1:] if expected[0] == 1 else tuple(attn_mask.shape)
            raise RuntimeError(
                f"The shape of the {len(shown)}D attn_mask is {attn_mask.shape if len(got) == 3 else got}, but should be {shown}."
            )

    def split(x):  # (length, batch, width) -> (batch * heads, length, head)
        return x.contiguous().view(x.shape[0], batch * num_heads, head).transpose(0, 1)

    extra = 0
    if bias_k is not None and bias_v is not None:
        k, v, extra = _appended(k, bias_k.expand(1, batch, width), 0), _appended(v, bias_v.expand(1, batch, width), 0), 1
    q = split(q)
    k = split(k) if static_k is None else static_k
    v = split(v) if static_v is None else static_v
    if add_zero_attn:
        zeros = k.new_zeros((batch * num_heads, 1, head))
        k, v, extra = _appended(k, zeros, 1), _appended(v, zeros, 1), extra + 1
    source = k.shape[1]
    if extra:  # what was appended is always in sight
        pad = OPERATORS["pad"]
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, extra))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, extra))
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source):
            raise AssertionError(f"expecting key_padding_mask shape of {(batch, source)}, but got {key_padding_mask.shape}")
        padding = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, source)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    dropout_p = dropout_p if training else 0.0
    linear = OPERATORS["linear"]
    if need_weights:
        scores = (q * (1 / math.sqrt(head))).bmm(k.transpose(-2, -1))
        weights = (scores if attn_mask is None else scores + attn_mask).softmax(-1)
        if dropout_p > 0:
            weights = weights * dropout_noise(weights, dropout_p)
        mixed = weights.bmm(v).transpose(0, 1).contiguous().view(length * batch, width)
        output = linear(mixed, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.shape[0])
        weights = weights.view(batch, num_heads, length, source)
        weights = weights.mean(1) if average_attn_weights else weights
        return (output, weights) if batched else (output.squeeze(1), weights.squeeze(0))
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.shape[0] == 1 else attn_mask.view(batch, num_heads, -1, source)
    by_head = (x.view(batch, num_heads, x.shape[1], head) for x in (q, k, v))
    mixed = scaled_dot_product_attention(*by_head, attn_mask, dropout_p, is_causal)
    mixed = mixed.permute(2, 0, 1, 3).contiguous().view(length * batch, width)
    output = linear(mixed, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.shape[0])
    return (output if batched else output.squeeze(1)), None


def _appended(x, more, dim: int):
    return OPERATORS["cat"]([x, more], dim)
