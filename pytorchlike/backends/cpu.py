"""``torch.backends.cpu``, and how many threads XLA's CPU device computes with."""

from __future__ import annotations

import functools
import os
import platform
import sys
import warnings
from pathlib import Path

__all__ = ["get_cpu_capability", "get_num_interop_threads", "get_num_threads", "set_num_interop_threads", "set_num_threads"]

#: XLA reads it when its CPU device starts; without it, it takes one thread a core that this process may use.
_VARIABLE = "NPROC"


@functools.cache
def get_cpu_capability() -> str:
    """The widest vector instructions of the processor: ``AVX512``, ``AVX2``, ``SVE`` or ``DEFAULT``."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return "DEFAULT"
    if platform.machine() in ("aarch64", "arm64"):
        return "SVE" if "sve" in flags else "DEFAULT"
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= flags else "DEFAULT"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """How many threads an operator on the CPU may use."""
    stated = os.environ.get(_VARIABLE, "")
    return int(stated) if stated.isdigit() and int(stated) > 0 else _cores()


def set_num_threads(num: int) -> None:
    """Choose the number of threads; it counts only before the first computation, when XLA starts its pool.

    Raises:
        RuntimeError: it is no positive int, torch's text.
    """
    _checked("set_num_threads", num)
    if num == get_num_threads():
        return
    if _xla_runs():
        _warn_started()
    else:
        os.environ[_VARIABLE] = str(num)


def get_num_interop_threads() -> int:
    """How many operators may run side by side: XLA draws them from the same pool."""
    return get_num_threads()


def set_num_interop_threads(num: int) -> None:
    """Accepted; XLA has one pool, see `set_num_threads`.

    Raises:
        RuntimeError: it is no positive int, torch's text.
    """
    _checked("set_num_interop_threads", num)


def _checked(function: str, num: int) -> None:
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{function} expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"{function} expects a positive integer")


def _xla_runs() -> bool:
    bridge = sys.modules.get("jax._src.xla_bridge")
    asked = getattr(bridge, "backends_are_initialized", None)
    return bridge is not None and (asked is None or asked())


@functools.cache
def _warn_started() -> None:
    warnings.warn(
        f"set_num_threads has no effect now: XLA has started its {get_num_threads()} threads. Call it before the first computation, "
        f"or start the program with {_VARIABLE}=N",
        UserWarning,
        stacklevel=3,
    )
