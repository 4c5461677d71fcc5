"""Reading, writing and differentiating a window of a storage: the instructions behind every view, in-place write and their gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ..core.state import thread
from ..graph.instruction import Instruction
from ..graph.recorder import record
from ..graph.value import Aval, Value, aval_of
from . import windows
from .geometry import Geometry, geometry
from .tape import Backward

__all__ = ["read", "view_backward", "window", "write", "write_backward"]

#: How many offsets of one window may be seen at one place of a trace before the offset becomes an input.
STATIC_OFFSETS = 2


class Window(Instruction):
    """An instruction over a storage's base value and a geometry in it; ``kind`` is the function's name in `windows`."""

    __slots__ = ("kind", "base", "at")

    def __init__(self, kind: str, base: Geometry, at: Geometry, dynamic: bool) -> None:
        compute = _KINDS[kind]
        self.kind, self.base, self.at = kind, base, at
        if dynamic:
            super().__init__(f"{kind}_window", lambda *a: compute(base, at, a[-1], *a[:-1]), int_count=1)
        else:
            super().__init__(f"{kind}_window", lambda *a: compute(base, at, None, *a))

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> list[tuple[int, ...] | None]:
        return [self.at.stride if self.kind == "read" else None if self.kind == "adjoint" else self.base.stride]

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        """Windows are linear: read and adjoint are each other's transpose, a write is an erased base plus an adjoint."""
        dynamic = self.int_count > 0
        transposed = {"read": ("adjoint",), "adjoint": ("read",), "erase": ("erase",), "write": ("erase", "read")}[self.kind]
        parts = [window(kind, self.base, self.at, dynamic) for kind, need in zip(transposed, needed, strict=True) if need]
        if len(parts) == 1:
            return Backward(_NAMES[self.kind], (), (), needed, inputs, outputs, lambda present: parts[0])
        both = _Both(f"{self.kind}_window_backward", parts)
        return Backward(_NAMES[self.kind], (), (), needed, inputs, outputs, lambda present: both)


class _Both(Instruction):
    """Several windows of one gradient."""

    __slots__ = ("parts",)

    def __init__(self, name: str, parts: list[Window]) -> None:
        self.parts = parts
        super().__init__(name, lambda *a: tuple(p.function(*a) for p in parts), int_count=parts[0].int_count)

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        first, second = self.parts  # erase and read: the transpose erases and adds the adjoint
        at, base = first.at, first.base

        def build(present: tuple[bool, ...]) -> Instruction:
            def transpose(*a: Any) -> Any:
                start = a[-1] if self.int_count else None
                grads = iter(a)
                total = _KINDS["erase"](base, at, start, next(grads)) if present[0] else 0
                return total + windows.adjoint(next(grads), base, at, start) if present[1] else total

            return Instruction("write_window_backward_backward", transpose, int_count=self.int_count)

        return Backward("CopySlicesBackward0", (), (), needed, inputs, outputs, build)


_KINDS: dict[str, Callable[..., Any]] = {
    "read": lambda base, at, start, value: windows.read(value, base, at, start),
    "adjoint": lambda base, at, start, g: windows.adjoint(g, base, at, start),
    "write": lambda base, at, start, value, new: windows.write(value, base, at, new, start),
    "erase": lambda base, at, start, g: windows.write(g, base, at, jnp.zeros(at.size, g.dtype), start),
}
_NAMES = {"read": "AsStridedBackward0", "adjoint": "AsStridedBackwardBackward0", "write": "CopySlices", "erase": "CopySlicesBackward0"}


@functools.lru_cache(maxsize=65536)
def window(kind: str, base: Geometry, at: Geometry, dynamic: bool = False) -> Window:
    """The one instruction for this window."""
    return Window(kind, base, at, dynamic)


def _at_zero(at: Geometry) -> Geometry:
    """The geometry that stands for all offsets of a window."""
    return geometry(at.size, at.stride, 0)


def _record(kind: str, base: Geometry, at: Geometry, arguments: tuple[Value, ...]) -> Value:
    """Record a window; an offset that changes from one run of a trace to the next becomes an input of the program."""
    instruction = window(kind, base, at)
    state = thread.state
    if state.immediate:
        return record(instruction, arguments)[0]
    trace = state.trace
    slots = tuple([a.slot if a.trace is trace else trace.slot_of(a) for a in arguments])
    position = trace.position
    if (instruction, *slots) not in position.next and at.offset:
        family = (kind, base, _at_zero(at), *slots)
        offsets = position.offsets.setdefault(family, set())
        if len(offsets) >= STATIC_OFFSETS and windows.is_dynamic_ok(base, at):
            return record(window(kind, base, _at_zero(at), True), arguments, (), (at.offset,))[0]
        offsets.add(at.offset)
    return record(instruction, arguments)[0]


def read(value: Value, base: Geometry, at: Geometry) -> Value:
    """Record the reading of a window of a storage's value."""
    return _record("read", base, at, (value,))


def write(value: Value, base: Geometry, at: Geometry, new: Value) -> Value:
    """Record the writing of ``new`` into a window: the storage's new value."""
    return _record("write", base, at, (value, new))


@functools.lru_cache(maxsize=65536)
def view_backward(base_aval: Aval, base: Geometry, at: Geometry) -> Backward:
    """The derivative of a view that is regenerated from its base after an in-place write."""
    output = aval_of(tuple(at.size), base_aval.dtype, base_aval.device)
    return window("read", base, at).derivative((True,), (base_aval,), (output,))


@functools.lru_cache(maxsize=65536)
def write_backward(needed: tuple[bool, bool], base_aval: Aval, base: Geometry, at: Geometry, new_aval: Aval) -> Backward:
    """The derivative of writing into a window, with respect to the old base value and to what is written."""
    return window("write", base, at).derivative(needed, (base_aval, new_aval), (base_aval,))

