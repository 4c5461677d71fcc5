"""Pooling to a given output size, and linear maps along one dimension (`Taps`), which interpolation shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..dispatch.registry import FUNCTION, OPERATORS, composite, op
from .conv import expand
from .pool import average_gradient, average_of, gathered_maximum, maximum_of
from .reduce import scalar_type, widened
from .windows import Windows, scatter_plane

__all__ = ["Taps", "resample", "resample_gradient"]


@dataclass(frozen=True)
class Taps:
    """A linear map along one dimension: output ``o`` is the sum over ``j`` of ``weights[o, j]`` times input ``indices[o, j]``."""

    indices: np.ndarray
    weights: np.ndarray


def resample(x, axis: int, taps: Taps):
    """Apply taps along a dimension."""
    total: Any = 0
    shape = [1] * x.ndim
    shape[axis] = taps.indices.shape[0]
    for at, weight in zip(taps.indices.T, taps.weights.T):
        total = total + jnp.take(x, at, axis=axis) * jnp.asarray(weight.reshape(shape), x.dtype)
    return total


def resample_gradient(g, axis: int, taps: Taps, size: int):
    """The transpose of `resample`, as a product with the dense matrix (XLA's scatter is slow on CPUs)."""
    matrix = np.zeros((taps.indices.shape[0], size))
    np.add.at(matrix, (np.arange(matrix.shape[0])[:, None], taps.indices), taps.weights)
    product = jnp.tensordot(g, jnp.asarray(matrix, g.dtype), ((axis,), (0,)), precision=lax.Precision.HIGHEST)
    return jnp.moveaxis(product, -1, axis)


def _adaptive_bounds(size: int, out: int) -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(out)
    return at * size // max(out, 1), -(-(at + 1) * size // max(out, 1))


def _adaptive_indices(size: int, out: int) -> np.ndarray:
    start, stop = _adaptive_bounds(size, out)
    longest = int((stop - start).max(initial=1))
    return np.minimum(start[:, None] + np.arange(longest), stop[:, None] - 1)


def _adaptive_taps(size: int, out: int) -> Taps:
    start, stop = _adaptive_bounds(size, out)
    inside = start[:, None] + np.arange(int((stop - start).max(initial=1))) < stop[:, None]
    return Taps(_adaptive_indices(size, out), inside / (stop - start)[:, None])


def _even_windows(shape, output_size) -> Windows | None:
    sizes = shape[len(shape) - len(output_size) :]
    if any(o == 0 or n % o for n, o in zip(sizes, output_size)):
        return None
    kernel = tuple(n // o for n, o in zip(sizes, output_size))
    return Windows.of(shape, kernel, kernel, 0, 1, False)


def _check_adaptive(name: str, input, output_size, spatial: int, colon: str) -> None:
    shape = tuple(input.shape)
    if len(shape) not in (spatial + 1, spatial + 2):
        if spatial == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while checking arguments for {name})"
            )
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got{colon} {list(shape)}")
    if len(output_size) != spatial:
        if spatial == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")
        raise RuntimeError(
            f"{name}: output_size must be {spatial}" if colon == "" else f"{name}(): internal error: output_size.size() must be {spatial}"
        )
    for d in range(len(shape) - spatial if colon == "" else 1, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {list(shape)} "
                f"with dimension {d} being empty"
            )
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type(input.dtype)}'")


def _resolved(output_size, input, spatial: int) -> tuple[int, ...]:
    """``output_size`` for every dimension; None keeps the input's.

    Raises:
        ValueError: the input has too few dimensions, torch's text.
    """
    sizes = (output_size,) * spatial if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if spatial > 1 and isinstance(output_size, (tuple, list)) and input.dim() <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    sizes = sizes * spatial if len(sizes) == 1 else sizes
    return tuple(input.shape[d - len(sizes)] if n is None else n for d, n in enumerate(sizes))


def _declare_adaptive(spatial: int) -> None:
    public = ("", "nn.functional") if spatial == 1 else ("nn.functional",)

    @op(f"_adaptive_avg_pool{spatial}d(Tensor self, int[{spatial}] output_size) -> Tensor", forms=FUNCTION, namespaces=("",))
    def average(self, output_size):
        """The mean of windows laid out so that there are ``output_size`` of them."""
        even = _even_windows(self.shape, output_size)
        if even is not None:
            return average_of(self, even)
        wide = widened(self)
        for d, out in enumerate(output_size):
            axis = self.ndim - spatial + d
            wide = resample(wide, axis, _adaptive_taps(self.shape[axis], out))
        return wide.astype(self.dtype)

    @average.grad("self")
    def _(g, self, output_size):
        even = _even_windows(self.shape, output_size)
        if even is not None:
            return average_gradient(g, self, even)
        wide = widened(g)
        for d, out in enumerate(output_size):
            axis = self.ndim - spatial + d
            wide = resample_gradient(wide, axis, _adaptive_taps(self.shape[axis], out), self.shape[axis])
        return wide

    @average.check
    def _(self, output_size):
        name = f"adaptive_avg_pool{spatial}d"
        if len(output_size) == spatial and any(n < 0 for n in output_size):
            # torch pools one dimension as two, and has no blank before the last of three sizes
            name, shown = (name, f"{output_size[0]}, {','.join(map(str, output_size[1:]))}") if spatial > 1 else ("adaptive_avg_pool2d", f"1, {output_size[0]}")
            raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}")
        _check_adaptive(name, self, output_size, spatial, "")

    @composite(f"adaptive_avg_pool{spatial}d(Tensor input, int?[] output_size) -> Tensor", forms=FUNCTION, namespaces=public)
    def adaptive_average(input, output_size):
        """The mean of windows laid out so that there are ``output_size`` of them; None keeps a dimension's size."""
        sizes = _resolved(output_size, input, spatial)
        if sizes == (1,) * spatial and (spatial > 1 or input.dim() in (2, 3)):
            return input.mean(tuple(range(-spatial, 0)), keepdim=True)
        return average(input, sizes)

    @op(
        f"adaptive_max_pool{spatial}d_with_indices.sized(Tensor self, int[{spatial}] output_size) -> (Tensor, Tensor)",
        forms=FUNCTION,
        namespaces=(),
    )
    def maximum(self, output_size):
        """The maximum of windows laid out so that there are ``output_size`` of them, and its flat index in the plane."""
        even = _even_windows(self.shape, output_size)
        if 0 in output_size:
            empty = (*self.shape[: self.ndim - spatial], *output_size)
            return jnp.zeros(empty, self.dtype), jnp.zeros(empty, jnp.int64)
        if even is not None:
            values, where = maximum_of(self, even)
        else:
            sizes = self.shape[self.ndim - spatial :]
            values, where = gathered_maximum(self, [_adaptive_indices(n, out) for n, out in zip(sizes, output_size)])
        return values, where.astype(jnp.int64)

    @maximum.grad("self")
    def _(g, self, result1):
        return scatter_plane(g[0], result1, self.shape[self.ndim - spatial :])

    @maximum.check
    def _(self, output_size):
        _check_adaptive(f"adaptive_max_pool{spatial}d", self, output_size, spatial, ":")
        if any(n < 0 for n in output_size):
            shape = [*self.shape[: self.ndim - spatial], *[1] * (spatial == 1), *output_size]
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(output_size)}: {shape}")

    @composite(
        f"adaptive_max_pool{spatial}d_with_indices(Tensor input, int?[] output_size, bool return_indices=False) -> (Tensor, Tensor)",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def with_indices(input, output_size, return_indices=False):
        """The maxima of ``output_size`` windows and their flat indices in the plane."""
        return maximum(input, _resolved(output_size, input, spatial))

    @composite(
        f"adaptive_max_pool{spatial}d(Tensor input, int?[] output_size, bool return_indices=False) -> Tensor",
        forms=FUNCTION,
        namespaces=("nn.functional",),
    )
    def adaptive_maximum(input, output_size, return_indices=False):
        """The maxima of ``output_size`` windows; with ``return_indices`` a tuple of them and their flat indices in the plane."""
        values, where = maximum(input, _resolved(output_size, input, spatial))
        return (values, where) if return_indices else values


for _spatial in (1, 2, 3):
    _declare_adaptive(_spatial)


@composite("adaptive_max_pool1d.both(Tensor self, int[1] output_size) -> (Tensor, Tensor)", forms=FUNCTION)
def adaptive_max_pool1d(self, output_size):
    """The maxima of ``output_size`` windows and their indices."""
    return OPERATORS["adaptive_max_pool1d_with_indices.sized"](self, expand(output_size, 1))
