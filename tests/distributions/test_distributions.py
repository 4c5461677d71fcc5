"""Every distribution of the table against torch: shapes, texts, moments, densities, their gradients, draws and theirs."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
import torch

import pytorchlike

from .cases import CASES, Case, numbers

#: What `Distribution` computes without a value.
PROPERTIES = ("mean", "mode", "variance", "stddev", "entropy", "perplexity")
#: What it computes at a value, or at a probability.
FUNCTIONS = ("log_prob", "cdf", "icdf")


def _draws(case: Case) -> np.ndarray:
    """Values in the support: torch's draws."""
    torch.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.build(torch, grad=False)[0].sample((2,)).numpy()


def _evaluated(t, case: Case, values: np.ndarray) -> tuple[dict, dict, list]:
    """Name -> result, name -> class of the error in its place, and what gradients may be asked for."""
    distribution, leaves = case.build(t)
    results, errors = {}, {}
    value = t.tensor(values)
    if value.is_floating_point() and not getattr(distribution.support, "is_discrete", False):
        leaves.append(value.requires_grad_())
    probability = t.tensor(np.random.default_rng(1).uniform(0.01, 0.99, distribution.batch_shape), dtype=getattr(t, case.dtype))
    for name in (*PROPERTIES, *FUNCTIONS):
        try:
            found = getattr(distribution, name)
            results[name] = found(*[] if name in PROPERTIES else [probability if name == "icdf" else value]) if callable(found) else found
        except NotImplementedError as error:
            errors[name] = type(error)
    return results, errors, leaves


def _gradients(t, case: Case, values: np.ndarray) -> list:
    """The gradients of all finite results together."""
    results, _, leaves = _evaluated(t, case, values)
    total = 0.0
    for name, result in results.items():
        if result.requires_grad and (name != "cdf" or case.cdf_gradient):
            weight = t.tensor(np.random.default_rng(0).uniform(0.5, 1.5, result.shape), dtype=result.dtype)
            total = total + t.where(result.isfinite(), result * weight, 0.0).sum()
    return t.autograd.grad(total, leaves, allow_unused=True) if isinstance(total, t.Tensor) else []


def _same(ours, theirs, what, tolerance):
    assert tuple(ours.shape) == tuple(theirs.shape), what
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch."), what
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=tolerance, atol=tolerance, err_msg=str(what))


@pytest.fixture
def unchecked():
    """Ours without checks of arguments: each would run what is pending, and all results are to be one program."""
    pytorchlike.distributions.Distribution.set_default_validate_args(False)
    yield
    pytorchlike.distributions.Distribution.set_default_validate_args(True)


#: The cases of a plain run: one of each class (others of a class are slow).
ONE_OF_EACH = [pytest.param(case, marks=[pytest.mark.slow, pytest.mark.ci] if case.label else [], id=str(case)) for case in CASES]


@pytest.mark.parametrize("case", ONE_OF_EACH)
def test_moments_and_densities(case, unchecked):
    values = _draws(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (ours, errors, _), (theirs, their_errors, _) = (_evaluated(t, case, values) for t in (pytorchlike, torch))
    assert errors == their_errors
    assert list(ours) == list(theirs)
    for name in theirs:
        _same(ours[name], theirs[name], name, case.tolerance(case.density_tolerance))
        assert ours[name].requires_grad == theirs[name].requires_grad, name


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_of_moments_and_densities(case, unchecked):
    values = _draws(case)
    tolerance = 10 * case.tolerance(case.density_tolerance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (_gradients(t, case, values) for t in (pytorchlike, torch))
    assert len(ours) == len(theirs)
    for k, (a, b) in enumerate(zip(ours, theirs)):
        assert (a is None) == (b is None), k
        if a is not None:
            np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance, err_msg=f"gradient {k}")


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("case", CASES, ids=str)
def test_expanded(case):
    values = _draws(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (ours, _), (theirs, _) = (case.build(t, grad=False) for t in (pytorchlike, torch))
        shape = (2, *ours.batch_shape)
        wide, their_wide = ours.expand(shape).expand(shape), theirs.expand(shape).expand(shape)
        _same(wide.log_prob(pytorchlike.tensor(values)), their_wide.log_prob(torch.tensor(values)), "log_prob", case.tolerance(None))
        pytorchlike.manual_seed(1)
        torch.manual_seed(1)
        _same(wide.sample(), their_wide.sample(), "sample", case.tolerance(None))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shapes_and_texts(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (ours, _), (theirs, _) = (case.build(t, grad=False) for t in (pytorchlike, torch))
        for name in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "_validate_args"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert repr(ours) == repr(theirs)
        assert repr(ours.support) == repr(theirs.support)
        assert (ours.support.event_dim, ours.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)
        assert {k: repr(v) for k, v in ours.arg_constraints.items()} == {k: repr(v) for k, v in theirs.arg_constraints.items()}
        assert [c.__name__ for c in type(ours).__mro__ if "Distribution" in c.__name__ or "Family" in c.__name__] == [
            c.__name__ for c in type(theirs).__mro__ if "Distribution" in c.__name__ or "Family" in c.__name__
        ]
        for shape in ((3, *ours.batch_shape), (2, 1, *ours.batch_shape)):
            (wide, their_wide) = ours.expand(shape), theirs.expand(shape)
            assert repr(wide) == repr(their_wide)
            assert wide.batch_shape == their_wide.batch_shape and wide.event_shape == their_wide.event_shape
        if theirs.has_enumerate_support:
            for expand in (True, False):
                _same(ours.enumerate_support(expand), theirs.enumerate_support(expand), "support", 0)


#: One of each way to keep parameters: tensors, another distribution, transforms, lazy properties.
COPIED = ("Bernoulli", "Beta", "Gumbel", "MixtureSameFamily", "MultivariateNormal-covariance")


@pytest.mark.parametrize("case", [case for case in CASES if str(case) in COPIED], ids=str)
def test_copies_draw_the_same(case):
    distribution, _ = case.build(pytorchlike, grad=False)
    pytorchlike.manual_seed(1)
    first = numbers(distribution.sample())
    for other in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
        pytorchlike.manual_seed(1)
        assert repr(other) == repr(distribution)
        np.testing.assert_allclose(numbers(other.sample()), first, rtol=1e-13)  # another fusion may round otherwise


def _sampled(t, case: Case, name: str):
    distribution, parameters = case.build(t)
    t.manual_seed(7)
    found = getattr(distribution, name)(case.sample_shape)
    gradients = []
    if name == "rsample" and found.requires_grad:
        weight = t.tensor(np.random.default_rng(0).uniform(0.5, 1.5, found.shape), dtype=found.dtype)
        gradients = t.autograd.grad((found * weight).sum(), parameters, allow_unused=True)
    return found, numbers(t.get_rng_state()), gradients


@pytest.mark.parametrize("case", ONE_OF_EACH)
def test_draws(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = getattr(torch.distributions, case.name)
        overridden = kind.sample not in (torch.distributions.Distribution.sample, torch.distributions.TransformedDistribution.sample)
        names = [*["rsample"] * case.build(torch)[0].has_rsample, *["sample"] * overridden]
        for name in names:
            (ours, state, gradients), (theirs, their_state, their_gradients) = (_sampled(t, case, name) for t in (pytorchlike, torch))
            _same(ours, theirs, name, 1e-6 if case.dtype == "float32" else 1e-12)
            assert ours.requires_grad == theirs.requires_grad
            np.testing.assert_array_equal(state, their_state)
            for k, (a, b) in enumerate(zip(gradients, their_gradients)):
                assert (a is None) == (b is None), k
                if a is not None:
                    tolerance = case.tolerance(case.draw_tolerance)
                    np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance, err_msg=f"gradient {k}")


def test_every_class_is_in_the_table():
    classes = {
        name
        for name in torch.distributions.__all__
        if inspect.isclass(found := getattr(torch.distributions, name)) and issubclass(found, torch.distributions.Distribution)
    }
    assert classes - {case.name for case in CASES} == {"Distribution", "ExponentialFamily"}
    assert set(torch.distributions.__all__) == set(pytorchlike.distributions.__all__)
