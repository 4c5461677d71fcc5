"""What torch removed and what has no meaning here is refused by name, with torch's exception."""

from __future__ import annotations

import re

import pytest
import torch as real_torch

import pytorchlike as ours

CALLS = [
    "torch.eig(x)", "torch.lstsq(x, x)", "torch.solve(x, x)", "torch.symeig(x)", "torch.matrix_rank(x)", "x.eig()", "x.solve(x)", "torch.native_norm(x)",
    "x.to_padded_tensor(0.0)", "x.int_repr()", "torch.q_scale(x)", "x.q_zero_point()", "x.qscheme()", "x.xpu()", "x.mtia()", "x.reinforce(1)",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_refused(call: str) -> None:
    name = re.split(r"[.(]", call)[1]
    with pytest.raises(Exception) as expected:
        eval(call, {"torch": real_torch, "x": real_torch.ones(2, 2)})
    with pytest.raises(type(expected.value)) as found:
        eval(call, {"torch": ours, "x": ours.ones(2, 2)})
    assert name in str(found.value).lower() or "torch.linalg" in str(found.value)


@pytest.mark.parametrize("name", ["values", "crow_indices", "col_indices"])
def test_copies_of_parts(name: str) -> None:
    x = ours.ones(2, 2).to_sparse_csr()
    copy = getattr(ours, f"{name}_copy")(x)
    assert copy.tolist() == getattr(real_torch.ones(2, 2).to_sparse_csr(), name)().tolist()
    assert copy.data_ptr() != getattr(x, name)().data_ptr()
