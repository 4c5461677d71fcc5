"""Recurrent networks: the loop over time of one layer and direction is one operator; layers and directions are put together from it.

An operator takes its tensors as one list, ``input, states, w_ih, w_hh, [b_ih, b_hh], [w_hr], [lengths]``, so that one pass back through time
gives all gradients.  It returns, after the output and the last states, what that pass reads: the gates of every step and, for an LSTM, the
cells.  ``lengths`` freezes the state of a sequence outside its own steps; the output there is the frozen state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..dispatch.call import host_tensor
from ..dispatch.registry import FUNCTION, composite, lookup, op
from .matmul import FULL, check_same_dtype_mm
from .reduce import scalar_type
from .shape import cat, stack

__all__ = [
    "gru", "gru_cell", "gru_packed", "lstm", "lstm_cell", "lstm_packed", "rnn_relu", "rnn_relu_cell", "rnn_relu_packed", "rnn_tanh",
    "rnn_tanh_cell", "rnn_tanh_packed",
]  # fmt: skip


class _Layer(NamedTuple):
    """The list of a layer's tensors, by name."""

    input: Any
    states: tuple[Any, ...]
    w_ih: Any
    w_hh: Any
    b_ih: Any = None
    b_hh: Any = None
    w_hr: Any = None
    lengths: Any = None


def _named(tensors: list, states: int, biased: bool, projected: bool, masked: bool) -> _Layer:
    rest = iter(tensors)
    take = rest.__next__
    return _Layer(
        take(), tuple(take() for _ in range(states)), take(), take(), take() if biased else None, take() if biased else None,
        take() if projected else None, take() if masked else None,
    )  # fmt: skip


def _listed(layer: _Layer) -> list:
    """The inverse of `_named`."""
    fields = (layer.input, *layer.states, layer.w_ih, layer.w_hh, layer.b_ih, layer.b_hh, layer.w_hr, layer.lengths)
    return [field for field in fields if field is not None]


def _times(x: Any, w: Any) -> Any:
    return jnp.matmul(x, w.T, precision=FULL)


def _affine(x: Any, w: Any, *biases: Any) -> Any:
    result = _times(x, w)
    for bias in biases:
        if bias is not None:
            result = result + bias
    return result


def _mask(lengths: Any, step: Any) -> Any:
    return (step < lengths)[:, None]


def _held(mask: Any, new: tuple, old: tuple) -> tuple:
    return new if mask is None else tuple(jnp.where(mask, n, o) for n, o in zip(new, old))


def _run(layer: _Layer, gates: Any, step: Any, reverse: bool) -> tuple[tuple, Any]:
    """Scan over time.

    Args:
        gates: the inputs' share of every step's gates.
        step: (gates, states) -> (states, what the way back reads).
    """

    def advance(states: tuple, inputs: tuple) -> tuple:
        time, share = inputs
        new, saved = step(share, states)
        states = _held(None if layer.lengths is None else _mask(layer.lengths, time), new, states)
        return states, (*states, saved)

    return jax.lax.scan(advance, layer.states, (jnp.arange(gates.shape[0]), gates), reverse=reverse)


def _before(sequence: Any, first: Any, reverse: bool) -> Any:
    """The state before every step, from the states after them."""
    if reverse:
        return jnp.concatenate([sequence[1:], first[None]])
    return jnp.concatenate([first[None], sequence[:-1]])


def _run_back(layer: _Layer, grads: tuple, steps: tuple, back: Any, reverse: bool) -> tuple[tuple, Any]:
    """Scan back through time.

    Args:
        grads: gradients of the last states.
        steps: for every step, the gradients of the states after it, then what ``back`` reads.
        back: (gradients of the states after a step, what it reads) -> (gradients of the states before it, outputs).
    """
    count = len(grads)

    def retreat(later: tuple, inputs: tuple) -> tuple:
        time, *read = inputs
        total = tuple(g + own for g, own in zip(later, read[:count]))
        if layer.lengths is None:
            return back(total, read[count:])
        mask = _mask(layer.lengths, time)
        earlier, out = back(tuple(jnp.where(mask, g, jnp.zeros_like(g)) for g in total), read[count:])
        return tuple(e + jnp.where(mask, jnp.zeros_like(g), g) for e, g in zip(earlier, total)), out

    return jax.lax.scan(retreat, grads, (jnp.arange(layer.input.shape[0]), *steps), reverse=not reverse)


def _gradients(layer: _Layer, states: tuple, to_input: Any, to_hidden: Any, hidden_before: Any, w_hr: Any = None) -> list:
    """The gradients of a layer's tensors from those of its gates (the inputs' and the hidden states' share)."""
    return _listed(
        _Layer(
            jnp.matmul(to_input, layer.w_ih, precision=FULL), states, _over_time(to_input, layer.input), _over_time(to_hidden, hidden_before),
            None if layer.b_ih is None else to_input.sum((0, 1), dtype=to_input.dtype),
            None if layer.b_hh is None else to_hidden.sum((0, 1), dtype=to_hidden.dtype), w_hr, layer.lengths,
        )
    )  # fmt: skip


def _over_time(g: Any, x: Any) -> Any:
    return jnp.einsum("tbg,tbf->gf", g, x, precision=FULL)


# ---------------------------------------------------------------------------------------------------------------------------- LSTM


def _lstm_step(gates: Any, cell: Any, w_hr: Any) -> tuple[tuple, Any]:
    i, f, _, o = jnp.split(jax.nn.sigmoid(gates), 4, axis=-1)  # of all at once: few large operations are faster than many small ones
    g = jnp.tanh(jnp.split(gates, 4, axis=-1)[2])
    cell = f * cell + i * g
    hidden = o * jnp.tanh(cell)
    return (hidden if w_hr is None else _times(hidden, w_hr), cell), jnp.concatenate([i, f, g, o], axis=-1)


@op(
    "_lstm_layer(Tensor[] tensors, bool biased, bool projected, bool masked, bool reverse) -> "
    "(Tensor output, Tensor hidden, Tensor cell, Tensor gates, Tensor cells)",
    forms=FUNCTION, namespaces=(),
)  # fmt: skip
def lstm_layer(tensors, biased, projected, masked, reverse):
    """One layer and direction of an LSTM over ``(T, N, features)``."""
    layer = _named(tensors, 2, biased, projected, masked)
    gates = _affine(layer.input, layer.w_ih, layer.b_ih, layer.b_hh)

    def step(share: Any, states: tuple) -> tuple:
        return _lstm_step(share + _times(states[0], layer.w_hh), states[1], layer.w_hr)

    (hidden, cell), (output, cells, saved) = _run(layer, gates, step, reverse)
    return output, hidden, cell, saved, cells


@lstm_layer.grad("tensors")
def _(g, tensors, biased, projected, masked, reverse, result0, result3, result4):
    layer = _named(tensors, 2, biased, projected, masked)
    # What does not depend on later steps is computed for all steps at once.
    i, f, c, o = jnp.split(result3, 4, axis=-1)
    squashed = jnp.tanh(result4)
    slopes = jnp.stack([i * (1 - i), f * (1 - f), 1 - c * c, o * (1 - o)], axis=-2)
    of_cell = jnp.stack([c, _before(result4, layer.states[1], reverse), i], axis=-2) * slopes[..., :3, :]
    of_hidden, to_cell = squashed * slopes[..., 3, :], o * (1 - squashed * squashed)
    own = (g[3].reshape(slopes.shape) * slopes).reshape(result3.shape)

    def back(grads: tuple, read: Any) -> tuple:
        dh, dc = grads
        f, of_cell, of_hidden, to_cell, own = read
        dm = dh if layer.w_hr is None else jnp.matmul(dh, layer.w_hr, precision=FULL)
        dc = dc + dm * to_cell
        d = jnp.concatenate([dc[:, None] * of_cell, (dm * of_hidden)[:, None]], axis=1).reshape(own.shape) + own
        return (jnp.matmul(d, layer.w_hh, precision=FULL), dc * f), (d, dh)

    states, (d, dh) = _run_back(layer, (g[1], g[2]), (g[0], g[4], f, of_cell, of_hidden, to_cell, own), back, reverse)
    w_hr = None if layer.w_hr is None else _over_time(dh, o * squashed)
    return _gradients(layer, states, d, d, _before(result0, layer.states[0], reverse), w_hr)


# ----------------------------------------------------------------------------------------------------------------------------- GRU


def _gru_step(share: Any, own: Any, hidden: Any) -> tuple[Any, Any]:
    """The new state, and reset, update and new gates with the hidden state's share of the last."""
    xr, xz, xn = jnp.split(share, 3, axis=-1)
    hr, hz, hn = jnp.split(own, 3, axis=-1)
    r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
    n = jnp.tanh(xn + r * hn)
    return n + z * (hidden - n), jnp.concatenate([r, z, n, hn], axis=-1)


@op(
    "_gru_layer(Tensor[] tensors, bool biased, bool masked, bool reverse) -> (Tensor output, Tensor hidden, Tensor gates)",
    forms=FUNCTION, namespaces=(),
)  # fmt: skip
def gru_layer(tensors, biased, masked, reverse):
    """One layer and direction of a GRU over ``(T, N, features)``."""
    layer = _named(tensors, 1, biased, False, masked)

    def step(share: Any, states: tuple) -> tuple:
        hidden, saved = _gru_step(share, _affine(states[0], layer.w_hh, layer.b_hh), states[0])
        return (hidden,), saved

    (hidden,), (output, saved) = _run(layer, _affine(layer.input, layer.w_ih, layer.b_ih), step, reverse)
    return output, hidden, saved


@gru_layer.grad("tensors")
def _(g, tensors, biased, masked, reverse, result0, result2):
    layer = _named(tensors, 1, biased, False, masked)
    hidden_before = _before(result0, layer.states[0], reverse)

    def back(grads: tuple, read: Any) -> tuple:
        (dh,) = grads
        saved, g_saved, hidden = read
        r, z, n, hn = jnp.split(saved, 4, axis=-1)
        g_r, g_z, g_n, g_hn = jnp.split(g_saved, 4, axis=-1)
        dn = (dh * (1 - z) + g_n) * (1 - n * n)
        dz = (dh * (hidden - n) + g_z) * z * (1 - z)
        dr = (dn * hn + g_r) * r * (1 - r)
        to_hidden = jnp.concatenate([dr, dz, dn * r + g_hn], axis=-1)
        return (dh * z + jnp.matmul(to_hidden, layer.w_hh, precision=FULL),), (jnp.concatenate([dr, dz, dn], axis=-1), to_hidden)

    states, (to_input, to_hidden) = _run_back(layer, (g[1],), (g[0], result2, g[2], hidden_before), back, reverse)
    return _gradients(layer, states, to_input, to_hidden, hidden_before)


# ------------------------------------------------------------------------------------------------------------------- plain networks


def _squash(x: Any, relu: bool) -> Any:
    return jax.nn.relu(x) if relu else jnp.tanh(x)


@op(
    "_rnn_layer(Tensor[] tensors, bool relu, bool biased, bool masked, bool reverse) -> (Tensor output, Tensor hidden)",
    forms=FUNCTION, namespaces=(),
)  # fmt: skip
def rnn_layer(tensors, relu, biased, masked, reverse):
    """One layer and direction of a plain recurrent network over ``(T, N, features)``."""
    layer = _named(tensors, 1, biased, False, masked)

    def step(share: Any, states: tuple) -> tuple:
        return (_squash(share + _times(states[0], layer.w_hh), relu),), ()

    (hidden,), (output, _) = _run(layer, _affine(layer.input, layer.w_ih, layer.b_ih, layer.b_hh), step, reverse)
    return output, hidden


@rnn_layer.grad("tensors")
def _(g, tensors, relu, biased, masked, reverse, result0):
    layer = _named(tensors, 1, biased, False, masked)

    def back(grads: tuple, read: Any) -> tuple:
        (dh,) = grads
        (hidden,) = read
        d = jnp.where(hidden > 0, dh, jnp.zeros_like(dh)) if relu else dh * (1 - hidden * hidden)
        return (jnp.matmul(d, layer.w_hh, precision=FULL),), d

    states, d = _run_back(layer, (g[1],), (g[0], result0), back, reverse)
    return _gradients(layer, states, d, d, _before(result0, layer.states[0], reverse))


# --------------------------------------------------------------------------------------------------------------------------- cells


@op(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)", forms=FUNCTION
)
def lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """One step of an LSTM."""
    (hidden, cell), _ = _lstm_step(_affine(input, w_ih, b_ih) + _affine(hx[0], w_hh, b_hh), hx[1], None)
    return hidden, cell


@op("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", forms=FUNCTION)
def gru_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """One step of a GRU."""
    return _gru_step(_affine(input, w_ih, b_ih), _affine(hx, w_hh, b_hh), hx)[0]


@op("rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", forms=FUNCTION)
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """One step of a recurrent network with tanh."""
    return _squash(_affine(input, w_ih, b_ih) + _affine(hx, w_hh, b_hh), relu=False)


@op("rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor", forms=FUNCTION)
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """One step of a recurrent network with relu."""
    return _squash(_affine(input, w_ih, b_ih) + _affine(hx, w_hh, b_hh), relu=True)


def _check_cell(gates: int) -> Any:
    """torch's checks of a cell's sizes."""

    def check(input, hx, w_ih, w_hh, b_ih, b_hh):
        states = hx if isinstance(hx, (list, tuple)) else [hx]
        features = input.shape[1]
        if features != w_ih.shape[1]:
            raise RuntimeError(f"input has inconsistent input_size: got {features} expected {w_ih.shape[1]}")
        for number, state in enumerate(states):
            if input.shape[0] != state.shape[0]:
                raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{number if number else ''} batch size {state.shape[0]}")
            if state.shape[1] != w_hh.shape[0] // gates:
                raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {state.shape[1]}, expected {w_hh.shape[0] // gates}")
        for x, weight, bias in ((input, w_ih, b_ih), (states[0], w_hh, b_hh)):
            if x.dtype != weight.dtype and bias is not None:
                raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {scalar_type(x.dtype)} and {scalar_type(weight.dtype)}")
            check_same_dtype_mm(x, weight)

    return check


for _cell, _gates in ((lstm_cell, 4), (gru_cell, 3), (rnn_tanh_cell, 1), (rnn_relu_cell, 1)):
    _cell.check(_check_cell(_gates))


# ----------------------------------------------------------------------------------------------------- layers and directions together


class _Stack(NamedTuple):
    """How a network is built: what every layer and direction has in common."""

    kind: str
    states: tuple[Any, ...]
    params: list
    biased: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool


def _one_direction(kind: str, tensors: list, biased: bool, projected: bool, masked: bool, reverse: bool) -> tuple[Any, ...]:
    """Output and last states of one layer and direction."""
    if kind == "lstm":
        return lstm_layer(tensors, biased, projected, masked, reverse)[:3]
    if kind == "gru":
        return gru_layer(tensors, biased, masked, reverse)[:2]
    return tuple(rnn_layer(tensors, kind == "relu", biased, masked, reverse))


def _network(plan: _Stack, output: Any, lengths: Any) -> tuple[Any, ...]:
    """Run all layers over ``(T, N, features)``; returns the output and the last states of all layers and directions."""
    directions = 2 if plan.bidirectional else 1
    each = len(plan.params) // (plan.num_layers * directions)
    projected = each == (5 if plan.biased else 3)
    last: list[list] = [[] for _ in plan.states]
    for layer in range(plan.num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            weights = plan.params[number * each : (number + 1) * each]
            tensors = [output, *[state[number] for state in plan.states], *weights, *([] if lengths is None else [lengths])]
            result, *states = _one_direction(plan.kind, tensors, plan.biased, projected, lengths is not None, direction == 1)
            outputs.append(result)
            for kept, state in zip(last, states):
                kept.append(state)
        output = outputs[0] if directions == 1 else cat(outputs, -1)
        if plan.dropout and plan.train and layer < plan.num_layers - 1:
            output = lookup("dropout")(output, plan.dropout, True)
    return (output, *[stack(states, 0) for states in last])


def _padded(plan: _Stack, input: Any, batch_first: bool) -> tuple[Any, ...]:
    output, *states = _network(plan, input.transpose(0, 1) if batch_first else input, None)
    return (output.transpose(0, 1) if batch_first else output, *states)


def _packed(plan: _Stack, data: Any, batch_sizes: Any) -> tuple[Any, ...]:
    """Run on the padded form of a packed batch and pack the output again."""
    sizes = [int(n) for n in batch_sizes.tolist()]
    steps, batch = len(sizes), sizes[0]
    to_padded, to_packed, start = [], [], 0
    for time, size in enumerate(sizes):
        # Rows of the padding may hold anything: the state does not see them.
        to_padded += [start + b if b < size else 0 for b in range(batch)]
        to_packed += [time * batch + b for b in range(size)]
        start += size
    lengths = [sum(size > b for size in sizes) for b in range(batch)]
    padded = data.index_select(0, _longs(to_padded, data)).view(steps, batch, data.size(-1))
    output, *states = _network(plan, padded, _longs(lengths, data))
    return (output.reshape(steps * batch, output.size(-1)).index_select(0, _longs(to_packed, data)), *states)


def _longs(values: list[int], like: Any) -> Any:
    return host_tensor(np.array(values, np.int64), device=like.device)


_SETTINGS = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


@composite(f"lstm.input(Tensor input, Tensor[] hx, {_SETTINGS}, bool batch_first) -> (Tensor, Tensor, Tensor)", forms=FUNCTION)
def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """All layers of an LSTM: output, last hidden states, last cells."""
    return _padded(_Stack("lstm", tuple(hx), list(params), has_biases, num_layers, dropout, train, bidirectional), input, batch_first)


@composite(f"lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, {_SETTINGS}) -> (Tensor, Tensor, Tensor)", forms=FUNCTION)
def lstm_packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    """All layers of an LSTM over a packed batch."""
    return _packed(_Stack("lstm", tuple(hx), list(params), has_biases, num_layers, dropout, train, bidirectional), data, batch_sizes)


def _one_state_network(name: str, kind: str) -> tuple[Any, Any]:
    """Declare a network with one state, for padded and for packed input."""

    @composite(f"{name}.input(Tensor input, Tensor hx, {_SETTINGS}, bool batch_first) -> (Tensor, Tensor)", forms=FUNCTION)
    def padded(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        """All layers of the network: output and last states."""
        return _padded(_Stack(kind, (hx,), list(params), has_biases, num_layers, dropout, train, bidirectional), input, batch_first)

    @composite(f"{name}.data(Tensor data, Tensor batch_sizes, Tensor hx, {_SETTINGS}) -> (Tensor, Tensor)", forms=FUNCTION)
    def packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        """All layers of the network over a packed batch: output and last states."""
        return _packed(_Stack(kind, (hx,), list(params), has_biases, num_layers, dropout, train, bidirectional), data, batch_sizes)

    return padded, packed


gru, gru_packed = _one_state_network("gru", "gru")
rnn_tanh, rnn_tanh_packed = _one_state_network("rnn_tanh", "tanh")
rnn_relu, rnn_relu_packed = _one_state_network("rnn_relu", "relu")
