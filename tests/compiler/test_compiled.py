"""What compiled functions do: the same as the functions, with their effects; and what they tell."""

from __future__ import annotations

import copy
import logging
import pickle
import warnings

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.graph import tiers
from pytorchlike.nn import functional as F

from .test_guards import same


def replayed(compiled):
    """The captured call that was used last, which was replayed."""
    inner = compiled._compiled
    assert inner.replays and inner.replays[0].runs, [*map(str, inner.breaks), *inner.misses]
    return inner.replays[0]


# -- training steps ------------------------------------------------------------------------------------------------------------------------


def _model(seed=0):
    torch.manual_seed(seed)
    # No bias before the normalization: its gradient is rounding, which Adam makes a step of full size.
    return nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))


def _plain(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _clipped_with_schedule(model, optimizer):
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)

    def step(x, y):
        optimizer.zero_grad(set_to_none=False)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        schedule.step()
        return {"loss": loss, "norm": norm}

    return step


def _accumulated(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        total = 0
        for part, wanted in zip(x.chunk(2), y.chunk(2)):
            loss = F.mse_loss(model(part), wanted) / 2
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        return total

    return step


def _averaged(model, optimizer):
    average = copy.deepcopy(model)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, p in zip(average.parameters(), model.parameters()):
                mean.mul_(0.9).add_(p, alpha=0.1)
        return loss.detach() + sum(p.sum() for p in average.parameters()).detach()

    return step


def _two_optimizers(model, optimizer):
    other = torch.optim.SGD(model[0].parameters(), lr=0.01, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        other.step()
        optimizer.step()
        return loss.detach()

    return step


def _scaled(model, optimizer):
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step


def _averaged_model(model, optimizer):
    from_start = torch.optim.swa_utils.AveragedModel(model)
    decaying = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        from_start.update_parameters(model)
        decaying.update_parameters(model)
        return torch.cat([p.flatten() for average in (from_start, decaying) for p in average.parameters()]), decaying.n_averaged.clone()

    return step


STEPS = {"plain": _plain, "clipped, with a schedule": _clipped_with_schedule, "accumulated": _accumulated, "averaged": _averaged, "averaged model": _averaged_model,
         "two optimizers": _two_optimizers, "scaled": _scaled}  # fmt: skip
#: Of these a default run takes SGD, of the others AdamW.
QUICK = {"plain", "averaged", "accumulated"}


@tiers.forced(tiers.FULL)  # Adam makes steps of rounding errors in gradients that are zero, so the rounding has to be the same
@pytest.mark.parametrize(("name", "optimizer"), [pytest.param(n, o, marks=[pytest.mark.slow] if (n in QUICK) != (o == "SGD") else []) for n in STEPS for o in ("SGD", "AdamW")])
def test_training_step(name, optimizer):
    found = []
    for wrap in (lambda f: f, torch.compile):
        model = _model()
        made = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05, **({"momentum": 0.9} if optimizer == "SGD" else {}))
        step = wrap(STEPS[name](model, made))
        torch.manual_seed(3)
        outcome = [step(torch.randn(8, 6), torch.randn(8, 1)) for _ in range(7)]
        found.append((outcome, [p.detach() for p in model.state_dict().values()], [p.grad for p in model.parameters()], made.param_groups[0]["lr"]))
    torch.testing.assert_close(found[1], found[0], rtol=2e-5, atol=2e-6)
    assert replayed(step).runs >= 4


@tiers.forced(tiers.FULL)
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW", "RMSprop"])
def test_a_step_whose_gradients_overflow_is_left_out(optimizer):
    found = []
    for wrap in (lambda f: f, torch.compile):
        torch.manual_seed(3)
        model = _model()
        made = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)
        step, outcome = wrap(_scaled(model, made)), []
        for k in range(9):
            step(torch.randn(8, 6) * (float("inf") if k in (0, 5, 7) else 1.0), torch.randn(8, 1))
            outcome.append([p.detach().clone() for p in model.parameters()])
        found.append(outcome)
    torch.testing.assert_close(found[1], found[0], rtol=2e-5, atol=2e-6)
    assert all(torch.equal(a, b) for k in (5, 7) for a, b in zip(found[1][k - 1], found[1][k]))
    assert replayed(step).runs >= 5


def test_second_step_of_the_same_kind_compiles_nothing():
    model = _model()
    optimizer = torch.optim.Adam(model.parameters())
    step = torch.compile(_plain(model, optimizer))
    for _ in range(5):
        step(torch.randn(8, 6), torch.randn(8, 1))
    torch.graph.reset_counters()
    for lr in (0.1, 0.2, 0.3):
        optimizer.param_groups[0]["lr"] = lr
        step(torch.randn(8, 6), torch.randn(8, 1))
    assert "0 programs," in torch.graph.explain() and len(step._compiled.replays) == 2


# -- the tape ------------------------------------------------------------------------------------------------------------------------------


def test_backward_of_a_compiled_forward():
    model = _model()
    compiled = torch.compile(model)
    for k in range(4):
        x = torch.randn(8, 6, requires_grad=True)
        grads = []
        for call in (model, compiled):
            torch.manual_seed(k)
            for p in model.parameters():
                p.grad = None
            x.grad = None
            call(x).square().sum().backward()
            grads.append([x.grad, *[p.grad for p in model.parameters()]])
        torch.testing.assert_close(grads[1], grads[0], rtol=1e-5, atol=1e-6)
    assert compiled._compiled.replays[0].runs


def test_higher_derivatives_and_non_leaves():
    compiled = torch.compile(lambda x, y: (x * y).sin() * x, fullgraph=True)
    for _ in range(3):
        x = torch.randn(3, requires_grad=True)
        y = (x * 2).exp()
        (g,) = torch.autograd.grad(compiled(x, y).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        z = (x * 2).exp()
        (g2,) = torch.autograd.grad(((x * z).sin() * x).sum(), x, create_graph=True)
        (h2,) = torch.autograd.grad(g2.sum(), x)
        torch.testing.assert_close([g, h], [g2, h2], rtol=1e-5, atol=1e-5)
    assert replayed(compiled)


def test_gradient_inside():
    def function(x):
        (g,) = torch.autograd.grad((x**3).sum(), x)
        return g

    compiled = torch.compile(function)
    for _ in range(3):
        x = torch.randn(3, requires_grad=True)
        same(compiled(x), 3 * x.detach() ** 2)
    assert replayed(compiled)


def test_saved_for_backward_is_still_checked():
    compiled = torch.compile(lambda x: x.exp())
    for _ in range(3):
        x = torch.randn(3, requires_grad=True)
        y = compiled(x)
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


# -- results and effects -------------------------------------------------------------------------------------------------------------------


def _twice(x):
    y = x * 2
    return y, y[1:], [y.t() if y.dim() == 2 else y, x], {"x": x, "n": 3, "view": x[:2]}


def test_results_share_memory_as_they_did():
    compiled = torch.compile(_twice)
    for _ in range(3):
        x = torch.arange(4.0)
        whole, part, (again, given), named = compiled(x)
        assert again is whole and given is x and named["x"] is x and named["n"] == 3
        whole[2] = 100
        assert part.tolist() == [2, 100, 6] and part._base is whole
        named["view"].zero_()
        assert x.tolist() == [0, 0, 2, 3]
    assert replayed(compiled)


def _rotated(state, x):
    state["count"] = x.sum()
    state["history"][0].copy_(x)
    x.mul_(2)[0] = -1
    return state["history"][0] + x


def test_writes_into_arguments():
    compiled = torch.compile(_rotated)
    for k in range(4):
        found = []
        for call in (_rotated, compiled):
            state, x = {"history": [torch.zeros(3)]}, torch.arange(3.0) + k
            versions = x._version
            found.append((call(state, x), x, state["history"][0], x._version - versions, state.get("count")))
        torch.testing.assert_close(found[1][:3], found[0][:3])
        assert found[1][3] == found[0][3]


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("total", torch.zeros(3))
        self.last = None

    def forward(self, x):
        y = x * self.weight
        self.total += y.detach()
        self.last = y
        return y + self.total


def test_arguments_that_are_views():
    """What a call reads of a view is nothing that it keeps, also where the result's graph is freed."""
    linear = nn.Linear(4, 1)

    def step(x):
        loss = linear(x).exp().mean()
        loss.backward()
        return loss

    compiled = torch.compile(step)
    for k in range(4):
        base = torch.linspace(-1, 1, 12) + k
        view = base.view(3, 4)
        expected = linear(view.clone()).exp().mean()
        same(compiled(view), expected)
        view[0] = 7.0
        assert base[:4].tolist() == [7.0] * 4 and view[0].tolist() == [7.0] * 4
        same(compiled(view), linear(view.clone()).exp().mean())
    replayed(compiled)


def test_attributes_are_written():
    compiled, plain = torch.compile(Counting()), Counting()
    for _ in range(4):
        x = torch.randn(3)
        same(compiled(x), plain(x))
        same(compiled.last, plain.last)
        same(compiled.total, plain.total)
    assert compiled._compiled.replays[0].runs >= 2


def test_python_counter_is_counted():
    class Counter(nn.Module):
        count = 0

        def forward(self, x):
            self.count += 1
            return x * self.count

    compiled = torch.compile(Counter())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [compiled(torch.ones(1)).item() for _ in range(12)] == list(range(1, 13))
    assert compiled.count == 12


def test_list_outside_grows():
    kept = []

    def function(x):
        kept.append(x * 2)
        return x + 1

    compiled = torch.compile(function)
    for k in range(4):
        compiled(torch.full((2,), float(k)))
    assert [k.tolist() for k in kept] == [[0, 0], [2, 2], [4, 4], [6, 6]]


def test_random_numbers_go_on():
    def function(x):
        return x + torch.rand(3), torch.randn(2), F.dropout(x, 0.5), torch.randint(0, 10, (2,)), torch.empty(2).uniform_()

    compiled = torch.compile(function)
    torch.manual_seed(0)
    expected = [function(torch.ones(3)) for _ in range(4)]
    torch.manual_seed(0)
    found = [compiled(torch.ones(3)) for _ in range(4)]
    torch.testing.assert_close(found, expected)
    assert replayed(compiled)


def test_numpy_memory_is_read_anew():
    array = np.arange(3.0, dtype=np.float32)
    x = torch.from_numpy(array)
    compiled = torch.compile(lambda x: x * 2)
    for k in range(4):
        array[0] = k
        assert compiled(x).tolist() == [2 * k, 2, 4]


# -- what is not captured ------------------------------------------------------------------------------------------------------------------

BREAKS = {
    "item": (lambda x: x * x.sum().item(), "numbers are needed"),
    "branch": (lambda x: x + 1 if x.sum() > 0 else x - 1, "numbers are needed"),
    "print": (lambda x: (print("seen"), x + 1)[1], "print is called"),
    "numpy": (lambda x: torch.from_numpy(np.sin(x.numpy())), "becomes a numpy array"),
    "number of an argument": (lambda x: x + 1 if x[0] > 0 else x - 1, "numbers are needed"),
    "numpy function": (lambda x: x + float(np.array([1.0]).sum()), "array is called"),
    "shape that depends on data": (lambda x: x[x > 0].sum(), "numbers are needed"),
    "disabled function": (lambda x: _disabled(x) + 1, "_disabled is disabled"),
    "seed": (lambda x: (torch.manual_seed(0), x + torch.rand(3))[1], "random generator is set"),
}


@torch.compiler.disable
def _disabled(x):
    return x * 2


@pytest.mark.parametrize("name", BREAKS)
def test_break(name, capsys):
    function, reason = BREAKS[name]
    compiled = torch.compile(function)
    for sign in (1, -1, 1):
        x = torch.arange(1.0, 4.0) * sign
        same(compiled(x), function(x))
    assert not compiled._compiled.replays
    assert reason in str(compiled._compiled.breaks[0]) and __file__ in str(compiled._compiled.breaks[0])
    with pytest.raises(RuntimeError, match=f"cannot be compiled as one graph: .*{reason}"):
        torch.compile(function, fullgraph=True)(torch.ones(3))


def test_an_error_leaves_everything_usable():
    def function(x, y):
        return x * 2 + x @ y

    compiled = torch.compile(function)
    with pytest.raises(RuntimeError, match="size mismatch|must match|inconsistent"):
        compiled(torch.ones(3), torch.ones(4))
    same(compiled(torch.ones(3), torch.ones(3)), torch.ones(3) * 2 + 3)
    assert not torch.compiler.is_compiling()


def _limits_reached(torch_, caplog, **options):
    """For each of two functions: how often it was captured for 13 sizes, then for 13 strings; and torch's warnings."""
    caplog.clear()
    counts = []
    compiled = torch_.compile(lambda x, word: x * len(word), **options)
    with caplog.at_level(logging.WARNING):
        for n in range(2, 15):
            assert compiled(torch_.ones(n), "a").tolist() == [1.0] * n
        counts.append(len(compiled._compiled.replays) if torch_ is torch else None)
        for n in range(2, 15):
            assert compiled(torch_.ones(3), "a" * n).tolist() == [n] * 3
    return counts, [line for line in caplog.text.splitlines() if "hit config" in line]


@pytest.mark.parametrize("dynamic, captured", [(None, 13), (True, 13), (False, 8)])
def test_limit_of_captured_calls(dynamic, captured, caplog):
    counts, told = _limits_reached(torch, caplog, dynamic=dynamic)
    assert counts == [captured]
    real_torch._dynamo.reset()
    with real_torch._dynamo.config.patch(recompile_limit=8):
        _, expected = _limits_reached(real_torch, caplog, dynamic=dynamic, backend="eager")
    assert [line.partition("torch._dynamo hit")[2] for line in told] == [line.partition("torch._dynamo hit")[2] for line in expected] != []


def test_marks_and_settings_of_sizes():
    def captures(mark, **settings):
        compiled = torch.compile(lambda x: x * 2)
        with torch._dynamo.config.patch(recompile_limit=2, **settings):
            for n in range(2, 7):
                x = torch.ones(n, 3)
                mark(x)
                assert compiled(x).tolist() == [[2.0] * 3] * n
        return len(compiled._compiled.replays)

    assert captures(lambda x: None) == 5
    assert captures(lambda x: torch._dynamo.mark_static(x, 0)) == captures(lambda x: torch._dynamo.mark_static(x)) == 2
    assert captures(lambda x: None, automatic_dynamic_shapes=False) == 2
    assert captures(lambda x: torch._dynamo.mark_dynamic(x, [0]), automatic_dynamic_shapes=False) == 5
    assert captures(lambda x: torch._dynamo.maybe_mark_dynamic(x, -2), automatic_dynamic_shapes=False) == 5
    assert captures(lambda x: None, accumulated_recompile_limit=3) == 3


def test_errors_instead_of_another_capture():
    compiled = torch.compile(lambda x: x + 1, fullgraph=True, dynamic=False, recompile_limit=1)
    compiled(torch.ones(2))
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit, match="Hard failure due to fullgraph=True"):
        compiled(torch.ones(3))
    with torch._dynamo.config.patch(error_on_recompile=True), pytest.raises(torch._dynamo.exc.RecompileError, match="another shape"):
        compiled(torch.ones(3))
    assert compiled(torch.ones(2)).tolist() == [2, 2]


# -- the surface ---------------------------------------------------------------------------------------------------------------------------


def test_module_wrapper():
    model = _model()
    compiled = torch.compile(model)
    assert list(compiled.state_dict()) == [f"_orig_mod.{k}" for k in model.state_dict()]
    assert [n for n, _ in compiled.named_parameters()] == [f"_orig_mod.{n}" for n, _ in model.named_parameters()]
    assert len(compiled) == len(model) and len(list(compiled.parameters())) == len(list(model.parameters()))
    compiled.eval()
    assert not model.training and not compiled.training
    compiled.note = 5
    assert model.note == 5
    again = pickle.loads(pickle.dumps(compiled))
    x = torch.randn(2, 6)
    same(again(x), model(x))
    same(copy.deepcopy(compiled)(x), model(x))
    assert isinstance(compiled, nn.Module) and type(compiled).__name__ == "OptimizedModule"


def test_module_compile_in_place():
    model = _model().eval()
    keys = list(model.state_dict())
    x = torch.randn(2, 6)
    expected = model(x)
    model.compile()
    same(model(x), expected)
    same(model(x), expected)
    assert list(model.state_dict()) == keys


def test_decorators_and_options():
    @torch.compile(fullgraph=True, dynamic=False, mode="max-autotune")
    def function(x):
        """Its text."""
        assert torch.compiler.is_compiling()
        return x + 1

    assert function(torch.ones(1)).item() == 2 and function.__doc__ == "Its text."
    assert torch.compile(function, disable=True) is function
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(function, mode="default", options={})
    with pytest.raises(RuntimeError, match="Invalid backend"):
        torch.compile(function, backend="nothing")
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(function, mode="nothing")


def test_nested():
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + 1)
    for _ in range(3):
        assert outer(torch.ones(2)).tolist() == [3, 3]
    assert replayed(outer)


def test_stance():
    calls = []
    compiled = torch.compile(lambda x: x * 2)
    compiled(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(torch.ones(2))
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            compiled(torch.ones(3))
    with torch.compiler.set_stance("force_eager"):
        compiled(torch.ones(5))
    runs = compiled._compiled.replays[0].runs
    with torch.compiler.set_stance("eager_on_recompile"):
        assert compiled(torch.ones(2)).tolist() == [2, 2] and compiled(torch.ones(4)).tolist() == [2] * 4
    assert compiled._compiled.replays[0].runs == runs + 1
    assert len(compiled._compiled.replays) == 1 and not calls


def test_explain_and_logs(caplog):
    from pytorchlike.compiler.logs import set_logs

    compiled = torch.compile(lambda x: x * 2)
    set_logs(recompiles=True, graph_breaks=True)
    try:
        with caplog.at_level(logging.DEBUG, "torch._dynamo"):
            compiled(torch.ones(2))
            compiled(torch.ones(3))
            torch.compile(lambda x: x.sum().item())(torch.ones(2))
    finally:
        set_logs(recompiles=False, graph_breaks=False)
    assert "Recompiling" in caplog.text and "Graph break" in caplog.text and "has another shape" in caplog.text
    found = torch.compiler.explain(compiled)(torch.ones(3))
    assert found.graph_count == 2 and found.graph_break_count == 0 and found.op_count == 2
    assert any("argument 0" in guard for guard in found.guards)
    torch.compiler.reset()
    assert not compiled._compiled.replays


def test_inside_jax_transformations():
    import jax
    import jax.numpy as jnp

    from pytorchlike.interop.jax import functionalize

    model = torch.compile(nn.Linear(3, 2))
    pure, params, buffers = functionalize(model)
    x = jnp.ones((4, 3))
    g = jax.grad(lambda p: pure(p, buffers, x)[0].sum() if isinstance(pure(p, buffers, x), tuple) else pure(p, buffers, x).sum())(params)
    assert all(v.shape == params[k].shape for k, v in g.items())


def test_limit_and_name_of_one_function(caplog):
    compiled = torch.compile(lambda x: x + 1, name="addition", recompile_limit=1, isolate_recompiles=True, dynamic=False)
    for n in (2, 3):
        assert compiled(torch.zeros(n)).tolist() == [1.0] * n
    assert "hit config.recompile_limit (1)\n   function: 'addition'" in caplog.text
    with pytest.raises(NotImplementedError, match="shapes_spec"):
        torch.compile(lambda x: x, shapes_spec=1)


# -- what the call itself makes ------------------------------------------------------------------------------------------------------------


def _own_schedule():
    p = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(2):
        (p * p).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return p.detach(), optimizer.param_groups[0]["lr"]


def _shape_of_an_indexing():
    x, i = torch.zeros(2, 3, 4), torch.tensor([[0, 2]])
    return x[:, i].shape  # the index is checked, though nothing of the trace is a result


MADE_INSIDE = {
    "optimizer and scheduler": _own_schedule,
    "memory from outside": lambda: torch.frombuffer(bytearray(b"\x01\x00\x02\x00"), dtype=torch.int16),
    "leaf that is gone": lambda: torch.ones(2, requires_grad=True).exp() * 2,
    "a check without a result": _shape_of_an_indexing,
}


@pytest.mark.parametrize("name", MADE_INSIDE)
def test_made_by_the_call(name):
    function = MADE_INSIDE[name]
    expected, compiled = function(), torch.compile(function)
    for _ in range(3):
        torch.testing.assert_close(compiled(), expected)
        torch.graph.flush_all()


OTHER_LAYOUTS = {
    "sparse argument": (lambda x: x.to_dense() * 2, lambda: torch.eye(3).to_sparse()),
    "sparse result": (lambda x: x.to_sparse(), lambda: torch.eye(3)),
    "quantized argument": (lambda x: x.dequantize() * 2, lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 10, torch.quint8)),
    "quantized result": (lambda x: torch.quantize_per_tensor(x, 0.1, 10, torch.quint8), lambda: torch.ones(3)),
}


@pytest.mark.parametrize("name", OTHER_LAYOUTS)
def test_tensors_of_other_layouts_are_not_captured(name):
    function, make = OTHER_LAYOUTS[name]
    compiled = torch.compile(function)
    for _ in range(2):
        found, expected = compiled(make()), function(make())
        assert type(found) is type(expected) and str(found) == str(expected)
    assert not compiled._compiled.replays
    adding = torch.compile(lambda x: x + x)
    adding(torch.ones(3, 3))
    if "sparse" in name:
        assert adding(torch.eye(3).to_sparse()).to_dense().tolist() == (torch.eye(3) * 2).tolist()  # guarded by the class


def test_results_of_a_function_that_backward_has_been_through():
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 3

    w = torch.ones(2, requires_grad=True)

    def step(x):
        w.grad = None
        loss = Triple.apply(w * x)
        loss.sum().backward()
        return loss

    compiled = torch.compile(step, fullgraph=True)
    for value in (1.0, 2.0, 3.0):
        loss = compiled(torch.full((2,), value))
        assert loss.tolist() == w.grad.tolist() == [3 * value] * 2
        assert (loss.requires_grad, type(loss.grad_fn).__name__) == (True, "TripleBackward")
    assert replayed(compiled)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.sum().backward()


def test_named_results():
    compiled = torch.compile(lambda x: x.max(0))
    for _ in range(3):
        found = compiled(torch.tensor([1.0, 3.0, 2.0]))
        assert (found.values.item(), found.indices.item(), type(found).__name__) == (3.0, 1, "max")
