"""Reading, writing and differentiating a window of a storage: the instructions behind every view, in-place write and their gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.state import thread
from ..graph.instruction import Instruction, Traced
from ..graph.interpreter import Prepared
from ..graph.recorder import record
from ..graph.value import Aval, Value, aval_of
from . import lens, strided, windows
from .geometry import Geometry, geometry
from .layout import is_non_overlapping_and_dense
from .tape import Backward

__all__ = ["read", "view_backward", "window", "write", "write_backward"]

#: How many offsets of one window may be seen at one place of a trace before the offset becomes an input.
STATIC_OFFSETS = 2


class Window(Instruction):
    """An instruction over a storage's base value and a geometry in it; ``kind`` is a function of `_KINDS`.

    Attributes:
        base, at: the storage's geometry and the window's.
        inside: the window that the *base tensor* is of the storage, None when it is the whole: the instruction then maps the content of
            the base tensor, as a derivative does that leads there.
    """

    __slots__ = ("kind", "base", "at", "inside")

    def __init__(self, kind: str, base: Geometry, at: Geometry, dynamic: bool, inside: Geometry | None = None) -> None:
        self.kind, self.base, self.at, self.inside = kind, base, at, inside
        compute = _KINDS[kind]
        if dynamic:
            super().__init__(f"{kind}_window", lambda *a: compute(self, a[-1], *a[:-1]), int_count=1)
        else:
            super().__init__(f"{kind}_window", lambda *a: compute(self, None, *a))

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> list[tuple[int, ...] | None]:
        whole = self.base.stride if self.inside is None else None
        return [self.at.stride if self.kind == "read" else None if self.kind == "adjoint" else whole]

    def identity(self) -> Any:
        return self.kind, self.base, self.at, self.inside, self.int_count

    def on_host(self) -> Callable[..., Any] | None:
        """The function in numpy, of arrays (and the start); None where elements are seen as others or the base tensor is itself a window."""
        if self.inside is not None or self.base.elements is not None or self.at.elements is not None:
            return None
        run, base, at = _ON_HOST[self.kind], self.base, self.at
        if self.int_count:
            return lambda *a: run(base, at, int(a[-1]), *a[:-1])
        return functools.partial(run, base, at, at.offset)

    def _trace(self, avals: tuple[Aval, ...]) -> Traced:
        """Known without tracing, where numpy's function is."""
        function = self.on_host()
        if function is None:
            return super()._trace(avals)
        size = self.at.size if self.kind == "read" else self.base.size
        outputs = (jax.ShapeDtypeStruct(tuple(size), avals[0].dtype.numpy),)
        prepared = Prepared.of(function, len(avals) + self.int_count)
        return Traced(outputs, lambda: self._jaxpr(self.call, avals)[0], prepared=prepared)

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        """Windows are linear: read and adjoint are each other's transpose, a write is an erased base plus an adjoint."""
        dynamic = self.int_count > 0
        transposed = {"read": ("adjoint",), "adjoint": ("read",), "erase": ("erase",), "write": ("erase", "read")}[self.kind]
        parts = [window(kind, self.base, self.at, dynamic, self.inside) for kind, need in zip(transposed, needed, strict=True) if need]
        if len(parts) == 1:
            return Backward(_NAMES[self.kind], (), (), needed, inputs, outputs, lambda present: parts[0])
        both = _Both(f"{self.kind}_window_backward", parts)
        return Backward(_NAMES[self.kind], (), (), needed, inputs, outputs, lambda present: both)

    # -- the functions: from the base tensor's content to the storage's, to the elements the window counts in, and back
    def read(self, start: Any, value: Any) -> Any:
        """The window's elements."""
        base, at = lens.frame(self.base, self.at)
        return lens.shown(windows.read(lens.from_memory(self._enter(value), self.base, self.at), base, at, start), self.at)

    def adjoint(self, start: Any, g: Any) -> Any:
        """The transpose of `read`."""
        base, at = lens.frame(self.base, self.at)
        return self._leave(lens.to_memory(windows.adjoint(lens.stored(g, self.at), base, at, start), None, self.base, self.at))

    def write(self, start: Any, value: Any, new: Any) -> Any:
        """The content with the window's elements replaced."""
        base, at = lens.frame(self.base, self.at)
        value = self._enter(value)
        seen = windows.write(lens.from_memory(value, self.base, self.at), base, at, lens.stored(new, self.at), start)
        return self._leave(lens.to_memory(seen, value, self.base, self.at))

    def erase(self, start: Any, g: Any) -> Any:
        """The content with zeros in the window: the derivative of `write` for the old content."""
        elements = self.at.elements
        return self.write(start, g, jnp.zeros(self.at.size, g.dtype if elements is None else elements.dtype.numpy))

    def _enter(self, value: Any) -> Any:
        if self.inside is None:
            return value
        base, at = lens.frame(self.base, self.inside)
        return lens.to_memory(windows.adjoint(self._shared(lens.stored(value, self.inside)), base, at), None, self.base, self.inside)

    def _leave(self, memory: Any) -> Any:
        if self.inside is None:
            return memory
        base, at = lens.frame(self.base, self.inside)
        return self._shared(lens.shown(windows.read(lens.from_memory(memory, self.base, self.inside), base, at), self.inside))

    def _shared(self, value: Any) -> Any:
        """What is added up, or handed out again, for each element of the base tensor: its share where several are one in memory."""
        assert self.inside is not None
        at = self.inside
        if is_non_overlapping_and_dense(at.size, at.stride):
            return value
        places = np.zeros(at.size, np.int64)
        for d, (n, stride) in enumerate(zip(at.size, at.stride, strict=True)):
            places += (np.arange(n) * stride).reshape(-1, *[1] * (len(at.size) - 1 - d))
        _, place, count = np.unique(places, return_inverse=True, return_counts=True)
        often = count[place].reshape(at.size)
        return value if often.max(initial=1) == 1 else value / often.astype(value.real.dtype)


class _Both(Instruction):
    """Several windows of one gradient."""

    __slots__ = ("parts",)

    def __init__(self, name: str, parts: list[Window]) -> None:
        self.parts = parts
        super().__init__(name, lambda *a: tuple(p.function(*a) for p in parts), int_count=parts[0].int_count)

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        first, second = self.parts  # erase and read: the transpose erases and adds the adjoint

        def build(present: tuple[bool, ...]) -> Instruction:
            def transpose(*a: Any) -> Any:
                start = a[-1] if self.int_count else None
                grads = iter(a)
                total = first.erase(start, next(grads)) if present[0] else 0
                return total + second.adjoint(start, next(grads)) if present[1] else total

            return Instruction("write_window_backward_backward", transpose, int_count=self.int_count)

        return Backward("CopySlicesBackward0", (), (), needed, inputs, outputs, build)


_KINDS: dict[str, Callable[..., Any]] = {"read": Window.read, "adjoint": Window.adjoint, "write": Window.write, "erase": Window.erase}
_ON_HOST: dict[str, Callable[..., Any]] = {"read": strided.read, "adjoint": strided.adjoint, "write": strided.write, "erase": strided.erase}
_NAMES = {"read": "AsStridedBackward0", "adjoint": "AsStridedBackwardBackward0", "write": "torch::autograd::CopySlices", "erase": "CopySlicesBackward0"}


@functools.lru_cache(maxsize=8192)
def window(kind: str, base: Geometry, at: Geometry, dynamic: bool = False, inside: Geometry | None = None) -> Window:
    """The one instruction for this window."""
    return Window(kind, base, at, dynamic, inside)


def _at_zero(at: Geometry) -> Geometry:
    """The geometry that stands for all offsets of a window."""
    return geometry(at.size, at.stride, 0, at.elements)


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
        if len(offsets) >= STATIC_OFFSETS and at.elements is None and windows.is_dynamic_ok(base, at):
            return record(window(kind, base, _at_zero(at), True), arguments, (), (at.offset,))[0]
        offsets.add(at.offset)
    return record(instruction, arguments)[0]


def read(value: Value, base: Geometry, at: Geometry) -> Value:
    """Record the reading of a window of a storage's value."""
    return _record("read", base, at, (value,))


def write(value: Value, base: Geometry, at: Geometry, new: Value) -> Value:
    """Record the writing of ``new`` into a window: the storage's new value."""
    return _record("write", base, at, (value, new))


@functools.lru_cache(maxsize=8192)
def view_backward(base_aval: Aval, base: Geometry, at: Geometry, inside: Geometry | None = None) -> Backward:
    """The derivative of a view that is regenerated from its base tensor after an in-place write.

    Args:
        base_aval: of the base tensor's content.
        base, at: the storage's geometry and the view's.
        inside: the base tensor's geometry; None when it is the whole storage.
    """
    seen = base_aval.dtype if at.elements is None else at.elements.dtype
    output = aval_of(tuple(at.size), seen, base_aval.device)
    return window("read", base, at, False, inside).derivative((True,), (base_aval,), (output,))


@functools.lru_cache(maxsize=8192)
def write_backward(needed: tuple[bool, bool], base_aval: Aval, base: Geometry, at: Geometry, new_aval: Aval, inside: Geometry | None = None) -> Backward:
    """The derivative of writing into a window, with respect to the base tensor's old content and to what is written; see `view_backward`."""
    return window("write", base, at, False, inside).derivative(needed, (base_aval, new_aval), (base_aval,))
