"""Bodies that leave XLA: what neither JAX nor a few lines of it can compute is computed by SciPy on the host, in the middle of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

__all__ = ["HOST_OPERATORS", "calls_host", "on_host"]

#: The operators whose bodies call the host: arrays are copied there and back, and such programs are not kept on disk.
HOST_OPERATORS: set[str] = set()

_Declared = TypeVar("_Declared")


def calls_host(operator: _Declared) -> _Declared:
    """Mark an operator as one whose body calls the host."""
    HOST_OPERATORS.add(operator.qualified_name)  # type: ignore[attr-defined]
    return operator


def on_host(function: Callable, results: Any, *arrays: Any) -> Any:
    """Call a function of numpy arrays while the program runs.

    Args:
        results: shapes and dtypes of what it returns.
    """
    arrays = tuple([jnp.asarray(a) for a in arrays])  # a TypeError for what has no numbers yet, which data checks rely on
    return jax.pure_callback(function, results, *arrays, vmap_method="sequential")
