"""``functional_call`` and ``stack_module_state``."""

from __future__ import annotations

import pytest

from tests.autograd.outcomes import agree

from .data import rows, vector


def linear(torch, number=0.5):
    made = torch.nn.Linear(4, 3)
    with torch.no_grad():
        made.weight.copy_(rows(torch) * number)
        made.bias.fill_(number)
    return made


def per_sample_gradients(torch):
    model = linear(torch)
    loss = lambda params, x: torch.func.functional_call(model, params, (x,)).relu().sum()
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(dict(model.named_parameters()), rows(torch))


def ensemble(torch):
    models = [linear(torch, k) for k in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    call = lambda p, b, x: torch.func.functional_call(models[0], (p, b), x)
    out = torch.func.vmap(call, (0, 0, None))(params, buffers, rows(torch))
    out.pow(2).sum().backward()
    return out, {name: p.grad for name, p in params.items()}, [p.is_leaf for p in params.values()]


def running_statistics(torch):
    model = torch.nn.BatchNorm1d(4)
    buffers = dict(model.named_buffers())
    out = torch.func.functional_call(model, (dict(model.named_parameters()), buffers), (rows(torch),))
    return out, model.running_mean, buffers["running_mean"], model.num_batches_tracked


def reassigned_buffer(torch):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count = self.count + 1
            return x * self.count

    model, given = Counter(), {"count": torch.ones(1)}
    return torch.func.functional_call(model, given, rows(torch)), given, model.count


def unknown_name(torch):
    model = linear(torch)
    return torch.func.functional_call(model, {"other": vector(torch)}, (rows(torch),)), hasattr(model, "other")


def batch_norm_of_a_batch(torch):
    model = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Tanh()))
    return torch.vmap(model)(torch.stack([rows(torch), 2 * rows(torch)])), model[0].running_mean, model[0].track_running_stats


PROGRAMS = {
    "batch_norm_of_a_batch": batch_norm_of_a_batch,
    "per_sample_gradients": per_sample_gradients,
    "ensemble": ensemble,
    "running_statistics": running_statistics,
    "reassigned_buffer": reassigned_buffer,
    "unknown_name": unknown_name,
    "tied": lambda t: t.func.functional_call(t.nn.Sequential(m := linear(t), t.nn.Linear(3, 4), t.nn.Tanh(), m), {"0.bias": t.ones(3)}, (rows(t),)).shape,
    "no models": lambda t: t.func.stack_module_state([]),
    "other classes": lambda t: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.ReLU()]),
    "other modes": lambda t: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.Linear(1, 1).eval()]),
    "no dictionary": lambda t: t.func.functional_call(t.nn.Linear(1, 1), 3, (rows(t),)),
    "dictionaries and others": lambda t: t.func.functional_call(t.nn.Linear(1, 1), ({}, 3), (rows(t),)),
    "a name twice": lambda t: t.func.functional_call(t.nn.Linear(1, 1), ({"weight": 1}, {"weight": 2}), (rows(t),)),
    "missing": lambda t: t.func.functional_call(linear(t), {"weight": rows(t)}, (rows(t),), strict=True),
    "unexpected": lambda t: t.func.functional_call(linear(t), {"weight": rows(t), "bias": t.zeros(3), "b": rows(t)}, (rows(t),), strict=True),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_torch(name: str) -> None:
    agree(PROGRAMS[name])
