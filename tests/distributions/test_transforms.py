"""Transforms against torch: images, inverses, determinants and their gradients, shapes, texts, caches."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

import pytorchlike

from .cases import numbers

_X = [[0.5, -1.0, 2.0], [0.1, 0.7, -0.3]]
_POSITIVE = [[0.5, 1.0, 2.0], [0.1, 0.7, 0.3]]
_SQUARE = [[0.5, -1.0, 2.0], [0.1, 0.7, -0.3], [1.0, 2.0, 0.4]]

#: Transform as a function of ``torch.distributions.transforms`` and the library -> values of its domain.
TRANSFORMS = {
    "identity": (lambda T, t: T.identity_transform, _X),
    "AbsTransform": (lambda T, t: T.AbsTransform(), _X),
    "AffineTransform": (lambda T, t: T.AffineTransform(1.0, -2.0), _X),
    "AffineTransform of tensors": (lambda T, t: T.AffineTransform(t.tensor([1.0, 2.0, 3.0]), t.tensor([[-2.0], [0.5]])), _X),
    "AffineTransform of vectors": (lambda T, t: T.AffineTransform(0.5, t.tensor([2.0, -1.0, 0.5]), event_dim=1), _X),
    "CatTransform": (lambda T, t: T.CatTransform([T.ExpTransform(), T.identity_transform], dim=1, lengths=[1, 2]), _X),
    "CatTransform of rows": (lambda T, t: T.CatTransform([T.ExpTransform(), T.AffineTransform(0.0, 2.0)], dim=0), _X),
    "ComposeTransform": (lambda T, t: T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.SigmoidTransform()]), _X),
    "ComposeTransform of vectors": (lambda T, t: T.ComposeTransform([T.ExpTransform(), T.SigmoidTransform(), T.StickBreakingTransform()]), _X),
    "CorrCholeskyTransform": (lambda T, t: T.CorrCholeskyTransform(), _X),
    "CumulativeDistributionTransform": (lambda T, t: T.CumulativeDistributionTransform(t.distributions.Normal(0.5, 2.0)), _X),
    "ExpTransform": (lambda T, t: T.ExpTransform(), _X),
    "IndependentTransform": (lambda T, t: T.IndependentTransform(T.ExpTransform(), 1), _X),
    "LowerCholeskyTransform": (lambda T, t: T.LowerCholeskyTransform(), _SQUARE),
    "PositiveDefiniteTransform": (lambda T, t: T.PositiveDefiniteTransform(), _SQUARE),
    "PowerTransform": (lambda T, t: T.PowerTransform(t.tensor([2.0, -0.5, 3.0])), _POSITIVE),
    "ReshapeTransform": (lambda T, t: T.ReshapeTransform((2, 3), (3, 2)), _X),
    "SigmoidTransform": (lambda T, t: T.SigmoidTransform(), _X),
    "SoftmaxTransform": (lambda T, t: T.SoftmaxTransform(), _X),
    "SoftplusTransform": (lambda T, t: T.SoftplusTransform(), _X),
    "StackTransform": (lambda T, t: T.StackTransform([T.ExpTransform(), T.identity_transform, T.SigmoidTransform()], dim=-1), _X),
    "StickBreakingTransform": (lambda T, t: T.StickBreakingTransform(), _X),
    "TanhTransform": (lambda T, t: T.TanhTransform(), _X),
}  # fmt: skip


def _told(transform) -> dict:
    """What a transform says of itself."""
    told = {"repr": repr(transform), "inverse": repr(transform.inv), "bijective": transform.bijective}
    for name in ("domain", "codomain", "event_dim", "sign"):
        try:
            found = getattr(transform, name)
            told[name] = numbers(found).tolist() if hasattr(found, "tolist") else repr(found)
        except Exception as error:
            told[name] = type(error), str(error)
    return told


def _evaluated(make, t, values) -> list[np.ndarray]:
    transform = make(t.distributions.transforms, t)
    x = t.tensor(values, dtype=t.float64, requires_grad=True)
    y = transform(x)
    results = [y, transform.inv(y)]
    try:
        results.append(transform.log_abs_det_jacobian(x, y))
        results.append(-transform.inv.log_abs_det_jacobian(y, x))
    except NotImplementedError:
        results.append(t.zeros((), dtype=t.float64))
    weights = [t.tensor(np.random.default_rng(0).uniform(0.5, 1.5, r.shape), dtype=t.float64) for r in results]
    total = sum((w * r).sum() for w, r in zip(weights, results))
    assert transform.forward_shape(x.shape) == y.shape and transform.inverse_shape(y.shape) == x.shape
    return [numbers(r) for r in (*results, *t.autograd.grad(total, x))]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    make, values = TRANSFORMS[name]
    ours, theirs = (_told(make(t.distributions.transforms, t)) for t in (pytorchlike, torch))
    assert ours == theirs
    ours, theirs = (_evaluated(make, t, values) for t in (pytorchlike, torch))
    assert len(ours) == len(theirs)
    for k, (a, b) in enumerate(zip(ours, theirs)):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=str(k))


def test_every_transform_is_in_the_table():
    assert {name for name in torch.distributions.transforms.__all__ if name.endswith("Transform")} - {"Transform"} <= {
        name.split(" ")[0] for name in TRANSFORMS
    }
    assert set(pytorchlike.distributions.transforms.__all__) == set(torch.distributions.transforms.__all__)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_equality_and_copies(name):
    make, _ = TRANSFORMS[name]
    results = []
    for t in (pytorchlike, torch):
        T = t.distributions.transforms
        transform, same, other = make(T, t), make(T, t), T.PowerTransform(2.0)
        results.append(
            [transform == transform, transform == same, transform.inv == same.inv, transform == other, transform != transform.inv]
        )
    assert results[0] == results[1]
    transform = make(pytorchlike.distributions.transforms, pytorchlike)
    assert transform.inv.inv is transform
    for copied in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform)), copy.deepcopy(transform.inv).inv):
        assert repr(copied) == repr(transform) and type(copied).__module__ == "pytorchlike.distributions.transforms"


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if not name.startswith(("identity", "CumulativeD"))])
def test_cache(name):
    make, values = TRANSFORMS[name]
    transform = make(pytorchlike.distributions.transforms, pytorchlike).with_cache()
    assert transform.with_cache(1) is transform
    x = pytorchlike.tensor(values)
    y = transform(x)
    assert transform.inv(y) is x
    if not name.startswith("Compose"):  # its parts have the caches
        assert transform(x) is y
        assert transform.inv.with_cache(0).inv._cache_size == 0


#: What raises, as functions of the transforms and the library.
ERRORS = [
    lambda T, t: T.Transform(cache_size=2),
    lambda T, t: T.ReshapeTransform((2,), (3,)),
    lambda T, t: T.ReshapeTransform((2,), (2,)).forward_shape((3,)),
    lambda T, t: T.ReshapeTransform((2,), (2,)).forward_shape(()),
    lambda T, t: T.IndependentTransform(T.ExpTransform(), 2)(t.ones(3)),
    lambda T, t: T.CatTransform([3]),
    lambda T, t: T.CatTransform([T.ExpTransform()], lengths=[1, 2]),
    lambda T, t: T.CatTransform([T.ExpTransform()])(t.ones(3)),
    lambda T, t: T.CatTransform([T.ExpTransform()]).inv(t.ones(3)),
    lambda T, t: T.CatTransform([T.ExpTransform()], dim=1)(t.ones(3)),
    lambda T, t: T.CatTransform([T.ExpTransform()]).log_abs_det_jacobian(t.ones(1), t.ones(3)),
    lambda T, t: T.StackTransform([T.ExpTransform()])(t.ones(3)),
    lambda T, t: T.StackTransform([T.ExpTransform()], dim=1).log_abs_det_jacobian(t.ones(1), t.ones(3)),
    lambda T, t: T.CorrCholeskyTransform().forward_shape((2,)),
    lambda T, t: T.CorrCholeskyTransform().inverse_shape((2, 3)),
    lambda T, t: T.StickBreakingTransform().forward_shape(()),
    lambda T, t: T.StickBreakingTransform().event_dim + T.CorrCholeskyTransform().event_dim,
    lambda T, t: T.PowerTransform("2"),
    lambda T, t: hash(T.ExpTransform()),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    found = []
    for t in (pytorchlike, torch):
        with pytest.raises(Exception) as raised:
            ERRORS[number](t.distributions.transforms, t)
        found.append((raised.type, str(raised.value)))
    assert found[0] == found[1]


def test_parameters_of_transforms_get_gradients():
    results = []
    for t in (pytorchlike, torch):
        D = t.distributions
        loc, scale = t.tensor(0.5, requires_grad=True), t.tensor([2.0, 0.3], requires_grad=True)
        distribution = D.TransformedDistribution(D.Normal(t.zeros(2), 1.0), [D.AffineTransform(loc, scale), D.TanhTransform()])
        distribution.log_prob(t.tensor([0.3, -0.6])).sum().backward()
        results.append([numbers(loc.grad), numbers(scale.grad)])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
