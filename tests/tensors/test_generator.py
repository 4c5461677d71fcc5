"""The CPU stream against torch: numbers and the state left behind, for mixed sequences of draws."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

from pytorchlike import random
from pytorchlike.core import dtype as D
from pytorchlike.dispatch.call import host_tensor
from pytorchlike.tensors import draws, generator, rejection
from pytorchlike.tensors.generator import Generator

FLOATS = (D.float32, D.float64, D.float16, D.bfloat16)
INTS = (D.int64, D.int32, D.int16, D.int8, D.uint8)


def torch_dtype(dtype: D.dtype) -> torch.dtype:
    return getattr(torch, dtype.name)


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8)


def torch_bits(tensor: torch.Tensor) -> np.ndarray:
    return bits(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


class Pair:
    """The two generators side by side."""

    def __init__(self, seed: int) -> None:
        self.ours, self.theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)

    def same(self, ours: np.ndarray, theirs: torch.Tensor, what: object = "") -> None:
        assert ours.shape == tuple(theirs.shape), what
        np.testing.assert_array_equal(bits(ours).ravel(), torch_bits(theirs), err_msg=str(what))
        self.same_state(what)

    def same_state(self, what: object = "") -> None:
        np.testing.assert_array_equal(self.ours.packed_state(), self.theirs.get_state().numpy(), err_msg=str(what))


def weights(rng: np.random.Generator, shape: tuple[int, ...], dtype: D.dtype) -> tuple[np.ndarray, torch.Tensor]:
    array = rng.random(shape).astype(dtype.numpy)
    return array, torch.from_numpy(array.astype(np.float64)).to(torch_dtype(dtype))


def _empty(n: int, dtype: D.dtype) -> torch.Tensor:
    return torch.empty(n, dtype=torch_dtype(dtype))


#: name -> (dtypes, ours, theirs), each of (generator, n, dtype).
DRAWS = {
    "rand": (FLOATS, lambda g, n, d: draws.uniform(g, (n,), d), lambda g, n, d: torch.rand(n, generator=g, dtype=torch_dtype(d))),
    "uniform_": (FLOATS, lambda g, n, d: draws.uniform(g, (n,), d, -0.37, 1.91), lambda g, n, d: _empty(n, d).uniform_(-0.37, 1.91, generator=g)),
    "uniform_ 0": (FLOATS, lambda g, n, d: draws.uniform(g, (n,), d, 0, 0.3), lambda g, n, d: _empty(n, d).uniform_(0, 0.3, generator=g)),
    "uniform_ narrow": (FLOATS, lambda g, n, d: draws.uniform(g, (n,), d, 2.2, 2.3), lambda g, n, d: _empty(n, d).uniform_(2.2, 2.3, generator=g)),
    "randn": (FLOATS, lambda g, n, d: draws.normal(g, (n,), d), lambda g, n, d: torch.randn(n, generator=g, dtype=torch_dtype(d))),
    "normal_": (FLOATS, lambda g, n, d: draws.normal(g, (n,), d, 0.3, 1.7), lambda g, n, d: _empty(n, d).normal_(0.3, 1.7, generator=g)),
    "normal_ 0": (FLOATS, lambda g, n, d: draws.normal(g, (n,), d, 0, 0.02), lambda g, n, d: _empty(n, d).normal_(0, 0.02, generator=g)),
    "randn complex": ((D.complex64, D.complex128), lambda g, n, d: draws.normal(g, (n,), d), lambda g, n, d: torch.randn(n, generator=g, dtype=torch_dtype(d))),
    "rand complex": ((D.complex64, D.complex128), lambda g, n, d: draws.uniform(g, (n,), d), lambda g, n, d: torch.rand(n, generator=g, dtype=torch_dtype(d))),
    "randint": ((*INTS, *FLOATS), lambda g, n, d: draws.randint(g, 3, 100, (n,), d), lambda g, n, d: torch.randint(3, 100, (n,), generator=g, dtype=torch_dtype(d))),
    "randint wide": ((D.int64, D.float32, D.float64, D.bfloat16), lambda g, n, d: draws.randint(g, -(10**15), 10**14 + 1, (n,), d), lambda g, n, d: _empty(n, d).random_(-(10**15), 10**14 + 1, generator=g)),
    "randint 2**28": ((D.int64, D.int32, D.uint32), lambda g, n, d: draws.randint(g, 0, 2**28, (n,), d), lambda g, n, d: torch.randint(0, 2**28, (n,), generator=g, dtype=torch_dtype(d))),
    "randint below 2**28": ((D.int64, D.int32), lambda g, n, d: draws.randint(g, -5, 2**28 - 6, (n,), d), lambda g, n, d: torch.randint(-5, 2**28 - 6, (n,), generator=g, dtype=torch_dtype(d))),
    "random_": ((*INTS, *FLOATS, D.bool_), lambda g, n, d: draws.random(g, (n,), d), lambda g, n, d: _empty(n, d).random_(generator=g)),
    "random_ from": ((*INTS, *FLOATS), lambda g, n, d: draws.randint(g, 5, None, (n,), d), lambda g, n, d: _empty(n, d).random_(5, None, generator=g)),
    "random_ all": ((D.int64, D.float32, D.float64, D.bfloat16), lambda g, n, d: draws.randint(g, -(2**63), None, (n,), d), lambda g, n, d: _empty(n, d).random_(-(2**63), None, generator=g)),
    "randperm": ((*INTS, *FLOATS), lambda g, n, d: draws.randperm(g, n, d), lambda g, n, d: torch.randperm(n, generator=g, dtype=torch_dtype(d))),
    "bernoulli_": ((*INTS, *FLOATS, D.bool_), lambda g, n, d: draws.bernoulli_scalar(g, 0.3, (n,), d), lambda g, n, d: _empty(n, d).bernoulli_(0.3, generator=g)),
    "exponential_": (FLOATS, lambda g, n, d: draws.exponential(g, (n,), d, 1.7), lambda g, n, d: _empty(n, d).exponential_(1.7, generator=g)),
    "geometric_": ((*INTS[:3], *FLOATS), lambda g, n, d: draws.geometric(g, (n,), d, 0.13), lambda g, n, d: _empty(n, d).geometric_(0.13, generator=g)),
    "cauchy_": (FLOATS, lambda g, n, d: draws.cauchy(g, (n,), d, 0.3, 1.2), lambda g, n, d: _empty(n, d).cauchy_(0.3, 1.2, generator=g)),
    "log_normal_": (FLOATS, lambda g, n, d: draws.log_normal(g, (n,), d, 0.3, 0.7), lambda g, n, d: _empty(n, d).log_normal_(0.3, 0.7, generator=g)),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_all_sizes(name):
    dtypes, ours, theirs = DRAWS[name]
    pair = Pair(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in dtypes:
            large = () if name == "randperm" and dtype not in (D.int64, D.int32, D.float32) else (1000, 20011)
            for n in (*range(41), *large):
                pair.same(ours(pair.ours, n, dtype), theirs(pair.theirs, n, dtype), (name, dtype, n))


def test_mixed_sequences():
    rng = np.random.default_rng(0)
    names = list(DRAWS)
    pair = Pair(2**40 + 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(400):
            name = names[rng.integers(len(names))]
            dtypes, ours, theirs = DRAWS[name]
            dtype, n = dtypes[rng.integers(len(dtypes))], int(rng.integers(0, 60))
            pair.same(ours(pair.ours, n, dtype), theirs(pair.theirs, n, dtype), (name, dtype, n))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_draws_from_arrays(dtype):
    rng, pair = np.random.default_rng(1), Pair(3)
    for n in (1, 2, 7, 16, 33, 1000):
        (p, pt), (s, st) = weights(rng, (n,), dtype), weights(rng, (n,), dtype)
        g, t = pair.ours, pair.theirs
        pair.same(draws.bernoulli_tensor(g, p), torch.bernoulli(pt, generator=t), n)
        pair.same(draws.bernoulli_tensor(g, p, D.int32), torch.empty(n, dtype=torch.int32).bernoulli_(pt, generator=t), n)
        pair.same(draws.normal_tensor(g, p, s), torch.normal(pt, st, generator=t), n)
        pair.same(draws.normal_tensor(g, 0.3, s), torch.normal(0.3, st, generator=t), n)
        pair.same(draws.normal_tensor(g, p, 0.3), torch.normal(pt, 0.3, generator=t), n)
        pair.same(draws.normal_tensor(g, p[:, None], s), torch.normal(pt[:, None], st, generator=t), n)
        for rate in (1, 12, 40, 400):
            rates = (p * rate).astype(dtype.numpy)
            pair.same(rejection.poisson(g, rates), torch.poisson(torch.from_numpy(rates.astype(float)).to(pt.dtype), generator=t), (n, rate))
        for samples in {1, n // 2 + 1, n}:
            pair.same(draws.multinomial(g, p, samples, True), torch.multinomial(pt, samples, True, generator=t), (n, samples))
            pair.same(
                draws.multinomial(g, np.stack([p, s]), samples, True),
                torch.multinomial(torch.stack([pt, st]), samples, True, generator=t),
                n,
            )
            if dtype in (D.float32, D.float64):  # ties between equal scores, frequent in half precision, are the sort's choice
                pair.same(draws.multinomial(g, p, samples), torch.multinomial(pt, samples, generator=t), (n, samples))
                pair.same(
                    draws.multinomial(g, np.stack([p, s]), samples), torch.multinomial(torch.stack([pt, st]), samples, generator=t), n
                )


def test_normal_tensor_takes_the_dtype_of_mean():
    pair = Pair(3)
    mean, std = np.ones(20, np.float64), np.full(20, 0.7, np.float32)
    pair.same(
        draws.normal_tensor(pair.ours, mean, std), torch.normal(torch.ones(20).double(), torch.full((20,), 0.7), generator=pair.theirs)
    )
    pair.same(
        draws.normal_tensor(pair.ours, std, mean), torch.normal(torch.full((20,), 0.7), torch.ones(20).double(), generator=pair.theirs)
    )


def test_dropout_and_rrelu_draw_what_torch_draws():
    ours = Generator().manual_seed(5)
    torch.manual_seed(5)
    for p, shape in ((0.5, (3, 4)), (0.1, (50,)), (0.9, (1,))):
        kept = torch.nn.functional.dropout(torch.ones(shape), p) != 0
        np.testing.assert_array_equal(draws.dropout_mask(ours, p, shape), kept.numpy())
        kept = torch.nn.functional.dropout(torch.ones(shape, requires_grad=True), p) != 0
        np.testing.assert_array_equal(draws.dropout_mask(ours, p, shape), kept.numpy())
        channels = torch.nn.functional.dropout2d(torch.ones(2, 5, 3, 3), p)[:, :, :1, :1] != 0
        np.testing.assert_array_equal(draws.dropout_mask(ours, p, (2, 5, 1, 1)), channels.numpy())
        alpha = torch.nn.functional.alpha_dropout(torch.zeros(20), p, training=True)
        np.testing.assert_array_equal(
            draws.dropout_mask(ours, p, (20,)), (alpha == alpha.max()).numpy() if p != 0.9 else (alpha > 0).numpy()
        )
        x = torch.linspace(-2, 1, 31)
        for dtype in (torch.float32, torch.float64):
            slopes = draws.rrelu_noise(ours, x.to(dtype).numpy(), 0.1, 0.4)
            theirs = torch.nn.functional.rrelu(x.to(dtype), 0.1, 0.4, training=True)
            np.testing.assert_array_equal(x.to(dtype).numpy() * slopes, theirs.numpy())
    np.testing.assert_array_equal(ours.packed_state(), torch.get_rng_state().numpy())


def test_sampler_seed():
    ours = Generator().manual_seed(9)
    torch.manual_seed(9)
    for _ in range(5):
        assert draws.random(ours, (), D.int64).item() == torch.empty((), dtype=torch.int64).random_().item()


def test_swaps_in_runs_equal_swaps_one_by_one():
    for n in (2, 1000, 70000, 300001):
        pair = Pair(n)
        pair.same(draws.randperm(pair.ours, n), torch.randperm(n, generator=pair.theirs), n)


def test_states_travel_both_ways():
    pair = Pair(0)
    for count in (0, 1, 3, 600, 620, 624, 625, 1248, 5):
        draws.uniform(pair.ours, (count,))
        torch.rand(count, generator=pair.theirs)
        draws.normal(pair.ours, (count % 4,))
        torch.randn(count % 4, generator=pair.theirs)
        pair.same_state(count)
        there, back = torch.Generator(), Generator()
        there.set_state(torch.from_numpy(pair.ours.packed_state()))
        back.unpack_state(pair.theirs.get_state().numpy())
        np.testing.assert_array_equal(draws.normal(back, (9,)), torch.randn(9, generator=there).numpy())
        np.testing.assert_array_equal(draws.uniform(back, (999,)), torch.rand(999, generator=there).numpy())
        for clone in (pair.ours.clone_state(), copy.deepcopy(pair.ours), copy.copy(pair.ours), pickle.loads(pickle.dumps(pair.ours))):
            np.testing.assert_array_equal(clone.packed_state(), pair.ours.packed_state())


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error).split("\n")[0]


def test_seeds():
    for seed in (0, -1, -5, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 1.5, True, "3", None, np.int64(3)):
        ours = outcome(lambda seed=seed: Generator().manual_seed(seed).initial_seed())
        theirs = outcome(lambda seed=seed: torch.Generator().manual_seed(seed).initial_seed())
        assert ours == theirs, seed
    assert Generator().initial_seed() == torch.Generator().initial_seed()
    np.testing.assert_array_equal(Generator().packed_state(), torch.Generator().get_state().numpy())
    for seed in (2**32, 2**32 + 1, -7):
        Pair(seed).same_state()
    ours = Generator()
    assert ours.seed() == ours.initial_seed()


def test_default_generator():
    assert random.manual_seed(3.7) is generator.default_generator
    assert random.initial_seed() == 3
    state = random.get_rng_state()
    first = draws.uniform(generator.default_generator, (3,))
    random.set_rng_state(state)
    np.testing.assert_array_equal(first, draws.uniform(generator.default_generator, (3,)))
    assert random.seed() == random.initial_seed()


G, T = Generator(), torch.Generator()
ERRORS = [
    (lambda: draws.uniform(G, (3,), D.float32, 2, 1), lambda: torch.empty(3).uniform_(2, 1)),
    (lambda: draws.uniform(G, (3,), D.int64), lambda: torch.empty(3, dtype=torch.int64).uniform_()),
    (lambda: draws.uniform(G, (3,), D.float8_e5m2), lambda: torch.empty(3, dtype=torch.float8_e5m2).uniform_()),
    (lambda: draws.uniform(G, (3,), D.float32, float("nan"), 1), lambda: torch.empty(3).uniform_(float("nan"), 1)),
    (lambda: draws.uniform(G, (3,), D.float16, 0, 1e6), lambda: torch.empty(3, dtype=torch.float16).uniform_(0, 1e6)),
    (lambda: draws.uniform(G, (3,), D.float32, -3e38, 3e38), lambda: torch.empty(3).uniform_(-3e38, 3e38)),
    (lambda: draws.normal(G, (3,), D.float32, 0, -1.5), lambda: torch.empty(3).normal_(0, -1.5)),
    (lambda: draws.normal(G, (3,), D.int64), lambda: torch.empty(3, dtype=torch.int64).normal_()),
    (lambda: draws.normal_tensor(G, np.zeros(3), -np.ones(3)), lambda: torch.normal(torch.zeros(3), -torch.ones(3))),
    (lambda: draws.normal_tensor(G, np.zeros(3), -1.0), lambda: torch.normal(torch.zeros(3), -1.0)),
    (lambda: draws.randint(G, 3, 3, (2,)), lambda: torch.randint(3, 3, (2,))),
    (lambda: draws.randint(G, 0, 300, (2,), D.uint8), lambda: torch.randint(0, 300, (2,), dtype=torch.uint8)),
    (lambda: draws.randint(G, -1, 3, (2,), D.uint8), lambda: torch.randint(-1, 3, (2,), dtype=torch.uint8)),
    (lambda: draws.randint(G, 0, 70000, (2,), D.float16), lambda: torch.randint(0, 70000, (2,), dtype=torch.float16)),
    (lambda: draws.randint(G, 0, 3, (2,), D.bool_), lambda: torch.randint(0, 3, (2,), dtype=torch.bool)),
    (lambda: draws.randint(G, 0, 3, (2,), D.complex64), lambda: torch.randint(0, 3, (2,), dtype=torch.complex64)),
    (lambda: draws.randint(G, 5, None, (2,), D.uint64), lambda: torch.empty(2, dtype=torch.uint64).random_(5, None)),
    (lambda: draws.randint(G, -(2**63), None, (2,), D.int8), lambda: torch.empty(2, dtype=torch.int8).random_(-(2**63), None)),
    (lambda: draws.randint(G, -(2**63), None, (2,), D.float16), lambda: torch.empty(2, dtype=torch.float16).random_(-(2**63), None)),
    (lambda: draws.random(G, (2,), D.uint16), lambda: torch.empty(2, dtype=torch.uint16).random_()),
    (lambda: draws.randperm(G, -1), lambda: torch.randperm(-1)),
    (lambda: draws.randperm(G, 300, D.uint8), lambda: torch.randperm(300, dtype=torch.uint8)),
    (lambda: draws.randperm(G, 300, D.int8), lambda: torch.randperm(300, dtype=torch.int8)),
    (lambda: draws.randperm(G, 40000, D.int16), lambda: torch.randperm(40000, dtype=torch.int16)),
    (lambda: draws.randperm(G, 3000, D.float16), lambda: torch.randperm(3000, dtype=torch.float16)),
    (lambda: draws.randperm(G, 3, D.bool_), lambda: torch.randperm(3, dtype=torch.bool)),
    (lambda: draws.bernoulli_scalar(G, 1.5, (3,)), lambda: torch.empty(3).bernoulli_(1.5)),
    (lambda: draws.bernoulli_scalar(G, 0.5, (3,), D.uint16), lambda: torch.empty(3, dtype=torch.uint16).bernoulli_(0.5)),
    (lambda: draws.bernoulli_tensor(G, np.array([1.5])), lambda: torch.bernoulli(torch.tensor([1.5]))),
    (lambda: draws.bernoulli_tensor(G, np.array([1])), lambda: torch.bernoulli(torch.tensor([1]))),
    (lambda: draws.exponential(G, (3,), D.float32, -1), lambda: torch.empty(3).exponential_(-1)),
    (lambda: draws.exponential(G, (3,), D.int64), lambda: torch.empty(3, dtype=torch.int64).exponential_()),
    (lambda: draws.exponential(G, (3,), D.float8_e5m2), lambda: torch.empty(3, dtype=torch.float8_e5m2).exponential_()),
    (lambda: draws.geometric(G, (3,), D.float32, 1), lambda: torch.empty(3).geometric_(1)),
    (lambda: draws.geometric(G, (3,), D.bool_, 0.3), lambda: torch.empty(3, dtype=torch.bool).geometric_(0.3)),
    (lambda: draws.cauchy(G, (3,), D.float32, 0, -1), lambda: torch.empty(3).cauchy_(0, -1)),
    (lambda: draws.cauchy(G, (3,), D.int64), lambda: torch.empty(3, dtype=torch.int64).cauchy_()),
    (lambda: draws.log_normal(G, (3,), D.float32, 0, 0), lambda: torch.empty(3).log_normal_(0, 0)),
    (lambda: draws.log_normal(G, (3,), D.int64), lambda: torch.empty(3, dtype=torch.int64).log_normal_()),
    (lambda: rejection.poisson(G, np.array([-1.0])), lambda: torch.poisson(torch.tensor([-1.0]))),
    (lambda: rejection.poisson(G, np.array([1])), lambda: torch.poisson(torch.tensor([1]))),
    (lambda: draws.multinomial(G, np.array([-1.0, 2]), 1), lambda: torch.multinomial(torch.tensor([-1.0, 2]), 1)),
    (lambda: draws.multinomial(G, np.array([0.0, 0]), 1, True), lambda: torch.multinomial(torch.tensor([0.0, 0]), 1, True)),
    (lambda: draws.multinomial(G, np.array([1.0, 0]), 3), lambda: torch.multinomial(torch.tensor([1.0, 0]), 3)),
    (lambda: draws.multinomial(G, np.array([1.0, 0]), 0), lambda: torch.multinomial(torch.tensor([1.0, 0]), 0)),
    (lambda: draws.multinomial(G, np.array(1.0), 1), lambda: torch.multinomial(torch.tensor(1.0), 1)),
    (lambda: draws.multinomial(G, np.array([1, 2]), 1), lambda: torch.multinomial(torch.tensor([1, 2]), 1)),
    (lambda: G.set_state(host_tensor(np.zeros(10, np.uint8))), lambda: T.set_state(torch.zeros(10, dtype=torch.uint8))),
    (lambda: G.set_state(host_tensor(np.zeros(5056, np.uint8))), lambda: T.set_state(torch.zeros(5056, dtype=torch.uint8))),
    (lambda: G.set_state(host_tensor(np.zeros(5056))), lambda: T.set_state(torch.zeros(5056))),
    (lambda: G.set_state(3), lambda: T.set_state(3)),
    (lambda: G.get_offset(), lambda: T.get_offset()),
    (lambda: G.graphsafe_get_state(), lambda: T.graphsafe_get_state()),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    ours, theirs = ERRORS[number]
    expected = outcome(theirs)
    assert isinstance(expected, tuple) and outcome(ours) == expected
