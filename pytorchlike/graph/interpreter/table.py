"""The table of JAX primitives that numpy can run, which the other files of this folder fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PRIMITIVES", "Equation", "NotInterpretable", "Run", "dtype_of", "primitive", "widened"]

#: A prepared primitive: arrays in, an array out (a sequence of them where the primitive has several results).
Run = Callable[..., Any]

#: An equation of a jaxpr (``sizes.Equation``).
Equation = Any

#: primitive's name -> what prepares one equation of it.
PRIMITIVES: dict[str, Callable[[Equation], Run]] = {}


class NotInterpretable(Exception):  # noqa: N818
    """A primitive, or a way of using it, that numpy is not made to run: XLA has to."""


def primitive(*names: str) -> Callable[[Callable[[Equation], Run]], Callable[[Equation], Run]]:
    """Enter a function that prepares equations of these primitives.

    It reads the equation's parameters and avals once and returns the function of arrays that runs it; it raises `NotInterpretable` where
    it can not.
    """

    def enter(prepare: Callable[[Equation], Run]) -> Callable[[Equation], Run]:
        for name in names:
            PRIMITIVES[name] = prepare
        return prepare

    return enter


def dtype_of(variable: Any) -> np.dtype:
    """The numpy dtype of a variable of a jaxpr."""
    return np.dtype(variable.aval.dtype)


#: What sums of narrow floats are computed in, as XLA does on the CPU.
_WIDE = {"float16": np.dtype(np.float32), "bfloat16": np.dtype(np.float32)}


def widened(dtype: np.dtype) -> np.dtype:
    """The dtype in which to accumulate numbers of a dtype."""
    return _WIDE.get(dtype.name, dtype)
