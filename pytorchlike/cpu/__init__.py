"""``torch.cpu``: the CPU with the interface of the other devices; everything it runs is in order, so there is nothing to wait for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ..alias import attribute_fallback
from ..graph.recorder import flush_all

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized", "set_device", "stream",
    "synchronize",
]  # fmt: skip


class Stream:
    """Stands for the one queue of the CPU."""

    def __init__(self, priority: int = -1) -> None: ...

    def wait_stream(self, stream: Any) -> None:
        """Nothing is to wait for."""

    def record_event(self) -> Event:
        """An event behind what was recorded so far."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Nothing is to wait for."""


class Event:
    """A point in the CPU's queue; always reached."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing is to do."""

    def synchronize(self) -> None:
        """Nothing is to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing is to wait for."""


_stream = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1: the CPU counts as one device."""
    return 1


def current_device() -> str:
    """``cpu``."""
    return "cpu"


def set_device(device: Any) -> None:
    """There is one device only."""


def synchronize(device: Any = None) -> None:
    """Run what is recorded, and wait for it."""
    flush_all()


def current_stream(device: Any = None) -> Stream:
    """The one queue."""
    return _stream


class StreamContext(AbstractContextManager):
    """A block that runs in the one queue."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


def stream(stream: Any) -> AbstractContextManager:
    """A block that runs in the one queue."""
    return StreamContext(stream)


__getattr__ = attribute_fallback(__name__, ("amp",))
