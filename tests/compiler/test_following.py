"""Numbers among the arguments that change from call to call: followed to what becomes of them, or guarded by their value."""

from __future__ import annotations

import math
import sys

import pytest

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.graph import tiers

from .test_guards import same


class Scaled:
    """Looks at what it is multiplied by."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __mul__(self, factor):
        return self.tensor * factor if factor < 3 else -self.tensor * factor


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, *, gate):
        return self.linear(x) * gate


def _called(x, a):
    return x * a if a < 3 else x


def _trained(x, a):
    w = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad((x * w / a).square().sum(), w)
    return g


def _repeated(x, a):
    for _ in range(3):
        x = x * a
    return x


def _masked(x, a):
    """One use is recorded by the forward and the backward pass, the other is no operator's."""
    w = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad((w * a).sum(), w)
    factor = a * 2
    return x * factor + g


def _in_place(x, a):
    y = x.clone()
    y *= a
    y -= a
    return a / (y + 10)


FOLLOWED = {
    "each operation": lambda x, a: (x * a + a - x / a) - (a - x * 2),
    "in place": _in_place,
    "differentiated inside": _trained,
    "long operands": lambda x, a: a * torch.relu(x.view(3).sum(0, keepdim=True) - x[1]),
}
def _warmed_up(x, a):
    return x * min(1, a / 3)


def _doubled(a):
    return a * 2


def _around(x, a):
    def inner(y):
        return y * a

    return inner(x) + inner(x + 1)


def _unpacked(x, a):
    pair = (a, 2)
    return x * pair[0]


def _caught(x, a):
    try:
        x = x / (1 / (a - 2.5))
    except ZeroDivisionError:
        x = x - 1
    return x * a


def _while(x, a):
    n = 0
    while n < a:
        n += 1
        x = x + a
    return x


#: Function -> how often it is captured for 1.5, 2.5, 3.5, 10.25 and 2.5 again.
OTHERS = {
    "condition": (lambda x, a: x * a if a < 3 else x + a, 3),
    "chained condition": (lambda x, a: x * a if 2 < a < 4 and not a == 3.5 else x + a, 4),
    "arithmetic": (lambda x, a: x * (a * 2), 2),
    "one minus": (lambda x, a: x * (1 - a) + 1 / a, 2),
    "call": (lambda x, a: _called(x, a), 3),
    "function of numbers": (lambda x, a: x * _doubled(a), 2),
    "operator with an argument": (lambda x, a: torch.clamp(x, max=a), 2),
    "method with an argument": (lambda x, a: x.mul(a).lerp(x, a), 2),
    "loop": (_repeated, 2),
    "function of its own": (lambda x, a: (lambda: x * a)(), 2),
    "inner function": (_around, 2),
    "used by the backward pass": (_masked, 2),
    "functions of one number": (lambda x, a: x * abs(-a) + x * math.cos(a) - x / float(a) + int(a) * x, 2),
    "warming up": (_warmed_up, 3),
    "power": (lambda x, a: x * a**2 + x * 0.9**a, 2),
    "while": (_while, 4),
    "exponent of a tensor": (lambda x, a: x**a, 4),
    "class of the user's": (lambda x, a: Scaled(x) * a, 4),
    "result": (lambda x, a: (x * a, a)[0], 4),
    "locals": (lambda x, a: x * a + len(str(locals()["a"])), 4),
    "format": (lambda x, a: x * len(f"{a}"), 4),
    "container": (_unpacked, 4),
    "caught": (_caught, 3),
    "a function's default": (lambda x, a: (lambda y, b=a: y * b)(x), 4),
    "sorted": (lambda x, a: x * sorted([a, 3.0])[0], 4),
    "generator": (lambda x, a: sum(x * a for _ in range(2)), 4),
    "comparison as a number": (lambda x, a: x * (a == 2.5), 4),
    "shape": (lambda x, a: x * a + torch.zeros(int(a) + 1).sum(), 4),
}  # fmt: skip


def _captures(function, *calls):
    """Call a function, compiled, with these floats; results are the function's, and so many calls were captured."""
    compiled = torch.compile(function)
    for k, a in enumerate(calls):
        x = torch.linspace(1, 2, 3) + k
        found, expected = compiled(x, a), function(x, a)
        same(found, expected)
    assert not compiled._compiled.breaks, str(compiled._compiled.breaks[0])
    return len(compiled._compiled.replays)


@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name):
    assert _captures(FOLLOWED[name], 1.5, 2.5, 3.5, 0.25, -4.0, 1e30) == 2


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    function, captures = OTHERS[name]
    assert _captures(function, 1.5, 2.5, 3.5, 10.25, 2.5) == captures


EDGES = [1, 2, 3, 0, -1, 0.0, -0.0, 1.0, True, False, 7, 1 << 40, 1 << 53, 1 << 70, 1.5, math.inf, -math.inf, math.nan, -2.5, 300, 1, -7]
ON_EDGES = {
    "operations": lambda x, n: x * n + n - x / (x + n),
    "quotients": lambda x, n: x * (7 // n) + x * (n % 3) - 5 / n,
    "conditions": lambda x, n: x * n if n else x - n if n == 0 and not n < 0 else -x,
    "smallest": lambda x, n: x * max(n, 0) + min(n, 2) * x,
    "sign": lambda x, n: x * math.atan2(n, -1.0) * n,
    "root": lambda x, n: x * math.sqrt(n),
    "truncated": lambda x, n: x * int(n) + n,
    "integers": lambda x, n: (x * 4).long() * n + n,
    "negative": lambda x, n: x / -n,
}  # fmt: skip


@pytest.mark.parametrize("name", ON_EDGES)
def test_edges(name):
    """Each number gives what it gives without compiling: the value, its type, or the error."""
    function = ON_EDGES[name]
    compiled = torch.compile(function)
    torch._dynamo.config.recompile_limit = 64
    try:
        for n in EDGES * 2:
            found, expected = [_outcome(f, torch.linspace(1, 2, 3), n) for f in (compiled, function)]
            assert type(found) is type(expected), (n, found, expected)
            if isinstance(expected, torch.Tensor):
                assert found.dtype == expected.dtype
                torch.testing.assert_close(found, expected, equal_nan=True)
    finally:
        torch._dynamo.config.recompile_limit = 8


def _outcome(function, x, n):
    try:
        return function(x, n)
    except (ArithmeticError, ValueError, RuntimeError, LookupError) as error:
        return error


def test_two_numbers():
    function = lambda x, a, b: x * (a - b) + x / (a / b) if a != b else x - a
    compiled = torch.compile(function)
    for a, b in [(1, 2), (2, 3), (3, 4), (4, 4), (5, 5), (7, 4), (2, 9), (0, 3)]:
        x = torch.ones(2)
        same(compiled(x, a, b), function(x, a, b))
    assert len(compiled._compiled.replays) == 4
    with pytest.raises(ZeroDivisionError):
        compiled(torch.ones(2), 1, 0)


def test_equal_numbers_that_differ_later():
    function = lambda x, a, b: x * a + torch.clamp(x, a, b) - b
    compiled, number = torch.compile(function), 2.5
    for a, b in [(1.5, 1.5), (number, number), (0.5, 3.5), (1.25, 1.5), (1.0, 1.0)]:
        x = torch.linspace(0, 4, 5)
        same(compiled(x, a, b), function(x, a, b))


def test_returned_numbers():
    compiled = torch.compile(lambda x, a: (x * a, [a, a + 1]))
    for a in (1.5, 2.5, 3.5, 1.5):
        assert compiled(torch.ones(1), a)[1] == [a, a + 1]


def test_dynamic():
    x = torch.ones(2)
    for dynamic, captures in ((None, 2), (True, 1), (False, 4)):
        compiled = torch.compile(lambda x, n: x * n, dynamic=dynamic)
        for n in (3, 4, 5, 6):
            assert compiled(x, n).tolist() == [n, n]
        assert compiled._compiled.captures == captures


def test_method_and_nested_modules():
    class Inner(nn.Module):
        def forward(self, x, t):
            return x * self.embed(t)

        def embed(self, t):
            return 1 - t / 10

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x, t):
            return self.inner(x, t) + self.inner(x, t=t + 1)

    module = Outer()
    compiled = torch.compile(module)
    for t in (1, 2, 3, 10, 0):
        same(compiled(torch.ones(2), t), module(torch.ones(2), t))
    assert compiled._compiled.captures == 2


def test_a_function_around_that_is_called_twice():
    """Its inner function sees another number each time."""

    def outer(x, t):
        return (lambda y: y * t)(x)

    function = lambda x, a: outer(x, a) + outer(x, 3.5)
    compiled = torch.compile(function)
    for a in (1.5, 3.5, 2.5, 4.5):
        same(compiled(torch.ones(2), a), function(torch.ones(2), a))


def test_an_error_of_the_function_leaves_nothing_behind():
    def fails(x, a):
        if a > 2:
            raise KeyError(a)
        return x * a

    before = torch.Tensor.__mul__, sys.gettrace(), sys.getprofile()
    compiled = torch.compile(fails)
    compiled(torch.ones(2), 1.5)
    for a in (2.5, 3.5, 1.25, 2.5, 1.75):
        if a > 2:
            with pytest.raises(KeyError):
                compiled(torch.ones(2), a)
        else:
            assert compiled(torch.ones(2), a).tolist() == [a, a]
    assert (torch.Tensor.__mul__, sys.gettrace(), sys.getprofile()) == before


def _index_caught(x, i):
    try:
        y = x[i]
    except IndexError:
        return x * 0
    return x + y


def _value_caught(x, i):
    try:
        return x * math.sqrt(i)
    except ValueError:
        return -x


def _raised_inside(x, i):
    def checked(n):
        if n > 4:
            raise KeyError(n)
        return n

    try:
        return x * checked(i)
    except KeyError:
        return x - i


def _with_statement(x, i):
    with torch.no_grad():
        y = x * i
    return y * i


def _in_place_chain(x, i):
    y = x.clone()
    y += i
    y[0] *= i
    return y.mul_(i)


def _keywords(x, i):
    def inner(x, *, scale, shift=0):
        return x * scale + shift

    return inner(x, scale=i) + inner(x, shift=i, scale=2)


def _starred(x, i):
    def inner(x, *rest):
        return x * rest[0]

    return inner(x, i) + inner(*(x, i))


def _rebound(x, i):
    y = x * i
    i = 2
    y = y * i
    del i
    return y


def _loop_variable(x, i):
    for i in (i, 3, i):  # noqa: B020
        x = x * i
    return x


def _counted(x, i):
    n = 0
    for k in range(3):
        n = n + i * k
    return x * n


def _shadowed(x, i):
    return x * sum([i + 1 for i in range(3)]) + i


def _nonlocal(x, i):
    def change():
        nonlocal i
        i = i + 1

    change()
    return x * i


def _defined_before(x, i):
    def inner(y):
        return y * t

    t = i + 1
    y = inner(x)
    t = i + 2
    return y + inner(x)


def _recursive(x, i):
    return x if i <= 0 else _recursive(x + i, i - 1)


def _offset(x, i):
    return x * x[i:].storage_offset() + (x * 3)[i : i + 1].storage_offset()


def _view_of_a_view(x, i):
    y = x.view(2, 2)
    return y[i % 2][1] + y[:, i % 2].sum() * y.t()[i % 2, 0]


def _written_views(x, i):
    y = x.clone()
    v = y[i : i + 2]
    v += 1
    v.detach().mul_(2)
    y[i] = y[i + 1]
    return y, v.sum()


def _kept_view(x, i):
    return x[i : i + 2]


def _sorted_by(x, i):
    return x * sorted([3, 1, 2], key=lambda n: abs(n - i))[0]


def _many_places(x, i):
    return x * i + [x, x * 2, x * 3, x * 4][i % 4] + {0: 1, 1: 2}.get(i, 5) * x


def _isinstance(x, i):
    return x * i if isinstance(i, int) and i.bit_length() < 3 else x


def _identity(x, i):
    return x * 2 if i is True or i is None else x * i


def _walrus(x, i):
    return x * n if (n := i * 2) > 4 else x - n


TRICKY = [
    _index_caught, _value_caught, _raised_inside, _with_statement, _in_place_chain, _keywords, _starred, _rebound, _loop_variable, _counted, _shadowed,
    _nonlocal, _defined_before, _recursive, _offset, _view_of_a_view, _written_views, _kept_view, _sorted_by, _many_places, _isinstance, _identity, _walrus,
]  # fmt: skip


@pytest.mark.parametrize("function", TRICKY, ids=lambda f: f.__name__)
def test_tricky(function):
    """Whether the number is followed or not, the results are those without compiling."""
    compiled = torch.compile(function, dynamic=None)
    torch._dynamo.config.recompile_limit = 64
    try:
        for i in (0, 1, 2, 1, 5, 2, 0, 6, 1, 3, -1, -2, 7, 0):
            found, expected = [_outcome(f, torch.linspace(1, 2, 4), i) for f in (compiled, function)]
            assert type(found) is type(expected), (i, found, expected)
            if not isinstance(expected, Exception):
                torch.testing.assert_close(found, expected)
    finally:
        torch._dynamo.config.recompile_limit = 8


def test_under_another_tracer():
    compiled, previous = torch.compile(lambda x, a: x * a), sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        for a in (1.5, 2.5, 3.5):
            assert compiled(torch.ones(2), a).tolist() == [a, a]
    finally:
        sys.settrace(previous)


def test_another_type_is_another_capture():
    assert _captures(FOLLOWED["each operation"], 1.5, 2.5, 3, 3.5) == 3


def test_gradients_use_the_number_of_their_call():
    compiled = torch.compile(lambda x, a: x * a / a * a)
    for a in (1.5, 2.5, 3.5, 4.5):
        x = torch.ones(3, requires_grad=True)
        y = compiled(x, a)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert g.tolist() == pytest.approx([a] * 3) and y.tolist() == pytest.approx([a] * 3)
    assert len(compiled._compiled.replays) == 2


def test_keywords_modules_and_steps():
    module = Gated()
    compiled, x = torch.compile(module), torch.ones(2, 3)
    for gate in (0.5, 1.5, 2.5, 3.5):
        same(compiled(x, gate=gate), module(x, gate=gate))
    assert len(compiled._compiled.replays) == 2
    module.register_forward_hook(lambda module, args, result: result * 2)
    for gate in (0.5, 1.5):
        same(compiled(x, gate=gate), module(x, gate=gate))


@tiers.forced("")  # only what is compiled fully is packed
def test_number_of_a_training_step():
    found = []
    for wrap in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        model = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x, weight, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = model(x).square().mean() * weight
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = wrap(step)
        losses = [run(torch.ones(2, 3), 1.0 + k / 8) for k in range(9)]
        found.append((losses, [p.detach() for p in model.parameters()]))
    torch.testing.assert_close(found[1], found[0])
    assert not run._compiled.breaks, str(run._compiled.breaks[0])
    assert run._compiled.replays[0].runs >= 5 and run._compiled.replays[0].packing is not None
