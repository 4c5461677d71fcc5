"""``vmap``'s level: every instruction becomes its ``jax.vmap``, recorded one level further out.

A tensor inside has a `Batched` value: shape, dtype and strides as the code inside sees them, around the tensor outside, whose dimension 0
is the batch (or which is the same for every element).  Its place on the tape is that of the code inside; the tensor outside has its own.
So a gradient inside is taken inside, and one taken outside goes through everything that happened inside, whether in a backward pass or not.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..core.state import thread
from ..graph.data_checks import DataCheck
from ..graph.instruction import Instruction
from ..graph.recorder import record
from ..graph.value import Aval, Value, aval_of, new_value
from ..tensors.tape import Backward
from ..tensors.tensor import Tensor, make_tensor
from . import call
from .derivative import Differentiable
from .levels import Level, outside

__all__ = ["BatchLevel", "Batched", "BatchedInstruction", "batch_of", "batched", "drawing_levels", "is_inside_batch", "refuse_dynamic_shape", "with_batch_of"]

_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite what "
    "you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report."
)
_NO_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please file an issue "
    "at https://github.com/pytorch/pytorch/issues ."
)
_NO_DATA = "Cannot access data pointer of Tensor that doesn't have storage"
_NO_INPLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than "
    "`self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace arithmetic. If said operator is being called inside the PyTorch framework, please file a bug report instead."
)
_NO_RANDOMNESS = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or "
    "perform the randomness operation out of vmap"
)
_NO_DYNAMIC_SHAPE = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {name}. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)


class Batched(Value):
    """The value of a tensor inside of a `BatchLevel`; it has no array of its own, and its ``trace`` is the level, which refuses to give one.

    Attributes:
        outer: the tensor outside.
        is_batched: dimension 0 of the tensor outside is the batch; else it is the same for every element.
    """

    __slots__ = ("outer", "is_batched")
    outer: Tensor
    is_batched: bool

    def __repr__(self) -> str:
        return f"<value {self.aval} of a batch>"


class BatchLevel(Level):
    """One active ``vmap``.

    Args:
        size: how many elements the batch has.
        randomness: what random operators do: ``"error"``, ``"same"`` or ``"different"``.

    Attributes:
        outer_grad_enabled: whether operators outside are put on the tape, where that differs from what holds inside: a gradient that is
            taken inside switches the tape on, which concerns the code inside alone.
    """

    __slots__ = ("size", "randomness", "outer_grad_enabled")

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size = size
        self.randomness = randomness
        self.outer_grad_enabled: bool | None = None

    # ------------------------------------------------------------------ tensors in and out
    def wrap(self, outer: Tensor, is_batched: bool, aval: Aval | None = None) -> Tensor:
        """A tensor of this level around one of the level outside, whose dimension 0 is the batch if there is one."""
        return make_tensor(self._value(outer, is_batched, aval))

    def _value(self, outer: Tensor, is_batched: bool, aval: Aval | None = None) -> Batched:
        value: Batched = new_value(Batched)
        if aval is None:
            of = outer._aval()
            aval = aval_of(tuple(of.size[1:]), of.dtype, of.device) if is_batched else of
        value.aval = aval
        value.trace = self
        value.slot = -1
        value.array = value.origin = None
        value.outer = outer
        value.is_batched = is_batched
        return value

    def unwrap(self, tensor: Tensor) -> tuple[Tensor, bool]:
        """The tensor outside, and whether its dimension 0 is the batch."""
        value = tensor._content()
        if type(value) is Batched and value.trace is self:
            return value.outer, value.is_batched
        return tensor, False

    def lift(self, tensor: Tensor) -> Tensor:
        value = tensor._content()
        if type(value) is Batched and value.trace is self:
            return make_tensor(value, tensor._current_edge())
        return self.wrap(make_tensor(value, tensor._current_edge()), False)

    def detach(self, tensor: Tensor) -> Tensor:
        outer, is_batched = self.unwrap(tensor)
        with outside(self):
            return self.wrap(outer.detach(), is_batched, tensor._aval())

    def refuse_out(self, name: str, tensors: Sequence[Tensor]) -> None:
        with outside(self) as state:
            if state.levels:
                state.levels[-1].refuse_out(name, [self.unwrap(t)[0] for t in tensors])

    def shown(self, tensor: Tensor) -> tuple[str | None, list[str]]:
        number = thread.state.levels.index(self) + 1
        outer, is_batched = self.unwrap(tensor)
        with outside(self):
            if not isinstance(tensor._content(), Batched):
                return None, []
            inner = repr(outer).replace("\n", "\n    ")
            return f"BatchedTensor(lvl={number}, bdim=0, value=\n    {inner}\n)" if is_batched else repr(outer), []

    def data(self, tensor: Tensor) -> Tensor:
        """Refused, as by torch."""
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    def refuse(self, reason: str) -> Exception:
        """The error for somebody who wants to see the numbers of a tensor inside.

        Args:
            reason: what they are wanted for, see `recorder.materialise`.
        """
        return RuntimeError({"item": _NO_ITEM, "bool": _NO_BRANCH}.get(reason, _NO_DATA))

    # ------------------------------------------------------------------ instructions
    def apply(self, instruction: Instruction, tensors: Sequence[Tensor], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Tensor, ...]:
        values = [t._content() for t in tensors]
        mine = [type(v) is Batched and v.trace is self for v in values]
        if not any(mine):
            plain = [make_tensor(v, t._current_edge()) for v, t in zip(values, tensors)]
            with outside(self):
                return call.apply(instruction, plain, floats, ints)
        edges = tuple([t._current_edge() if own else None for t, own in zip(tensors, mine)])
        lifted: list[Batched] = [
            v if own else self._value(make_tensor(v, t._current_edge()), False) for v, t, own in zip(values, tensors, mine)  # type: ignore[misc]
        ]
        results = self._run(instruction, lifted, floats, ints)
        if thread.state.grad_enabled and any(edges):
            node = call.tape(instruction, edges, tuple(lifted), results, floats, ints)
            if node is not None:
                return call.on_node(instruction, results, node)
        return tuple([make_tensor(r) for r in results])

    def record(self, instruction: Instruction, values: tuple[Value, ...], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Value, ...]:
        mine = [type(v) is Batched and v.trace is self for v in values]
        if not any(mine):
            with outside(self):
                return record(instruction, values, floats, ints)
        return self._run(instruction, [v if own else self._value(make_tensor(v), False) for v, own in zip(values, mine)], floats, ints)

    def _run(self, instruction: Instruction, values: Sequence[Any], floats: tuple[float, ...], ints: tuple[int, ...]) -> tuple[Batched, ...]:
        """Run an instruction outside, on tensors with or without the batch's dimension."""
        inference = instruction.infer(tuple([v.aval for v in values]))
        axes = tuple([0 if v.is_batched else None for v in values])
        is_batched = 0 in axes
        state = thread.state
        enabled = state.grad_enabled
        if self.outer_grad_enabled is not None:
            state.grad_enabled = self.outer_grad_enabled
        try:
            with outside(self):
                results = call.apply(batched(instruction, axes) if is_batched else instruction, [v.outer for v in values], floats, ints)
        finally:
            state.grad_enabled = enabled
        return tuple([self._value(r, is_batched, aval) for r, aval in zip(results, inference.outputs, strict=True)])

    def fit_write(self, target: Tensor, value: Value, edge: Any) -> tuple[Value, Any]:
        """What is about to be written into a tensor, as a value (and place on the tape) of the tensor's region.

        Raises:
            RuntimeError: different for each element of the batch, which the tensor is not; torch's text.
        """
        storage = target._storage
        old = target._value if storage is None else storage.value
        into_mine, mine = (type(v) is Batched and v.trace is self for v in (old, value))
        if mine and not into_mine:
            if value.is_batched:  # type: ignore[attr-defined]
                raise RuntimeError(_NO_INPLACE)
            return self.fit_write_outside(target, value.outer._content(), value.outer._current_edge())  # type: ignore[attr-defined]
        if into_mine and not mine:
            return self._value(make_tensor(value, edge), False), None
        return (value, edge) if mine else self.fit_write_outside(target, value, edge)

    def fit_write_outside(self, target: Tensor, value: Value, edge: Any) -> tuple[Value, Any]:
        """`fit_write` of the next level, if there is one."""
        with outside(self) as state:
            return state.levels[-1].fit_write(target, value, edge) if state.levels else (value, edge)


# ---------------------------------------------------------------------------------------------------------------- instructions
class BatchedInstruction(Differentiable):
    """``jax.vmap`` of an instruction.

    Its derivative is the batched derivative of the instruction, so the tape's rules hold; an input that is the same for every element of
    the batch gets the sum of their gradients.

    Attributes:
        base: the instruction.
        axes: for each input 0 (the batch's dimension) or None (the same for every element).
        operator: the instruction's operator, if it has one.
    """

    __slots__ = ("base", "axes", "operator")

    def __init__(self, base: Instruction, axes: tuple[int | None, ...]) -> None:
        self.base = base
        self.axes = axes
        self.operator = getattr(base, "operator", None)
        in_axes = (*axes, *[None] * (base.float_count + base.int_count))
        checks = [_batched_check(check, in_axes) for check in base.data_checks]
        super().__init__(base.name, jax.vmap(base.function, in_axes), base.float_count, base.int_count, checks, base.target)

    def identity(self) -> Any:
        return self.base, self.axes

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        elements = tuple([_element(a) if axis == 0 else a for a, axis in zip(inputs, self.axes, strict=True)])
        inner = self.base.derivative(needed, elements, tuple([_element(a) for a in outputs]))
        common = [self.axes[k] is None for k in inner.needed_positions]
        saved = (*[self.axes[k] for k in inner.saved_inputs], *[0 for _ in inner.saved_outputs])

        def build(present: tuple[bool, ...]) -> Instruction:
            rule = inner.instruction(present)
            axes = (*saved, *[0] * sum(present), *[None] * (rule.float_count + rule.int_count))
            return Differentiable(rule.name, functools.partial(_pull_back, rule, axes, common), rule.float_count, rule.int_count)

        return Backward(inner.name, inner.saved_inputs, inner.saved_outputs, needed, inputs, outputs, build)


def _pull_back(rule: Instruction, axes: tuple[int | None, ...], common: list[bool], *arrays: Any) -> tuple[Any, ...]:
    """The gradients of a batched instruction: ``rule`` for each element, summed up for inputs that are the same for all of them."""
    found = jax.vmap(rule.function, axes)(*arrays)
    found = found if isinstance(found, (tuple, list)) else (found,)
    return tuple([g.sum(0, dtype=g.dtype) if is_common else g for g, is_common in zip(found, common, strict=True)])


def _element(aval: Aval) -> Aval:
    return aval_of(tuple(aval.size[1:]), aval.dtype, aval.device)


def _batched_check(check: DataCheck, in_axes: tuple[int | None, ...]) -> DataCheck:
    predicate = jax.vmap(functools.partial(_of_one_shape, check.predicate), in_axes)
    return DataCheck(check.exception, check.message, check.numbers, predicate, check.at_once)


def _of_one_shape(predicate: Any, *arrays: Any) -> Any:
    """What a data check's predicate returned, its numbers in the shape of the Bool array."""
    found = predicate(*arrays)
    if not isinstance(found, tuple):
        return jnp.asarray(found)
    return (jnp.asarray(found[0]), *[jnp.broadcast_to(n, jnp.shape(found[0])) for n in found[1:]])


@functools.lru_cache(maxsize=8192)
def batched(instruction: Instruction, axes: tuple[int | None, ...]) -> BatchedInstruction:
    """The one batched instruction for these inputs."""
    return BatchedInstruction(instruction, axes)


# ---------------------------------------------------------------------------------------------------------------- what operators ask
def batch_of(tensor: Any) -> BatchLevel | None:
    """The ``vmap`` of which the tensor is a different one for each element, if any."""
    if not thread.state.levels or not isinstance(tensor, Tensor):
        return None
    value = tensor._content()
    while type(value) is Batched:
        if value.is_batched:
            return value.trace
        value = value.outer._content()
    return None


def is_inside_batch(tensor: Tensor) -> bool:
    """Whether a tensor can hold other elements for each element of a batch."""
    return type(tensor._content()) is Batched


def with_batch_of(like: Tensor, made: Tensor) -> Tensor:
    """A new tensor in the batches that another one belongs to, where it can be written to for each element."""
    value = like._content()
    if type(value) is not Batched:
        return made
    return value.trace.wrap(with_batch_of(value.outer, made), False)


def refuse_dynamic_shape(name: str, *tensors: Any) -> None:
    """Refuse an operator whose result's shape depends on data of a batch.

    Raises:
        RuntimeError: torch's text.
    """
    if any(batch_of(t) is not None for t in tensors):
        raise RuntimeError(_NO_DYNAMIC_SHAPE.format(name=name))


def drawing_levels() -> list[BatchLevel]:
    """The active levels for which a random operator draws numbers for each element, outermost first.

    Raises:
        RuntimeError: one does not allow random operators, torch's text.
    """
    levels = [level for level in thread.state.levels if isinstance(level, BatchLevel)]
    if any(level.randomness == "error" for level in levels):
        raise RuntimeError(_NO_RANDOMNESS)
    return [level for level in levels if level.randomness == "different"]
