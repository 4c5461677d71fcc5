"""Dual tensors beside torch's."""

from __future__ import annotations

import pytest

import pytorchlike as ours
from tests.autograd.outcomes import agree
from tests.func.data import others, rows, vector


@pytest.fixture(autouse=True)
def no_script(monkeypatch: pytest.MonkeyPatch):
    """See tests/func/conftest.py."""
    monkeypatch.setenv("PYTORCH_JIT", "0")


def dual(torch):
    return torch.autograd.forward_ad.make_dual(rows(torch), others(torch))


def set_items(torch):
    z = torch.zeros(3, 4)
    z[1:] = dual(torch)[1:]
    return z


def write_through_a_view(torch):
    d = dual(torch)
    d.t()[1].mul_(3)
    return d * 1


def copied(torch):
    return torch.zeros(3, 4).copy_(dual(torch))


#: Functions that return a tensor made inside of a dual level; its parts are compared.
COMPUTED = {
    "power": lambda t: (dual(t) ** 3).sum(), "no tangent": lambda t: dual(t) > 0, "detach": lambda t: dual(t).detach() * 2, "data": lambda t: dual(t).data,
    "in place": lambda t: (d := dual(t)).clone().mul_(d), "cast": lambda t: dual(t).double(), "copy_": copied, "set items": set_items,
    "write through a view": write_through_a_view, "zero_": lambda t: dual(t).clone().zero_(), "cat": lambda t: t.cat([dual(t), rows(t)]),
    "linear": lambda t: t.nn.functional.linear(dual(t), rows(t), t.zeros(3)), "max": lambda t: dual(t).max(1)[0], "split": lambda t: dual(t).split(2, 1)[1].exp(),
    "gradient of it": lambda t: t.func.grad(lambda a: (a**3).sum())(dual(t)), "batch_norm": lambda t: t.nn.functional.batch_norm(dual(t), None, None, training=True),
    "cross_entropy": lambda t: t.nn.functional.cross_entropy(dual(t), t.tensor([0, 1, 2])), "vmap": lambda t: t.vmap(lambda a: a.sin() * a)(dual(t)),
    "a double tangent": lambda t: t.autograd.forward_ad.make_dual(rows(t), others(t).double()),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_parts_as_torch(name: str) -> None:
    def parts(torch):
        with torch.autograd.forward_ad.dual_level():
            return tuple(torch.autograd.forward_ad.unpack_dual(COMPUTED[name](torch)))

    agree(parts)


def both_modes(torch):
    forward_ad = torch.autograd.forward_ad
    x = rows(torch).requires_grad_()
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, others(torch))
        out = (d**3).sum()
        (gradient,) = torch.autograd.grad(out, x, create_graph=True)
        found = [*forward_ad.unpack_dual(gradient), *forward_ad.unpack_dual(out)]
        forward_ad.unpack_dual(out).tangent.backward()
        found.append(x.grad.clone())
        out.backward()
        return [*found, *forward_ad.unpack_dual(x.grad), d.requires_grad]


def backward_after_the_level(torch):
    forward_ad = torch.autograd.forward_ad
    x = rows(torch).requires_grad_()
    with forward_ad.dual_level():
        out = (forward_ad.make_dual(x, others(torch)) ** 2).sum()
        tangent = forward_ad.unpack_dual(out).tangent
    (out + tangent).backward()
    return x.grad, forward_ad.unpack_dual(out)


def inside(function):
    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            return function(torch, torch.autograd.forward_ad)

    return program


def decorated(torch):
    @torch.autograd.forward_ad.dual_level()
    def compute():
        return torch.autograd.forward_ad.unpack_dual(dual(torch) * 2)

    return tuple(compute())


PROGRAMS = {
    "both modes": both_modes,
    "backward after the level": backward_after_the_level,
    "decorated": decorated,
    "number of the level": lambda t: [t.autograd.forward_ad.enter_dual_level(), t.autograd.forward_ad.exit_dual_level()],
    "another size": inside(lambda t, f: f.make_dual(rows(t), vector(t))),
    "integer tangent": inside(lambda t, f: f.make_dual(vector(t), t.ones(4).long())),
    "integer primal": inside(lambda t, f: f.make_dual(t.ones(4).long(), vector(t))),
    "dual of a dual": inside(lambda t, f: f.make_dual(dual(t), others(t))),
    "dual tangent": inside(lambda t, f: f.make_dual(rows(t), dual(t))),
    "nested levels": inside(lambda t, f: f.enter_dual_level()),
    "another level": inside(lambda t, f: f.exit_dual_level(level=3)),
    "out": inside(lambda t, f: t.add(dual(t), 1.0, out=t.empty(3, 4))),
    "no tensor": inside(lambda t, f: f.unpack_dual(3)),
    "numbers": inside(lambda t, f: [dual(t).sum().item(), bool(dual(t).sum() > 0), dual(t).tolist()]),
    "text": inside(lambda t, f: repr(f.make_dual(vector(t), vector(t)))),
    "no level": lambda t: t.autograd.forward_ad.make_dual(rows(t), rows(t)),
    "no level to leave": lambda t: t.autograd.forward_ad.exit_dual_level(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_torch(name: str) -> None:
    agree(PROGRAMS[name])


def test_both_executors(executor) -> None:
    agree(both_modes)


def test_without_a_level_nothing_is_slow() -> None:
    state = ours.core.state.thread.state
    before = state.slow, state.immediate
    with ours.autograd.forward_ad.dual_level():
        assert state.slow > before[0]
        dual(ours).sum()
    assert (state.slow, state.immediate) == before
