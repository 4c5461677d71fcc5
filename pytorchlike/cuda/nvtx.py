"""``torch.cuda.nvtx``: marks in NVIDIA's profiler, which JAX's own profiler takes the place of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse(*_: Any, **__: Any) -> NoReturn:
    """A mark.

    Raises:
        RuntimeError: always, torch's text.
    """
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_push = range_pop = range_start = range_end = mark = _refuse


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block with a mark.

    Raises:
        RuntimeError: always, torch's text.
    """
    range_push(msg.format(*args, **kwargs))
    yield
