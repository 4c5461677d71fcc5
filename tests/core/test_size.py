"""Size against torch.Size."""

import pickle

import pytest
import torch

from pytorchlike.core.size import Size


@pytest.mark.parametrize(
    "use",
    [
        repr,
        lambda s: repr(s[1:]),
        lambda s: repr(s[-1]),
        lambda s: repr(s + (5,)),
        lambda s: repr((5,) + s),
        lambda s: repr(s * 2),
        lambda s: repr(2 * s),
        lambda s: s.numel(),
        lambda s: s == (2, 3, 4),
        lambda s: hash(s) == hash((2, 3, 4)),
        lambda s: repr(s[:0]),
        lambda s: s[:0].numel(),
    ],
)
def test_equals_torch(use):
    assert use(Size([2, 3, 4])) == use(torch.Size([2, 3, 4]))


def test_size_pickles():
    assert type(pickle.loads(pickle.dumps(Size([2, 3])))) is Size
