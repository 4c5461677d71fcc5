"""Gradients, and gradients of gradients, where they are a convention: at ties, kinks, zeros, edges of the domain and NaN, they are torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

from .batch import Outcome, attempt, run_all

NAN, INF = float("nan"), float("inf")
POINTS = {"zeros": [0.0, 0.0, 0.0], "mixed": [0.0, 2.0, -3.0], "nan": [0.0, NAN, 1.0]}

#: name -> function of (torch or ours, a vector of three doubles).
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"vector_norm {p}": (lambda T, x, p=p: T.linalg.vector_norm(x, p)) for p in (0.5, 1, 1.5, 2, 3, 3.5, INF, -INF, -1)},
    **{f"linalg.norm {p}": (lambda T, x, p=p: T.linalg.norm(x, p)) for p in (2, INF)},
    "fro": lambda T, x: T.linalg.norm(x.reshape(1, 3), "fro"),
    "norm": lambda T, x: x.norm(),
    "dist": lambda T, x: T.dist(x, T.zeros_like(x)),
    "std": lambda T, x: x.std(),
    "var of one": lambda T, x: x[:1].var(),
    "var with a large correction": lambda T, x: x.var(0, correction=5),
    "std with a large correction": lambda T, x: x.std(0, correction=3),
    "hypot": lambda T, x: T.hypot(x, x),
    "pairwise_distance": lambda T, x: T.nn.functional.pairwise_distance(x, T.zeros_like(x)),
    "normalize": lambda T, x: T.nn.functional.normalize(x, dim=0),
    "renorm": lambda T, x: x[None].renorm(2, 0, 1.0),
    "sqrt": lambda T, x: x.sqrt(),
    "pow 0": lambda T, x: x.pow(0),
    "pow 0.5": lambda T, x: x.pow(0.5),
    "pow 2.5": lambda T, x: x.abs().pow(2.5),
    "abs": lambda T, x: x.abs(),
    "xlogy": lambda T, x: T.xlogy(x, x),
    "prod": lambda T, x: x.prod(),
    "cumprod": lambda T, x: x.cumprod(0),
    "atan2": lambda T, x: T.atan2(x, x),
    "logsumexp": lambda T, x: T.logsumexp(x - INF, 0),
    "softmax": lambda T, x: T.softmax(x - INF, 0),
    "max": lambda T, x: x.max(),
    "max over a dimension": lambda T, x: x.max(0)[0],
    "amax": lambda T, x: x.amax(),
    "aminmax": lambda T, x: T.stack(list(T.aminmax(x))),
    "median": lambda T, x: x.median(),
    "nanmedian": lambda T, x: x.nanmedian(),
    "maximum": lambda T, x: T.maximum(x, T.zeros_like(x)),
    "clamp": lambda T, x: x.clamp(0, 2),
    "relu": lambda T, x: x.relu(),
    "elu": lambda T, x: T.nn.functional.elu(x),
    "celu": lambda T, x: T.nn.functional.celu(x, 2.0),
    "selu": lambda T, x: T.selu(x),
    "hardswish": lambda T, x: T.nn.functional.hardswish(x + 3),
    "hardtanh": lambda T, x: T.nn.functional.hardtanh(x + 1),
    "softshrink": lambda T, x: T.nn.functional.softshrink(x + 0.5),
    "hardshrink": lambda T, x: T.nn.functional.hardshrink(x + 0.5),
    "threshold": lambda T, x: T.nn.functional.threshold(x, 0, 7),
    "logsigmoid": lambda T, x: T.nn.functional.logsigmoid(x * 1e3),
    "softplus": lambda T, x: T.nn.functional.softplus(x * 30),
    "l1_loss": lambda T, x: T.nn.functional.l1_loss(x, T.zeros_like(x)),
    "smooth_l1_loss": lambda T, x: T.nn.functional.smooth_l1_loss(x + 1, T.zeros_like(x)),
    "huber_loss": lambda T, x: T.nn.functional.huber_loss(x + 1, T.zeros_like(x)),
    "hinge_embedding_loss": lambda T, x: T.nn.functional.hinge_embedding_loss(x + 1, -T.ones_like(x)),
    "binary_cross_entropy": lambda T, x: T.nn.functional.binary_cross_entropy(x.nan_to_num().clamp(0, 1), T.tensor([0.0, 1.0, 1.0], dtype=x.dtype)),
    "sinc": lambda T, x: x.sinc(),
    "entr": lambda T, x: T.special.entr(x),
    "logit": lambda T, x: x.logit(),
    "log": lambda T, x: x.log(),
    "asin": lambda T, x: (x + 1).asin(),
    "acosh": lambda T, x: (x + 1).acosh(),
    "fmod": lambda T, x: x.fmod(1.0),
    "remainder": lambda T, x: x.remainder(x),
    "copysign": lambda T, x: T.copysign(x, x),
    "cummax": lambda T, x: x.cummax(0)[0],
    "max_pool1d": lambda T, x: T.nn.functional.max_pool1d(x[None], 2),
    "logaddexp": lambda T, x: T.logaddexp(x - INF, x - INF),
    "pow of tensors": lambda T, x: T.pow(x, T.tensor([0.0, 1.0, 2.0], dtype=x.dtype)),
    "pow of zero": lambda T, x: 0.0 ** x,
    "division by zero": lambda T, x: x / T.zeros(3, dtype=x.dtype, requires_grad=True),
    "atanh": lambda T, x: (x + 1).atanh(),
    "ndtri": lambda T, x: T.special.ndtri(x),
    "matrix_norm 1": lambda T, x: T.linalg.matrix_norm(T.stack([x, x.flip(0)]), 1),
    "triplet_margin_loss": lambda T, x: T.nn.functional.triplet_margin_loss(x[None], T.zeros(1, 3, dtype=x.dtype), 9 * T.ones(1, 3, dtype=x.dtype), eps=0.0),
}

#: Second derivatives that are something else here, and why.
SECOND_DIFFERS = {
    "sinc": "at 0 it is -pi**2 / 3, where torch divides by 0",
    "atan2": "at the origin it is 0, where torch divides by 0",
    "prod": "of a NaN, torch's is NaN in all places", "cumprod": "of a NaN, torch's is NaN in all places",
    "var of one": "a NaN stays one where torch has no gradient", "var with a large correction": "a NaN stays one where torch's rule does not look at it",
    "amax": "a NaN stays one where torch has no gradient", "aminmax": "a NaN stays one where torch has no gradient",
}  # fmt: skip


def _derivatives(module: Any, name: str, point: str) -> tuple[Any, Any]:
    """First and second derivative: of the sum of the results, then of the weighted sum of the first one."""
    x = module.tensor(POINTS[point], dtype=module.float64, requires_grad=True)
    y = FUNCTIONS[name](module, x)
    (first,) = module.autograd.grad(y, x, module.ones_like(y), create_graph=True)
    if not first.requires_grad:
        return first, None
    weights = module.tensor([1.0, 2.0, 3.0], dtype=module.float64)
    (second,) = module.autograd.grad(first, x, weights, allow_unused=True)
    return first.detach(), second if second is None else second + 0


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, str], Outcome]:
    return run_all([((name, point), _derivatives, (name, point)) for name in FUNCTIONS for point in POINTS])


def _array(tensor: Any) -> np.ndarray:
    return np.zeros(3) if tensor is None else np.array(tensor.detach().numpy())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_torch(name: str, outcomes: dict) -> None:
    for point in POINTS:
        theirs = attempt(_derivatives, real_torch, name, point).get()
        mine = outcomes[name, point].get()
        np.testing.assert_allclose(_array(mine[0]), _array(theirs[0]), 1e-7, 1e-9, err_msg=f"{point}: first")
        if name not in SECOND_DIFFERS:
            np.testing.assert_allclose(_array(mine[1]), _array(theirs[1]), 1e-6, 1e-7, err_msg=f"{point}: second")


def test_the_zero_norm_has_no_gradient() -> None:
    for norm in (lambda T, x: T.linalg.vector_norm(x, 0), lambda T, x: x.norm(0), lambda T, x: T.linalg.norm(x, 0)):
        for module in (real_torch, ours):
            x = module.tensor([0.0, 2.0], requires_grad=True)
            y = norm(module, x)
            assert y.requires_grad and module.autograd.grad(y, x, retain_graph=True, allow_unused=True) == (None,)
            y.backward()
            assert x.grad is None


def test_second_derivative_of_cross_entropy_at_the_edges() -> None:
    found = []
    for T in (real_torch, ours):
        x = T.tensor([0.0, 1.0, 0.5], requires_grad=True)  # in single precision, 1e-12 is lost beside a 1
        (g,) = T.autograd.grad(T.nn.functional.binary_cross_entropy(x, T.tensor([0.0, 1.0, 1.0])), x, create_graph=True)
        found.append(T.autograd.grad(g.sum(), x)[0].numpy())
    np.testing.assert_allclose(found[1], found[0], 1e-6)


def test_determinant_of_a_singular_matrix() -> None:
    for matrix in ([[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], [[0.0, 1.0], [1.0, 0.0]]):
        found = []
        for module in (real_torch, ours):
            x = module.tensor(matrix, dtype=module.float64, requires_grad=True)
            (first,) = module.autograd.grad(module.linalg.det(x), x)
            (g,) = module.autograd.grad(module.linalg.det(x), x, create_graph=True)
            (second,) = module.autograd.grad(g[0, 0] + 2 * g[1, 1], x)
            found.append((np.array(first.numpy()), np.array(second.numpy())))
        for theirs, mine in zip(*found, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-7, 1e-7)



@pytest.mark.parametrize(
    "make",
    [
        lambda T, x: T.nn.functional.avg_pool2d(x, 2), lambda T, x: T.nn.functional.avg_pool1d(x[0], 2), lambda T, x: T.nn.functional.adaptive_avg_pool2d(x, 2),
        lambda T, x: T.nn.functional.adaptive_max_pool2d(x, 2), lambda T, x: T.nn.functional.max_pool2d(x, 2, return_indices=True)[0],
        lambda T, x: T.nn.functional.nll_loss(x, T.zeros(1, 4, 4, dtype=T.int64)), lambda T, x: T.nn.functional.rrelu(x, training=True),
        lambda T, x: T.nn.functional.interpolate(x, scale_factor=0.5, mode="area"),
    ],
)  # fmt: skip
def test_the_gradient_of_a_piecewise_linear_function_stays_on_the_tape(make: Callable) -> None:
    for module in (real_torch, ours):
        x = module.arange(32.0).reshape(1, 2, 4, 4).requires_grad_()
        (g,) = module.autograd.grad(make(module, x).sum(), x, create_graph=True)
        assert g.requires_grad
        (h,) = module.autograd.grad(g.sum(), x)
        assert not h.any()
