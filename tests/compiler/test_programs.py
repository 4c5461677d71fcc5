"""The tables of layers and of programs that other tests compare with torch's, each called through `compile`: captured, perhaps captured again, replayed.

Here the reference is the same code run eagerly, which those tests compare with torch.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pytorchlike as torch
from tests.autograd.outcomes import assert_close, outcome
from tests.nn.layers import LAYERS, Floats, Layer

#: One in so many is tested by default; the others are slow.
_EVERY = 8
_CALLS = 3

FILES = (
    "autograd.test_graph", "autograd.test_hooks", "autograd.test_view_writes", "autograd.test_function", "autograd.test_accumulate",
    "autograd.test_function_backward", "autograd.test_gradients_api", "autograd.test_anomaly_mode", "autograd.test_vmap", "autograd.test_variable",
    "func.test_forward", "func.test_jacobian", "func.test_reverse", "utils.test_checkpoint",
)  # fmt: skip
PROGRAMS: list[Callable] = [program for name in FILES for program in importlib.import_module(f"tests.{name}").PROGRAMS]
#: What these say is different where something is compiled, as in torch.
_TELLS_APART = {"memory_budgets"}


def part_by_default(cases: list, name: Callable[[Any], str]) -> list:
    """The cases as parameters, most of them slow."""
    return [pytest.param(case, id=name(case), marks=() if k % _EVERY == 0 else pytest.mark.slow) for k, case in enumerate(cases)]


# -- layers --------------------------------------------------------------------------------------------------------------------------------


def _inputs(entry: Layer) -> list[Any]:
    random = np.random.default_rng(0)
    made = [(spec, torch.tensor(spec.draw(random))) for spec in entry.inputs]
    return [tensor.requires_grad_() if isinstance(spec, Floats) and entry.grad else tensor for spec, tensor in made]


def _tensors(result: Any) -> list[Any]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [] if result is None else [t for item in result for t in _tensors(item)]


def _training(entry: Layer, wrap: Callable) -> tuple[list[Any], Any]:
    """Results, gradients and state after each of some calls; and what was called."""
    torch.manual_seed(3)
    layer = getattr(torch.nn, entry.name)(*entry.args, **entry.kwargs)
    called, inputs, found = wrap(layer), _inputs(entry), []
    for call in range(_CALLS + 1):
        if call == _CALLS:
            layer.eval()  # guarded: the last call is captured anew where the layer looks at its mode
        results = _tensors(called(*inputs))
        differentiable = [r for r in results if r.requires_grad]
        if entry.grad and differentiable:
            weights = [torch.sin(torch.arange(r.numel(), dtype=r.dtype)).view(r.shape) for r in differentiable]
            torch.autograd.backward([(r * w).sum() for r, w in zip(differentiable, weights)])
        found.append([[r.detach() for r in results], [p.grad for p in [*inputs, *layer.parameters()]], [s.clone() for s in layer.state_dict().values()]])
        found[-1][1] = [None if g is None else g.clone() for g in found[-1][1]]
    return found, called


@pytest.mark.parametrize("entry", part_by_default(LAYERS, str))
def test_compiled_layer(entry):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = _training(entry, lambda layer: layer)
        found, called = _training(entry, torch.compile)
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-5, equal_nan=True)
    inner = called._compiled
    assert inner.breaks or any(replay.runs for replay in inner.replays), inner.misses


# -- programs ------------------------------------------------------------------------------------------------------------------------------


def _outcomes(program: Callable) -> list[Any]:
    torch.manual_seed(0)
    return [outcome(program, torch)[0] for _ in range(_CALLS)]  # without the warnings, which a replay does not repeat


@pytest.mark.parametrize("program", part_by_default([p for p in PROGRAMS if p.__name__ not in _TELLS_APART], lambda p: p.__name__))
def test_compiled_program(program):
    expected = _outcomes(program)
    assert_close(_outcomes(torch.compile(program)), expected)
