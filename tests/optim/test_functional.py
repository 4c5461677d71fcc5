"""The functions behind the optimizers: updates of lists of tensors, against torch's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours

from .test_optimizers import check_close, gradients, start

ADAM = {"beta1": 0.9, "beta2": 0.95, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-6}
#: Function -> its lists of states (0-d ones with their first value), its keywords.
FUNCTIONS: list[tuple[str, dict[str, float | None], dict[str, Any]]] = [
    ("adadelta", {"square_avgs": None, "acc_deltas": None, "state_steps": 0.0}, {"lr": 0.5, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": True}),
    ("adagrad", {"state_sums": None, "state_steps": 0.0}, {"lr": 0.1, "weight_decay": 0.0, "lr_decay": 0.1, "eps": 1e-10, "maximize": False}),
    ("adam", {"exp_avgs": None, "exp_avg_sqs": None, "max_exp_avg_sqs": None, "state_steps": 0.0}, {"amsgrad": True, "maximize": False, **ADAM}),
    ("adamax", {"exp_avgs": None, "exp_infs": None, "state_steps": 0.0}, ADAM),
    ("adamw", {"exp_avgs": None, "exp_avg_sqs": None, "max_exp_avg_sqs": None, "state_steps": 0.0}, {"amsgrad": False, "maximize": True, **ADAM}),
    ("asgd", {"axs": None, "mus": 1.0, "etas": 0.1, "state_steps": 0.0}, {"lambd": 0.1, "lr": 0.1, "t0": 2.0, "alpha": 0.5, "weight_decay": 0.1}),
    ("nadam", {"exp_avgs": None, "exp_avg_sqs": None, "mu_products": 1.0, "state_steps": 0.0}, {"momentum_decay": 4e-3, "decoupled_weight_decay": True, **ADAM}),
    ("radam", {"exp_avgs": None, "exp_avg_sqs": None, "state_steps": 0.0}, ADAM),
    ("rmsprop", {"square_avgs": None, "grad_avgs": None, "momentum_buffer_list": None, "state_steps": 0.0},
     {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.9, "centered": True}),
    ("rprop", {"prevs": None, "step_sizes": None, "state_steps": 0.0}, {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}),
    ("sgd", {"momentum_buffer_list": None}, {"lr": 0.1, "weight_decay": 0.1, "momentum": 0.9, "dampening": 0.3, "nesterov": False, "maximize": True}),
]  # fmt: skip


def _lists(library: Any, states: dict[str, float | None], params: list[Any]) -> dict[str, list[Any]]:
    return {key: [library.zeros_like(p) if value is None else library.tensor(value) for p in params] for key, value in states.items()}


@pytest.mark.parametrize(("name", "states", "kwargs"), FUNCTIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_updates_write_into_the_lists(name: str, states: dict, kwargs: dict) -> None:
    def run(library: Any) -> tuple[list[Any], dict[str, list[Any]]]:
        function = getattr(importlib.import_module(f"{library.__name__}.optim._functional"), name)
        assert function is getattr(importlib.import_module(f"{library.__name__}.optim.{name}"), name)
        params = [library.tensor(a.tolist()) for a in start(name)]
        lists = _lists(library, states, params)
        if name == "sgd":
            lists["momentum_buffer_list"] = [None] * len(params)
        for grads in gradients(5, name):
            function(params, [library.tensor(g.tolist()) for g in grads], *lists.values(), **kwargs)
        return params, lists

    (mine, my_lists), (wanted, their_lists) = run(ours), run(theirs)
    for a, b in zip([*mine, *sum(my_lists.values(), [])], [*wanted, *sum(their_lists.values(), [])], strict=True):
        check_close(a, b, 1e-5)


def test_updates_of_matrices() -> None:
    """The functions of `Muon` and `Adafactor`, which tell matrices from others."""

    def run(library: Any) -> list[Any]:
        muon, adafactor = (getattr(importlib.import_module(f"{library.__name__}.optim._{name}"), name) for name in ("muon", "adafactor"))
        tall, flat = library.tensor(start("Muon")[1].tolist()), library.tensor([1.0, -2.0])
        row, column, variance, buffer = library.zeros(4, 1), library.zeros(1, 2), library.zeros(2), library.zeros(4, 2)
        steps = [library.tensor(0.0), library.tensor(0.0)]
        for grads in gradients(3, "Muon"):
            g = library.tensor(grads[1].tolist())
            adafactor([tall, flat], [g, g[0]], [row, None], [column, None], [None, variance], steps, d=1.0, lr=0.1, beta2_decay=-0.8, weight_decay=0.1,
                      eps1=None, eps2=1e-3, maximize=False)  # fmt: skip
            muon([tall], [g], [buffer], lr=0.1, weight_decay=0.1, momentum=0.9, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), ns_steps=5,
                 eps=1e-7, adjust_lr_fn=None, has_complex=False)  # fmt: skip
        return [tall, flat, row, column, variance, buffer, *steps]

    for a, b in zip(run(ours), run(theirs), strict=True):
        check_close(a, b, 2e-2)  # three steps of 0.1, each through fifteen products in bfloat16 (precision 8e-3), which processors sum differently


def test_updates_of_sparse_gradients() -> None:
    def run(library: Any) -> list[Any]:
        optim = importlib.import_module(f"{library.__name__}.optim._functional")
        grad = library.sparse_coo_tensor([[0, 2]], library.tensor([[1.0, -1.0], [2.0, 0.5]]), (3, 2), check_invariants=True)
        a, b, c = (library.ones(3, 2) for _ in range(3))
        total, mean, square, step = library.zeros(3, 2), library.zeros(3, 2), library.zeros(3, 2), library.tensor(0.0)
        for count in (1, 2):
            optim.adagrad(
                [a], [grad], [total], [step], has_sparse_grad=True, lr=0.1, weight_decay=0, lr_decay=0.1, eps=1e-10, maximize=False
            )
            optim.sgd([b], [grad], [None], weight_decay=0, momentum=0, lr=0.1, dampening=0, nesterov=False, maximize=True)
            optim.sparse_adam([c], [grad], [mean], [square], [count], eps=1e-8, beta1=0.9, beta2=0.99, lr=0.1, maximize=False)
        return [a, b, c, total, mean, square, step]

    for a, b in zip(run(ours), run(theirs), strict=True):
        check_close(a, b)


def test_fused_updates_unscale_and_skip() -> None:
    def run(library: Any) -> list[Any]:
        optim, seen = importlib.import_module(f"{library.__name__}.optim._functional"), []
        for found in (0.0, 1.0):
            p, grad, mean, square, step = library.ones(3), library.full((3,), 8.0), library.zeros(3), library.zeros(3), library.tensor(0.0)
            optim.adam([p], [grad], [mean], [square], [], [step], fused=True, grad_scale=library.tensor(4.0), found_inf=library.tensor(found),
                       amsgrad=False, maximize=False, **ADAM)  # fmt: skip
            seen += [p, mean, square, step] if found else [p, grad, mean, square, step]
        return seen

    for a, b in zip(run(ours), run(theirs), strict=True):
        check_close(a, b)


@pytest.mark.parametrize("library", [ours, theirs], ids=["ours", "torch"])
def test_what_updates_refuse(library: Any) -> None:
    adam = importlib.import_module(f"{library.__name__}.optim._functional").adam
    p, grad, mean, square = (library.ones(2) for _ in range(4))
    with pytest.raises(RuntimeError, match="API has changed, `state_steps` argument must contain a list of singleton tensors"):
        adam([p], [grad], [mean], [square], [], [1], amsgrad=False, maximize=False, **ADAM)
    with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
        adam(
            [p], [grad], [mean], [square], [], [library.tensor(0.0)], grad_scale=library.tensor(1.0), amsgrad=False, maximize=False, **ADAM
        )
    leaf = library.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        adam([leaf], [grad], [mean], [square], [], [library.tensor(0.0)], amsgrad=False, maximize=False, **ADAM)
    np.testing.assert_array_equal(leaf.detach().tolist(), [1.0, 1.0])


def test_updates_are_recorded_where_a_gradient_is_asked_for() -> None:
    def run(library: Any) -> Any:
        sgd = importlib.import_module(f"{library.__name__}.optim._functional").sgd
        rate = library.tensor([0.5, 2.0], requires_grad=True)
        p = rate * 1.0
        sgd([p], [rate * 3.0], [None], weight_decay=0.1, momentum=0.0, lr=0.1, dampening=0.0, nesterov=False, maximize=False)
        p.sum().backward()
        return rate.grad

    check_close(run(ours), run(theirs))
