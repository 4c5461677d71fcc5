"""``jacrev``, ``jacfwd``, ``hessian`` and their compositions."""

from __future__ import annotations

import pytest

from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected

from .data import rows, vector, wave

PROGRAMS, program = collected()


@program
def jacobians(torch):
    F = torch.func
    x = rows(torch)
    several = [F.jacrev(lambda a: (a.sin() * a).sum(1), chunk_size=c)(x) for c in (None, 1, 2, 5)]
    return several, F.jacfwd(lambda a: (a.sin() * a).sum(1))(x)


@program
def of_containers(torch):
    F = torch.func
    x, w = rows(torch), vector(torch)

    def f(a, b):
        return {"q": (a * b["w"]).sum(0), "z": a.sin().sum()}

    return [jacobian(f, argnums=(0, 1))(x, {"w": w}) for jacobian in (F.jacrev, F.jacfwd)], F.jacrev(f, argnums=1)(x, {"w": w})


@program
def aux(torch):
    F = torch.func
    x = vector(torch)
    return F.jacrev(lambda a: (a.sin(), a.cos()), has_aux=True)(x), F.jacfwd(lambda a: (a.sin(), a.cos()), has_aux=True)(x)


@program
def independent(torch):
    F = torch.func
    x = vector(torch)
    return F.jacrev(lambda a: torch.ones(2))(x), F.jacfwd(lambda a: torch.ones(2))(x)


@program
def second_derivatives(torch):
    F = torch.func
    x = vector(torch)
    return F.hessian(wave)(x), F.jacrev(F.jacrev(wave))(x), F.jacfwd(F.jacfwd(wave))(x), F.jacrev(F.jacfwd(wave))(x)


@program
def of_batches_and_on_the_tape(torch):
    F = torch.func
    x, w = rows(torch), vector(torch).requires_grad_()
    F.hessian(lambda b: wave(b * w))(w).pow(2).sum().backward()
    return F.vmap(F.hessian(wave))(x), w.grad, F.grad(lambda a: F.hessian(wave)(a).sum())(vector(torch)), F.jacfwd(lambda b: b.sin() * w)(x[0]).requires_grad


@named_programs(PROGRAMS)
def test_as_torch(program) -> None:
    agree(program)


REFUSED = {
    "complex": lambda t: t.func.jacrev(lambda a: a)(t.tensor([1j])),
    "complex output": lambda t: t.func.jacfwd(lambda a: a * 1j)(vector(t)),
    "chunk size": lambda t: t.func.jacrev(lambda a: a, chunk_size=0),
    "no tensor": lambda t: t.func.jacfwd(lambda a: 1)(vector(t)),
    "no such argument": lambda t: t.func.jacfwd(lambda a: a, argnums=1)(vector(t)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_as_torch(name: str) -> None:
    agree(REFUSED[name])
