"""The engine: values live against torch, and the rules of the tape."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

BOTH = pytest.mark.parametrize("torch", [real_torch, ours], ids=["torch", "pytorchlike"])


def both(function):
    """Run a function of the module on torch and on pytorchlike; the results must agree."""
    theirs, mine = function(real_torch), function(ours)
    _same(mine, theirs)


def _same(mine, theirs) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs)
        for m, t in zip(mine, theirs, strict=True):
            _same(m, t)
    elif isinstance(theirs, real_torch.Tensor):
        assert tuple(mine.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, float):
        assert mine == pytest.approx(theirs, rel=1e-5)
    else:
        assert mine == theirs


def test_backward_accumulates(executor) -> None:
    def run(torch):
        x = torch.arange(4.0).requires_grad_()
        (x * x).sum().backward()
        (x * 3).sum().backward()
        return x.grad

    both(run)


def test_grad_is_the_same_tensor_after_accumulation(executor) -> None:
    x = ours.ones(3).requires_grad_()
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    assert x.grad is first and first.tolist() == [2.0, 2.0, 2.0]


@BOTH
def test_second_backward_raises(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


@BOTH
def test_retain_graph(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_higher_order(executor) -> None:
    def run(torch):
        x = torch.linspace(0.5, 1.5, 4).requires_grad_()
        y = (x.sin() * x.exp()).sum()
        first = torch.autograd.grad(y, x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        third = torch.autograd.grad(second.sum(), x)[0]
        return [first, second, third]

    both(run)


def test_broadcast_gradients(executor) -> None:
    def run(torch):
        a = torch.arange(3.0).requires_grad_()
        b = torch.arange(6.0).reshape(2, 3).requires_grad_()
        c = torch.tensor(2.0).requires_grad_()
        ((a + b) * c / (b + 1)).sum().backward()
        return [a.grad, b.grad, c.grad]

    both(run)


def test_inplace_on_base_and_views(executor) -> None:
    def run(torch):
        x = torch.arange(1.0, 7.0).requires_grad_()
        y = x * 2
        row = y.view(2, 3)[1]
        row.mul_(3)
        y[0] = 10.0
        y.add_(row.sum())
        (y * y).sum().backward()
        return [y, x.grad]

    both(run)


@BOTH
def test_saved_tensor_modified(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: \[torch.FloatTensor \[3\]\], which is output 0 of Exp, is at version 1; expected version 0"):
        y.sum().backward()


@BOTH
def test_what_is_not_saved_may_change(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3)
    z = x + y
    y.add_(1)
    z.sum().backward()
    w = torch.full((3,), 2.0)
    v = x * w
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        w.add_(1)
        v.sum().backward()


@BOTH
def test_inplace_on_a_leaf(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[0] = 3
    assert x.tolist() == [1.0, 1.0, 1.0]
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0, 2.0] and x.is_leaf


def test_grad_with_respect_to_inputs(executor) -> None:
    def run(torch):
        x = torch.arange(3.0).requires_grad_()
        y = x * 2
        z = y.pow(2)
        unused = torch.ones(2, requires_grad=True)
        found = torch.autograd.grad(z.sum(), [x, y, unused], allow_unused=True, retain_graph=True)
        assert found[2] is None
        with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
            torch.autograd.grad(z.sum(), [unused], retain_graph=True)
        zeros = torch.autograd.grad(z.sum(), [unused], materialize_grads=True, retain_graph=True)[0]
        z.sum().backward(inputs=[x])
        return [found[0], found[1], zeros, x.grad]

    both(run)


@BOTH
def test_backward_errors(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        torch.arange(3).requires_grad_()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(torch.ones(2))


def test_hooks(executor) -> None:
    def run(torch):
        seen = []
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
        handle = x.register_hook(lambda g: seen.append(g.tolist()))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
        y.retain_grad()
        y.sum().backward()
        handle.remove()
        (x * 3).sum().backward()
        return [seen, x.grad, y.grad]

    both(run)


def test_grad_modes(executor) -> None:
    def run(torch):
        x = torch.ones(2, requires_grad=True)
        seen = []
        with torch.no_grad():
            seen.append((x * 2).requires_grad)
            with torch.enable_grad():
                seen.append((x * 2).requires_grad)
        with torch.set_grad_enabled(False):
            seen.append((x * 2).requires_grad)
        with torch.inference_mode():
            seen.append((x * 2).requires_grad)

        @torch.no_grad()
        def quiet():
            return (x * 2).requires_grad

        seen += [quiet(), torch.is_grad_enabled(), (x * 2).detach().requires_grad]
        return seen

    both(run)


def test_names_and_next_functions() -> None:
    def run(torch):
        x = torch.ones(2, 2, requires_grad=True)
        y = (x.t().mm(x)).sigmoid()
        z = torch.cat([y, y]).sum()
        names = []
        node = z.grad_fn
        while node is not None:
            names.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        return names

    both(run)


def test_deleting_the_loss_frees_the_graph() -> None:
    x = ours.ones(3, requires_grad=True)
    y = x.exp()
    node = weakref.ref(y.grad_fn)
    loss = y.sum()
    gc.disable()
    try:
        del y, loss
        assert node() is None
    finally:
        gc.enable()


def test_function() -> None:
    def run(torch):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x * x

        x = torch.arange(3.0).requires_grad_()
        y = Cube.apply(x)
        first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x)[0]
        return [y, first, second, type(y.grad_fn).__name__]

    both(run)
