"""Changing the size of images: interpolation, padding, and moving elements between channels and space.

Every separable interpolation is a list of `Taps` for each dimension, computed once from the sizes, so that all modes share one forward
(a few gathers a dimension) and one gradient (a small dense product a dimension).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..dispatch.registry import FUNCTION, OPERATORS, OUT, composite, op
from .adaptive_pool import Taps, resample, resample_gradient
from .reduce import is_integral, scalar_type, widened

_PUBLIC = ("nn.functional",)
_BOTH = ("", "nn.functional")


# --- interpolation ------------------------------------------------------------------------------------------------------------------


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic kernel."""
    x = np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


#: Mode -> (width of the kernel, kernel) where the image is smoothed before it shrinks.
_SMOOTHED: dict[str, tuple[int, Callable]] = {
    "bilinear": (2, lambda x: np.maximum(1 - np.abs(x), 0)),
    "bicubic": (4, lambda x: _cubic(x, -0.5)),
    "lanczos": (6, _lanczos),
}


def _taps(mode: str, size: int, out: int, align_corners: bool, antialias: bool, factor: float | None, dtype: Any) -> Taps:
    """The taps that resize a dimension from ``size`` to ``out``; positions are computed in ``dtype``, as torch does."""
    at, real = np.arange(out, dtype=dtype), np.dtype(dtype).type
    scale = real(1 / factor) if factor else real(size) / real(out)
    if mode == "nearest":
        return Taps(np.minimum((at * scale).astype(np.int64), size - 1)[:, None], np.ones((out, 1)))
    if mode == "nearest-exact":
        return Taps(np.minimum(((at + real(0.5)) * scale).astype(np.int64), size - 1)[:, None], np.ones((out, 1)))
    if align_corners:
        scale = real(size - 1) / real(out - 1) if out > 1 else real(0)
    if antialias:
        return _smoothed_taps(mode, size, out, float(scale), dtype)
    position = at * scale if align_corners else (at + real(0.5)) * scale - real(0.5)
    if mode == "bicubic":
        low = np.floor(position)
        steps = np.arange(-1, 3)
        weights = _cubic((position - low)[:, None] - steps, -0.75)
        return Taps(np.clip(low.astype(np.int64)[:, None] + steps, 0, size - 1), weights)
    position = np.maximum(position, 0)
    first = np.minimum(position.astype(np.int64), size - 1)
    share = np.clip(position - first, 0, 1)
    return Taps(np.stack([first, np.minimum(first + 1, size - 1)], 1), np.stack([1 - share, share], 1))


def _smoothed_taps(mode: str, size: int, out: int, scale: float, dtype: Any) -> Taps:
    width, kernel = _SMOOTHED[mode]
    reach = width / 2 * max(scale, 1.0)
    center = scale * (np.arange(out) + 0.5)
    start = np.maximum((center - reach + 0.5).astype(np.int64), 0)
    stop = np.minimum((center + reach + 0.5).astype(np.int64), size)
    taps = start[:, None] + np.arange(int((stop - start).max()))
    weights = np.where(taps < stop[:, None], kernel((taps - center[:, None] + 0.5) / max(scale, 1.0)), 0)
    return Taps(np.minimum(taps, stop[:, None] - 1), (weights / weights.sum(1, keepdims=True)).astype(dtype))


def _taps_of(shape, dtype, mode, size, align_corners, antialias, factors) -> list[tuple[int, Taps]]:
    spatial = len(size)
    real = np.float64 if dtype == np.float64 else np.float32
    lead = len(shape) - spatial
    found = []
    for d, (out, factor) in enumerate(zip(size, factors)):
        n = shape[lead + d]
        if n != out or factor not in (None, 1.0):
            taps = _taps(mode, n, out, align_corners, antialias, factor, real)
            found.append((lead + d, taps if antialias or mode not in _WITH_ROUNDED_WEIGHTS else _rounded_weights(taps, dtype)))
    return found


#: Modes whose weights torch keeps in the image's dtype, half precision too, on the way forward.
_WITH_ROUNDED_WEIGHTS = ("linear", "trilinear", "bicubic")


def _rounded_weights(taps: Taps, dtype: Any) -> Taps:
    if dtype not in (jnp.bfloat16, jnp.float16):
        return taps
    weights = taps.weights.astype(np.float32).astype(dtype)
    if weights.shape[1] == 2:
        weights[:, 0] = (1 - weights[:, 1].astype(np.float32)).astype(dtype)
    return Taps(taps.indices, weights.astype(np.float32))


@op(
    "_interpolate(Tensor input, str mode, int[] size, bool align_corners, bool antialias, float? factor0, float? factor1, float? factor2) "
    "-> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def resized(input, mode, size, align_corners, antialias, factor0, factor1, factor2):
    """The spatial dimensions resized; ``factor`` is the scale a user gave, which then decides positions instead of the sizes."""
    exact = mode.startswith("nearest")
    x = input if exact else input.astype(jnp.float32) if is_integral(input.dtype) else widened(input)
    for axis, taps in _taps_of(input.shape, input.dtype, mode, size, align_corners, antialias, (factor0, factor1, factor2)):
        x = jnp.take(x, taps.indices[:, 0], axis=axis) if exact else resample(x, axis, taps)
    return jnp.clip(jnp.round(x), 0, 255).astype(input.dtype) if is_integral(input.dtype) and not exact else x.astype(input.dtype)


@resized.grad("input")
def _(g, input_meta, mode, size, align_corners, antialias, factor0, factor1, factor2):
    g = widened(g)
    for axis, taps in _taps_of(input_meta.shape, g.dtype, mode, size, align_corners, antialias, (factor0, factor1, factor2)):
        n, out = input_meta.shape[axis], taps.indices.shape[0]
        repeats, rest = divmod(out, n)
        if mode.startswith("nearest") and not rest and (taps.indices[:, 0] == np.arange(out) // repeats).all():
            g = g.reshape(*g.shape[:axis], n, repeats, *g.shape[axis + 1 :]).sum(axis + 1)
        else:
            g = resample_gradient(g, axis, taps, n)
    return g


@resized.check
def _(input, mode, size, align_corners, antialias, factor0, factor1, factor2):
    spatial = len(size)
    before = input.shape[len(input.shape) - spatial :]
    axes = ("D", "H", "W")[3 - spatial :] if spatial > 1 else ("W",)
    if any(n <= 0 for n in (*before, *size)):
        old, new = (", ".join(f"{a}: {n}" for a, n in zip(axes, sizes)) for sizes in (before, size))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({old}) output ({new})")
    kind = scalar_type(input.dtype)
    if kind != "Byte" and not jnp.issubdtype(input.dtype, jnp.floating):
        kernel = mode.replace("-", "_") if mode.startswith("nearest") else mode
        kernel = f"{kernel}{spatial}d" if not kernel.endswith("linear") or spatial == 2 else f"{kernel}{spatial}d"
        suffix = "_channels_last" if spatial == 2 else ""
        raise NotImplementedError(f"\"upsample_{kernel}{suffix}\" not implemented for '{kind}'")


_LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


@composite(
    "interpolate(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None, "
    "bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """The spatial dimensions of ``(N, C, *)`` resized to ``size`` or by ``scale_factor``."""
    smooth = mode in ("linear", "bilinear", "bicubic", "trilinear", "lanczos")
    if not smooth and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    spatial, before = input.dim() - 2, list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    factors: list[float | None] | None = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != spatial:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {before} and output size of {size}. "
                    "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format."
                )
        sizes = [int(n) for n in size] if isinstance(size, (list, tuple)) else [int(size)] * spatial
    else:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != spatial:
                raise ValueError(
                    "Input and scale_factor must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {before} and scale_factor of shape {scale_factor}. "
                    "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
                )
        factors = [float(f) for f in scale_factor] if isinstance(scale_factor, (list, tuple)) else [float(scale_factor)] * spatial
        sizes = [math.floor(n * f) for n, f in zip(before, factors)]
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and not (mode in _SMOOTHED and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    factors = [None] * spatial if factors is None or recompute_scale_factor or mode == "area" else factors
    if input.dim() in (3, 4, 5) and mode == "area":
        return OPERATORS[f"adaptive_avg_pool{spatial}d"](input, sizes)
    if mode in _LINEAR.values() and input.dim() in _LINEAR and mode != _LINEAR[input.dim()]:
        needed = next(d for d, name in _LINEAR.items() if name == mode)
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {needed}D input")
    known = mode in ("nearest", "nearest-exact", *_LINEAR.values()) or (mode == "bicubic" and input.dim() == 4)
    known = known or (mode == "lanczos" and input.dim() == 4 and antialias)
    if input.dim() not in _LINEAR or not known:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {_MODES} (got {mode})"
        )
    factors += [None] * (3 - spatial)
    return resized(input, mode, tuple(sizes), bool(align_corners), antialias, *factors)


def _warn_renamed(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


@composite(
    "upsample(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """`interpolate` under its old name."""
    _warn_renamed("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite("upsample_nearest(Tensor input, int[]? size=None, float[]? scale_factor=None) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` to the nearest element, under its old name."""
    _warn_renamed("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@composite("upsample_bilinear(Tensor input, int[]? size=None, float[]? scale_factor=None) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` in two directions with aligned corners, under its old name."""
    _warn_renamed("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- padding ------------------------------------------------------------------------------------------------------------------------


def _borders(pad, ndim: int) -> list[tuple[int, int]]:
    """torch's flat list, last dimension first, as a pair for each dimension."""
    pairs = [(0, 0)] * ndim
    for d in range(len(pad) // 2):
        pairs[ndim - 1 - d] = (pad[2 * d], pad[2 * d + 1])
    return pairs


@op("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", forms=FUNCTION)
def constant_pad_nd(self, pad, value):
    """Borders of ``value``; negative widths cut off."""
    return lax.pad(self, jnp.asarray(value).astype(self.dtype), [(low, high, 0) for low, high in _borders(pad, self.ndim)])


@constant_pad_nd.grad("self")
def _(g, pad):
    return lax.pad(g, jnp.zeros((), g.dtype), [(-low, -high, 0) for low, high in _borders(pad, g.ndim)])


@constant_pad_nd.check
def _(self, pad, value):
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * len(self.shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {len(self.shape)}"
        )
    if any(n + low + high < 0 for n, (low, high) in zip(self.shape, _borders(pad, len(self.shape)))):
        raise RuntimeError("narrow(): length must be non-negative.")


def _slice(x, start: int, stop: int, axis: int):
    return lax.slice_in_dim(x, start, stop, axis=axis)


def _edges(x, axis: int, low: int, high: int, mode: str):
    """What stands before and after the kept part of a dimension, and that part."""
    n = x.shape[axis]
    kept = _slice(x, max(-low, 0), n - max(-high, 0), axis)
    low, high, m = max(low, 0), max(high, 0), kept.shape[axis]
    if mode == "reflect":
        return jnp.flip(_slice(x, 1, 1 + low, axis), axis), kept, jnp.flip(_slice(x, n - 1 - high, n - 1, axis), axis)
    if mode == "circular":
        return _slice(kept, m - low, m, axis), kept, _slice(kept, 0, high, axis)
    shape = x.shape
    first, last = (jnp.broadcast_to(_slice(x, at, at + 1, axis), (*shape[:axis], size, *shape[axis + 1 :]))
                   for at, size in ((0, low), (n - 1, high)))  # fmt: skip
    return first, kept, last


@op("_pad_edges(Tensor self, int[] pad, str mode) -> Tensor", forms=FUNCTION, namespaces=())
def pad_edges(self, pad, mode):
    """Borders that repeat what is inside: mirrored, the edge itself, or the other end."""
    for axis, (low, high) in enumerate(_borders(pad, self.ndim)):
        if low or high:
            self = jnp.concatenate(_edges(self, axis, low, high, mode), axis)
    return self


@pad_edges.check
def _(self, pad, mode):
    ndim, shape = len(self.shape), list(self.shape)
    if len(pad) not in (2, 4, 6) or ndim not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    for axis, (low, high) in enumerate(_borders(pad, ndim)):
        n = shape[axis]
        if mode == "reflect" and (low >= n or high >= n) and (low or high):
            raise RuntimeError(
                f"Argument #{4 + 2 * (ndim - 1 - axis)}: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({low}, {high}) at dimension {axis} of input {shape}"
            )
        if mode == "circular" and (low > n or high > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and n + low + high < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")


@composite("pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def pad(input, pad, mode="constant", value=None):
    """Borders around the last dimensions: ``pad`` lists (before, after) from the last dimension on; negative numbers cut off."""
    pad = tuple(pad)
    if mode == "constant":
        return constant_pad_nd(input, pad) if value is None else constant_pad_nd(input, pad, value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return pad_edges(input, pad, mode)


# --- channels and space -------------------------------------------------------------------------------------------------------------


def _shuffle(x, r: int):
    *lead, channels, height, width = x.shape
    x = x.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    return x.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2).reshape(*lead, channels // (r * r), height * r, width * r)


def _unshuffle(x, r: int):
    *lead, channels, height, width = x.shape
    x = x.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    return x.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3).reshape(*lead, channels * r * r, height // r, width // r)


@op("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", forms=FUNCTION | OUT, namespaces=_BOTH)
def pixel_shuffle(self, upscale_factor):
    """``(*, C * r * r, H, W)`` -> ``(*, C, H * r, W * r)``."""
    return _shuffle(self, upscale_factor)


@pixel_shuffle.grad("self")
def _(g, upscale_factor):
    return _unshuffle(g, upscale_factor)


@pixel_shuffle.check
def _(self, upscale_factor):
    if len(self.shape) < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(self.shape)} dimension(s)")
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    square = upscale_factor * upscale_factor
    if self.shape[-3] % square:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={self.shape[-3]} is not divisible by {square}"
        )


@op("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", forms=FUNCTION | OUT, namespaces=_BOTH)
def pixel_unshuffle(self, downscale_factor):
    """``(*, C, H * r, W * r)`` -> ``(*, C * r * r, H, W)``."""
    return _unshuffle(self, downscale_factor)


@pixel_unshuffle.grad("self")
def _(g, downscale_factor):
    return _shuffle(g, downscale_factor)


@pixel_unshuffle.check
def _(self, downscale_factor):
    if len(self.shape) < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {len(self.shape)} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for name, d in (("height", -2), ("width", -1)):
        if self.shape[d] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})={self.shape[d]} "
                f"is not divisible by {downscale_factor}"
            )


def _interleaved(x, groups: int):
    shape = x.shape
    return x.reshape(shape[0], groups, shape[1] // groups, *shape[2:]).swapaxes(1, 2).reshape(shape)


@op("channel_shuffle(Tensor self, int groups) -> Tensor", forms=FUNCTION | OUT, namespaces=_BOTH)
def channel_shuffle(self, groups):
    """Channels dealt out: the first of every group, then the second of every group, and so on."""
    return _interleaved(self, groups)


@channel_shuffle.grad("self")
def _(g, groups):
    return _interleaved(g, g.shape[1] // groups)


@channel_shuffle.check
def _(self, groups):
    if len(self.shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if self.shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {self.shape[1]} channels and {groups} groups.")
