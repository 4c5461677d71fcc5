"""Numbers in attributes that change at each call: replays take them where nothing but tensors, conditions and their next value sees them."""

from __future__ import annotations

import types

import pytest

import pytorchlike as torch
from pytorchlike import nn

CALLS = 24


class Held:
    def __init__(self):
        self.n, self.k, self.other = 0, 1.5, 0


WEIGHT = torch.ones(4, requires_grad=True)


def counts(held, x):
    held.n += 1
    return x * 2


def multiplies(held, x):
    held.n += 1
    return x * held.n


def is_on_the_left(held, x):
    held.n = held.n + 1
    return held.n - x


def is_computed_with(held, x):
    held.n += 1
    held.n += 1
    return (held.n * 2 + 1) * x


def every_third(held, x):
    held.n += 1
    if held.n % 3 == 0:
        return x * 2
    return x - 1


def warms_up(held, x):
    held.n += 1
    if held.n > 10:
        return x * held.n
    return x * 2


def decays(held, x):
    held.k *= 0.5
    y = x * held.k
    return y.sum()


def has_gradient(held, x):
    held.n += 1
    y = WEIGHT * held.n
    y = y * y * x
    return torch.autograd.grad(y.sum(), WEIGHT)[0]


def is_saved(held, x):
    held.n += 1
    y = WEIGHT * held.n
    return y * x


def selects(held, x):
    held.n += 1
    return x[: held.n % 4]


def is_assigned(held, x):
    held.n += 1
    n = held.n
    return x * n


def is_a_length(held, x):
    held.n = held.n + 1
    return x * len(range(held.n))


def is_read_by_getattr(held, x):
    held.n += 1
    return x * getattr(held, "n")


def is_read_with_all(held, x):
    held.n += 1
    return x * vars(held)["n"]


def compares_two(held, x):
    held.n += 1
    if held.n == held.other + 5:
        held.other = held.n
    return x + held.other


def integer_tensor(held, x):
    held.n += 1
    whole = x.long()
    return whole * held.n


def with_a_number(held, x):
    held.n += 1
    factor = 2
    return x * (factor * held.n)


#: Function -> how often it is captured, if less often than there are numbers.
FUNCTIONS = {
    counts: 2, multiplies: 2, is_on_the_left: 2, is_computed_with: 2, every_third: 3, warms_up: 3, decays: 2, has_gradient: 2, is_saved: 2, selects: None,
    is_assigned: None, is_a_length: None, is_read_by_getattr: None, is_read_with_all: None, compares_two: None, integer_tensor: None, with_a_number: None,
}  # fmt: skip


def results(function, wrap, held):
    compiled, seen = wrap(lambda x: function(held, x)), []
    for k in range(CALLS):
        WEIGHT.grad = None
        result = compiled(torch.arange(1.0, 5.0) + k)
        if result.requires_grad:
            result.sum().backward()
        seen.append([result.detach(), None if WEIGHT.grad is None else WEIGHT.grad.clone(), {n: v for n, v in vars(held).items() if isinstance(v, (int, float))}])
        assert type(held.n) is int
    return compiled, seen


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_numbers_of_an_object(function):
    _, expected = results(function, lambda f: f, Held())
    compiled, found = results(function, torch.compile, Held())
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    if FUNCTIONS[function] is not None:
        assert compiled._compiled.captures == FUNCTIONS[function], compiled._compiled.misses


def test_attributes_that_are_assigned():
    """The next value comes from an argument, is a constant, or is the same at the call that is captured; reads behind it see it."""

    def remainder(held, x, t):
        held.n = (held.n + 1) % 4
        return x * held.n

    def started_anew(held, x, t):
        held.n += 1
        if held.n == 4:
            held.n = 0
        return x + held.n

    def given(held, x, t):
        held.n = t
        return x * held.n

    def unchanged(held, x, t):
        held.n = held.n % 4
        return x + held.n

    def twice(held, x, t):
        held.n = t + held.n
        held.other = held.n * 2
        return x * held.other - held.n

    for make in (Held, types.SimpleNamespace):
        for function in (remainder, started_anew, given, unchanged, twice):
            both = []
            for wrap in (lambda f: f, torch.compile):
                held = make()
                held.n, held.other = 1, 0
                run = wrap(lambda x, t: function(held, x, t))  # noqa: B023
                seen = []
                for t in (1, 2, 3, 3, 1, 0, 5, 4, 7, 2, 1):
                    if function is unchanged:
                        held.n = t
                    seen.append([run(torch.ones(2), t), held.n, held.other])
                both.append(seen)
            torch.testing.assert_close(both[1], both[0])
            if make is Held:
                assert run._compiled.captures <= 5, run._compiled.misses


def test_a_number_that_somebody_else_changes():
    held = Held()
    compiled = torch.compile(lambda x: multiplies(held, x))
    for n in (0, 1, 5, -3, 2.5, 7, True, 1 << 60, 3):
        held.n = n
        assert compiled(torch.ones(2))[0].item() == float(n + 1)
        assert held.n == n + 1 and type(held.n) is type(n + 1)


def test_counter_of_a_module():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.calls, self.scale = nn.Linear(4, 4), 0, 0.5

        def forward(self, x):
            self.calls += 1
            y = self.linear(x) * self.scale
            return y * 2 if self.training and self.calls % 2 == 0 else y

    plain, model = Model(), Model()
    model.load_state_dict(plain.state_dict())
    compiled = torch.compile(model)
    for k in range(12):
        x = torch.randn(3, 4)
        torch.testing.assert_close(compiled(x), plain(x))
        if k == 8:
            plain.eval(), compiled.eval()
    assert model.calls == plain.calls == 12 and compiled._compiled.captures <= 5


def test_accumulation_of_gradients():
    class Trainer:
        def __init__(self):
            torch.manual_seed(0)
            self.model, self.step_count = nn.Linear(4, 2), 0
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

        def step(self, x):
            loss = self.model(x).square().mean() / 4
            loss.backward()
            self.step_count += 1
            if self.step_count % 4 == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
            return loss.detach()

    plain, trainer = Trainer(), Trainer()
    compiled = torch.compile(trainer.step)
    for _ in range(24):
        x = torch.randn(3, 4)
        torch.testing.assert_close(compiled(x), plain.step(x))
        torch.testing.assert_close(trainer.model.weight, plain.model.weight)
    assert compiled._compiled.captures <= 6
