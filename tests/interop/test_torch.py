"""Tensors between real torch and pytorchlike."""

from __future__ import annotations

import pytest
import torch as real_torch

from pytorchlike.interop.torch import from_torch, to_torch


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16"])
def test_round_trip(dtype: str) -> None:
    t = real_torch.arange(6).reshape(2, 3).to(getattr(real_torch, dtype))
    mine = from_torch(t)
    assert str(mine.dtype) == str(t.dtype)
    assert real_torch.equal(to_torch(mine), t)


def test_memory_is_shared() -> None:
    t = real_torch.zeros(3)
    mine = from_torch(t)
    t[0] = 5.0
    mine[1] = 7.0
    assert mine.tolist() == [5.0, 7.0, 0.0] and t.tolist() == [5.0, 7.0, 0.0]
