"""Whether `torch.jit.trace` runs a function in this thread, and whether scripting is on at all (``PYTORCH_JIT=0`` turns it off)."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

__all__ = ["TracingState", "enabled", "get_tracing_state", "is_tracing", "tracing"]


class TracingState:
    """What `torch._C._get_tracing_state` answers while something is traced."""


class _Thread(threading.local):
    state: TracingState | None = None


_thread = _Thread()


def enabled() -> bool:
    """Whether `script` and `trace` do anything."""
    return os.environ.get("PYTORCH_JIT", "1") not in ("0", "")


def get_tracing_state() -> TracingState | None:
    """The state of the trace that is being made; None when there is none."""
    return _thread.state


def is_tracing() -> bool:
    """Whether `torch.jit.trace` is running the code."""
    return _thread.state is not None


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """Have code inside the block know that it is traced."""
    previous, _thread.state = _thread.state, TracingState()
    try:
        yield
    finally:
        _thread.state = previous
