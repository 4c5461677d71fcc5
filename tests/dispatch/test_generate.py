"""The short way of generated functions finds an instruction for such calls only as it was made for."""

from __future__ import annotations

import pytest
import torch as real_torch

import pytorchlike as ours


@pytest.mark.parametrize("shapes", [((6,), (6,)), ((7,), (3,))])
def test_numbers_and_tensors_in_one_place(shapes: tuple) -> None:
    """An operand that is a number once and a tensor the next time, with and without the optional operand."""

    def run(module):
        edges, x = module.linspace(0, 1, shapes[0][0]), module.linspace(0.1, 0.9, shapes[1][0])
        order = module.arange(shapes[0][0])
        calls = [(edges, 0.5), (edges, x), (edges, 1), (edges, x)]
        found = [module.searchsorted(*call) for call in calls] + [module.searchsorted(*call, sorter=order) for call in calls]
        found += [module.add(x, 2), module.add(x, x), module.add(x, 2.5), module.sub(x, x), module.pow(x, 2), module.pow(x, x), module.pow(2, x)]
        return [each.tolist() for each in found]

    for _ in range(2):
        for mine, theirs in zip(run(ours), run(real_torch), strict=True):
            assert mine == pytest.approx(theirs)


def test_a_tensor_in_the_place_of_an_int_is_read_at_each_call() -> None:
    def run(module):
        x, dim = module.arange(6.0).reshape(2, 3), module.tensor(0)
        found = []
        for _ in range(4):
            found += [x.sum(dim), module.flip(x, [dim]), x.cumsum(dim), x.unsqueeze(dim), module.softmax(x, dim), module.cat([x, x], dim)]
            dim.add_(1).remainder_(2)
        return [each.tolist() for each in found]

    for mine, theirs in zip(run(ours), run(real_torch), strict=True):
        assert is_close(mine, theirs)


def is_close(mine: list, theirs: list) -> bool:
    return bool(real_torch.allclose(real_torch.tensor(mine), real_torch.tensor(theirs)))
