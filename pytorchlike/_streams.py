"""``torch.Stream`` and ``torch.Event``: a device's queue of work and a point in it, whatever the device.

XLA keeps one queue for each device and its order, so there is nothing to order here.
"""

from __future__ import annotations

from typing import Any, Self

from .core.device import as_device
from .core.device import device as _device

__all__ = ["Event", "Stream"]


class Stream:
    """A device's queue of work.

    Args:
        device: the CPU by default.
        priority: changes nothing.
    """

    __module__ = "torch"
    stream_id = 0

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device: _device = _device("cpu") if device is None else as_device(device)

    @property
    def device_index(self) -> int:
        return -1 if self.device.index is None else self.device.index

    def query(self) -> bool:
        """Whether all work is done: it is, as far as anyone can see."""
        return True

    def synchronize(self) -> None:
        """Nothing is to wait for: what reads numbers waits for them."""

    def wait_event(self, event: Any) -> None:
        """Nothing to do: one queue keeps the order."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing to do: one queue keeps the order."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event behind what was recorded so far."""
        return Event(self.device) if event is None else event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A point in a device's queue; always reached.

    Args:
        device: the CPU by default.
        enable_timing, blocking, interprocess: change nothing.
    """

    __module__ = "torch"
    event_id = 0

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.device: _device = _device("cpu") if device is None else as_device(device)

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing is to do."""

    def synchronize(self) -> None:
        """Nothing is to wait for."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing is to wait for."""

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag=0, event_id=0"
