"""Every layer of the table against torch's: signature, repr, state, values, gradients, copies."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
import torch

import pytorchlike
from pytorchlike.graph import executors

from .layers import IMMEDIATE, LAYERS, Floats, Layer

NAMES = sorted({entry.name for entry in LAYERS})


def _pair(entry: Layer):
    """Our layer and torch's, from the same seed."""
    pytorchlike.manual_seed(3)
    ours = getattr(pytorchlike.nn, entry.name)(*entry.args, **entry.kwargs)
    torch.manual_seed(3)
    theirs = getattr(torch.nn, entry.name)(*entry.args, **entry.kwargs)
    return ours, theirs


def _inputs(entry: Layer):
    random = np.random.default_rng(0)
    arrays = [spec.draw(random) for spec in entry.inputs]
    ours, theirs = [pytorchlike.tensor(a) for a in arrays], [torch.tensor(a) for a in arrays]
    for spec, a, b in zip(entry.inputs, ours, theirs):
        if isinstance(spec, Floats) and entry.grad:
            a.requires_grad_()
            b.requires_grad_()
    return ours, theirs


def _tensors(result):
    if hasattr(result, "detach"):
        return [result]
    return [t for item in result if item is not None for t in _tensors(item)]


def _same(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("entry", LAYERS, ids=str)
def test_layer_equals_torchs(entry):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = _pair(entry)
        assert repr(ours) == repr(theirs)
        _same_state(ours, theirs)
        inputs, their_inputs = _inputs(entry)
        results, their_results = _tensors(ours(*inputs)), _tensors(theirs(*their_inputs))
        assert len(results) == len(their_results)
        for a, b in zip(results, their_results):
            _same(a, b)
        _same_state(ours, theirs)
        if entry.grad:
            _same_gradients(ours, theirs, inputs, their_inputs, results, their_results)


@pytest.mark.parametrize("entry", IMMEDIATE, ids=str)
def test_layer_of_the_immediate_executor(entry):
    with executors.immediate():
        test_layer_equals_torchs(entry)


def _same_state(ours, theirs):
    state, their_state = ours.state_dict(), theirs.state_dict()
    assert list(state) == list(their_state)
    assert dict(state._metadata) == dict(their_state._metadata)
    assert list(ours._parameters) == list(theirs._parameters)
    assert list(ours._buffers) == list(theirs._buffers)
    for name in state:
        _same(state[name], their_state[name])


def _same_gradients(ours, theirs, inputs, their_inputs, results, their_results):
    # Random weights: the sum of squares of something normalized has a gradient of zero, which is all rounding.
    random = np.random.default_rng(1)
    weights = [random.standard_normal(tuple(r.shape)).astype(np.float32) for r in their_results]
    for library, outputs in ((pytorchlike, results), (torch, their_results)):
        terms = [(r * library.tensor(w)).sum() for r, w in zip(outputs, weights) if r.requires_grad]
        if terms:
            sum(terms[1:], terms[0]).backward()
    pairs = zip([*inputs, *ours.parameters()], [*their_inputs, *theirs.parameters()])
    for a, b in pairs:
        assert (a.grad is None) == (b.grad is None)
        if b.grad is not None:
            _same(a.grad, b.grad)


@pytest.mark.parametrize("name", NAMES)
def test_signature_equals_torchs(name):
    mine, their = (inspect.signature(getattr(m, name).__init__).parameters for m in (pytorchlike.nn, torch.nn))
    assert list(mine) == list(their)
    for a, b in zip(mine.values(), their.values()):
        assert a.kind == b.kind, a
        if not callable(b.default):
            assert a.default == b.default, a


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "BatchNorm2d", "LSTM", "Transformer", "Embedding"])
def test_copies_have_the_same_state(name):
    entry = next(e for e in LAYERS if e.name == name)
    layer = getattr(pytorchlike.nn, name)(*entry.args, **entry.kwargs)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
        for (key, a), (other_key, b) in zip(layer.state_dict().items(), other.state_dict().items(), strict=True):
            assert key == other_key
            assert a is not b
            np.testing.assert_array_equal(a.numpy(), b.numpy())


LAZY = sorted(name for name in dir(torch.nn) if name.startswith("Lazy"))


@pytest.mark.parametrize("name", LAZY)
def test_lazy_layer_takes_its_shape_from_the_first_input(name):
    kwargs = {"out_features": 3} if name == "LazyLinear" else {"out_channels": 3, "kernel_size": 2} if "Conv" in name else {}
    places = int(name[-2]) if name[-1] == "d" else 0
    array = np.random.default_rng(0).standard_normal((2, 4, *[5] * places)).astype(np.float32)
    made, seen, results = [], [], []
    for library in (pytorchlike, torch):
        library.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            layer = getattr(library.nn, name)(**kwargs)
            assert layer.has_uninitialized_params() or name.startswith("LazyInstance")
            before = [(key, type(value).__name__) for key, value in layer.state_dict().items()]
        result = layer(library.tensor(array))
        made.append(layer)
        seen.append((before, repr(layer), type(layer).__name__))
        results.append(result)
    assert seen[0] == seen[1] and seen[0][2] == name.removeprefix("Lazy")
    _same(*results)
    _same_state(*made)


@pytest.mark.parametrize("library", [pytorchlike, torch])
def test_parameters_without_a_shape_compute_nothing(library):
    weight = library.nn.LazyLinear(2).weight
    for call in (weight.detach, lambda: weight + 1, lambda: library.add(weight, 1), weight.numel):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            call()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        print(weight.shape)
    assert (weight.dtype, weight.requires_grad, weight.to(library.float64).dtype) == (library.float32, True, library.float64)


def test_packed_sequences_run_through_recurrent_layers():
    random = np.random.default_rng(1)
    array, lengths = random.standard_normal((5, 3, 4)).astype(np.float32), [2, 5, 3]
    answers = []
    for library in (pytorchlike, torch):
        library.manual_seed(0)
        rnn = library.nn.utils.rnn
        layer = library.nn.LSTM(4, 3, num_layers=2, bidirectional=True)
        packed = rnn.pack_padded_sequence(library.tensor(array), lengths, enforce_sorted=False)
        output, (hidden, cell) = layer(packed)
        padded, sizes = rnn.pad_packed_sequence(output)
        answers.append([padded, sizes, hidden, cell, packed.data, packed.batch_sizes, *rnn.unpack_sequence(packed)])
    for a, b in zip(*answers, strict=True):
        _same(a, b)


def test_bags_divide_gradients_by_the_frequency_of_each_index():
    # torch's CPU kernel takes the frequency of the wrong index where a batch names several; its Embedding does not.
    indices = pytorchlike.tensor([[1, 1, 2], [3, 1, 1]])
    grads = []
    for build in (
        lambda w: pytorchlike.nn.functional.embedding_bag(indices, w, scale_grad_by_freq=True),
        lambda w: pytorchlike.nn.functional.embedding(indices, w, scale_grad_by_freq=True).mean(1),
    ):
        weight = pytorchlike.arange(20.0).view(5, 4).requires_grad_()
        (build(weight) * pytorchlike.arange(8.0).view(2, 4)).sum().backward()
        grads.append(weight.grad.numpy())
    np.testing.assert_allclose(*grads, rtol=1e-6)
    assert grads[0][2, 3] == 1.0  # 3 / 3 elements, once
