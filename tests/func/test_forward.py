"""``jvp`` and ``linearize``: alone and nested with reverse mode and batches."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pytorchlike as ours
from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected

from .data import ROWS, others, rows, vector, wave

PROGRAMS, program = collected()


@program
def product(torch):
    F = torch.func
    x, v = rows(torch), others(torch)
    return F.jvp(lambda a: (a.sin() * a).sum(1), (x,), (v,)), F.jvp(lambda a: torch.ones(2), (x,), (v,)), F.jvp(lambda a: (a * 2, a.exp()), (x,), (v,), has_aux=True)


@program
def products_of_products(torch):
    F = torch.func
    x, v = rows(torch), others(torch)
    return F.jvp(lambda b: F.jvp(lambda a: (a.sin() * a * b).sum(1), (b,), (b * 2,)), (x,), (v,))


@program
def with_reverse_mode(torch):
    F = torch.func
    x, v = rows(torch), others(torch)
    return (
        F.jvp(F.grad(wave), (x,), (v,)), F.grad(lambda b: F.jvp(wave, (b,), (v,))[1])(x),
        F.grad(lambda b: F.jvp(F.grad(wave), (b,), (v,))[1].sum())(x),
    )  # fmt: skip


@program
def with_batches(torch):
    F = torch.func
    x, v, w = rows(torch), others(torch), vector(torch)
    return (
        F.vmap(lambda a, b: F.jvp(wave, (a,), (b,)))(x, v), F.jvp(F.vmap(wave), (x,), (v,)), F.vmap(lambda a, b: F.jvp(F.grad(wave), (a,), (b,)))(x, v),
        F.grad(lambda c: F.vmap(lambda a, b: F.jvp(lambda r: wave(r * c), (a,), (b,))[1])(x, v).sum())(w),
        F.grad(lambda b: F.jvp(F.vmap(wave), (b,), (v,))[1].sum())(x),
    )  # fmt: skip


@program
def ties_and_kinks(torch):
    x = torch.tensor([0.0, 1.0, 1.0, -2.0])
    return torch.func.jvp(lambda a: torch.relu(a) + a.abs() + a.clamp(0, 1) + torch.maximum(a, a * 2) + a.max() + a.amax(), (x,), (torch.ones(4) * 2,))


@program
def complex_numbers(torch):
    x, v = torch.tensor([1 + 2j, 3.0 - 1j]), torch.tensor([1j, 2.0])
    value, product = torch.func.jvp(lambda a: (a * a * a.abs()).sum(), (x,), (v,))
    return torch.view_as_real(value), torch.view_as_real(product)


@program
def linear_and_written(torch):
    def f(a):
        b = a.clone()
        b.t()[1].mul_(3)
        b[0] = a[1].view(4)
        return torch.cat([b, a.movedim(0, 1).reshape(3, 4)]).split(2, 1)[1]

    return torch.func.jvp(f, (rows(torch),), (others(torch),))


@program
def writes_reach_the_argument(torch):
    x = rows(torch)
    return torch.func.jvp(lambda a: a.mul_(2).sum(), (x,), (others(torch),)), x


@named_programs(PROGRAMS)
def test_as_torch(program) -> None:
    agree(program)


@named_programs([with_reverse_mode])
def test_both_executors(program, executor) -> None:
    agree(program)


REFUSED = {
    "primals no tuple": lambda t: t.func.jvp(lambda a: a, rows(t), rows(t)),
    "another structure": lambda t: t.func.jvp(lambda a: a, (rows(t),), (rows(t), rows(t))),
    "tangent no tensor": lambda t: t.func.jvp(lambda a: a, (rows(t),), (1,)),
    "output no tensor": lambda t: t.func.jvp(lambda a: 1, (rows(t),), (rows(t),)),
    "no output": lambda t: t.func.jvp(lambda a: None, (rows(t),), (rows(t),)),
    "independent": lambda t: t.func.jvp(lambda a: t.ones(2), (rows(t),), (rows(t),), strict=True),
    "another size": lambda t: t.func.jvp(lambda a: a, (rows(t),), (vector(t),)),
    "integers": lambda t: t.func.jvp(lambda a: a, (t.tensor([1]),), (t.tensor([1]),)),
    "no aux": lambda t: t.func.jvp(lambda a: a, (rows(t),), (rows(t),), has_aux=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_as_torch(name: str) -> None:
    agree(REFUSED[name])


def test_product_is_that_of_jax() -> None:
    x = np.array(ROWS, np.float32)
    mine = ours.func.jvp(lambda a: a.softmax(1).cumsum(0), (ours.tensor(x),), (ours.tensor(x * x),))[1]
    theirs = jax.jvp(lambda a: jnp.cumsum(jax.nn.softmax(a, 1), 0), (x,), (x * x,))[1]
    np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------------------------------ linearize
def linear(torch):
    F = torch.func
    x, v = rows(torch), others(torch)
    value, push = F.linearize(lambda a: {"a": (a.sin() * a).sum(1), "b": a.clone().mul_(2)[0]}, x)
    batches, push_batches = F.linearize(lambda a: F.vmap(lambda r: (r.relu() * a).sum())(a), x)
    return value, push(v), push(2 * v), batches, F.vmap(push_batches)(torch.stack([v, 2 * v]))


LINEARIZE = {
    "products": linear,
    "another size": lambda t: t.func.linearize(lambda a: a * 1, rows(t))[1](vector(t)),
    "another dtype": lambda t: t.func.linearize(lambda a: a * 1, rows(t))[1](rows(t).double()),
    "another structure": lambda t: t.func.linearize(lambda a: a * 1, rows(t))[1](rows(t), rows(t)),
}


@pytest.mark.parametrize("name", LINEARIZE)
def test_linearize_as_torch(name: str) -> None:
    def quiet(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's tracer warns of its own graph
            return LINEARIZE[name](torch)

    agree(quiet)


def test_linearize_evaluates_once() -> None:
    calls = []
    _, push = ours.func.linearize(lambda a: (calls.append(1), a.sin())[1], rows(ours))
    push(others(ours))
    push(rows(ours))
    assert len(calls) == 1
