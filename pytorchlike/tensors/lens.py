"""The lens through which a view reads and writes elements that are not the storage's own (`Elements`): pure JAX functions.

`windows` knows sizes and strides only; `views` puts these functions around it.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dtype import bool_, dtype, uint8
from .elements import Elements, like_memory, pair_of
from .geometry import Geometry, contiguous, geometry
from .windows import flat, unflat

__all__ = ["frame", "from_memory", "shown", "stored", "to_memory"]


def _is_part(found: Elements, at: Geometry) -> bool:
    """Whether a window holds only real, or only imaginary parts of complex numbers: then nothing has to be reinterpreted."""
    if not found.is_recast or found.memory is not pair_of(found.dtype):
        return False
    return all(stride % 2 == 0 for n, stride in zip(at.size, at.stride, strict=True) if n > 1)


@functools.lru_cache(maxsize=8192)
def frame(base: Geometry, at: Geometry) -> tuple[Geometry, Geometry]:
    """The base and the window in it that `from_memory` and `to_memory` stand around."""
    found = at.elements
    if found is None:
        return base, at
    if not found.is_recast:
        return base, like_memory(at)
    if _is_part(found, at):
        return base, geometry(at.size, [stride // 2 for stride in at.stride], at.offset // 2)
    return contiguous((base.numel * found.memory.itemsize // found.dtype.itemsize,)), like_memory(at)


def from_memory(value: jax.Array, base: Geometry, at: Geometry) -> jax.Array:
    """A storage's value as an array of the elements that ``at`` counts in (the base of `frame`)."""
    found = at.elements
    if found is None or not found.is_recast:
        return value
    if _is_part(found, at):
        return jnp.imag(value) if at.offset % 2 else jnp.real(value)
    return _reinterpret(flat(value, base), uint8 if _is_truth(found) else found.dtype)


def to_memory(seen: jax.Array, value: jax.Array | None, base: Geometry, at: Geometry) -> jax.Array:
    """The storage's value that `from_memory` shows as ``seen``.

    Args:
        value: the storage's value before, for what ``at`` cannot show; None: zeros.
    """
    found = at.elements
    if found is None or not found.is_recast:
        return seen
    if _is_part(found, at):
        if value is None:
            value = jnp.zeros(seen.shape, found.memory.numpy)
        return lax.complex(jnp.real(value), seen) if at.offset % 2 else lax.complex(seen, jnp.imag(value))
    memory = _reinterpret(seen, found.memory)
    if memory.shape[0] < base.numel:  # a last element that does not fill a whole one of the view's
        rest = jnp.zeros(base.numel, memory.dtype) if value is None else flat(value, base)
        memory = jnp.concatenate([memory, rest[memory.shape[0] :]])
    return unflat(memory, base)


def shown(window: jax.Array, at: Geometry) -> jax.Array:
    """What was read from a window as the view's elements: conjugated, negated, bytes as truth values."""
    found = at.elements
    if found is None:
        return window
    if _is_truth(found):
        return window != 0
    if found.conjugate:
        window = jnp.conj(window)
    return -window if found.negative else window


def stored(window: jax.Array, at: Geometry) -> jax.Array:
    """The inverse of `shown`."""
    if at.elements is not None and _is_truth(at.elements):
        return window.astype(np.uint8)
    return shown(window, at)


def _is_truth(found: Elements) -> bool:
    """Whether bytes are seen as truth values: they stay bytes until they are shown, as True has many."""
    return found.is_recast and found.dtype is bool_


def _reinterpret(memory: jax.Array, to: dtype) -> jax.Array:
    """The bytes of a flat array as another dtype."""
    wanted = np.dtype(to.numpy)
    if memory.dtype == wanted:
        return memory
    if jnp.iscomplexobj(memory):  # XLA has no bit casts of complex numbers and booleans
        return _reinterpret(jnp.stack([jnp.real(memory), jnp.imag(memory)], -1).reshape(-1), to)
    if memory.dtype == bool:
        return _reinterpret(memory.astype(np.uint8), to)
    if jnp.issubdtype(wanted, jnp.complexfloating):
        part = _reinterpret_to(memory, np.finfo(wanted).dtype)
        part = part[: part.shape[0] // 2 * 2].reshape(-1, 2)
        return lax.complex(part[:, 0], part[:, 1])
    if wanted.kind == "b":
        return memory != 0
    return _reinterpret_to(memory, wanted)


def _reinterpret_to(memory: jax.Array, wanted: np.dtype[Any]) -> jax.Array:
    if memory.dtype == wanted:
        return memory
    before, after = memory.dtype.itemsize, wanted.itemsize
    if after > before:
        ratio = after // before
        memory = memory[: memory.shape[0] // ratio * ratio].reshape(-1, ratio)
    return lax.bitcast_convert_type(memory, wanted).reshape(-1)
