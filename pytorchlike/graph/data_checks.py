"""Errors that depend on data: how a check's verdict leaves a program, and how the check is made at the call where the numbers are there.

A verdict is a vector of int64: whether the check failed, then the numbers of its message (the bad index, the size it had to keep to).
Programs return the verdicts of all their checks as one vector, which nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .value import Value

__all__ = ["LARGEST_CHECKED", "DataCheck", "HostCheck", "on_host", "raise_failed_now", "verdict"]

#: Arrays of more elements are not looked at when an operator is called: their check is part of the program alone.
LARGEST_CHECKED = 2**18


class DataCheck:
    """One error that depends on data.

    Attributes:
        exception: its type.
        message: its text, with ``{}`` for each number, or a function of the numbers.
        numbers: how many numbers that takes.
        predicate: function of an instruction's arrays and scalars: a Bool array, true where they are bad, or a tuple of it and the numbers
            (arrays of its shape, of which the first bad element counts, or ints).
        at_once: the trace is flushed to raise the error at the call; for operators whose errors programs rely on catching.
    """

    __slots__ = ("exception", "message", "numbers", "predicate", "at_once")

    def __init__(self, exception: type[Exception], message: str | Callable[..., str], numbers: int, predicate: Callable, at_once: bool = False) -> None:
        self.exception = exception
        self.message = message
        self.numbers = numbers
        self.predicate = predicate
        self.at_once = at_once

    @property
    def length(self) -> int:
        """The verdict's length."""
        return 1 + self.numbers

    def error(self, numbers: Sequence[int], where: str = "") -> Exception:
        """The error for the numbers of a verdict.

        Args:
            where: which operator it was and who called it, put behind the text.
        """
        numbers = [int(n) for n in numbers]
        text = self.message.format(*numbers) if isinstance(self.message, str) else self.message(*numbers)
        return self.exception(text + where)


def verdict(check: DataCheck, found: Any) -> Any:
    """The verdict of what a check's predicate returned; traceable."""
    bad, *numbers = found if isinstance(found, tuple) else (found,)
    shape = jnp.shape(bad)
    bad = jnp.ravel(bad)
    if not bad.size:
        return jnp.zeros(check.length, jnp.int64)
    failed = jnp.any(bad).astype(jnp.int64)
    if not numbers:
        return failed[None]
    first = jnp.argmax(bad)
    picked = [jax.lax.dynamic_index_in_dim(jnp.ravel(jnp.broadcast_to(n, shape)), first, keepdims=False) if jnp.ndim(n) else n for n in numbers]
    return jnp.stack([failed, *[failed * jnp.asarray(n, jnp.int64) for n in picked]])


class HostCheck:
    """A check of one instruction for inputs of given avals, made with numpy.

    Attributes:
        check: the check.
        needs: the positions of the arrays whose numbers it looks at.
        predicate: function of these arrays, then the floats and the ints of the call.
    """

    __slots__ = ("check", "needs", "predicate")

    def __init__(self, check: DataCheck, needs: tuple[int, ...], predicate: Callable) -> None:
        self.check = check
        self.needs = needs
        self.predicate = predicate


def on_host(value: Value) -> np.ndarray | None:
    """A value's numbers, where they are in the host's memory already and not many; None where not."""
    array = value.array
    if value.trace is not None or array is None or value.aval.numel > LARGEST_CHECKED:
        return None
    if type(array) is np.ndarray:
        return array
    if value.aval.device.type != "cpu" or isinstance(array, jax.core.Tracer) or not array.is_ready():
        return None
    return np.asarray(array)


def raise_failed_now(checks: Sequence[HostCheck], arguments: Sequence[Value], floats: Sequence[float], ints: Sequence[int]) -> None:
    """Make the checks whose numbers are known before their instruction is recorded; the others are made in the program.

    Raises:
        The error of the first that fails.
    """
    for host in checks:
        arrays = []
        for k in host.needs:
            array = on_host(arguments[k])
            if array is None:
                break
            arrays.append(array)
        else:
            found = host.predicate(arrays, floats, ints)
            bad, *numbers = found if found.__class__ is tuple else (found,)
            if bad is not False and (bad is True or bad.any()):
                where = np.unravel_index(np.argmax(bad), np.shape(bad))
                raise host.check.error([np.broadcast_to(n, np.shape(bad))[where] if np.ndim(n) else n for n in numbers])
