"""The names of CUDA graphs.  XLA runs programs, which `torch.compile` captures, so none can be made; code that only mentions them runs."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"torch.cuda.{name}: there are no CUDA graphs on XLA; torch.compile makes one program of a function")


class CUDAGraph:
    """Work recorded from a stream.

    Raises:
        RuntimeError: always, when it is made.
    """

    __module__ = "torch.cuda"

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("CUDAGraph")


class graph:  # noqa: N801 - torch's name
    """A block whose work is recorded.

    Raises:
        RuntimeError: always, when it is made.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("graph")


def graph_pool_handle() -> NoReturn:
    """Memory that graphs share.

    Raises:
        RuntimeError: always.
    """
    _refuse("graph_pool_handle")


def make_graphed_callables(*_: Any, **__: Any) -> NoReturn:
    """Functions that replay graphs.

    Raises:
        RuntimeError: always.
    """
    _refuse("make_graphed_callables")


def is_current_stream_capturing() -> bool:
    """Always False: programs are compiled by XLA, not captured from a stream."""
    return False
