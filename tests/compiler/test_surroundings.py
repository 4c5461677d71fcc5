"""What goes on around a captured call: inference mode, profilers, other threads."""

from __future__ import annotations

import cProfile
import pstats
import sys
import threading

import pytest

import pytorchlike as torch
from pytorchlike import nn

INFERENCE = {
    "on_the_tape": lambda x, weight: x * weight,
    "off_the_tape": lambda x, weight: x * 2,
    "asked": lambda x, weight: x * (2 if x.is_inference() else 3),
    "view": lambda x, weight: x[1:],
    "in_place": lambda x, weight: x.add_(1),
    "made_inside": lambda x, weight: torch.inference_mode()(lambda: x * 2)(),
    "left_inside": lambda x, weight: x.clone(),
}


def _seen(function, *args):
    try:
        result = function(*args)
    except RuntimeError as error:
        return str(error)
    return result.tolist(), result.requires_grad, result.is_inference()


@pytest.mark.parametrize("name", INFERENCE)
@pytest.mark.parametrize("is_view", [False, True])
def test_inference_tensors(name, is_view):
    function, weight = INFERENCE[name], torch.ones(3, requires_grad=True)
    compiled = torch.compile(function)
    for made_in, called_in in [(False, False)] * 3 + [(True, False)] * 2 + [(False, False), (True, True), (False, True), (True, True), (False, False)]:
        results = []
        for each in (function, compiled):
            with torch.inference_mode(made_in):
                x = torch.arange(4.0)[1:] if is_view else torch.arange(3.0)
            with torch.inference_mode(called_in):
                results.append(_seen(each, x, weight))
        assert results[0] == results[1], (made_in, called_in)


def test_an_inference_tensor_outside():
    class Held:
        scale = torch.ones(3)

    weight = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: Held.scale * weight * x)
    for _ in range(3):
        assert compiled(torch.ones(3)).requires_grad
    with torch.inference_mode():
        Held.scale = torch.ones(3)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        compiled(torch.ones(3))


def test_a_profiler_goes_on():
    model = nn.Linear(2, 2)
    compiled = torch.compile(lambda x: model(x))

    def afterwards():
        pass

    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(3):
        compiled(torch.ones(2))
    afterwards()
    profiler.disable()
    assert any(name == "afterwards" for _, _, name in pstats.Stats(profiler).stats)
    assert compiled._compiled.replays[0].runs == 2

    seen = []

    def hook(frame, event, argument):
        seen.append(frame.f_code.co_name)

    compiled = torch.compile(lambda x: model(x))
    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        compiled(torch.ones(2))
        afterwards()
        assert sys.getprofile() is hook and "afterwards" in seen
    finally:
        sys.setprofile(before)


def test_a_profiler_inside():
    def function(x):
        profiler = cProfile.Profile()
        profiler.enable()
        try:
            return x * 2
        finally:
            profiler.disable()

    compiled = torch.compile(function)
    for _ in range(3):
        assert compiled(torch.ones(1)).item() == 2
    assert not compiled._compiled.replays


def test_threads_that_capture_at_the_same_time():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.scale = nn.Linear(4, 4), 1.0

        def forward(self, x):
            return self.linear(x) * getattr(self, "scale")

    shared, errors, start = torch.compile(lambda x, k: x * k), [], threading.Barrier(4)

    def run():
        try:
            model = Model()
            compiled = torch.compile(model)
            start.wait()
            for k in range(12):
                model.scale, x = float(k // 4), torch.ones(4) + k
                torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(shared(x, k % 3), x * (k % 3))
        except BaseException as error:
            errors.append(error)

    before = getattr, nn.Module.__getattribute__, nn.Module.__setattr__
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert before == (getattr, nn.Module.__getattribute__, nn.Module.__setattr__)


def test_what_a_call_keeps_of_python_s_functions_works_on():
    kept = {}

    @torch.compile
    def function(x):
        kept["get"] = getattr
        return x * 2

    function(torch.ones(1))
    assert kept["get"](nn, "Linear") is nn.Linear and kept["get"](3, "absent", 5) == 5
