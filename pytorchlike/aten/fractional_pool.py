"""Fractional max pooling (arXiv:1412.6071): windows of equal size whose places follow random samples."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..dispatch.registry import FUNCTION, composite, op
from .conv import expand
from .random import rand
from .reduce import is_integral, scalar_type
from .windows import gather_plane, scatter_plane

_PUBLIC = ("nn.functional",)
#: Spatial dimensions -> the dimension that each random sample of a plane places; torch turns them round in two dimensions only.
_SAMPLED_AXES = {2: (1, 0), 3: (0, 1, 2)}
_AXIS_NAMES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _starts(sample, size: int, kernel: int, count: int):
    """Where the windows along one dimension start; the last one always ends with the input."""
    last = jnp.full((*sample.shape, 1), size - kernel, jnp.int32)
    if count <= 1:
        return last[..., :count]
    step = jnp.asarray((size - kernel) / (count - 1), sample.dtype)
    at = ((jnp.arange(count - 1, dtype=sample.dtype) + sample[..., None]) * step).astype(jnp.int32)
    return jnp.concatenate([at - (sample * step).astype(jnp.int32)[..., None], last], -1)


def _window_indices(samples, sizes: tuple[int, ...], kernel: tuple[int, ...], counts: tuple[int, ...]):
    """Flat indices into the plane, of shape (..., *counts, elements of a window)."""
    spatial, lead = len(sizes), samples.shape[:-1]
    flat: Any = jnp.zeros((), jnp.int32)
    for axis, which in enumerate(np.argsort(_SAMPLED_AXES[spatial]).tolist()):
        at = _starts(samples[..., which], sizes[axis], kernel[axis], counts[axis])[..., None] + jnp.arange(kernel[axis], dtype=jnp.int32)
        shape = [1] * (2 * spatial)
        shape[axis], shape[spatial + axis] = counts[axis], kernel[axis]
        flat = flat * sizes[axis] + at.reshape(*lead, *shape)
    return flat.reshape(*lead, *counts, -1)


def _check(self, kernel_size, output_size, random_samples, spatial: int) -> None:
    name, shape = f"fractional_max_pool{spatial}d", tuple(self.shape)
    for what, values in (("kernel_size", kernel_size), ("output_size", output_size)):
        if len(values) not in (1, spatial):
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
    if len(shape) not in (spatial + 1, spatial + 2):
        raise RuntimeError(f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got: {list(shape)}")
    for axis in range(len(shape) - spatial - 1, len(shape)):
        if shape[axis] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{list(shape)} "
                f"with dimension {axis} being empty."
            )
    kernel, counts = expand(kernel_size, spatial), expand(output_size, spatial)
    for label, n, k, count in zip(_AXIS_NAMES[spatial], shape[-spatial:], kernel, counts):
        if count + k - 1 > n:
            shown = f"{name}{'_out' if spatial == 3 else ''}()"
            raise RuntimeError(f"{shown}: pool {label} {k} too large relative to input {label} {n}")
    if random_samples.dtype != self.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if random_samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {random_samples.ndim}")
    batch = shape[0] if len(shape) == spatial + 2 else 1
    if random_samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if random_samples.shape[1] != shape[-spatial - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if random_samples.shape[2] != spatial:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {spatial}; got {random_samples.shape[2]}.")
    if is_integral(self.dtype):
        raise NotImplementedError(f"\"{name}_out_frame\" not implemented for '{scalar_type(self.dtype)}'")


def _declare(spatial: int) -> None:
    name = f"fractional_max_pool{spatial}d"
    sizes = f"int[{spatial}] kernel_size, int[{spatial}] output_size"

    @op(f"{name}.sampled(Tensor self, {sizes}, Tensor random_samples) -> (Tensor, Tensor)", forms=FUNCTION, namespaces=())
    def pool(self, kernel_size, output_size, random_samples):
        """The maximum of every window and its flat index in the plane: the first of equals, the last NaN."""
        kernel, counts = expand(kernel_size, spatial), expand(output_size, spatial)
        if self.size == 0:
            empty = (*self.shape[: self.ndim - spatial], *counts)
            return jnp.zeros(empty, self.dtype), jnp.zeros(empty, jnp.int64)
        samples = random_samples[: self.shape[0]] if self.ndim == spatial + 2 else random_samples[0]
        at = _window_indices(samples, self.shape[-spatial:], kernel, counts)
        elements = gather_plane(self, at, spatial)
        best = jnp.argmax(elements, -1, keepdims=True)
        nan = jnp.isnan(elements)
        last_nan = elements.shape[-1] - 1 - jnp.argmax(jnp.flip(nan, -1), -1, keepdims=True)
        best = jnp.where(nan.any(-1, keepdims=True), last_nan, best)
        values, where = (jnp.take_along_axis(a, best, -1)[..., 0] for a in (elements, at))
        return values, where.astype(jnp.int64)

    @pool.grad("self")
    def _(g, self, result1):
        return scatter_plane(g[0], result1, self.shape[-spatial:])

    @pool.check
    def _(self, kernel_size, output_size, random_samples):
        _check(self, kernel_size, output_size, random_samples, spatial)

    def run(input, kernel_size, output_size, output_ratio, samples):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if spatial == 2 and len(output_ratio) > 2:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            ratios = expand(output_ratio, spatial)
            output_size = [int(input.size(axis - spatial) * ratio) for axis, ratio in enumerate(ratios)]
        if samples is None:
            batch = 1 if input.dim() == spatial + 1 else input.size(0)
            samples = rand(batch, input.size(-spatial - 1), spatial, dtype=input.dtype, device=input.device)
        elif samples.requires_grad:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument 'random_samples'. "
                "This input cannot have requires_grad True."
            )
        return pool(input, kernel_size, output_size, samples)

    arguments = (
        f"Tensor input, int[{spatial}] kernel_size, int[{spatial}]? output_size=None, float[]? output_ratio=None, "
        "bool return_indices=False, Tensor? _random_samples=None"
    )

    @composite(f"{name}_with_indices({arguments}) -> (Tensor, Tensor)", forms=FUNCTION, namespaces=_PUBLIC)
    def with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        """The maximum of every window and its flat index in the plane."""
        return run(input, kernel_size, output_size, output_ratio, _random_samples)

    @composite(f"{name}({arguments}) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
    def fractional_max_pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        """The maximum of every window; with ``return_indices`` a tuple of it and its flat index in the plane.

        Raises:
            ValueError: neither an output size nor a ratio is given.
        """
        found = run(input, kernel_size, output_size, output_ratio, _random_samples)
        return found if return_indices else found[0]


for _spatial in _SAMPLED_AXES:
    _declare(_spatial)
