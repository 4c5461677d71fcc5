"""The errors of exporting, under torch's names."""

from __future__ import annotations

from enum import Enum, auto

from ..compiler.compiled import Unsupported

__all__ = ["ConstraintViolationError", "UserError", "UserErrorType"]


class UserErrorType(Enum):
    """What was used in a way that cannot be."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(Unsupported):
    """A compiled or exported function was used in a way that cannot be.

    Attributes:
        error_type: its kind.
        msg: its text.
    """

    __module__ = "torch._dynamo.exc"

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type, self.msg, self.case_name = error_type, msg, case_name


class ConstraintViolationError(RuntimeError):
    """An example's size is not what its dimension was said to be."""

    __module__ = "torch.fx.experimental.symbolic_shapes"
