"""Whatever a captured call may depend on is changed, one thing a case: the compiled function gives what the function gives then."""

from __future__ import annotations

import collections
import enum
import functools
import math
import threading
import types
import weakref

import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike import nn
from pytorchlike.nn.modules.module import register_module_forward_hook
from pytorchlike.nn.utils import parametrize
from pytorchlike.overrides import TorchFunctionMode

Namespace = types.SimpleNamespace


class A:
    k = 2.0

    def f(self, x):
        return x * self.k


class B(A):
    def f(self, x):
        return x * 3


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class Triple(Double):
    def forward(self, x):
        return x * 3


class Color(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "a b")


def scaled(x, by=2.0, *, plus=1.0):
    return x * by + plus


def counted(x):
    return x * counted.by


def five(x):
    return x * 5


# Each case makes (function, what changes it).  Names are those of the tests.
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def attribute(value, other, use):
    """A case whose function uses the attribute of an object of a class that C code made."""

    def make():
        held = Namespace(v=value() if callable(value) else value)
        return lambda x: use(x, held.v), lambda: setattr(held, "v", other() if callable(other) else other)

    return make


CASES.update({
    "namespace_number": attribute(2.0, 3.0, lambda x, v: x * v),
    "namespace_text": attribute("relu", "gelu", lambda x, v: getattr(nn.functional, v)(x - 2)),
    "namespace_enum": attribute(Color.RED, Color.BLUE, lambda x, v: x * v.value),
    "namespace_named_tuple": attribute(Pair(1.0, 2.0), Pair(1.0, 3.0), lambda x, v: x * v.b),
    "namespace_numpy_number": attribute(np.float32(2), np.float32(3), lambda x, v: x * float(v)),
    "kind_of_sequence": attribute([1.0], lambda: (1.0,), lambda x, v: x * (2 if isinstance(v, tuple) else 1)),
    "one_is_not_true": attribute(1, True, lambda x, v: x * (2 if v is True else 3)),
})  # fmt: skip


@case
def namespace_gets_an_attribute():
    held = Namespace()
    return lambda x: x * (3.0 if hasattr(held, "v") else 1.0), lambda: setattr(held, "v", 1)


@case
def all_attributes():
    held = A()
    held.first = 2.0
    return lambda x: x * sum(vars(held).values()), lambda: setattr(held, "second", 5.0)


@case
def attribute_through_getattr():
    class Dynamic:
        def __getattr__(self, name):
            return self.__dict__["table"][name]

    held = Dynamic()
    held.__dict__["table"] = {"k": 2.0}
    return lambda x: x * held.k, lambda: held.table.update(k=3.0)


@case
def thread_local():
    held = threading.local()
    held.k = 2.0
    return lambda x: x * held.k, lambda: setattr(held, "k", 3.0)


@case
def slots():
    class Slotted:
        __slots__ = ("k",)

    held = Slotted()
    held.k = 2.0
    return lambda x: x * held.k, lambda: setattr(held, "k", 3.0)


@case
def order_of_dictionary():
    table = {"a": 1.0, "b": 2.0}

    def function(x):
        for v in table.values():
            x = x * v + 1
        return x

    return function, lambda: table.update(a=table.pop("a"))


@case
def order_of_list():
    held = [torch.ones(4), torch.zeros(4)]

    def function(x):
        for v in held:
            x = x * 2 + v
        return x

    return function, held.reverse


@case
def order_of_modules():
    model = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
    return lambda x: model(x - 2) - 2, lambda: model._modules.update({"0": model._modules.pop("0")})


@case
def rotated_deque():
    held = collections.deque([1.0, 2.0])
    return lambda x: x * held[0], lambda: held.rotate(1)


@case
def members_of_set():
    held = {1, 2}
    return lambda x: x * (2.0 if 3 in held else 1.0), lambda: (held.discard(1), held.add(3))


@case
def entry_of_large_table():
    table = {k: float(k) for k in range(5000)}
    return lambda x: x * table[3], lambda: table.update({3: 50.0})


@case
def item_of_large_list():
    table = [float(k) for k in range(400)]
    return lambda x: x * table[3], lambda: table.__setitem__(3, 50.0)


@case
def class_of_object():
    held = A()
    return lambda x: held.f(x), lambda: setattr(held, "__class__", B)


@case
def class_that_is_only_asked_for():
    held = A()
    return lambda x: x * 2 if isinstance(held, B) else x, lambda: setattr(held, "__class__", B)


@case
def class_of_module():
    model = Double()
    return lambda x: model(x), lambda: setattr(model, "__class__", Triple)


@case
def class_of_submodule():
    model = nn.Sequential(Double())
    return lambda x: model(x), lambda: setattr(model[0], "__class__", Triple)


@case
def attribute_of_class():
    class Held:
        k = 2.0

    return lambda x: x * Held.k, lambda: setattr(Held, "k", 3.0)


@case
def attribute_through_type():
    class Model(nn.Module):
        k = 2.0

        def forward(self, x):
            return x * type(self).k

    model = Model()
    return lambda x: model(x), lambda: setattr(Model, "k", 3.0)


@case
def method_through_super():
    class Base:
        def go(self, x):
            return x * 2

    class Derived(Base):
        def go(self, x):
            return super().go(x) + 1

    held = Derived()
    return lambda x: held.go(x), lambda: setattr(Base, "go", lambda self, x: x * 50)


@case
def static_method():
    class Held:
        @staticmethod
        def f(x):
            return x * 2

    return lambda x: Held.f(x), lambda: setattr(Held, "f", staticmethod(five))


@case
def forward_of_class():
    class Model(nn.Module):
        def forward(self, x):
            return x * 2

    model = Model()
    return lambda x: model(x), lambda: setattr(Model, "forward", lambda self, x: x - 1)


@case
def property_of_object():
    class Held:
        def __init__(self):
            self._k = 2.0

        @property
        def k(self):
            return self._k * 2

    held = Held()
    return lambda x: x * held.k, lambda: setattr(held, "_k", 3.0)


@case
def default_of_called_function():
    return lambda x: scaled(x), lambda: setattr(scaled, "__defaults__", (5.0,))


@case
def keyword_default_of_called_function():
    return lambda x: scaled(x), lambda: scaled.__kwdefaults__.update(plus=7.0)


@case
def attribute_of_function():
    return lambda x: counted(x), lambda: setattr(counted, "by", 5.0)


@case
def code_of_called_function():
    def called(x):
        return x * 2

    return lambda x: called(x), lambda: setattr(called, "__code__", five.__code__)


@case
def own_code():
    def function(x):
        return x * 2

    return function, lambda: setattr(function, "__code__", five.__code__)


@case
def keywords_of_partial():
    held = functools.partial(scaled, by=3.0)
    return lambda x: held(x), lambda: held.keywords.update(by=9.0)


@case
def object_of_bound_method():
    held = A()
    method = held.f
    return lambda x: method(x), lambda: setattr(held, "k", 4.0)


@case
def referent_of_weak_reference():
    held = A()
    reference = weakref.ref(held)
    return lambda x, held=held: x * reference().k, lambda: setattr(held, "k", 4.0)


@case
def module_in_closure():
    mathematics = types.ModuleType("mathematics")
    mathematics.constant = math.pi
    return lambda x: x * mathematics.constant, lambda: setattr(mathematics, "constant", 3.0)


@case
def removed_hook():
    model = nn.Linear(4, 4)
    handle = model.register_forward_hook(lambda module, args, output: output * 2)
    return lambda x: model(x), handle.remove


@case
def other_hook():
    model = nn.Linear(4, 4)
    handle = model.register_forward_hook(lambda module, args, output: output * 2)
    return lambda x: model(x), lambda: (handle.remove(), model.register_forward_hook(lambda module, args, output: output * 3))


def _gradient(parameter):
    def function(x):
        parameter.grad = None
        (parameter * x).sum().backward()
        return parameter.grad.clone()

    return function


@case
def removed_hook_of_tensor():
    parameter = nn.Parameter(torch.ones(4))
    handle = parameter.register_hook(lambda g: g * 2)
    return _gradient(parameter), handle.remove


@case
def other_hook_of_tensor():
    parameter = nn.Parameter(torch.ones(4))
    handle = parameter.register_hook(lambda g: g * 2)
    return _gradient(parameter), lambda: (handle.remove(), parameter.register_hook(lambda g: g * 5))


@case
def hook_after_accumulation():
    parameter = nn.Parameter(torch.ones(4))

    def triple(p):
        p.grad.mul_(3)

    return _gradient(parameter), lambda: parameter.register_post_accumulate_grad_hook(triple)


@case
def attribute_of_tensor():
    held = torch.ones(4)
    held.k = 2.0
    return lambda x: x * held * held.k, lambda: setattr(held, "k", 5.0)


@case
def data_of_parameter():
    held = nn.Parameter(torch.ones(4))
    return lambda x: x * held, lambda: setattr(held, "data", torch.ones(4) * 5)


@case
def swapped_tensors():
    held, other = torch.ones(4), torch.ones(4) * 6
    return lambda x: x * held, lambda: torch.utils.swap_tensors(held, other)


@case
def parametrization():
    model = nn.Linear(4, 4)
    return lambda x: model(x), lambda: parametrize.register_parametrization(model, "weight", Double())


@case
def buffer_that_was_none():
    model = nn.Module()
    model.register_buffer("b", None)
    return lambda x: x if model.b is None else x * model.b, lambda: setattr(model, "b", torch.ones(4) * 3)


@case
def flag_of_optimizer():
    parameter = nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([parameter], lr=0.1)

    def function(x):
        with torch.no_grad():
            parameter.fill_(1.0)
        optimizer.zero_grad()
        (parameter * x).sum().backward()
        optimizer.step()
        return parameter.detach().clone()

    return function, lambda: optimizer.param_groups[0].update(maximize=True)


@case
def parameter_group():
    first, second = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([first], lr=0.1)

    def function(x):
        with torch.no_grad():
            first.fill_(1.0)
            second.fill_(1.0)
        optimizer.zero_grad()
        (first * second * x).sum().backward()
        optimizer.step()
        return torch.stack([first.detach(), second.detach()])

    return function, lambda: optimizer.add_param_group({"params": [second]})


@pytest.fixture(autouse=True)
def restored():
    """What cases change in this module and in the process, as it was."""
    scaled.__defaults__, scaled.__kwdefaults__, counted.by = (2.0,), {"plus": 1.0}, 2.0
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.benchmark = False


def same(compiled, function, *args):
    torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", CASES)
def test_change(name):
    function, change = CASES[name]()
    compiled, x = torch.compile(function), torch.arange(1.0, 5.0)
    for _ in range(3):
        same(compiled, function, x)
    assert compiled._compiled.replays and compiled._compiled.replays[0].runs, [str(b) for b in compiled._compiled.breaks]
    change()
    for _ in range(2):
        same(compiled, function, x)


SETTINGS = {
    "deterministic": (torch.are_deterministic_algorithms_enabled, lambda: torch.use_deterministic_algorithms(True)),
    "debug_mode": (torch.get_deterministic_debug_mode, lambda: torch.set_deterministic_debug_mode(1)),
    "precision": (torch.get_float32_matmul_precision, lambda: torch.set_float32_matmul_precision("medium")),
    "switch": (lambda: torch.backends.cudnn.benchmark, lambda: setattr(torch.backends.cudnn, "benchmark", True)),
    "seed": (torch.initial_seed, lambda: torch.manual_seed(12)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_process(name):
    tell, change = SETTINGS[name]
    before = tell()

    def function(x):
        return x * (2 if tell() == before else 3)

    compiled, x = torch.compile(function), torch.ones(2)
    for _ in range(3):
        same(compiled, function, x)
    change()
    same(compiled, function, x)
    assert compiled(x).tolist() == [3, 3]


def test_device():
    compiled = torch.compile(lambda x: torch.ones(2) + x.mean())
    for _ in range(3):
        assert compiled(torch.ones(4)).device.type == "cpu"
    assert torch.compile(lambda x: x + 1)(torch.ones(4, device="meta")).device.type == "meta"
    torch.set_default_device("meta")
    try:
        assert compiled(torch.ones(4, device="meta")).device.type == "meta"
    finally:
        torch.set_default_device(None)


def test_dtype_of_autocast():
    weight = torch.ones(4, 4)
    compiled, x = torch.compile(lambda x: x @ weight), torch.ones(4)
    for dtype in (torch.bfloat16, torch.bfloat16, torch.float16, torch.bfloat16):
        with torch.autocast("cpu", dtype):
            assert compiled(x).dtype is dtype
    with torch.autocast("cpu", enabled=False):
        assert compiled(x).dtype is torch.float32


def test_hooks_on_all_modules():
    model, x = nn.Linear(4, 4), torch.ones(4)
    compiled = torch.compile(lambda x: model(x))
    handles = [register_module_forward_hook(lambda module, args, output: output * 2)]
    try:
        for _ in range(3):
            same(compiled, model, x)
        handles.pop().remove()
        handles.append(register_module_forward_hook(lambda module, args, output: output * 3))
        same(compiled, model, x)
    finally:
        handles.pop().remove()
    same(compiled, model, x)


class Scaling(TorchFunctionMode):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * self.factor if getattr(func, "__name__", "") == "sin" else result


def test_modes():
    compiled, x, mode = torch.compile(lambda x: torch.sin(x)), torch.ones(4), Scaling(2.0)
    for k in (2.0, 2.0, 2.0, 5.0):
        mode.factor = k
        with mode:
            found = compiled(x)
        torch.testing.assert_close(found, torch.sin(x) * k)
    with Scaling(3.0):
        found = compiled(x)
    torch.testing.assert_close(found, torch.sin(x) * 3)


def test_hooks_on_saved_tensors():
    weight = torch.ones(4, requires_grad=True)
    compiled = torch.compile(lambda x: weight * weight * x)
    for k in (1.0, 1.0, 1.0, 2.0):
        gradients = []
        for function in (compiled, lambda x: weight * weight * x):
            weight.grad = None
            with torch.autograd.graph.saved_tensors_hooks(lambda t, k=k: t * k, lambda t: t):
                result = function(torch.ones(4))
            result.sum().backward()
            gradients.append(weight.grad)
        torch.testing.assert_close(*gradients)


def test_views_of_one_memory():
    def function(u, v):
        u.add_(1)
        return u * v

    compiled = torch.compile(function)
    for i, j in [(0, 3), (0, 3), (0, 3), (0, 1), (0, 1), (0, 0), (1, 0), (0, 2), (0, 3)]:
        found = []
        for f in (compiled, function):
            base = torch.arange(6.0)
            u, v = base[i : i + 3], base[j : j + 3]
            found.append([f(u, v), base])
        torch.testing.assert_close(*found, msg=f"{i}, {j}")


def test_tensors_outside_that_come_to_share_memory():
    held = Namespace(a=torch.zeros(4), b=torch.zeros(4))

    def function(x):
        held.a.add_(x)
        return held.b * 2

    compiled, x = torch.compile(function), torch.ones(4)
    for _ in range(3):
        compiled(x)
    for other in (lambda: held.a, lambda: held.a[:], lambda: torch.zeros(4).set_(held.a)):
        held.b = other()
        held.a.zero_()
        assert compiled(x).tolist() == [2, 2, 2, 2]
    argument = torch.compile(lambda u: (held.a.add_(1), u * 2)[1])
    for u in (torch.ones(4), torch.ones(4), held.a, held.a[:]):
        held.a.zero_()
        assert argument(u).tolist() == [2, 2, 2, 2]


def test_attributes_of_arguments():
    first, second, third = torch.ones(4), torch.ones(4), torch.ones(4)
    first.k, second.k = 2.0, 7.0
    compiled = torch.compile(lambda x: x * getattr(x, "k", 1.0))
    for x in (first, first, first, second, third, first):
        assert compiled(x)[0].item() == getattr(x, "k", 1.0)


def test_random_state():
    compiled, x, generator = torch.compile(lambda x, g=None: x + torch.rand(4, generator=g)), torch.ones(4), torch.Generator()
    for seed in range(4):
        for g in (None, generator):
            found = []
            for f in (compiled, lambda x, g=None: x + torch.rand(4, generator=g)):
                torch.manual_seed(seed) if g is None else g.manual_seed(seed)
                found.append(f(x, g))
            assert torch.equal(*found)
    state = torch.get_rng_state()
    first = compiled(x)
    assert not torch.equal(first, compiled(x))
    torch.set_rng_state(state)
    assert torch.equal(first, compiled(x))


def _appends(held, x):
    held.list.append(x * 2)


def _attribute_of_tensor(held, x):
    held.tensor.seen = getattr(held.tensor, "seen", 0) + 1


def _resizes(held, x):
    held.tensor.resize_(2 if held.tensor.numel() == 4 else 4)


def _class_counter(held, x):
    type(held).count += 1


def _sets_a_mode(held, x):
    torch.use_deterministic_algorithms(True)
    held.number = torch.are_deterministic_algorithms_enabled()


def _replaces_an_object(held, x):
    held.inner = A()


def _registers(held, x):
    held.parameter.register_hook(lambda g: g * 2)
    held.parameter.grad = None
    (held.parameter * x).sum().backward()


def _swaps_data(held, x):
    held.parameter.data = held.parameter.data + x


def _writes_a_new_entry(held, x):
    held.table[len(held.table)] = x * 2


EFFECTS = {f.__name__[1:]: f for f in (
    _appends, _attribute_of_tensor, _resizes, _class_counter, _sets_a_mode, _replaces_an_object, _registers, _swaps_data, _writes_a_new_entry,
)}  # fmt: skip


@pytest.mark.parametrize("name", EFFECTS)
def test_effects(name):
    """What a call does beside computing is done each time."""
    found = []
    for wrap in (lambda f: f, torch.compile):
        class Held:
            count = 0

        held = Held()
        held.list, held.table, held.tensor, held.number, held.inner = [], {}, torch.ones(4), 0, None
        held.parameter = nn.Parameter(torch.ones(4))

        def function(x, held=held):
            EFFECTS[name](held, x)
            return x * 2

        function, seen = wrap(function), []
        for k in range(4):
            torch.use_deterministic_algorithms(False)
            result = function(torch.arange(4.0) + k)
            seen.append([result, len(held.list), len(held.table), held.tensor.numel(), getattr(held.tensor, "seen", 0), Held.count, held.inner is None,
                         held.parameter.detach().clone(), torch.are_deterministic_algorithms_enabled(), held.number])  # fmt: skip
            seen.append(None if held.parameter.grad is None else held.parameter.grad.clone())
        found.append(seen)
    torch.testing.assert_close(found[1], found[0])
