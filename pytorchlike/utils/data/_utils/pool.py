"""The main process's side of the worker processes: starting them, tasks to them and batches from them, their end."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn

from . import transport
from .worker import Setup, run_worker

__all__ = ["Pool"]

#: Seconds that workers have to end by themselves.
_PATIENCE = 5.0
#: The environment of workers: the host alone, one thread each, as torch's.
_ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "NPROC": "1"}
_ADVICE = (
    "It is sent to worker processes, which are new interpreters, so it must be possible to pickle it: define classes and functions at the top of a "
    "module instead of inside functions, use named functions instead of lambdas (or install cloudpickle, which sends these and classes of the main "
    "module), open files and connections in the worker (in __getitem__ or worker_init_fn), or use num_workers=0."
)
_PARTS = {"dataset": "dataset", "collate_fn": "collate_fn", "init_fn": "worker_init_fn"}


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Processes started here do not run the program's main module again: what they need of it is sent to them.

    So programs without ``if __name__ == "__main__":`` and notebooks can have workers.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _pack_setup(setup: Setup) -> tuple[transport.Message, bool]:
    """The packed setup, and whether it has all that it needs of the main module.

    Raises:
        pickle.PicklingError: it cannot be pickled; the message names the part.
    """
    if transport.can_pickle_by_value():
        with contextlib.suppress(Exception):
            return transport.pack(setup, by_value=True), True
    try:
        return transport.pack(setup), False
    except Exception as error:
        for name, argument in _PARTS.items():
            try:
                transport.pack(getattr(setup, name))
            except Exception as found:
                value = getattr(setup, name)
                what = value if isinstance(value, types.FunctionType) else f"of type {type(value).__name__}"
                raise pickle.PicklingError(f"DataLoader(num_workers={setup.num_workers}): the {argument} ({what}) cannot be pickled: {found}. {_ADVICE}") from found
        raise pickle.PicklingError(f"DataLoader(num_workers={setup.num_workers}): {error}. {_ADVICE}") from error


def _stop(processes: list, connections: list) -> None:
    """End workers: they see the connection close and leave after the batch they are at; those that do not are ended."""
    for connection in connections:
        connection.close()
    for process in processes:
        process.join(_PATIENCE)
    for end in ("terminate", "kill"):
        for process in processes:
            if process.is_alive():
                getattr(process, end)()
                process.join(_PATIENCE)


def _start_context(context: Any) -> Any:
    if context is not None and context.get_start_method() != "fork":
        return context
    if context is not None:
        warnings.warn(
            "DataLoader(multiprocessing_context='fork'): worker processes are spawned instead, since the threads of XLA do not survive a fork",
            UserWarning,
            stacklevel=5,
        )
    return multiprocessing.get_context("spawn")


class Pool:
    """The workers of an iterator; they end with it.

    Args:
        context: a context of ``multiprocessing``; None spawns.

    Attributes:
        processes: one a worker.
    """

    def __init__(self, setup: Setup, context: Any, timeout: float) -> None:
        self.timeout = timeout
        context = _start_context(context)
        message, has_main = _pack_setup(setup)
        self.processes: list[Any] = []
        self.connections: list[Any] = []
        self.stop = weakref.finalize(self, _stop, self.processes, self.connections)
        alias = sys.modules.get("torch") is sys.modules[__name__.partition(".")[0]]
        with _environment(), _without_main_module() if has_main else contextlib.nullcontext():
            for worker in range(setup.num_workers):
                ours, theirs = context.Pipe(duplex=True)
                self.connections.append(ours)
                process = context.Process(target=run_worker, args=(theirs, worker, alias), daemon=True, name=f"DataLoader-worker-{worker}")
                try:
                    process.start()
                finally:
                    theirs.close()
                self.processes.append(process)
        if transport.has_blocks():  # all map the same memory
            block = transport.Block(message)
            try:
                for worker in range(setup.num_workers):
                    self._deliver(worker, block)
            finally:
                block.close()
        else:
            for worker in range(setup.num_workers):
                self._deliver(worker, message)

    def _deliver(self, worker: int, what: Any) -> None:
        connection = self.connections[worker]
        try:
            if isinstance(what, transport.Message):
                transport.send(connection, what)
            else:
                what.send(connection)
        except (BrokenPipeError, ConnectionResetError):
            self._raise_death(worker)

    def send(self, worker: int, value: Any) -> None:
        """Give a worker a task."""
        self._deliver(worker, transport.pack(value, elements_only=True))

    def receive(self, workers: list[int]) -> Any:
        """The next answer of one of the workers.

        Raises:
            RuntimeError: none came in time, or a worker has died.
        """
        if not self.stop.alive:
            raise RuntimeError("DataLoader: the worker processes have ended")
        connections = {self.connections[worker]: worker for worker in workers}
        ready = multiprocessing.connection.wait(list(connections), self.timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        try:
            message = transport.receive(ready[0])  # type: ignore[arg-type]
        except (EOFError, ConnectionResetError):
            self._raise_death(connections[ready[0]])  # type: ignore[index]
        return transport.unpack(message)

    def finish(self, worker: int) -> None:
        """Let one worker end."""
        self.connections[worker].close()

    def _raise_death(self, worker: int) -> NoReturn:
        process = self.processes[worker]
        process.join(_PATIENCE)
        code = process.exitcode
        self.stop()
        if code is not None and code < 0:
            reason = f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. "
        else:
            reason = (
                f"DataLoader worker (pid {process.pid}) ended with exit code {code}; its output says why. If the program has no "
                "'if __name__ == \"__main__\":' around what starts the workers, it was run again in the worker."
            )
        raise RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly") from RuntimeError(reason)
