"""Which results of a traced function are the same computation: they are equal, whatever the arguments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from jax.extend.core import Literal

from ..graph.jaxprs import called_by

__all__ = ["numbered"]


class _Numbers:
    """Numbers for values: the same number for the same primitive of the same operands."""

    def __init__(self) -> None:
        self.known: dict[Hashable, int] = {}
        self.next = 0

    def fresh(self) -> int:
        self.next += 1
        return self.next

    def of(self, key: Hashable) -> int:
        try:
            found = self.known.get(key)
        except TypeError:  # a parameter that is no key
            return self.fresh()
        if found is None:
            found = self.known[key] = self.fresh()
        return found


def numbered(closed: Any) -> list[int]:
    """A number for each result of a closed jaxpr; results with the same number are equal."""
    numbers = _Numbers()
    constants = [numbers.fresh() for _ in closed.jaxpr.constvars]
    return _walk(closed.jaxpr, constants, [numbers.fresh() for _ in closed.jaxpr.invars], numbers)


def _walk(jaxpr: Any, constants: Sequence[int], arguments: Sequence[int], numbers: _Numbers) -> list[int]:
    environment: dict[Any, int] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *arguments]))

    def read(atom: Any) -> int:
        if isinstance(atom, Literal):
            return numbers.of(("literal", str(atom.aval), repr(atom.val)))
        return environment[atom]

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        name, inner = equation.primitive.name, called_by(equation)
        if inner is not None:
            results = _walk(inner.jaxpr, [numbers.of(("constant", id(c))) for c in inner.consts], operands, numbers)
        elif equation.effects:
            results = [numbers.fresh() for _ in equation.outvars]
        else:
            key = (name, tuple(sorted((k, v) for k, v in equation.params.items())), tuple(operands)) if _is_plain(equation.params) else None
            results = [numbers.fresh() if key is None else numbers.of((key, k)) for k in range(len(equation.outvars))]
        environment.update(zip(equation.outvars, results))
    return [read(atom) for atom in jaxpr.outvars]


def _is_plain(params: dict[str, Any]) -> bool:
    """Whether the parameters of a primitive compare by value."""
    return all(v is None or isinstance(v, (bool, int, float, str, tuple, type)) or type(v).__module__.startswith(("numpy", "jax")) for v in params.values())
