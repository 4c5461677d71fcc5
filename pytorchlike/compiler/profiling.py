"""The profiler that is active when a call is captured gives way to the watch, and is there again afterwards."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["resume", "suspend"]


def suspend() -> Any:
    """Stop the thread's profiler; returns what `resume` takes."""
    profiler: Any = sys.getprofile()
    if profiler is not None and not callable(profiler):  # cProfile's, which would go on with what it had seen when it was stopped
        profiler.disable()
    else:
        sys.setprofile(None)
    return profiler


def resume(profiler: Any) -> None:
    """Go on with a profiler."""
    if profiler is not None and not callable(profiler):
        profiler.enable()
    else:
        sys.setprofile(profiler)
