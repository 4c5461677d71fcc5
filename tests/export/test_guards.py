"""Arguments that an exported program is not for: torch's errors."""

from __future__ import annotations

import io

import pytest
import torch as real

import pytorchlike as torch

from .comparing import outcome

pytestmark = pytest.mark.filterwarnings("ignore")


def _program(t, function, shapes, sizes):
    class Module(t.nn.Module):
        def forward(self, x, y):
            return function(x, y)

    return t.export.export(Module(), tuple([t.ones(*size) for size in sizes]), dynamic_shapes=shapes(t.export.Dim))


#: name -> (what is computed, what may differ, sizes of the examples, sizes of calls)
SIZES = {
    "static": (lambda x, y: x * 2, lambda D: None, ((4, 3), (4, 3)), [(5, 3), (4, 2)]),
    "most": (lambda x, y: x * 2, lambda D: ({0: D("a", max=10)}, None), ((4, 3), (4, 3)), [(1, 3), (2, 3), (10, 3), (11, 3), (5, 4)]),
    "least": (lambda x, y: x * 2, lambda D: ({0: D("a", min=3)}, None), ((4, 3), (4, 3)), [(2, 3), (3, 3)]),
    "auto": (lambda x, y: x * 2, lambda D: ({0: D.AUTO}, None), ((4, 3), (4, 3)), [(0, 3), (1, 3), (11, 3)]),
    "dynamic": (lambda x, y: x * 2, lambda D: ({0: D.DYNAMIC(min=3, max=5)}, None), ((4, 3), (4, 3)), [(2, 3), (5, 3), (6, 3)]),
    "inferred": (lambda x, y: x * 2 if x.shape[0] > 3 else x, lambda D: ({0: D.AUTO}, None), ((4, 3), (4, 3)), [(3, 3), (6, 3)]),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name):
    *given, calls = SIZES[name]
    theirs, ours = [_program(t, *given).module() for t in (real, torch)]
    for size in calls:
        expected = outcome(lambda s=size: theirs(real.ones(s), real.ones(4, 3)).shape)
        assert outcome(lambda s=size: ours(torch.ones(s), torch.ones(4, 3)).shape) == expected


@pytest.mark.parametrize(
    "function, shapes, first",
    [
        (lambda x, y: x + y, lambda D: ({0: D("a")}, {0: D("a")}), 4), (lambda x, y: x + y, lambda D: ({0: D.AUTO}, {0: D.AUTO}), 4),
        (lambda x, y: x + y[1:], lambda D: ({0: D("a", max=10)}, {0: D("a", max=10) + 1}), 5), (lambda x, y: x + y[1:], lambda D: ({0: D.AUTO}, {0: D.AUTO}), 5),
    ],
    ids=["named", "auto", "one_more", "auto_one_more"],
)  # fmt: skip
@pytest.mark.parametrize("loaded", [False, True], ids=["made", "loaded"])
def test_related_sizes(function, shapes, first, loaded):
    theirs, ours = [_program(t, function, shapes, ((4, 3), (first, 3))) for t in (real, torch)]
    if loaded:
        file = io.BytesIO()
        torch.export.save(ours, file)
        ours = torch.export.load(io.BytesIO(file.getvalue()))
    for sizes in ((5, 5), (5, 6), (5, 7), (10, 11), (11, 12)):
        calls = [outcome(lambda t=t, m=m, s=sizes: m.module()(*[t.ones(n, 3) for n in s]).shape) for t, m in ((real, theirs), (torch, ours))]
        assert calls[1] == calls[0]


CALLS = {
    "right": lambda t, x: (([x, 3], {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "other_order": lambda t, x: (([x, 3], {"a": x}, x), {"s": "b", "w": x, "k": x}),
    "equal_number": lambda t, x: (([x, 3.0], {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "other_number": lambda t, x: (([x, 4], {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "other_text": lambda t, x: (([x, 3], {"a": x}, x), {"k": x, "w": x, "s": "c"}),
    "tensor_for_number": lambda t, x: (([x, x], {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "none_for_tensor": lambda t, x: (([x, 3], {"a": x}, x), {"k": None, "w": x, "s": "b"}),
    "number_for_tensor": lambda t, x: (([5, 3], {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "tuple_for_list": lambda t, x: (((x, 3), {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "other_key": lambda t, x: (([x, 3], {"b": x}, x), {"k": x, "w": x, "s": "b"}),
    "missing": lambda t, x: (([x, 3], {"a": x}), {"k": x, "w": x, "s": "b"}),
    "missing_keyword": lambda t, x: (([x, 3], {"a": x}, x), {"k": x, "w": x}),
    "further_keyword": lambda t, x: (([x, 3], {"a": x}, x), {"k": x, "w": x, "s": "b", "u": 3}),
    "size_in_list": lambda t, x: (([t.ones(5), 3], {"a": x}, x), {"k": x, "w": x, "s": "b"}),
    "size_in_dict": lambda t, x: (([x, 3], {"a": t.ones(5)}, x), {"k": x, "w": x, "s": "b"}),
    "size_in_args": lambda t, x: (([x, 3], {"a": x}, t.ones(5)), {"k": x, "w": x, "s": "b"}),
    "size_of_keyword": lambda t, x: (([x, 3], {"a": x}, x), {"k": x, "w": t.ones(5), "s": "b"}),
}


@pytest.fixture(scope="module")
def runs():
    def run(t):
        class Module(t.nn.Module):
            def forward(self, xs, d, *args, k=None, s="a", **more):
                return xs[0] + d["a"] + args[0] + k + more["w"]

        args, kwargs = CALLS["right"](t, t.ones(4))
        return t.export.export(Module(), args, kwargs).module()

    return run(real), run(torch)


@pytest.mark.parametrize("name", CALLS)
def test_structures(name, runs):
    def call(t, run):
        args, kwargs = CALLS[name](t, t.ones(4))
        return run(*args, **kwargs).shape

    assert outcome(lambda: call(torch, runs[1])) == outcome(lambda: call(real, runs[0]))


@pytest.mark.parametrize("name", ["static", "most", "least"])
def test_sizes_without_guards(name):
    *given, calls = SIZES[name]
    theirs, ours = [_program(t, *given) for t in (real, torch)]
    for size in calls:
        expected = outcome(lambda s=size: theirs.module(check_guards=False)(real.ones(s), real.ones(4, 3)).shape)
        assert outcome(lambda s=size: ours.module(check_guards=False)(torch.ones(s), torch.ones(4, 3)).shape) == expected
        expected = outcome(lambda s=size: real.export.unflatten(theirs)(real.ones(s), real.ones(4, 3)).shape)
        assert outcome(lambda s=size: torch.export.unflatten(ours)(torch.ones(s), torch.ones(4, 3)).shape) == expected


def test_ranks_and_dtypes_are_those_of_the_examples():
    """torch runs the operators on whatever it gets."""
    run = _program(torch, lambda x, y: x * 2, lambda D: None, ((4, 3), (4, 3))).module()
    with pytest.raises(AssertionError, match=r"Guard failed: len\(x.size\(\)\) == 2"):
        run(torch.ones(4, 3, 1), torch.ones(4, 3))
    with pytest.raises(AssertionError, match=r"Guard failed: x.dtype == torch.float32"):
        run(torch.ones(4, 3, dtype=torch.float64), torch.ones(4, 3))


def test_files_take_size_one_and_not_zero():
    file = io.BytesIO()
    torch.export.save(_program(torch, lambda x, y: x * 2, lambda D: ({0: D("a")}, None), ((4, 3), (4, 3))), file)
    run = torch.export.load(io.BytesIO(file.getvalue())).module()
    assert run(torch.ones(1, 3), torch.ones(4, 3)).shape == (1, 3)
    with pytest.raises(NotImplementedError, match="size 0"):
        run(torch.ones(0, 3), torch.ones(4, 3))
