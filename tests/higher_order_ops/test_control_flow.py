"""Control flow with functions of tensors: values, gradients and errors are torch's; in compiled functions and transformations, too."""

from __future__ import annotations

import gc

import jax
import numpy as np
import pytest
import torch as real
import torch._higher_order_ops as real_operators

import pytorchlike as torch
from pytorchlike import _higher_order_ops as operators
from pytorchlike.interop.jax import pure

pytestmark = pytest.mark.filterwarnings("ignore")  # torch compiles its own, and warns
BOTH = [(torch, operators), (real, real_operators)]


def _compare(case):
    ours, theirs = (case(t, h) for t, h in BOTH)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def _cond(t, h, which):
    w, x = t.linspace(1, 2, 3).requires_grad_(), t.arange(6.0).reshape(2, 3).requires_grad_()
    first = w[0]  # a view of a leaf is taken from outside
    branches = (lambda x: (x * w).relu(), lambda x: (x + first).cos() * w.unsqueeze(0))
    y = t.cond(t.tensor(which), *branches, (x,)) if t is torch else branches[not which](x)  # torch's own takes no view from outside
    return [y, *t.autograd.grad((y * y).sum(), (x, w))]


def _scan(t, h, reverse):
    w, x, c0 = t.linspace(1, 2, 2).requires_grad_(), t.arange(6.0).reshape(2, 3).requires_grad_(), t.ones(2).requires_grad_()
    c, y = h.scan(lambda c, x: (c * 0.5 + x * w, (c * x).relu()), c0, x, dim=1, reverse=reverse)
    return [c, y, *t.autograd.grad(c.sum() + (y * y).sum(), (x, w, c0))]


def _map(t, h):
    x, z = t.arange(6.0).reshape(2, 3).requires_grad_(), t.ones(3).requires_grad_()
    y = h.map(lambda x, z: x.sin() * z, x, z)
    return [y, *t.autograd.grad((y * y).sum(), (x, z))]


def _associative(t, h):
    pair = {"u": t.linspace(1, 2, 6).reshape(3, 2), "v": t.linspace(2, 3, 6).reshape(3, 2)}
    found = h.associative_scan(lambda a, b: {"u": a["u"] * b["u"], "v": a["v"] * b["u"] + b["v"]}, pair, 0, combine_mode="generic")
    return [*found.values(), h.associative_scan(lambda a, b: a * b, pair["u"], 1, True, combine_mode="generic")]


def _while(t, h):
    count, x = t.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (t.tensor(0), t.ones(3)))
    number, _ = h.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (0, t.ones(3)))
    assert type(number) is int
    return [count, x, t.tensor(number)]


@pytest.mark.parametrize(
    "case",
    [
        lambda t, h: _cond(t, h, True), lambda t, h: _cond(t, h, False), lambda t, h: _scan(t, h, False), lambda t, h: _scan(t, h, True), _map,
        _associative, _while,
    ],
    ids=["cond true", "cond false", "scan", "scan reverse", "map", "associative_scan", "while_loop"],
)  # fmt: skip
def test_values_and_gradients(executor, case):
    _compare(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, h: t.cond(3 + 0j, lambda x: x, lambda x: x, ()),
        lambda t, h: t.cond(t.ones(3), lambda x: x, lambda x: x, (t.ones(2),)),
        lambda t, h: t.cond(t.tensor(True), 3, lambda x: x, (t.ones(2),)),
        lambda t, h: t.cond(t.tensor(True), lambda x: x, lambda x: x, (3,)),
        lambda t, h: t.while_loop(3, lambda x: x, (3,)),
        lambda t, h: h.scan(lambda c, x: (c + x, x), 3, t.ones(2, 3), dim=1),
        lambda t, h: h.scan(lambda c, x: (c + x, x), [], t.ones(2, 3), dim=1),
        lambda t, h: h.associative_scan(lambda c, x: c + x, t.ones(2, 3), 1, combine_mode="foo"),
        lambda t, h: h.map(lambda x: x, 3),
        lambda t, h: h.map(lambda x: x, t.ones(0, 2)),
    ],
)
def test_errors_are_those_of_torch(call):
    with pytest.raises(Exception) as theirs:
        call(real, real_operators)
    with pytest.raises(type(theirs.value)) as own:
        call(torch, operators)
    assert str(own.value) == str(theirs.value)


def test_results_that_do_not_match_are_refused():
    x, error = torch.ones(2, 3), torch._dynamo.exc.Unsupported
    with pytest.raises(error, match="expected same dim but got 2 and 0"):
        torch.cond(torch.tensor(True), lambda x: x.sin(), lambda x: x.sum(), (x,))
    with pytest.raises(error, match="Unmatched output spec"):
        torch.cond(torch.tensor(True), lambda x: (x.sin(), x.cos()), lambda x: (x.sin(),), (x,))
    with pytest.raises(error, match="Expected init and carry to have same metadata"):
        operators.scan(lambda c, x: (c + x, x), torch.zeros(()), x)
    with pytest.raises(error, match=r"numbers are needed in the middle \(item\)"):
        torch.cond(torch.tensor(True), lambda x: x * x.sum().item(), lambda x: x, (x,))
    with pytest.raises(NotImplementedError, match="random numbers"):
        torch.cond(torch.tensor(True), lambda x: x + torch.randn(3), lambda x: x, (x,))


def test_what_a_branch_writes_outside_is_undone_and_refused(executor):
    outside, view = torch.zeros(3), torch.zeros(2, 3)[0]
    for target in (outside, view):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="written to"):
            torch.cond(torch.tensor(True), lambda x, target=target: target.add_(x) * 1, lambda x: x, (torch.ones(3),))
        assert target.tolist() == [0, 0, 0]


def test_compiled_functions_hold_both_branches():
    gc.collect()  # torch's own compiler leaves callbacks of weak references, which must not run while a call is watched
    w = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: torch.cond(x.sum() > 0, lambda x: (x * w).sin(), lambda x: x.cos() * 2, (x,)), fullgraph=True)
    for sign in (1.0, -1.0, 1.0):
        x = torch.ones(3) * sign
        y = compiled(x)
        torch.testing.assert_close(y.detach(), x.sin() if sign > 0 else x.cos() * 2)
        assert torch.autograd.grad(y.sum(), w)[0].tolist() == pytest.approx([np.cos(1) if sign > 0 else 0.0] * 3)
    assert compiled._compiled.captures == 1, (compiled._compiled.misses, [str(b) for b in compiled._compiled.breaks])


def test_transformations():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() * 2, (x,))

    x = torch.tensor([[1.0, 1, 1], [-1, -1, -1]])
    expected = torch.stack([x[0].sin(), x[1].cos() * 2])
    torch.testing.assert_close(torch.vmap(function)(x), expected)
    _, tangent = torch.func.jvp(function, (x[0],), (torch.ones(3),))
    torch.testing.assert_close(tangent, x[0].cos())
    found = jax.jit(pure(function))(np.ones(3, np.float32))
    np.testing.assert_allclose(found, np.sin(np.ones(3)), rtol=1e-6)


@pytest.mark.parametrize("rounds", [0, 1, 5, 300])
def test_gradient_of_while_loop(rounds):
    """Of the carry and of a tensor from outside, against torch's loop in Python."""

    def loss(t, loop):
        x, w = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([0.9, 1.01], requires_grad=True)
        y = loop(x, w) + w
        (y * t.tensor([1.0, 3.0])).sum().backward()
        return [y.tolist(), x.grad.tolist(), w.grad.tolist()]

    def unrolled(x, w):
        for k in range(rounds):
            x = (x * w).sin() + 0.1 * w * k
        return x

    def looped(x, w):
        return operators.while_loop(lambda k, x: k < rounds, lambda k, x: (k + 1, (x * w).sin() + 0.1 * w * k), (torch.tensor(0), x))[1]

    expected = loss(real, unrolled)
    for found in (loss(torch, looped), loss(torch, torch.compile(looped))):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_each_function_lies_in_a_module_of_its_name() -> None:
    import importlib

    for name in ("associative_scan", "cond", "map", "scan", "while_loop"):
        module = importlib.import_module(f"pytorchlike._higher_order_ops.{name}")
        assert getattr(module, name) is getattr(operators, name)
