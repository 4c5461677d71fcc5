"""Streams and events.  XLA orders the work of a device itself, so there is one stream a device and waiting for it waits for all."""

from __future__ import annotations

import time
from typing import Any

from ..core.device import device, jax_device
from .state import current_index, index_of, require_device, select

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream", "synchronize"]


def synchronize(device: Any = None) -> None:
    """Run what is recorded and wait until a GPU has done all it was given."""
    require_device()
    index = index_of(device)
    _wait(current_index() if index < 0 else index)


def _wait(index: int) -> None:
    import jax

    from ..graph.recorder import step_boundary

    step_boundary("synchronize")
    target = jax_device(device("cuda", index))
    for array in jax.live_arrays():
        if not array.is_deleted() and target in array.devices():
            array.block_until_ready()


class Stream:
    """A device's queue of work.  All streams of a device are the same queue here; ``priority`` changes nothing."""

    cuda_stream = 0

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        require_device()
        index = index_of(device)
        self.device_index = current_index() if index < 0 else index
        self.priority = priority

    @property
    def device(self) -> Any:
        return device("cuda", self.device_index)

    def synchronize(self) -> None:
        """Wait for the device."""
        _wait(self.device_index)

    def query(self) -> bool:
        """Whether all work is done; it is, after waiting for it."""
        self.synchronize()
        return True

    def wait_event(self, event: Event) -> None:
        """Nothing to do: one queue keeps the order."""

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to do: one queue keeps the order."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event behind the work given so far."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device_index == other.device_index

    def __hash__(self) -> int:
        return hash(("cuda", self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """A mark in a stream; with ``enable_timing`` recording waits for the device, so that the times between two events are those of the work."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        require_device()
        if interprocess:
            raise NotImplementedError(
                "torch.cuda.Event(interprocess=True): events cannot be shared between processes; use interprocess=False"
            )
        self.enable_timing = enable_timing
        self._seconds: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind the work given so far."""
        if self.enable_timing:
            (current_stream() if stream is None else stream).synchronize()
        self._seconds = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to do: one queue keeps the order."""

    def query(self) -> bool:
        """Whether the work before the mark is done; it is, after waiting for it."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait for the work before the mark."""
        synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two marks.

        Raises:
            ValueError: an event was made without ``enable_timing`` or was not recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._seconds is None or end_event._seconds is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._seconds - self._seconds) * 1000.0


class StreamContext:
    """The given stream's device is the current one inside the ``with`` block; ``None`` changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = current_index()
            select(self.stream.device_index)

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            select(self._before)


def stream(stream: Stream | None) -> StreamContext:
    """The context in which a stream is the current one."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The one stream of a device."""
    return Stream(device)


def default_stream(device: Any = None) -> Stream:
    """The one stream of a device."""
    return Stream(device)


def set_stream(stream: Stream | None) -> None:
    """Make the stream's device the current one."""
    if stream is not None:
        select(stream.device_index)
