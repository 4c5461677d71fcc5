"""What torch's own file of functionals imports or defines for its use (functions copied from there name it), and functions that are no operators."""

from __future__ import annotations

from typing import Any, Optional

from ...aten.grouped_matmul import ScalingType, SwizzleType, scaled_grouped_mm, scaled_mm
from ...overrides import handle_torch_function, has_torch_function, has_torch_function_unary, has_torch_function_variadic
from ...tensors.tensor import Tensor
from .. import grad

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "Optional", "ScalingType", "SwizzleType", "Tensor", "assert_int_or_pair", "grad",
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "scaled_grouped_mm", "scaled_mm",
]  # fmt: skip

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """Refuse what is neither a number nor two of them.

    Args:
        message: has a place for the name.
    """
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))
