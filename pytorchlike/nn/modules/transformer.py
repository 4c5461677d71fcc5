"""The transformer, arXiv:1706.03762: encoder, decoder, and both together."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from ...amp.settings import is_autocast_enabled
from ...aten.create import full
from ...autograd.grad_mode import is_grad_enabled
from ...core.dtype import bool_
from ...tensors.tensor import Tensor
from .. import functional as F
from .. import init
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """``-inf`` above the diagonal: a position attends to itself and what is before it."""
    return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)


def _get_seq_len(src: Tensor, batch_first: bool) -> int | None:
    """The length of a sequence, batched or not."""
    return src.size(1 if batch_first and src.dim() != 2 else 0)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """What ``is_causal`` says; if it says nothing, whether the mask is the causal one of its size, which reads its numbers."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    causal = _generate_square_subsequent_mask(size if size is not None else mask.size(-2), device=mask.device, dtype=mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


class Transformer(Module):
    """Encoder and decoder.

    Args:
        norm_first: normalize before each block, not after it.
        batch_first: tensors are ``(N, L, E)``, not ``(L, N, E)``.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
        dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = F.relu, custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def final_norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, final_norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, final_norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        batched = src.dim() == 3
        if batched and src.size(0 if self.batch_first else 1) != tgt.size(0 if self.batch_first else 1):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask under which a position attends to itself and what is before it."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


def _why_not_nested(layer: Any) -> str:
    """Why torch has no fast way for a layer, in its words; "" if it has."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention: Any = layer.self_attn
    reasons = {
        "encoder_layer.norm_first was True": layer.norm_first,
        "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)": not attention.batch_first,
        "encoder_layer.self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "encoder_layer.self_attn was passed bias=False": attention.in_proj_bias is None,
        "encoder_layer.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "encoder_layer.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _without_padding(output: Tensor, padding: Tensor, right_only: bool) -> Tensor:
    """Zeros at padded positions.

    Args:
        right_only: only if all sequences have their padding at the end; decided on the device, where torch looks at the mask.
    """
    padded = padding if padding.dtype is bool_ else padding != 0
    if right_only:
        padded = padded & (padded[:, 1:] | ~padded[:, :-1]).all()
    return output.masked_fill(padded.unsqueeze(-1), 0.0)


class TransformerEncoder(Module):
    """A stack of encoder layers, all starting from copies of the given one.

    Args:
        enable_nested_tensor: in evaluation without gradients, the last layer's output is 0 at padded positions, as torch leaves them out; only for
            layers that torch has a fast way for (`use_nested_tensor`).
        mask_check: only if padding is on the right.
    """

    __constants__ = ["norm"]

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        if enable_nested_tensor and (reason := _why_not_nested(encoder_layer)):
            warnings.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}", stacklevel=2)
            self.use_nested_tensor = False

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None
    ) -> Tensor:
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and mask is None and self._leaves_padding_out(src):
            output = _without_padding(output, src_key_padding_mask, self.mask_check)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Tensor) -> bool:
        """Whether torch would take its fast way, on which padded positions do not exist."""
        first: Any = self.layers[0]
        if not getattr(self, "use_nested_tensor", False) or first.training or src.dim() != 3 or is_autocast_enabled(src.device.type):
            return False
        return not (is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())))


class TransformerDecoder(Module):
    """A stack of decoder layers, all starting from copies of the given one."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class _Named:
    """An activation function in a pickle: its own address names ``torch``, which need not be there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple:
        return _get_activation_fn, (self.name,)


class _WithActivation(Module):
    """A layer with an activation function, which is pickled by its name."""

    activation: Callable[[Tensor], Tensor]

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        for name in ("relu", "gelu"):
            if state.get("activation") is _get_activation_fn(name):
                state["activation"] = _Named(name)
        return state

    def __setstate__(self, state: dict) -> None:
        activation = state.get("activation", None if "activation" in state.get("_modules", {}) else "relu")
        super().__setstate__({**state, "activation": _get_activation_fn(activation)} if isinstance(activation, str) else state)


class TransformerEncoderLayer(_WithActivation):
    """Self-attention and a feed-forward network, each with a residual connection and a normalization."""

    __constants__ = ["norm_first"]

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        where = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        is_relu, is_gelu = activation is F.relu or isinstance(activation, ReLU), activation is F.gelu or isinstance(activation, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0
        self.activation = activation

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        attended = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal)
        return self.dropout1(attended[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_WithActivation):
    """Self-attention, attention to the encoder's output and a feed-forward network, each with a residual connection and a normalization."""

    __constants__ = ["norm_first"]

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        where = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **where)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, bias=bias, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        attended = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)
        return self.dropout1(attended[0])

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )
        return self.dropout2(attended[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
