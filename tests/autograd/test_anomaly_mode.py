"""Anomaly mode: NaN in a derivative, and the forward that an error belongs to; every program runs on torch too."""

from __future__ import annotations

import re

import pytorchlike as ours
from tests.autograd.outcomes import agree, named_programs, outcome
from tests.autograd.programs import collected

PROGRAMS, program = collected()


def leaf(torch, *numbers):
    return torch.tensor(numbers or (0.0, 2.0), requires_grad=True)


def caught(torch, function):
    """The error's text, with the warnings' texts in front, shortened to what concerns this file."""
    import warnings

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            function()
            result = "no error"
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return [_shortened(str(w.message)) for w in found], result


def _shortened(text: str) -> str:
    """The text without the frames of other files."""
    text = re.sub(r" \(Triggered internally at .*\)\s*$", "", text, flags=re.DOTALL)
    head, *frames = re.split(r"(?m)^(?=  File )", text)
    own = [f for f in frames if "test_anomaly_mode.py" in f]
    return head + "".join(re.sub(r"^.*line", "line", f).split("\n    ^")[0].rstrip("\n ^~") + "\n" for f in own[-2:])


@program
def nan_names_the_function(torch):
    def run():
        with torch.autograd.detect_anomaly():
            x = leaf(torch)
            y = x.sqrt()
            (y * 0).sum().backward()

    return caught(torch, run)


@program
def nan_of_the_second_gradient(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x, w = leaf(torch, 1.0, 2.0), leaf(torch, 0.0, 1.0)
            (w.log() * x).mul(0).sum().backward()

    return caught(torch, run)


@program
def nan_is_allowed(torch):
    x = leaf(torch)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        (x.sqrt() * 0).sum().backward()
    return x.grad


@program
def forward_outside(torch):
    y = (leaf(torch).sqrt() * 0).sum()

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y.backward()

    return caught(torch, run)


@program
def an_error_in_a_function(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("no")

    def run():
        with torch.autograd.set_detect_anomaly(True):
            Fails.apply(leaf(torch)).sum().backward()

    return caught(torch, run)


@program
def an_error_in_a_hook(torch):
    def fail(g):
        raise ValueError("no")

    def run(hooked):
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch, 1.0, 2.0)
            y = x.exp()
            (x if hooked == "leaf" else y).register_hook(fail)
            y.sum().backward()

    return [caught(torch, lambda hooked=hooked: run(hooked)) for hooked in ("leaf", "result")]


@program
def a_modified_tensor(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            y = leaf(torch).exp()
            y.add_(1)
            y.sum().backward()

    return caught(torch, run)


@program
def what_induced_it(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            y = x.pow(1.5).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            (g * 0).sqrt().mul(0).sum().backward()

    warnings, result = caught(torch, run)
    return [w.split("\n")[0] for w in warnings], result


@program
def leaves_before_the_nan_have_their_gradient(torch):
    x, w = leaf(torch), leaf(torch, 3.0, 4.0)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            (x.sqrt() * 0 + w * 2).sum().backward()

    return caught(torch, run)[1], x.grad


@program
def switches(torch):
    states = [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        states += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        with torch.autograd.set_detect_anomaly(False):
            states += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        states += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    torch.autograd.set_detect_anomaly(True)
    states.append(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(False)
    torch.set_anomaly_enabled(True, False)
    states.append(torch.is_anomaly_check_nan_enabled())
    torch.set_anomaly_enabled(False)
    return [*states, torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]


@program
def the_mode_warns(torch):
    with torch.autograd.detect_anomaly(check_nan=False):
        return torch.is_anomaly_check_nan_enabled()


@program
def metadata_of_nodes(torch):
    with torch.autograd.set_detect_anomaly(True):
        y = leaf(torch).exp()
        v = (y * 1)[:1]
    return sorted(y.grad_fn.metadata), sorted(v.grad_fn.metadata), "metadata_of_nodes" in y.grad_fn.metadata["traceback_"][-1]


@program
def all_is_well(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp() * x
        y[0].mul(3).backward()
    return x.grad


@named_programs(PROGRAMS)
def test_agrees_with_torch(program) -> None:
    agree(program)


@named_programs([nan_names_the_function, all_is_well])
def test_both_executors(program, executor) -> None:
    agree(program)


def test_the_mode_ends_after_an_error() -> None:
    outcome(nan_of_the_second_gradient, ours)
    assert not ours.is_anomaly_enabled()
    assert not (ours.ones(1).requires_grad_() * 2).grad_fn.metadata
