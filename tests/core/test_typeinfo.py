"""finfo and iinfo against torch's."""

import pickle

import pytest
import torch

from pytorchlike.core.dtype import BY_NAME
from pytorchlike.core.typeinfo import finfo, iinfo


def answer(function, *args):
    try:
        found = function(*args)
    except TypeError as error:
        return str(error)
    names = [name for name in ("bits", "dtype", "min", "max", "eps", "tiny", "smallest_normal", "resolution") if hasattr(found, name)]
    return repr(found), str(found), [(name, getattr(found, name)) for name in names]


@pytest.mark.parametrize("name", BY_NAME)
def test_limits_equal_torch(name):
    ours, theirs = BY_NAME[name], getattr(torch, name)
    assert answer(finfo, ours) == answer(torch.finfo, theirs)
    assert answer(iinfo, ours) == answer(torch.iinfo, theirs)


def test_limits_are_values():
    f32 = BY_NAME["float32"]
    assert finfo(f32) == finfo(f32) and finfo(f32) != finfo(BY_NAME["float64"])
    assert pickle.loads(pickle.dumps(iinfo(BY_NAME["int8"]))) == iinfo(BY_NAME["int8"])
    with pytest.raises(AttributeError):
        finfo(f32).max = 3
