"""Keeps XLA from computing the same thing many times over.

XLA's fusion copies cheap elementwise operations into each of their consumers.  Where a long chain of them gives off a result at every step, as the
backward pass through a chain of products does, each result's kernel repeats the whole chain before it: quadratic work, and a compilation
that takes minutes.  Such a program is compiled without fusion.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

__all__ = ["compiler_options", "repeated_work"]

#: What XLA calls inexpensive and fuses into every consumer (``InstructionFusion::IsExpensive``).
_CHEAP = frozenset("""
    abs add add_any and broadcast_in_dim ceil clamp clz complex concatenate convert_element_type copy dynamic_slice dynamic_update_slice eq expand_dims
    floor ge gt imag iota is_finite le lt max min mul ne neg not or pad real reduce_precision reshape rev round select_n shift_left
    shift_right_arithmetic shift_right_logical sign slice squeeze sub transpose xor
""".split())  # fmt: skip

#: A program whose kernels would compute its average elementwise operation more often than this is compiled without fusion (a training step of a
#: transformer has 2, of a ResNet-18 8; at 20 XLA's own compilation of small arrays takes ten times as long as without fusion).
MOST_REPEATED_WORK = 20.0


def compiler_options(jaxpr: ClosedJaxpr) -> dict[str, Any]:
    """XLA's options that suit a program, besides those of its tier."""
    return {"xla_disable_hlo_passes": "fusion"} if repeated_work(jaxpr) > MOST_REPEATED_WORK else {}


def repeated_work(jaxpr: ClosedJaxpr) -> float:
    """How often the kernels of a program compute its average elementwise operation, where all that may be fused are: 1 without repetition."""
    numbers: dict[Any, int] = {}
    equations = list(_flattened(jaxpr.jaxpr, numbers, itertools.count()))
    stored = {numbers[v] for v in jaxpr.jaxpr.outvars if type(v) is not Literal and v in numbers}
    stored.update(operand for name, operands, _ in equations if name not in _CHEAP for operand in operands)
    work: dict[int, int] = {}
    in_kernels = count = 0
    for name, operands, results in equations:
        if name in _CHEAP:
            cost = 1 + sum([work.get(operand, 0) for operand in operands])
            work.update(dict.fromkeys(results, cost))
            count += 1
            in_kernels += cost * (not stored.isdisjoint(results))
    return in_kernels / count if count else 1.0


def _flattened(jaxpr: Jaxpr, numbers: dict[Any, int], fresh: Iterator[int]) -> Iterator[tuple[str, list[int], list[int]]]:
    """(primitive, operands, results) of each equation, with the bodies of jitted functions in their place.

    Args:
        numbers: variable -> the number of what it holds; what was not computed has none.
    """
    for equation in jaxpr.eqns:
        if equation.primitive.name == "jit":
            body = equation.params["jaxpr"].jaxpr
            inner = {v: numbers[o] for v, o in zip(body.invars, equation.invars) if type(o) is not Literal and o in numbers}
            yield from _flattened(body, inner, fresh)
            numbers.update({v: inner[o] for v, o in zip(equation.outvars, body.outvars) if type(o) is not Literal and o in inner})
        else:
            results = [next(fresh) for _ in equation.outvars]
            numbers.update(zip(equation.outvars, results))
            yield equation.primitive.name, [numbers[v] for v in equation.invars if type(v) is not Literal and v in numbers], results
