"""GradScaler against torch's: scales, steps that are left out, several optimizers, states, errors."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours


def same(run):
    def outcome(library):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run(library)
        return result, [(w.category, str(w.message)) for w in caught]

    mine, wanted = outcome(ours), outcome(theirs)
    assert mine == wanted
    return mine


def setting(library, count=1, **kwargs):
    params = [library.nn.Parameter(library.tensor([1.0, 2.0])) for _ in range(count)]
    optimizers = [library.optim.SGD([p], lr=1.0, momentum=0.5) for p in params]
    return params, optimizers, library.amp.GradScaler("cpu", **{"init_scale": 8.0, "growth_interval": 2, **kwargs})


def test_scales_and_steps(executor):
    def run(library):
        (p,), (optimizer,), scaler = setting(library)
        seen = []
        for factor in (0.5, 0.25, float("inf"), 1.0, float("nan"), 0.5, 0.5, 3e38, 0.5):
            optimizer.zero_grad()
            scaler.scale((p * factor).sum()).backward()
            result = scaler.step(optimizer)
            scaler.update()
            seen.append((result, p.tolist(), scaler.get_scale(), scaler.state_dict()))
        return seen

    same(run)


def test_several_optimizers_and_losses():
    def run(library):
        params, optimizers, scaler = setting(library, 2)
        seen = []
        for factor in (0.5, float("inf"), 0.5):
            losses = [(params[0] * 0.5).sum(), (params[1] * factor).sum()]
            for loss in scaler.scale(losses):
                loss.backward()
            scaler.unscale_(optimizers[0])
            seen.append(library.nn.utils.clip_grad_norm_(params[:1], 0.1).item())
            for optimizer in optimizers:
                scaler.step(optimizer)
                optimizer.zero_grad()
            scaler.update()
            seen.append(([p.tolist() for p in params], scaler.get_scale()))
        return seen

    mine, wanted = run(ours), run(theirs)
    for a, b in zip(mine, wanted, strict=True):
        if isinstance(b, float):
            assert a == pytest.approx(b)
        else:
            np.testing.assert_allclose(a[0], b[0], rtol=1e-6)
            assert a[1] == b[1]


def test_scale_takes_nested_iterables():
    def run(library):
        _, _, scaler = setting(library)
        x = library.tensor(2.0)
        found = scaler.scale((x, [x, (x,)], (t for t in [x])))
        return found[0].item(), found[1][0].item(), found[1][1][0].item(), [t.item() for t in found[2]], type(found[1]).__name__

    same(run)


def test_settings_states_and_copies():
    def run(library):
        (p,), (optimizer,), scaler = setting(library)
        seen = [scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()]
        scaler.set_growth_factor(4.0)
        scaler.set_backoff_factor(0.25)
        scaler.set_growth_interval(1)
        seen.append([scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()])
        scaler.scale(p.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        state = scaler.state_dict()
        others = [library.amp.GradScaler("cpu"), copy.deepcopy(scaler), pickle.loads(pickle.dumps(scaler))]
        others[0].load_state_dict(state)
        others[0].scale(p.sum())
        others[0].load_state_dict({**state, "scale": 3.0})
        scaler.update(5.0)
        seen += [scaler.get_scale(), state, *(o.state_dict() for o in others)]
        scaler.update(library.tensor(6.0))
        return [*seen, scaler.get_scale()]

    same(run)


def test_disabled():
    def run(library):
        (p,), (optimizer,), scaler = setting(library, enabled=False)
        loss = p.sum()
        seen = [scaler.scale(loss) is loss, scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()]
        loss.backward()
        seen.append(scaler.step(optimizer, lambda: 7))
        scaler.unscale_(optimizer)
        scaler.update()
        scaler.load_state_dict({})
        return [*seen, p.tolist(), library.amp.GradScaler().is_enabled(), library.cuda.amp.GradScaler().is_enabled()]

    same(run)


def halves(library):
    p = library.nn.Parameter(library.ones(2, dtype=library.float16))
    return library.optim.SGD([p], lr=1.0), p


def unscaled_twice(library, scaler, optimizer, p):
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def stepped_twice(library, scaler, optimizer, p):
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.step(optimizer)


def unscaled_after_a_step(library, scaler, optimizer, p):
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)


def without_gradients(library, scaler, optimizer, p):
    scaler.scale(p.sum())
    scaler.step(optimizer)


def updated_without_steps(library, scaler, optimizer, p):
    scaler.scale(p.sum())
    scaler.update()


def pickled_within_a_step(library, scaler, optimizer, p):
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    pickle.dumps(scaler)


def half_precision_gradients(library, scaler, optimizer, p):
    optimizer, p = halves(library)
    scaler.scale(p.float().sum()).backward()
    scaler.step(optimizer)


ERRORS = [
    unscaled_twice, stepped_twice, unscaled_after_a_step, without_gradients, updated_without_steps, pickled_within_a_step, half_precision_gradients,
    lambda t, scaler, optimizer, p: scaler.step(optimizer),
    lambda t, scaler, optimizer, p: scaler.unscale_(optimizer),
    lambda t, scaler, optimizer, p: scaler.update(),
    lambda t, scaler, optimizer, p: scaler.step(optimizer, closure=lambda: 1),
    lambda t, scaler, optimizer, p: scaler.scale(3),
    lambda t, scaler, optimizer, p: scaler.load_state_dict({}),
    lambda t, scaler, optimizer, p: [scaler.scale(p.sum()), scaler.update(t.ones(2))],
    lambda t, scaler, optimizer, p: t.amp.GradScaler("cpu", growth_factor=1.0),
    lambda t, scaler, optimizer, p: t.amp.GradScaler("cpu", backoff_factor=1.0),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    def run(library):
        (p,), (optimizer,), scaler = setting(library)
        try:
            ERRORS[case](library, scaler, optimizer, p)
        except Exception as error:
            return type(error), str(error)
        return None

    assert same(run)[0] is not None


def test_optimizers_that_scale_themselves_find_the_scale():
    def run(library):
        class Own(library.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self):
                seen.append((self.grad_scale.item() if self.grad_scale is not None else None, self.found_inf.item()))

        (p,), _, scaler = setting(library)
        optimizer, seen = Own([p], lr=1.0), []
        scaler.scale(p.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        p.grad.fill_(float("inf"))
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        return [*seen, hasattr(optimizer, "found_inf"), p.grad.tolist()]

    same(run)


def test_a_step_reads_one_number():
    from pytorchlike.graph import counters

    (p,), (optimizer,), scaler = setting(ours)

    def step():
        optimizer.zero_grad()
        scaler.scale((p * 2).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    step()
    step()
    step()
    before = len(counters.compilations)
    counters.flushes.clear()
    step()
    assert dict(counters.flushes) == {"item": 1, "optimizer.step": 1} and len(counters.compilations) == before
