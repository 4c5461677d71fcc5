"""``torch._check`` and its kin."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours


@pytest.mark.parametrize("name", ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented", "_check_tensor_all"])
@pytest.mark.parametrize("given", ["True", "False", "3", "a message", "no callable", "tensor", "tensor of floats"])
def test_errors_are_torchs(name: str, given: str) -> None:
    def outcome(torch: Any) -> Any:
        condition = {"True": True, "3": 3, "tensor": torch.tensor([True, False]), "tensor of floats": torch.ones(1)}.get(given, False)
        message = {"a message": (lambda: "wrong"), "no callable": "wrong"}.get(given)
        try:
            return getattr(torch, name)(condition, message)
        except Exception as error:
            return type(error), str(error).replace(torch.__name__, "torch")

    assert outcome(ours) == outcome(real_torch)


def test_sizes_are_checked() -> None:
    ours._check_is_size(3, max=5)
    for wrong in (-1, 6):
        with pytest.raises(RuntimeError, match="Expected cond to be True"):
            ours._check_is_size(wrong, max=5)


@pytest.mark.parametrize("torch", [ours, real_torch], ids=["ours", "torch"])
def test_assert_is_a_call(torch: Any) -> None:
    torch._assert(torch.tensor(True), "no")
    with pytest.raises(AssertionError, match="wrong"):
        torch._assert(torch.tensor(False), "wrong")

    def checked(x: Any) -> Any:
        torch._assert(x.dim() == 1, "one dimension")
        return x + 1

    traced = torch.fx.symbolic_trace(checked)
    assert [node.target for node in traced.graph.nodes if node.op == "call_function"][1] is torch._assert
    with pytest.raises(AssertionError, match="one dimension"):
        traced(torch.ones(1, 1))
