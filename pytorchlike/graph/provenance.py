"""Which line of the user's code recorded an operator."""

from __future__ import annotations

import os
import sys
import traceback

__all__ = ["as_text", "user_line", "user_stack"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


#: How the names of our source files (and of generated functions) start.
OURS = (_PACKAGE, "<pytorchlike")


def user_line() -> tuple[str, int] | None:
    """File and line of the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(OURS):
            return filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def user_stack() -> list[str]:
    """The stack's frames outside of this package as text, outermost first."""
    frames = [frame for frame in traceback.extract_stack(sys._getframe(1)) if not frame.filename.startswith(OURS)]
    return traceback.StackSummary.from_list(frames).format()


def as_text(line: tuple[str, int] | None) -> str:
    """``file:line``; empty where it is not known."""
    return "" if line is None else f"{line[0]}:{line[1]}"
