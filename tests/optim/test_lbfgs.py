"""L-BFGS against torch's, with and without line search; what it reads and compiles."""

import numpy as np
import pytest
import torch as theirs

import pytorchlike as ours


def valley(library, dtype="float64", **kwargs):
    """Parameters, an optimizer, and a closure over a curved valley."""
    x = library.tensor([[-1.2, 1.0, 0.3], [0.5, -0.4, 0.9]], dtype=getattr(library, dtype)).requires_grad_()
    y = library.tensor([0.7, 0.1], dtype=getattr(library, dtype)).requires_grad_()
    unused = library.zeros(3, dtype=getattr(library, dtype)).requires_grad_()
    optimizer = library.optim.LBFGS([x, unused, y], **kwargs)

    def closure():
        optimizer.zero_grad()
        loss = (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum() + ((y * y - x[:, 0]) ** 2).sum()
        loss.backward()
        return loss

    return (x, unused, y), optimizer, closure


@pytest.mark.parametrize("kwargs", [
    {"lr": 0.001, "max_iter": 5}, {"lr": 0.1, "history_size": 2, "max_iter": 8}, {"line_search_fn": "strong_wolfe", "max_iter": 8},
    {"line_search_fn": "strong_wolfe", "history_size": 3, "max_eval": 9}, {"line_search_fn": "strong_wolfe", "tolerance_grad": 30.0},
], ids=str)  # fmt: skip
def test_steps_and_states(kwargs):
    def run(library):
        params, optimizer, closure = valley(library, **kwargs)
        losses = [optimizer.step(closure).item() for _ in range(3)]
        state = optimizer.state[params[0]]
        return losses, [p.detach().tolist() for p in params], state, optimizer

    mine, wanted = run(ours), run(theirs)
    np.testing.assert_allclose(mine[0], wanted[0], rtol=1e-9)
    for a, b in zip(mine[1], wanted[1]):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    assert repr(mine[3]) == repr(wanted[3]) and sorted(mine[2]) == sorted(wanted[2])
    for key, value in wanted[2].items():
        if isinstance(value, int):
            assert mine[2][key] == value
        elif key in ("old_dirs", "old_stps", "ro"):
            assert len(mine[2][key]) == len(value)
            for a, b in zip(mine[2][key], value):
                np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-6, atol=1e-9)
        elif key in ("d", "prev_flat_grad"):
            np.testing.assert_allclose(mine[2][key].tolist(), value.tolist(), rtol=1e-6, atol=1e-8)


def test_both_executors_find_the_minimum(executor):
    _, optimizer, closure = valley(ours, "float32", line_search_fn="strong_wolfe")
    assert optimizer.step(closure).item() == pytest.approx(175.516, abs=1e-3)
    assert closure().item() < 4


def test_complex_parameters():
    def run(library):
        z = library.tensor([1.0 + 2.0j, -0.5j], requires_grad=True)
        optimizer = library.optim.LBFGS([z], lr=0.5, max_iter=4)

        def closure():
            optimizer.zero_grad()
            loss = ((z - (0.3 + 0.1j)).abs() ** 2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return z.tolist()

    np.testing.assert_allclose(run(ours), run(theirs), rtol=1e-4)


def test_a_state_goes_on_elsewhere():
    params, optimizer, closure = valley(ours, max_iter=3)
    optimizer.step(closure)
    others, resumed, other_closure = valley(ours, max_iter=3)
    for p, q in zip(params, others):
        q.data = p.detach().clone()
    resumed.load_state_dict(optimizer.state_dict())
    optimizer.step(closure)
    resumed.step(other_closure)
    for p, q in zip(params, others):
        np.testing.assert_allclose(p.tolist(), q.tolist(), rtol=1e-13)  # the second may run compiled where the first was interpreted


def test_errors():
    for library in (ours, theirs):
        p, q = (library.nn.Parameter(library.ones(2)) for _ in range(2))
        with pytest.raises(ValueError, match=r"LBFGS doesn't support per-parameter options \(parameter groups\)"):
            library.optim.LBFGS([{"params": [p]}, {"params": [q]}])
        _, optimizer, closure = valley(library, line_search_fn="golden")
        with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
            optimizer.step(closure)


def test_a_growing_history_compiles_few_programs():
    from pytorchlike.graph import counters

    _, optimizer, closure = valley(ours, lr=0.001, max_iter=9)
    optimizer.step(closure)
    before = len(counters.compilations)
    for _ in range(3):
        optimizer.step(closure)
    assert len(counters.compilations) - before <= 4  # histories of up to 16 and 32 steps
