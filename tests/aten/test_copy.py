"""``to`` and its short forms, ``clone``, ``copy_``, ``fill_``, ``type``, and the refusal of writes into memory that is also read."""

from __future__ import annotations

import pytest

from ..tensors.twin import same

VALUES = {
    "f": lambda t: t.tensor([1.5, -2.5]), "m": lambda t: t.arange(6.0).reshape(2, 3), "c": lambda t: t.tensor([0j, 1j]), "a": lambda t: t.arange(5.0),
    "i": lambda t: t.tensor([300, -129]),
}  # fmt: skip
EXPRESSIONS = """
f.to(torch.int64)|f.to('cpu') is f|f.to(f)is f|f.to(torch.float32, copy=True) is f|f.to('cpu', torch.float64)|f.to(device='cpu', dtype=torch.int8)|f.to(m)|f.to(torch.int8, copy=True)
i.char()|i.byte()|f.bool()|c.bool()|f.half()|f.bfloat16()|f.double()|f.float() is f|f.long()|f.int()|f.short()|f.cfloat()|f.type()|f.type(torch.float64)
f.type('torch.LongTensor')|f.type(torch.LongTensor)|f.type('foo')|f.type(int)|f.type_as(m)|m.t().clone()|m.t().clone(memory_format=torch.contiguous_format)|m.t().to(torch.float64)
m.t().contiguous()|m.clone().copy_(torch.ones(3))|m.copy_(torch.ones(2))|m.copy_(torch.ones(1,2,3))|m.copy_(torch.tensor([1,2,3]))|i.copy_(f)|f.copy_(i)|f.fill_(2)|i.fill_(1.9)|m.zero_()
f.fill_(torch.tensor(3))|f.fill_(torch.ones(2))|m.t().fill_(1)|a[1:].copy_(a[:-1])|a[1:].add_(a[:-1])|a[:].add_(a)|a.add_(a[:])|a.view(5,1).add_(a.view(5,1))
a[:4].view(2,2).add_(a[:4].view(2,2).t())|a[::2].add_(a[::2])|a[::2].add_(a[1:4])|a[:3].mul_(a[2:])|a[:2].mul_(a[3:])|a[:3].addcmul_(a[1:4],a[2:])|torch.add(a[1:],1,out=a[:-1])
a[1:].clamp_(min=a[:-1])|a.expand(2,5).add_(1)|a.expand(2,5)[0].fill_(1)|a.expand(2,5).fill_(1)|a.expand(2,5).zero_()|a.expand(2,5).copy_(a)|a.expand(1,5).add_(1)
a.detach().copy_(a)|m[:, 1:].copy_(m[:, 1:] * 2)|m.t().copy_(torch.arange(6.).reshape(3,2))
"""


@pytest.mark.parametrize("expression", [e for line in EXPRESSIONS.strip().splitlines() for e in line.split("|")])
def test_expressions(expression: str) -> None:
    same(expression, **VALUES)


def test_gradients(executor: str) -> None:
    def run(t):
        x, y = t.ones(3, requires_grad=True), t.ones(3, requires_grad=True)
        target = x * 2
        target[1:].copy_(y[:2] * 3)
        z = target.to(t.float64).clone()
        z[0].fill_(4)
        (z * z).sum().backward()
        return x.grad, y.grad, z.detach()

    same(run)
