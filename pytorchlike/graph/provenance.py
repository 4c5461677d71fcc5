"""Which line of the user's code recorded an operator."""

from __future__ import annotations

import os
import sys

__all__ = ["is_user_file", "user_line"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_user_file(filename: str) -> bool:
    """Whether a source file is outside of this package (and not part of its import machinery)."""
    return not filename.startswith((_PACKAGE, "<pytorchlike"))


def user_line() -> str:
    """``file:line`` of the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
