"""`spawn`: a function in several processes, whose errors arrive in this one."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

__all__ = [
    "ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn", "start_processes",
]  # fmt: skip

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):  # noqa: N818 - torch's name
    """A process failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _wrap(fn: Callable, i: int, args: tuple, error_file: str) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that `start_processes` started."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: k for k, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for a process to end; True when all have ended.

        Raises:
            ProcessRaisedException, ProcessExitedException: one failed; the others are ended.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            k = self.sentinels.pop(sentinel)  # type: ignore[arg-type]
            self.processes[k].join()
            if self.processes[k].exitcode != 0:
                failed = k
                break
        if failed is None:
            return not self.sentinels
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()
        self._raise(failed)
        return False

    def _raise(self, k: int) -> None:
        process = self.processes[k]
        if os.path.getsize(self.error_files[k]):
            with open(self.error_files[k], "rb") as file:
                text = pickle.load(file)
            raise ProcessRaisedException(f"\n\n-- Process {k} terminated with the following error:\n{text}", k, process.pid)
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(f"process {k} terminated with signal {name}", k, process.pid, code, name)
        raise ProcessExitedException(f"process {k} terminated with exit code {code:d}", k, process.pid, code)


class SpawnContext(ProcessContext):
    """Processes that `spawn` started."""


def start_processes(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn") -> Any:
    """Run ``fn(i, *args)`` in ``nprocs`` processes.

    Args:
        join: wait for all of them; otherwise a `ProcessContext` is returned.
        start_method: as for Python's multiprocessing; "spawn", as XLA's threads do not survive a fork.
    """
    context = multiprocessing.get_context(start_method)
    processes, files = [], []
    for i in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="spawn-errors-", suffix=".pickle", delete=False) as file:
            files.append(file.name)
        process = context.Process(target=_wrap, args=(fn, i, args, files[-1]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    started = SpawnContext(processes, files)
    if not join:
        return started
    try:
        while not started.join():
            pass
    finally:
        for name in files:
            os.unlink(name)
    return None


def spawn(fn: Callable, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn") -> Any:
    """`start_processes` in new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, "spawn")
