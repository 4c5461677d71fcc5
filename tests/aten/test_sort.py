"""Sorting by packed keys: ties, signs of zero, NaN, infinities and the ends of integers, beside torch's stable sort."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

FLOATS = ["float32", "float16", "float64"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64", "bool"]


def numbers(dtype: str) -> np.ndarray:
    random = np.random.RandomState(0)
    if dtype in FLOATS:
        array = np.round(random.randn(7, 50), 1)
        array[0, :9] = [0.0, -0.0, np.nan, np.inf, -np.inf, -np.nan, -0.0, 1e-7, -1e-7]
        array[2, 3:9] = np.nan
        return array.astype(dtype)
    if dtype == "bool":
        return random.rand(7, 50) < 0.5
    array = random.randint(0, 100, (7, 50)).astype(dtype)
    array[0, :4] = [np.iinfo(dtype).max, np.iinfo(dtype).min, np.iinfo(dtype).max, 0]
    return array


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_sort_keeps_the_order_of_ties(dtype):
    array = numbers(dtype)
    for dim in (0, 1):
        for descending in (False, True):
            values, indices = real_torch.from_numpy(array).sort(dim=dim, descending=descending, stable=True)
            mine, places = ours.from_numpy(array).clone().sort(dim=dim, descending=descending, stable=True)
            assert np.array_equal(places.numpy(), indices.numpy())
            assert np.array_equal(mine.numpy(), values.numpy(), equal_nan=dtype in FLOATS)
            if dtype in FLOATS:
                assert np.array_equal(np.signbit(mine.numpy()), np.signbit(values.numpy()))
