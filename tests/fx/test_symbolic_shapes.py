"""What code asks of sizes that may be symbols has torch's answers for numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch.fx.experimental.symbolic_shapes as theirs

import pytorchlike
import pytorchlike.fx.experimental.symbolic_shapes as ours
from pytorchlike import types

CASES = [
    ("guard_or_false", True), ("guard_or_true", False), ("statically_known_true", True), ("statically_known_false", True), ("guard_size_oblivious", False),
    ("guard_int", 3), ("guard_bool", True), ("guard_float", 2.5), ("guard_scalar", 7), ("guard_scalar", "a"), ("is_symbolic", 3), ("is_concrete_int", 3),
    ("is_concrete_int", 2.0), ("is_concrete_bool", False), ("is_concrete_float", 1.5), ("has_static_value", 3), ("has_free_symbols", 3),
    ("sym_eq", (2, 3), (2, 3)), ("sym_eq", [2], (2,)), ("sym_eq", 2, 3), ("sym_eq", 2, "a"), ("sym_and", True, True, False), ("sym_or", False, True),
]  # fmt: skip


def outcome(module: Any, name: str, arguments: tuple) -> Any:
    try:
        return getattr(module, name)(*arguments)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers(case: tuple) -> None:
    assert outcome(ours, case[0], case[1:]) == outcome(theirs, case[0], case[1:])


def test_nothing_is_a_symbol() -> None:
    size = pytorchlike.ones(2, 3).shape[0]
    assert not isinstance(size, types.py_sym_types) and isinstance(size, types.IntLikeType)
    with pytest.raises(NotImplementedError, match="torch.SymInt"):
        pytorchlike.SymInt(3)
