"""Recurrent layers and cells: parameters and argument checks; the loop over time is in ``aten/rnn.py``."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from ...aten import rnn as kernels
from ...aten.create import empty, zeros
from ...tensors.tensor import Tensor
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

#: Mode -> how many blocks of ``hidden_size`` rows a weight stacks.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
#: Mode -> the network on padded and on packed input.
_KERNELS = {
    "LSTM": (kernels.lstm, kernels.lstm_packed), "GRU": (kernels.gru, kernels.gru_packed),
    "RNN_TANH": (kernels.rnn_tanh, kernels.rnn_tanh_packed), "RNN_RELU": (kernels.rnn_relu, kernels.rnn_relu_packed),
}  # fmt: skip


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """Weights of all layers and directions of a recurrent network.

    Args:
        proj_size: size to which an LSTM projects its hidden state; 0 for none.
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):  # type: ignore[operator]
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but got "
                f"dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = self._make_weights({"device": device, "dtype": dtype})
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _make_weights(self, where: dict) -> list[list[str]]:
        """Register the weights; returns their names, a list for each layer and direction."""
        rows = _GATES[self.mode] * self.hidden_size
        output_size = self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        all_names = []
        for layer in range(self.num_layers):
            for suffix in ("", "_reverse")[:directions]:
                features = self.input_size if layer == 0 else output_size * directions
                shapes: dict[str, Any] = {"weight_ih": (rows, features), "weight_hh": (rows, output_size)}
                if self.bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if self.proj_size:
                    shapes["weight_hr"] = (self.proj_size, self.hidden_size)
                names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(empty(shape, **where)))
                all_names.append(names)
        return all_names

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: there is no layout of weights that would run faster."""

    def reset_parameters(self) -> None:
        """Draw all weights in order, uniformly within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise torch's error when the input does not fit the weights."""
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: input.to({weight.dtype}), or "
                f"convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")
        if batch_sizes is None and input.size(1 if self.batch_first else 0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden state for this input."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of an LSTM's cell state for this input."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple, msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise torch's error when a state has another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise torch's error when input or state do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its batch entries in another order."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def _start(self, input: Tensor, layers: int, batch: int, size: int) -> Tensor:
        return zeros((layers, batch, size), dtype=input.dtype, device=input.device)

    def _run(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> tuple:
        """The network on padded or packed input: output and last states."""
        settings = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        padded, packed = _KERNELS[self.mode]
        if batch_sizes is None:
            return padded(input, hx, self._flat_weights, *settings, self.batch_first)
        return packed(input, batch_sizes, hx, self._flat_weights, *settings)

    def _forward(self, input: Any, hx: Tensor | None) -> tuple[Any, Tensor]:
        """The call of networks with one state, which is all but LSTM."""
        name = self._get_name()
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            layers, batch, size = self.get_expected_hidden_size(data, batch_sizes)
            hx = self._start(data, layers, batch, size) if hx is None else self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, hidden = self._run(data, batch_sizes, hx)
            return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), self.permute_hidden(hidden, unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D {'tensor ' if name == 'RNN' else ''}instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is not None:
            expected = 3 if batched else 2
            if hx.dim() != expected:
                kind = "batched" if batched else "unbatched"
                raise RuntimeError(f"For {kind} {expected}-D input, hx should also be {expected}-D but got {hx.dim()}-D tensor")
            hx = hx if batched else hx.unsqueeze(1)
        else:
            hx = self._start(input, *self.get_expected_hidden_size(input, None))
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(input, None, hx)
        return (output, hidden) if batched else (output.squeeze(batch_dim), hidden.squeeze(1))

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0), ("bidirectional", False)):
            value = getattr(self, name)
            if value != usual:
                parts.append(f"{name}={value}")
        return ", ".join(parts)

    def __getstate__(self) -> dict:
        # torch keeps the weights themselves beside their names, and needs them in a file.
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict) -> None:
        state = {name: value for name, value in state.items() if name not in ("_flat_weights", "_flat_weight_refs", "all_weights")}
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        self.__dict__.setdefault("_flat_weights_names", [name for names in self._all_weights for name in names])


class RNN(RNNBase):
    """``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over a sequence, or with relu.

    Args:
        nonlinearity: ``tanh`` or ``relu``.

    Shape:   input ``(L, N, input_size)`` -> output ``(L, N, directions * hidden_size)``, state ``(layers * directions, N, hidden_size)``
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self_nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self_nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self_nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_TANH" if self_nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)
        self.nonlinearity = self_nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._forward(input, hx)


class GRU(RNNBase):
    """Gated recurrent unit, arXiv:1406.1078.

    Shape:   input ``(L, N, input_size)`` -> output ``(L, N, directions * hidden_size)``, state ``(layers * directions, N, hidden_size)``
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._forward(input, hx)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997).

    Shape:   input ``(L, N, input_size)`` -> output ``(L, N, directions * H)``, states ``(layers * directions, N, H)`` and the cells' likewise
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else (_apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation))

    def _starts(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden = self._start(input, *self.get_expected_hidden_size(input, batch_sizes))
        return hidden, self._start(input, *self.get_expected_cell_size(input, batch_sizes))

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            hx = self._starts(data, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, *states = self._run(data, batch_sizes, list(hx))
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(tuple(states), unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._starts(input, None)
        else:
            expected = 3 if batched else 2
            if hx[0].dim() != expected or hx[1].dim() != expected:
                kind = "batched" if batched else "unbatched"
                raise RuntimeError(
                    f"For {kind} {expected}-D input, hx and cx should also be {expected}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
            if not batched:
                hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self.check_forward_args(input, hx, None)
        output, hidden, cell = self._run(input, None, list(hx))
        if batched:
            return output, (hidden, cell)
        return output.squeeze(batch_dim), (hidden.squeeze(1), cell.squeeze(1))


class RNNCellBase(Module):
    """Weights of one step of a recurrent network."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), **where))
        self.weight_hh = Parameter(empty((rows, hidden_size), **where))
        self.register_parameter("bias_ih", Parameter(empty(rows, **where)) if bias else None)
        self.register_parameter("bias_hh", Parameter(empty(rows, **where)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights in order, uniformly within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_dims(self, input: Tensor, states: dict[str, Tensor]) -> None:
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for label, state in states.items():
            if state.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {state.dim()}D instead")

    def _one_state(self, kernel: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """The call of cells with one state."""
        self._check_dims(input, {} if hx is None else {"hidden": hx})
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if hx is None:
            hx = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        output = kernel(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return output if batched else output.squeeze(0)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of an `RNN`."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._one_state(kernels.rnn_tanh_cell if self.nonlinearity == "tanh" else kernels.rnn_relu_cell, input, hx)


class GRUCell(RNNCellBase):
    """One step of a `GRU`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._one_state(kernels.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`: the new hidden and cell state."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check_dims(input, {} if hx is None else {"hx[0]": hx[0], "hx[1]": hx[1]})
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if hx is None:
            start = zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)
            hx = (start, start)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = kernels.lstm_cell(input, list(hx), self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))
