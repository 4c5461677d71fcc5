"""``x[...]`` and ``x[...] = y`` against torch: random indices of all kinds for reading, writing and gradients; the errors of common mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pytorchlike as ours

from ..tensors.twin import outcome, same

SHAPES = [(3, 4), (2, 3, 4), (5,), (2, 1, 3, 2)]


@st.composite
def cases(draw: Any) -> tuple[tuple[int, ...], bool, list[Any]]:
    """A shape, whether the tensor is transposed, and an index as a list of recipes that mean the same for both libraries."""
    shape = draw(st.sampled_from(SHAPES))
    transposed = len(shape) > 1 and draw(st.booleans())
    if transposed:
        shape = (*shape[:-2], shape[-1], shape[-2])
    items: list[Any] = []
    dim, ellipsis, length = 0, False, draw(st.integers(1, 3))
    while dim < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "slice", "none", "ellipsis", "tensor", "mask", "list", "stop", "bool"]))
        size = shape[dim]
        if kind == "stop" or kind == "ellipsis" and ellipsis:
            break
        if kind == "int":
            items.append(("plain", draw(st.integers(-size, size - 1))))
        elif kind == "slice":
            bound = st.none() | st.integers(-size - 1, size + 1)
            items.append(("plain", slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, 3])))))
        elif kind == "none":
            items.append(("plain", None))
            if len(items) > 5:
                break
            continue
        elif kind == "bool":
            items.append(("plain", draw(st.booleans())))
            if len(items) > 5:
                break
            continue
        elif kind == "ellipsis":
            items.append(("plain", Ellipsis))
            ellipsis = True
            break
        elif kind == "tensor":
            lead = draw(st.sampled_from([(), (length,), (1,), (2, 1), (2, length)]))
            values = np.array(draw(st.lists(st.integers(-size, size - 1), min_size=int(np.prod(lead)), max_size=int(np.prod(lead)))), np.int64)
            items.append(("tensor", values.reshape(lead)))
        elif kind == "mask":
            mask = np.zeros(size, bool)
            mask[: min(length, size)] = True  # as many as the index tensors have: they broadcast
            items.append(("tensor", mask))
        else:
            items.append(("plain", draw(st.lists(st.integers(-size, size - 1), min_size=length, max_size=length))))
        dim += 1
    return shape, transposed, items


def index_for(module: Any, items: list[Any]) -> tuple:
    return tuple([module.tensor(v) if kind == "tensor" else v for kind, v in items])


def make(module: Any, shape: tuple[int, ...], transposed: bool, grad: bool = False) -> Any:
    x = module.arange(float(np.prod(shape))).reshape((*shape[:-2], shape[-1], shape[-2]) if transposed else shape)
    x = x.transpose(-1, -2) if transposed else x
    return x.requires_grad_() if grad else x


def packed(module: Any, x: Any) -> Any:
    """A copy in row-major order: what strides an advanced index leaves, in dimensions of size 1 too, is not compared."""
    return x.clone(memory_format=module.contiguous_format)


FEW = settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(case=cases())
def test_reading_and_gradient(executor: str, case: Any) -> None:
    """Values, shape, whether it is a view, and the gradient."""
    shape, transposed, items = case

    def run(module: Any) -> Any:
        x = make(module, shape, transposed, grad=True)
        y = x[index_for(module, items)]
        (y * module.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
        return packed(module, y.detach()), y._is_view(), packed(module, x.grad)

    _compare(run)


@FEW
@given(case=cases(), kind=st.sampled_from(["number", "scalar", "full", "broadcast", "row"]))
def test_writing(executor: str, case: Any, kind: str) -> None:
    """A number or a tensor, broadcast, into a plain tensor and into one that a gradient flows through."""
    shape, transposed, items = case

    def run(module: Any) -> Any:
        x = make(module, shape, transposed, grad=True)
        y = x * 1
        index = index_for(module, items)
        target = y.detach()[index]
        value: Any = 7.5
        if kind != "number":
            own = {"scalar": (), "full": tuple(target.shape), "broadcast": (1, *target.shape[1:]) if target.ndim else (1,), "row": tuple(target.shape[-1:])}[kind]
            value = (module.arange(float(np.prod(own))).reshape(own) + 100).requires_grad_()
        try:
            y[index] = value
        except (IndexError, RuntimeError) as error:
            return type(error).__name__
        (y * y).sum().backward()
        return packed(module, y.detach()), packed(module, x.grad), value.grad if kind != "number" else None

    if not _repeats(items):
        _compare(run)


def _repeats(items: list[Any]) -> bool:
    """Whether an index may name one element twice: which of two writes wins is nobody's promise."""
    return any(kind == "tensor" and v.dtype != bool and v.size > 1 or isinstance(v, list) for kind, v in items)


def _compare(run: Any) -> None:
    theirs, mine = outcome(real_torch, run, {})[0], outcome(ours, run, {})[0]
    assert mine == theirs


@FEW
@given(order=st.permutations(range(6)), count=st.integers(0, 6), pairs=st.booleans())
def test_writing_at_distinct_positions(executor: str, order: list[int], count: int, pairs: bool) -> None:
    def run(module: Any) -> Any:
        x = module.zeros(3, 2) if pairs else module.zeros(6)
        picked = module.tensor(order[:count], dtype=module.int64)
        index = (picked // 2, picked % 2) if pairs else picked
        x[index] = module.arange(1.0, count + 1)
        return x

    _compare(run)


ERRORS = """
m['a']|m[1.0]|m[5]|m[0,0,0]|m[torch.tensor([0.5])]|m[:, 7]|m[::-1]|m[torch.ones(3,dtype=torch.bool)]|m[torch.ones(2,3,1,dtype=torch.bool)]|m[np.bool_(True)]
m[torch.tensor([0,1],dtype=torch.int8)]|m[torch.tensor([0,1]),torch.tensor([0,1,2])]|s[0]|s[:]|s[torch.tensor(0)]|m['a':]|m[1.0:]|m[0,'a']|m[0,1.5]|m[object()]|m[{1}]|m[{1:2}]
m[slice(0,2,0)]|m[torch.tensor(1.5):]|m[torch.tensor([0,1]):]|x[torch.tensor([])]|torch.zeros(0,3)[0]|m.__setitem__(0,[1.,2.,3.])|m.__setitem__(0,np.ones(3))
m.__setitem__(m>0,[1.,2.])|m.__setitem__(0,'a')|m.__setitem__(0,None)|m.__setitem__(m>0,None)|m.__setitem__(0, torch.ones(2))|m.__setitem__(0, torch.ones(4,3))
m.__setitem__(slice(None), torch.ones(2,2))|m.__setitem__(torch.tensor([0,1]), torch.ones(5))|m.__setitem__(torch.tensor([0,1]), torch.ones(3,dtype=torch.float64))
m.__setitem__(torch.tensor([0,1]), torch.tensor(3))|m.__setitem__(m>5, torch.ones(2))|m.__setitem__(m>0, torch.ones(2))|m.__delitem__(0)|m.__setitem__((0,0), 1+2j)
i.__setitem__(0, float('inf'))|i.byte().__setitem__(0, 300)|m.__setitem__(0,np.float32(2))|m.__setitem__(0,np.bool_(1))|m.__setitem__('a',1)|m.__setitem__(1.5,1)
"""
FORMS = """
x[[[0,1],[1,0]]]|x[[0,slice(None)]]|x[[torch.tensor(0),torch.tensor(1)]]|x[[None,0]]|x[[(0,1),(1,0)]]|x[[[0]]]|x[[np.array([0,1]),0]]|x[np.array([[0,1],[1,0]])]|x[((0,1),(1,0))]
m[..., ...]|m[True]|m[False]|m[range(2)]|m[np.int64(1)]|m[[]]|m[[True,False]]|m[torch.tensor(True)]|s[...]|s[None]|s[()]|s[True]|s[torch.tensor(False)]|m[1:0]|m[0:10]
m[torch.tensor(0):torch.tensor(1)]|m[torch.tensor([0,1],dtype=torch.uint8)]|m[torch.tensor([0,1],dtype=torch.int32)]|x[0,:,torch.tensor([0,1])]|x[:,0,torch.tensor([0,1])]
x[torch.tensor([0,1]),:,torch.tensor([0,1])]|x[None,torch.tensor([0,1]),None,torch.tensor([0,1])]|x[True,False]|x[torch.tensor([True,False]),torch.tensor([0])]
x[torch.tensor(0)]._is_view()|x[torch.tensor([0])]._is_view()|x[True]._is_view()|x[[],[]]|torch.zeros(0,3)[torch.zeros(0,dtype=torch.bool)]|x[:,torch.tensor([1,0])]
"""
VALUES = {
    "m": lambda t: t.ones(2, 3), "x": lambda t: t.arange(24.0).reshape(2, 3, 4), "s": lambda t: t.tensor(3.0), "i": lambda t: t.tensor([1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("expression", [e for line in (ERRORS + FORMS).strip().splitlines() for e in line.split("|") if e])
def test_forms_and_errors(expression: str) -> None:
    same(expression, **VALUES)


WRITES = """
m.T[0] = 5.|m[0] = True|i[0] = 1.7|m[m > 0] = torch.tensor(3)|m[torch.tensor([0])] = 2|m[:, 1:] += 1|m[0] = m[1] * 2|m[[0, 1], [1, 2]] = torch.tensor([7., 8.])|m[None, 0] = 4
m[...] = torch.arange(3)|m[m > 0] *= 2|m[:, torch.tensor([True, False, True])] = -1|b[0] = 2|u[0] = -1|m[0, 0] = torch.tensor([9.])|m[1] = torch.ones(1, 1, 3) * 4|m[np.int64(0)] = np.int64(3)
"""


@pytest.mark.parametrize("statement", [s for line in WRITES.strip().splitlines() for s in line.split("|")])
def test_writes(executor: str, statement: str) -> None:
    def run(module: Any) -> Any:
        names = {
            "torch": module, "np": np, "m": module.ones(2, 3), "i": module.tensor([1, 2]), "b": module.tensor([False]), "u": module.tensor([1], dtype=module.uint8),
        }  # fmt: skip
        exec(statement, names)
        return [names[n] for n in "mibu"]

    same(run)


def test_first_bad_of_many_pending_indices_is_named(executor):
    index = ours.zeros(100, 100, dtype=ours.int64)
    index[40, 3], index[50, 1] = 200, -7
    x = ours.randn(100, 100)
    with pytest.raises(RuntimeError, match="index 200 is out of bounds for dimension 1 with size 100"):
        x.gather(1, index + 0).sum().item()
