"""Forward mode's level: beside every instruction on a value with a tangent, the instruction that computes the results' tangents.

The level keeps a table, value -> tangent, and changes neither values nor tensors: what an operator computes is what it computes outside,
saved values of the tape have their tangents like all others, and when the level ends nothing has to be unpacked.  Tangents are tensors with
places on the tape of their own, so derivatives of both modes nest in any order.

The tangent of an operator that has derivative rules is the transpose of these rules (torch's choices at ties and kinks hold in forward
mode, too); of everything else it is ``jax.jvp`` of its function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr

from ..core import dtype as dtypes
from ..graph.instruction import Instruction
from ..graph.recorder import record
from ..graph.value import Aval, Value, aval_of
from ..tensors.tensor import Tensor, make_tensor, relayout
from . import call
from .batching import BatchedInstruction
from .bind import OperatorInstruction
from .derivative import Differentiable
from .levels import Level, outside

__all__ = ["ForwardLevel", "Linearization", "PushForward", "push_forward"]


class ForwardLevel(Level):
    """One active forward differentiation.

    Attributes:
        tangents: value -> its tangent, a tensor of the level outside.
    """

    __slots__ = ("tangents",)

    def __init__(self) -> None:
        self.tangents: WeakKeyDictionary[Value, Any] = WeakKeyDictionary()

    # ------------------------------------------------------------------ tensors in and out
    def make_dual(self, primal: Tensor, tangent: Tensor) -> Tensor:
        """A tensor of the same elements and place on the tape that has a tangent.

        Raises:
            ValueError: one of them has no floating or complex dtype.
            RuntimeError: their sizes differ, or one of them has a tangent already; torch's texts.
        """
        for name, tensor in (("primal", primal), ("tangent", tangent)):
            if not tensor._aval().differentiable:
                raise ValueError(f"Expected {name} to be floating point or complex, but got: {tensor.dtype}")
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is of "
                f"size {list(primal.shape)} while the given forward gradient is of size {list(tangent.shape)}."
            )
        if self.tangent(primal) is not None:
            raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported.")
        if self.tangent(tangent) is not None:
            raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
        made = self.primal(primal)
        self.tangents[made._value] = tangent
        return made

    def primal(self, dual: Tensor) -> Tensor:
        """A tensor of the same elements and place on the tape that has no tangent."""
        value = dual._content()
        edge = dual._current_edge()
        with outside(self):
            return make_tensor(relayout(value, value.aval.stride), edge)

    def tangent(self, dual: Tensor) -> Tensor | None:
        """The tangent of a tensor; None stands for zeros."""
        return self.tangents.get(dual._content())

    def lift(self, tensor: Tensor) -> Tensor:
        value, edge = tensor._content(), tensor._current_edge()
        with outside(self) as state:
            lifted = state.levels[-1].lift(make_tensor(value, edge)) if state.levels else make_tensor(value, edge)
        tangent = self.tangents.get(value)
        if tangent is not None:
            self.tangents[lifted._value] = tangent
        return lifted

    def detach(self, tensor: Tensor) -> Tensor:
        value = tensor._content()
        with outside(self) as state:
            if state.levels:
                return state.levels[-1].detach(make_tensor(value))
            return make_tensor(relayout(value, value.aval.stride))

    def fit_write(self, target: Tensor, value: Value, edge: Any) -> tuple[Value, Any]:
        """See `batching.BatchLevel.fit_write`."""
        with outside(self) as state:
            fitting, edge = state.levels[-1].fit_write(target, value, edge) if state.levels else (value, edge)
        tangent = self.tangents.get(value)
        if fitting is not value and tangent is not None:
            self.tangents[fitting] = tangent
        return fitting, edge

    # ------------------------------------------------------------------ instructions
    def apply(self, instruction: Instruction, tensors: Sequence[Tensor], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Tensor, ...]:
        primals = [make_tensor(t._content(), t._current_edge()) for t in tensors]
        with outside(self):
            results = call.apply(instruction, primals, floats, ints)
            self._push(instruction, primals, [r._value for r in results], floats, ints)
        return results

    def refuse_out(self, name: str, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            if self.tangent(tensor) is not None:
                raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an out= function")
        with outside(self) as state:
            if state.levels:
                state.levels[-1].refuse_out(name, tensors)

    def shown(self, tensor: Tensor) -> tuple[str | None, list[str]]:
        tangent = self.tangent(tensor)
        with outside(self) as state:
            text, suffixes = state.levels[-1].shown(tensor) if state.levels else (None, [])
            return text, suffixes if tangent is None else [*suffixes, f"tangent={tangent}"]

    def record(self, instruction: Instruction, values: tuple[Value, ...], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Value, ...]:
        with outside(self):
            results = record(instruction, values, floats, ints)
            if any(v in self.tangents for v in values):
                self._push(instruction, [make_tensor(v) for v in values], results, floats, ints)
        return results

    def _push(self, instruction: Instruction, primals: list[Tensor], results: Sequence[Value], floats: tuple[float, ...], ints: tuple[int, ...]) -> None:
        """Compute the tangents of an instruction's results."""
        found = [self.tangents.get(p._value) for p in primals]
        present = tuple([t is not None for t in found])
        if not any(present):
            return
        which = getattr(getattr(instruction, "operator", None), "differentiable", True)  # a bool, or the numbers of the results
        numbers = [k for k, r in enumerate(results) if r.aval.differentiable]
        if not numbers or not which:
            return
        given = [t for t in found if t is not None]
        tangents = self._compute(push_forward(instruction, present), primals, given, floats, ints)
        self.tangents.update({results[k]: t for k, t in zip(numbers, tangents, strict=True) if which is True or k in which})

    def _compute(self, instruction: PushForward, primals: list[Tensor], tangents: list[Any], floats: tuple[float, ...], ints: tuple[int, ...]) -> Sequence[Any]:
        return call.apply(instruction, [*instruction.varying(primals, tangents), *tangents], floats, ints)


class Linearization(ForwardLevel):
    """A forward differentiation whose directions come later: its tangents are numbers, and how one follows from others is kept.

    Attributes:
        steps: instruction, its primals, the numbers of its tangents, its floats and ints; the results are numbered one after the other.
    """

    __slots__ = ("steps", "count")

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[PushForward, list[Tensor], list[int], tuple[float, ...], tuple[int, ...]]] = []
        self.count = 0

    def enter(self, primal: Tensor) -> Tensor:
        """An argument, as one whose direction comes later; arguments are numbered as they enter."""
        made = self.primal(primal)
        self.tangents[made._value] = self._next()
        return made

    def number(self, tensor: Tensor) -> int | None:
        """The number of a tensor's tangent; None if it is zero whatever the directions."""
        return self.tangents.get(tensor._content())

    def replay(self, directions: Sequence[Tensor]) -> list[Tensor]:
        """All tangents, for the arguments' directions."""
        found = list(directions)
        for instruction, primals, numbers, floats, ints in self.steps:
            found += call.apply(instruction, [*primals, *[found[n] for n in numbers]], floats, ints)
        return found

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _compute(self, instruction: PushForward, primals: list[Tensor], tangents: list[Any], floats: tuple[float, ...], ints: tuple[int, ...]) -> Sequence[Any]:
        inferred = instruction.base.infer(tuple([p._value.aval for p in primals])).outputs
        numbers = [self._next() for aval in inferred if aval.differentiable]
        self.steps.append((instruction, primals, tangents, floats, ints))
        return numbers


# ---------------------------------------------------------------------------------------------------------------- instructions
class PushForward(Differentiable):
    """The tangents of an instruction's differentiable results: a function of its inputs, then of the tangents that are there.

    Attributes:
        base: the instruction.
        present: for each input of the instruction, whether it has a tangent.
    """

    __slots__ = ("base", "present", "_uses")

    def __init__(self, base: Instruction, present: tuple[bool, ...]) -> None:
        self.base = base
        self.present = present
        self._uses: dict[tuple[Aval, ...], list[bool]] = {}
        super().__init__(f"{base.name}_jvp", _tangents_of(base, present), base.float_count, base.int_count, (), base.target)

    def identity(self) -> Any:
        return self.base, self.present

    def varying(self, primals: Sequence[Tensor], tangents: Sequence[Tensor]) -> list[Tensor]:
        """The primals, off the tape where the tangents of the results do not depend on them: those of a linear instruction do on none."""
        if all(p._edge is None for p in primals):
            return list(primals)
        avals = tuple([t._aval() for t in (*primals, *tangents)])
        uses = self._uses.get(avals)
        if uses is None:
            traced = self.infer(avals).traced
            assert traced is not None
            jaxpr = traced.jaxpr
            uses = self._uses[avals] = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1]
        return [p if used else make_tensor(p._value) for p, used in zip(primals, uses)]

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> Sequence[tuple[int, ...] | None]:
        outputs = self.base.infer(avals[: len(self.present)]).outputs
        return [a.stride for a in outputs if a.differentiable]


@functools.lru_cache(maxsize=8192)
def push_forward(instruction: Instruction, present: tuple[bool, ...]) -> PushForward:
    """The one instruction for the tangents of another."""
    return PushForward(instruction, present)


def _tangents_of(base: Instruction, present: tuple[bool, ...]) -> Callable[..., tuple[Any, ...]]:
    if isinstance(base, BatchedInstruction):
        axes = (*base.axes, *[axis for axis, there in zip(base.axes, present, strict=True) if there])
        return jax.vmap(_tangents_of(base.base, present), (*axes, *[None] * (base.float_count + base.int_count)))
    count, given = len(present), sum(present)
    has_rules = isinstance(base, OperatorInstruction) and all(
        name in base.operator.rules for name, there in zip(base.layout.argument_of, present, strict=True) if there
    )

    def tangents(*arguments: Any) -> tuple[Any, ...]:
        primals, scalars = arguments[:count], arguments[count + given :]
        varied = [p for p, there in zip(primals, present, strict=True) if there]
        directions = [t.astype(p.dtype) for t, p in zip(arguments[count : count + given], varied, strict=True)]
        if has_rules:
            try:
                return _by_rules(base, present, primals, directions, scalars)
            except Exception:  # a rule that JAX cannot transpose, for whatever reason: nothing was run, only traced
                pass
        return _by_jax(base, present, primals, directions, scalars)

    return tangents


def _results(base: Instruction, primals: Sequence[Any], scalars: Sequence[Any]) -> tuple[Any, ...]:
    found = base.function(*primals, *scalars)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _by_jax(base: Instruction, present: tuple[bool, ...], primals: Sequence[Any], directions: Sequence[Any], scalars: Sequence[Any]) -> tuple[Any, ...]:
    positions = [k for k, there in enumerate(present) if there]

    def function(*varying: Any) -> tuple[Any, ...]:
        full = list(primals)
        for position, array in zip(positions, varying, strict=True):
            full[position] = array
        return _results(base, full, scalars)

    _, found = jax.jvp(function, [primals[p] for p in positions], list(directions))
    return tuple([t for t in found if t.dtype != jax.dtypes.float0])


def _by_rules(base: Any, present: tuple[bool, ...], primals: Sequence[Any], directions: Sequence[Any], scalars: Sequence[Any]) -> tuple[Any, ...]:
    """The transpose of the operator's rules, which are linear in the gradient."""
    results = _results(base, primals, scalars)
    inputs, outputs = ([aval_of(tuple(x.shape), dtypes.from_numpy(x.dtype)) for x in arrays] for arrays in (primals, results))
    there = tuple([a.differentiable for a in outputs])
    backward = base.derivative(present, tuple(inputs), tuple(outputs))
    rule = backward.instruction(there).function
    saved = backward.pick(primals, results)

    def pull_back(gradients: Sequence[Any]) -> tuple[Any, ...]:  # in JAX's convention for complex numbers
        return tuple([jnp.conj(g) for g in rule(*saved, *[jnp.conj(g) for g in gradients], *scalars)])

    given = [jax.ShapeDtypeStruct(r.shape, r.dtype) for r, is_there in zip(results, there, strict=True) if is_there]
    (found,) = jax.linear_transpose(pull_back, given)(tuple(directions))
    return tuple(found)
