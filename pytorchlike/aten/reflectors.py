"""Householder reflections: the QR decomposition as LAPACK leaves it, and products of reflections."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..dispatch.bind import column_major
from ..dispatch.registry import FUNCTION, OUT, op
from .matmul import adjoint

__all__ = ["householder_product", "reflectors"]


@op("_reflectors(Tensor self) -> (Tensor a, Tensor tau)", forms=FUNCTION, namespaces=(), differentiable=False)
def reflectors(self):
    """The QR decomposition: ``R`` with the vectors of the reflections below its diagonal, and their factors."""
    transposed, tau = jnp.linalg.qr(self, mode="raw")
    return jnp.swapaxes(transposed, -1, -2), tau


@op("householder_product(Tensor input, Tensor tau) -> Tensor", forms=FUNCTION | OUT, namespaces=("linalg",), aliases=("orgqr",))
def householder_product(input, tau):
    """The first columns of the product of Householder reflections given by their vectors and factors."""
    return lax.linalg.householder_product(input, tau)


def _one_by_one(input, tau):
    """The same in steps that JAX can differentiate: each reflection applied to the columns of the identity, last one first."""
    rows, columns = input.shape[-2:]
    count = tau.shape[-1]
    identity = jnp.broadcast_to(jnp.eye(rows, columns, dtype=input.dtype), input.shape)
    vectors = jnp.moveaxis((jnp.tril(input, -1) + identity)[..., :count], -1, 0)[..., None]

    def reflect(q, at):
        vector, factor = at
        return q - factor[..., None, None] * vector * (adjoint(vector) @ q), None

    return lax.scan(reflect, identity, (vectors, jnp.moveaxis(tau, -1, 0)), reverse=True)[0]


@householder_product.grad("input")
def _(g, input, tau):
    return jnp.conj(jax.vjp(lambda x: _one_by_one(x, tau), input)[1](jnp.conj(g))[0])


@householder_product.grad("tau")
def _(g, input, tau):
    return jnp.conj(jax.vjp(lambda x: _one_by_one(input, x), tau)[1](jnp.conj(g))[0])


column_major["householder_product"] = (0,)
