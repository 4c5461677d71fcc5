"""Orthogonal polynomials of `torch.special`: Chebyshev's four kinds (shifted, too), Hermite, Laguerre, Legendre; without derivatives, as in torch.

The degree is a tensor, truncated to an integer; below 0 the value is 0.  Values come from the three-term recurrences, as many steps as
the largest degree asks for; Chebyshev's inside of (-1, 1) come from the cosine from degree 7 or 9 on.

Ref: DLMF (https://dlmf.nist.gov) table 18.9.1 for the recurrences, 18.5 for the cosines, 18.7 for the shifted ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from ..dispatch.registry import FUNCTION, OUT, Operator, Promote, op
from .elementwise import BOOL, FLOATING, INTEGRAL, refuse_half, supports

#: Degrees from which torch gives up on Hermite's polynomials.
_HERMITE_LIMIT = {4: 128, 8: 512}


def _recur(x, n, first, step: Callable, needed=True):
    """The polynomial of degree ``n`` whose degree 0 is 1 and degree 1 is ``first``; ``step(k, p, q)`` makes degree ``k`` of the two before it.

    Args:
        needed: where the recurrence is run at all; elsewhere the value does not matter.
    """
    degree = jnp.where(needed, n, 0)
    highest = jnp.max(degree, initial=0)

    def more(state):
        return state[0] <= highest

    def advance(state):
        k, p, q = state
        wanted = (k <= degree) & ~jnp.isnan(q)
        following = step(k.astype(x.dtype), p, q)
        return k + 1, jnp.where(wanted, q, p), jnp.where(wanted, following, q)

    _, _, value = lax.while_loop(more, advance, (jnp.int64(2), jnp.ones_like(x), first))
    return jnp.where(n < 0, 0, jnp.where(n == 0, 1, value))


_polynomial = functools.partial(op, promote=Promote.INT_TO_FLOAT, forms=FUNCTION | OUT, namespaces=("special",), differentiable=False)


def _alternating(n):
    return jnp.where(n % 2 == 0, 1, -1)


def _chebyshev(x, n, first, closed, from_degree: int, at_one, at_minus_one):
    """A Chebyshev polynomial: the values at 1 and -1 given, by ``closed`` of the angle inside for high degrees, by recurrence otherwise."""
    inside = (n >= from_degree) & (jnp.abs(x) < 1)
    value = _recur(x, n, first, lambda k, p, q: 2 * x * q - p, ~inside)
    value = jnp.where(inside, closed(jnp.arccos(jnp.clip(x, -1, 1))), value)
    edge = jnp.where(x == 1, at_one, at_minus_one).astype(x.dtype)
    return jnp.where((jnp.abs(x) == 1) & (n >= 0), edge, value)


def _quotient(numerator, denominator, otherwise):
    return jnp.where(denominator == 0, otherwise, numerator / jnp.where(denominator == 0, 1, denominator))


def _t(x, n, real_n):
    return _chebyshev(x, n, x, lambda angle: jnp.cos(real_n * angle), 7, 1, _alternating(n))


def _u(x, n, real_n, from_degree=9):
    def closed(angle):
        return _quotient(jnp.sin((real_n + 1) * angle), jnp.sin(angle), (real_n + 1) * jnp.cos((real_n + 1) * angle) / x)

    return _chebyshev(x, n, 2 * x, closed, from_degree, n + 1, _alternating(n) * (n + 1))


def _v(x, n, real_n, from_degree=9):
    def closed(angle):
        return _quotient(jnp.cos((real_n + 0.5) * angle), jnp.cos(angle / 2), _alternating(n) * (2 * real_n + 1))

    return _chebyshev(x, n, 2 * x - 1, closed, from_degree, 1, _alternating(n) * (2 * n + 1))


def _w(x, n, real_n, from_degree=9):
    def closed(angle):
        return _quotient(jnp.sin((real_n + 0.5) * angle), jnp.sin(angle / 2), jnp.where(x > 0, 2 * real_n + 1, _alternating(n)))

    return _chebyshev(x, n, 2 * x + 1, closed, from_degree, 2 * n + 1, _alternating(n))


def _shifted(polynomial, x, n, real_n, **options):
    return polynomial(2 * x - 1, n, real_n, **options)


def _hermite(x, n, first, step):
    value = _recur(x, n, first, step, n <= _HERMITE_LIMIT[x.dtype.itemsize])
    return jnp.where(n > _HERMITE_LIMIT[x.dtype.itemsize], jnp.nan, value)


def _legendre(x, n):
    value = _recur(x, n, x, lambda k, p, q: ((2 * k - 1) * x * q - (k - 1) * p) / k, jnp.abs(x) != 1)
    return jnp.where((jnp.abs(x) == 1) & (n >= 0), jnp.where((x > 0) | (n % 2 == 0), 1, -1).astype(x.dtype), value)


def _laguerre(x, n):
    return _recur(x, n, 1 - x, lambda k, p, q: ((2 * k - 1 - x) * q - (k - 1) * p) / k, x != 0)


_POLYNOMIALS: dict[str, tuple[str, Callable]] = {
    "chebyshev_polynomial_t": ("The Chebyshev polynomial of the first kind of degree ``n``.", _t),
    "chebyshev_polynomial_u": ("The Chebyshev polynomial of the second kind of degree ``n``.", _u),
    "chebyshev_polynomial_v": ("The Chebyshev polynomial of the third kind of degree ``n``.", _v),
    "chebyshev_polynomial_w": ("The Chebyshev polynomial of the fourth kind of degree ``n``.", _w),
    "shifted_chebyshev_polynomial_t": ("`chebyshev_polynomial_t` of ``2 x - 1``.", functools.partial(_shifted, _t)),
    "shifted_chebyshev_polynomial_u": ("`chebyshev_polynomial_u` of ``2 x - 1``.", functools.partial(_shifted, _u, from_degree=7)),
    "shifted_chebyshev_polynomial_v": ("`chebyshev_polynomial_v` of ``2 x - 1``.", functools.partial(_shifted, _v, from_degree=7)),
    "shifted_chebyshev_polynomial_w": ("`chebyshev_polynomial_w` of ``2 x - 1``.", functools.partial(_shifted, _w, from_degree=7)),
    "hermite_polynomial_h": (
        "The physicist's Hermite polynomial of degree ``n``; NaN above 128 (float64: 512).",
        lambda x, n, _: _hermite(x, n, 2 * x, lambda k, p, q: 2 * x * q - 2 * (k - 1) * p),
    ),
    "hermite_polynomial_he": (
        "The probabilist's Hermite polynomial of degree ``n``; NaN above 128 (float64: 512).",
        lambda x, n, _: _hermite(x, n, x, lambda k, p, q: x * q - (k - 1) * p),
    ),
    "laguerre_polynomial_l": ("The Laguerre polynomial of degree ``n``.", lambda x, n, _: _laguerre(x, n)),
    "legendre_polynomial_p": ("The Legendre polynomial of degree ``n``.", lambda x, n, _: _legendre(x, n)),
}


def _declare(name: str, documentation: str, value: Callable) -> Operator:
    @_polynomial(f"{name}(Tensor x, Tensor n) -> Tensor")
    def polynomial(x, n):
        x, n = jnp.broadcast_arrays(x, n)
        return value(x, n.astype(jnp.int64), jnp.trunc(n))

    polynomial.__doc__ = documentation
    supports(polynomial, f"{name}_cpu", BOOL, INTEGRAL, FLOATING)
    refuse_half(polynomial, f"{name}_cpu")
    return polynomial


for _name, (_documentation, _value) in _POLYNOMIALS.items():
    _declare(_name, _documentation, _value)
