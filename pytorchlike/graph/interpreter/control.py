"""Primitives that run other programs: loops, branches, callbacks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .prepare import Prepared, prepare
from .table import Equation, NotInterpretable, Run, dtype_of, primitive

#: Loops of more numpy calls than this (about a tenth of a second) are left to XLA.
_LONG_LOOP = 100_000


def _closed(program: Any, equation: Equation, fixed: int = 0) -> Prepared:
    return prepare(program.jaxpr, program.consts, equation.sizes, fixed)


@primitive("scan")
def _scan(equation: Equation) -> Run:
    p = equation.params
    constants, carried = p["num_consts"], p["num_carry"]
    body = _closed(p["jaxpr"], equation, constants)
    if p["length"] * len(body.calls) > _LONG_LOOP:
        raise NotInterpretable("a long scan")
    length, reverse = p["length"], p["reverse"]
    stacked = [(v.aval.shape, dtype_of(v)) for v in equation.outvars[carried:]]

    def run(*arrays: Any) -> list[Any]:
        step = body.bound(arrays[:constants])
        carry, rows = list(arrays[constants : constants + carried]), arrays[constants + carried :]
        results = [np.empty(size, dtype) for size, dtype in stacked]
        for k in range(length - 1, -1, -1) if reverse else range(length):
            found = step.run((*carry, *[row[k] for row in rows]))
            carry = found[:carried]
            for result, row in zip(results, found[carried:]):
                result[k] = row
        return [*carry, *results]

    return run


@primitive("while")
def _while(equation: Equation) -> Run:
    p = equation.params
    for_condition, for_body = p["cond_nconsts"], p["body_nconsts"]
    condition, body = _closed(p["cond_jaxpr"], equation, for_condition), _closed(p["body_jaxpr"], equation, for_body)

    def run(*arrays: Any) -> list[Any]:
        first, second = arrays[:for_condition], arrays[for_condition : for_condition + for_body]
        goes_on, step = condition.bound(first), body.bound(second)
        carry = list(arrays[for_condition + for_body :])
        for _ in itertools.count() if equation.sizes is not None else range(_LONG_LOOP // max(1, len(body.calls))):
            if not goes_on.run(carry)[0]:
                return carry
            carry = step.run(carry)
        # a long loop, whose length nobody knew: JAX runs the rest
        return [np.asarray(each) for each in equation.primitive.bind(*first, *second, *carry, **p)]

    return run


@primitive("cond")
def _cond(equation: Equation) -> Run:
    branches = [_closed(branch, equation) for branch in equation.params["branches"]]
    last = len(branches) - 1
    return lambda index, *arrays: branches[min(max(int(index), 0), last)].run(arrays)


@primitive("platform_index")
def _platform_index(equation: Equation) -> Run:
    for k, names in enumerate(equation.params["platforms"]):
        if names is None or "cpu" in names:
            index = dtype_of(equation.outvars[0]).type(k)
            return lambda: index
    raise NotInterpretable("a choice without a branch for the CPU")


@primitive("dim_as_value")
def _dim_as_value(equation: Equation) -> Run:
    number = dtype_of(equation.outvars[0]).type(equation.params["dim"])
    return lambda: number


@primitive("pure_callback")
def _pure_callback(equation: Equation) -> Run:
    callback, dtypes = equation.params["callback"], [dtype_of(v) for v in equation.outvars]
    return lambda *arrays: [np.asarray(r, dtype) for r, dtype in zip(callback(*[np.asarray(a) for a in arrays]), dtypes, strict=True)]


@primitive("custom_linear_solve")
def _custom_linear_solve(equation: Equation) -> Run:
    p = equation.params
    counts, solve = p["const_lengths"], _closed(p["jaxprs"].solve, equation)
    skipped = counts.matvec + counts.vecmat
    end = skipped + counts.solve + counts.transpose_solve
    return lambda *arrays: solve.run((*arrays[skipped : skipped + counts.solve], *arrays[end:]))
