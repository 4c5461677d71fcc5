"""Tensors made under ``inference_mode``."""

from __future__ import annotations

import pytest

from .twin import same


def _values(torch):
    with torch.inference_mode():
        a = torch.ones(3) * 1
    return a, torch.ones(3, requires_grad=True), torch.ones(3)


CODE = """
a.is_inference(); (a + 1).is_inference(); a[0:1].is_inference(); a.detach().is_inference(); a.clone().is_inference(); a.view(3, 1).is_inference(); torch.is_inference(a)
a * n; a + n; n.detach() * a; (a * x).requires_grad; a.add_(1); a.view(3).add_(1); a.requires_grad_(); a._version; a.requires_grad; x.copy_(a).is_inference(); a.sum() * n
torch.empty(3).is_inference(); (n * x).is_inference(); x.is_inference(); torch.where(x > 0, n, a)
""".replace("\n", ";").split(";")

INSIDE = """
x.view(3, 1).is_inference(); (x + 1).is_inference(); x.add_(1).is_inference(); n.requires_grad; (n * 2).requires_grad; x.detach().is_inference(); a.add_(1).is_inference(); a[1:].mul_(3)
torch.zeros(2).is_inference(); torch.rand(2).is_inference(); x.clone().is_inference(); torch.tensor([1.0]).is_inference(); torch.is_inference_mode_enabled(); a.sum().is_inference()
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("code", [c.strip() for c in CODE if c.strip()])
def test_outside(executor, code):
    def run(torch):
        a, n, x = _values(torch)
        return eval(code, {"torch": torch, "a": a, "n": n, "x": x})

    same(run)


@pytest.mark.parametrize("code", [c.strip() for c in INSIDE if c.strip()])
def test_inside(executor, code):
    def run(torch):
        a, n, x = _values(torch)
        with torch.inference_mode():
            found = eval(code, {"torch": torch, "a": a, "n": n, "x": x})
        return found, x.is_inference(), n.is_inference()

    same(run)
