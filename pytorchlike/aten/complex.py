"""Complex numbers: made of their parts, taken apart, conjugated; ``conj``, ``real``, ``imag`` and the casts between them are views."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..core.dtype import from_numpy
from ..core.promotion import scalar_type_name
from ..dispatch.call import general_inplace
from ..dispatch.registry import FUNCTION, INPLACE, METHOD, OUT, Promote, composite, op, view
from ..tensors import elements
from ..tensors.tensor import Tensor
from .elementwise import COMPLEX, category

# -- views -------------------------------------------------------------------------------------------------------------------------------


@view("_conj(Tensor(a) self) -> Tensor(a)", forms=FUNCTION, changes_elements=True)
def conjugated(self, seen):
    """The conjugates, as a view with the conjugate bit flipped."""
    return elements.conj(self, seen)


@view("_neg_view(Tensor(a) self) -> Tensor(a)", forms=FUNCTION, changes_elements=True)
def negated(self, seen):
    """The negatives, as a view with the negative bit flipped."""
    return elements.neg(self, seen)


@view("view_as_real(Tensor(a) self) -> Tensor(a)", forms=FUNCTION, changes_elements=True)
def view_as_real(self, seen):
    """Complex numbers as pairs of real ones, along a new last dimension."""
    return elements.view_as_real(self, seen)


@view("view_as_complex(Tensor(a) self) -> Tensor(a)", forms=FUNCTION, changes_elements=True)
def view_as_complex(self, seen):
    """Pairs of real numbers, the last dimension, as complex ones."""
    return elements.view_as_complex(self, seen)


@composite("conj(Tensor(a) self) -> Tensor(a)")
def conj(self):
    """The complex conjugate as a view; a real tensor is returned as it is."""
    return conjugated(self) if self.is_complex() else self


@composite("resolve_conj(Tensor(a) self) -> Tensor(a)")
def resolve_conj(self):
    """A copy without the conjugate bit; a tensor that has none is returned as it is."""
    return self.clone() if self.is_conj() else self


@composite("resolve_neg(Tensor(a) self) -> Tensor(a)")
def resolve_neg(self):
    """A copy without the negative bit; a tensor that has none is returned as it is."""
    return self.clone() if self.is_neg() else self


@composite("real(Tensor(a) self) -> Tensor(a)", forms=FUNCTION)
def real(self):
    """The real part, a view; a real tensor itself."""
    if not self.is_complex():
        return self
    return view_as_real(self.conj() if self.is_conj() else self).select(-1, 0)


@composite("imag(Tensor(a) self) -> Tensor(a)", forms=FUNCTION)
def imag(self):
    """The imaginary part, a view.

    Raises:
        RuntimeError: a real tensor.
    """
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if self.is_conj():
        return negated(view_as_real(self.conj()).select(-1, 1))
    return view_as_real(self).select(-1, 1)


def _set_part(part: Tensor, value: Any) -> None:
    part.copy_(value if isinstance(value, Tensor) else part.new_tensor(value))  # type: ignore[attr-defined]


Tensor.real = property(lambda self: real(self), lambda self, value: _set_part(real(self), value), doc="The real part, a view.")  # type: ignore[attr-defined]
Tensor.imag = property(lambda self: imag(self), lambda self, value: _set_part(imag(self), value), doc="The imaginary part, a view.")  # type: ignore[attr-defined]


# -- operators ---------------------------------------------------------------------------------------------------------------------------


@op("_conj_physical(Tensor self) -> Tensor", forms=INPLACE, namespaces=())
def computed_conjugate(self):
    """The complex conjugate."""
    return jnp.conj(self)


@computed_conjugate.grad("self")
def _(g):
    return jnp.conj(g)


@composite("conj_physical(Tensor self) -> Tensor", forms=FUNCTION | METHOD | OUT)
def conj_physical(self):
    """The complex conjugate, computed; a real tensor itself."""
    return computed_conjugate(self) if self.is_complex() else self


@composite("conj_physical_(Tensor(a!) self) -> Tensor(a!)")
def conj_physical_(self):
    """`conj_physical` in place."""
    return general_inplace(computed_conjugate, (self,)) if self.is_complex() else self


@op("angle(Tensor self) -> Tensor", promote=Promote.INT_TO_FLOAT, forms=FUNCTION | METHOD | OUT)
def angle(self):
    """The argument of a complex number; for real ones 0, pi where negative, NaN where NaN.  Grad: 0 at zero and for real ones."""
    if category(self) == COMPLEX:
        return jnp.arctan2(self.imag, self.real)
    return jnp.where(jnp.isnan(self), self, jnp.where(self < 0, jnp.full_like(self, math.pi), 0))


@angle.grad("self")
def _(g, self):
    if category(self) != COMPLEX:
        return jnp.zeros_like(g)
    square = self.real * self.real + self.imag * self.imag
    zero = square == 0
    scale = jnp.where(zero, 0, g / jnp.where(zero, 1, square))
    return lax.complex(-self.imag * scale, self.real * scale)


@op("complex(Tensor real, Tensor imag) -> Tensor", forms=FUNCTION | OUT)
def complex(real, imag):
    """Complex numbers from their real and imaginary parts.

    Limits: halves become complex64.
    """
    return lax.complex(*_full_parts(real, imag))


@complex.grad("real")
def _(g):
    return g.real


@complex.grad("imag")
def _(g):
    return g.imag


@op("polar(Tensor abs, Tensor angle) -> Tensor", forms=FUNCTION | OUT)
def polar(abs, angle):
    """Complex numbers from magnitude and angle.

    Grad: of a negative magnitude along the result's own direction, as torch has it.
    """
    abs, angle = _full_parts(abs, angle)
    return lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


def _phase(result):
    """Of a complex number its direction, 0 for 0."""
    size = lax.abs(result)
    return jnp.where(size == 0, 0, result / jnp.where(size == 0, 1, size).astype(result.dtype))


@polar.grad("abs")
def _(g, result):
    return (jnp.conj(g) * _phase(result)).real


@polar.grad("angle")
def _(g, result):
    return (jnp.conj(g) * result * 1j).real


def _full_parts(first, second):
    """Two real arrays broadcast to one shape, at least float32 (XLA has no complex numbers of halves)."""
    parts = jnp.broadcast_arrays(first, second)
    return [part.astype(jnp.float32) if part.dtype == jnp.float16 else part for part in parts]


def _check_parts(first, second):
    names = [scalar_type_name(from_numpy(part.dtype)) for part in (first, second)]
    if not set(names) <= {"Half", "Float", "Double"}:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}")
    if names[0] != names[1]:
        raise RuntimeError(f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second argument")


@complex.check
def _(real, imag):
    _check_parts(real, imag)


@polar.check
def _(abs, angle):
    _check_parts(abs, angle)
