"""The notation of the operators' test tables: `Sample` is one call, `T` a tensor in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float32", "float64")
INTS = ("int64", "int32", "uint8")
NUMBERS = (*FLOATS, *INTS)


@dataclass(frozen=True)
class T:
    """A tensor argument: random of this shape, or given values.

    Attributes:
        shape: its shape.
        dtype: torch's name; None takes the sample's.
        low, high: range of the random values (floats: uniform; integers: uniform, high exclusive).
        values: nested list used in place of random values.
        grad: whether a gradient is asked for (None: for floating dtypes).
        transposed: the last two dimensions are laid out in memory the other way round.
    """

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float = -2.0
    high: float = 2.0
    values: Any = None
    grad: bool | None = None
    transposed: bool = False

    def __init__(self, *shape: int, dtype=None, low=-2.0, high=2.0, values=None, grad=None, transposed=False) -> None:
        object.__setattr__(self, "shape", shape if values is None else np.shape(values))
        for name, value in (("dtype", dtype), ("low", low), ("high", high), ("values", values), ("grad", grad), ("transposed", transposed)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Sample:
    """One call of an operator, compared with torch's.

    Attributes:
        path: where the function is found below the package: ``add``, ``nn.functional.relu``, ``Tensor.type_as``.
        args, kwargs: arguments; `T` stands for a tensor, also inside lists.
        dtypes: the dtypes its tensors take in turn, unless they name their own.
        grad, gradgrad: whether gradients are compared.
        tolerance: (rtol, atol) where the dtype's default does not do.
        strides: whether the results' strides are compared.
        reason: why the tolerance differs, or the strides.
    """

    path: str
    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32",)
    grad: bool = True
    gradgrad: bool = True
    tolerance: tuple[float, float] | None = None
    strides: bool = True
    reason: str = ""

    def __init__(self, path: str, *args, dtypes=("float32",), grad=True, gradgrad=True, tolerance=None, strides=True, reason="", **kwargs) -> None:
        if (tolerance is not None or not strides) and not reason:
            raise ValueError(f"{path}: a tolerance of its own, and strides that differ, need a reason")
        for name, value in (("path", path), ("args", args), ("kwargs", kwargs), ("dtypes", dtypes), ("grad", grad), ("gradgrad", gradgrad),
                            ("tolerance", tolerance), ("strides", strides), ("reason", reason)):  # fmt: skip
            object.__setattr__(self, name, value)
