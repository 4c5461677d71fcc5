"""``torch.nn.quantizable``: recurrent layers and attention made of parts that a quantization tool can replace; they compute in floats."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

from ..aten.create import zeros
from ..aten.pointwise import tanh
from ..aten.shape import cat, flip, stack
from ..core import dtype as dtypes
from ..tensors.tensor import Tensor
from . import functional as F
from .modules import activation
from .modules.activation import Sigmoid, Tanh
from .modules.container import ModuleDict, ModuleList
from .modules.linear import Linear
from .modules.module import Module
from .quantized import FloatFunctional

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]

_GATES = ("input", "forget", "cell", "output")
_State = tuple[Tensor, Tensor]


class _Stub(Module):
    """Where a tool puts the step between floats and integers; hands its input on."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class QuantStub(_Stub):
    """The place of a step from floats to integers."""


class DeQuantStub(_Stub):
    """The place of a step from integers to floats."""


class LSTMCell(Module):
    """`torch.nn.LSTMCell` made of two `Linear` layers.

    Args:
        split_gates: a layer for each gate.
    """

    __constants__ = ["split_gates"]
    igates: Any
    hgates: Any
    gates: Any

    def __init__(
        self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None, dtype: Any = None, *, split_gates: bool = False
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.input_size, self.hidden_size, self.bias, self.split_gates = input_dim, hidden_dim, bias, split_gates
        if split_gates:
            self.igates, self.hgates, self.gates = ModuleDict(), ModuleDict(), ModuleDict()
            for gate in _GATES:
                self.igates[gate] = Linear(input_dim, hidden_dim, **where)
                self.hgates[gate] = Linear(hidden_dim, hidden_dim, **where)
                self.gates[gate] = FloatFunctional()
        else:
            self.igates = Linear(input_dim, 4 * hidden_dim, **where)
            self.hgates = Linear(hidden_dim, 4 * hidden_dim, **where)
            self.gates = FloatFunctional()
        self.input_gate, self.forget_gate, self.cell_gate, self.output_gate = Sigmoid(), Sigmoid(), Tanh(), Sigmoid()
        self.fgate_cx, self.igate_cgate, self.fgate_cx_igate_cgate, self.ogate_cy = (FloatFunctional() for _ in range(4))
        self.initial_hidden_state_qparams = self.initial_cell_state_qparams = (1.0, 0)

    def forward(self, x: Tensor, hidden: _State | None = None) -> _State:
        """The next hidden and cell states."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0])
        hx, cx = hidden
        if self.split_gates:
            parts = [self.gates[gate].add(self.igates[gate](x), self.hgates[gate](hx)) for gate in _GATES]
        else:
            parts = self.gates.add(self.igates(x), self.hgates(hx)).chunk(4, 1)
        taken, kept, cell, shown = (
            gate(part) for gate, part in zip((self.input_gate, self.forget_gate, self.cell_gate, self.output_gate), parts)
        )
        new_cell = self.fgate_cx_igate_cgate.add(self.fgate_cx.mul(kept, cx), self.igate_cgate.mul(taken, cell))
        return self.ogate_cy.mul(shown, tanh(new_cell)), new_cell

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> _State:
        """States of zeros.

        Raises:
            NotImplementedError: quantized ones.
        """
        if is_quantized:
            raise NotImplementedError("torch.nn.quantizable.LSTMCell: there are no quantized tensors in pytorchlike")
        return zeros((batch_size, self.hidden_size)), zeros((batch_size, self.hidden_size))

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"


class _LSTMSingleLayer(Module):
    """A cell along a sequence."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.cell = LSTMCell(*args, **kwargs)

    def forward(self, x: Tensor, hidden: _State | None = None) -> tuple[Tensor, _State | None]:
        results = []
        for step in x:
            hidden = self.cell(step, hidden)
            results.append(hidden[0])
        return stack(results, 0), hidden


class _LSTMLayer(Module):
    """One layer, in one or both directions; sequences come first."""

    def __init__(self, *args: Any, bidirectional: bool, **kwargs: Any) -> None:
        super().__init__()
        self.batch_first = False
        self.bidirectional = bidirectional
        self.layer_fw = _LSTMSingleLayer(*args, **kwargs)
        if bidirectional:
            self.layer_bw = _LSTMSingleLayer(*args, **kwargs)

    def forward(self, x: Tensor, hidden: _State) -> tuple[Tensor, Any]:
        if not self.bidirectional:
            return self.layer_fw(x, hidden)
        (hx, hx_back), (cx, cx_back) = hidden
        forth, state = self.layer_fw(x, (hx, cx))
        back, state_back = self.layer_bw(flip(x, (0,)), (hx_back, cx_back))
        result = cat([forth, flip(back, (0,))], forth.dim() - 1)
        return result, tuple(stack(pair, 0) for pair in zip(state, state_back))


class LSTM(Module):
    """`torch.nn.LSTM` made of `LSTMCell`; it begins in evaluation mode, and drops nothing out."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, device: Any = None, dtype: Any = None, *, split_gates: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.training = False
        if not isinstance(dropout, Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0:
            warnings.warn(
                "dropout option for quantizable LSTM is ignored. If you are training, please, use nn.LSTM version followed by `prepare` step.",
                stacklevel=2,
            )
        self.layers = ModuleList(
            _LSTMLayer(size, hidden_size, bias, device, dtype, split_gates=split_gates, bidirectional=bidirectional)
            for size in (input_size, *[hidden_size] * (num_layers - 1))
        )

    def forward(self, x: Tensor, hidden: Any = None) -> tuple[Tensor, _State]:
        """The outputs, and the last hidden and cell states of all layers."""
        if self.batch_first:
            x = x.transpose(0, 1)
        states: list[_State] = []
        for layer, first in zip(self.layers, self._first_states(x, hidden)):
            x, state = layer(x, first)
            states.append(state)
        last = tuple(stack(each) for each in zip(*states))
        hx, cx = (each.reshape(-1, each.shape[-2], each.shape[-1]) for each in last)
        return (x.transpose(0, 1) if self.batch_first else x), (hx, cx)

    def _first_states(self, x: Tensor, hidden: Any) -> Sequence[_State]:
        directions, batch = 1 + self.bidirectional, x.size(1)
        if hidden is None:
            empty = zeros(directions, batch, self.hidden_size, dtype=dtypes.float32, device=x.device).squeeze(0)
            return [(empty, empty)] * self.num_layers
        if not isinstance(hidden[0], Tensor):
            return hidden
        hx, cx = (part.reshape(self.num_layers, directions, batch, self.hidden_size) for part in hidden)
        return [(hx[k].squeeze(0), cx[k].squeeze(0)) for k in range(self.num_layers)]

    def _get_name(self) -> str:
        return "QuantizableLSTM"


class MultiheadAttention(activation.MultiheadAttention):
    """`torch.nn.MultiheadAttention` with a `Linear` each for queries, keys and values.

    With ``batch_first`` and several heads torch's result has its elements in disorder; this one is that of sequences first.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False,
        kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype)
        where: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.linear_Q = Linear(self.embed_dim, self.embed_dim, **where)
        self.linear_K = Linear(self.kdim, self.embed_dim, **where)
        self.linear_V = Linear(self.vdim, self.embed_dim, **where)
        self.out_proj = Linear(self.embed_dim, self.embed_dim, **where)  # type: ignore[assignment]
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output, self.quant_attn_output_weights = QuantStub(), QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = DeQuantStub(), DeQuantStub(), DeQuantStub()

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The attended values, and the weights if they are needed."""
        if is_causal:
            raise AssertionError("Only allow causal mask or attn_mask" if attn_mask is not None else "causal mask not supported by AO MHA module")
        if self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        layers = (self.linear_Q, self.linear_K, self.linear_V)
        bias = None if self.linear_Q.bias is None else cat([layer.bias for layer in layers])
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, None, bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, use_separate_proj_weight=True, q_proj_weight=layers[0].weight,
            k_proj_weight=layers[1].weight, v_proj_weight=layers[2].weight,
        )  # fmt: skip
        return (output.transpose(0, 1) if self.batch_first else output), weights

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"
