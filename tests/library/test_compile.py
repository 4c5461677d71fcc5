"""Calls of users' operators in compiled functions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike import library


def test_kernels_are_captured_until_they_change(lib_of_ours: Any) -> None:
    lib = lib_of_ours
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 3, "CPU")
    foo = getattr(torch.ops, lib.ns).foo
    compiled = torch.compile(lambda x: foo(x) + 1, fullgraph=True)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [4, 4]
    assert compiled._compiled.replays[0].runs == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lib.impl("foo", lambda x: x * 100, "CPU")
    assert [compiled(torch.ones(2)).tolist() for _ in range(2)] == [[101, 101]] * 2


def test_training_steps_are_captured(lib_of_ours: Any) -> None:
    op = library.custom_op(f"{lib_of_ours.ns}::mul", lambda x, y: x * y, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    op.register_autograd(
        lambda ctx, g: (g * ctx.saved_tensors[1] * 10, g * ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )

    def train(compiled: bool) -> list[float]:
        w = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = op(w, x).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step, fullgraph=True) if compiled else step
        losses = [run(torch.ones(3)) for _ in range(4)]
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            losses[-1].backward()
        return [loss.item() for loss in losses] + w.tolist()

    assert train(True) == train(False) == [3, 0, -3, -6, -3, -3, -3]


def test_another_formula_is_captured_anew(lib_of_ours: Any) -> None:
    op = library.custom_op(f"{lib_of_ours.ns}::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: g * 2)
    w = torch.ones(1, requires_grad=True)

    @torch.compile(fullgraph=True)
    def step() -> Any:
        w.grad = None
        op(w).sum().backward()
        return w.grad * 1

    assert [step().item() for _ in range(3)] == [2, 2, 2]
    op.register_autograd(lambda ctx, g: g * 5)
    assert [step().item() for _ in range(3)] == [5, 5, 5]


def test_mutations_are_captured(lib_of_ours: Any) -> None:
    lib_of_ours.define("inc(Tensor(a!) x) -> ()")
    lib_of_ours.impl("inc", lambda x: (x.add_(1), None)[1], "CompositeExplicitAutograd")
    inc = getattr(torch.ops, lib_of_ours.ns).inc
    buffer = torch.zeros(2)

    @torch.compile(fullgraph=True)
    def step(x: Any) -> Any:
        inc(buffer)
        return buffer * x

    assert [step(torch.ones(2)).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]


def test_kernels_that_leave_the_graph_run_each_time(lib_of_ours: Any) -> None:
    op = library.custom_op(f"{lib_of_ours.ns}::sin", lambda x: torch.from_numpy(np.sin(x.numpy())), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(torch.empty_like)
    compiled = torch.compile(lambda x: op(x) + 1)
    for value in (0.0, 1.0, 0.0):
        assert compiled(torch.tensor([value])).item() == pytest.approx(np.sin(value) + 1)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="a tensor becomes a numpy array"):
        torch.compile(lambda x: op(x) + 1, fullgraph=True)(torch.ones(1))


def test_exported_programs_hold_what_kernels_do(lib_of_ours: Any) -> None:
    op = library.custom_op(f"{lib_of_ours.ns}::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return op(x) + 1

    program = torch.export.export(Model(), (torch.ones(2),))
    assert program.module()(torch.full((2,), 3.0)).tolist() == [7, 7]
