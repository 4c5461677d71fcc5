"""``torch.vmap``: arguments and results, operators, randomness, chunks, refusals."""

from __future__ import annotations

import warnings

import pytest

import pytorchlike as ours
from tests.autograd.outcomes import agree, named_programs
from tests.autograd.programs import collected
from tests.func.data import others, rows, vector

PROGRAMS, program = collected()


@program
def dimensions(torch):
    x, v = rows(torch), others(torch)
    return (
        torch.vmap(torch.dot)(x, v), torch.vmap(lambda a, b: a * b, in_dims=(1, None), out_dims=1)(x, torch.tensor(2.0)),
        torch.vmap(lambda a: a * 2, in_dims=-1)(x), torch.vmap(lambda a: torch.ones(2))(x), torch.vmap(lambda a: (a, 3), out_dims=(0, None))(x),
        torch.vmap(lambda a, s=2.0: a * s)(x, s=x),
    )  # fmt: skip


@program
def containers(torch):
    x, v, w = rows(torch), others(torch), vector(torch)
    f = lambda d: (d["a"] * d["b"][0], [d["b"][1]])
    return torch.vmap(f, in_dims=({"a": 0, "b": (None, 1)},), out_dims=(1, [0]))({"a": x, "b": (w, v.t())})


@program
def nested(torch):
    x, v = rows(torch), others(torch)
    return torch.vmap(torch.vmap(lambda a, b: a * b + 1, in_dims=(0, None)), in_dims=(None, 0))(x, v)


@program
def chunks(torch):
    x, w = rows(torch), vector(torch)
    return [torch.vmap(lambda a, b: (a * b).sum(), in_dims=(0, None), chunk_size=c)(x, w) for c in (1, 2, 5)]


@program
def writes(torch):
    def local(a):
        z = torch.zeros_like(a)
        z[0] = a[1]
        return z + a.new_zeros(4).copy_(a).mul_(2)

    x = rows(torch)
    out = torch.vmap(lambda a: a.mul_(2))(x)
    return torch.vmap(local)(x), out + 0, x


@program
def indices_of_the_batch(torch):
    x = rows(torch)
    index = torch.tensor([0, 1, 2])
    return torch.vmap(lambda a, i: a[i])(x, index), torch.vmap(lambda i: x[i])(index), torch.vmap(lambda a, i: a[i])(x, x.argsort(1))


@program
def tape_around(torch):
    x = rows(torch).requires_grad_()
    torch.vmap(lambda a: a.sin() * a.detach())(x).sum().backward()
    return x.grad


@named_programs(PROGRAMS)
def test_as_torch(program) -> None:
    agree(program)


@named_programs([nested, writes])
def test_both_executors(program, executor) -> None:
    agree(program)


# ------------------------------------------------------------------------------------------------ operators
#: Functions of a vector of four; their values, and their gradients where there are some, are compared for every row of a matrix.
OPERATORS = {
    "softmax": lambda t, v: v.softmax(0), "layer_norm": lambda t, v: t.nn.functional.layer_norm(v, (4,)), "norm": lambda t, v: v.norm(),
    "conv1d": lambda t, v: t.nn.functional.conv1d(v.view(1, 1, 4), v[:3].view(1, 1, 3)), "sort": lambda t, v: v.sort()[0], "max": lambda t, v: v.max(0)[0],
    "einsum": lambda t, v: t.einsum("i,j->ij", v, v), "solve": lambda t, v: t.linalg.solve(t.eye(4) + v[:, None] * v, v), "cumsum": lambda t, v: v.cumsum(0),
    "gather": lambda t, v: v.gather(0, v.argsort()), "scatter": lambda t, v: t.zeros_like(v).scatter(0, v.argsort(), v), "stack": lambda t, v: t.stack([v, v * 2]),
    "broadcasting": lambda t, v: v.expand(2, 4) + t.arange(2)[:, None], "where": lambda t, v: t.where(v > 0, v, 0.0), "casts": lambda t, v: v.double().to(t.float32),
    "cross_entropy": lambda t, v: t.nn.functional.cross_entropy(v, t.tensor(1)), "diagonal": lambda t, v: v.view(2, 2).diagonal(), "std": lambda t, v: v.std(),
    "index_put": lambda t, v: v.clone().index_put_((t.tensor([0, 1]),), v[:2]), "item assignment": lambda t, v: (z := v.clone(), z.__setitem__(1, 5.0), z)[2],
    "in place": lambda t, v: v.clone().add_(1).mul_(v), "embedding": lambda t, v: t.nn.functional.embedding(v.argsort(), t.arange(8.0).view(4, 2)),
    "addmm": lambda t, v: t.addmm(v[:2], v.view(2, 2), v.view(2, 2)), "comparison": lambda t, v: v > v.mean(), "masked_fill": lambda t, v: v.masked_fill(v > 0, 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_as_torch(name: str) -> None:
    function = OPERATORS[name]

    def values_and_gradients(torch):
        x = rows(torch)
        values = torch.vmap(lambda v: function(torch, v))(x)
        if not values.is_floating_point() or name == "embedding":
            return values
        square = lambda v: function(torch, v).square().sum()
        return values, torch.vmap(torch.func.grad(square))(x), torch.func.jvp(torch.vmap(square), (x,), (others(torch),))

    def quiet(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of those that it computes in a loop
            return values_and_gradients(torch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTORCH_JIT", "0")  # see tests/func/conftest.py
        agree(quiet)


# ------------------------------------------------------------------------------------------------ random numbers
RANDOM = {
    "randn": lambda t, a: a + t.randn(4), "rand_like": lambda t, a: a * t.rand_like(a), "dropout": lambda t, a: t.nn.functional.dropout(a, 0.4),
    "normal_": lambda t, a: a.clone().normal_(), "randint": lambda t, a: a + t.randint(0, 9, (4,)), "randperm": lambda t, a: a + t.randperm(4),
    "bernoulli_": lambda t, a: t.zeros_like(a).bernoulli_(0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_torchs(name: str) -> None:
    def drawn(torch):
        found = []
        for randomness in ("different", "same"):
            torch.manual_seed(3)
            found += [torch.vmap(lambda a: RANDOM[name](torch, a), randomness=randomness)(rows(torch)), torch.rand(2)]
        return found

    agree(drawn)


def test_random_numbers_in_chunks() -> None:
    def drawn(torch):
        torch.manual_seed(3)
        return [torch.vmap(lambda a: a + torch.randn(4), randomness=r, chunk_size=2)(rows(torch)) for r in ("same", "different")]

    agree(drawn)


# ------------------------------------------------------------------------------------------------ refusals
REFUSED = {
    "sizes": lambda t: t.vmap(lambda a, b: a)(rows(t), vector(t)),
    "no such dimension": lambda t: t.vmap(lambda a: a, in_dims=3)(rows(t)),
    "no batch": lambda t: t.vmap(lambda a: a, in_dims=None)(rows(t)),
    "nothing is batched": lambda t: t.vmap(lambda a: a, in_dims=(None,))(rows(t)),
    "structure of in_dims": lambda t: t.vmap(lambda a: a, in_dims=(0, 0))(rows(t)),
    "in_dims no number": lambda t: t.vmap(lambda a: a, in_dims=("x",))(rows(t)),
    "a number": lambda t: t.vmap(lambda a, b: a)(rows(t), 1),
    "no arguments": lambda t: t.vmap(lambda: 1)(),
    "no tensor": lambda t: t.vmap(lambda a: 1)(rows(t)),
    "out_dim None": lambda t: t.vmap(lambda a: a, out_dims=None)(rows(t)),
    "structure of out_dims": lambda t: t.vmap(lambda a: a, out_dims=(0, 0))(rows(t)),
    "out_dims no number": lambda t: t.vmap(lambda a: a, out_dims="a")(rows(t)),
    "no such out_dim": lambda t: t.vmap(lambda a: a, out_dims=4)(rows(t)),
    "randomness": lambda t: t.vmap(lambda a: a, randomness="x")(rows(t)),
    "chunk_size": lambda t: t.vmap(lambda a: a, chunk_size=0)(rows(t)),
    "item": lambda t: t.vmap(lambda a: a.sum().item())(rows(t)),
    "branch": lambda t: t.vmap(lambda a: a if a.sum() > 0 else -a)(rows(t)),
    "float": lambda t: t.vmap(lambda a: float(a.sum()))(rows(t)),
    "numpy": lambda t: t.vmap(lambda a: a.numpy())(rows(t)),
    "data": lambda t: t.vmap(lambda a: a.data)(rows(t)),
    "nonzero": lambda t: t.vmap(lambda a: a.nonzero())(rows(t)),
    "where": lambda t: t.vmap(lambda a: t.where(a > 0))(rows(t)),
    "mask": lambda t: t.vmap(lambda a: a[a > 0])(rows(t)),
    "masked_select": lambda t: t.vmap(lambda a: a.masked_select(a > 0))(rows(t)),
    "unique": lambda t: t.vmap(lambda a: a.unique())(rows(t)),
    "one_hot": lambda t: t.vmap(t.nn.functional.one_hot)(t.tensor([0, 1])),
    "running statistics": lambda t: t.vmap(t.nn.BatchNorm1d(4))(rows(t).expand(2, 3, 4)),
    "random": lambda t: t.vmap(lambda a: a + t.randn(4))(rows(t)),
    "random in place": lambda t: t.vmap(lambda a: t.zeros(4).normal_(), randomness="different")(rows(t)),
    "write of a batch": lambda t: t.vmap(lambda a: t.zeros(4).copy_(a))(rows(t)),
    "backward": lambda t: t.vmap(lambda a: a.sum().backward())(rows(t)),
    "requires_grad_": lambda t: t.vmap(lambda a: a.requires_grad_())(rows(t)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_as_torch(name: str) -> None:
    agree(REFUSED[name])


def test_a_refusal_leaves_no_level_behind() -> None:
    state = ours.core.state.thread.state
    before = state.slow, state.immediate
    with pytest.raises(ZeroDivisionError):
        ours.vmap(ours.func.grad(lambda a: ours.func.jvp(lambda b: 1 / 0, (a,), (a,))))(rows(ours))
    assert not state.levels and not state.transforms and (state.slow, state.immediate) == before and ours.is_grad_enabled()
    assert (ours.ones(2) + 1).tolist() == [2.0, 2.0]


def test_a_batch_is_computed_by_one_instruction_each() -> None:
    x = rows(ours)
    ours.graph.flush_all()
    ours.vmap(lambda a: (a.sin() * a).sum())(x)
    assert ours.core.state.thread.state.trace.position.depth == 3


def test_text() -> None:
    seen: list[str] = []
    ours.vmap(lambda a: (seen.append(repr(a)), a)[1])(ours.ones(2, 2))
    assert seen == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 1.],\n            [1., 1.]])\n)"]


def test_what_libraries_ask() -> None:
    agree(lambda torch: [torch._C._are_functorch_transforms_active(), torch.vmap(lambda a: a + torch._C._are_functorch_transforms_active())(torch.ones(2))])
    agree(lambda torch: torch.vmap(lambda a: a + torch._C._functorch.is_batchedtensor(a) + torch._C._functorch.is_legacy_batchedtensor(a))(torch.ones(2)))
