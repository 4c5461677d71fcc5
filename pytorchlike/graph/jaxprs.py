"""Programs of JAX as lists of equations: which equations only call another program, and programs without such calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun

__all__ = ["called_by", "inlined", "program_of"]

#: Primitives that do nothing but call another program, and the parameter it is in.
_CALLS = {
    "checkpoint": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr", "jit": "jaxpr", "pjit": "jaxpr", "remat": "jaxpr", "remat2": "jaxpr",
}  # fmt: skip


def called_by(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The program that an equation calls, if it does nothing else."""
    parameter = _CALLS.get(equation.primitive.name)
    if parameter is None:
        return None
    program = equation.params[parameter]
    return program if hasattr(program, "consts") else ClosedJaxpr(program, ())


def inlined(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program with the equations of called programs in the place of the calls; variables are assigned once."""
    equations: list[JaxprEqn] = []
    constants: dict[Var, Any] = {}

    def walk(jaxpr: Jaxpr, names: dict[Var, Any]) -> list[Any]:
        def read(atoms: Iterable[Any]) -> list[Any]:
            return [a if type(a) is Literal else names[a] for a in atoms]

        for equation in jaxpr.eqns:
            called = called_by(equation)
            if called is None:
                results = [Var(v.aval) for v in equation.outvars]
                equations.append(equation.replace(invars=read(equation.invars), outvars=results))
            else:
                held = {v: Var(v.aval) for v in called.jaxpr.constvars}
                constants.update(zip(held.values(), called.consts, strict=True))
                results = walk(called.jaxpr, {**held, **dict(zip(called.jaxpr.invars, read(equation.invars), strict=True))})
            names.update(zip(equation.outvars, results, strict=True))
        return read(jaxpr.outvars)

    outer = program.jaxpr
    constants.update(zip(outer.constvars, program.consts, strict=True))
    results = walk(outer, {v: v for v in (*outer.constvars, *outer.invars)})
    return ClosedJaxpr(Jaxpr(list(constants), outer.invars, results, equations, outer.effects, outer.debug_info), list(constants.values()))


def program_of(equations: Sequence[JaxprEqn], inputs: Sequence[Var], outputs: Sequence[Var]) -> Any:
    """Equations as a function of their inputs that returns a list."""
    effects = frozenset[Any]().union(*[e.effects for e in equations])
    debug_info = DebugInfo("call", "equations", ("",) * len(inputs), ("",) * len(outputs))
    return jaxpr_as_fun(ClosedJaxpr(Jaxpr((), inputs, outputs, equations, effects, debug_info), ()))
