"""Sizes that may differ: what is found of them, and the errors where they may not, are torch's."""

from __future__ import annotations

import io

import pytest
import torch as real

import pytorchlike as torch

from .comparing import outcome, ranges

pytestmark = pytest.mark.filterwarnings("ignore")


def _exported(t, function, shapes, sizes=((4, 3), (4, 3))):
    class Module(t.nn.Module):
        def forward(self, x, y):
            return function(t, x, y)

    return t.export.export(Module(), tuple([t.ones(*size) for size in sizes]), dynamic_shapes=shapes(t.export.Dim))


def _a(D):
    return {0: D("a")}


#: name -> (what is computed, what may differ of ``x`` and ``y``, [the sizes of the examples])
MODULES = {
    "free": (lambda t, x, y: x * 2, lambda D: (_a(D), None)),
    "bounds": (lambda t, x, y: x * 2, lambda D: ({0: D("a", min=3, max=8)}, None)),
    "reshape": (lambda t, x, y: x.reshape(2, 6), lambda D: (_a(D), None)),
    "fixed": (lambda t, x, y: x + y, lambda D: (_a(D), None)),
    "constant": (lambda t, x, y: x + t.ones(4, 3), lambda D: (_a(D), None)),
    "equal_to_number": (lambda t, x, y: x * 2 if x.shape[0] == 4 else x, lambda D: (_a(D), None)),
    "number_of_choice": (lambda t, x, y: x * (2 if x.shape[0] == 4 else 3), lambda D: (_a(D), None)),
    "row": (lambda t, x, y: x[3], lambda D: (_a(D), None)),
    "last_row": (lambda t, x, y: x[-1], lambda D: (_a(D), None)),
    "row_by_size": (lambda t, x, y: x[y.shape[0] - 1], lambda D: (_a(D), {0: D("b")})),
    "row_of_choice": (lambda t, x, y: y[0] if x.shape[0] == 4 else y[1], lambda D: (_a(D), None)),
    "row_by_bound": (lambda t, x, y: y[0] if x.shape[0] > 3 else y[1], lambda D: (_a(D), None)),
    "dimension_of_choice": (lambda t, x, y: y.sum(0) if x.shape[0] == 4 else y.sum(1), lambda D: (_a(D), None), ((4, 3), (3, 3))),
    "loop": (lambda t, x, y: sum(row for row in x), lambda D: (_a(D), None)),
    "least": (lambda t, x, y: x * 2 if x.shape[0] > 3 else x, lambda D: (_a(D), None)),
    "least_and_most": (lambda t, x, y: x * 2 if 3 < x.shape[0] <= 10 else x, lambda D: (_a(D), None)),
    "within_bounds": (lambda t, x, y: x * 2 if 3 < x.shape[0] <= 10 else x, lambda D: ({0: D("a", min=4, max=10)}, None)),
    "even": (lambda t, x, y: x * 2 if x.shape[0] % 2 == 0 else x, lambda D: (_a(D), None)),
    "equal": (lambda t, x, y: x + y, lambda D: (_a(D), {0: D("b")})),
    "same_name": (lambda t, x, y: x + y, lambda D: (_a(D), _a(D))),
    "one_more": (lambda t, x, y: x + y[1:], lambda D: (_a(D), {0: D("b")}), ((4, 3), (5, 3))),
    "twice": (lambda t, x, y: x.repeat(2, 1) + y, lambda D: (_a(D), {0: D("b")}), ((4, 3), (8, 3))),
    "matmul": (lambda t, x, y: x @ y, lambda D: ({0: D("a"), 1: D("b")}, {0: D("c")}), ((4, 3), (3, 2))),
    "larger": (lambda t, x, y: x * 2 if x.shape[0] > y.shape[0] else y, lambda D: (_a(D), {0: D("b")})),
    "derived": (lambda t, x, y: x + y[1:], lambda D: (_a(D), {0: D("a") + 1}), ((4, 3), (5, 3))),
    "derived_wrong": (lambda t, x, y: x * 2, lambda D: (_a(D), {0: D("a") + 1}), ((4, 3), (6, 3))),
    "derived_odd": (lambda t, x, y: x * 2, lambda D: ({0: 2 * D("a")}, None), ((5, 3), (5, 3))),
    "same_name_wrong": (lambda t, x, y: x * 2, lambda D: (_a(D), _a(D)), ((4, 3), (5, 3))),
    "different_definitions": (lambda t, x, y: x + y, lambda D: ({0: D("a", max=9)}, {0: D("a", max=8)})),
    "above": (lambda t, x, y: x * 2, lambda D: ({0: D("a", max=3)}, None)),
    "below": (lambda t, x, y: x * 2, lambda D: ({0: D("a", min=5, max=10)}, None)),
    "number": (lambda t, x, y: x * 2, lambda D: ({0: 4}, None)),
    "number_wrong": (lambda t, x, y: x * 2, lambda D: ({0: 5}, None)),
    "one": (lambda t, x, y: x * 2, lambda D: (_a(D), None), ((1, 3), (1, 3))),
    "zero": (lambda t, x, y: x * 2, lambda D: (_a(D), None), ((0, 3), (0, 3))),
    "one_auto": (lambda t, x, y: x * 2, lambda D: ({0: D.AUTO}, None), ((1, 3), (1, 3))),
    "one_dynamic": (lambda t, x, y: x * 2, lambda D: ({0: D.DYNAMIC}, None), ((1, 3), (1, 3))),
    "auto": (lambda t, x, y: x * 2, lambda D: ({0: D.AUTO, 1: D.AUTO(min=3, max=9)}, {0: D.STATIC})),
    "auto_constant": (lambda t, x, y: x.reshape(2, 6), lambda D: ({0: D.AUTO}, None)),
    "auto_equal": (lambda t, x, y: x + y, lambda D: ({0: D.AUTO}, {0: D.AUTO})),
    "auto_one_more": (lambda t, x, y: x + y[1:], lambda D: ({0: D.AUTO}, {0: D.AUTO}), ((4, 3), (5, 3))),
    "auto_bounds": (lambda t, x, y: x + y if x.shape[0] <= 7 else x, lambda D: ({0: D.AUTO}, {0: D.AUTO(min=3)})),
    "dynamic_constant": (lambda t, x, y: x.reshape(2, 6), lambda D: ({0: D.DYNAMIC}, None)),
    "dynamic_equal": (lambda t, x, y: x + y, lambda D: ({0: D.DYNAMIC}, {0: D.DYNAMIC(max=9)})),
    "dynamic_conflict": (lambda t, x, y: x * 2 if x.shape[0] <= 7 else x, lambda D: ({0: D.DYNAMIC(min=9)}, None)),
    "dynamic_named": (lambda t, x, y: x + y, lambda D: (_a(D), {0: D.DYNAMIC})),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_constraints_are_those_of_torch(name):
    expected, found = [outcome(lambda t=t: ranges(_exported(t, *MODULES[name]))) for t in (real, torch)]
    assert found == expected



#: what `dynamic_shapes` is for ``forward(self, x, rest, *args, k)``
SPECS = {
    "dict": lambda D: {"x": _a(D), "rest": [None, {"key": None}], "args": (None,), "k": None},
    "tuple": lambda D: (_a(D), [None, {"key": None}], (None,), None),
    "unknown": lambda D: {"z": None, "rest": [None, {"key": None}], "args": (None,), "k": None},
    "missing": lambda D: {"x": _a(D)},
    "short": lambda D: (_a(D), [None, {"key": None}], (None,)),
    "other_class": lambda D: (_a(D), (None, {"key": None}), (None,), None),
    "other_keys": lambda D: (_a(D), [None, {"other": None}], (None,), None),
    "leaf_for_list": lambda D: (_a(D), None, (None,), None),
    "longer": lambda D: (_a(D), [None, {"key": None}, None], (None,), None),
    "text": lambda D: ("a", [None, {"key": None}], (None,), None),
    "text_dimension": lambda D: ({0: "a"}, [None, {"key": None}], (None,), None),
    "text_in_list": lambda D: (["a", None], [None, {"key": None}], (None,), None),
    "rank": lambda D: ([D("a")], [None, {"key": None}], (None,), None),
    "number": lambda D: (_a(D), [D("b"), {"key": None}], (None,), None),
    "of_no_tensor": lambda D: (_a(D), [None, {"key": None}], (None,), {0: None}),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECS)
def test_structures_are_those_of_torch(name):
    def run(t):
        class Module(t.nn.Module):
            def forward(self, x, rest, *args, k):
                return x * rest[0] + 1, rest[1]["key"] + args[0]

        y = t.ones(2)
        args = (t.ones(4, 3), [3, {"key": y}], y)
        return ranges(t.export.export(Module(), args, {"k": "text"}, dynamic_shapes=SPECS[name](t.export.Dim)))

    assert outcome(lambda: run(torch)) == outcome(lambda: run(real))


@pytest.mark.parametrize(
    "make",
    [
        lambda D: D("a b"), lambda D: D("a", min=3, max=3), lambda D: 2 - D("a"), lambda D: D("a") * -1, lambda D: D("a") + D("a"), lambda D: D("a") - 1.0,
        lambda D: (D("a") - 1).min, lambda D: (D("a", min=2, max=9) * 3 - 1).max, lambda D: (2 * D("a") + 1).max, lambda D: 2 * (D("a") + 3),
        lambda D: [(2 * D("a") - 1).__name__, D("a") + 1 - 1, D("a") * 1], lambda D: [D("k"), D("k", min=2), D("k", max=4), D("k").max],
        lambda D: D.AUTO(min=-1), lambda D: D.AUTO(min=3, max=2), lambda D: D.AUTO(min=1)(max=2), lambda D: [D.AUTO, D.DYNAMIC(min=2, max=4), D.STATIC],
    ],
)  # fmt: skip
def test_dimensions_are_those_of_torch(make):
    assert outcome(lambda: make(torch.export.Dim)) == outcome(lambda: make(real.export.Dim))


def _pieces(t):
    class Module(t.nn.Module):
        def forward(self, x, others):
            return x * 2, others[0] + 1

    return Module(), t.ones(4, 3), [t.ones(8), 3]


def test_shapes_by_tensor_are_those_of_torch():
    def shapes(t):
        module, x, others = _pieces(t)
        found = t.export.ShapesCollection()
        a = t.export.Dim("a")
        found[x], found[others[0]] = (a, 3), {0: 2 * a}
        return found.dynamic_shapes(module, (x, others)), found[x], len(found), ranges(t.export.export(module, (x, others), dynamic_shapes=found))

    assert str(shapes(torch)) == str(shapes(real))

    def other(t):
        module, x, others = _pieces(t)
        found = t.export.ShapesCollection()
        found[t.ones(4, 3)] = (None, None)
        return found.dynamic_shapes(module, (x, others))

    def again(t):
        found, x = t.export.ShapesCollection(), t.ones(2)
        found[x] = (t.export.Dim("a"),)
        found[x] = (None,)

    def number(t):
        t.export.ShapesCollection()["a"] = (None,)

    for function in (other, again, number):
        assert outcome(lambda f=function: f(torch)) == outcome(lambda f=function: f(real))


@pytest.mark.parametrize("sizes", [((5, 3), 8), ((5, 3), 9), ((4, 3, 1), 8)])
def test_further_examples_are_those_of_torch(sizes):
    def shapes(t):
        module, x, others = _pieces(t)
        found = t.export.AdditionalInputs()
        found.add((t.ones(*sizes[0]), [t.ones(sizes[1]), 3]))
        program = t.export.export(module, (x, others), dynamic_shapes=found)
        found.verify(program)
        return found.dynamic_shapes(module, (x, others)), ranges(program)

    assert outcome(lambda: shapes(torch)) == outcome(lambda: shapes(real))


@pytest.mark.parametrize("name", ["reshape", "equal", "one_more", "twice", "least_and_most"])
def test_suggested_fixes_are_accepted(name):
    from pytorchlike.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

    function, shapes, *sizes = MODULES[name]
    with pytest.raises(torch._dynamo.exc.UserError) as error:
        _exported(torch, function, shapes, *sizes)
    fixed = refine_dynamic_shapes_from_suggested_fixes(error.value.msg, shapes(torch.export.Dim))
    expected = real.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(error.value.msg, shapes(real.export.Dim))
    assert str(fixed) == str(expected)
    _exported(torch, function, lambda D: fixed, *sizes)


def test_a_condition_on_one_size_is_found_where_it_matters():
    """A size at which a slice is the whole tensor is no other program; one from which it is cut is."""

    class Positions(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(16, 3))

        def forward(self, x):
            return x + self.table[: x.shape[0]]

    x = torch.ones(4, 3)
    program = torch.export.export(Positions(), (x,), dynamic_shapes=({0: torch.export.Dim("length", max=16)},))
    file = io.BytesIO()
    torch.export.save(program, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue())).module()
    for n in (2, 5, 16):
        torch.testing.assert_close(loaded(torch.ones(n, 3)), program.module()(torch.ones(n, 3)))
    with pytest.raises(torch._dynamo.exc.UserError, match=r"length = Dim\('length', max=16\)"):
        torch.export.export(Positions(), (x,), dynamic_shapes=({0: torch.export.Dim("length")},))


def test_random_numbers_are_not_used_up():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.export.export(torch.nn.Dropout(0.5), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert torch.equal(torch.rand(3), expected)


def test_conditions_on_several_sizes_are_not_written():
    program = _exported(torch, *MODULES["larger"])
    assert program.module()(torch.ones(5, 3), torch.ones(4, 3)).shape == (5, 3)
    with pytest.raises(NotImplementedError, match="export.save: the module does not take all sizes of a, b; how they are related is not known"):
        torch.export.save(program, io.BytesIO())


def test_numbers_that_depend_on_sizes_by_no_simple_rule():
    class Both(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y]) + 1, x.shape[0] + y.shape[0]

    D = torch.export.Dim
    program = torch.export.export(Both(), (torch.ones(4), torch.ones(5)), dynamic_shapes=({0: D("a")}, {0: D("b")}))
    assert program.module()(torch.ones(6), torch.ones(7))[1] == 13
    with pytest.raises(NotImplementedError, match="export.save: a result is .* depending on the sizes of a, b"):
        torch.export.save(program, io.BytesIO())
