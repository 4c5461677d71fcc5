"""Backends that are functions: they get graphs of tensors, and what they return runs."""

from __future__ import annotations

import pytest
import torch as real_torch

import pytorchlike as torch
from pytorchlike import nn

from .test_guards import same


class Backend:
    """Notes what it is given, and counts the runs of what it returned."""

    def __init__(self):
        self.graphs, self.inputs, self.options, self.runs = [], [], [], 0

    def __call__(self, graph, inputs, **options):
        self.graphs.append(graph)
        self.inputs.append(inputs)
        self.options.append(options)

        def run(*args):
            self.runs += 1
            return graph.forward(*args)

        return run


def test_a_backend_gets_the_graph_and_its_inputs():
    backend, model = Backend(), nn.Linear(3, 2)
    compiled = torch.compile(lambda x: model(x).relu() * 2, backend=backend)
    for _ in range(4):
        x = torch.randn(4, 3)
        same(compiled(x), model(x).relu() * 2)
    (graph,), (inputs,) = backend.graphs, backend.inputs
    assert isinstance(graph, torch.fx.GraphModule) and backend.runs == 4
    assert [n.op for n in graph.graph.nodes] == ["placeholder"] * 3 + ["call_function"] * 3 + ["output"]
    assert [n.target.__name__ for n in graph.graph.nodes if n.op == "call_function"] == ["linear", "relu", "mul"]
    assert {tuple(i.shape) for i in inputs} == {(4, 3), (2, 3), (2,)}


def test_gradients_and_steps():
    found = []
    for backend in (None, Backend()):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.Tanh(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step(x, optimizer=optimizer, model=model, schedule=schedule):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            schedule.step()
            return loss.detach()

        step = torch.compile(step, backend=backend, fullgraph=True)
        found.append([[step(torch.ones(2, 3)) for _ in range(8)], list(model.parameters())])
        forward = torch.compile(model, backend=backend)
        for _ in range(3):
            model.zero_grad()
            forward(torch.ones(2, 3)).sum().backward()
        found[-1].append([p.grad for p in model.parameters()])
    torch.testing.assert_close(found[1], found[0], rtol=1e-5, atol=1e-6)
    assert backend.runs > 8


def test_a_backend_may_change_the_graph():
    def doubled(graph, inputs):
        return lambda *args: tuple(r * 2 for r in graph(*args))

    compiled = torch.compile(lambda x: x + 1, backend=doubled)
    assert [compiled(torch.ones(2)).tolist() for _ in range(3)] == [[4, 4]] * 3


def test_names():
    backend = Backend()

    @torch._dynamo.register_backend(name="noting")
    def noting(graph, inputs, **options):
        return backend(graph, inputs, **options)

    assert "noting" in torch.compiler.list_backends() and torch._dynamo.lookup_backend("noting") is noting
    assert {*real_torch._dynamo.list_backends()} - {"tvm"} <= {*torch._dynamo.list_backends()} and "eager" not in torch._dynamo.list_backends()
    assert "eager" in torch._dynamo.list_backends(None)
    compiled = torch.compile(lambda x: x * 3, backend="noting", options={"level": 2})
    assert compiled(torch.ones(1)).item() == 3 and backend.options == [{"options": {"level": 2}}]
    for t in (torch, real_torch):
        with pytest.raises(RuntimeError, match="Invalid backend: 'nothing'"):
            t.compile(lambda x: x, backend="nothing")(t.ones(1))


def test_errors_of_a_backend():
    def failing(graph, inputs):
        raise ValueError("no such thing")

    for t in (torch, real_torch):
        with pytest.raises(t._dynamo.exc.BackendCompilerFailed, match="backend='failing' raised:\nValueError: no such thing"):
            t.compile(lambda x: x * 2, backend=failing)(t.ones(1))
    with pytest.raises(TypeError, match="returned NoneType"):
        torch.compile(lambda x: x * 2, backend=lambda graph, inputs: None)(torch.ones(1))
