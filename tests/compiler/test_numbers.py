"""Floats among the arguments: followed where they are operands of tensors and nothing else, guarded by value everywhere else."""

from __future__ import annotations

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
GUARDED = {
    "condition": lambda x, a: x * a if a < 3 else x + a,
    "arithmetic": lambda x, a: x * (a * 2),
    "call": lambda x, a: _called(x, a),
    "operator with an argument": lambda x, a: torch.clamp(x, max=a),
    "exponent": lambda x, a: x**a,
    "loop": _repeated,
    "function of its own": lambda x, a: (lambda: x * a)(),
    "class of the user's": lambda x, a: Scaled(x) * a,
    "masked by the gradient": _masked,
    "result": lambda x, a: (x * a, a)[0],
    "locals": lambda x, a: x * a + len(str(locals()["a"])),
    "compared with itself": lambda x, a: x * a + (a == 2.5),
}


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


@pytest.mark.parametrize("name", GUARDED)
def test_guarded(name):
    assert _captures(GUARDED[name], 1.5, 2.5, 3.5, 10.25, 2.5) == 4


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
