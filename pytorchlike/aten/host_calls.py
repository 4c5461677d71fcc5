"""Bodies that leave XLA: what neither JAX nor a few lines of it can compute is computed by SciPy on the host, in the middle of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..dispatch.registry import Operator

__all__ = ["calls_host", "on_host"]


def calls_host(operator: Operator) -> Operator:
    """Mark an operator as one whose body calls the host."""
    operator.calls_host = True
    return operator


def on_host(function: Callable, results: Any, *arrays: Any) -> Any:
    """Call a function of numpy arrays while the program runs.

    Args:
        results: shapes and dtypes of what it returns.
    """
    arrays = tuple([jnp.asarray(a) for a in arrays])  # a TypeError for what has no numbers yet, which data checks rely on
    return jax.pure_callback(function, results, *arrays, vmap_method="sequential")
