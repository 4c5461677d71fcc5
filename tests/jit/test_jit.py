"""Scripted and traced functions and modules do what the originals do, with torch's faces."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Dict, List, Optional, Tuple  # noqa: UP035 - what `torch.jit.isinstance` is given

import pytest
import torch as real

import pytorchlike as torch
from pytorchlike import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)

    def forward(self, x):
        return self.norm(self.layer(x)).relu()

    @torch.jit.export
    def twice(self, x):
        return self.layer(x) * 2


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(4, 3))], ids=["script", "trace"])
def test_modules_share_all_state_with_the_original(executor, make):
    net = Net().eval()
    made = make(net)
    x = torch.randn(4, 3)
    for _ in range(2):
        torch.testing.assert_close(made(x), net(x))
    assert list(made.state_dict()) == list(net.state_dict()) and list(made.parameters())[0] is net.layer.weight
    made.train()
    assert net.training and net.norm.training and made.training
    made(x).sum().backward()
    assert net.layer.weight.grad is not None and net.norm.num_batches_tracked == 1
    made.eval()
    with torch.no_grad():
        net.layer.weight.zero_()
    torch.testing.assert_close(made(x), net(x))
    torch.testing.assert_close(made.twice(x), net.twice(x))
    other = copy.deepcopy(made)
    assert other.layer.weight is not net.layer.weight and isinstance(other, torch.jit.ScriptModule) and not isinstance(other, Net)
    with pytest.raises(pickle.PickleError, match="Mixed serialization"):
        pickle.dumps(made)


def test_texts_are_those_of_torch():
    layers, theirs = nn.Sequential(nn.Linear(3, 2), nn.ReLU()), real.nn.Sequential(real.nn.Linear(3, 2), real.nn.ReLU())
    assert repr(torch.jit.script(layers)) == repr(real.jit.script(theirs))
    assert repr(torch.jit.trace(layers, torch.ones(1, 3))) == repr(real.jit.trace(theirs, real.ones(1, 3)))


def test_functions_are_captured_once_and_follow_python():
    calls = []

    @torch.jit.script
    def function(x, flag: bool):
        return x.sin() if flag else x * 2

    x = torch.randn(3, requires_grad=True)
    for _ in range(3):
        torch.testing.assert_close(function(x, True), x.sin())
        torch.testing.assert_close(function(x, False), x * 2)
    assert function.compiled.captures == 2 and "mul" in function.graph and "x.sin()" in function.code
    assert torch.autograd.grad(function(x, False).sum(), x)[0].tolist() == [2.0] * 3
    assert torch.jit.script(function) is function and not calls


def test_traced_code_knows_it():
    def function(x):
        return x + 1 if torch.jit.is_tracing() and torch._C._get_tracing_state() is not None else x

    x = torch.zeros(2)
    traced = torch.jit.trace(function, x)
    assert traced(x).tolist() == [1, 1] and traced(torch.zeros(3)).tolist() == [1, 1, 1] and function(x).tolist() == [0, 0]
    module = torch.jit.trace_module(Net().eval(), {"forward": torch.ones(4, 3), "twice": torch.ones(4, 3)})
    assert module.twice(torch.zeros(4, 3)).shape == (4, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.jit.trace(lambda x: {"a": x}, t.ones(2)),
        lambda t: t.jit.trace(lambda x: 3, t.ones(2)),
        lambda t: t.jit.script(3),
        lambda t: t.jit.script(t.nn.Linear),
        lambda t: t.jit.freeze(t.nn.Linear(2, 3)),
        lambda t: t.jit.freeze(t.jit.script(t.nn.Linear(2, 3))),
        lambda t: t.jit.interface(3),
        lambda t: t.jit.isinstance([1], list),
        lambda t: t.jit.isinstance({}, Dict),  # noqa: UP006
    ],
)
def test_errors_are_those_of_torch(call):
    with pytest.raises(Exception) as theirs:
        call(real)
    with pytest.raises(type(theirs.value)) as own:
        call(torch)
    plain = str(own.value).replace("pytorchlike", "torch")  # the classes say where they are from
    assert plain == str(theirs.value)


@pytest.mark.filterwarnings("ignore")
def test_isinstance_looks_into_containers():
    for value in ([1], [], {"a": 1}, (1, 2.0), None, [1.0], 3, [[1]], (1,)):
        for kind in (List[int], Dict[str, int], Tuple[int, float], Optional[int], List[List[int]], (int, float)):  # noqa: UP006, UP045
            assert torch.jit.isinstance(value, kind) == real.jit.isinstance(value, kind), (value, kind)


def test_frozen_modules_are_for_inference():
    net = Net().eval()
    frozen = torch.jit.optimize_for_inference(torch.jit.script(net))
    x = torch.randn(4, 3)
    torch.testing.assert_close(frozen(x), net(x).detach())
    assert not frozen(x).requires_grad and net.layer.weight.requires_grad


def test_futures():
    future = torch.jit.fork(lambda x: x + 1, torch.ones(1))
    assert torch.jit.wait(future).item() == 2 and future.then(lambda f: f.value() * 2).wait().item() == 4
    waiting: torch.jit.Future[int] = torch.jit.Future()
    seen = []
    waiting.add_done_callback(lambda f: seen.append(f.value()))
    assert not waiting.done()
    waiting.set_result(3)
    assert seen == [3] and torch.futures.wait_all([waiting]) == [3]


def test_compiler_names():
    import pytorchlike._dynamo.config as config

    with config.patch(cache_size_limit=3):
        assert torch._dynamo.config.recompile_limit == 3
    assert torch._dynamo.utils.is_compile_supported("cpu") and config.cache_size_limit == 8
    assert isinstance(torch.compile(nn.Linear(1, 1)), torch._dynamo.OptimizedModule)
    torch._inductor.config.max_autotune = False


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(4, 3))], ids=["script", "trace"])
def test_saved_modules_need_no_class(make):
    net = Net()
    made = make(net)
    x = torch.randn(4, 3)
    made(x)
    made.eval()
    expected = made(x)
    file = io.BytesIO()
    torch.jit.save(made, file, _extra_files={"note": "text"})
    extra = {"note": ""}
    loaded = torch.jit.load(file, _extra_files=extra)
    assert repr(loaded) == repr(torch.jit.script(net)) and extra == {"note": b"text"} and not loaded.training
    torch.testing.assert_close(loaded(x), expected)
    assert list(loaded.state_dict()) == list(net.state_dict())
    loaded.train()
    loaded(x).sum().backward()
    assert loaded.layer.weight.grad is not None and loaded.norm.num_batches_tracked == net.norm.num_batches_tracked + 1
    with pytest.raises(NotImplementedError, match=r"the programs that it was saved with"):
        loaded(torch.ones(9, 3))


def test_saved_functions():
    function = torch.jit.script(lambda x, y: x * y + 2)
    file = io.BytesIO()
    with pytest.raises(NotImplementedError, match="has not been called yet"):
        function.save(file)
    function(torch.ones(2), torch.ones(2))
    function.save(file)
    assert torch.jit.load(file)(torch.ones(2), torch.ones(2)).tolist() == [3, 3]
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load("nowhere.pt")
