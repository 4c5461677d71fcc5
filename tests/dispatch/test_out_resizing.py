"""``out=`` tensors of another size: their memory grows, every alias sees what is written, and memory that numpy has seen does not grow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours


def _attempt(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except RuntimeError as error:
        return str(error)


def _into_view(t):
    base = t.zeros(4, 3)
    view = base[:2]
    t.add(t.ones(3, 3), 1, out=view)
    return base.tolist(), tuple(view.shape)


def _beyond_base(t):
    base = t.zeros(4, 3)
    view = base[1:3]
    t.add(t.ones(5, 3), 1, out=view)
    return base.tolist(), view.tolist(), base.untyped_storage().nbytes(), view.storage_offset()


def _of_numpy(t):
    target = t.from_numpy(np.zeros((2, 3), np.float32))
    return _attempt(lambda: t.cat([t.ones(2, 3)] * 2, out=target).tolist()), _attempt(lambda: t.ones(3, out=target).tolist())


def _after_numpy(t):
    target = t.zeros(3)
    target.numpy()
    return _attempt(lambda: target.resize_(4)), tuple(target.resize_(2).shape), target.untyped_storage().resizable(), t.zeros(1).untyped_storage().resizable()


@pytest.mark.parametrize("program", [_into_view, _beyond_base, _of_numpy, _after_numpy])
def test_memory_of_targets_grows_as_in_torch(program) -> None:
    """What becomes of the target, its base and its storage."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(ours) == program(real_torch)
