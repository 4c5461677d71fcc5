"""Graphs of modules are those of torch, and their code computes what the modules do."""

from __future__ import annotations

import copy
import operator

import pytest
import torch as real

import pytorchlike as torch


def _module(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.w = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU()), t.nn.Parameter(t.ones(4))
            self.register_buffer("b", t.zeros(4))

        def forward(self, x, scale=2.0):
            y = self.a(x) * self.w + self.b
            y = t.cat([y, t.nn.functional.gelu(y)], 1)
            return {"out": y.view(y.shape[0], -1)[:, :3] * scale + 1 - (2 / y.sum(1, keepdim=True)) + t.relu(-y[0])[:3]}

    return Net()


def test_nodes_are_those_of_torch():
    ours, theirs = torch.fx.symbolic_trace(_module(torch)), real.fx.symbolic_trace(_module(real))
    for a, b in zip(ours.graph.nodes, theirs.graph.nodes, strict=True):
        assert (a.op, a.name, [n.name for n in a.all_input_nodes], len(a.users)) == (b.op, b.name, [n.name for n in b.all_input_nodes], len(b.users))
    ours.graph.lint()


def test_graphs_compute_what_the_module_does(executor):
    module = _module(torch)
    traced = torch.fx.symbolic_trace(module)
    x = torch.randn(2, 3)
    torch.testing.assert_close(traced(x)["out"], module(x)["out"])
    torch.testing.assert_close(traced(x, 3.0)["out"], module(x, 3.0)["out"])
    assert traced.w is module.w and set(traced.state_dict()) == set(module.state_dict())
    other = copy.deepcopy(traced)
    torch.testing.assert_close(other(x)["out"], module(x)["out"])
    assert other.w is not module.w and type(other).forward is not type(traced).forward


def test_graphs_can_be_changed():
    traced = torch.fx.symbolic_trace(lambda x, y: (x + y).sin() * 2)
    assert traced(torch.zeros(2), torch.ones(2)).tolist() == pytest.approx([2 * 0.8414709] * 2)
    (node,) = traced.graph.find_nodes(op="call_function", target=operator.add)
    with traced.graph.inserting_after(node):
        new = traced.graph.call_function(torch.sub, node.args)
    node.replace_all_uses_with(new)
    with pytest.raises(RuntimeError, match="still had 1 users"):
        traced.graph.erase_node(new)
    traced.graph.erase_node(node)
    assert not traced.graph.eliminate_dead_code()
    traced.recompile()
    assert traced(torch.ones(2), torch.ones(2)).tolist() == [0, 0] and "sub" in traced.code


@torch.fx.wrap
def kept(x):
    return x * 2 if x.sum() > 0 else x


def test_control_flow_is_refused_but_in_wrapped_functions():
    def function(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(torch.fx.proxy.TraceError) as own:
        torch.fx.symbolic_trace(function)
    with pytest.raises(real.fx.proxy.TraceError) as theirs:
        real.fx.symbolic_trace(function)
    assert str(own.value) == str(theirs.value)
    traced = torch.fx.symbolic_trace(lambda x: kept(x) + 1)
    assert traced(torch.ones(2)).tolist() == [3, 3] and traced(-torch.ones(2)).tolist() == [0, 0]
    assert [n.name for n in traced.graph.nodes] == ["x", "kept", "add", "output"] and kept(torch.ones(1)).item() == 2


def test_tracers_decide_what_is_one_call():
    class Leaves(torch.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, torch.nn.Sequential)

    module = _module(torch)
    graph = Leaves().trace(module)
    traced = torch.fx.GraphModule(module, graph)
    assert [n.target for n in graph.find_nodes(op="call_module")] == ["a"]
    x = torch.randn(2, 3)
    torch.testing.assert_close(traced(x)["out"], module(x)["out"])
