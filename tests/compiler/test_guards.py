"""A captured call is used again only where it gives what the function would give: each case changes one thing that the function depends on."""

from __future__ import annotations

import dataclasses
import types

import pytest

import pytorchlike as torch
from pytorchlike import nn

FACTOR = 2.0
TABLE = {"scale": 3.0}
NUMBERS = [1.0, 2.0]
helpers = types.ModuleType("helpers")
helpers.OFFSET = 1.0
helpers.shift = lambda x: x + 1


class Settings:
    power = 2

    def __init__(self):
        self.gain = 1.5
        self.nested = {"depth": [1, 2]}


SETTINGS = Settings()


def by_global(x):
    return x * FACTOR


def by_table(x):
    return x * TABLE["scale"] + len(NUMBERS) + sum(NUMBERS)


def by_module(x):
    return helpers.shift(x) * helpers.OFFSET


def by_object(x):
    return (x * SETTINGS.gain) ** SETTINGS.power + SETTINGS.nested["depth"][1]


def called(x):
    return x - FACTOR


def by_called(x):
    return called(x).abs()


def _set_global(name, value):
    globals()[name] = value


@pytest.fixture(autouse=True)
def restored():
    """The module's globals as they were."""
    kept = FACTOR, dict(TABLE), list(NUMBERS), helpers.OFFSET, helpers.shift, called
    yield
    _set_global("FACTOR", kept[0])
    _set_global("called", kept[5])
    TABLE.clear()
    TABLE.update(kept[1])
    NUMBERS[:] = kept[2]
    helpers.OFFSET, helpers.shift = kept[3:5]
    Settings.power = 2
    SETTINGS.__dict__.clear()
    SETTINGS.__init__()


GLOBAL_CASES = {
    "global number": (by_global, lambda: _set_global("FACTOR", 5.0)),
    "global of another type": (by_global, lambda: _set_global("FACTOR", 2)),
    "global in a called function": (by_called, lambda: _set_global("FACTOR", -1.0)),
    "called function itself": (by_called, lambda: _set_global("called", lambda x: x * 7)),
    "entry of a dictionary": (by_table, lambda: TABLE.update(scale=-1.0)),
    "item of a list": (by_table, lambda: NUMBERS.__setitem__(0, 9.0)),
    "length of a list": (by_table, lambda: NUMBERS.append(4.0)),
    "attribute of a module": (by_module, lambda: setattr(helpers, "OFFSET", 4.0)),
    "function of a module": (by_module, lambda: setattr(helpers, "shift", lambda x: x - 5)),
    "attribute of an object": (by_object, lambda: setattr(SETTINGS, "gain", 0.5)),
    "attribute of a class": (by_object, lambda: setattr(Settings, "power", 3)),
    "attribute of an object that hides the class's": (by_object, lambda: setattr(SETTINGS, "power", 1)),
    "nested containers": (by_object, lambda: SETTINGS.nested["depth"].__setitem__(1, 10)),
    "another nested container": (by_object, lambda: SETTINGS.nested.update(depth=[0, 20])),
}


def same(found, expected):
    """Equal to rounding: where a program is cut decides what is fused and compiled how."""
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6, equal_nan=True)
    assert found.requires_grad == expected.requires_grad


def check(function, change, *args, captured=True, after=None):
    """The compiled function follows the change, and is replayed before it."""
    compiled = torch.compile(function)
    for _ in range(3):
        same(compiled(*args), function(*args))
    if captured:
        assert compiled._compiled.replays and compiled._compiled.replays[0].runs, [str(b) for b in compiled._compiled.breaks]
    change()
    args = args if after is None else after
    for _ in range(2):
        same(compiled(*args), function(*args))


@pytest.mark.parametrize("name", GLOBAL_CASES)
def test_globals(name):
    function, change = GLOBAL_CASES[name]
    check(function, change, torch.arange(4.0))


def test_closure():
    factor = 2.0

    def function(x):
        return x * factor

    def change():
        nonlocal factor
        factor = 3.0

    check(function, change, torch.arange(4.0))


def test_defaults():
    held = {"factor": torch.full((4,), 2.0)}

    def function(x, scale=3.0, *, held=held, more=(nn.Linear(4, 4),)):
        return more[0](x * scale + held["factor"])

    check(function, lambda: held.update(factor=torch.full((4,), 5.0)), torch.arange(4.0))
    check(function, lambda: setattr(function, "__defaults__", (7.0,)), torch.arange(4.0))
    check(function, lambda: function.__kwdefaults__.update(more=(nn.Linear(4, 4),)), torch.arange(4.0))
    check(function, lambda: function.__kwdefaults__["more"][0].weight.data.add_(1), torch.arange(4.0))


def test_closure_of_a_called_function():
    def make(scale):
        def inner(x):
            return x * scale

        return inner

    inner = make(2.0)
    check(lambda x: inner(x) + 1, lambda: setattr(inner.__closure__[0], "cell_contents", 5.0), torch.arange(4.0))


@dataclasses.dataclass
class Options:
    flip: bool = False


ARGUMENTS = {
    "number": ((2.0,), (3.0,)),
    "type of a number": ((2.0,), (2,)),
    "string": (("a",), ("bb",)),
    "shape": ((torch.ones(3),), (torch.ones(4),)),
    "dtype": ((torch.ones(3),), (torch.ones(3, dtype=torch.float64),)),
    "requires_grad": ((torch.ones(3),), (torch.ones(3, requires_grad=True),)),
    "list": (([1, 2],), ([1, 3],)),
    "structure": (([1, (2, 3)],), ([1, [2, 3]],)),
    "keys": (({"a": 1},), ({"b": 1},)),
    "order of keys": (({"a": 1, "b": 2},), ({"b": 2, "a": 1},)),
    "object": ((Options(),), (Options(True),)),
    "strides": ((torch.ones(2, 3),), (torch.ones(3, 2).t(),)),
    "none": ((None,), (0,)),
    "negative zero": ((0.0,), (-0.0,)),
}


def of_argument(x, what):
    """Something different for each kind of argument."""
    if isinstance(what, torch.Tensor):
        return x.sum() * what.double() * what.dim() + what.stride(0) + what.requires_grad
    if isinstance(what, Options):
        return -x if what.flip else x
    if what == 0 and isinstance(what, float):
        return x / what
    return x * len(repr(what)) + sum(map(ord, repr(what)))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    before, after = ARGUMENTS[name]
    x = torch.arange(1.0, 4.0)
    check(of_argument, lambda: None, x, *before, after=(x, *after))


def test_attribute_of_an_argument():
    options, x = Options(), torch.arange(3.0)
    check(of_argument, lambda: setattr(options, "flip", True), x, options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.scale = 2.0
        self.layers = [1.0, 2.0]
        self.register_buffer("offset", torch.ones(3))
        self.act = torch.relu

    def forward(self, x):
        x = self.norm(self.linear(x)) * self.scale + self.offset
        for each in self.layers:
            x = x + each
        return self.act(x) if self.training else x


def _hook(module, args, output):
    return output * 10


MODULE_CASES = {
    "training": lambda net: net.train(),
    "training of a part": lambda net: net.norm.train(),
    "number": lambda net: setattr(net, "scale", 5.0),
    "list": lambda net: net.layers.append(7.0),
    "parameter in place": lambda net: net.linear.weight.data.mul_(2),
    "parameter's data": lambda net: setattr(net.linear.weight, "data", torch.ones(3, 3)),
    "another parameter": lambda net: setattr(net.linear, "weight", nn.Parameter(torch.ones(3, 3))),
    "no bias": lambda net: setattr(net.linear, "bias", None),
    "frozen parameter": lambda net: [p.requires_grad_(False) for p in net.parameters()],
    "another buffer": lambda net: setattr(net, "offset", torch.zeros(3)),
    "buffer's dtype": lambda net: setattr(net, "offset", torch.zeros(3, dtype=torch.float64)),
    "another submodule": lambda net: setattr(net, "linear", nn.Linear(3, 3)),
    "submodule of another class": lambda net: setattr(net, "norm", nn.Identity()),
    "hook": lambda net: net.linear.register_forward_hook(_hook),
    "pre-hook": lambda net: net.register_forward_pre_hook(lambda module, args: (args[0] * 3,)),
    "forward of one object": lambda net: setattr(net, "forward", lambda x: x * 100),
    "forward of a part": lambda net: setattr(net.linear, "forward", lambda x: x * 100),
    "activation": lambda net: (setattr(net, "act", torch.tanh), net.train()),
    "dtype": lambda net: net.double(),
    "state": lambda net: net.load_state_dict(Net().state_dict()),
    "momentum": lambda net: (setattr(net.norm, "momentum", 0.5), net.train()),
}


@pytest.mark.parametrize("name", MODULE_CASES)
def test_modules(name):
    net = Net().eval()
    compiled = torch.compile(net)
    x = torch.randn(4, 3)
    for _ in range(3):
        same(compiled(x), net(x))
    inner = compiled._compiled
    assert inner.replays[0].runs == 2, [str(b) for b in inner.breaks]
    MODULE_CASES[name](net)
    x = x.to(net.linear.weight.dtype) if isinstance(net.linear, nn.Linear) else x
    for _ in range(2):
        kept = {k: v.clone() for k, v in net.state_dict().items()}
        expected = net(x)
        state = {k: v.clone() for k, v in net.state_dict().items()}
        net.load_state_dict(kept)
        found = compiled(x)
        same(found, expected)
        for k, v in net.state_dict().items():
            same(v, state[k])


MODES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}


@pytest.mark.parametrize("name", MODES)
def test_modes(name):
    weight = torch.randn(3, 3, requires_grad=True)
    compiled = torch.compile(lambda x: x @ weight)
    x = torch.randn(2, 3)
    for _ in range(3):
        compiled(x)
    for _ in range(2):
        with MODES[name]():
            found, expected = compiled(x), x @ weight
        same(found, expected)
    assert compiled(x).requires_grad and compiled(x).dtype is torch.float32


def test_default_dtype():
    compiled = torch.compile(lambda x: torch.ones(3) + x.sum())
    assert compiled(torch.ones(2)).dtype is compiled(torch.ones(2)).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled(torch.ones(2, dtype=torch.float32)).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("kind", ["same", "view", "apart"])
def test_aliasing_of_arguments(kind):
    def function(x, y):
        x.add_(1)
        return x * y

    def arguments(kind):
        x = torch.arange(4.0)
        return (x, x) if kind == "same" else (x, x[:]) if kind == "view" else (x, torch.ones(4))

    compiled = torch.compile(function)
    for other in ("apart", "same", "view", kind, kind):
        for _ in range(2):
            mine, theirs = arguments(other), arguments(other)
            assert torch.equal(compiled(*mine), function(*theirs))
            assert torch.equal(mine[0], theirs[0]) and torch.equal(mine[1], theirs[1])
