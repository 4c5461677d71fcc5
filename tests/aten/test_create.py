"""Uninitialised tensors: size, strides, dtype and errors as in torch (their values do not matter)."""

from __future__ import annotations

import pytest
import torch as real_torch

import pytorchlike as ours

CALLS = {
    "empty": lambda t: t.empty(2, 0, 3),
    "empty channels last": lambda t: t.empty((2, 3, 4, 5), memory_format=t.channels_last),
    "empty_strided": lambda t: t.empty_strided((2, 3), (1, 2), dtype=t.int32),
    "empty_strided with gaps": lambda t: t.empty_strided((2, 3), (8, 2)),
    "empty_strided, too few strides": lambda t: t.empty_strided((2, 3), (1,)),
    "empty_permuted": lambda t: t.empty_permuted((2, 3, 4), (1, 0, 2), dtype=t.float64, requires_grad=True),
    "empty_permuted without elements": lambda t: t.empty_permuted((2, 0, 4), (2, 0, 1)),
    "empty_permuted, 0-d": lambda t: t.empty_permuted((), ()),
    "empty_permuted, too few dimensions": lambda t: t.empty_permuted((2, 3), (1,)),
    "empty_permuted, one twice": lambda t: t.empty_permuted((2, 3), (0, 0)),
    "empty_permuted, out of range": lambda t: t.empty_permuted((2, 3), (0, 5)),
    "empty_permuted, negative": lambda t: t.empty_permuted((2, 3), (-1, 0)),
}


def _described(module, call):
    try:
        made = call(module)
    except Exception as error:
        return type(error).__name__, str(error)
    return tuple(made.shape), made.stride(), str(made.dtype), made.requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_geometry_of_uninitialised_tensors(name: str) -> None:
    """Size, strides and dtype, or the error, are torch's."""
    assert _described(ours, CALLS[name]) == _described(real_torch, CALLS[name])
