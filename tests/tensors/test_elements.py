"""Views that see other elements than their memory holds: ``view(dtype)``, real and complex numbers, conjugate and negative bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

from .twin import same

_VALUES = {
    "x": lambda torch: torch.tensor([1 + 2j, -3 + 0.5j, 0 - 1j]),
    "m": lambda torch: torch.arange(6.0).view(2, 3) + 1j * torch.arange(6.0).view(2, 3).flip(0),
    "f": lambda torch: torch.arange(8.0).view(2, 4) - 2.5,
    "b": lambda torch: torch.arange(16, dtype=torch.uint8),
}

READ = """
x.conj(); x.conj().is_conj(); x.conj().conj().is_conj(); x.conj()._is_view(); x.conj().clone().is_conj(); (x.conj() + 1).is_conj()
x.conj().detach().is_conj(); x.conj().data.is_conj(); x.conj()[0].is_conj(); x.conj().view(3, 1); x.conj().expand(2, 3).is_conj()
x.conj().imag; x.conj().imag.is_neg(); x.conj().real.is_neg(); x.conj().imag.clone().is_neg(); -x.conj().imag; x.conj().imag._base is x
x.conj().resolve_conj().is_conj(); x.conj().imag.resolve_neg().is_neg(); x.resolve_conj() is x; f.resolve_neg() is f; f.conj() is f
x.conj().conj_physical().is_conj(); x.conj().to(torch.complex128); x.conj().to(torch.complex64).is_conj(); x.conj().reshape(3, 1).is_conj()
x.conj().numpy(); x.conj().imag.numpy(); x.conj().numpy(force=True); x.conj().imag.numpy(force=True); x.conj().tolist()
x.conj().view(torch.int32); x.conj().imag.view(torch.int32); x.conj().view(torch.complex64); torch.view_as_real(x.conj())
m.H; m.mH.is_conj(); m.adjoint().stride(); m.H.H.is_conj(); x.H; m.mH @ m; m.conj() @ m.T; torch.cat([x.conj(), x]); x.conj().sum()
x.real; x.imag; x.real.stride(); x.imag.storage_offset(); x.imag.data_ptr() - x.data_ptr(); f.real is f; f.imag; torch.imag(f); torch.real(x)
torch.view_as_real(x); torch.view_as_real(m).stride(); torch.view_as_real(m.T); torch.view_as_real(m[:, 1:]).storage_offset(); torch.view_as_real(f)
torch.view_as_complex(f.view(2, 2, 2)); torch.view_as_complex(f.view(4, 2)[1:]).storage_offset(); torch.view_as_complex(f.view(4, 2)[::2])
torch.view_as_complex(f.flatten()[1:7].view(3, 2)); torch.view_as_complex(f); torch.view_as_complex(f.t()); torch.view_as_complex(b)
torch.view_as_complex(torch.ones(2, 4).t()[:2].T); torch.view_as_complex(torch.tensor(1.)); torch.view_as_complex(torch.view_as_real(m)).is_complex()
f.view(torch.int32); f.view(torch.int16); f.view(torch.uint8).shape; f.view(torch.float64); f.view(torch.complex64); f.view(torch.complex128)
f.view(dtype=torch.int32); f.view(torch.float32) is f; f.view(torch.bfloat16); f[:, 1:].view(torch.float64); f[:, 2:].view(torch.float64)
f.t().view(torch.int32); f.t().view(torch.float16); f.t().view(torch.float64); torch.tensor(1.).view(torch.int32); torch.tensor(1.).view(torch.float16)
torch.ones(2, 3).view(torch.float64); torch.ones(3, 6)[:, ::2].view(torch.float16); f[::1, :2].view(torch.complex64); f[1:, 2:].view(torch.int64)
b.view(torch.bool); b.view(torch.int64); b[8:].view(torch.float32); b[1:9].view(torch.int64); b.view(4, 4).view(torch.int32); b.view(torch.int16)[1:3]
torch.ones(0).view(torch.float16).shape; x.view(torch.float32); x.view(torch.float32)[::2]; m.view(torch.float32).stride(); x.view(torch.int64)
f.view(torch.int32)._is_view(); f.view(torch.int32).data_ptr() == f.data_ptr(); torch._neg_view(f).is_neg(); torch._neg_view(x.conj()).is_conj()
""".replace("\n", ";").split(";")

WRITE = """
x.conj().mul_(1j); x.real.fill_(7); x.imag.add_(x.real); x.conj().imag.mul_(3); x.conj()[1:].copy_(x[:2].clone()); torch.view_as_real(x)[1].zero_()
torch.view_as_real(m)[:, 1, 0].add_(1); torch.view_as_real(m)[..., 1].neg_(); m.H[0].fill_(2j); m.T.imag.zero_(); m.conj().T[1, 0].add_(1j)
torch.view_as_complex(f.view(4, 2)).mul_(1j); torch.view_as_complex(f.view(2, 2, 2))[:, 1].fill_(5 - 1j); f.view(torch.int32)[0].zero_()
f.view(torch.int32)[:, ::2].bitwise_and_(0); f[:, 2:].view(torch.int64).fill_(4607182418800017408); f.t().view(torch.int32)[1].fill_(1065353216)
b.view(torch.int32)[1:3].add_(1); b[8:].view(torch.int16).neg_(); b.view(torch.bool)[3:].logical_not_(); b[:5].view(torch.bool).fill_(True)
x.view(torch.float32)[1:5].fill_(9); b[4:12].view(torch.float32).fill_(1.5); b[:12].view(torch.int32).t().t()[2:].fill_(-1); x.conj().conj_physical_()
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("code", [c.strip() for c in READ if c.strip()])
def test_read(executor, code):
    same(code, **_VALUES)


@pytest.mark.parametrize("code", [c.strip() for c in WRITE if c.strip()])
def test_write_is_seen_by_every_alias(executor, code):
    def run(torch):
        values = {name: make(torch) for name, make in _VALUES.items()}
        before = values["x"].conj().imag, values["f"].view(torch.int32)[1:], torch.view_as_real(values["m"])
        eval(code, values | {"torch": torch})
        return [*values.values(), *[v.clone() for v in before]]

    same(run)


def test_numpy_shares_recast_memory():
    t = ours.arange(8, dtype=ours.uint8)
    seen = t[2:6].view(ours.int16).numpy()
    seen[1] = -1
    assert t.tolist() == [0, 1, 2, 3, 255, 255, 6, 7]
    t.view(ours.int32)[0] = 0
    assert seen.tolist() == [0, -1]


GRADIENTS = {
    "real and imaginary part": lambda torch, z: z.real.square().sum() + (z.imag * z.real.detach()).sum(),
    "view_as_real": lambda torch, z: (torch.view_as_real(z) * torch.tensor([2.0, 3.0], dtype=torch.float64)).square().sum(),
    "conjugate": lambda torch, z: (z.conj() * (2 + 1j) + z.conj().imag).abs().square().sum(),
    "adjoint": lambda torch, z: (z.mH @ z).abs().square().sum(),
    "back and forth": lambda torch, z: torch.view_as_complex(torch.view_as_real(z).flip(-1).contiguous()).square().real.sum(),
    "write into the real part": lambda torch, z: _written(z * 1, lambda y: y.real.mul_(3)),
    "write into the imaginary part of the conjugate": lambda torch, z: _written(z * 1, lambda y: y.conj().imag.copy_(y.real.clone().square())),
    "write a conjugate": lambda torch, z: _written(z * 1, lambda y: y.conj().t().copy_(y.t() * 2j)),
    "write into pairs": lambda torch, z: _written(z * 1, lambda y: torch.view_as_real(y)[0, :, 1].copy_(y[1].clone().abs())),
    "read after a write": lambda torch, z: _read_after(z * 1),
}


def _written(y, write):
    write(y)
    return (y * (1 - 2j)).abs().square().sum() + y.imag.sum()


def _read_after(y):
    part, conjugate = y.imag, y.conj()
    y.mul_(2 - 1j)
    return (part * 3 + conjugate.real).square().sum()


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(executor, name):
    rng = np.random.default_rng(0)
    start = rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3))
    found = []
    for torch in (real_torch, ours):
        z = torch.tensor(start, requires_grad=True)
        (g,) = torch.autograd.grad(GRADIENTS[name](torch, z), z, create_graph=True)
        (h,) = torch.autograd.grad((g.real * g.imag).sum(), z, allow_unused=True) if g.requires_grad else (None,)
        found.append((g.detach().resolve_conj().numpy(), None if h is None else h.detach().resolve_conj().numpy()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-12, atol=1e-12)
    if found[0][1] is not None:
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-12, atol=1e-12)


def test_real_views_of_a_leaf_and_its_detached_part(executor):
    """The gradient of a view of a tensor that is itself a window of a larger storage has that tensor's shape."""
    for torch in (real_torch, ours):
        whole = torch.arange(12.0).view(3, 4)
        part = whole[1:, 1:3].detach()
        view = part.view_as(part).t()[1]
        scale = torch.tensor([2.0, 3.0], requires_grad=True)
        part.mul_(scale)
        assert view.grad_fn is not None
        (view * torch.tensor([1.0, 10.0])).sum().backward()
        assert scale.grad.tolist() == [0.0, 106.0]
        assert whole.tolist() == [[0, 1, 2, 3], [4, 10, 18, 7], [8, 18, 30, 11]]


@pytest.mark.parametrize(
    "code, nodes",
    [("z.conj()", ["ConjBackward0"]), ("z.real", ["SelectBackward0", "ViewAsRealBackward0"]), ("torch.view_as_complex(r)", ["ViewAsComplexBackward0"])],
)
def test_nodes(code, nodes):
    for torch in (real_torch, ours):
        names = {"torch": torch, "z": torch.ones(2, dtype=torch.complex64, requires_grad=True), "r": torch.ones(2, 2, requires_grad=True)}
        node, found = eval(code, names).grad_fn, []
        while node is not None and "AccumulateGrad" not in type(node).__name__:
            found.append(node.name())
            node = node.next_functions[0][0]
        assert found == nodes


def test_no_gradient_through_bytes():
    for torch in (real_torch, ours):
        x = torch.ones(2, requires_grad=True)
        assert not x.view(torch.int32).requires_grad
        y = x * 2
        y.view(torch.int32)[0] = 0
        assert y.tolist() == [0, 2] and y.grad_fn is not None
