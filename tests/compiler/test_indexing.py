"""Windows whose start is a number that changes: one program for all of them, and the results of views."""

from __future__ import annotations

import pytest

import pytorchlike as torch
from pytorchlike import nn


def column(x, i):
    return x[:, i] * 2


def entry(x, i):
    return x[1, i] * x


def part(x, i):
    return x[:, i : i + 3].sum()


def writes(x, i):
    x[:, i] = x[:, 0] * 5 + i
    return x * 2


def fills(x, i):
    x[..., i] = 7.0
    return x + 1


def writes_a_part(x, i):
    x[:, i : i + 2] = torch.ones(2, 2)
    return x + 0


def adds(x, i):
    x[:, i] += 3
    return x.sum()


def two_views(x, i):
    return x[:, i] * x[:, i + 1]


def diffuses(x, i):
    alpha = x[0, i]
    return x * alpha.sqrt() + (1 - alpha) * x


#: Function -> how often it is captured for 1, 2, 5, 3, 8, 0, -1, -2, -11.
FUNCTIONS = {column: 3, entry: 3, fills: 3, adds: 3, diffuses: 3, writes: 3}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_moving(function):
    assert _captures(function, 1, 2, 5, 3, 8, 0, -1, -2, -11) == FUNCTIONS[function]


@pytest.mark.parametrize("function", [part, writes_a_part, two_views], ids=lambda f: f.__name__)
def test_moving_from_the_front(function):
    assert _captures(function, 1, 2, 5, 3, 8, 0) == 2


def _captures(function, *starts):
    compiled = torch.compile(function)
    for i in starts:
        x, y = torch.arange(24.0).reshape(2, 12), torch.arange(24.0).reshape(2, 12)
        torch.testing.assert_close(compiled(x, i), function(y, i))
        torch.testing.assert_close(x, y)
    assert not compiled._compiled.breaks
    return compiled._compiled.captures


def test_errors_beyond_the_end():
    compiled = torch.compile(column)
    for i in (0, 1, 2, 3):
        compiled(torch.ones(2, 4), i)
    for i in (4, -5, 100):
        with pytest.raises(IndexError, match=f"index {i} is out of bounds for dimension 1 with size 4"):
            compiled(torch.ones(2, 4), i)
    assert compiled(torch.ones(2, 5), 4).tolist() == [2, 2]


def test_results_are_views():
    compiled = torch.compile(lambda x, i: x[i])
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    for i in (0, 1, 2, 1):
        view = compiled(x, i)
        view.add_(1)
        assert view._base is x and type(view.storage_offset()) is int and view.storage_offset() == 2 * i
    assert x.tolist() == [[1, 2], [4, 5], [5, 6]]


def test_gradients():
    compiled, w = torch.compile(lambda w, i: (w[i] * w).sum()), torch.arange(1.0, 5.0, requires_grad=True)
    for i in (0, 1, 2, 3, 1):
        found, expected = torch.autograd.grad(compiled(w, i), w)[0], torch.autograd.grad((w[i] * w).sum(), w)[0]
        torch.testing.assert_close(found, expected)


def test_writing_what_has_a_gradient():
    def function(w, i):
        x = torch.zeros(4)
        view = x[i : i + 1]
        x[i] = w * 2
        return (x * x).sum() + view.sum()

    compiled, w = torch.compile(function), torch.tensor(3.0, requires_grad=True)
    for i in (0, 1, 2, 3, 1):
        assert torch.autograd.grad(compiled(w, i), w)[0].item() == 26


def test_generation_with_a_cache():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = nn.Linear(4, 4)
            self.register_buffer("cache", torch.zeros(2, 16, 4))
            self.position = 0

        def forward(self, x):
            self.cache[:, self.position] = self.keys(x)
            self.position += 1
            mask = torch.arange(16) < self.position
            scores = (self.cache @ x.unsqueeze(-1)).squeeze(-1).masked_fill(~mask, float("-inf"))
            return (scores.softmax(-1).unsqueeze(-1) * self.cache).sum(1)

    with torch.no_grad():
        plain, module = Attention(), Attention()
        module.load_state_dict(plain.state_dict())
        compiled = torch.compile(module)
        for _ in range(12):
            x = torch.randn(2, 4)
            torch.testing.assert_close(compiled(x), plain(x))
            torch.testing.assert_close(module.cache, plain.cache)
    assert module.position == 12 and compiled._compiled.captures == 2


def test_coefficients_of_a_diffusion():
    alphas = torch.linspace(0.9, 0.1, 20)
    model = nn.Linear(3, 3)

    def step(x, t):
        noise = model(x) * (t / 20)
        return (x - (1 - alphas[t]).sqrt() * noise) / alphas[t].sqrt()

    with torch.no_grad():
        compiled, x, y = torch.compile(step), torch.ones(3), torch.ones(3)
        for t in range(19, -1, -1):
            x, y = compiled(x, t), step(y, t)
            torch.testing.assert_close(x, y)
    assert compiled._compiled.captures == 2
