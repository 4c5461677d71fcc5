"""What a program gives on torch and on pytorchlike: its result, its warnings, or its error's type and text; all must agree."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import pytorchlike as ours

__all__ = ["agree", "named_programs", "outcome"]


def plain(result: Any) -> Any:
    """Tensors as dtype, shape and numbers; containers as lists; everything else as it is."""
    if isinstance(result, (real_torch.Tensor, ours.Tensor)):
        return [str(result.dtype), list(result.shape), result.detach().tolist()]
    if isinstance(result, (list, tuple)):
        return [plain(r) for r in result]
    if isinstance(result, dict):
        return {k: plain(v) for k, v in result.items()}
    return result


def outcome(program: Callable[[Any], Any], torch: Any) -> Any:
    """The result of ``program(torch)`` as plain data, or the error as (type, text); and the warnings' texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = plain(program(torch))
        except Exception as error:
            found = [type(error).__name__, str(error)]
    return found, [[w.category.__name__, re.sub(r" \(Triggered internally at .*\)$", "", str(w.message))] for w in caught]


def assert_close(mine: Any, theirs: Any, path: str = "") -> None:
    """Equal, floats up to rounding."""
    if isinstance(theirs, float) and isinstance(mine, float):
        assert mine == pytest.approx(theirs, rel=1e-5, abs=1e-6, nan_ok=True), path
    elif isinstance(theirs, (list, tuple)) and isinstance(mine, (list, tuple)):
        assert len(mine) == len(theirs), f"{path}: {mine} instead of {theirs}"
        for k, (m, t) in enumerate(zip(mine, theirs, strict=True)):
            assert_close(m, t, f"{path}[{k}]")
    elif isinstance(theirs, dict) and isinstance(mine, dict):
        assert_close([*mine.items()], [*theirs.items()], path)
    else:
        assert mine == theirs, f"{path}: {mine!r} instead of {theirs!r}"


def agree(program: Callable[[Any], Any]) -> None:
    """Run a program on both and compare."""
    theirs = outcome(program, real_torch)
    assert_close(outcome(program, ours), theirs)


def named_programs(programs: list[Callable[[Any], Any]]) -> Any:
    """Parametrize a test over programs, named after their functions."""
    return pytest.mark.parametrize("program", programs, ids=[p.__name__ for p in programs])
