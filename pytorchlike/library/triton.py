"""`triton_op`, `wrap_triton`: Triton's kernels are not run here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .custom_ops import custom_op

__all__ = ["triton_op", "wrap_triton"]


def triton_op(name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None) -> Any:
    """An operator as `custom_op` makes it, for a function that may call `wrap_triton` on other devices than those here; without ``fn`` a decorator."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Callable, /) -> NoReturn:
    """Refused: Triton's kernels write to memory by address, which XLA's arrays have none of.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "torch.library.wrap_triton: Triton kernels are not run by pytorchlike; register a kernel written with torch's operators, or with "
        "jax.experimental.pallas, for this device"
    )
