"""0.0 and -0.0 compare equal and mean different things: nothing that was made for one of them serves the other."""

from __future__ import annotations

import math

import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike.core.bounded import are_same, kind_of
from pytorchlike.graph import tiers

#: What a number becomes part of.
USES = {
    "full": lambda torch, zero: torch.full((2,), zero),
    "full_of_half_precision": lambda torch, zero: torch.full((2,), zero, dtype=torch.float16),
    "new_full": lambda torch, zero: torch.ones(2).new_full((2,), zero),
    "full_like": lambda torch, zero: torch.full_like(torch.ones(2), zero),
    "fill": lambda torch, zero: torch.ones(2).fill_(zero),
    "scalar_tensor": lambda torch, zero: torch.scalar_tensor(zero),
    "masked_fill": lambda torch, zero: torch.ones(2).masked_fill(torch.tensor([True, False]), zero),
    "masked_fill_in_place": lambda torch, zero: torch.ones(2).masked_fill_(torch.tensor([True, False]), zero),
    "item_by_mask": lambda torch, zero: _with_item(torch, torch.tensor([True, False]), zero),
    "item": lambda torch, zero: _with_item(torch, 0, zero),
    "index_fill": lambda torch, zero: torch.ones(2).index_fill(0, torch.tensor([0]), zero),
    "where": lambda torch, zero: torch.where(torch.tensor([True, False]), zero, 1.0),
    "nan_to_num": lambda torch, zero: torch.nan_to_num(torch.tensor([math.nan]), zero),
    "pad": lambda torch, zero: torch.nn.functional.pad(torch.ones(1), (1, 1), value=zero),
    "threshold": lambda torch, zero: torch.nn.functional.threshold(torch.tensor([-1.0]), 0.5, zero),
    "copysign": lambda torch, zero: torch.copysign(torch.ones(2), zero),
    "linspace": lambda torch, zero: torch.linspace(-1.0, zero, 2),
    "product": lambda torch, zero: torch.ones(2) * zero,
    "quotient": lambda torch, zero: torch.ones(2) / zero,
    "complex": lambda torch, zero: torch.view_as_real(torch.full((1,), complex(1.0, zero))),
    "complex_fill": lambda torch, zero: torch.view_as_real(torch.ones(1, dtype=torch.complex64).fill_(complex(zero, zero))),
}


def _with_item(torch, index, value):
    x = torch.ones(2)
    x[index] = value
    return x


@pytest.mark.parametrize("name", USES)
def test_zeros_of_both_signs(name, executor):
    for zero in (0.0, -0.0, 0.0):
        expected, found = [list(map(repr, USES[name](torch, zero).flatten().tolist())) for torch in (real_torch, ours)]
        assert found == expected


@pytest.mark.parametrize("tier", [tiers.FULL, tiers.INTERPRETED])
def test_zeros_of_both_signs_in_one_program(tier):
    """A compiled program's numbers stay on the device from run to run."""
    with tiers.forced(tier):
        for zero in (0.0, -0.0, 0.0, -0.0):
            assert (ours.ones(2) / zero + 1.0).tolist() == [math.copysign(math.inf, zero)] * 2


def test_numbers_that_are_equal_and_not_the_same():
    assert are_same([0.0, 1.0], [0.0, 1.0]) and not are_same([0.0, 1.0], [-0.0, 1.0]) and not are_same([1.0], [2.0]) and not are_same((0.0,), None)
    different = [1, 1.0, True, 0.0, -0.0, complex(0.0, 1.0), complex(-0.0, 1.0), (0.0,), (-0.0,), "1"]
    assert len({kind_of(value) for value in different}) == 10
    assert kind_of(2.0) is kind_of(3.0) is float and kind_of(1 + 1j) is complex
