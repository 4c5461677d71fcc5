"""``torch.autograd.functional`` beside torch's."""

from __future__ import annotations

import pytest

from tests.autograd.outcomes import agree
from tests.func.data import others, rows, vector


@pytest.fixture(autouse=True)
def no_script(monkeypatch: pytest.MonkeyPatch):
    """See tests/func/conftest.py."""
    monkeypatch.setenv("PYTORCH_JIT", "0")


def one(a):
    return (a.sin() * a).sum(1)


def two(a, b):
    return (a * b).sum(0), (a * a).sum()


def number(a, b):
    return (a * b).sin().sum()


def pair(torch):
    return rows(torch), vector(torch)


@pytest.mark.parametrize("create_graph", [False, True])
def test_products_as_torch(create_graph: bool) -> None:
    def products(torch):
        A, x, v, w = torch.autograd.functional, rows(torch), others(torch), vector(torch)
        options = {"create_graph": create_graph}
        return (
            A.vjp(one, x, torch.ones(3), **options), A.vjp(two, (x, w), (torch.ones(4), torch.tensor(2.0)), **options), A.vjp(lambda a: one(a).sum(), x, **options),
            A.jvp(one, x, v, **options), A.jvp(two, (x, w), (v, w), **options), A.vhp(number, (x, w), (v, w), **options),
            A.hvp(lambda a: one(a).sum(), x, v, **options), A.hvp(number, (x, w), (v, w), **options),
        )  # fmt: skip

    agree(products)


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_matrices_as_torch(create_graph: bool, vectorize: bool) -> None:
    def matrices(torch):
        A, options = torch.autograd.functional, {"create_graph": create_graph, "vectorize": vectorize}
        return (
            A.jacobian(one, rows(torch), **options), A.jacobian(two, pair(torch), **options), A.hessian(lambda a: a.sin().prod(), vector(torch), **options),
            A.hessian(number, pair(torch), **options), A.jacobian(lambda a, b: a * 2, (vector(torch), vector(torch)), **options),
        )  # fmt: skip

    agree(matrices)


def test_forward_mode_as_torch() -> None:
    def matrices(torch):
        A = torch.autograd.functional
        return (
            A.jacobian(two, pair(torch), vectorize=True, strategy="forward-mode"), A.jacobian(one, rows(torch), vectorize=True, strategy="forward-mode"),
            A.hessian(number, pair(torch), vectorize=True, outer_jacobian_strategy="forward-mode"),
        )  # fmt: skip

    agree(matrices)


def test_results_on_the_tape() -> None:
    def through(torch):
        A = torch.autograd.functional
        x = vector(torch).requires_grad_()
        A.jacobian(lambda a: a**3, x, create_graph=True).sum().backward()
        first = x.grad.clone()
        A.hvp(lambda a: (a**3).sum(), x, torch.ones(4), create_graph=True)[1].sum().backward()
        with torch.no_grad():
            untracked = A.jacobian(one, rows(torch)), A.hvp(number, pair(torch), pair(torch))
        return first, x.grad, untracked, A.jacobian(one, rows(torch).requires_grad_()).requires_grad

    agree(through)


def A(torch):
    return torch.autograd.functional


def constant(torch):
    return lambda *_: torch.ones(2)


REFUSED = {
    "no tensor": lambda t: A(t).vjp(one, 3),
    "no tensor in a tuple": lambda t: A(t).vjp(one, (rows(t), 3)),
    "output no tensor": lambda t: A(t).vjp(lambda a: 3, rows(t)),
    "no v for outputs": lambda t: A(t).vjp(one, rows(t)),
    "no v for inputs": lambda t: A(t).jvp(one, rows(t)),
    "size of v": lambda t: A(t).vjp(one, rows(t), t.ones(2)),
    "v no tuple": lambda t: A(t).vjp(two, pair(t), t.ones(2)),
    "size of an entry": lambda t: A(t).vjp(two, pair(t), (t.ones(2), t.ones(2))),
    "length of v": lambda t: A(t).hvp(number, (vector(t), vector(t)), (vector(t),)),
    "strict: constant output": lambda t: A(t).vjp(constant(t), rows(t), t.ones(2), strict=True),
    "strict: unused input": lambda t: A(t).vjp(lambda a, b: a * 2, (vector(t), vector(t)), vector(t), strict=True),
    "strict: linear, jvp": lambda t: A(t).jvp(lambda a: a * 2, vector(t), vector(t), strict=True),
    "strict: linear, hvp": lambda t: A(t).hvp(lambda a: a.sum(), vector(t), vector(t), strict=True),
    "strict: quadratic": lambda t: A(t).vhp(lambda a: (a**2).sum(), vector(t), vector(t), strict=True, create_graph=True),
    "strict: unused input, vhp": lambda t: A(t).vhp(lambda a, b: (a**2).sum(), (vector(t), vector(t)), (vector(t), vector(t)), strict=True),
    "strict: unused input, jacobian": lambda t: A(t).jacobian(lambda a, b: a * 2, (vector(t), vector(t)), strict=True),
    "strict: linear, jacobian": lambda t: A(t).jacobian(lambda a: a * 2, vector(t), strict=True, create_graph=True),
    "strict: linear, hessian": lambda t: A(t).hessian(lambda a: (a * 2).sum(), vector(t), strict=True),
    "strategy": lambda t: A(t).jacobian(one, rows(t), strategy="x"),
    "forward mode row by row": lambda t: A(t).jacobian(one, rows(t), strategy="forward-mode"),
    "forward mode and tape": lambda t: A(t).jacobian(one, rows(t), strategy="forward-mode", create_graph=True),
    "forward mode and strict": lambda t: A(t).jacobian(one, rows(t), strategy="forward-mode", strict=True),
    "vectorize and strict": lambda t: A(t).jacobian(one, rows(t), vectorize=True, strict=True),
    "hessian of a vector": lambda t: A(t).hessian(one, rows(t)),
    "hessian of a tuple": lambda t: A(t).hessian(lambda a: (a.sum(),), rows(t)),
    "hessian's strategy": lambda t: A(t).hessian(one, rows(t), outer_jacobian_strategy="x"),
    "hvp of a vector": lambda t: A(t).hvp(one, rows(t), rows(t)),
    "hvp of a tuple": lambda t: A(t).hvp(lambda a: (a.sum(),), rows(t), rows(t)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_as_torch(name: str) -> None:
    agree(REFUSED[name])
