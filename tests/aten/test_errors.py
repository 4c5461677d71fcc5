"""Wrong calls raise what torch raises, and leave the tensors as they were."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

from . import errors, oracle
from .batch import attempt
from .oracle import Built
from .sample import Sample


def _named(samples: list[Sample]) -> list:
    return [pytest.param(s, id=f"{s.path}-{k}") for k, s in enumerate(samples)]


def _check(sample: Sample, call) -> None:
    theirs = attempt(call, real_torch, Built(real_torch, sample, "float32", False))
    assert theirs.error is not None, "torch raises nothing: the table is wrong"
    built = Built(ours, sample, "float32", False)
    before = [oracle.to_numpy(t) for t in built.tensors()]

    def settled() -> None:
        call(ours, built)
        ours.graph.flush_all()

    mine = attempt(settled)
    assert mine.error is not None, f"{sample.path}: nothing raised, torch: {theirs.error!r}"
    assert oracle.same_error(mine.error, theirs.error), f"{sample.path}: {mine.error!r}, torch: {theirs.error!r}"
    for tensor, values in zip(built.tensors(), before, strict=True):
        np.testing.assert_array_equal(oracle.to_numpy(tensor), values)


@pytest.mark.parametrize("sample", _named(errors.CALLS))
def test_call(sample: Sample) -> None:
    """The operator is refused when it is called: nothing is left to flush."""
    _check(sample, lambda module, built: oracle.call(module, sample, built))


@pytest.mark.parametrize("sample", _named(errors.DATA))
def test_data(sample: Sample) -> None:
    """Errors that depend on data are raised at the next point that needs numbers."""
    _check(sample, lambda module, built: oracle.call(module, sample, built))


@pytest.mark.parametrize("sample", _named(errors.INPLACE))
def test_inplace(sample: Sample) -> None:
    """A refused in-place operator has written nothing."""
    _check(sample, lambda module, built: getattr(built.args[0], sample.path)(*built.args[1:], **built.kwargs))
