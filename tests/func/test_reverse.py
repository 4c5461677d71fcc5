"""``grad``, ``grad_and_value``, ``vjp``: alone, in each other, in ``vmap``, on the tape, inside of JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pytorchlike as ours
from pytorchlike.graph import counters
from pytorchlike.interop.jax import pure
from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected

from .data import OTHERS, ROWS, others, rows, vector, wave

PROGRAMS, program = collected()


@program
def gradient(torch):
    F = torch.func
    x = vector(torch)
    return F.grad(wave)(x), F.grad_and_value(wave)(x), F.grad(lambda a, b: (a * b).sum(), argnums=(1, 0))(x, 2 * x), F.grad(lambda a, b: b.sum())(x, x)


@program
def gradient_of_containers(torch):
    F = torch.func
    x = vector(torch)
    tree = {"a": x, "b": [2 * x, (x.sum(),)]}
    return F.grad(lambda t: (t["a"] * t["b"][0]).sum() * t["b"][1][0])(tree)


@program
def gradients_of_gradients(torch):
    F = torch.func
    x = vector(torch)
    cubed = F.grad(lambda a: (a**4).sum())
    inner = F.grad(lambda b: F.grad(lambda a: (a.sin() * b * b).sum())(b).sum())(x)
    return F.grad(lambda a: cubed(a).pow(2).sum())(x), inner, F.grad(F.grad(F.grad(lambda t: t**5)))(torch.tensor(0.7))


@program
def no_confusion_of_inner_and_outer(torch):
    F = torch.func
    return F.grad(lambda x: x * F.grad(lambda y: x + y)(torch.tensor(1.0)))(torch.tensor(2.0))


@program
def per_sample_gradients(torch):
    F = torch.func
    x, w = rows(torch), vector(torch)
    return F.vmap(F.grad(lambda w, x: (w * x).relu().pow(2).sum()), in_dims=(None, 0))(w, x), F.vmap(F.grad(wave))(x)


@program
def gradients_through_batches(torch):
    F = torch.func
    x, w = rows(torch), vector(torch)
    once = F.grad(lambda w: F.vmap(lambda r: (r * w).sin().sum())(x).sum())(w)
    twice = F.grad(lambda w: F.vmap(F.grad(lambda r: wave(r * w)))(x).sum())(w)
    captured = F.grad(lambda w: F.vmap(lambda r: F.grad(lambda q: (q * q * r).sum())(w))(x).sum())(w)
    return once, twice, captured


@program
def on_the_tape(torch):
    F = torch.func
    x = rows(torch).requires_grad_()
    w = vector(torch).requires_grad_()
    found, value = F.grad_and_value(wave)(x)
    (found.pow(2).sum() + value).backward()
    F.grad(lambda v: (v.sin() * w * v).sum())(vector(torch)).sum().backward()
    F.vmap(F.grad(lambda r: wave(r * w)))(rows(torch)).sum().backward()
    return x.grad, w.grad, F.grad(wave)(vector(torch)).requires_grad, F.grad(wave)(w).requires_grad


@program
def switched_off_tape(torch):
    F = torch.func

    def f(a):
        with torch.no_grad():
            c = a**2
        return (a * 3 - c).sum()

    x = rows(torch)
    with torch.no_grad():
        outside = F.grad(f)(vector(torch).requires_grad_())
    return outside, outside.requires_grad, F.vmap(F.grad(f))(x), F.grad(lambda a: F.vmap(f)(x * a).sum())(vector(torch))


@program
def pulled_back(torch):
    F = torch.func
    x, v = rows(torch), others(torch)
    output, pull = F.vjp(lambda a, b: {"p": (a.sin() * b).sum(0), "q": b.sum()}, x, v)
    cotangents = {"p": vector(torch), "q": torch.tensor(2.0)}
    again = F.vmap(lambda g: pull({"p": g, "q": torch.tensor(1.0)}))(x)
    value, pull_aux, aux = F.vjp(lambda a: (a.sin(), a.cos()), x, has_aux=True)
    return output, pull(cotangents), pull(cotangents), again, value, pull_aux(v), aux, F.vjp(lambda a: torch.ones(2), x)[1](torch.ones(2))


@program
def aux(torch):
    F = torch.func
    x = vector(torch)
    return F.grad(lambda a: (wave(a), {"seen": a * 2}), has_aux=True)(x), F.grad_and_value(lambda a: (wave(a), a * 2), has_aux=True)(x)


@program
def writes_and_views(torch):
    def f(a):
        b = a.clone()
        b[1:] *= 2
        b[0] = a[3]
        return (b.view(2, 2).t() @ a[:2]).sum() + b[::2].sum()

    F = torch.func
    x = rows(torch)
    return F.grad(f)(vector(torch)), F.vmap(f)(x), F.vmap(F.grad(f))(x), F.jvp(f, (vector(torch),), (x[0],)), F.hessian(f)(vector(torch))


@program
def branches_on_numbers(torch):
    def f(a):
        return a.sum() if a[0] > 0 and a.sum().item() != 0 else (a * a).sum()

    F = torch.func
    x = vector(torch)
    return F.grad(f)(x), F.grad(f)(-x), F.jvp(f, (-x,), (x,)), F.vjp(f, -x)[1](torch.tensor(1.0))


@program
def detached(torch):
    F = torch.func
    x, v = rows(torch), others(torch)
    return (
        F.grad(lambda a: F.vmap(lambda r: (r.detach() * r).sum())(a).sum())(x), F.jvp(lambda a: a.detach() * a, (x,), (v,)),
        F.grad(lambda a: (a.detach() * a).sum())(x),
    )  # fmt: skip


@program
def vectors_of_the_users_own_graph(torch):
    a = rows(torch).requires_grad_()
    out = (a.sin() * a).sum(0)
    every = torch.autograd.grad(out, a, torch.eye(4), is_grads_batched=True, retain_graph=True)
    return torch.func.vmap(lambda c: torch.autograd.grad(out, a, c, retain_graph=True)[0])(torch.eye(4)), every


@named_programs(PROGRAMS)
def test_as_torch(program) -> None:
    agree(program)


@named_programs([gradients_of_gradients, gradients_through_batches])
def test_both_executors(program, executor) -> None:
    agree(program)


REFUSED = {
    "not a scalar": lambda t: t.func.grad(lambda a: a)(vector(t)),
    "no tensor returned": lambda t: t.func.grad(lambda a: 3.0)(vector(t)),
    "no tensor given": lambda t: t.func.grad(lambda a: a)(2.0),
    "integers": lambda t: t.func.grad(lambda a: a.sum() * 1.0)(t.tensor([1])),
    "no such argument": lambda t: t.func.grad(lambda a: a.sum(), argnums=2)(vector(t)),
    "no arguments": lambda t: t.func.grad(lambda a: a.sum(), argnums=())(vector(t)),
    "an argument twice": lambda t: t.func.grad(lambda a: a.sum(), argnums=(0, 0))(vector(t)),
    "argnums no number": lambda t: t.func.grad(lambda a: a.sum(), argnums="a")(vector(t)),
    "no aux": lambda t: t.func.grad(lambda a: a.sum(), has_aux=True)(vector(t)),
    "aux no tensor": lambda t: t.func.vjp(lambda a: (a, 2), vector(t), has_aux=True),
    "integer output": lambda t: t.func.vjp(lambda a: a.long(), vector(t)),
    "no output": lambda t: t.func.vjp(lambda a: None, vector(t)),
    "other cotangents": lambda t: t.func.vjp(lambda a: a, vector(t))[1]((vector(t),)),
    "backward inside": lambda t: t.func.grad(lambda a: (a.sum().backward(), a.sum())[1])(vector(t)),
    "requires_grad_ inside": lambda t: t.func.grad(lambda a: a.requires_grad_().sum())(vector(t)),
    "write to an input": lambda t: t.func.grad(lambda a: a.mul_(2).sum())(vector(t)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_as_torch(name: str) -> None:
    agree(REFUSED[name])


# ------------------------------------------------------------------------------------------------ beside and inside of JAX
def test_gradient_is_that_of_jax() -> None:
    def loss(w, x):
        return jnp.square(jnp.tanh(x @ w)).sum()

    x, w = np.array(ROWS, np.float32), np.array(OTHERS, np.float32).T
    mine = ours.func.grad(lambda w, x: (x @ w).tanh().square().sum())(ours.tensor(w), ours.tensor(x))
    np.testing.assert_allclose(mine.numpy(), jax.grad(loss)(w, x), rtol=1e-5)


def test_transforms_run_inside_of_jax() -> None:
    mine = pure(ours.func.vmap(ours.func.grad(wave)))
    x = jnp.array(ROWS)
    theirs = jax.vmap(jax.grad(lambda r: (jnp.sin(r) * r * r).sum()))(x)
    np.testing.assert_allclose(jax.jit(mine)(x), theirs, rtol=1e-5)
    hessian = jax.jacrev(pure(ours.func.grad(wave)))(x[0])
    np.testing.assert_allclose(hessian, jax.hessian(lambda r: (jnp.sin(r) * r * r).sum())(x[0]), rtol=1e-4, atol=1e-6)
    forward = jax.jit(pure(lambda r: ours.func.jvp(wave, (r,), (r,))[1]))(x[0])
    np.testing.assert_allclose(forward, jax.jvp(lambda r: (jnp.sin(r) * r * r).sum(), (x[0],), (x[0],))[1], rtol=1e-5)


# ------------------------------------------------------------------------------------------------ what it costs
def test_second_call_compiles_nothing() -> None:
    step = ours.func.vmap(ours.func.grad(wave))
    step(rows(ours)).tolist()
    before = len(counters.compilations)
    step(others(ours)).tolist()
    assert len(counters.compilations) == before


def test_a_gradient_is_recorded_like_a_backward_pass() -> None:
    x = vector(ours)
    ours.graph.flush_all()
    ours.func.grad(wave)(x)
    (y := x.detach().requires_grad_()).grad = None
    depth = ours.core.state.thread.state.trace.position.depth
    ours.graph.flush_all()
    wave(y).backward()
    assert depth == ours.core.state.thread.state.trace.position.depth
