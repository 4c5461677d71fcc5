"""Exported programs: torch's signatures, the module's results and gradients, and files that need no class."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch as real

import pytorchlike as torch
from pytorchlike.interop.jax import to_jaxpr

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own export warns


def _module(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm, self.plain = t.nn.Linear(2, 3), t.nn.BatchNorm1d(3), t.ones(3)
            self.register_buffer("hidden", t.ones(3), persistent=False)

        def forward(self, x, n, *args, y, flag=None):
            x.mul_(1.0)
            z = self.norm(self.layer(x)).relu() * n + y["k"] + self.plain + t.tensor([1.0, 2, 3]) + self.hidden
            return z, {"a": args[0][0] * 2, "b": None}, 7

    return Net()


def _example(t):
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    return (t.tensor(x.tolist()), 2, [t.ones(2)]), {"y": {"k": t.ones(4, 3)}}


def _pair():
    theirs, ours = _module(real), _module(torch)
    ours.load_state_dict({name: torch.tensor(v.tolist(), dtype=getattr(torch, str(v.dtype)[6:])) for name, v in theirs.state_dict().items()})
    return theirs, ours


def _specs(program):
    """Kinds, names and targets; of results that operators compute, not the operators' names."""
    signature = program.graph_signature
    inputs = sorted(str(s) for s in signature.input_specs)
    return inputs, [(s.kind.name, s.target, getattr(s.arg, "value", "tensor")) for s in signature.output_specs]


def test_signature_results_and_gradients_are_those_of_torch(executor):
    theirs, ours = _pair()
    programs = [t.export.export(m, *_example(t)) for t, m in ((real, theirs), (torch, ours))]
    expected, found = _specs(programs[0].run_decompositions({})), _specs(programs[1].run_decompositions())
    assert found[0] == expected[0] and sorted(map(str, found[1])) == sorted(map(str, expected[1]))
    assert ours.norm.num_batches_tracked == 0 and list(programs[1].state_dict) == list(programs[0].state_dict)
    assert set(programs[1].constants) == set(programs[0].constants)
    results = []
    for t, program, module in ((real, programs[0], theirs), (torch, programs[1], ours)):
        args, kwargs = _example(t)
        run = program.module()
        z, rest, number = run(*args, **kwargs)
        (z * z).sum().backward()
        assert run.layer.weight is module.layer.weight and number == 7 and rest["b"] is None
        results.append([z, rest["a"], module.layer.weight.grad, module.norm.running_mean, module.norm.num_batches_tracked])
    for a, b in zip(*results, strict=True):
        # gradients before a normalization are small differences of numbers of the size of the largest
        scale = max(float(a.detach().abs().max()), 1.0)
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-4, atol=1e-5 * scale)
    assert "torch.ops.aten.linear(mul, p_layer_weight, p_layer_bias)" in str(programs[1])


@pytest.mark.parametrize(
    "call",
    [
        lambda m, args, kwargs: m(args[0][:2], *args[1:], **kwargs), lambda m, args, kwargs: m(args[0], 3, args[2], **kwargs),
        lambda m, args, kwargs: m.eval(), lambda m, args, kwargs: m.train(),
    ],
    ids=["shape", "number", "eval", "train"],
)  # fmt: skip
def test_errors_are_those_of_torch(call):
    messages = []
    for t, module in zip((real, torch), _pair()):
        args, kwargs = _example(t)
        with pytest.raises(Exception) as error:
            call(t.export.export(module, args, kwargs).module(), args, kwargs)
        messages.append((type(error.value), str(error.value)))
    assert messages[0] == messages[1]


def test_what_cannot_be_exported():
    class Looks(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(RuntimeError, match=r"numbers are needed in the middle \(bool\) .*test_export.py"):
        torch.export.export(Looks(), (torch.ones(1),))
    with pytest.raises(ValueError, match="Expected `mod` to be an instance"):
        torch.export.export(lambda x: x, (torch.ones(1),))
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        torch.export.export(torch.nn.ReLU(), (torch.ones(1),))(torch.ones(1))


def test_other_sizes_are_recorded_again():
    model = torch.nn.Linear(2, 3)
    program = torch.export.export(model, (torch.ones(4, 2),), dynamic_shapes={"input": {0: torch.export.Dim("batch", max=10)}})
    x = torch.randn(7, 2)
    torch.testing.assert_close(program.module()(x), model(x))
    with pytest.raises(AssertionError, match=r"Guard failed: input.size\(\)\[0\] <= 10"):
        program.module()(torch.ones(17, 2))
    with pytest.raises(AssertionError, match=r"Guard failed: input.size\(\)\[1\] == 2"):
        program.module()(torch.ones(4, 3))


def test_random_numbers_are_drawn_anew():
    program = torch.export.export(torch.nn.Dropout(0.5), (torch.ones(100),))
    run = program.module()
    first, second = run(torch.ones(100)), run(torch.ones(100))
    assert not torch.equal(first, second) and set(first.tolist()) == {0.0, 2.0}
    with pytest.raises(NotImplementedError, match="random numbers"):
        torch.export.save(program, io.BytesIO())


def test_saved_programs_need_no_class(executor):
    _, ours = _pair()
    args, kwargs = _example(torch)
    program = torch.export.export(ours, args, kwargs)
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"note": "text"})
    expected = program.module()(*args, **kwargs)
    extra = {"note": ""}
    loaded = torch.export.load(file, extra_files=extra)
    assert extra == {"note": "text"} and str(loaded.graph_signature) == str(program.graph_signature)
    run = loaded.module()
    z, rest, number = run(*_example(torch)[0], **kwargs)
    torch.testing.assert_close(z.detach(), expected[0].detach())
    assert rest["b"] is None and number == 7 and run.norm.num_batches_tracked == 1 and isinstance(run.layer.weight, torch.nn.Parameter)
    z.sum().backward()
    assert run.layer.weight.grad is not None
    with pytest.raises(ValueError, match="is not a program that pytorchlike saved"):
        torch.export.load(io.BytesIO(b"nothing"))


def test_programs_as_jaxprs():
    model = torch.nn.Linear(2, 3)
    jaxpr = to_jaxpr(lambda x: model(x).relu() * 2, torch.ones(4, 2))
    assert [v.aval.shape for v in jaxpr.jaxpr.invars] == [(4, 2), (3, 2), (3,), ()] and [v.aval.shape for v in jaxpr.jaxpr.outvars] == [(4, 3)]
    assert "dot_general" in str(jaxpr)
    with pytest.raises(RuntimeError, match="numbers are needed"):
        to_jaxpr(lambda x: x.sum().item(), torch.ones(2))


class Windows(torch.nn.Module):
    """What depends on sizes in many ways: views, constants, means, joined and repeated tensors."""

    def forward(self, x):
        batch, length = x.shape
        mask = torch.tril(torch.ones(length, length))
        pairs = x.view(batch, length // 2, 2).transpose(1, 2).reshape(batch, -1)
        return (x.unsqueeze(1) * mask + torch.arange(length)).sum(2), torch.cat([pairs, x], 1).var(1) / batch, pairs.mean(0, keepdim=True).expand(3, -1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = torch.nn.Embedding(9, 4), torch.nn.LSTM(4, 5, batch_first=True), torch.nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def _floats(*shape):
    return lambda batch, length: torch.randn(*[{"b": batch, "t": length}.get(n, n) for n in shape])


BATCH, LENGTH, HALF = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("length"), torch.export.Dim("half")
DYNAMIC = {
    "linear": (lambda: torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Softmax(-1)), _floats("b", 2), {0: BATCH}),
    "convolution": (
        lambda: torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten()),
        _floats("b", 1, 8, 8), {0: BATCH},
    ),
    "windows": (Windows, _floats("b", "t"), {0: BATCH, 1: 2 * HALF}),
    "recurrent": (Recurrent, lambda batch, length: torch.randint(0, 9, (batch, length)), {0: BATCH, 1: LENGTH}),
    "transformer": (lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), _floats("b", "t", 8), {0: BATCH, 1: torch.export.Dim.AUTO}),
}  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_saved_program_has_all_sizes(name):
    make, example, dims = DYNAMIC[name]
    model = make()
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (example(4, 6),), dynamic_shapes=(dims,)), file)
    again = io.BytesIO()
    torch.export.save(torch.export.load(io.BytesIO(file.getvalue())), again)
    loaded = torch.export.load(io.BytesIO(again.getvalue())).module()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    for batch, length in ((4, 6), (9, 10), (2, 4), (33, 14)):
        x = example(batch, length)
        model.load_state_dict(state)
        loaded.load_state_dict(state)
        expected, found = model(x), loaded(x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(dict(loaded.state_dict()), dict(model.state_dict()), rtol=1e-4, atol=1e-5)
        if parameters := dict(model.named_parameters()):
            wanted = torch.autograd.grad(expected.square().sum(), list(parameters.values()))
            mine = torch.autograd.grad(found.square().sum(), [dict(loaded.named_parameters())[key] for key in parameters])
            # sums over many places, of float32
            torch.testing.assert_close(mine, wanted, rtol=1e-3, atol=1e-3 * max(1.0, *[float(g.abs().max()) for g in wanted]))
    with pytest.raises(AssertionError, match=r"Guard failed: \w+.size\(\)\[0\] <= 64"):
        loaded(example(65, 4))


def test_sizes_that_a_saved_program_cannot_have():
    class Both(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    def exported(first, second):
        return torch.export.export(Both(), (torch.ones(4, 2), torch.ones(4, 2)), dynamic_shapes={"x": {0: first}, "y": {0: second}})

    batch = torch.export.Dim("batch")
    file = io.BytesIO()
    torch.export.save(exported(batch, batch), file)
    for run in (exported(batch, batch).module(), torch.export.load(io.BytesIO(file.getvalue())).module()):
        assert run(torch.ones(7, 2), torch.ones(7, 2)).shape == (7, 2)
        with pytest.raises(AssertionError, match=r"Guard failed: y.size\(\)\[0\] == x.size\(\)\[0\]"):
            run(torch.ones(7, 2), torch.ones(6, 2))


@pytest.mark.parametrize(
    "make, multiple",
    [
        (lambda: torch.nn.AvgPool1d(3), 1), (lambda: torch.nn.MaxPool1d(3, 2, 1), 1), (lambda: torch.nn.Conv1d(3, 2, 3, padding=1), 1),
        (lambda: torch.nn.Sequential(torch.nn.Conv1d(3, 2, 3, stride=2, padding=1), torch.nn.Flatten(1)), 2),
    ],
    ids=["average", "largest", "convolution", "strided"],
)  # fmt: skip
def test_saved_programs_round_as_the_module_does(make, multiple):
    """Quotients of sizes that are rounded are the module's for all remainders."""
    model, D = make(), torch.export.Dim
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (torch.rand(2, 3, 8),), dynamic_shapes=({0: D("batch"), 2: multiple * D("length", min=4)},)), file)
    loaded = torch.export.load(io.BytesIO(file.getvalue())).module()
    for n in range(4, 10):
        x = torch.rand(1, 3, n * multiple)
        torch.testing.assert_close(loaded(x), model(x))


def test_numbers_of_sizes_are_written_as_expressions():
    class Numbers(torch.nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return x / n, x * n**0.5, x / n**0.5, x.var(0), x * (n * n), x * n / 7, x * (n // 3), x + n % 4, (n + 1) // 1

    file = io.BytesIO()
    torch.export.save(torch.export.export(Numbers(), (torch.rand(4, 3),), dynamic_shapes=({0: torch.export.Dim("n")},)), file)
    loaded = torch.export.load(io.BytesIO(file.getvalue())).module()
    for n in (2, 3, 9, 10, 200):
        x = torch.rand(n, 3)
        torch.testing.assert_close(loaded(x), Numbers()(x))
