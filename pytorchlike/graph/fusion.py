"""Keeps XLA from computing the same thing many times over.

XLA's fusion copies cheap elementwise operations into each of their consumers.  Where a long chain of them gives off a result at every step, as the
backward pass through a chain of products does, each result's kernel repeats the whole chain before it: quadratic work, and a compilation
that takes minutes.  Such a program is compiled as a sequence of calls that XLA does not inline: no kernel reaches beyond its call.

(Compiling it without the fusion pass would be simpler.  But other passes rely on it: a transposition that no fusion contains is taken for a
reshape, of complex and unsigned numbers in jaxlib 0.10.2.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal, Var

from .jaxprs import inlined, program_of

__all__ = ["in_calls", "repeated_work", "without_repetition"]

#: What XLA calls inexpensive and fuses into every consumer (``InstructionFusion::IsExpensive``).
_CHEAP = frozenset("""
    abs add add_any and broadcast_in_dim ceil clamp clz complex concatenate convert_element_type copy dynamic_slice dynamic_update_slice eq expand_dims
    floor ge gt imag iota is_finite le lt max min mul ne neg not or pad real reduce_precision reshape rev round select_n shift_left
    shift_right_arithmetic shift_right_logical sign slice squeeze sub transpose xor
""".split())  # fmt: skip

#: A program whose kernels would compute its average elementwise operation more often than this is compiled in calls (a training step of a
#: transformer has 2, of a ResNet-18 8; at 20 XLA's own compilation of small arrays takes ten times as long).
MOST_REPEATED_WORK = 20.0

#: The longest chain within one call, in operations; with a result at every step each is computed half as often on average.
_LONGEST_CHAIN = 32


def without_repetition(traced: jax.stages.Traced) -> Callable | None:
    """A function to compile in place of a traced one, if the kernels of that would repeat much work."""
    program = inlined(traced.jaxpr)
    return in_calls(program, jax.tree.structure(traced.out_info)) if repeated_work(program) > MOST_REPEATED_WORK else None


def repeated_work(program: ClosedJaxpr) -> float:
    """How often the kernels of an inlined program compute its average elementwise operation, where all that may be fused are: 1 without repetition."""
    stored = {v for v in program.jaxpr.outvars if type(v) is not Literal}
    stored.update(v for equation in program.jaxpr.eqns if equation.primitive.name not in _CHEAP for v in _operands(equation))
    work: dict[Var, int] = {}
    in_kernels = count = 0
    for equation in program.jaxpr.eqns:
        if equation.primitive.name in _CHEAP:
            cost = _cost(equation, work)
            count += 1
            in_kernels += cost * (not stored.isdisjoint(equation.outvars))
    return in_kernels / count if count else 1.0


def _operands(equation: JaxprEqn) -> list[Var]:
    return [v for v in equation.invars if type(v) is not Literal]


def _cost(equation: JaxprEqn, work: dict[Var, int]) -> int:
    """The operations of the kernel that computes a cheap equation; noted in ``work``."""
    cost = 1 + sum([work.get(v, 0) for v in _operands(equation)])
    work.update(dict.fromkeys(equation.outvars, cost))
    return cost


def _blocks(equations: Sequence[JaxprEqn]) -> list[list[JaxprEqn]]:
    """The equations in order, cut where a chain would become too long."""
    blocks: list[list[JaxprEqn]] = [[]]
    work: dict[Var, int] = {}
    for equation in equations:
        if equation.primitive.name in _CHEAP and _cost(equation, work) > _LONGEST_CHAIN and blocks[-1]:
            blocks.append([])
            work.clear()
            _cost(equation, work)
        blocks[-1].append(equation)
    return blocks


def in_calls(program: ClosedJaxpr, results: Any) -> Callable:
    """An inlined program as a function that consists of calls which XLA does not inline.

    Args:
        results: the structure (``PyTreeDef``) of what the function returns.
    """
    jaxpr = program.jaxpr
    blocks = _blocks(jaxpr.eqns)
    needed = {v for v in jaxpr.outvars if type(v) is not Literal}
    calls = []
    for equations in reversed(blocks):
        made = dict.fromkeys(v for equation in equations for v in equation.outvars)
        inputs = [v for v in dict.fromkeys(v for equation in equations for v in _operands(equation)) if v not in made]
        outputs = [v for v in made if v in needed]
        needed.update(inputs)
        calls.append((jax.jit(program_of(equations, inputs, outputs)), inputs, outputs))
    calls.reverse()

    def run(*arguments: Any) -> Any:
        values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*program.consts, *jax.tree.leaves(arguments)), strict=True))
        for call, inputs, outputs in calls:
            with set_xla_metadata(inlineable="false"):
                values.update(zip(outputs, call(*[values[v] for v in inputs]), strict=True))
        return jax.tree.unflatten(results, [_constant(v) if type(v) is Literal else values[v] for v in jaxpr.outvars])

    return run


def _constant(literal: Any) -> jax.Array:
    return jax.numpy.asarray(literal.val, literal.aval.dtype)
