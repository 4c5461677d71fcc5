"""Deep graphs, graphs that are freed, and what a pass needs in memory."""

from __future__ import annotations

import gc
import weakref

import pytest

import pytorchlike as ours
from tests.benchmarks import tape


@pytest.mark.parametrize("operator", [lambda y: y + 1, lambda y: y.view(1)], ids=["sums", "views"])
def test_a_graph_of_20000_nodes(operator) -> None:
    x = ours.ones(1, requires_grad=True)
    y = operator(x)
    first = weakref.ref(y.grad_fn)
    for _ in range(20_000):
        y = operator(y)
    loss = y.sum()
    loss.backward()
    assert x.grad.tolist() == [1.0]
    gc.disable()
    try:
        del y, loss
        assert first() is None
    finally:
        gc.enable()


def test_a_graph_is_freed_with_its_hooks_and_functions() -> None:
    class Twice(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * 2)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = ours.ones(3, requires_grad=True)
    y = Twice.apply(x.exp())
    y.retain_grad()
    z = y[:2].mul_(3).sum()
    nodes = [weakref.ref(n) for n in (y.grad_fn, z.grad_fn, z.grad_fn.next_functions[0][0])]
    z.backward(retain_graph=True)
    gc.collect()
    gc.disable()
    try:
        del y, z
        assert [n() for n in nodes] == [None] * 3
    finally:
        gc.enable()


def test_saved_values_go_with_the_pass() -> None:
    x = ours.ones(3, requires_grad=True)
    y = x.exp()
    z = y.exp().sum()
    value = weakref.ref(y._content())
    del y
    z.tolist()
    gc.disable()
    try:
        assert value() is not None
        z.backward()
        x.grad.tolist()
        assert value() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_memory_beside_jax() -> None:
    jax, mine, recomputed = tape.jax_bytes(), tape.our_bytes(), tape.our_bytes(4)
    assert mine < tape.MEMORY * jax and recomputed < 0.7 * jax


@pytest.mark.slow
def test_many_passes_do_not_grow_the_process() -> None:
    assert tape.growth(20_000) < 1_000_000
