"""Checksums of tensors."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dims
from ..dispatch.registry import FUNCTION, METHOD, OUT, op
from .elementwise import not_implemented
from .reduce import is_complex


@op("hash_tensor(Tensor self, int[1]? dim=None, *, bool keepdim=False, int mode=0) -> Tensor", forms=FUNCTION | METHOD | OUT, differentiable=False)
def hash_tensor(self, dim, keepdim, mode):
    """The exclusive or of the elements' bits along dimensions, all unless told; floating point numbers are taken in double precision.

    Args:
        mode: 0, the only one there is.
    """
    if jnp.issubdtype(self.dtype, jnp.floating):
        bits = lax.bitcast_convert_type(self.astype(jnp.float64), jnp.uint64)
    else:
        bits = self.astype(jnp.uint64)
    axes = wrap_dims(dim, self.ndim)
    found = lax.reduce(bits, np.uint64(0), lax.bitwise_xor, axes)
    return jnp.expand_dims(found, axes) if keepdim else found


@hash_tensor.check
def _(self, dim, keepdim, mode):
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if is_complex(self.dtype):
        raise not_implemented("xor_sum_cpu", self)
    if self.size == 0 and not dim:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    for axis in wrap_dims(dim, self.ndim):
        if self.shape[axis] == 0 and dim:
            raise IndexError(f"hash_tensor: Expected reduction dim {axis} to have non-zero size.")
