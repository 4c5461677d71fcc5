"""What lower layers tell the capture of a compiled function's call (compiler/capture.py), when there is one.

A captured call is replayed without running Python.  What has to happen anew each time (a scheduler's step, random draws) is handed
over here, and so is what cannot be replayed at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .state import thread

__all__ = ["break_capture", "drawn", "is_captured", "on_host"]


def is_captured() -> bool:
    """Whether what runs now will be replayed without Python, so that numbers on the device cannot decide what it does."""
    capture = thread.state.capture
    return capture is not None and not capture.paused


def break_capture(reason: str) -> None:
    """Tell the capture of this thread, if there is one, that something cannot be replayed."""
    if is_captured():
        thread.state.capture.give_up(reason)


def on_host(function: Callable[..., Any], *args: Any) -> Any:
    """Run bookkeeping of Python numbers (a scheduler's step), which each replay runs again at the same place."""
    capture = thread.state.capture
    return function(*args) if capture is None or capture.paused else capture.run_on_host(function, args)


def drawn(make: Callable[[], Any]) -> Any:
    """A tensor of random numbers; each replay draws it anew.

    Args:
        make: draws the numbers and makes a plain tensor of them.
    """
    capture = thread.state.capture
    if capture is None or capture.paused:
        return make()
    with capture.pause():
        made = make()
    capture.note_draw(made, make)
    return made
