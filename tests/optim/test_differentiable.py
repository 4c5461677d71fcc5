"""Optimizers whose steps the tape records, ``differentiable=True``, against torch's."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours

from .optimizers import OPTIMIZERS

CASES = [(name, kwargs) for name, kwargs in OPTIMIZERS if "differentiable" in inspect.signature(getattr(theirs.optim, name)).parameters]
#: torch's own tape refuses the second of two steps, as its formulas write over what they saved.
ONE_STEP = {"Adamax", "Rprop"}


def steps_for(name: str, kwargs: dict) -> int:
    return 1 if name in ONE_STEP or kwargs.get("amsgrad") or kwargs.get("centered") else 3


def unrolled(torch: Any, name: str, kwargs: dict, steps: int, rate: float | None = None) -> tuple[list, list[np.ndarray]]:
    """What asks for a gradient after some steps of training, and the gradients of start, data and rate through all of them."""
    random = np.random.default_rng(0)
    start, data = (torch.tensor(random.normal(size=(3, 4)).tolist(), dtype=torch.float64, requires_grad=True) for _ in range(2))
    sources = [start, data]
    if rate is not None:
        sources.append(torch.tensor(rate, dtype=torch.float64, requires_grad=True))
        kwargs = {**kwargs, "lr": sources[-1]}
    p = start.clone()
    optimizer = getattr(torch.optim, name)([p], differentiable=True, **kwargs)
    for _ in range(steps):
        loss = (p.clone() * data).sin().square().sum()
        (p.grad,) = torch.autograd.grad(loss, p, create_graph=True)
        optimizer.step()
    states = {key: value for key, value in optimizer.state[p].items() if value is not None}
    total = p.clone().pow(3).sum() + sum([value.clone().sum() for value in states.values() if value.requires_grad])
    gradients = torch.autograd.grad(total, sources)
    return [(key, value.requires_grad) for key, value in states.items()], [np.asarray(t.tolist()) for t in (p, *gradients)]


def check(name: str, kwargs: dict, **more: Any) -> None:
    steps = steps_for(name, kwargs)
    (mine, my_numbers), (wanted, their_numbers) = (unrolled(library, name, kwargs, steps, **more) for library in (ours, theirs))
    assert mine == wanted
    # torch's Adam and NAdam take powers of their betas in float32 here.
    tolerance = 3e-4 if name in ("Adam", "AdamW", "NAdam") else 1e-9
    for a, b in zip(my_numbers, their_numbers, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 1e-2)


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=str)
def test_gradients_through_steps(name, kwargs):
    check(name, kwargs)


@pytest.mark.parametrize(("name", "kwargs"), [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}), ("Adam", {}), ("AdamW", {}), ("RAdam", {}),
])  # fmt: skip
def test_gradient_of_the_learning_rate(name, kwargs):
    check(name, kwargs, rate=0.05)


def test_gradients_of_betas_and_weight_decay_given_as_tensors():
    def run(torch):
        betas = tuple(torch.tensor(b, dtype=torch.float64, requires_grad=True) for b in (0.8, 0.95))
        decay = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        p = torch.linspace(-1, 1, 5, dtype=torch.float64).requires_grad_().clone()
        optimizer = torch.optim.Adam([p], betas=betas, weight_decay=decay, differentiable=True)
        for k in range(2):
            p.grad = torch.linspace(-3, 1, 5, dtype=torch.float64) * (k + 1)
            optimizer.step()
        return [g.item() for g in torch.autograd.grad(p.clone().pow(2).sum(), [*betas, decay])]

    np.testing.assert_allclose(run(ours), run(theirs), rtol=3e-4)  # powers of betas in float32, as above


def test_a_leaf_is_refused_and_keeps_its_content():
    def run(torch):
        p = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.Adam([p], lr=0.5, differentiable=True)
        p.grad = torch.ones(2)
        try:
            optimizer.step()
        except RuntimeError as error:
            return str(error), p.tolist()

    assert run(ours) == run(theirs) != None  # noqa: E711


def test_parameters_of_one_step_have_graphs_of_their_own():
    starts = [ours.tensor([1.0, 2.0], requires_grad=True) for _ in range(2)]
    params = [s.clone() for s in starts]
    optimizer = ours.optim.SGD(params, lr=0.5, differentiable=True)
    for p, s in zip(params, starts):
        p.grad = 3 * s
    optimizer.step()
    for p in params:
        p.sum().backward()
    assert [s.grad.tolist() for s in starts] == [[-0.5, -0.5]] * 2
