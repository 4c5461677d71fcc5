"""`make_tensor` draws torch's numbers and raises torch's errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

DTYPES = ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "float8_e5m2", "complex64", "complex128")


def _made(module: Any, dtype: str, *shape: Any, **options: Any) -> Any:
    module.manual_seed(3)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module.testing.make_tensor(*shape, dtype=getattr(module, dtype), device="cpu", **options)
    except Exception as error:
        return type(error).__name__, str(error).replace("pytorchlike.", "torch.")


def _same(*arguments: Any, **options: Any) -> None:
    mine, theirs = _made(ours, *arguments, **options), _made(real_torch, *arguments, **options)
    if isinstance(theirs, tuple):
        assert mine == theirs
        return
    assert (str(mine.dtype), tuple(mine.shape), mine.stride(), mine.storage_offset(), mine.requires_grad) == (
        str(theirs.dtype), tuple(theirs.shape), theirs.stride(), theirs.storage_offset(), theirs.requires_grad
    )  # fmt: skip
    wide = "complex128" if theirs.is_complex() else "float64"
    left, right = mine.detach().to(getattr(ours, wide)).numpy(), theirs.detach().to(getattr(real_torch, wide)).numpy()
    np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_draws(dtype: str) -> None:
    _same(dtype, 3, 4)
    if not dtype.startswith("float8"):  # torch cannot compare those with zero
        _same(dtype, (3, 4), low=0, high=2, exclude_zero=True)
    _same(dtype, 3, 4, noncontiguous=True)


def test_arguments() -> None:
    _same("float32", [2, 3], requires_grad=True)
    _same("float64", ())
    _same("float32", 1, 1, noncontiguous=True)
    _same("float32", 2, 3, 4, 5, memory_format=None)
    _same("float32", 3, 4, low=-1e40, high=1e40)
    _same("int8", 3, 4, low=-1000, high=1000)
    _same("int64", 3, 4, low=-1.5, high=4.5)
    mine = ours.testing.make_tensor(2, 3, 4, 5, dtype=ours.float32, device="cpu", memory_format=ours.channels_last)
    assert mine.is_contiguous(memory_format=ours.channels_last)


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("int64", {"requires_grad": True}), ("float32", {"low": 2, "high": 1}), ("float32", {"low": float("nan")}), ("uint8", {"low": 300, "high": 400}),
        ("bool", {"low": 5, "high": 9}), ("float32", {"low": 1.0, "high": 1.0}),
    ],
)  # fmt: skip
def test_errors(dtype: str, options: dict) -> None:
    _same(dtype, 3, 4, **options)


def test_noncontiguous_excludes_memory_format() -> None:
    with pytest.raises(ValueError, match="mutually exclusive"):
        ours.testing.make_tensor(2, dtype=ours.float32, device="cpu", noncontiguous=True, memory_format=ours.contiguous_format)


def test_equal_bounds_warn() -> None:
    with pytest.warns(FutureWarning, match="low==high"):
        ours.testing.make_tensor(2, dtype=ours.float32, device="cpu", low=1.0, high=1.0)
