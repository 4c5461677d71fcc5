"""Householder reflections: the QR decomposition as LAPACK leaves it, and products of reflections."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, METHOD, OUT, composite, op
from .elementwise import not_implemented
from .matmul import adjoint
from .reduce import is_integral, scalar_type

__all__ = ["householder_product", "reflectors"]

_FORMS = FUNCTION | METHOD | OUT


@op("_reflectors(Tensor self) -> (Tensor a, Tensor tau)", forms=FUNCTION, namespaces=(), differentiable=False)
def reflectors(self):
    """The QR decomposition: ``R`` with the vectors of the reflections below its diagonal, and their factors."""
    return _decompose(self)


def _decompose(x):
    transposed, tau = jnp.linalg.qr(x, mode="raw")
    return jnp.swapaxes(transposed, -1, -2), tau


@op("geqrf(Tensor self) -> (Tensor a, Tensor tau)", forms=_FORMS)
def geqrf(self):
    """The QR decomposition: ``R`` with the vectors of the reflections below its diagonal, and their factors.  Grad: not there, as in torch."""
    return _decompose(self)


@geqrf.check
def _(self):
    _check_dimensions("torch.geqrf", "input", self)
    _check_kernel("geqrf_cpu", self)


@geqrf.grad("self")
def _(g):
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


# ------------------------------------------------------------------------------------------------------- products of reflections
def _check_dimensions(name: str, argument: str, x) -> None:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: {argument} must have at least 2 dimensions.")


def _check_kernel(kernel: str, x) -> None:
    if is_integral(x.dtype) or x.dtype.itemsize == 2:
        raise not_implemented(kernel, x)


def _check_factors(name: str, input, tau) -> None:
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and input.ndim is equal to "
            f"{input.ndim}"
        )
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}")


@op("householder_product(Tensor input, Tensor tau) -> Tensor", forms=FUNCTION | OUT, namespaces=("linalg",))
def householder_product(input, tau):
    """The first columns of the product of Householder reflections given by their vectors and factors."""
    return lax.linalg.householder_product(input, tau)


@householder_product.check
def _(input, tau):
    name = "torch.linalg.householder_product"
    _check_dimensions(name, "input", input)
    for size, what, least in ((input.shape[-2], "-2", "input"), (input.shape[-1], "-1", "tau")):
        if size < (input if least == "input" else tau).shape[-1]:
            raise RuntimeError(f"{name}: input.shape[{what}] must be greater than or equal to {least}.shape[-1]")
    _check_factors(name, input, tau)
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{name}: tau dtype {scalar_type(tau.dtype)} does not match input dtype {scalar_type(input.dtype)}")
    _check_kernel("orgqr_cpu", input)


@composite("orgqr(Tensor self, Tensor input2) -> Tensor", forms=_FORMS)
def orgqr(self, input2):
    """`householder_product` under LAPACK's name."""
    return householder_product(self, input2)


def _one_by_one(input, tau, c, transposed: bool = False):
    """The product of the reflections (or its adjoint) times ``c``, in steps that JAX can differentiate."""
    rows, count = input.shape[-2], tau.shape[-1]
    identity = jnp.eye(rows, count, dtype=input.dtype)
    vectors = jnp.moveaxis(jnp.tril(input[..., :count], -1) + identity, -1, 0)[..., None]

    def reflect(product, at):
        vector, factor = at
        return product - factor[..., None, None] * vector * (adjoint(vector) @ product), None

    factors = jnp.moveaxis(tau, -1, 0)
    return lax.scan(reflect, c, (vectors, factors.conj() if transposed else factors), reverse=not transposed)[0]


def _pull_back(function, x, g):
    return jnp.conj(jax.vjp(function, x)[1](jnp.conj(g))[0])


def _identity(input):
    return jnp.broadcast_to(jnp.eye(input.shape[-2], input.shape[-1], dtype=input.dtype), input.shape)


@householder_product.grad("input")
def _(g, input, tau):
    return _pull_back(lambda x: _one_by_one(x, tau, _identity(input)), input, g)


@householder_product.grad("tau")
def _(g, input, tau):
    return _pull_back(lambda x: _one_by_one(input, x, _identity(input)), tau, g)


def _multiplied(input, tau, c, left: bool, transpose: bool):
    """`ormqr` in steps that JAX can differentiate."""
    return _one_by_one(input, tau, c, transpose) if left else adjoint(_one_by_one(input, tau, adjoint(c), not transpose))


@op("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", forms=_FORMS)
def ormqr(self, input2, input3, left, transpose):
    """The product of Householder reflections (its adjoint with ``transpose``) times a matrix, or with ``left=False`` a matrix times it.

    Args:
        self, input2: the reflections' vectors and factors.
        input3: the matrix.
    """
    return lax.linalg.ormqr(self[..., : input2.shape[-1]], input2, input3, left=left, transpose=transpose)


@ormqr.grad("self")
def _(g, self, input2, input3, left, transpose):
    return _pull_back(lambda x: _multiplied(x, input2, input3, left, transpose), self, g)


@ormqr.grad("input2")
def _(g, self, input2, input3, left, transpose):
    return _pull_back(lambda x: _multiplied(self, x, input3, left, transpose), input2, g)


@ormqr.grad("input3")
def _(g, self, input2, left, transpose):
    return _multiplied(self, input2, g, left, not transpose)


@ormqr.check
def _(self, input2, input3, left, transpose):
    name, side = "torch.ormqr", -2 if left else -1
    _check_dimensions(name, "input", self)
    _check_dimensions(name, "other", input3)
    if input3.ndim == self.ndim and input3.shape[side] != self.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if input2.shape[-1] > self.shape[-1] or input2.shape[-1] != min(input3.shape[side], self.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    _check_factors(name, self, input2)
    if self.ndim != input3.ndim:
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to {input3.ndim} and input.ndim "
            f"is equal to {self.ndim}"
        )
    if self.shape[:-2] != input3.shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got {list(input3.shape[:-2])}")
    for what, other in (("tau", input2), ("other", input3)):
        if other.dtype != self.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {what} to have the same dtype, but input has dtype{scalar_type(self.dtype)} and {what} has dtype "
                f"{scalar_type(other.dtype)}"
            )
    _check_kernel("ormqr_cpu", self)


column_major |= {"geqrf": (0,), "householder_product": (0,), "ormqr": (0,)}
