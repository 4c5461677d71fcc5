"""Averaged models and their learning rate against torch's."""

import copy
import warnings

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours


def model_of(library):
    library.manual_seed(0)
    return library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))


@pytest.mark.parametrize("kind", ["default", "ema", "ema, single", "swa, single", "buffers", "own"])
def test_averages(kind):
    def run(library):
        utils = library.optim.swa_utils
        settings = {
            "default": {}, "ema": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)}, "ema, single": {"avg_fn": utils.get_ema_avg_fn(0.9)},
            "swa, single": {"avg_fn": utils.get_swa_avg_fn()}, "buffers": {"multi_avg_fn": utils.get_ema_multi_avg_fn(), "use_buffers": True},
            "own": {"avg_fn": lambda average, current, count: average + current * count},
        }[kind]  # fmt: skip
        model = model_of(library)
        averaged = utils.AveragedModel(model, **settings)
        for step in range(4):
            with library.no_grad():
                for p in model.parameters():
                    p.add_(step)
            model(library.ones(4, 2) * library.arange(4.0)[:, None])
            averaged.update_parameters(model)
        state = averaged.state_dict()
        return list(state), [v.tolist() for v in state.values()], averaged(library.ones(2, 2)).shape, repr(averaged)

    mine, wanted = run(ours), run(theirs)
    assert mine[0] == wanted[0] and mine[2:] == wanted[2:]
    for a, b in zip(mine[1], wanted[1]):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_update_bn():
    def run(library):
        model = model_of(library).eval()
        batches = [library.arange(8.0).view(4, 2) * k for k in range(1, 4)]
        library.optim.swa_utils.update_bn([(b, None) for b in batches], model)
        library.optim.swa_utils.update_bn(batches, library.nn.Linear(2, 2))
        return model[1].running_mean.tolist(), model[1].running_var.tolist(), model[1].momentum, model.training

    mine, wanted = run(ours), run(theirs)
    np.testing.assert_allclose(mine[0], wanted[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mine[1], wanted[1], rtol=1e-5)
    assert mine[2:] == wanted[2:]


@pytest.mark.parametrize("kwargs", [{}, {"anneal_epochs": 3, "anneal_strategy": "linear"}, {"anneal_epochs": 0}], ids=str)
def test_rates_and_states(kwargs):
    def run(library):
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=0.1)
        scheduler = library.optim.swa_utils.SWALR(optimizer, 0.05, **kwargs)
        seen = []
        for step in range(8):
            optimizer.step()
            scheduler.step()
            if step == 4:
                scheduler.load_state_dict(copy.deepcopy(scheduler.state_dict()))
            seen.append((scheduler.get_last_lr(), {k: v for k, v in scheduler.state_dict().items() if not callable(v)}, dict(optimizer.defaults)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler.get_lr()
        return seen, [str(w.message) for w in caught]

    assert run(ours) == run(theirs)


@pytest.mark.parametrize("case", [
    lambda t, o: t.optim.swa_utils.get_ema_avg_fn(1.5), lambda t, o: t.optim.swa_utils.get_ema_multi_avg_fn(-1),
    lambda t, o: t.optim.swa_utils.SWALR(o, 0.1, anneal_strategy="x"), lambda t, o: t.optim.swa_utils.SWALR(o, 0.1, anneal_epochs=-1),
    lambda t, o: t.optim.swa_utils.SWALR(o, [0.1, 0.2]),
    lambda t, o: t.optim.swa_utils.AveragedModel(t.nn.Linear(1, 1), avg_fn=len, multi_avg_fn=len),
])  # fmt: skip
def test_errors(case):
    def outcome(library):
        try:
            return case(library, library.optim.SGD([library.nn.Parameter(library.ones(1))]))
        except Exception as error:
            return type(error), str(error)

    assert outcome(ours) == outcome(theirs) != None  # noqa: E711
