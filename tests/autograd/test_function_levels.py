"""``autograd.Function`` inside of transformations.

Its backward and its jvp are wrong on purpose, each in its own way, so that results tell which of them was used.
"""

from __future__ import annotations

import pytest

from tests.autograd.outcomes import agree
from tests.func.data import others, rows, vector


@pytest.fixture(autouse=True)
def no_script(monkeypatch: pytest.MonkeyPatch):
    """See tests/func/conftest.py."""
    monkeypatch.setenv("PYTORCH_JIT", "0")


def backward(ctx, g, h):
    x = ctx.saved_tensors[0]
    return 3 * g * x * ctx.factor + h * ctx.factor, None


def jvp(ctx, tangent, _):
    x = ctx.saved_tensors[0]
    return 5 * tangent * x * ctx.factor, tangent * ctx.factor


def setup_context(ctx, inputs, output):
    x, ctx.factor = inputs
    ctx.save_for_backward(x, output[0])
    ctx.save_for_forward(x, output[0])


def forward_with_ctx(ctx, x, factor):
    setup_context(ctx, (x, factor), (x,))
    return x**2 * factor, x * factor


def function(torch, **members):
    """A function of a tensor: the sum of the results of a Function that is called twice."""

    def vmap(info, in_dims, x, factor):
        x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
        return Custom.apply(x, factor + info.batch_size), (0, 0)

    parts = {"forward": lambda x, factor: (x**2 * factor, x * factor), "setup_context": setup_context, "backward": backward, "jvp": jvp}
    parts |= {"vmap": vmap} if members.pop("has_vmap", False) else {}
    parts = {name: part for name, part in (parts | members).items() if part is not None}
    Custom = type("Custom", (torch.autograd.Function,), {n: staticmethod(p) if callable(p) else p for n, p in parts.items()})
    return lambda x: Custom.apply(x, 2.0)[0].sum() + Custom.apply(x, 3.0)[1].sum()


KINDS = {
    "generated": {"generate_vmap_rule": True},
    "own rule": {"has_vmap": True},
    "no rule": {},
    "both rules": {"generate_vmap_rule": True, "has_vmap": True},
    "with ctx": {"forward": forward_with_ctx, "setup_context": None},
    "no jvp": {"jvp": None, "generate_vmap_rule": True},
}


def dual(torch, f):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(f(forward_ad.make_dual(rows(torch), others(torch)))))


def taped(torch, f):
    x = rows(torch).requires_grad_()
    f(x).sum().backward()
    return x.grad


USES = {
    "grad": lambda t, f: t.func.grad(f)(rows(t)),
    "grad of grad": lambda t, f: t.func.grad(lambda a: t.func.grad(f)(a).sum())(rows(t)),
    "vmap": lambda t, f: t.vmap(f)(rows(t)),
    "vmap of grad": lambda t, f: t.vmap(t.func.grad(f))(rows(t)),
    "grad of vmap": lambda t, f: t.func.grad(lambda w: t.vmap(lambda r: f(r * w))(rows(t)).sum())(vector(t)),
    "grad of vmap, captured": lambda t, f: t.func.grad(lambda w: t.vmap(lambda r: f(w) * r.sum())(rows(t)).sum())(vector(t)),
    "grad of vmap of grad": lambda t, f: t.func.grad(lambda a: t.vmap(t.func.grad(f))(a).sum())(rows(t)),
    "jvp": lambda t, f: t.func.jvp(f, (rows(t),), (others(t),)),
    "vmap of jvp": lambda t, f: t.vmap(lambda a, b: t.func.jvp(f, (a,), (b,)))(rows(t), others(t)),
    "jvp of vmap": lambda t, f: t.func.jvp(t.vmap(f), (rows(t),), (others(t),)),
    "hessian": lambda t, f: t.func.hessian(f)(vector(t)),
    "dual": dual,
    "tape": taped,
    "tape of vmap": lambda t, f: taped(t, t.vmap(f)),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_as_torch(kind: str, use: str) -> None:
    agree(lambda torch: USES[use](torch, function(torch, **KINDS[kind])))


def test_wrong_returns_of_vmap_as_torch() -> None:
    for result in (3, (1, 2, 3), ((1, 2), (0,))):
        agree(lambda torch, result=result: torch.vmap(function(torch, vmap=lambda info, in_dims, *_: result))(rows(torch)))

