"""Reverse mode through a loop whose number of rounds is known only when it is over.

JAX has none for `jax.lax.while_loop`, which would have to keep what each round computed.  Here the backward pass runs the rounds again from
checkpoints of the carry, which lie so far apart that a fixed number of them is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["CHECKPOINTS", "differentiable_loop"]

#: Carries that are kept; n rounds take about ``n * n / (2 * CHECKPOINTS)`` further ones in the backward pass, n at least.
CHECKPOINTS = 128


def differentiable_loop(go_on: Callable[..., Any], step: Callable[..., tuple], carry: tuple, outside: tuple) -> tuple:
    """``while go_on(carry, outside): carry = step(carry, outside)``, with a derivative.

    Args:
        outside: further arrays that the functions use.
    """

    @jax.custom_vjp
    def loop(carry: tuple, outside: tuple) -> tuple:
        return jax.lax.while_loop(lambda c: go_on(c, outside), lambda c: step(c, outside), carry)

    def forward(carry: tuple, outside: tuple) -> tuple:
        count, last = jax.lax.while_loop(lambda s: go_on(s[1], outside), lambda s: (s[0] + 1, step(s[1], outside)), (jnp.int64(0), carry))
        return last, (count, carry, outside)

    def backward(saved: tuple, gradients: tuple) -> tuple:
        count, carry, outside = saved
        stride = jnp.maximum((count + CHECKPOINTS - 1) // CHECKPOINTS, 1)
        of_carry, of_outside = _differentiable(carry), _differentiable(outside)

        def keep(i: Any, state: tuple) -> tuple:
            now, kept = state
            kept = jax.lax.cond(i % stride == 0, lambda: tuple([k.at[i // stride].set(c) for k, c in zip(kept, now)]), lambda: kept)
            return step(now, outside), kept

        empty = tuple([jnp.zeros((CHECKPOINTS, *jnp.shape(c)), c.dtype) for c in carry])
        _, kept = jax.lax.fori_loop(0, count, keep, (carry, empty))

        def pull(k: Any, state: tuple) -> tuple:
            i = count - 1 - k
            at, sums = state
            start = tuple([each[i // stride] for each in kept])
            now = jax.lax.fori_loop(0, i % stride, lambda _, c: step(c, outside), start)

            def floats(c: list, o: list) -> list:
                made = step(_filled(now, of_carry, c), _filled(outside, of_outside, o))
                return [made[n] for n in of_carry]

            _, transposed = jax.vjp(floats, [now[n] for n in of_carry], [outside[n] for n in of_outside])
            into_carry, into_outside = transposed(at)
            return into_carry, [a + b for a, b in zip(sums, into_outside)]

        first = [gradients[n] for n in of_carry], [jnp.zeros_like(outside[n]) for n in of_outside]
        into_carry, into_outside = jax.lax.fori_loop(0, count, pull, first)
        return _filled((None,) * len(carry), of_carry, into_carry), _filled((None,) * len(outside), of_outside, into_outside)

    loop.defvjp(forward, backward)
    return loop(carry, outside)


def _differentiable(arrays: tuple) -> list[int]:
    return [n for n, a in enumerate(arrays) if jnp.issubdtype(a.dtype, jnp.inexact)]


def _filled(arrays: tuple, places: list[int], values: list) -> tuple:
    result = list(arrays)
    for n, value in zip(places, values):
        result[n] = value
    return tuple(result)
