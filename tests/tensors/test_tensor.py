"""Tensor's attributes and special methods; copies by ``copy`` and pickle."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch as real_torch

import pytorchlike as ours
from pytorchlike import nn

from .twin import same

VALUES = {
    "f": lambda t: t.tensor([1.0, 2.0]), "i": lambda t: t.tensor([7, -7]), "b": lambda t: t.tensor([True, False]), "m": lambda t: t.arange(6.0).reshape(2, 3),
    "c": lambda t: t.tensor([[1 + 2j, 3 - 1j]]), "s": lambda t: t.tensor(2.0), "v": lambda t: t.ones(3), "x": lambda t: t.arange(24.0).reshape(2, 3, 4),
}  # fmt: skip
ATTRIBUTES = """
m.T|v.T|x.T|s.T|m.mT|x.mT|v.mT|s.mT|m.H|v.H|x.H|s.H|x.mH|v.mH|s.mH|c.mH|c.H|c.real.contiguous()|c.imag.contiguous()|m.real is m|m.imag|torch.real(m) is m|torch.imag(m)|torch.real(c).contiguous()|torch.imag(c).contiguous()
m.T.data_ptr()==m.data_ptr()|m.layout|m.is_sparse|m.name|m.ndim|m.nbytes|'T' in dir(m)|'add_' in dir(m)|'__cuda_array_interface__' in dir(m)|m.is_leaf|m.foo
"""
OPERATORS = """
2//f|2%f|2**f|2/f|2/i|2//i|2%i|2**i|2.5**i|2<<i.abs()|2>>i.abs()|5&i|5|i&3|i^True|i>>1|i<<1|True^b|b&1|2@f|f@2|f+[1,2]|[1,2]+f|f+'a'|f+None|f==None|f!=None|f=='a'|f<'a'|f==[1,2]|f<None|f&1
f%'a'|f.__iadd__('a')|f.__imul__(None)|f.__iadd__([1])|i.__itruediv__(2)|i.__iadd__(1.5)|i.__iadd__(np.ones(2))|f.__ipow__(2)|f.__ilshift__(1)|i.__ilshift__(1)|f.__iand__(1)|i.__ior__(8)
b+1|b-1|1-b|-b|+b|~b|~f|~i|f.__ifloordiv__(2)|f.__imod__(2)|f.__rsub__(1)|f.__rtruediv__('a')|f.__rpow__('a')|torch.ones(2,2)@f|f.__matmul__(f)
"""


def expressions(text: str) -> list[str]:
    return [e for line in text.strip().splitlines() for e in line.split("|")]


@pytest.mark.parametrize("expression", [*expressions(ATTRIBUTES), "torch.tensor([6]) | 9"])
def test_attributes(expression: str) -> None:
    same(expression, **VALUES)


@pytest.mark.parametrize("expression", expressions(OPERATORS))
def test_operators(executor: str, expression: str) -> None:
    same(expression, **VALUES)


def test_warnings_of_transposes() -> None:
    for name in ("T", "mT", "H", "mH"):
        with pytest.warns(UserWarning, match=f"Tensor.{name} is deprecated on 0-D tensors"):
            getattr(ours.tensor(1.0), name)
    with pytest.warns(UserWarning, match="The use of `x.T` on tensors of dimension other than 2"):
        assert ours.ones(3).T.shape == (3,)


def test_real_and_imaginary_parts(executor: str) -> None:
    def run(t):
        z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        (z.real * t.tensor([2.0, 3.0]) + z.imag * z.imag).sum().backward()
        w = t.tensor([1 + 2j, 3 - 1j])
        w.real = t.tensor([5.0, 6.0])
        w.imag = 7
        return z.grad, w

    same(run)


def test_deepcopy(executor: str) -> None:
    def run(t):
        x = t.arange(6.0).reshape(2, 3).requires_grad_()
        x.grad = t.ones(2, 3)
        x.note = [1, 2]
        base = t.arange(4.0)
        copied, again, whole, part, turned = copy.deepcopy([x, x, base, base[1:3], base.view(2, 2).t()])
        whole[1] = 50
        copied.note.append(3)
        copied.grad.zero_()
        return copied, copied is again, copied.grad, x.grad, copied.note, x.note, part, turned, base, copied.is_leaf

    same(run)
    same(lambda t: copy.deepcopy(t.ones(2, requires_grad=True) * 2))
    same(lambda t: [copy.copy(x := t.ones(2)).zero_(), x])


def test_pickle_keeps_layout_and_sharing(executor: str) -> None:
    def run(t):
        base = t.arange(6.0)
        shared = base.numpy()
        shared[5] = 9
        things = [base, base[1:4], base.view(2, 3).t(), t.ones(2, requires_grad=True), t.tensor(3), t.zeros(0, 2), t.tensor([True]), t.ones(2).bfloat16(), t.tensor([1j])]
        return pickle.loads(pickle.dumps(things))

    same(run)
    base = ours.arange(6.0)
    whole, part = pickle.loads(pickle.dumps([base, base[1:4]]))  # torch keeps sharing only in torch.save
    whole[1] = -1
    assert part.tolist() == [-1, 2, 3]
    for made in (ours.Size([2, 3]), ours.float16, ours.device("cpu"), ours.strided, ours.channels_last):
        again = pickle.loads(pickle.dumps(made))
        assert again == made and type(again) is type(made)


def test_pickle_of_parameters_and_modules() -> None:
    parameter = pickle.loads(pickle.dumps(nn.Parameter(ours.ones(2), requires_grad=False)))
    assert type(parameter) is nn.Parameter and not parameter.requires_grad
    layer = nn.Linear(3, 2)
    again = pickle.loads(pickle.dumps(layer))
    assert again.weight.tolist() == layer.weight.tolist() and again.weight.requires_grad


def test_subclass_construction() -> None:
    for module in (real_torch, ours):
        kind = type("Mine", (module.Tensor,), {})
        made = kind([1.0, 2.0])
        assert type(made) is kind and made.tolist() == [1, 2]
        assert type(kind(module.ones(2))) is kind
