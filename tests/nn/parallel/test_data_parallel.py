"""A module on two devices of one process gives what it gives on one."""

import collections

import pytest
import torch as theirs

import pytorchlike as ours
from pytorchlike.nn.parallel import data_parallel, gather, replicate, scatter

from ..outcomes import close, plain

TWO = [ours.device("cpu:0"), ours.device("cpu:1")]
pytestmark = pytest.mark.skipif(len(__import__("jax").devices("cpu")) < 2, reason="there is one device")


class Twice(ours.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = ours.nn.Sequential(ours.nn.Linear(3, 2), ours.nn.Tanh())
        self.register_buffer("shift", ours.ones(2))

    def forward(self, x, *, factor=1.0):
        y = self.inner(x) * factor + self.shift
        return {"y": y, "total": y.sum(), "none": None}


def test_results_and_gradients():
    x, found = ours.randn(5, 3), []
    model = Twice()
    for run in (model, ours.nn.DataParallel(model, TWO), lambda x, **kwargs: data_parallel(model, x, TWO, module_kwargs=kwargs)):
        model.zero_grad()
        out = run(x, factor=2.0)
        out["y"].square().sum().backward()
        found.append([out["y"], out["total"].sum(), [p.grad for p in model.parameters()]])
    for each in found[1:]:
        close(plain(each), plain(found[0]), 1e-5)
    assert ours.nn.DataParallel(model, TWO)(x)["total"].shape == (2,)


def test_without_accelerators_the_module_is_called():
    for library in (ours, theirs):
        model = library.nn.DataParallel(library.nn.Linear(2, 2))
        assert model.device_ids == [] and list(model.state_dict()) == ["module.weight", "module.bias"]
        assert model(library.ones(1, 2)).tolist() == model.module(library.ones(1, 2)).tolist()


def test_scatter_and_gather():
    Pair = collections.namedtuple("Pair", "a b")
    x = ours.arange(5.0, requires_grad=True)
    parts = scatter((x, [x, 7], {"k": x}, Pair(x, "s"), "text"), TWO)
    assert len(parts) == 2 and [p[0].tolist() for p in parts] == [[0, 1, 2], [3, 4]] and str(parts[1][0].device) == "cpu:1"
    assert [p[1][1] for p in parts] == [7, 7] and isinstance(parts[0][3], Pair) and parts[0][4] == "text"
    whole = gather([(p[0], p[1][0], p[2], p[3].a, None) for p in parts], TWO[0])
    assert whole[0].tolist() == [0, 1, 2, 3, 4] and whole[2]["k"].tolist() == [0, 1, 2, 3, 4] and whole[4] is None
    (whole[0] * whole[3]).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 6, 8]


def test_replicas_share_what_is_on_their_device():
    model = Twice()
    first, second = replicate(model, TWO)
    assert first.shift is model.shift and str(second.shift.device) == "cpu:1" and not list(second.parameters())
    assert str(second.inner[0].weight.device) == "cpu:1" and second.inner[0].weight.requires_grad
    assert not replicate(model, TWO, detach=True)[1].inner[0].weight.requires_grad


def test_a_module_elsewhere_is_refused():
    model = ours.nn.DataParallel(ours.nn.Linear(2, 2).to("cpu:1"), TWO)
    with pytest.raises(RuntimeError, match=r"module must have its parameters and buffers on device cpu \(device_ids\[0\]\)"):
        model(ours.ones(2, 2))
