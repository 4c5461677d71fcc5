"""Layout predicates and the strides of results, against torch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch._prims_common import suggest_memory_format

from pytorchlike.tensors import layout


@st.composite
def tensors(draw, sizes=None):
    """A tensor of random size (or of ``sizes``, some of them 1), laid out, permuted, sliced and expanded at random."""
    if sizes is None:
        sizes = draw(st.lists(st.sampled_from([1, 1, 2, 3, 0] if draw(st.booleans()) else [1, 2, 3]), min_size=0, max_size=5))
    elif draw(st.booleans()):
        sizes = [n if draw(st.booleans()) else 1 for n in sizes[draw(st.integers(0, len(sizes))) :]]
    order = draw(st.permutations(range(len(sizes))))
    steps = [draw(st.sampled_from([1, 1, 2])) for _ in sizes]
    expanded = [n != 0 and draw(st.integers(0, 5)) == 0 for n in sizes]
    x = torch.empty([1 if expanded[d] else sizes[d] * steps[d] for d in order]).permute([order.index(d) for d in range(len(sizes))])
    for d, step in enumerate(steps):
        if step > 1 and not expanded[d]:
            x = torch.ops.aten.slice.Tensor(x, d, 0, None, step)
    x = x.expand(list(sizes))
    if len(sizes) in (4, 5) and draw(st.integers(0, 3)) == 0:
        x = torch.empty(list(sizes), memory_format=torch.channels_last if len(sizes) == 4 else torch.channels_last_3d)
    return x


@given(tensors())
@settings(max_examples=150, deadline=None)
def test_predicates_equal_torchs(x):
    size, stride = tuple(x.shape), x.stride()
    for name in ("contiguous_format", "channels_last", "channels_last_3d"):
        assert layout.is_contiguous_in(name, size, stride) == x.is_contiguous(memory_format=getattr(torch, name)), (name, size, stride)
    assert layout.is_non_overlapping_and_dense(size, stride) == torch.ops.aten.is_non_overlapping_and_dense(x)
    assert getattr(torch, layout.suggest_memory_format(size, stride)) == suggest_memory_format(x)
    try:
        x.add_(1)
    except RuntimeError as error:
        assert "more than one element" in str(error)
        assert layout.has_internal_overlap(size, stride)
    else:
        assert not layout.has_internal_overlap(size, stride)


@given(tensors())
@settings(max_examples=150, deadline=None)
def test_strides_of_copies_equal_torchs(x):
    size, stride = tuple(x.shape), x.stride()
    assert layout.preserve_strides(size, stride) == x.clone().stride() == torch.empty_like(x).stride()
    for name in ("contiguous_format", "channels_last", "channels_last_3d"):
        try:
            expected = x.clone(memory_format=getattr(torch, name)).stride()
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as found:
                layout.format_strides(name, size, stride)
            assert str(found.value) == str(error)
        else:
            assert layout.format_strides(name, size, stride) == expected


@given(st.data(), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_strides_of_elementwise_results_equal_torchs(data, count):
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 3, 0]), max_size=5))
    operands = [data.draw(tensors(sizes)) for _ in range(count)]
    size = tuple(torch.broadcast_shapes(*(x.shape for x in operands)))
    assume(count < 3 or size)
    run = {1: torch.sin, 2: torch.add, 3: torch.addcmul}[count]
    found = layout.elementwise_strides(size, [(tuple(x.shape), x.stride()) for x in operands])
    assert found == run(*operands).stride(), [(tuple(x.shape), x.stride()) for x in operands]


@given(tensors())
@settings(max_examples=100, deadline=None)
def test_a_number_counts_as_an_operand_without_dimensions(x):
    found = layout.elementwise_strides(tuple(x.shape), [(tuple(x.shape), x.stride()), ((), ())])
    assert found == (x + 2).stride()
