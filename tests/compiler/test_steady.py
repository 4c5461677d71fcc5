"""A step that repeats uses its values and gradients again, unless somebody holds them: whatever happens in between, it does what eager steps do."""

from __future__ import annotations

import weakref

import pytest

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.graph import tiers
from pytorchlike.nn import functional as F

STEPS = 12


@pytest.fixture(autouse=True)
def usual_tiers():
    """What is packed has reached the full tier."""
    with tiers.forced(""):
        yield


class Training:
    """A small training, its step wrapped; the step takes a batch and a scale."""

    def __init__(self, wrap, kind="Adam", dropout=0.0, scheduled=False, width=8):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Dropout(dropout), nn.Linear(width, 3))
        self.optimizer = getattr(torch.optim, kind)(self.model.parameters(), lr=0.05, **({"momentum": 0.9} if kind == "SGD" else {}))
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5) if scheduled else None
        self.step = wrap(self._step)
        self.kept = []

    def _step(self, batch, scale):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(batch["x"]), batch["y"]) * scale
        loss.backward()
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return {"loss": loss.detach(), "scale": scale}

    @property
    def parameters(self):
        return list(self.model.parameters())

    @property
    def replay(self):
        return self.step._compiled.replays[0]


def batch(k):
    torch.manual_seed(100 + k)
    return {"x": torch.randn(6, 5), "y": torch.randint(0, 3, (6,))}


def run(between=lambda training, k: None, scale=lambda k: 1.0, **options):
    """The same training eager and compiled: (what was seen of each, the compiled one)."""
    found = []
    for wrap in (lambda f: f, torch.compile):
        training, seen = Training(wrap, **options), []
        for k in range(STEPS):
            given = batch(k)
            torch.manual_seed(k)
            seen.append([training.step(given, scale(k)), between(training, k)])
        state = training.optimizer.state_dict()["state"]
        found.append([seen, [p.detach() for p in training.parameters], [p.grad for p in training.parameters], state, [p._version for p in training.parameters]])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
    return training


@pytest.mark.parametrize("options", [{}, {"kind": "SGD"}, {"kind": "RMSprop"}, {"scheduled": True}, {"dropout": 0.5}, {"width": 1024, "kind": "SGD"}, {"kind": "AdamW", "scheduled": True, "dropout": 0.3}])
def test_undisturbed(options):
    training = run(**options)
    assert training.replay.steady is not None and training.replay.unsteady == 1
    for k in range(2):
        gradient, value = id(training.parameters[1].grad), id(training.parameters[0]._storage.value)
        training.step(batch(k), 1.0)
    if "width" not in options:  # the objects serve again ...
        assert (id(training.parameters[1].grad), id(training.parameters[0]._storage.value)) == (gradient, value)
    referred = weakref.ref(training.parameters[1].grad)
    training.step(batch(0), 1.0)
    assert referred() is None  # ... but not those that somebody refers to


def test_numbers_that_change():
    run(scale=lambda k: 1.0 + k)
    run(scale=lambda k: 1 + k % 2)
    run(scale=lambda k: 1.0 if k < 8 else True)


def _hold_gradient(training, k):
    training.kept.append(training.parameters[k % 4].grad)
    return [g.sum().item() for g in training.kept]


def _hold_weakly(training, k):
    training.kept.append(weakref.ref(training.parameters[0].grad))
    return sum(r() is not None for r in training.kept)


def _attribute_of_gradient(training, k):
    had = hasattr(training.parameters[0].grad, "seen")
    training.parameters[0].grad.seen = True
    return had


def _alias_of_parameter(training, k):
    training.kept = [p.detach() for p in training.parameters]
    return [p.sum().item() for p in training.kept] if k % 2 else None


def _pending_reader(training, k):
    training.kept.append(training.parameters[0] * 2)
    return training.kept[k // 2].sum().item() if k > 8 else None


def _saved_by_the_tape(training, k):
    x = torch.ones(5, requires_grad=True)
    loss = training.model[0](x).sum()
    training.kept.append(loss)
    return torch.autograd.grad(loss, x)[0]


def _gradient_in_place(training, k):
    training.parameters[0].grad.mul_(2)
    return training.parameters[0].grad


def _gradient_gone(training, k):
    if k % 3 == 2:
        training.parameters[1].grad = None


def _gradient_shared(training, k):
    training.parameters[1].grad = training.parameters[1].grad.clone()
    other = training.parameters[1].grad
    training.parameters[1].grad = other


def _other_data(training, k):
    if k == 7:
        training.parameters[0].data = torch.ones(8, 5)
    if k == 9:
        with torch.no_grad():
            training.parameters[2].fill_(0.25)


def _state(training, k):
    if k == 8:
        training.optimizer.state[training.parameters[0]]["exp_avg"] = torch.zeros(8, 5)
    if k == 10:
        training.optimizer.load_state_dict(training.optimizer.state_dict())


def _frozen(training, k):
    if k == 7:
        training.parameters[1].requires_grad_(False)


def _hooked(training, k):
    if k == 7:
        training.parameters[1].register_hook(lambda g: g * 2)
    if k == 9:
        training.model[1].register_forward_hook(lambda module, args, output: output * 0.5)


def _mode(training, k):
    if k == 7:
        training.model.eval()
    if k == 9:
        training.model[1] = nn.ReLU()


def _rate(training, k):
    training.optimizer.param_groups[0]["lr"] *= 0.9
    if k == 8:
        training.optimizer.param_groups[0]["betas"] = (0.5, 0.9)
    if k == 9:
        training.optimizer.param_groups[0]["weight_decay"] = 0.1


def _numpy(training, k):
    if k == 7:
        training.kept.append(training.parameters[0].detach().numpy())
    if k > 7:
        training.kept[0][0] += 0.125


BETWEEN = {f.__name__[1:]: f for f in (
    _hold_gradient, _hold_weakly, _attribute_of_gradient, _alias_of_parameter, _pending_reader, _saved_by_the_tape, _gradient_in_place, _gradient_gone,
    _gradient_shared, _other_data, _state, _frozen, _hooked, _mode, _rate, _numpy,
)}  # fmt: skip


@pytest.mark.parametrize("name", BETWEEN)
def test_disturbed(name):
    run(BETWEEN[name], dropout=0.25 if name == "mode" else 0.0)


@pytest.mark.parametrize("change", ["loss_raises", "numbers_in_a_mode"])
def test_modes(change):
    training = Training(torch.compile)
    for k in range(8):
        training.step(batch(k), 1.0)
    runs = training.replay.runs
    if change == "loss_raises":
        with pytest.raises(IndexError, match="out of bounds"):
            training.step({"x": torch.ones(6, 5), "y": torch.full((6,), 9)}, 1.0)["loss"].item()
    else:
        with torch.no_grad(), pytest.raises(RuntimeError, match="does not require grad"):
            training.step(batch(0), 1.0)
        assert training.replay.runs == runs
        with torch.autocast("cpu", torch.bfloat16):
            training.step(batch(0), 1.0)
        assert len(training.step._compiled.replays) == 4 - 1  # without gradients, with them, under autocast
