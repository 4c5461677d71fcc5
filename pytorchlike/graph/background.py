"""A thread that compiles programs while they are still interpreted."""

from __future__ import annotations

import atexit
import collections
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Job", "submit"]


class Job:
    """A compilation that the background thread does, or whoever needs its result first."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work: Callable[[], Any] | None = work
        self._claim = threading.Lock()
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do the work, unless somebody else does."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            assert self._work is not None
            self._result = self._work()
        except BaseException as error:
            self._error = error
        self._work = None
        self._done.set()

    def result(self) -> Any:
        """The result, made here and now if nobody has begun with it.

        Raises:
            What the work raised.
        """
        self.run()
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result


_waiting: collections.deque[Job] = collections.deque()
_is_there_work = threading.Semaphore(0)
_thread: threading.Thread | None = None
_start_lock = threading.Lock()
_stops = False


def submit(work: Callable[[], Any]) -> Job:
    """Have something done in the background, after what was submitted before."""
    global _thread
    job = Job(work)
    _waiting.append(job)
    with _start_lock:
        if _thread is None:
            # A daemon, and joined at exit by us: the process waits for the compilation that is under way (a thread must not be cut off in
            # the middle of it), but not for those behind.
            _thread = threading.Thread(target=_serve, name="pytorchlike-compiler", daemon=True)
            _thread.start()
            atexit.register(_stop)
    _is_there_work.release()
    return job


def _serve() -> None:
    while True:
        _is_there_work.acquire()
        if _stops:
            return
        _waiting.popleft().run()


def _stop() -> None:
    global _stops
    _stops = True
    _is_there_work.release()
    if _thread is not None:
        _thread.join()
