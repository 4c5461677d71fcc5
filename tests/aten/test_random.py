"""Random operators against torch: the same calls after the same seed give the same numbers, metadata, errors and generator state."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pytorchlike
from pytorchlike.aten import random as drawing

OURS = pytorchlike


def numbers(tensor):
    return np.asarray(tensor.tolist())


def same(ours, theirs):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    assert ours.stride() == theirs.stride()
    assert ours.requires_grad == theirs.requires_grad
    np.testing.assert_array_equal(numbers(ours), numbers(theirs))


def both(call):
    """Run a call in both after the same seed; the generators must end in the same state."""
    results = []
    for t in (OURS, torch):
        t.manual_seed(7)
        results.append(call(t))
    np.testing.assert_array_equal(numbers(OURS.get_rng_state()), torch.get_rng_state().numpy())
    return results


CALLS = {
    "rand": lambda t: t.rand(2, 3),
    "rand size keyword": lambda t: t.rand(size=(2,), dtype=t.float64),
    "rand 0-d": lambda t: t.rand(()),
    "rand half": lambda t: t.rand([40], dtype=t.float16),
    "rand complex": lambda t: t.rand(3, dtype=t.complex64),
    "rand generator": lambda t: t.rand(5, generator=t.Generator().manual_seed(3)),
    "rand out": lambda t: t.rand(3, out=t.zeros(0, dtype=t.float64)),
    "rand out resized": lambda t: t.rand(3, out=t.zeros(2, 2)),
    "randn": lambda t: t.randn(5, 7),
    "randn grad": lambda t: t.randn(3, requires_grad=True),
    "randn empty": lambda t: t.randn(0, 3),
    "randn bfloat16": lambda t: t.randn(33, dtype=t.bfloat16),
    "randint": lambda t: t.randint(10, (4,)),
    "randint low": lambda t: t.randint(-3, 10, (4, 2), dtype=t.int32),
    "randint keywords": lambda t: t.randint(low=0, high=5, size=(6,)),
    "randint high keyword": lambda t: t.randint(high=5, size=[6]),
    "randint floating": lambda t: t.randint(5, (6,), dtype=t.float32, requires_grad=True),
    "randint out": lambda t: t.randint(5, (6,), out=t.zeros(6)),
    "randperm": lambda t: t.randperm(100),
    "randperm int32": lambda t: t.randperm(10, dtype=t.int32),
    "rand_like": lambda t: t.rand_like(t.zeros(3, 4).t()),
    "rand_like dtype": lambda t: t.rand_like(t.zeros(3, 4), dtype=t.float64),
    "randn_like permuted": lambda t: t.randn_like(t.zeros(3, 8).t()),
    "randn_like channels": lambda t: t.randn_like(t.zeros(2, 3, 4, 5), memory_format=t.channels_last),
    "randint_like": lambda t: t.randint_like(t.zeros(5), 3),
    "randint_like low": lambda t: t.randint_like(t.zeros(5, dtype=t.int64), low=1, high=3),
    "normal numbers": lambda t: t.normal(0.5, 2.0, (20,)),
    "normal size keyword": lambda t: t.normal(mean=0, std=1, size=(2, 3)),
    "normal means": lambda t: t.normal(t.tensor([1.0, 2.0, 3.0]), 0.3),
    "normal out": lambda t: t.normal(t.tensor([1.0, 2.0]), t.tensor([0.0, 0.0]), out=t.zeros(2)),
    "bernoulli": lambda t: t.bernoulli(t.tensor([[0.1, 0.9, 0.5], [0.5, 0.0, 1.0]])),
    "bernoulli permuted": lambda t: t.bernoulli(t.tensor([[0.1, 0.9, 0.5], [0.5, 0.4, 0.6]]).t()),
    "bernoulli p": lambda t: t.bernoulli(t.zeros(9), 0.3),
    "bernoulli method": lambda t: t.zeros(9).bernoulli(0.5),
    "bernoulli grad": lambda t: t.bernoulli(t.rand(3, requires_grad=True)),
    "bernoulli out": lambda t: t.bernoulli(t.tensor([0.4, 0.6]), out=t.zeros(0, dtype=t.int64)),
    "multinomial": lambda t: t.multinomial(t.tensor([0.2, 3.0, 1.0]), 2),
    "multinomial columns": lambda t: t.multinomial(t.tensor([[0.2, 3.0, 1.0], [1.0, 1.0, 0.1]]).t(), 1),
    "multinomial rows": lambda t: t.tensor([[0.2, 3.0, 1.0], [1.0, 1.0, 0.0]]).multinomial(5, replacement=True),
    "poisson": lambda t: t.poisson(t.tensor([0.0, 3.0, 50.0])),
    "poisson grad": lambda t: t.poisson(t.rand(3, requires_grad=True)),
    "uniform_": lambda t: t.zeros(5).uniform_(2, 3),
    "uniform_ from": lambda t: t.zeros(5).uniform_(**{"from": 2, "to": 3}),
    "uniform_ to": lambda t: t.zeros(5).uniform_(to=0.1),
    "uniform_ view": lambda t: t.zeros(6, 4)[::2, 1:3].uniform_(),
    "normal_": lambda t: t.zeros(17, dtype=t.float64).normal_(1, 0.1),
    "normal_ permuted": lambda t: t.zeros(6, 4).t().normal_(),
    "random_": lambda t: t.zeros(5, dtype=t.int64).random_(),
    "random_ to": lambda t: t.zeros(5).random_(10),
    "random_ to keyword": lambda t: t.zeros(5).random_(to=10),
    "random_ from": lambda t: t.zeros(5, dtype=t.int64).random_(3, None),
    "random_ range": lambda t: t.zeros(5, dtype=t.uint8).random_(3, 9),
    "bernoulli_": lambda t: t.zeros(5, dtype=t.bool).bernoulli_(),
    "bernoulli_ p": lambda t: t.zeros(5).bernoulli_(p=0.2),
    "bernoulli_ tensor": lambda t: t.zeros(4, 3, dtype=t.int64).bernoulli_(t.tensor([0.1, 0.5, 0.9])),
    "bernoulli_ double": lambda t: t.zeros(3).bernoulli_(t.tensor([0.1, 0.5, 0.9], dtype=t.float64)),
    "exponential_": lambda t: t.zeros(5).exponential_(2),
    "geometric_": lambda t: t.zeros(5, dtype=t.int64).geometric_(0.3),
    "cauchy_": lambda t: t.zeros(5).cauchy_(1, 2),
    "log_normal_": lambda t: t.zeros(5).log_normal_(),
    "in place on the tape": lambda t: (t.rand(3, requires_grad=True) * 1).uniform_(),
    "state": lambda t: (t.set_rng_state(t.Generator().manual_seed(5).get_state()), t.rand(4))[1],
}


@pytest.mark.parametrize("name", CALLS)
def test_same_numbers(name):
    same(*both(CALLS[name]))


def test_normal_with_tensors_differs_by_rounding_at_most():
    for call in (
        lambda t: t.normal(t.tensor([[1.0], [2.0]]), t.tensor([0.1, 0.2, 3.0])),
        lambda t: t.normal(0.5, t.tensor([0.1, 0.2, 3.0])),
        lambda t: t.normal(t.rand(3, requires_grad=True), t.tensor([0.1, 0.2, 3.0])),
    ):
        ours, theirs = both(call)
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=2e-7, atol=1e-7)


ERRORS = [
    lambda t: t.rand(-1),
    lambda t: t.rand(3, dtype=t.int64),
    lambda t: t.randn(3, dtype=t.int64),
    lambda t: t.rand(2, out=t.zeros(2, dtype=t.float64), dtype=t.float32),
    lambda t: t.randint(3, 3, (2,)),
    lambda t: t.randint(5, (2,), requires_grad=True),
    lambda t: t.randperm(-1),
    lambda t: t.randperm(3, dtype=t.bool),
    lambda t: t.normal(t.zeros(3, dtype=t.int64), 1.0),
    lambda t: t.normal(t.zeros(3), -1.0),
    lambda t: t.bernoulli(t.zeros(3, dtype=t.int64)),
    lambda t: t.zeros(5, 4).bernoulli_(t.zeros(3)),
    lambda t: t.multinomial(t.zeros(3), 2, out=t.zeros(3)),
    lambda t: t.zeros(3, dtype=t.int64).uniform_(),
    lambda t: t.zeros(3).uniform_(3, 2),
    lambda t: t.zeros(3).normal_(0, -1),
    lambda t: t.zeros(3, dtype=t.int64).exponential_(),
    lambda t: t.zeros(3).geometric_(0),
    lambda t: t.zeros(3).uniform_(a=1),
    lambda t: t.rand(3, requires_grad=True).uniform_(),
    lambda t: t.zeros(3, 1).expand(3, 4).uniform_(),
    lambda t: t.set_rng_state(t.zeros(3)),
    lambda t: t.set_rng_state(t.zeros(3, dtype=t.uint8)),
    lambda t: t.set_rng_state(3),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    found = []
    for t in (OURS, torch):
        with pytest.raises(Exception) as raised:
            ERRORS[number](t)
        found.append((raised.type.__name__, str(raised.value).split("\n")[0]))
    assert found[0] == found[1]


def test_failed_checks_leave_the_tensor_as_it_was():
    x = OURS.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError):
        x.uniform_(3, 2)
    with pytest.raises(RuntimeError, match="Expected p_in >= 0"):
        x.bernoulli_(OURS.tensor([0.5, 2.0])).tolist()
    assert x.tolist() == [1.0, 2.0]


def test_meta_tensors_draw_nothing():
    OURS.manual_seed(0)
    before = numbers(OURS.get_rng_state())
    assert OURS.rand(3, device="meta").is_meta and OURS.zeros(3, device="meta").normal_().is_meta
    np.testing.assert_array_equal(before, numbers(OURS.get_rng_state()))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_noise(dtype, p):
    def ones(t, *shape):
        return t.ones(*shape, dtype=getattr(t, dtype))

    pairs = [
        (lambda: drawing.dropout_noise(ones(OURS, 4, 5), p), lambda: torch.dropout(ones(torch, 4, 5), p, True)),
        (lambda: drawing.dropout_noise(ones(OURS, 4, 5).t(), p), lambda: torch.dropout(ones(torch, 4, 5).t(), p, True)),
        (lambda: drawing.feature_noise(ones(OURS, 3, 5, 1, 1), p), lambda: torch.feature_dropout(ones(torch, 3, 5, 1, 1), p, True)),
        (lambda: drawing.keep_mask(ones(OURS, 4, 5), p), lambda: (torch.alpha_dropout(ones(torch, 4, 5) * 9, p, True) > 0.9).float()),
    ]
    for ours, theirs in pairs:
        left, right = both(lambda t, ours=ours, theirs=theirs: ours() if t is OURS else theirs())
        assert left.dtype.name == dtype and left.stride() == right.stride()
        np.testing.assert_array_equal(numbers(left), numbers(right))


def test_rrelu_noise():
    left, right = both(
        lambda t: drawing.rrelu_noise(t.tensor([-1.0, 2.0, -3.0]), 0.1, 0.3)
        if t is OURS
        else torch.nn.functional.rrelu(t.tensor([-1.0, 2.0, -3.0]), 0.1, 0.3, True) / t.tensor([-1.0, 2.0, -3.0])
    )
    np.testing.assert_allclose(numbers(left), numbers(right), rtol=1e-6)


def test_what_was_overwritten_gets_a_gradient_of_zero():
    results = []
    for t in (pytorchlike, torch):
        x = t.ones(3, requires_grad=True)
        p = t.full((3,), 0.5, requires_grad=True)
        y = x * 2
        y.normal_()
        assert y.grad_fn.name() == "NormalBackward0"
        (y * 3 + t.bernoulli(p) + t.normal(p, 1.0) + t.poisson(p)).sum().backward()
        results.append((x.grad.tolist(), p.grad.tolist()))
    assert results[0] == results[1]


def test_fork_rng_restores_the_state():
    OURS.manual_seed(1)
    before = numbers(OURS.get_rng_state())
    with OURS.random.fork_rng():
        OURS.rand(10)
        assert (numbers(OURS.get_rng_state()) != before).any()
    np.testing.assert_array_equal(before, numbers(OURS.get_rng_state()))
    with OURS.random.fork_rng(enabled=False):
        OURS.rand(10)
    assert (numbers(OURS.get_rng_state()) != before).any()


def test_generators():
    generator = OURS.Generator()
    with pytest.raises(TypeError, match="must be torch.Generator, not int"):
        OURS.rand(2, generator=3)
    state = generator.get_state()
    first = OURS.rand(3, generator=generator)
    assert OURS.rand(3, generator=generator.set_state(state)).tolist() == first.tolist()
    assert OURS.manual_seed(11).initial_seed() == OURS.random.initial_seed() == 11
    assert OURS.random.seed() == OURS.random.initial_seed()
