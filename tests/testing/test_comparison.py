"""`assert_close` raises what torch's raises, with the same text."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import pytorchlike as ours

NAN, INF = float("nan"), float("inf")


def _failure(module: Any, make: Callable, method: str = "assert_close") -> tuple[str, str] | None:
    """(type, text) of the error, None when nothing is raised."""
    actual, expected, options = make(module)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(module.testing, method)(actual, expected, **options)
    except Exception as error:
        return type(error).__name__, str(error).replace("pytorchlike.", "torch.")
    return None


def _tensors(left: Any, right: Any, dtype: str = "float32", other: str | None = None, **options: Any) -> Callable:
    return lambda T: (T.tensor(left, dtype=getattr(T, dtype)), T.tensor(right, dtype=getattr(T, other or dtype)), options)


CASES = {
    "equal": _tensors([1.0, 2.0], [1.0, 2.0]),
    "far": _tensors([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.5], [3.0, 4.1]]),
    "within tolerance": _tensors([1.0, 2.0], [1.0, 2.000001]),
    "just outside": _tensors([1.0, 1.0], [1.0, 1.0 + 2e-5]),
    "double": _tensors([1.0, 2.0], [1.0, 2.0 + 5e-7], "float64"),
    "half": _tensors([1.0, 2.0], [1.003, 2.001], "float16"),
    "bfloat16": _tensors([1.0, 2.0, 100.0], [1.03, 2.001, 101.5], "bfloat16"),
    "bfloat16 outside": _tensors([1.0, 2.0, 100.0], [1.05, 2.1, 103.0], "bfloat16"),
    "complex": _tensors([1 + 1j, 2.0], [1 + 2j, 2.0], "complex64"),
    "integers": _tensors([1, 2, 3], [1, 5, 0], "int64"),
    "unsigned": _tensors([1, 2, 3], [1, 5, 255], "uint8"),
    "bools": _tensors([True, False], [False, False], "bool"),
    "a tolerance for integers": _tensors([1, 2, 30], [1, 4, 31], "int32", rtol=0.1, atol=1.0),
    "scalars": _tensors(1.0, 2.0),
    "a scalar of zero": _tensors(1.0, 0.0),
    "zero expected": _tensors([1.0, 0.0], [0.0, 0.0]),
    "nan": _tensors([NAN, 1.0], [NAN, 2.0]),
    "equal nan": _tensors([NAN, 1.0], [NAN, 1.0], equal_nan=True),
    "nan against a number": _tensors([1.0, NAN], [1.0, 1.0], equal_nan=True),
    "infinity": _tensors([INF, -INF, 1.0], [INF, INF, 1.0]),
    "a scalar nan": _tensors(NAN, NAN),
    "both tolerances": _tensors([1.0, 2.0], [1.05, 2.2], rtol=0.0, atol=0.1),
    "no tolerance": _tensors([1.0, 2.0], [1.0, 2.0000002], rtol=0, atol=0),
    "one tolerance": _tensors([1.0], [1.0], rtol=1e-3),
    "float8": _tensors([1.0, 2.0], [1.0, 3.0], "float8_e5m2"),
    "float8 with a tolerance": _tensors([1.0], [1.0], "float8_e5m2", rtol=1e-3, atol=0.0),
    "dtype": _tensors([1.0], [1.0], "float32", "float64"),
    "dtype not checked": _tensors([1.0], [1.1], "float32", "float64", check_dtype=False),
    "int beside float": _tensors([1, 2], [1.0, 2.5], "int64", "float32", check_dtype=False),
    "uint16 beside int": _tensors([1, 2], [1, 4], "uint16", "int8", check_dtype=False),
    "shape": _tensors([1.0], [1.0, 2.0]),
    "empty": _tensors([], []),
    "strides": lambda T: (T.ones(2, 3), T.ones(3, 2).t(), {"check_stride": True}),
    "strides not checked": lambda T: (T.ones(2, 3), T.ones(3, 2).t(), {}),
    "meta": lambda T: (T.empty(2, device="meta"), T.empty(2, device="meta"), {}),
    "devices": lambda T: (T.empty(2, device="meta"), T.empty(2), {}),
    "with a gradient": lambda T: (T.ones(2, requires_grad=True), T.zeros(2), {}),
    "numbers": lambda T: (1.0, 1.1, {}),
    "an int beside a float": lambda T: (1, 1.0, {}),
    "an int near a float": lambda T: (1, 1.0, {"check_dtype": False}),
    "complex numbers": lambda T: (1 + 1j, 1 + 2j, {}),
    "ints": lambda T: (1, 2, {}),
    "numpy numbers": lambda T: (np.float32(1.0), 1.5, {}),
    "nan numbers": lambda T: (NAN, NAN, {"equal_nan": True}),
    "bool values": lambda T: (True, np.bool_(False), {}),
    "None": lambda T: (None, 1, {}),
    "two None": lambda T: (None, None, {}),
    "numpy arrays": lambda T: (np.array([1.0, 2.0]), np.array([1.0, 3.0]), {}),
    "a numpy array beside a tensor": lambda T: (np.array([1.0]), T.ones(1), {}),
    "strings": lambda T: ("a", "b", {}),
    "sequences": lambda T: ([T.ones(1), 2.0], (T.ones(1), 3.0), {}),
    "lengths": lambda T: ([1.0], [1.0, 2.0], {}),
    "nested": lambda T: ({"a": [T.ones(1), (T.ones(2), T.zeros(2))]}, OrderedDict(a=[T.ones(1), (T.ones(2), T.ones(2))]), {}),
    "keys": lambda T: ({"a": 1, "b": 2}, {"b": 2, "c": 3}, {}),
    "a tolerance inside": lambda T: ({"a": [1.0]}, {"a": [1.0]}, {"rtol": 1.0}),
    "the first of several": lambda T: ([1.0, 2.0, 3.0], [1.0, 4.0, 5.0], {}),
    "subclass": lambda T: (T.nn.Parameter(T.ones(2)), T.ones(2), {}),
    "subclass refused": lambda T: (T.nn.Parameter(T.ones(2)), T.ones(2), {"allow_subclasses": False}),
    "message": lambda T: (T.ones(2), T.zeros(2), {"msg": "no"}),
    "a function for the message": lambda T: ([T.ones(2)], [T.zeros(2)], {"msg": lambda text: f"<{text}>"}),
}


@pytest.mark.parametrize("name", CASES)
def test_same_text(name: str) -> None:
    assert _failure(ours, CASES[name]) == _failure(real_torch, CASES[name])


ALLCLOSE = ("equal", "far", "double", "half", "nan", "dtype", "integers", "numbers", "numpy arrays", "shape")


@pytest.mark.parametrize("name", ALLCLOSE)
def test_allclose(name: str) -> None:
    theirs = _failure(real_torch, CASES[name], "assert_allclose")
    assert _failure(ours, CASES[name], "assert_allclose") == theirs


def test_allclose_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="assert_allclose"):
        ours.testing.assert_allclose(1.0, 1.0)


def test_default_tolerances() -> None:
    from pytorchlike.testing._comparison import default_tolerances

    assert default_tolerances(ours.float32, ours.ones(1, dtype=ours.float16)) == (1e-3, 1e-5)
    with pytest.raises(TypeError, match="Expected a torch.Tensor or a torch.dtype, but got <class 'int'> instead"):
        default_tolerances(1)


def test_a_bool_is_no_number() -> None:
    with pytest.raises(AssertionError, match="'dtype' do not match"):  # torch fails by accident, in a RuntimeError that asks for a bug report
        ours.testing.assert_close(True, 1)
