"""`torch.fx.Interpreter` and `Transformer`, beside torch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours


@pytest.mark.parametrize("torch", [ours, real_torch], ids=["ours", "torch"])
def test_methods_may_be_replaced(torch: Any) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu, self.scale = torch.nn.ReLU(), torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, x: Any) -> Any:
            return torch.sigmoid(self.relu(x) * self.scale).neg()

    def swapped(base: Any) -> Any:
        class Swap(base):
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_function(torch.tanh if target is torch.sigmoid else target, args, kwargs)

        return Swap

    module, x = torch.fx.symbolic_trace(Model()), torch.tensor([-1.0, 0.5])
    interpreter = torch.fx.Interpreter(module)
    assert interpreter.run(x).tolist() == module(x).tolist() and len(interpreter.env) == 1
    expected = (-torch.tanh(x.relu() * 2)).tolist()
    assert swapped(torch.fx.Interpreter)(module).run(x).tolist() == pytest.approx(expected)
    transformed = swapped(torch.fx.Transformer)(module).transform()
    assert transformed(x).tolist() == pytest.approx(expected)
    assert [node.op for node in transformed.graph.nodes] == [node.op for node in module.graph.nodes]
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        torch.fx.Interpreter(module).run()
