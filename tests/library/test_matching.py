from __future__ import annotations

from typing import Any

import numpy as np
import pytest

SCHEMA = (
    "bar(Tensor[] x, int n, float f=1.0, *, Tensor? o=None, int[] w=[1], str s='q', ScalarType? d=None, Device? dev=None, bool b=False, Scalar z=1) -> Tensor"
)
#: What is passed, of the module and a tensor: positional arguments and keywords.
CALLS = {
    "fits": lambda torch, x: (([x], 2), {}),
    "a tuple for a list": lambda torch, x: (((x,), 2), {}),
    "a tensor for a list": lambda torch, x: ((x, 2), {}),
    "a float for an int": lambda torch, x: (([x], 2.5), {}),
    "a tensor for an int": lambda torch, x: (([x], torch.tensor(2)), {}),
    "a numpy number": lambda torch, x: (([x], np.int64(3)), {}),
    "a bool for an int": lambda torch, x: (([x], True), {}),
    "an int for a float": lambda torch, x: (([x], 2, 3), {}),
    "a string for a float": lambda torch, x: (([x], 2, "a"), {}),
    "an int for a list": lambda torch, x: (([x], 2), {"w": 3}),
    "a tuple of ints": lambda torch, x: (([x], 2), {"w": (3, 4)}),
    "floats for ints": lambda torch, x: (([x], 2), {"w": [3.0, 4]}),
    "an int for a string": lambda torch, x: (([x], 2), {"s": 3}),
    "a dtype, a device, an int for a bool": lambda torch, x: (([x], 2), {"d": torch.float32, "dev": "cpu", "b": 1}),
    "a string for a dtype": lambda torch, x: (([x], 2), {"d": "x"}),
    "a float for a number": lambda torch, x: (([x], 2), {"z": 2.5}),
    "a tensor for a number": lambda torch, x: (([x], 2), {"z": x}),
    "None in a list": lambda torch, x: (([x, None], 2), {}),
    "defaults given": lambda torch, x: (([x], 2, 1.0), {"s": "q", "w": [1], "z": 1, "dev": None}),
    "nothing": lambda torch, x: ((), {}),
    "too many": lambda torch, x: (tuple([[x]] * 11), {}),
    "keyword-only by position": lambda torch, x: (([x], 2, 1.0, None), {}),
    "unknown keyword": lambda torch, x: (([x], 2), {"zzz": 3}),
    "given twice": lambda torch, x: (([x], 2), {"n": 3}),
    "an optional tensor": lambda torch, x: (([x], 2), {"o": x}),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_are_matched_as_torchs(call: str, space: str, answer: Any) -> None:
    import torch as real_torch

    import pytorchlike as ours

    found = []
    for torch in (real_torch, ours):
        lib = torch.library.Library(space, "DEF")
        seen: list[Any] = []
        lib.define(SCHEMA)
        lib.impl("bar", lambda *args, seen=seen, **kwargs: (seen.append((args, kwargs)), args[0][0].clone())[1], "CompositeExplicitAutograd")
        args, kwargs = CALLS[call](torch, torch.ones(1))
        result = answer(lambda torch=torch, args=args, kwargs=kwargs: getattr(torch.ops, space).bar(*args, **kwargs))
        found.append((str(result), str(seen)))
        lib._destroy()
    assert found[0] == found[1]


def test_kernel_gets_no_defaults_at_the_end(torch: Any, lib: Any, space: str) -> None:
    lib.define("mid(Tensor x, int a=1, int b=2, int[2] c=3) -> ()")
    seen: list[Any] = []
    lib.impl("mid", lambda x, *rest: seen.append(rest), "CPU")
    mid, x = getattr(torch.ops, space).mid, torch.ones(1)
    mid(x), mid(x, 1), mid(x, b=5), mid(x, b=2), mid(x, c=4)
    assert seen == [(), (), (1, 5), (), (1, 2, [4, 4])]


@pytest.mark.parametrize(
    ("returns", "value", "expected"),
    [
        ("()", None, None), ("int", 3, 3), ("Tensor", None, None), ("Tensor", 3, "Unable to cast 3 to Tensor"), ("()", 1, "to return None but it returned"),
        ("(Tensor, int)", "list", (1.0, 3)), ("Tensor[]", "tuple", [1.0, 3.0]), ("(int, int)", 3, "is not an instance of 'sequence'"),
    ],
)  # fmt: skip
def test_results_are_those_of_the_schema(torch: Any, lib: Any, space: str, returns: str, value: Any, expected: Any) -> None:
    lib.define(f"r(Tensor x) -> {returns}")
    known = {"list": [torch.tensor(1.0), 3], "tuple": (torch.tensor(1.0), torch.tensor(3.0))}
    lib.impl("r", lambda x: known.get(value, value), "CPU")
    call = getattr(torch.ops, space).r
    if isinstance(expected, str):
        with pytest.raises((RuntimeError, TypeError), match=expected):
            call(torch.ones(1))
        return
    assert call(torch.ones(1)) == expected and type(call(torch.ones(1))) is type(expected)
