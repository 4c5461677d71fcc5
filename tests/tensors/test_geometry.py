"""Every view operator as a map of geometries, against torch's size, stride, storage_offset and errors."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pytorchlike.tensors import geometry as g
from pytorchlike.tensors import parts
from pytorchlike.tensors.geometry import contiguous, geometry

SMALL = st.integers(-4, 4)
DIMS = st.lists(SMALL, max_size=4).map(tuple)
SIZES = st.lists(st.integers(-1, 6), max_size=4).map(tuple)
MAYBE = st.none() | st.integers(-5, 5)

#: name -> (strategies of the arguments, torch's function, ours)
OPERATORS = {
    "view": ((SIZES,), lambda x, size: x.view(size), g.view),
    "transpose": ((SMALL, SMALL), torch.transpose, g.transpose),
    "permute": ((DIMS,), torch.permute, g.permute),
    "movedim": ((DIMS, DIMS), torch.movedim, g.movedim),
    "narrow": ((SMALL, SMALL, st.integers(-1, 4)), torch.narrow, g.narrow),
    "select": ((SMALL, SMALL), torch.select, g.select),
    "slice": ((SMALL, MAYBE, MAYBE, st.integers(-1, 3)), torch.ops.aten.slice.Tensor, g.slice),
    "unfold": ((SMALL, st.integers(-1, 3), st.integers(0, 3)), torch.Tensor.unfold, g.unfold),
    "expand": ((SIZES,), lambda x, size: x.expand(size), g.expand),
    "squeeze": ((st.lists(SMALL, max_size=2).map(tuple),), torch.squeeze, g.squeeze),
    "squeeze all": ((), torch.squeeze, g.squeeze),
    "unsqueeze": ((SMALL,), torch.unsqueeze, g.unsqueeze),
    "unflatten": ((SMALL, SIZES), torch.ops.aten.unflatten.int, g.unflatten),
    "diagonal": ((SMALL, SMALL, SMALL), torch.diagonal, g.diagonal),
    "split": ((st.integers(-1, 4), SMALL), torch.Tensor.split, parts.split),
    "split_with_sizes": ((SIZES, SMALL), torch.Tensor.split_with_sizes, parts.split_with_sizes),
    "chunk": ((st.integers(-1, 5), SMALL), torch.chunk, parts.chunk),
    "sections": ((st.integers(-1, 5), SMALL), torch.tensor_split, parts.tensor_split),
    "indices": ((DIMS, SMALL), torch.tensor_split, parts.tensor_split),
    "hsplit": ((st.integers(0, 3),), torch.hsplit, lambda at, n: parts.numpy_split("hsplit", at, n)),
    "vsplit": ((DIMS,), torch.vsplit, lambda at, n: parts.numpy_split("vsplit", at, n)),
    "dsplit": ((st.integers(0, 3),), torch.dsplit, lambda at, n: parts.numpy_split("dsplit", at, n)),
    "unbind": ((SMALL,), torch.unbind, parts.unbind),
    "t": ((), torch.t, g.t),
    "mT": ((), lambda x: x.mT, g.matrix_t),
}


def _geometry_of(x):
    if isinstance(x, tuple | list):
        return tuple(map(_geometry_of, x))
    return geometry(x.size(), x.stride(), x.storage_offset())


def _outcome(function, *args):
    try:
        return function(*args)
    except (RuntimeError, IndexError) as error:
        return type(error), str(error).split("\nException raised")[0]


@st.composite
def chains(draw):
    size = draw(st.lists(st.integers(0, 4) if draw(st.booleans()) else st.integers(1, 4), max_size=3))
    calls = []
    for name in draw(st.lists(st.sampled_from(sorted(OPERATORS)), min_size=1, max_size=6)):
        calls.append((name, draw(st.tuples(*OPERATORS[name][0]))))
    return tuple(size), calls


@given(chains())
@settings(max_examples=200, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_chains_of_views_and_their_errors_equal_torchs(chain):
    size, calls = chain
    x, at = torch.empty(size), contiguous(size)
    for name, args in calls:
        if name == "expand" and 0 in args[0] and min(args[0]) < 0:
            continue  # torch makes tensors of negative size here
        _, theirs, ours = OPERATORS[name]
        expected, found = _outcome(theirs, x, *args), _outcome(ours, at, *args)
        if isinstance(expected, tuple) and expected and isinstance(expected[0], type):
            assert found == expected, (name, args, at)
            continue
        assert found == _geometry_of(expected), (name, args, at)
        if isinstance(expected, torch.Tensor):
            x, at = expected, found
        elif found:
            x, at = expected[-1], found[-1]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_view_stride_of_any_strides_equals_torchs(data):
    size = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=4)))
    stride = tuple(data.draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 24])) for _ in size)
    x = torch.empty(2000).as_strided(size, stride, 5)
    new_size = tuple(data.draw(st.permutations(size))) if data.draw(st.booleans()) else (-1, *data.draw(st.lists(st.sampled_from([1, 2, 3, 6]), max_size=3)))
    at = geometry(size, stride, 5)
    expected, found = _outcome(x.view, new_size), _outcome(g.view, at, new_size)
    assert found == (expected if isinstance(expected, tuple) else _geometry_of(expected))
    reshaped = _outcome(g.reshape, at, new_size)
    if found is reshaped:
        assert x.reshape(new_size).data_ptr() == x.data_ptr() or at.numel == 0
    else:
        assert reshaped is None or reshaped == expected


@pytest.mark.parametrize(
    "args", [((2,), (1, 1)), ((2,), (-1,)), ((-2,), (1,)), ((1,), (1,), -1), ((2, 2), (1, 1)), ((2,), (3,), 2), ((), ())], ids=str
)
def test_as_strided_equals_torch(args):
    x = torch.empty(4, 5)[1:]
    expected = _outcome(x.as_strided, *args)
    assert _outcome(g.as_strided, _geometry_of(x), *args) == (expected if isinstance(expected, tuple) else _geometry_of(expected))


def test_flatten_size_equals_torchs():
    x = torch.empty(2, 3, 4)
    for start in range(-4, 5):
        for end in range(-4, 5):
            expected = _outcome(x.flatten, start, end)
            assert _outcome(g.flatten_size, (2, 3, 4), start, end) == (expected if isinstance(expected, tuple) else tuple(expected.shape))
    assert g.flatten_size(()) == (1,)


def test_geometries_are_interned_and_immutable():
    at = contiguous((2, 3))
    assert at is geometry([2, 3], [3, 1]) is g.view(contiguous((6,)), (2, -1))
    assert at is pickle.loads(pickle.dumps(at)) is copy.deepcopy(at) is copy.copy(at)
    assert (at.size, at.stride, at.offset, at.ndim, at.numel, at.is_contiguous, at.end) == ((2, 3), (3, 1), 0, 2, 6, True, 6)
    assert g.transpose(at, 0, 1).is_contiguous is False
    assert g.select(at, 0, 1).end == 6
    with pytest.raises(AttributeError):
        at.offset = 1


def test_unused_geometries_are_forgotten():
    geometry((123, 7), (7, 1), 91)
    assert not any(key[2] == 91 for key in g._interned)
