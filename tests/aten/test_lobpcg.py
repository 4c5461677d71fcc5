"""Eigenpairs by LOBPCG: those that torch finds, with its gradients and errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

_SIZE = 16


def _matrix(seed: int, *batch: int) -> np.ndarray:
    """Symmetric and positive definite."""
    x = np.random.default_rng(seed).normal(size=(*batch, _SIZE, _SIZE))
    return x @ np.swapaxes(x, -1, -2) / _SIZE + np.diag(np.arange(1.0, _SIZE + 1))


def _tridiagonal(t):
    """A sparse matrix."""
    i = np.arange(_SIZE)
    rows, columns = np.concatenate([i, i[1:], i[:-1]]), np.concatenate([i, i[:-1], i[1:]])
    values = np.concatenate([2.0 + i, np.full(2 * _SIZE - 2, -1.0)])
    return t.sparse_coo_tensor(t.tensor(np.stack([rows, columns])), t.tensor(values), (_SIZE, _SIZE))


CALLS = {
    "largest": lambda t: t.lobpcg(t.tensor(_matrix(0)), k=3),
    "smallest": lambda t: t.lobpcg(t.tensor(_matrix(0)), k=2, largest=False, method="basic"),
    "generalized": lambda t: t.lobpcg(t.tensor(_matrix(0)), k=2, B=t.tensor(_matrix(1))),
    "batch": lambda t: t.lobpcg(t.tensor(_matrix(2, 2)), k=2, n=3),
    "preconditioned": lambda t: t.lobpcg(t.tensor(_matrix(0)), X=t.eye(_SIZE, 2, dtype=t.float64), iK=t.tensor(np.linalg.inv(_matrix(0))), largest=False),
    "sparse": lambda t: t.lobpcg(_tridiagonal(t), k=2),
}


@pytest.mark.parametrize("name", CALLS)
def test_eigenpairs_are_torchs(name: str) -> None:
    """Values to the square of the tolerance, vectors up to their signs."""
    real_torch.manual_seed(0)
    ours.manual_seed(0)
    (e, v), (values, vectors) = CALLS[name](real_torch), CALLS[name](ours)
    np.testing.assert_allclose(values.numpy(), e.numpy(), rtol=1e-10)
    signs = np.sign((vectors.numpy() * v.numpy()).sum(-2, keepdims=True))
    np.testing.assert_allclose(vectors.numpy() * signs, v.numpy(), atol=2e-6)  # residuals of 1.5e-8 over gaps of eigenvalues


def _gradient(t):
    x = t.tensor(_matrix(3, 2), requires_grad=True)
    values, vectors = t.lobpcg(x, k=3, tol=1e-12)
    turned = vectors * vectors[..., :1, :].sign()
    weights = t.tensor(np.random.default_rng(4).normal(size=tuple(vectors.shape)))
    ((values * weights[..., 0, :]).sum() + (turned * weights).sum()).backward()
    return x.grad.numpy()


def test_gradients_are_torchs() -> None:
    """Inside of the span of the eigenvectors and towards the rest of the space."""
    np.testing.assert_allclose(_gradient(ours), _gradient(real_torch), rtol=1e-8, atol=1e-8)


def _generalized_gradient(t):
    x = t.tensor(_matrix(0), requires_grad=True)
    t.lobpcg(x, B=t.tensor(_matrix(1)))[0].sum().backward()


def _sparse_gradient(t):
    t.lobpcg(_tridiagonal(t).requires_grad_())[0].sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.lobpcg(t.ones(9, 8)),
        lambda t: t.lobpcg(t.eye(9), B=t.eye(8)),
        lambda t: t.lobpcg(t.eye(8), k=3),
        lambda t: t.lobpcg(t.eye(9), X=t.ones(8, 1)),
        _generalized_gradient,
        _sparse_gradient,
    ],
)
def test_refused(call) -> None:
    """The same exception and text."""
    with pytest.raises(Exception) as theirs:
        call(real_torch)
    with pytest.raises(type(theirs.value)) as mine:
        call(ours)
    assert str(mine.value) == str(theirs.value)


def test_tracker_sees_every_iteration_and_may_stop() -> None:
    """State grows with the steps; ``force_stop`` ends it."""
    steps = []

    def stop_after_two(worker) -> None:
        steps.append((worker.ivars["istep"], tuple(worker.E.shape), tuple(worker.tvars["rerr"].shape)))
        worker.bvars["force_stop"] = len(steps) == 2

    ours.lobpcg(ours.tensor(_matrix(0)), k=2, tracker=stop_after_two)
    assert steps == [(1, (2,), (2,)), (2, (2,), (2,))]
