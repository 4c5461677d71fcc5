"""Numbers in global variables and closures that change from call to call: followed, or guarded by their value."""

from __future__ import annotations

import sys

import pytest

import pytorchlike as torch
from pytorchlike import nn

from .test_guards import same

scale = 1.5
here = sys.modules[__name__]


def multiplied(x):
    return x * scale + (scale - x)


def _inner(x):
    return x / scale


def in_two_functions(x):
    return _inner(x) + scale * x


def differentiated(x):
    w = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad((x * w / scale).square().sum(), w)
    return g


def beside_a_loop(x):
    return _looping(x) * scale


def _looping(x):
    for _ in range(3):
        x = x + 1
    return x


def as_a_condition(x):
    return x * scale if scale < 3 else x - scale


def with_a_number(x):
    return x * (scale * 2)


def given_to_a_function(x):
    return torch.clamp(x, max=scale)


def in_a_loop(x):
    for _ in range(3):
        x = x * scale
    return x


def called_twice(x):
    return _inner(_inner(x))


def through_the_module(x):
    return x * here.scale + x * scale


def by_its_name(x):
    return x * scale + getattr(here, "scale") * 2


def assigned(x):
    factor = scale
    return x * factor


def captured_again(x):
    return (lambda y: y * scale)(x) if scale else x


def imported(x):
    from tests.compiler.test_following_variables import scale as found

    return x * found + scale


def in_a_class(x):
    class Holder:
        found = scale

    return x * Holder.found


FOLLOWED = [
    multiplied, in_two_functions, differentiated, beside_a_loop, with_a_number, given_to_a_function, in_a_loop, called_twice, through_the_module, assigned, captured_again,
]  # fmt: skip
GUARDED = [by_its_name, imported, in_a_class]


def _captures(function, change, *values):
    compiled = torch.compile(function)
    for k, value in enumerate(values):
        change(value)
        x = torch.linspace(1, 2, 3) + k
        same(compiled(x), function(x))
    assert not compiled._compiled.breaks, str(compiled._compiled.breaks[0])
    return len(compiled._compiled.replays)


def _set_global(value):
    global scale
    scale = value


@pytest.fixture(autouse=True)
def _restored():
    yield
    _set_global(1.5)


@pytest.mark.parametrize("function", FOLLOWED)
def test_followed_globals(function):
    assert _captures(function, _set_global, 1.5, 2.5, 3.5, 0.25, -4.0, 1e30) == 2


@pytest.mark.parametrize("function", GUARDED)
def test_guarded_globals(function):
    assert _captures(function, _set_global, 1.5, 2.5, 3.5, 10.25, 2.5) == 4


def test_a_condition_of_a_global():
    assert _captures(as_a_condition, _set_global, 1.5, 2.5, 3.5, 10.25, 2.5) == 3


def test_the_variable_keeps_its_object():
    compiled = torch.compile(multiplied)
    for value in (1.5, 2.5):
        _set_global(value)
        compiled(torch.ones(3))
        assert scale is value


def test_the_variable_keeps_its_object_after_an_error():
    def fails(x):
        if scale > 2:
            raise KeyError(scale)
        return x * scale

    compiled = torch.compile(fails)
    compiled(torch.ones(3))
    value = 2.5
    _set_global(value)
    with pytest.raises(KeyError):
        compiled(torch.ones(3))
    assert scale is value


def test_another_type_is_another_capture():
    assert _captures(multiplied, _set_global, 1.5, 2.5, 3, 3.5) == 3


def _closing(use):
    """A function over a variable, and what sets it."""
    factor = 1.5

    def change(value):
        nonlocal factor
        factor = value

    if use == "operand":
        return (lambda x: x * factor + factor / x), change
    if use == "nested":
        return (lambda x: (lambda y: y * factor)(x)), change
    return (lambda x: x * factor if factor < 3 else x), change


@pytest.mark.parametrize(("use", "captures"), [("operand", 2), ("nested", 2), ("condition", 3)])
def test_closures(use, captures):
    assert _captures(*_closing(use), 1.5, 2.5, 3.5, 10.25, 2.5) == captures


def _factory(number):
    """A function over a number, and what sets that."""

    def use(x):
        return x * number

    def change(value):
        nonlocal number
        number = value

    return use, change


use_first, change_first = _factory(1)
use_second, change_second = _factory(1)


def test_the_cell_of_a_function_that_is_called():
    """Another function of the same code has an equal number."""
    compiled = torch.compile(lambda x: use_first(x) + 1)
    for k, value in enumerate((1, 2, 3, 4, 2, 1)):
        change_first(value)
        change_second(k // 2)
        assert compiled(torch.ones(1)).item() == value + 1


def test_generators_over_a_global():
    compiled = torch.compile(lambda x: sum(x * scale for _ in range(2)))
    for value in (1.5, 2.5, 3.5, 4.5):
        _set_global(value)
        assert compiled(torch.ones(1)).item() == 2 * value


def test_weight_of_a_loss_is_annealed():
    """One program for all steps; the same losses as without compiling."""

    def train(compile):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        weight = 0.0

        @compile
        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean() + weight * model(x).abs().mean()
            loss.backward()
            optimizer.step()
            return loss

        losses = []
        for k in range(12):
            weight = 0.125 * (k + 1)
            losses.append(step(torch.linspace(-1, 1, 12).reshape(3, 4)).item())
        return losses, step

    compiled, step = train(torch.compile)
    assert compiled == pytest.approx(train(lambda function: function)[0], rel=1e-5)
    assert not step._compiled.breaks, str(step._compiled.breaks[0])
    assert len(step._compiled.replays) <= 3
