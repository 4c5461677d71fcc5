"""What a call does beside computing its result: the compiled function leaves everything as the function does, whatever was there before the call."""

from __future__ import annotations

import collections
import types

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


def same(found, expected):
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for mine, plain in zip(found, expected, strict=True):
            same(mine, plain)
    elif isinstance(expected, (torch.Tensor, float)):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    else:
        assert type(found) is type(expected) and found == expected


@pytest.mark.parametrize("name", CASES)
def test_effect(name):
    _, expected = run(CASES[name], lambda function: function)
    _, found = run(CASES[name], torch.compile)
    same(found, expected)


class Held:
    """Something with attributes."""


def writes(body, reset, look, make_held=Held):
    """A case whose function writes to an object that is reset to something else between calls."""

    def make():
        held = make_held()
        reset(held)

        def function(x):
            body(held, x)
            return x * 2

        def looked():
            seen = look(held)
            reset(held)
            return seen

        return function, looked

    return make


class Slotted:
    __slots__ = ("n", "m")


class WithBuffer(nn.Module):
    """A module with a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(4))
        self.other = self.b


def _set(name, value):
    return lambda held, *given: setattr(held, name, value)


def _for_a_while(held, x):
    held.n = 5
    held.n = 1


def _slots(held, x):
    held.n = held.m


def _moves(held, x):
    first = next(iter(held))
    held[first] = held.pop(first)


def _fill(held, *keys):
    held.clear()
    held.update(dict.fromkeys(keys, 1))


CASES.update({
    "what_it_was_written_again": writes(_set("n", 1), lambda held: setattr(held, "n", len(vars(held))), lambda held: held.n),
    "none_written_again": writes(_set("n", None), _set("n", 2), lambda held: held.n),
    "written_and_written_back": writes(_for_a_while, _set("n", 2), lambda held: held.n),
    "an_object_written_again": writes(_set("n", CASES), _set("n", 2), lambda held: held.n is CASES),
    "deleted": writes(lambda held, x: vars(held).pop("n", None), _set("n", 2), lambda held: hasattr(held, "n")),
    "attribute_of_a_module_from_outside": writes(_set("n", 1), _set("n", 2), lambda held: held.n, lambda: types.ModuleType("held")),
    "new_attribute_of_a_module": writes(_set("n", 1), lambda held: vars(held).pop("n", None), lambda held: held.n, lambda: types.ModuleType("held")),
    "attribute_of_a_class": writes(_set("n", 1), _set("n", 2), lambda held: held.n, lambda: type("Class", (), {})),
    "slot": writes(_slots, lambda held: (setattr(held, "n", 0), setattr(held, "m", 2)), lambda held: held.n, Slotted),
    "buffer_written_again": writes(lambda held, x: setattr(held, "b", held.other), _set("b", torch.ones(4)), lambda held: held.b.clone(), WithBuffer),
    "no_gradient": writes(lambda held, x: setattr(held, "grad", None), _set("grad", torch.ones(4)), lambda held: held.grad, lambda: nn.Parameter(torch.ones(4))),
    "moved_entry": writes(_moves, lambda held: None, list, lambda: {"a": 1, "b": 2, "c": None}),
    "moved_entry_of_an_ordered_dictionary": writes(
        lambda held, x: held.move_to_end(next(iter(held))), lambda held: None, list, lambda: collections.OrderedDict(a=1, b=2),
    ),
    "order_of_new_entries": writes(lambda held, x: held.update(b=1, a=2), lambda held: _fill(held, "c"), list, dict),
    "one_for_true_in_a_set": writes(
        lambda held, x: (held.discard(1), held.add(True)), lambda held: (held.clear(), held.add(1)), lambda held: [type(each).__name__ for each in held], set,
    ),
    "one_for_true_in_a_dictionary": writes(
        lambda held, x: (held.pop(1), held.update({True: 1})), lambda held: _fill(held, 1), lambda held: [type(each).__name__ for each in held], dict,
    ),
})  # fmt: skip


@case
def attribute_of_a_function():
    def other():
        pass

    def function(x):
        function.calls = getattr(function, "calls", 0) + 1
        other.last = x * 3
        return x * 2

    return function, lambda: (function.calls, other.last)


@case
def attribute_of_a_module():
    module = types.ModuleType("module")
    module.calls = 0

    def function(x):
        module.calls += 1
        return x * 2

    return function, lambda: module.calls


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
