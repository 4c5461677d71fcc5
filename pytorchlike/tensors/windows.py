"""Reading, writing and the gradient of every view: `read`, `write` and `adjoint`, pure JAX functions of a storage's base value.

A base value is an array of shape ``base.size`` whose elements lie in memory as ``base.stride`` says; ``base`` is a geometry of offset 0
without gaps (some order of its dimensions is contiguous).  ``at`` is any geometry over that memory.  `plan` chooses how a window is
lowered, in this order (the kinds of `Plan`):

- ``whole``: the base itself; ``empty``: no elements;
- ``dims``: each dimension of the window steps along one dimension of the base: slice, transpose, broadcast;
- ``digits``: the same after the memory was reshaped to the digits of a mixed radix that suits the window's strides;
- ``range``: the same on a part of the memory, filled up to whole steps of the outermost dimension;
- ``gather``: windows that overlap themselves or fit no radix: gather and scatter, with indices computed from iotas.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .geometry import Geometry

__all__ = ["Digits", "Plan", "adjoint", "flat", "is_dynamic_ok", "plan", "read", "unflat", "write"]

Array = jax.Array
Ints = tuple[int, ...]
First = tuple[int, ...] | list[jax.Array]
_memo = functools.lru_cache(maxsize=8192)


class Digits(NamedTuple):
    """The memory seen as an array in which each dimension of a window takes equal steps along one axis, wherever the window starts.

    Attributes:
        order: the base's dimensions from slowest to fastest, in which it is reshaped to ``shape``; None: the base's dimensions as they are.
        shape: the axes' lengths.
        unit: elements of memory from one index to the next, for each axis.
        step: indices from one element of the window to the next.
        counts: elements of the window along the axis (1 where only one index is looked at).
        axes: for each of the window's `_moving_dims`, its axis.
    """

    order: Ints | None
    shape: Ints
    unit: Ints
    step: Ints
    counts: Ints
    axes: Ints

    @property
    def reach(self) -> Ints:
        """How many indices of each axis the window spans."""
        return tuple((n - 1) * step + 1 for n, step in zip(self.counts, self.step, strict=True))

    def locate(self, offset: int) -> Ints | None:
        """The indices at which a window with this offset starts; None when it would run over the end of an axis."""
        start = tuple(offset // unit % n for n, unit in zip(self.shape, self.unit, strict=True))
        fits = all(first + reach <= n for first, reach, n in zip(start, self.reach, self.shape, strict=True))
        return start if fits else None


class Plan(NamedTuple):
    """How a window is lowered: see the module's docstring for ``kind``; ``part`` is (first element, length) of the ``range`` kind."""

    kind: str
    digits: Digits | None = None
    start: Ints = ()
    part: tuple[int, int] | None = None


# -- planning (plain integers) ---------------------------------------------------------------------------------------------------------


@_memo
def plan(base: Geometry, at: Geometry) -> Plan:
    """The lowering chosen for a window."""
    if at is base:
        return Plan("whole")
    if at.numel == 0:
        return Plan("empty")
    for kind, digits in (("dims", _along_dims(base, at)), ("digits", _along_radix(base, at, base.numel))):
        start = digits.locate(at.offset) if digits else None
        if start is not None:
            return Plan(kind, digits, start)
    outermost = max(_moving_dims(at), key=lambda d: at.stride[d])
    length = at.size[outermost] * at.stride[outermost]
    digits = _along_radix(base, at, length)
    start = digits.locate(0) if digits else None
    return Plan("gather") if start is None else Plan("range", digits, start, (at.offset, length))


@_memo
def is_dynamic_ok(base: Geometry, at: Geometry) -> bool:
    """Whether `read` and the others may be given this window's offset as ``start``, to share one program with windows that only start
    elsewhere: whatever window of this size and stride the program was traced for, it is right for all that pass this test."""
    digits = _dynamic_digits(base, at) if at.numel and at is not base else None
    return digits is not None and digits.reach != digits.shape and digits.locate(at.offset) is not None


@_memo
def _dynamic_digits(base: Geometry, at: Geometry) -> Digits | None:
    """The digits for a window whose offset is not known: must not look at ``at.offset``."""
    return _along_dims(base, at) or _along_radix(base, at, base.numel)


def _moving_dims(at: Geometry) -> list[int]:
    """The dimensions along which the window moves: the others have one index, or repeat the same elements."""
    return [d for d in range(at.ndim) if at.size[d] != 1 and at.stride[d] != 0]


def _memory_order(base: Geometry) -> Ints:
    return tuple(sorted(range(base.ndim), key=lambda d: (-base.stride[d], base.size[d] == 1)))


def _along_dims(base: Geometry, at: Geometry) -> Digits | None:
    step, count, axes = [1] * base.ndim, [1] * base.ndim, []
    for d in _moving_dims(at):
        stride, n = at.stride[d], at.size[d]
        axis = next((a for a in range(base.ndim) if base.stride[a] <= stride < base.stride[a] * base.size[a]), None)
        if axis is None or axis in axes or stride % base.stride[axis] or (n - 1) * stride >= base.stride[axis] * base.size[axis]:
            return None
        step[axis], count[axis] = stride // base.stride[axis], n
        axes.append(axis)
    return Digits(None, tuple(base.size), base.stride, tuple(step), tuple(count), tuple(axes))


def _along_radix(base: Geometry, at: Geometry, numel: int) -> Digits | None:
    """Cut ``numel`` elements of memory into digits: each has the greatest unit that fits both the window's stride and the digit before."""
    axes: dict[int, int] = {}
    rows: list[tuple[int, int, int, int]] = []  # (length, unit, step, count)
    unit = numel
    for d in sorted(_moving_dims(at), key=lambda d: -at.stride[d]):
        inner = math.gcd(at.stride[d], unit)
        length, step = unit // inner, at.stride[d] // inner
        if (at.size[d] - 1) * step >= length:
            return None
        axes[d] = len(rows)
        rows.append((length, inner, step, at.size[d]))
        unit = inner
    if unit > 1 or not rows:
        rows.append((unit, 1, 1, 1))
    lengths, units, steps, counts = zip(*rows, strict=True)
    return Digits(_memory_order(base), lengths, units, steps, counts, tuple(axes[d] for d in sorted(axes)))


# -- the three functions ---------------------------------------------------------------------------------------------------------------


def read(value: Array, base: Geometry, at: Geometry, start: Array | None = None) -> Array:
    """The window's elements.

    Args:
        start: a 0-d integer array in place of ``at.offset`` (see `is_dynamic_ok`); all three functions take it.
    """
    lowered = _lowering(base, at, start)
    if lowered.kind == "whole":
        return value
    if lowered.kind == "empty":
        return jnp.zeros(tuple(at.size), value.dtype)
    if lowered.kind == "gather":
        elements = flat(value, base).at[_indices(base, at)].get(mode="promise_in_bounds")
        return _broadcast(elements, at)
    assert lowered.digits is not None
    found = _slice(_to_digits(value, base, lowered), lowered.digits, _first(lowered, start))
    return _broadcast(_in_window_order(found, lowered.digits), at)


def write(value: Array, base: Geometry, at: Geometry, new: Array, start: Array | None = None) -> Array:
    """The base value with the window's elements replaced by ``new`` (of the window's size and the value's dtype).

    The window must not repeat elements.
    """
    lowered = _lowering(base, at, start)
    if lowered.kind == "whole":
        return new
    if lowered.kind == "empty":
        return value
    new = _reshape(new, [at.size[d] for d in _moving_dims(at)])
    if lowered.kind == "gather":
        return unflat(flat(value, base).at[_indices(base, at)].set(new, mode="promise_in_bounds"), base)
    assert lowered.digits is not None
    target = _to_digits(value, base, lowered)
    written = _update(target, lowered.digits, _first(lowered, start), _in_digit_order(new, lowered.digits))
    if lowered.part is None:
        return _from_digits(written, base, lowered)
    first, length = lowered.part
    kept = lax.slice(_reshape(written, (length,)), (0,), (min(length, base.numel - first),))
    return unflat(lax.dynamic_update_slice(flat(value, base), kept, (first,)), base)


def adjoint(g: Array, base: Geometry, at: Geometry, start: Array | None = None) -> Array:
    """The transpose of `read`: what each element of the base gets from the window's ``g``, summed where elements repeat."""
    lowered = _lowering(base, at, start)
    if lowered.kind == "whole":
        return g
    if lowered.kind == "empty":
        return jnp.zeros(tuple(base.size), g.dtype)
    moving = _moving_dims(at)
    repeated = tuple(d for d in range(at.ndim) if d not in moving and at.size[d] != 1)
    if repeated:
        g = jnp.sum(g, axis=repeated, keepdims=True, dtype=g.dtype)
    g = _reshape(g, [at.size[d] for d in moving])
    if lowered.kind == "gather":
        return unflat(jnp.zeros((base.numel,), g.dtype).at[_indices(base, at)].add(g, mode="promise_in_bounds"), base)
    assert lowered.digits is not None
    return _from_digits(_slice_adjoint(_in_digit_order(g, lowered.digits), lowered.digits, _first(lowered, start)), base, lowered)


def _lowering(base: Geometry, at: Geometry, start: Array | None) -> Plan:
    return plan(base, at) if start is None else Plan("digits", _dynamic_digits(base, at))


# -- between the base's shape, flat memory and digits ----------------------------------------------------------------------------------


def _reshape(x: Array, shape: Sequence[int]) -> Array:
    return x if x.shape == tuple(shape) else lax.reshape(x, tuple(shape))


def _transpose(x: Array, order: Sequence[int]) -> Array:
    return x if tuple(order) == tuple(range(len(order))) else lax.transpose(x, tuple(order))


def _inverse(order: Sequence[int]) -> Ints:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def flat(value: Array, base: Geometry) -> Array:
    """A storage's value as its elements lie in memory."""
    return _reshape(_transpose(value, _memory_order(base)), (base.numel,))


def unflat(memory: Array, base: Geometry) -> Array:
    """The inverse of `flat`."""
    order = _memory_order(base)
    return _transpose(_reshape(memory, [base.size[d] for d in order]), _inverse(order))


def _to_digits(value: Array, base: Geometry, lowered: Plan) -> Array:
    digits = lowered.digits
    assert digits is not None
    if digits.order is None:
        return value
    if lowered.part is not None:
        first, length = lowered.part
        value = lax.pad(flat(value, base), jnp.zeros((), value.dtype), [(-first, first + length - base.numel, 0)])
        return _reshape(value, digits.shape)
    return _reshape(_transpose(value, digits.order), digits.shape)


def _from_digits(x: Array, base: Geometry, lowered: Plan) -> Array:
    """The transpose of `_to_digits`, and its inverse where that has one."""
    digits = lowered.digits
    assert digits is not None
    if digits.order is None:
        return x
    if lowered.part is not None:
        first, length = lowered.part
        x = lax.pad(_reshape(x, (length,)), jnp.zeros((), x.dtype), [(first, base.numel - first - length, 0)])
    return unflat(x, base)


# -- the window within the digits ------------------------------------------------------------------------------------------------------


def _first(lowered: Plan, start: Array | None) -> First:
    """The index at which the window starts along each axis: integers, or arrays when the offset is traced."""
    digits = lowered.digits
    assert digits is not None
    if start is None:
        return lowered.start
    zero = jnp.zeros((), start.dtype)
    rows = zip(digits.shape, digits.unit, digits.reach, strict=True)
    return [zero if reach == n else (start // jnp.asarray(unit, start.dtype)) % jnp.asarray(n, start.dtype) for n, unit, reach in rows]


def _slice(x: Array, digits: Digits, first: First) -> Array:
    if digits.reach == digits.shape == digits.counts:
        return x
    if isinstance(first, tuple):
        return lax.slice(x, first, [f + reach for f, reach in zip(first, digits.reach, strict=True)], digits.step)
    box = lax.dynamic_slice(x, first, digits.reach)
    return box if digits.reach == digits.counts else lax.slice(box, (0,) * box.ndim, box.shape, digits.step)


def _stretch(x: Array, digits: Digits) -> Array:
    """Zeros between the elements, so that they stand ``step`` apart."""
    if digits.reach == digits.counts:
        return x
    return lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, step - 1 if n > 1 else 0) for n, step in zip(digits.counts, digits.step, strict=True)])


def _slice_adjoint(x: Array, digits: Digits, first: First) -> Array:
    if digits.shape == digits.counts:
        return x
    if isinstance(first, tuple):
        rows = zip(first, digits.reach, digits.shape, digits.step, strict=True)
        return lax.pad(x, jnp.zeros((), x.dtype), [(f, n - f - reach, step - 1) for f, reach, n, step in rows])
    return lax.dynamic_update_slice(jnp.zeros(digits.shape, x.dtype), _stretch(x, digits), first)


def _update(x: Array, digits: Digits, first: First, new: Array) -> Array:
    if digits.reach != digits.counts:  # the elements in between stay: a select within the box that the window spans
        if isinstance(first, tuple):
            old = lax.slice(x, first, [f + reach for f, reach in zip(first, digits.reach, strict=True)])
        else:
            old = lax.dynamic_slice(x, first, digits.reach)
        hit = jnp.ones((), bool)
        for axis, step in enumerate(digits.step):
            if step > 1:
                hit = hit & (lax.broadcasted_iota(jnp.int32, digits.reach, axis) % step == 0)
        new = lax.select(hit, _stretch(new, digits), old)
    return new if digits.reach == digits.shape else lax.dynamic_update_slice(x, new, first)


# -- between the digits and the window's dimensions ------------------------------------------------------------------------------------


def _in_window_order(x: Array, digits: Digits) -> Array:
    """The axes the window moves along, in the order of its dimensions."""
    kept = sorted(digits.axes)
    return _transpose(_reshape(x, [x.shape[a] for a in kept]), [kept.index(a) for a in digits.axes])


def _in_digit_order(x: Array, digits: Digits) -> Array:
    """The inverse of `_in_window_order`."""
    return _reshape(_transpose(x, _inverse(digits.axes)), digits.counts)


def _broadcast(x: Array, at: Geometry) -> Array:
    """Put in the dimensions along which the window does not move."""
    return x if x.shape == tuple(at.size) else lax.broadcast_in_dim(x, tuple(at.size), tuple(_moving_dims(at)))


def _indices(base: Geometry, at: Geometry) -> Array:
    """The element of flat memory for each index of the moving dimensions; int32 unless the memory is larger than that."""
    moving = _moving_dims(at)
    dtype = jnp.int32 if base.numel < 2**31 else jnp.int64
    shape = tuple(at.size[d] for d in moving)
    index = jnp.full(shape, at.offset, dtype)
    for axis, d in enumerate(moving):
        index = index + lax.broadcasted_iota(dtype, shape, axis) * jnp.asarray(at.stride[d], dtype)
    return index
