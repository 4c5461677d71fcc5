"""`get_ctx`: what a fake kernel may ask for while it runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .operators import Kernel

__all__ = ["get_ctx", "meta_kernel"]


class _Running(threading.local):
    """Per thread: the error that a call of `get_ctx` raises inside of a fake kernel."""

    refusal: str | None = None


_running = _Running()


def get_ctx() -> Any:
    """The context of the fake kernel that is running; None outside of one.

    Raises:
        RuntimeError: the kernel runs on tensors of the device "meta", as all do here; torch's text.
    """
    if _running.refusal is not None:
        raise RuntimeError(_running.refusal)
    return None


def meta_kernel(name: str, fake: Kernel) -> Callable:
    """A fake kernel as one for tensors on the device "meta"."""
    refusal = (
        f"{name} ({fake.source}): You're trying to run this operator with meta Tensors (as opposed to FakeTensors), but this operator may return an output "
        "Tensor with data-dependent shape. Meta Tensors don't support operators with outputs that have data-dependent shapes but FakeTensors do. If your "
        "operator does not return an output with data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
        "torch.library.get_ctx(). Otherwise, please use FakeTensors."
    )

    @functools.wraps(fake.function)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        before, _running.refusal = _running.refusal, refusal
        try:
            return fake.function(*args, **kwargs)
        finally:
            _running.refusal = before

    return kernel
