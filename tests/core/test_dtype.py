"""The dtype objects against torch's."""

import copy
import pickle

import numpy as np
import pytest
import torch

from pytorchlike.core.dtype import ALIASES, BY_NAME, from_numpy


@pytest.mark.parametrize("name", BY_NAME)
def test_attributes_equal_torch(name):
    ours, theirs = BY_NAME[name], getattr(torch, name)
    assert repr(ours) == repr(theirs)
    assert ours.itemsize == theirs.itemsize
    for flag in ("is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, flag) == getattr(theirs, flag), flag


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "complex64", "complex128"])
def test_real_and_complex_partners(name):
    assert repr(BY_NAME[name].to_real()) == repr(getattr(torch, name).to_real())
    assert repr(BY_NAME[name].to_complex()) == repr(getattr(torch, name).to_complex())


def test_one_object_for_each():
    for ours in BY_NAME.values():
        assert copy.deepcopy(ours) is ours and copy.copy(ours) is ours and pickle.loads(pickle.dumps(ours)) is ours
    for alias, ours in ALIASES.items():
        assert repr(ours) == repr(getattr(torch, alias))


def test_from_numpy():
    assert from_numpy(np.float32) is BY_NAME["float32"]
    assert from_numpy(np.dtype(">i4")) is BY_NAME["int32"]
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.str_"):
        from_numpy(np.dtype("U3"))
