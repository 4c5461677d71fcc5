"""``torch.sym_*`` of Python numbers, and what is asked of tensors, as in torch."""

from __future__ import annotations

import pytest
import torch as real_torch

import pytorchlike as ours

CALLS = [
    "sym_int(2.7)", "sym_int(-2.7)", "sym_int(True)", "sym_int(float('inf'))", "sym_float(3)", "sym_max(1, 2.0)", "sym_max(3, 2.0)", "sym_min(3, 1)",
    "sym_max('a', 1)", "sym_not(True)", "sym_not(0)", "sym_sqrt(4)", "sym_sum([1, 2, 3])", "sym_ite(True, 1, 2)", "sym_ite(1, 1, 2)",
    "sym_ite(True, 1, 2.0)", "sym_fresh_size(1)", "sym_constrain_range(3, min=1)", "sym_constrain_range(0, min=1)",
    "sym_constrain_range_for_size(3, max=2)", "get_device(torch.ones(1))", "is_conj(torch.ones(1, dtype=torch.complex64).conj())",
    "is_neg(torch.ones(1))", "is_signed(torch.ones(1, dtype=torch.uint8))", "is_distributed(torch.ones(1))",
    "ones(2, 3).t().dim_order()", "ones(2, 3, 4, 5).to(memory_format=torch.channels_last).dim_order()", "ones(3).expand(2, 3).dim_order()",
    "ones(2, 1, 3).permute(2, 1, 0).dim_order()", "ones(()).dim_order()", "ones(2, 3).dim_order(ambiguity_check=True)",
    "ones(1, 1).dim_order(ambiguity_check=True)", "ones(2, 3).dim_order(ambiguity_check='a')",
    "ones(2, 3, 4, 5).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])",
    "ones(1, 1, 4, 5).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last])",
]  # fmt: skip


def _outcome(torch, call):
    try:
        return repr(eval(f"torch.{call}", {"torch": torch}))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("call", CALLS)
def test_calls_are_torchs(call: str) -> None:
    """The same number of the same type, or the same type of error."""
    assert _outcome(ours, call) == _outcome(real_torch, call)
