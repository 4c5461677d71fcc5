"""Learning rate schedulers against torch's: rates, states, errors, warnings."""

import copy
import math
import warnings

import pytest
import torch as theirs

import pytorchlike as ours

SCHEDULERS = {
    "LambdaLR": lambda L, o: L.LambdaLR(o, lambda e: 0.9**e),
    "LambdaLR, two": lambda L, o: L.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "MultiplicativeLR": lambda L, o: L.MultiplicativeLR(o, lambda e: 0.9),
    "StepLR": lambda L, o: L.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda L, o: L.MultiStepLR(o, [2, 2, 5], gamma=0.5),
    "ConstantLR": lambda L, o: L.ConstantLR(o, factor=0.5, total_iters=4),
    "LinearLR": lambda L, o: L.LinearLR(o),
    "LinearLR, down": lambda L, o: L.LinearLR(o, 1.0, 0.1, 6),
    "ExponentialLR": lambda L, o: L.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda L, o: L.PolynomialLR(o, 6, 2.0),
    "CosineAnnealingLR": lambda L, o: L.CosineAnnealingLR(o, 5, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 2, eta_min=0.01),
    "CyclicLR": lambda L, o: L.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="triangular2"),
    "CyclicLR, exp": lambda L, o: L.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], step_size_up=3, step_size_down=2, mode="exp_range", gamma=0.9),
    "CyclicLR, own": lambda L, o: L.CyclicLR(o, 0.01, 0.1, step_size_up=3, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "OneCycleLR": lambda L, o: L.OneCycleLR(o, 0.1, total_steps=13),
    "OneCycleLR, linear": lambda L, o: L.OneCycleLR(o, [0.1, 0.3], epochs=7, steps_per_epoch=2, anneal_strategy="linear", three_phase=True),
    "SequentialLR": lambda L, o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=3), L.ExponentialLR(o, 0.9), L.ConstantLR(o)], [3, 6]),
    "SequentialLR, cosine": lambda L, o: L.SequentialLR(o, [L.LinearLR(o), L.CosineAnnealingLR(o, 8)], milestones=[4]),
    "ChainedScheduler": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9)]),
}


def optimizer_of(library, name="SGD", **kwargs):
    groups = [{"params": [library.nn.Parameter(library.ones(1))], "lr": 0.1 * (i + 1)} for i in range(2)]
    return getattr(library.optim, name)(groups, **({"momentum": 0.9} if name == "SGD" else {}), **kwargs)


def facts(scheduler):
    """The numbers of all groups, and the state without functions."""
    groups = [{key: value for key, value in group.items() if key != "params"} for group in scheduler.optimizer.param_groups]
    return copy.deepcopy(
        (groups, scheduler.get_last_lr(), {key: value for key, value in scheduler.state_dict().items() if key != "_scale_fn_ref"})
    )


def same(run):
    def outcome(library):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = run(library, library.optim.lr_scheduler)
            except Exception as error:
                result = type(error), str(error)
        return result, [(w.category, str(w.message)) for w in caught]

    mine, wanted = outcome(ours), outcome(theirs)
    assert mine == wanted
    return mine


@pytest.mark.parametrize("base", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_and_states(name, base):
    def run(library, module):
        optimizer = optimizer_of(library, base)
        scheduler = SCHEDULERS[name](module, optimizer)
        seen = [facts(scheduler)]
        for _ in range(12):
            optimizer.step()
            scheduler.step()
            seen.append(facts(scheduler))
        return seen

    seen, caught = same(run)
    assert isinstance(seen, list) and not caught


@pytest.mark.parametrize("name", SCHEDULERS)
def test_training_goes_on_from_a_saved_state(name):
    def run(library, module):
        optimizer = optimizer_of(library)
        scheduler = SCHEDULERS[name](module, optimizer)
        for _ in range(4):
            optimizer.step()
            scheduler.step()
        other = optimizer_of(library)
        resumed = SCHEDULERS[name](module, other)
        resumed.load_state_dict(scheduler.state_dict())
        other.load_state_dict(optimizer.state_dict())
        for _ in range(3):
            other.step()
            resumed.step()
        return facts(resumed)

    same(run)


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR", "LinearLR", "ExponentialLR", "LambdaLR", "PolynomialLR", "ConstantLR"])
def test_last_epoch_of_an_earlier_run(name):
    def run(library, module):
        optimizer = optimizer_of(library)
        for group in optimizer.param_groups:
            group["initial_lr"] = 0.5
        scheduler = {
            "StepLR": lambda: module.StepLR(optimizer, 2, last_epoch=3),
            "CosineAnnealingLR": lambda: module.CosineAnnealingLR(optimizer, 5, last_epoch=2),
            "LinearLR": lambda: module.LinearLR(optimizer, last_epoch=2),
            "ExponentialLR": lambda: module.ExponentialLR(optimizer, 0.5, last_epoch=2),
            "LambdaLR": lambda: module.LambdaLR(optimizer, lambda e: 0.5**e, last_epoch=2),
            "PolynomialLR": lambda: module.PolynomialLR(optimizer, 7, last_epoch=2),
            "ConstantLR": lambda: module.ConstantLR(optimizer, last_epoch=2),
        }[name]()
        optimizer.step()
        scheduler.step()
        return facts(scheduler)

    same(run)


METRICS = [3.0, 2.0, 2.0, 2.0, 2.0, 1.99999, 5.0, 1.0, 1.0, 1.0, 1.0, math.nan, 1.0, 1.0]


@pytest.mark.parametrize("kwargs", [
    {}, {"mode": "max", "patience": 1}, {"patience": 0, "factor": 0.5, "cooldown": 2}, {"patience": 1, "threshold_mode": "abs", "threshold": 0.5},
    {"patience": 1, "min_lr": [0.05, 0.0]}, {"patience": 0, "eps": 0.05},
], ids=str)  # fmt: skip
def test_plateaus(kwargs):
    def run(library, module):
        scheduler = module.ReduceLROnPlateau(optimizer_of(library), **kwargs)
        seen = [facts(scheduler)]
        for metric in METRICS:
            scheduler.step(metric)
            seen.append((facts(scheduler), scheduler.in_cooldown))
        return seen

    same(run)


def adagrad(library):
    return library.optim.Adagrad([library.ones(1)])


ERRORS = [
    lambda library, L, o: L.StepLR(5, 1),
    lambda library, L, o: L.LRScheduler(o),
    lambda library, L, o: L.LambdaLR(o, [lambda e: 1]),
    lambda library, L, o: L.MultiplicativeLR(o, [lambda e: 1]),
    lambda library, L, o: L.StepLR(o, 1, last_epoch=3),
    lambda library, L, o: L.ConstantLR(o, factor=2),
    lambda library, L, o: L.LinearLR(o, start_factor=0),
    lambda library, L, o: L.LinearLR(o, end_factor=2),
    lambda library, L, o: L.SequentialLR(o, [], [1]),
    lambda library, L, o: L.SequentialLR(o, [L.StepLR(o, 1)], [1]),
    lambda library, L, o: L.SequentialLR(o, [L.StepLR(o, 1), L.StepLR(optimizer_of(library), 1)], [1]),
    lambda library, L, o: L.SequentialLR(o, [L.StepLR(o, 1), L.ReduceLROnPlateau(o)], [1]),
    lambda library, L, o: L.SequentialLR(o, [object()], []),
    lambda library, L, o: L.ChainedScheduler([]),
    lambda library, L, o: L.ChainedScheduler([L.StepLR(o, 1), L.StepLR(optimizer_of(library), 1)]),
    lambda library, L, o: L.ReduceLROnPlateau(o, factor=1.0),
    lambda library, L, o: L.ReduceLROnPlateau(5),
    lambda library, L, o: L.ReduceLROnPlateau(o, min_lr=[1]),
    lambda library, L, o: L.ReduceLROnPlateau(o, mode="x"),
    lambda library, L, o: L.ReduceLROnPlateau(o, threshold_mode="x"),
    lambda library, L, o: L.ReduceLROnPlateau(o).step("a"),
    lambda library, L, o: L.CyclicLR(o, [0.1], 0.2),
    lambda library, L, o: L.CyclicLR(o, 0.1, 0.2, mode="x"),
    lambda library, L, o: L.CyclicLR(adagrad(library), 0.1, 0.2),
    lambda library, L, o: L.OneCycleLR(o, 0.1),
    lambda library, L, o: L.OneCycleLR(o, 0.1, total_steps=-1),
    lambda library, L, o: L.OneCycleLR(o, 0.1, total_steps=1.5),
    lambda library, L, o: L.OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=2),
    lambda library, L, o: L.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=-2),
    lambda library, L, o: L.OneCycleLR(o, 0.1, total_steps=10, pct_start=2),
    lambda library, L, o: L.OneCycleLR(o, 0.1, total_steps=10, anneal_strategy="x"),
    lambda library, L, o: L.OneCycleLR(o, [0.1], total_steps=10),
    lambda library, L, o: L.OneCycleLR(adagrad(library), 0.1, total_steps=3),
    lambda library, L, o: L.CosineAnnealingWarmRestarts(o, 0),
    lambda library, L, o: L.CosineAnnealingWarmRestarts(o, 1.5),
    lambda library, L, o: L.CosineAnnealingWarmRestarts(o, 1, T_mult=0),
    lambda library, L, o: L.CosineAnnealingWarmRestarts(o, 1, eta_min="a"),
    lambda library, L, o: L.CosineAnnealingWarmRestarts(o, 1).step(-1),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    assert issubclass(same(lambda library, module: ERRORS[case](library, module, optimizer_of(library)))[0][0], Exception)


def test_too_many_steps_of_one_cycle():
    def run(library, module):
        optimizer = optimizer_of(library)
        scheduler = module.OneCycleLR(optimizer, 0.1, total_steps=2)
        for _ in range(3):
            optimizer.step()
            scheduler.step()

    assert same(run)[0][0] is ValueError


def test_warnings_about_the_order_of_calls_and_epochs():
    def order(library, module):
        scheduler = module.StepLR(optimizer_of(library), 1)
        scheduler.step()
        scheduler.step()

    def overridden(library, module):
        optimizer = optimizer_of(library)
        scheduler = module.StepLR(optimizer, 1)
        optimizer.step = lambda: None
        scheduler.step()

    def epochs(library, module):
        optimizer = optimizer_of(library)
        schedulers = [
            SCHEDULERS[name](module, optimizer) for name in ("StepLR", "MultiStepLR", "LinearLR", "CosineAnnealingLR", "PolynomialLR")
        ]
        optimizer.step()
        seen = []
        for scheduler in schedulers:
            scheduler.step(3)
            seen += [scheduler.get_last_lr(), scheduler.get_lr()]
        return seen

    for run in (order, overridden, epochs):
        assert same(run)[1]


def test_fractions_of_epochs():
    def run(library, module):
        optimizer = optimizer_of(library)
        scheduler = module.CosineAnnealingWarmRestarts(optimizer, 3, 2)
        optimizer.step()
        seen = []
        for epoch in (0.5, 2.5, 3.25, 9.5, 21):
            scheduler.step(epoch)
            seen.append(facts(scheduler))
        return seen

    same(run)


def test_a_tensor_learning_rate_stays_the_same_tensor():
    lr = ours.tensor(0.5)
    optimizer = ours.optim.SGD([ours.nn.Parameter(ours.ones(1))], lr=lr)
    scheduler = ours.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.25
    assert [rate.item() for rate in scheduler.get_last_lr()] == [0.25] and scheduler.base_lrs[0].item() == 0.5


def test_public_names():
    assert set(theirs.optim.lr_scheduler.__all__) <= set(ours.optim.lr_scheduler.__all__)
