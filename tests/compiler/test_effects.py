"""What a call does beside computing its result: the compiled function leaves everything as the function does, whatever was there before the call."""

from __future__ import annotations

import pytest

import pytorchlike as torch
from pytorchlike import nn

# Each case makes (function, what is looked at after each call; it may change something for the next one).  Names are those of the tests.
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def run(make, wrap):
    torch.manual_seed(0)
    function, look = make()
    function, seen = wrap(function), []
    for k in range(5):
        result = function(torch.arange(1.0, 5.0) + k)
        seen.append((result, look()))
    return function, seen


@pytest.mark.parametrize("name", CASES)
def test_effect(name):
    _, expected = run(CASES[name], lambda function: function)
    _, found = run(CASES[name], torch.compile)
    for mine, plain in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-5, atol=1e-6)


def training(body, change=lambda groups, calls: None):
    """A case whose step writes numbers of the optimizer."""

    def make():
        model, calls = nn.Linear(4, 1), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)

        def step(x):
            optimizer.zero_grad()
            model(x).sum().backward()
            body(optimizer)
            return model.weight.detach().clone()

        def look():
            calls.append(0)
            change(optimizer.param_groups, len(calls))
            return optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]

        return step, look

    return make


def halves(optimizer):
    for group in optimizer.param_groups:
        group["lr"] *= 0.5
    optimizer.step()


def for_a_while(optimizer):
    group = optimizer.param_groups[0]
    before, group["lr"] = group["lr"], 0.01
    optimizer.step()
    group["lr"] = before


def in_between(optimizer):
    optimizer.step()
    optimizer.param_groups[0]["lr"] *= 0.5
    optimizer.step()


def is_set(groups, calls):
    groups[0]["lr"] = 0.01 * calls


def swaps(optimizer):
    group = optimizer.param_groups[0]
    group["lr"], group["momentum"] = group["momentum"], group["lr"]
    optimizer.step()


CASES.update({
    "learning_rate_and_momentum": training(swaps),
    "learning_rate": training(halves),
    "learning_rate_set_outside_too": training(halves, is_set),
    "learning_rate_for_a_while": training(for_a_while),
    "learning_rate_for_a_while_set_outside_too": training(for_a_while, is_set),
    "learning_rate_between_steps": training(in_between),
})  # fmt: skip


def test_a_constant_learning_rate_is_written_by_replays():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def step(x):
        optimizer.param_groups[0]["lr"] = 0.05
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    for lr in (0.1, None, None, 0.3, None, 0.1):
        if lr is not None:
            optimizer.param_groups[0]["lr"] = lr
        before = model.weight.detach().clone()
        step(torch.ones(4))
        torch.testing.assert_close(model.weight.detach(), before - 0.05)
        assert optimizer.param_groups[0]["lr"] == 0.05
    assert step._compiled.replays[0].runs or step._compiled.replays[1].runs


def test_a_learning_rate_that_is_returned():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        return optimizer.param_groups[0]["lr"], [dict(group)["lr"] for group in optimizer.param_groups]

    for lr in (0.1, 0.1, 0.1, 0.3, 0.3):
        optimizer.param_groups[0]["lr"] = lr
        assert step(torch.ones(4)) == (lr, [lr])
    assert step._compiled.replays[0].runs


def test_learning_rates_stay_numbers_of_the_program_where_the_call_only_names_the_groups():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        for group in optimizer.param_groups:
            nn.utils.clip_grad_norm_(group["params"], 1.0)
        optimizer.step()

    for k in range(6):
        optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
        step(torch.ones(4))
    assert step._compiled.captures == 2
