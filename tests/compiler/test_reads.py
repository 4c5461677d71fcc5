"""What a call reads in ways that show in no attribute of an object: names made while it runs, special methods, classes, imports, keys.

As in test_mutations.py each case changes one thing that the function depends on.
"""

from __future__ import annotations

import abc
import collections
import ctypes
import dataclasses
import datetime
import enum
import functools
import inspect
import math
import operator
import os
import random
import sys
import types

import numpy as np
import pytest

import pytorchlike as torch
from pytorchlike import nn

# Each case makes (function, what changes it).  Names are those of the tests.
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def compare(function, change, is_captured=True):
    compiled, x = torch.compile(function), torch.arange(1.0, 5.0)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), function(x))
    if is_captured:
        assert compiled._compiled.replays and compiled._compiled.replays[0].runs, [str(b) for b in compiled._compiled.breaks]
    change()
    for _ in range(2):
        torch.testing.assert_close(compiled(x), function(x), equal_nan=True)


@pytest.mark.parametrize("name", CASES)
def test_change(name):
    compare(*CASES[name]())


def new_class(**entries):
    return type("Made", (entries.pop("base", object),), entries)


def new_module(name="made", **entries):
    module = types.ModuleType(name)
    module.__dict__.update(entries)
    return module


# ------------------------------------------------------------------------------------------------------ names made while it runs
NAME = "factor"

#: What is asked for the factor in an object that has it.
ASKED = {
    "getattr": lambda x, held: x * getattr(held, NAME),
    "getattr_of_a_text": lambda x, held: x * getattr(held, "fac" + "tor"[:3]),
    "attrgetter": lambda x, held, get=operator.attrgetter("factor"): x * get(held),
    "dict": lambda x, held: x * held.__dict__["factor"],
    "vars": lambda x, held: x * vars(held)[NAME],
}
ABSENT = {
    "hasattr": lambda x, held: x * (2 if hasattr(held, "factor") else 1),
    "default": lambda x, held: x * getattr(held, NAME, 1.0),
    "dir": lambda x, held: x * len([name for name in dir(held) if not name.startswith("_")]),
    "vars": lambda x, held: x * (2 if "factor" in vars(held) else 1),
}
OWNERS = {
    "class": lambda **entries: new_class(**entries),
    "class_of_object": lambda **entries: new_class(**entries)(),
    "module": lambda **entries: new_module(**entries),
    "object": lambda **entries: _with(new_class()(), **entries),
}


def _with(held, **entries):
    for name, value in entries.items():
        setattr(held, name, value)
    return held


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("asked", ASKED)
def test_names_made_while_it_runs(owner, asked):
    held = OWNERS[owner](factor=2.0)
    use, changed = ASKED[asked], type(held) if owner == "class_of_object" else held
    if owner == "class_of_object" and asked in ("dict", "vars"):
        changed, held = held, changed()
        held.factor, changed = 2.0, held
    compare(lambda x: use(x, held), lambda: setattr(changed, "factor", 3.0))


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("asked", ABSENT)
def test_names_that_are_not_there_yet(owner, asked):
    held, use = OWNERS[owner](), ABSENT[asked]
    changed = type(held) if owner == "class_of_object" and asked != "vars" else held
    compare(lambda x: use(x, held), lambda: setattr(changed, "factor", 3.0))


@case
def attribute_of_a_function_that_has_none():
    def held():
        pass

    return lambda x: x * getattr(held, "factor", 1.0), lambda: setattr(held, "factor", 3.0)


@case
def caught_error_of_an_attribute():
    held = new_class()

    def function(x):
        try:
            return x * held().factor
        except AttributeError:
            return x

    return function, lambda: setattr(held, "factor", 3.0)


@case
def caught_error_of_a_name():
    space = {}
    exec("def function(x):\n    try:\n        return x * factor\n    except NameError:\n        return x", space)
    return space["function"], lambda: space.update(factor=3.0)


@case
def name_of_a_builtin():
    space = {}
    exec("def function(x):\n    return x * len([1, 2])", space)
    return space["function"], lambda: space.update(len=lambda held: 7)


# --------------------------------------------------------------------------------------------------------------- special methods
#: Special method -> (what uses it, what it is, what it becomes).
SPECIAL = {
    "__getitem__": (lambda x, held: x * held[0], lambda self, key: 2.0, lambda self, key: 3.0),
    "__len__": (lambda x, held: x * len(held), lambda self: 2, lambda self: 3),
    "__contains__": (lambda x, held: x * (1 in held), lambda self, key: True, lambda self, key: False),
    "__iter__": (lambda x, held: x * sum(held), lambda self: iter([2]), lambda self: iter([3])),
    "__bool__": (lambda x, held: x * (2 if held else 3), lambda self: True, lambda self: False),
    "__eq__": (lambda x, held: x * (held == 1), lambda self, other: True, lambda self, other: False),
    "__lt__": (lambda x, held: x * (held < 1), lambda self, other: True, lambda self, other: False),
    "__hash__": (lambda x, held: x * hash(held), lambda self: 2, lambda self: 3),
    "__call__": (lambda x, held: held(x), lambda self, x: x * 2, lambda self, x: x * 3),
    "__add__": (lambda x, held: x * (held + 1), lambda self, other: 2, lambda self, other: 3),
    "__radd__": (lambda x, held: x * (1 + held), lambda self, other: 2, lambda self, other: 3),
    "__float__": (lambda x, held: x * float(held), lambda self: 2.0, lambda self: 3.0),
    "__index__": (lambda x, held: x * (1.0, 2.0, 3.0, 4.0)[held], lambda self: 2, lambda self: 3),
    "__str__": (lambda x, held: x * len(str(held)), lambda self: "ab", lambda self: "abc"),
    "__getattr__": (lambda x, held: x * held.factor, lambda self, name: 2.0, lambda self, name: 3.0),
    "__torch_function__": (
        lambda x, held: torch.add(x, held),
        classmethod(lambda cls, function, kinds, args=(), kwargs=None: args[0] * 2),
        classmethod(lambda cls, function, kinds, args=(), kwargs=None: args[0] * 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_methods(name):
    use, before, after = SPECIAL[name]
    cls = new_class(**{name: before})
    held = cls()
    compare(lambda x: use(x, held), lambda: setattr(cls, name, after))


@pytest.mark.parametrize("name", ["__bool__", "__len__"])
def test_special_methods_that_are_not_there_yet(name):
    cls = new_class()
    held = cls()
    compare(lambda x: x * (2 if held else 3), lambda: setattr(cls, name, lambda self: 0 if name == "__len__" else False))


@case
def special_method_of_a_context():
    class Held:
        def __enter__(self):
            return 2.0

        def __exit__(self, *error):
            return None

    held = Held()

    def function(x):
        with held as factor:
            return x * factor

    return function, lambda: setattr(Held, "__enter__", lambda self: 3.0)


@case
def descriptor():
    class Descriptor:
        def __get__(self, owner, cls=None):
            return 2.0

    held = new_class(factor=Descriptor())()
    return lambda x: x * held.factor, lambda: setattr(Descriptor, "__get__", lambda self, owner, cls=None: 3.0)


@case
def attribute_of_a_metaclass():
    class Meta(type):
        factor = 2.0

    held = Meta("Held", (), {})
    return lambda x: x * held.factor, lambda: setattr(Meta, "factor", 3.0)


@case
def special_method_of_a_metaclass():
    class Meta(type):
        def __len__(cls):
            return 2

    held = Meta("Held", (), {})
    return lambda x: x * len(held), lambda: setattr(Meta, "__len__", lambda cls: 3)


@case
def bases_of_a_class():
    first, second = new_class(factor=lambda self: 2.0), new_class(factor=lambda self: 3.0)
    cls = new_class(base=first)
    held = cls()
    return lambda x: x * held.factor(), lambda: setattr(cls, "__bases__", (second,))


@case
def registered_class():
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def method(self):
            """Something abstract."""

    cls = new_class()
    held = cls()
    return lambda x: x * (2 if isinstance(held, Abstract) else 3), lambda: Abstract.register(cls)


@case
def attribute_of_a_member_of_an_enumeration():
    class Kind(enum.Enum):
        ONE = 1

    Kind.ONE.factor = 2.0
    return lambda x: x * Kind.ONE.factor, lambda: setattr(Kind.ONE, "factor", 3.0)


@case
def functions_by_class():
    @functools.singledispatch
    def function(x):
        return x * 2

    function(torch.ones(1))
    return lambda x: function(x), lambda: function.register(torch.Tensor, lambda x: x * 3)


@case
def cache_of_a_function():
    factors = [2.0]

    @functools.lru_cache
    def factor(k):
        return factors[k]

    return lambda x: x * factor(0), lambda: (factors.__setitem__(0, 3.0), factor.cache_clear())


@case
def class_of_a_class_method():
    class Held:
        factor = 2.0

        @classmethod
        def method(cls, x):
            return x * cls.factor

    return Held.method, lambda: setattr(Held, "factor", 3.0)


@case
def static_method_that_only_the_package_calls():
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return lambda x: Function.apply(x), lambda: setattr(Function, "forward", staticmethod(lambda ctx, x: x * 3))


#: What is exchanged in the package -> what uses it.
EXCHANGED = {
    "functional": (nn.functional, "softplus", lambda model, x: nn.functional.softplus(x)),
    "function": (torch, "sinh", lambda model, x: torch.sinh(x)),
    "forward": (nn.Linear, "forward", lambda model, x: model(x)),
}

@pytest.mark.parametrize("name", EXCHANGED)
def test_what_is_exchanged_in_the_package(name, monkeypatch):
    owner, key, use = EXCHANGED[name]
    before, model = getattr(owner, key), nn.Linear(4, 4)
    compare(lambda x: use(model, x), lambda: monkeypatch.setattr(owner, key, lambda *args: before(*args) * 3))


@pytest.mark.parametrize("key", ["forward", "_conv_forward"])
def test_what_is_exchanged_in_one_module(key):
    model = nn.Sequential(nn.Conv1d(1, 1, 1))
    compare(lambda x: model(x[None]), lambda: setattr(model[0], key, lambda x, *parameters: x * 3))


# -------------------------------------------------------------------------------------------------------------------- containers
class Items(list):
    def __getitem__(self, key):
        return 2 * list.__getitem__(self, key)


class Table(dict):
    def __missing__(self, key):
        return 2.0


class Text(str):
    __slots__ = ("factor",)


def held_in(value, other, use):
    """A case whose function uses a value in an attribute that then holds another one."""

    def make():
        held = types.SimpleNamespace(v=value)
        return lambda x: use(x, held.v), lambda: setattr(held, "v", other)

    return make


def changed(make_value, use, change):
    """A case whose function uses an object that changes."""

    def make():
        held = make_value()
        return lambda x: use(x, held), lambda: change(held)

    return make


def _factor(x, held):
    return x * held.factor


def _triple(held):
    held.factor = 3.0


def _sign(x, value):
    return x * math.copysign(1.0, value)


CASES.update({
    "attribute_of_a_list": changed(lambda: _with(new_class(base=list)([1]), factor=2.0), _factor, _triple),
    "attribute_of_a_dictionary": changed(lambda: _with(new_class(base=dict)(a=1), factor=2.0), _factor, _triple),
    "attribute_of_a_set": changed(lambda: _with(new_class(base=set)([1]), factor=2.0), _factor, _triple),
    "attribute_of_a_tuple": changed(lambda: _with(new_class(base=tuple)([1]), factor=2.0), _factor, _triple),
    "attribute_of_a_text": changed(lambda: _with(Text("a"), factor=2.0), _factor, _triple),
    "attribute_of_a_float": changed(lambda: _with(new_class(base=float)(2.0), factor=2.0), _factor, _triple),
    "class_of_a_list": changed(lambda: new_class(base=list)([1]), lambda x, held: x * len(type(held).__name__), lambda held: setattr(held, "__class__", Items)),
    "item_of_a_list_with_methods": changed(lambda: Items([1.0]), lambda x, held: x * held[0], lambda held: held.__setitem__(0, 4.0)),
    "entry_of_a_dictionary_with_methods": changed(Table, lambda x, held: x * held["a"], lambda held: held.update(a=3.0)),
    "factory_of_a_dictionary": changed(
        lambda: collections.defaultdict(lambda: 2.0), lambda x, held: x * held.copy()["a"], lambda held: setattr(held, "default_factory", lambda: 5.0),
    ),
    "object_in_a_set": changed(
        lambda: {_with(new_class()(), factor=2.0)}, lambda x, held: x * sum(each.factor for each in held), lambda held: [_triple(each) for each in held],
    ),
    "order_of_a_set": changed(
        lambda: {8, 16}, lambda x, held: (x + [*held][0]) * [*held][1], lambda held: (held.clear(), held.add(16), held.add(8)),
    ),
    "order_of_an_ordered_dictionary": changed(
        lambda: collections.OrderedDict(a=1.0, b=2.0), lambda x, held: (x + [*held.values()][0]) * 2, lambda held: held.move_to_end("a"),
    ),
    "zero_as_a_key": changed(lambda: {0.0: 1}, lambda x, held: _sign(x, [*held][0]), lambda held: (held.clear(), held.update({-0.0: 1}))),
    "one_as_a_key": changed(lambda: {1: 1}, lambda x, held: x * (2 if [*held][0] is True else 3), lambda held: (held.clear(), held.update({True: 1}))),
    "one_in_a_set": changed(lambda: {1}, lambda x, held: x * (2 if [*held][0] is True else 3), lambda held: (held.clear(), held.add(True))),
    "one_in_a_frozen_set": held_in(frozenset([1]), frozenset([True]), lambda x, value: x * (2 if [*value][0] is True else 3)),
    "zero_in_a_tuple": held_in((0.0,), (-0.0,), lambda x, value: _sign(x, value[0])),
    "zero_in_a_complex_number": held_in(0j, complex(-0.0, 0.0), lambda x, value: _sign(x, value.real)),
    "zero_of_numpy": held_in(np.float32(0.0), np.float32(-0.0), _sign),
    "one_in_a_slice": held_in(slice(0, 1), slice(0, True), lambda x, value: x * (2 if value.stop is True else 3)),
    "end_of_a_range": held_in(range(0, 3, 2), range(0, 4, 2), lambda x, value: x * value.stop),
})  # fmt: skip


@pytest.mark.parametrize("keys", [(0.0, -0.0), (1, True), ((1, 0.0), (1, -0.0))], ids=str)
def test_keys_of_arguments(keys):
    compiled = torch.compile(lambda x, table: x * len(repr(table)))
    for key in (keys[0], keys[0], keys[1], keys[0]):
        assert compiled(torch.ones(1), {key: 1}).item() == len(repr({key: 1}))


def test_zeros_of_both_signs_as_numbers_that_change():
    compiled = torch.compile(lambda x, by: (x / by).sum())
    for by in (1.0, 2.0, 4.0, 0.0, -0.0, 0.0, -0.0):
        assert compiled(torch.ones(1), by).item() == (1 / by if by else math.copysign(math.inf, by))
    assert compiled._compiled.captures < 4


@case
def views_of_a_dictionary():
    @dataclasses.dataclass
    class Held:
        values: object

    table = {"a": 1.0}
    held = Held(table.values())
    return lambda x: x * sum(held.values), lambda: table.update(b=2.0), False


# ----------------------------------------------------------------------------------------------------------------------- imports
def _import_module(x):
    import made_for_a_test

    return x * made_for_a_test.factor


def _import_name(x):
    from made_for_a_test import factor

    return x * factor


def _import_function(x):
    from made_for_a_test import function

    return function(x)


def _import_part(x):
    import made_for_a_test.part as part

    return x * part.factor


def _import_by_text(x):
    import importlib

    return x * importlib.import_module("made_for_a_test").factor


@pytest.fixture
def made():
    """A module that can be imported."""
    module = new_module("made_for_a_test", factor=2.0)
    module.part = new_module("made_for_a_test.part", factor=2.0)
    exec("def function(x): return x * factor", module.__dict__)
    sys.modules.update({each.__name__: each for each in (module, module.part)})
    yield module
    for name in (module.part.__name__, module.__name__):
        del sys.modules[name]


@pytest.mark.parametrize("function", [_import_module, _import_name, _import_function, _import_part, _import_by_text])
def test_imports(made, function):
    def change():
        made.factor = made.part.factor = 3.0

    compare(function, change)


def test_another_module_of_the_name(made):
    compare(_import_module, lambda: sys.modules.update(made_for_a_test=new_module(factor=3.0)))


def test_attributes_that_a_module_makes(made):
    made.__dict__["__getattr__"] = lambda name: 2.0
    del made.factor
    compare(_import_module, lambda: setattr(made, "__getattr__", lambda name: 3.0))


# ------------------------------------------------------------------------------------------------------------ outside of Python
def test_environment(monkeypatch):
    monkeypatch.setenv("MADE_FOR_A_TEST", "2")
    for function in (lambda x: x * float(os.environ["MADE_FOR_A_TEST"]), lambda x: x * float(os.getenv("MADE_FOR_A_TEST", "1"))):
        monkeypatch.setenv("MADE_FOR_A_TEST", "2")
        compare(function, lambda: monkeypatch.setenv("MADE_FOR_A_TEST", "3"), is_captured=False)


def test_files(tmp_path):
    path = os.path.join(tmp_path, "file")
    compare(lambda x: x * (2 if os.path.exists(path) else 3), lambda: open(path, "w").close(), is_captured=False)
    assert torch.compile(lambda x: x * len(os.path.join("a", "b")), fullgraph=True)(torch.ones(1)).item() == 3


#: What holds something that changes, and how it is read.
CHANGING = {
    "array_in_a_class": lambda: new_class(held=np.zeros(1)),
    "array_in_a_module": lambda: new_module(held=np.zeros(1)),
    "memory_of_ctypes": lambda: new_class(held=(ctypes.c_float * 1)())(),
}


@pytest.mark.parametrize("name", CHANGING)
def test_memory_that_others_write(name):
    owner = CHANGING[name]()
    compare(lambda x: x * float(owner.held[0]), lambda: owner.held.__setitem__(0, 3.0), is_captured=False)


@pytest.mark.parametrize("make", [new_class, new_module])
def test_iterators(make):
    owner = make(held=iter(range(10)))
    compiled = torch.compile(lambda x: x * next(owner.held))
    assert [compiled(torch.ones(1)).item() for _ in range(4)] == [0, 1, 2, 3]


def test_clocks_and_random_numbers_that_python_calls():
    for draw in (datetime.datetime.now, functools.partial(random.random), collections.defaultdict(random.random).copy):
        compiled = torch.compile(lambda x, draw=draw: (x, str(draw() if not isinstance(draw(), dict) else draw()["new"]))[1])
        assert len({compiled(torch.ones(1)) for _ in range(4)}) == 4


def test_what_functions_are_like_inside():
    factor = 2.0

    def held(by=2.0):
        return factor

    def change():
        nonlocal factor
        factor = 3.0
        held.__defaults__ = (3.0,)

    compare(lambda x: x * held.__closure__[0].cell_contents, change, is_captured=False)
    compare(lambda x: x * inspect.signature(held).parameters["by"].default, lambda: setattr(held, "__defaults__", (4.0,)))


#: Kinds of functions that draw a number.
DRAWS = {
    "function": lambda: lambda: np.random.rand(),
    "name": lambda: np.random.rand,
    "generator": lambda: functools.partial(lambda generator: generator.random(), np.random.default_rng(3)),
    "method": lambda: np.random.default_rng(3).random,
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_of_numpy(name):
    found = []
    for wrap in (lambda f: f, torch.compile):
        np.random.seed(3)
        draw = DRAWS[name]()
        function = wrap(lambda x, draw=draw: x * float(draw()))
        found.append([function(torch.ones(1)).item() for _ in range(4)])
    assert found[0] == found[1]


def test_modules_stay_as_they_are():
    """What is exchanged while a call is captured is there again."""
    before = [getattr, hasattr, vars, dir, nn.Module.__setattr__, nn.Module.__getattribute__]
    model = nn.Linear(2, 2)
    torch.compile(lambda x: model(x) * getattr(model, "factor", 1.0))(torch.ones(2))
    assert before == [getattr, hasattr, vars, dir, nn.Module.__setattr__, nn.Module.__getattribute__]
    assert "__setattr__" in nn.Module.__dict__ and "__getattribute__" not in nn.Module.__dict__


def test_closures_of_the_same_code_are_told_apart():
    def factory(scale):
        def function(x):
            return x * scale

        def change(value):
            nonlocal scale
            scale = value

        return function, change

    first, change_first = factory(2.0)
    second, change_second = factory(3.0)
    compiled = torch.compile(lambda x: first(x) + second(x))
    x = torch.ones(1)
    assert [compiled(x).item() for _ in range(3)] == [5.0] * 3
    change_second(7.0)
    assert compiled(x).item() == 9.0
    change_first(1.0)
    assert compiled(x).item() == 8.0


def test_a_mention_of_getattribute_is_no_read_of_what_the_watch_puts_there():
    class Held:
        scale = 2.0

        def value(self):
            return object.__getattribute__(self, "scale")

    held = Held()
    compiled = torch.compile(lambda x: x * held.value() * held.scale)
    assert [compiled(torch.ones(1)).item() for _ in range(4)] == [4.0] * 4
    assert compiled._compiled.captures == 1
