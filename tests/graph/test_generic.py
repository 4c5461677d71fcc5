"""Programs traced once for all sizes agree with those traced for each."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike.core.state import thread
from pytorchlike.graph import generic, instruction, tiers
from pytorchlike.graph.instruction import Instruction, Traced
from pytorchlike.graph.recorder import record

F = torch.nn.functional


@pytest.fixture(autouse=True)
def interpreted():
    if thread.state.immediate:
        pytest.skip("about the deferred executor")
    with tiers.forced(tiers.INTERPRETED):
        yield


def _attention(n: int, x: torch.Tensor) -> torch.Tensor:
    q = x.reshape(2, n, 2, 3).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q * 2, q + 1, is_causal=True)


#: size -> result of a tensor of size (2, n, 6)
CALLS = {
    "arithmetic": lambda n, x: (x * 2 + x.mean(1, keepdim=True)) / x.std(),
    "linear": lambda n, x: F.linear(x, torch.ones(5, 6), torch.ones(5)).relu(),
    "layer_norm": lambda n, x: F.layer_norm(x, (6,)),
    "softmax": lambda n, x: x.log_softmax(1) * x.softmax(-1),
    "attention": _attention,
    "products": lambda n, x: x @ x.mT,
    "cat": lambda n, x: torch.cat([x, x[:, :2], x], 1).cumsum(1),
    "convolution": lambda n, x: F.conv1d(x.mT, torch.ones(4, 6, 3), padding=1),
    "pooling": lambda n, x: F.max_pool1d(x.mT, 2) + F.avg_pool1d(x.mT, 2),
    "resizing": lambda n, x: F.interpolate(x.mT, scale_factor=2.0, mode="nearest"),
    "embedding": lambda n, x: F.embedding((x[..., 0] > 0).long() + torch.arange(n) % 3, torch.arange(20.0).reshape(5, 4)) * x[..., :4],
    "squares": lambda n, x: F.embedding(torch.arange(n * n).reshape(n, n) % 5, torch.arange(30.0).reshape(5, 6)).sum(0) * x,
    "loss": lambda n, x: F.cross_entropy(x.reshape(-1, 6), torch.arange(2 * n) % 6),
    "sorting": lambda n, x: x.sort(1).values + x.flip(1) + x.topk(2, 1).values.sum(),
    "windows": lambda n, x: x.unfold(1, 2, 1).sum(-1) + x[:, 1:] * x[:, :-1],
    "masks": lambda n, x: x.masked_fill(torch.ones(n, n).tril()[:, :1].bool(), 0.5).roll(1, 1),
    "norms": lambda n, x: F.batch_norm(x.mT, torch.zeros(6), torch.ones(6), training=True) + F.group_norm(x.mT, 2),
    "einsum": lambda n, x: torch.einsum("bnd,bmd->bnm", x, x).tril() + torch.eye(n),
    "scatter": lambda n, x: torch.zeros(2, n, 6).index_add(1, torch.arange(n).flip(0), x).amax(1),
}
SIZES = [5, 9, 11, 7, 13, 6, 2, 1, 3, 8, 20]
SMALLEST = {"pooling": 2, "sorting": 2, "windows": 2}


def _outcome(call, n: int) -> list[np.ndarray]:
    x = torch.from_numpy(np.random.default_rng(n).normal(size=(2, n, 6)).astype(np.float32)).requires_grad_()
    result = call(n, x)
    result.square().sum().backward()
    return [np.asarray(result.tolist()), np.asarray(x.grad.tolist())]


@pytest.mark.parametrize("name", CALLS)
def test_sizes_one_after_the_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "_families", {})
    _forget_traces()
    sizes = [n for n in SIZES if n >= SMALLEST.get(name, 1)]
    found = [_outcome(CALLS[name], n) for n in sizes]
    patterns = sum(len(family.patterns) for family in generic._families.values())
    assert patterns, "nothing was traced for all sizes"
    monkeypatch.setattr(Instruction, "_trace", _trace_for_numbers)
    _forget_traces()
    for n, generic_outcome in zip(sizes, found, strict=True):
        for mine, expected in zip(generic_outcome, _outcome(CALLS[name], n), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-5, err_msg=f"size {n}")


def _forget_traces() -> None:
    torch.graph.forget_programs()
    for made in {made for made, _ in list(instruction._traced)}:
        made._traced.clear()
        made._inferred.clear()


def _trace_for_numbers(self: Instruction, avals):
    closed, outputs = self._jaxpr(self.call, avals)
    return Traced(outputs, lambda: closed)


def test_what_depends_on_a_size_in_python_is_traced_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that makes something of a size that is not defined for symbols."""
    monkeypatch.setattr(generic, "_families", {})
    made = Instruction("halves", lambda x: x[: int(x.shape[0]) // 2] * int(x.shape[0]))
    for n in (4, 6, 8, 10):
        value = torch.arange(float(n))._content()
        (result,) = made.infer((value.aval,)).outputs
        assert result.size == (n // 2,)
    assert not any(family.patterns for family in generic._families.values())


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: x[: int(x.shape[0]) // 2]], ids=["for all sizes", "for each size"])
def test_tracing_keeps_no_values_alive(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's errors over symbols are cycles that hold the frames below them; the collector is off here, as it may be for long."""
    monkeypatch.setattr(generic, "_families", {})
    made = Instruction("kept", function)
    gc.collect()
    gc.disable()
    try:
        for n in (4, 6, 8, 10, 12, 14):
            x = torch.ones(n) + 1
            (result,) = record(made, (x._content(),))
            value = weakref.ref(x._content())
            del x
            torch.graph.flush_all()
            assert value() is None, n
    finally:
        gc.enable()
    del result


def test_numbers_that_coincide_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program for all sizes is not asked where a size equals another one."""
    monkeypatch.setattr(generic, "_families", {})
    same = Instruction("same", lambda x, y: x.sum() if x.shape == y.shape else x.sum() + y.sum())
    for n in (4, 5, 6, 7, 8):
        x, y = torch.ones(n)._content(), torch.ones(n + 3)._content()
        same.infer((x.aval, y.aval))
    assert any(family.patterns for family in generic._families.values())
    x = torch.ones(9)._content()
    traced = same.infer((x.aval, x.aval)).traced
    assert traced is not None and traced.sizes is None
