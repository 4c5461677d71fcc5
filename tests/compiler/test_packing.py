"""Replayed training steps whose small state is packed: whatever happens between the steps, they do what eager steps do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.compiler.equal_results import numbered
from pytorchlike.graph import recorder, tiers
from pytorchlike.graph.packed import PackedArrays
from pytorchlike.interop.jax import pure
from pytorchlike.nn import functional as F

STEPS = 12


@pytest.fixture(autouse=True)
def usual_tiers():
    """What is packed has reached the full tier."""
    with tiers.forced(""):
        yield



def _training(wrap, optimizer="Adam", width=8):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 3))
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)

    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        made.step()
        return loss.detach(), y

    return model, made, wrap(step)


def _batch(k):
    torch.manual_seed(k)
    return torch.randn(6, 5), torch.randint(0, 3, (6,))


def _is_packed(tensor):
    storage = tensor._storage
    return type((tensor._value if storage is None else storage.value).trace) is PackedArrays


# What happens after each step; each returns what it saw.
def _nothing(model, optimizer, kept):
    return []


def _read_one(model, optimizer, kept):
    return [model[0].bias.tolist(), model[2].weight.grad.sum().item()]


def _compute(model, optimizer, kept):
    return [sum(p.square().sum() for p in model.parameters()).item()]


def _write_in_place(model, optimizer, kept):
    with torch.no_grad():
        model[0].bias.mul_(0.5)
        model[2].weight[0] = 0.1
    return []


def _load(model, optimizer, kept):
    state = {name: value.clone() for name, value in model.state_dict().items()}
    kept.append(state)
    model.load_state_dict(kept[len(kept) // 2])
    return []


def _keep_gradients(model, optimizer, kept):
    kept.append([p.grad for p in model.parameters()])
    return [g.tolist() for g in kept[len(kept) // 2]]


def _keep_content(model, optimizer, kept):
    kept.append([p.detach().clone() for p in model.parameters()] + [p.data for p in model.parameters()])
    return [g.tolist() for g in kept[len(kept) // 2]]


def _share_with_numpy(model, optimizer, kept):
    kept.append(None)
    if len(kept) < 8:
        return []
    kept.append(model[0].bias.detach().numpy())
    kept[-1][0] += 0.25
    return [kept[-1].tolist()]


def _schedule(model, optimizer, kept):
    optimizer.param_groups[0]["lr"] *= 0.9
    return []


BETWEEN = {f.__name__[1:]: f for f in (
    _nothing, _read_one, _compute, _write_in_place, _load, _keep_gradients, _keep_content, _share_with_numpy, _schedule,
)}  # fmt: skip


#: With a width of 1024 there are parameters that are donated, beside packed ones.
CASES = [*[(name, 8) for name in BETWEEN], ("write_in_place", 1024), pytest.param("keep_content", 1024, marks=pytest.mark.slow)]


@pytest.mark.parametrize("name, width", CASES)
def test_what_happens_between_steps(name, width):
    found = []
    for wrap in (lambda f: f, torch.compile):
        model, optimizer, step = _training(wrap, width=width)
        seen, kept = [], []
        for k in range(STEPS):
            loss, _ = step(*_batch(k))
            seen.append([loss, BETWEEN[name](model, optimizer, kept)])
        found.append((seen, dict(model.named_parameters()), [p.grad for p in model.parameters()], optimizer.state_dict()["state"]))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert step._compiled.replays[0].packing is not None


def test_small_state_stays_packed_and_is_seen_by_others():
    model, optimizer, step = _training(torch.compile, "SGD")
    for k in range(5):
        step(*_batch(k))
    assert all(_is_packed(p) and _is_packed(p.grad) for p in model.parameters())
    predict = torch.compile(model, fullgraph=True)  # reading packed parameters is no look at numbers
    x, _ = _batch(0)
    for _ in range(3):
        torch.testing.assert_close(predict(x), F.linear(F.linear(x, model[0].weight, model[0].bias).tanh(), model[2].weight, model[2].bias))
    assert not _is_packed(model[0].weight)


def test_packed_and_pending_tensors_inside_of_jax():
    model, _, step = _training(torch.compile)
    for k in range(5):
        step(*_batch(k))
    bias, pending = model[2].bias, torch.ones(3) * 2
    assert _is_packed(bias)
    found = jax.jit(pure(lambda x: (x, bias, pending)))(jnp.ones(2))
    assert found[1].tolist() == bias.tolist() and found[2].tolist() == [2, 2, 2]


def test_batches_that_are_pending():
    found = []
    for wrap in (lambda f: f, torch.compile):
        model, _, step = _training(wrap)
        for k in range(STEPS):
            x, y = _batch(k)
            step(x * 2 + 1 if k % 3 else x, y)
        found.append([p.detach() for p in model.parameters()])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_inputs_that_are_always_pending():
    model, _, step = _training(torch.compile)
    for k in range(40):
        x, y = _batch(k)
        step(x if k < 6 else x * 2 + 1, y)
    assert step._compiled.replays[0].runs >= 38 and step._compiled.replays[0].packing is None and not _is_packed(model[0].weight)


def test_large_parameters_are_donated_unless_somebody_holds_their_content():
    model, _, step = _training(torch.compile, "SGD", width=1024)
    for k in range(5):
        step(*_batch(k))
    weight = model[0].weight
    before = weight._storage.value.array
    step(*_batch(5))
    assert before.is_deleted() is False  # this test holds the array
    kept = np.asarray(before).copy()
    step(*_batch(6))
    assert np.array_equal(np.asarray(before), kept)
    value = weight._storage.value
    recorder.materialise(value, "test")
    del before
    step(*_batch(7))
    assert not value.array.is_deleted()  # and now the value


def test_errors_that_depend_on_data():
    model, _, step = _training(torch.compile)
    for k in range(5):
        step(*_batch(k))
    x, y = _batch(9)
    step(x, (y + 0) * 0 + 7)
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        model[0].weight.tolist()


def test_two_models_of_one_kind_share_the_program():
    first = _training(torch.compile)[2]
    second = _training(torch.compile)[2]
    for k in range(6):
        first(*_batch(k))
    torch.graph.reset_counters()
    for k in range(6):
        second(*_batch(k))
    assert "0 programs," in torch.graph.explain()
    assert first._compiled.replays[0].packing.part is second._compiled.replays[0].packing.part


def test_step_counts_are_counted_once_while_they_are_equal():
    found = []
    for wrap in (lambda f: f, torch.compile):
        model, optimizer, step = _training(wrap)
        for k in range(STEPS):
            step(*_batch(k))
            if k == 6 and wrap is torch.compile:
                assert len(step._compiled.replays[0].packing.layout.shared) == len(list(model.parameters()))
            if k == 7:
                optimizer.state[model[0].bias]["step"].fill_(2.0)
        found.append([[p.detach() for p in model.parameters()], [optimizer.state[p]["step"] for p in model.parameters()]])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert step._compiled.replays[0].packing.layout.shared == ()


def test_results_that_are_the_same_computation():
    @jax.jit
    def inner(s, p):
        return s + 1, p * s

    def function(s, t, p, q):
        (a, x), (b, y) = inner(s, p), inner(s, q)
        return a, b, inner(t, p)[0], s + 2, jnp.sin(a), jnp.sin(b), jnp.cos(b), x, y

    a, b, other, two, sine, same_sine, cosine, x, y = numbered(jax.make_jaxpr(function)(1.0, 2.0, jnp.ones(3), jnp.ones(4)))
    assert a == b and sine == same_sine
    assert len({a, other, two, sine, cosine, x, y}) == 7
