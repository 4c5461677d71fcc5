"""Divergences of all pairs that torch knows, with their gradients, and how a pair's function is found."""

from __future__ import annotations

import abc
import warnings
from collections import defaultdict

import numpy as np
import pytest
import torch
from torch.distributions import kl as their_kl

import pytorchlike
from pytorchlike.distributions import kl as our_kl

from .cases import CASES, numbers

#: Class -> parameters of the first and of the second distribution; some pairs reach beyond each other's support, some do not.
PARAMETERS = {
    "Bernoulli": ({"probs": [0.2, 1.0, 0.0]}, {"probs": [0.3, 0.9, 0.7]}),
    "Beta": ({"concentration1": [0.5, 2.0, 1.0], "concentration0": [3.0, 1.5, 0.4]}, {"concentration1": [1.5, 0.7, 2.0], "concentration0": [0.6, 2.5, 1.0]}),
    "Binomial": ({"total_count": [5.0, 6.0, 5.0], "probs": [0.3, 0.8, 0.4]}, {"total_count": [5.0, 5.0, 5.0], "probs": [0.5, 0.1, 0.6]}),
    "Categorical": ({"probs": [[0.2, 0.8, 0.0], [0.3, 0.3, 0.4]]}, {"probs": [[0.5, 0.2, 0.3], [0.3, 0.0, 0.7]]}),
    "Cauchy": ({"loc": [0.5, -1.0], "scale": [0.6, 2.0]}, {"loc": [0.1, 2.0], "scale": [1.6, 0.3]}),
    "ContinuousBernoulli": ({"probs": [0.2, 0.4995, 0.8]}, {"probs": [0.5, 0.9, 0.1]}),
    "Dirichlet": ({"concentration": [[0.5, 1.0, 2.0]]}, {"concentration": [[1.5, 0.3, 4.0]]}),
    "Exponential": ({"rate": [0.5, 3.0, 1.0]}, {"rate": [1.2, 0.7, 1.0]}),
    "Gamma": ({"concentration": [0.5, 3.0, 1.0], "rate": [2.0, 0.7, 1.0]}, {"concentration": [1.5, 0.6, 1.0], "rate": [0.4, 1.3, 2.0]}),
    "Geometric": ({"probs": [0.3, 0.8]}, {"probs": [0.5, 0.1]}),
    "Gumbel": ({"loc": [0.5, -1.0, 0.0], "scale": [0.6, 2.0, 1.0]}, {"loc": [0.1, 2.0, 0.0], "scale": [1.6, 0.9, 0.5]}),
    "HalfNormal": ({"scale": [0.6, 2.0]}, {"scale": [1.6, 0.3]}),
    "Independent": ({"loc": [0.5, -1.0], "scale": [0.6, 2.0]}, {"loc": [0.1, 2.0], "scale": [1.6, 0.9]}),
    "Laplace": ({"loc": [0.5, -1.0, 0.0], "scale": [0.6, 2.0, 1.0]}, {"loc": [0.1, 2.0, 0.0], "scale": [1.6, 0.9, 0.5]}),
    "LowRankMultivariateNormal": (
        {"loc": [[0.5, -1.0]], "cov_factor": [[0.3], [1.1]], "cov_diag": [0.6, 2.0]},
        {"loc": [[0.1, 2.0], [0.0, 0.0]], "cov_factor": [[[0.3], [1.1]], [[0.5], [0.2]]], "cov_diag": [1.6, 0.9]},
    ),
    "MultivariateNormal": (
        {"loc": [[0.5, -1.0]], "scale_tril": [[0.6, 0.0], [0.3, 1.1]]},
        {"loc": [[0.1, 2.0], [0.0, 0.0]], "scale_tril": [[[1.6, 0.0], [0.5, 0.9]], [[1.0, 0.0], [0.2, 0.7]]]},
    ),
    "Normal": ({"loc": [0.5, -1.0, 0.0], "scale": [0.6, 2.0, 1.0]}, {"loc": [0.1, 2.0, 0.0], "scale": [1.6, 0.9, 0.5]}),
    "OneHotCategorical": ({"probs": [[0.2, 0.8, 0.0]]}, {"probs": [[0.5, 0.2, 0.3]]}),
    "Pareto": ({"scale": [0.6, 2.0, 1.0], "alpha": [2.5, 0.9, 1.5]}, {"scale": [0.5, 3.0, 1.0], "alpha": [1.5, 0.9, 0.3]}),
    "Poisson": ({"rate": [0.5, 3.0, 1.0]}, {"rate": [1.2, 0.7, 2.0]}),
    "TransformedDistribution": ({"loc": [0.5, -1.0], "scale": [0.6, 2.0]}, {"loc": [0.1, 2.0], "scale": [1.6, 0.9]}),
    "Uniform": ({"low": [0.2, 0.7, -0.5], "high": [0.9, 3.0, 0.4]}, {"low": [0.1, -1.0, -0.5], "high": [0.8, 4.0, 0.5]}),
}  # fmt: skip

PAIRS = defaultdict(list)
for _p, _q in their_kl._KL_REGISTRY:
    if _p.__name__ != "ExponentialFamily":
        PAIRS[_p.__name__].append(_q.__name__)


def _made(t, name: str, which: int):
    parameters = {k: t.tensor(np.asarray(v, np.float64)).requires_grad_() for k, v in PARAMETERS[name][which].items()}
    case = next(case for case in CASES if case.name == name)
    make = case.make or (lambda D, t, **tensors: getattr(D, name)(**tensors))
    return make(t.distributions, t, **parameters), list(parameters.values())


def _divergences(t, name: str, grad: bool) -> dict:
    """Class of the second distribution -> divergence, or its gradients."""
    found = {}
    for other in PAIRS[name]:
        (p, mine), (q, theirs) = _made(t, name, 0), _made(t, other, 1)
        result = t.distributions.kl_divergence(p, q)
        if not grad:
            found[other] = [result]
        elif result.requires_grad:
            found[other] = t.autograd.grad(t.where(result.isfinite(), result, 0.0).sum(), [*mine, *theirs], allow_unused=True)
    return found


def _compared(name: str, grad: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytorchlike.distributions.Distribution.set_default_validate_args(False)
        try:
            ours = _divergences(pytorchlike, name, grad)
        finally:
            pytorchlike.distributions.Distribution.set_default_validate_args(True)
        theirs = _divergences(torch, name, grad)
    assert list(ours) == list(theirs)
    for other in theirs:
        for k, (a, b) in enumerate(zip(ours[other], theirs[other], strict=True)):
            assert (a is None) == (b is None) or grad  # torch has zeros where nothing depends on a parameter
            a, b = (np.zeros(1) if x is None else numbers(x) for x in (a, b))
            if grad:  # NaN beside infinite divergences: it depends on the formula
                a, b = np.nan_to_num(a), np.nan_to_num(b)
            else:
                assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=f"{other} {k}")


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_divergences(name):
    _compared(name, False)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_gradients_of_divergences(name):
    _compared(name, True)


def test_all_pairs_are_registered():
    ours, theirs = ({(p.__name__, q.__name__) for p, q in registry} for registry in (our_kl._KL_REGISTRY, their_kl._KL_REGISTRY))
    assert ours == theirs
    ours, theirs = (t.distributions.kl_divergence.__doc__.split("pairs:")[1] for t in (pytorchlike, torch))
    assert ours == theirs


@pytest.mark.parametrize("name", ["Bernoulli", "Dirichlet", "Exponential", "Gamma", "Normal"])
def test_exponential_families_by_their_log_normalizers(name):
    """Entropy and divergence by differentiating agree with torch's, and where there are formulas with those."""
    results = []
    for t in (pytorchlike, torch):
        (p, _), (q, _) = _made(t, name, 1), _made(t, name, 1)
        family = t.distributions.ExponentialFamily
        divergence = (our_kl if t is pytorchlike else their_kl)._kl_expfamily_expfamily(p, q)
        results.append([numbers(divergence)])
        if name != "Dirichlet":
            results[-1].append(numbers(family.entropy(p)))
            np.testing.assert_allclose(results[-1][1], numbers(p.entropy()), rtol=1e-9)
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


#: A base that classes are registered for.
_Elsewhere = abc.ABCMeta("_Elsewhere", (), {})


def _mine(t):
    """A family of the user's, derived from two of ours."""
    D = t.distributions

    class Mine(D.Normal):
        pass

    class Other(D.Distribution):
        arg_constraints = {}

    return D, Mine, Other


def test_the_nearest_classes_are_found():
    for t in (pytorchlike, torch):
        D, Mine, Other = _mine(t)
        a, b = Mine(0.0, 1.0), Mine(1.0, 2.0)
        np.testing.assert_allclose(D.kl_divergence(a, b).item(), D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)).item())
        with pytest.raises(NotImplementedError, match="No KL.p .. q. is implemented for p type Mine and q type Other"):
            D.kl_divergence(a, Other())
        registry = D.kl._KL_REGISTRY
        try:
            D.register_kl(Mine, D.Normal)(lambda p, q: 1)
            assert D.kl_divergence(a, b) == 1
            D.register_kl(D.Normal, Mine)(lambda p, q: 2)
            with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Mine\). Please register_kl\(Mine, Mine\)"):
                assert D.kl_divergence(a, b) == 1
            D.register_kl(Mine, Mine)(lambda p, q: 3)
            assert D.kl_divergence(a, b) == 3
            D.register_kl(Other, _Elsewhere)(lambda p, q: 4)  # a base outside of torch.distributions
            _Elsewhere.register(Mine)
            assert D.kl_divergence(Other(), a) == 4
        finally:
            for pair in [pair for pair in registry if {Mine, _Elsewhere} & set(pair)]:
                del registry[pair]
            D.kl._KL_MEMOIZE.clear()


#: Divergences that are refused, as functions of the distributions.
REFUSED = [
    lambda D, t: D.kl_divergence(D.Normal(0.0, 1.0), D.Categorical(t.ones(3))),
    lambda D, t: D.kl_divergence(D.Binomial(3, t.tensor(0.5)), D.Binomial(4, t.tensor(0.5))),
    lambda D, t: D.kl_divergence(D.Independent(D.Normal(t.zeros(2), 1.0), 1), D.Independent(D.Normal(t.zeros(2), 1.0), 0)),
    lambda D, t: D.kl_divergence(D.LogNormal(0.0, 1.0), D.HalfNormal(1.0)),
    lambda D, t: D.kl_divergence(D.MultivariateNormal(t.zeros(2), t.eye(2)), D.MultivariateNormal(t.zeros(3), t.eye(3))),
    lambda D, t: D.kl_divergence(D.Dirichlet(t.ones(2)), D.Wishart(4, t.eye(2))),
    lambda D, t: D.register_kl(3, D.Normal),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    found = []
    for t in (pytorchlike, torch):
        with pytest.raises(Exception) as raised:
            REFUSED[number](t.distributions, t)
        found.append((raised.type, str(raised.value)))
    assert found[0][0] is found[1][0]
    if "issubclass" not in found[1][1]:  # torch trips over its own check
        assert found[0][1] == found[1][1]
