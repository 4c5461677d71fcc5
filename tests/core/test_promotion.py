"""Every pair of dtypes and kinds against torch.promote_types, can_cast and result_type."""

import itertools

import numpy as np
import pytest
import torch

from pytorchlike.core.dtype import BY_NAME, float32, float64
from pytorchlike.core.promotion import DIM, NUMBER, ZERO_DIM, can_cast, number_dtype, promote_types, result_dtype

NUMBERS = {"bool": True, "int64": 3, "float32": 1.5, "complex64": 2j}
OPERANDS = [*itertools.product(BY_NAME, (DIM, ZERO_DIM)), *itertools.product(NUMBERS, (NUMBER,))]


def theirs(name):
    return getattr(torch, name)


def answer(function, *args):
    """The dtype's name, or the error text."""
    try:
        return str(function(*args))
    except RuntimeError as error:
        # torch's complex32 has no counterpart here
        return str(error)


def torch_operand(name, kind):
    if kind == NUMBER:
        return NUMBERS[name]
    return torch.empty((2,) if kind == DIM else (), dtype=theirs(name))


def without_complex32(text):
    return text.replace("complex32", "complex64")


def test_promote_types_of_every_pair():
    for a, b in itertools.product(BY_NAME, BY_NAME):
        assert answer(promote_types, BY_NAME[a], BY_NAME[b]) == answer(torch.promote_types, theirs(a), theirs(b)), (a, b)


def test_can_cast_of_every_pair():
    for a, b in itertools.product(BY_NAME, BY_NAME):
        assert can_cast(BY_NAME[a], BY_NAME[b]) == torch.can_cast(theirs(a), theirs(b)), (a, b)


@pytest.mark.parametrize("default", [float32, float64], ids=str)
def test_result_dtype_of_every_pair_and_kind(default):
    torch.set_default_dtype(theirs(default.name))
    try:
        for a, b in itertools.product(OPERANDS, OPERANDS):
            operands = [(BY_NAME[name], kind) for name, kind in (a, b)]
            expected = without_complex32(answer(torch.result_type, torch_operand(*a), torch_operand(*b)))
            assert answer(result_dtype, operands, default) == expected, (a, b)
    finally:
        torch.set_default_dtype(torch.float32)


def test_three_kinds_decide_by_category():
    int32, bool_ = BY_NAME["int32"], BY_NAME["bool"]
    assert result_dtype([(int32, DIM), (float64, ZERO_DIM), (float32, NUMBER)], float32) is float64
    assert result_dtype([(int32, DIM), (bool_, ZERO_DIM), (float64, NUMBER)], float32) is float32
    with pytest.raises(ValueError):
        result_dtype([], float32)


@pytest.mark.parametrize(
    "value", [True, 3, 1.5, 2j, np.int8(1), np.uint64(3), np.float16(1), np.float64(1), np.complex128(1j), np.bool_(True)], ids=repr
)
def test_number_dtype(value):
    for name in ("bool", "int32", "float32"):
        expected = torch.result_type(torch.empty(2, dtype=theirs(name)), value)
        got = result_dtype([(BY_NAME[name], DIM), (number_dtype(value, float32), NUMBER)], float32)
        assert str(got) == str(expected), name
