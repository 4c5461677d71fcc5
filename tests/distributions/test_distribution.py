"""What all distributions share: checks of arguments and values, expanding subclasses, lazy properties, and what the checks cost."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch

import pytorchlike
from pytorchlike.graph import counters
from pytorchlike.interop.jax import pure

from .cases import numbers

_NAN = math.nan

#: What raises ValueError or the like, as functions of ``torch.distributions`` and the library.
ERRORS = {
    "normal scale": lambda D, t: D.Normal(0.0, -1.0),
    "normal loc": lambda D, t: D.Normal(t.tensor([0.0, _NAN]), 1.0),
    "normal type": lambda D, t: D.Normal("0", 1.0),
    "pending": lambda D, t: D.Normal(t.ones(2) * 2, t.ones(2) - 1),
    "bernoulli": lambda D, t: D.Bernoulli(t.tensor([0.5, 1.5])),
    "bernoulli both": lambda D, t: D.Bernoulli(0.5, logits=0.0),
    "bernoulli none": lambda D, t: D.Bernoulli(),
    "bernoulli value": lambda D, t: D.Bernoulli(0.5).log_prob(t.tensor(2.0)),
    "beta": lambda D, t: D.Beta(-1.0, 1.0),
    "binomial count": lambda D, t: D.Binomial(t.tensor([1.0, 1.5]), 0.5),
    "binomial value": lambda D, t: D.Binomial(3, t.tensor([0.5, 0.3])).log_prob(t.tensor([4.0, 1.0])),
    "binomial entropy": lambda D, t: D.Binomial(t.tensor([3.0, 4.0]), t.tensor(0.5)).entropy(),
    "binomial support": lambda D, t: D.Binomial(t.tensor([3.0, 4.0]), t.tensor(0.5)).enumerate_support(),
    "categorical 0-d": lambda D, t: D.Categorical(t.tensor(0.5)),
    "categorical logits 0-d": lambda D, t: D.Categorical(logits=t.tensor(0.5)),
    "categorical nan": lambda D, t: D.Categorical(logits=t.tensor([0.5, _NAN])),
    "categorical negative": lambda D, t: D.Categorical(t.tensor([-1.0, 2.0])),
    "categorical value": lambda D, t: D.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "continuous bernoulli": lambda D, t: D.ContinuousBernoulli(1.5, validate_args=True),
    "dirichlet 0-d": lambda D, t: D.Dirichlet(t.tensor(1.0)),
    "dirichlet": lambda D, t: D.Dirichlet(t.tensor([1.0, -1.0])),
    "dirichlet value": lambda D, t: D.Dirichlet(t.ones(2)).log_prob(t.tensor([0.3, 0.3])),
    "dirichlet shape": lambda D, t: D.Dirichlet(t.ones(2)).log_prob(t.tensor([0.3, 0.3, 0.4])),
    "exponential value": lambda D, t: D.Exponential(1.0).cdf(t.tensor(-1.0)),
    "geometric zero": lambda D, t: D.Geometric(t.tensor([0.0, 0.5])),
    "geometric range": lambda D, t: D.Geometric(1.5),
    "half normal": lambda D, t: D.HalfNormal(1.0).log_prob(t.tensor(-1.0)),
    "independent": lambda D, t: D.Independent(D.Normal(t.zeros(2), 1.0), 2),
    "independent support": lambda D, t: D.Independent(D.Bernoulli(t.ones(2) / 2), 1).enumerate_support(),
    "lkj dim": lambda D, t: D.LKJCholesky(1),
    "low rank loc": lambda D, t: D.LowRankMultivariateNormal(t.tensor(0.0), t.ones(2, 1), t.ones(2)),
    "low rank factor": lambda D, t: D.LowRankMultivariateNormal(t.zeros(2), t.ones(3, 1), t.ones(2)),
    "low rank factor 1-d": lambda D, t: D.LowRankMultivariateNormal(t.zeros(2), t.ones(2), t.ones(2)),
    "low rank diagonal": lambda D, t: D.LowRankMultivariateNormal(t.zeros(2), t.ones(2, 1), t.ones(3)),
    "low rank batch": lambda D, t: D.LowRankMultivariateNormal(t.zeros(3, 2), t.ones(4, 2, 1), t.ones(2)),
    "mixture": lambda D, t: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)),
    "mixture components": lambda D, t: D.MixtureSameFamily(D.Categorical(t.ones(2)), 3),
    "mixture count": lambda D, t: D.MixtureSameFamily(D.Categorical(t.ones(3)), D.Normal(t.zeros(2), 1.0)),
    "mixture batch": lambda D, t: D.MixtureSameFamily(D.Categorical(t.ones(3, 2)), D.Normal(t.zeros(4, 2), 1.0)),
    "mode": lambda D, t: D.MixtureSameFamily(D.Categorical(t.ones(2)), D.Normal(t.zeros(2), 1.0)).mode,
    "multinomial count": lambda D, t: D.Multinomial(1.5, t.ones(2)),
    "multinomial value": lambda D, t: D.Multinomial(2, t.ones(2)).log_prob(t.tensor([2.0, 1.0])),
    "mvn 0-d": lambda D, t: D.MultivariateNormal(t.tensor(0.0), t.eye(2)),
    "mvn none": lambda D, t: D.MultivariateNormal(t.zeros(2)),
    "mvn 1-d": lambda D, t: D.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2)),
    "mvn covariance 1-d": lambda D, t: D.MultivariateNormal(t.zeros(2), t.ones(2)),
    "mvn not definite": lambda D, t: D.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "mvn not triangular": lambda D, t: D.MultivariateNormal(t.zeros(2), scale_tril=t.ones(2, 2)),
    "negative binomial": lambda D, t: D.NegativeBinomial(3.0, t.tensor([1.0])),
    "one hot value": lambda D, t: D.OneHotCategorical(t.ones(2)).log_prob(t.tensor([1.0, 1.0])),
    "poisson": lambda D, t: D.Poisson(-1.0),
    "poisson value": lambda D, t: D.Poisson(1.0).log_prob(t.tensor(0.5)),
    "student": lambda D, t: D.StudentT(t.tensor([-1.0])),
    "transforms": lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    "transforms in a list": lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]),
    "transform of vectors": lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
    "uniform": lambda D, t: D.Uniform(1.0, 0.0),
    "uniform value": lambda D, t: D.Uniform(0.0, t.tensor([1.0, 2.0])).log_prob(t.tensor([0.5, 2.5])),
    "wishart none": lambda D, t: D.Wishart(3.0),
    "wishart 1-d": lambda D, t: D.Wishart(3.0, t.ones(2)),
    "wishart df": lambda D, t: D.Wishart(1.0, t.eye(3)),
    "no tensor": lambda D, t: D.Normal(0.0, 1.0).log_prob(0.5),
    "no shape": lambda D, t: D.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
    "default": lambda D, t: D.Distribution.set_default_validate_args(3),
    "base": lambda D, t: D.Distribution(validate_args=False).sample(),
    "expand": lambda D, t: D.Distribution(validate_args=False).expand((2,)),
    "diag": lambda D, t: D.utils.tril_matrix_to_vec(t.eye(2), 2),
    "triangle": lambda D, t: D.utils.vec_to_tril_matrix(t.ones(4)),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    found = []
    for t in (pytorchlike, torch):
        with pytest.raises(Exception) as raised, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ERRORS[name](t.distributions, t)
        found.append((raised.type.__name__, str(raised.value).replace("pytorchlike", "torch")))
    assert found[0] == found[1]


def test_both_executors_check_and_compute(executor):
    results = []
    for t in (pytorchlike, torch):
        D = t.distributions
        with pytest.raises(ValueError, match="Expected parameter scale"):
            D.Normal(0.0, t.zeros(2) * 1)
        t.manual_seed(3)
        concentration = t.tensor([0.7, 2.0], requires_grad=True)
        draw = D.Gamma(concentration, 1.0).rsample((2,)) + D.Dirichlet(concentration).rsample()
        (draw.sum() + D.kl_divergence(D.Normal(concentration, 1.0), D.Normal(0.0, 2.0)).sum()).backward()
        results.append((numbers(draw), numbers(concentration.grad), numbers(D.Categorical(concentration.detach()).sample((4,)))))
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_checks_can_be_switched_off():
    D = pytorchlike.distributions
    assert not D.Normal(0.0, -1.0, validate_args=False)._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale.item() == -1
        assert D.Uniform(0.0, 1.0).log_prob(pytorchlike.tensor(2.0)).item() == -math.inf
        with pytest.raises(ValueError):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_checks_of_what_is_computed_leave_the_trace_alone():
    D, x = pytorchlike.distributions, pytorchlike.tensor([1.0, 2.0])
    pytorchlike.graph.flush_all()
    pending = x * 3
    counters.flushes.clear()
    distribution = D.Normal(x, 2.0)
    result = distribution.log_prob(x) + pending
    assert not counters.flushes
    D.Normal(pending, 1.0)
    assert dict(counters.flushes) == {"validate_args": 1}
    assert np.isfinite(numbers(result)).all()


def test_inside_a_jax_transformation_nothing_is_checked():
    import jax

    def log_prob(scale):
        return pytorchlike.distributions.Normal(0.0, scale).log_prob(pytorchlike.tensor(1.0))

    assert jax.grad(pure(log_prob))(jax.numpy.float32(2.0)) == pytest.approx(-0.375)


def test_inside_a_vmap_every_element_is_checked():
    def log_prob(scale):
        return pytorchlike.distributions.Normal(0.0, scale).log_prob(pytorchlike.tensor(1.0))

    batch = pytorchlike.tensor([1.0, 2.0])
    expected = torch.distributions.Normal(0.0, torch.tensor([1.0, 2.0])).log_prob(torch.tensor(1.0))
    np.testing.assert_allclose(numbers(pytorchlike.func.vmap(log_prob)(batch)), numbers(expected), rtol=1e-6)
    with pytest.raises((ValueError, RuntimeError)):  # torch's error is that its text cannot be made
        pytorchlike.func.vmap(log_prob)(pytorchlike.tensor([1.0, -2.0]))


def _undeclared(t):
    class Undeclared(t.distributions.Distribution):
        pass

    return Undeclared


def test_warnings_of_what_is_not_declared():
    for t in (pytorchlike, torch):
        with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
            distribution = _undeclared(t)()
        with pytest.warns(UserWarning, match="does not define `support`"):
            distribution._validate_sample(t.tensor(1.0))
        with pytest.warns(FutureWarning, match="sample_n"):
            assert t.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)
        with pytest.warns(UserWarning, match="Low df values"):
            t.distributions.Wishart(t.tensor(1.5), t.eye(2))


def test_a_subclass_with_its_own_init_must_expand_itself():
    for t in (pytorchlike, torch):

        class Plain(t.distributions.Normal):
            pass

        class Own(t.distributions.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        wide = Plain(t.tensor(0.0), 1.0).expand([2])
        assert type(wide) is Plain and wide.batch_shape == (2,)
        with pytest.raises(NotImplementedError, match="Subclass Own of Normal that defines a custom __init__ method must also"):
            Own(t.tensor(0.0)).expand([2])


def test_lazy_properties_are_computed_once_and_with_gradients():
    for t in (pytorchlike, torch):
        logits = t.tensor([0.0, 1.0], requires_grad=True)
        distribution = t.distributions.Bernoulli(logits=logits)
        assert "probs" not in distribution.__dict__
        with t.no_grad():
            probs = distribution.probs
        assert probs.requires_grad and distribution.probs is probs
        assert isinstance(t.distributions.Bernoulli.probs, (property, t.distributions.utils.lazy_property))


def test_pieces():
    for t in (pytorchlike, torch):
        utils = t.distributions.utils
        a, b = utils.broadcast_all(t.tensor([1.0, 2.0], dtype=t.float64), 3)
        assert b.dtype == t.float64 and b.tolist() == [3.0, 3.0]
        assert utils.broadcast_all(1, 2)[0].dtype == t.float32
        matrix = t.arange(9.0).view(3, 3)
        for diag in (-2, -1, 0, 1, 2):
            vector = utils.tril_matrix_to_vec(matrix, diag)
            assert vector.tolist() == torch.distributions.utils.tril_matrix_to_vec(torch.arange(9.0).view(3, 3), diag).tolist()
            if diag <= 0:
                assert utils.vec_to_tril_matrix(vector, diag).tolist() == matrix.tril(diag).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_of_many_equal_torchs(dtype):
    """As many as it takes for every branch of the rejection algorithms."""
    results = []
    random = np.random.default_rng(0)
    concentration = np.concatenate([random.uniform(0.01, 1, 300), random.uniform(1, 20, 300), [1e-3, 0.0, 1e5]])
    count, prob = np.floor(random.uniform(0, 200, 600)), random.uniform(0, 1, 600)
    for t in (pytorchlike, torch):
        t.manual_seed(3)
        kind = getattr(t, dtype)
        a, n, p = (t.tensor(x, dtype=kind) for x in (concentration, count, prob))
        drawn = [
            t._standard_gamma(a),
            t.randn(3),
            t._sample_dirichlet(a[:600].view(-1, 4)),
            t.binomial(n, p),
            t.poisson(n),
            t.get_rng_state(),
        ]
        results.append([numbers(x) for x in drawn])
    for ours, theirs in zip(*results):
        np.testing.assert_array_equal(ours, theirs)


#: What the draws refuse, as functions of the library.
REFUSED = [
    lambda t: t._standard_gamma(t.tensor([1, 2])),
    lambda t: t._standard_gamma(t.ones(2, dtype=t.bfloat16)),
    lambda t: t._sample_dirichlet(t.tensor([1, 2])),
    lambda t: t.binomial(t.tensor([3]), t.tensor([0.5])),
    lambda t: t.binomial(t.tensor([3.0]), t.tensor([1])),
    lambda t: t.binomial(t.tensor([3.0]), t.tensor([0.5], dtype=t.float64)),
    lambda t: t.binomial(t.ones(2, dtype=t.float16), t.ones(2, dtype=t.float16)),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused_draws(number):
    found = []
    for t in (pytorchlike, torch):
        with pytest.raises(Exception) as raised:
            REFUSED[number](t)
        found.append((raised.type, str(raised.value)))
    assert found[0] == found[1]


def test_derivatives_of_draws():
    """Against torch's approximations, and a beta draw's against a difference of the distribution function."""
    random = np.random.default_rng(0)
    a, b = np.exp(random.uniform(np.log(0.05), np.log(300), (2, 400)))
    x = np.clip(random.beta(a, b), 1e-6, 1 - 1e-6)
    g = random.gamma(a)
    results = [
        [numbers(t._dirichlet_grad(*map(t.tensor, (x, a, a + b)))), numbers(t._standard_gamma_grad(t.tensor(a), t.tensor(g)))]
        for t in (pytorchlike, torch)
    ]
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=3e-3)
    special = pytest.importorskip("scipy.special")
    step = 1e-5 * a
    slope = (special.betainc(a + step, b, x) - special.betainc(a - step, b, x)) / (2 * step)
    density = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b))
    np.testing.assert_allclose(results[0][0], -slope / density / (1 - x), rtol=1e-4)
