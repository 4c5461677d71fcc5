"""`functionalize` and `debug_unwrap`, which have little to do here: programs are recorded without mutation and views in any case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.vmap import _wraps
from ..dispatch.batching import Batched
from ..tensors.tensor import Tensor

__all__ = ["debug_unwrap", "functionalize"]


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """A function that computes the same without in-place operators (and without views).

    What is recorded is functional whatever the function does, so it is called as it is; writes into its arguments reach the caller, as
    they do in torch.

    Args:
        remove: ``"mutations"`` or ``"mutations_and_views"``.

    Raises:
        RuntimeError: another value, torch's text.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their out-of-place "
            "equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with their non-aliasing "
            "counterparts, {view}_copy.\n"
        )

    @_wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functional


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor inside of a `vmap` looks like outside: with the dimension of the batch in front.

    Args:
        recurse: outside of all of them, not only of the innermost.
    """
    value = tensor._content()
    if not isinstance(value, Batched):
        return tensor
    return debug_unwrap(value.outer) if recurse else value.outer
