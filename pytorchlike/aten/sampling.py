"""Reading images at other places: sliding blocks (unfold, fold), affine grids and sampling on a grid."""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..dispatch.registry import FUNCTION, composite, op
from .conv import expand
from .elementwise import rounding_to
from .reduce import scalar_type, widened
from .windows import Windows

_PUBLIC = ("nn.functional",)


# --- sliding blocks -----------------------------------------------------------------------------------------------------------------


def _blocks(x, windows: Windows):
    """(N, C, H, W) -> (N, C * kernel elements, windows)."""
    stacked = jnp.stack([element for _, element in windows.slices(x, 0)], 2)
    return stacked.reshape(x.shape[0], x.shape[1] * math.prod(windows.kernel), math.prod(windows.counts))


def _assembled(g, shape, windows: Windows):
    """The transpose of `_blocks`: blocks added up where they overlap."""
    if windows.is_tiling:
        parts = g.reshape(shape[0], shape[1], -1, *windows.counts)
        return windows.interleaved([parts[:, :, i] for i in range(parts.shape[2])])
    return jax.vjp(lambda x: _blocks(x, windows), jnp.zeros(shape, g.dtype))[1](g)[0]


def _pairs(*values) -> tuple[tuple[int, int], ...]:
    return tuple(expand(v, 2) for v in values)  # type: ignore[misc]


def _shown(values) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def _check_blocks(kernel_size, dilation, padding, stride, **output_size) -> None:
    """torch's checks of the numbers of sliding blocks."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    for name, value in (given | output_size).items():
        if len(value) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    for name, label in (("kernel_size", "kernel"), ("dilation", "dilation"), ("padding", "pad"), ("stride", "stride")):
        least, words = (0, "non-negative") if name == "padding" else (1, "greater than zero")
        high, wide = given[name]
        if high < least or wide < least:
            raise RuntimeError(f"{name.replace('_', ' ')} should be {words}, but got {label}_height: {high} {label}_width: {wide}")


@op("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", forms=FUNCTION, namespaces=())
def im2col(self, kernel_size, dilation, padding, stride):
    """The sliding blocks of an image as columns: ``(N, C, H, W)`` -> ``(N, C * kernel elements, blocks)``."""
    windows = Windows.of(self.shape, expand(kernel_size, 2), expand(stride, 2), padding, dilation, False)
    columns = _blocks(self if self.ndim == 4 else self[None], windows)
    return columns if self.ndim == 4 else columns[0]


@im2col.grad("self")
def _(g, self_meta, kernel_size, dilation, padding, stride):
    windows = Windows.of(self_meta.shape, expand(kernel_size, 2), expand(stride, 2), padding, dilation, False)
    shape = self_meta.shape if self_meta.ndim == 4 else (1, *self_meta.shape)
    return _assembled(g if g.ndim == 3 else g[None], shape, windows).reshape(self_meta.shape)


@im2col.check
def _(self, kernel_size, dilation, padding, stride):
    shape = list(self.shape)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        if len(shape) < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{max(len(shape), 1)}, {max(len(shape), 1) - 1}], but got 2)"
            )
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {shape}"
        )
    kernel, dilation, padding, stride = _pairs(kernel_size, dilation, padding, stride)
    _check_blocks(kernel, dilation, padding, stride)
    counts = Windows.of(shape, kernel, stride, padding, dilation, False).counts
    if any(c < 1 for c in counts):
        raise RuntimeError(
            f"Given input with spatial size {_shown(shape[-2:])}, kernel_size={_shown(kernel)}, dilation={_shown(dilation)}, "
            f"padding={_shown(padding)}, calculated shape of the array of sliding blocks as {_shown(counts)}, but its components must be "
            "at least one."
        )


@composite(
    "unfold.functional(Tensor input, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The sliding blocks of an image as columns: ``(N, C, H, W)`` -> ``(N, C * kernel elements, blocks)``."""
    return im2col(input, *_pairs(kernel_size, dilation, padding, stride))


@op(
    "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    forms=FUNCTION,
    namespaces=(),
)
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    """The image whose sliding blocks are these columns, added up where they overlap."""
    windows = Windows.of(output_size, expand(kernel_size, 2), expand(stride, 2), padding, dilation, False)
    columns = self if self.ndim == 3 else self[None]
    shape = (columns.shape[0], columns.shape[1] // math.prod(windows.kernel), *output_size)
    image = _assembled(columns, shape, windows)
    return image if self.ndim == 3 else image[0]


@col2im.grad("self")
def _(g, output_size, kernel_size, dilation, padding, stride):
    windows = Windows.of(output_size, expand(kernel_size, 2), expand(stride, 2), padding, dilation, False)
    columns = _blocks(g if g.ndim == 4 else g[None], windows)
    return columns if g.ndim == 4 else columns[0]


@col2im.check
def _(self, output_size, kernel_size, dilation, padding, stride):
    shape = list(self.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: {shape}"
        )
    kernel, dilation, padding, stride = _pairs(kernel_size, dilation, padding, stride)
    _check_blocks(kernel, dilation, padding, stride, output_size=output_size)
    if shape[-2] % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={shape[-2]} "
            f"and kernel_size={_shown(kernel)}."
        )
    counts = Windows.of(output_size, kernel, stride, padding, dilation, False).counts
    if shape[-1] != math.prod(counts):
        raise RuntimeError(
            f"Given output_size={_shown(output_size)}, kernel_size={_shown(kernel)}, dilation={_shown(dilation)}, "
            f"padding={_shown(padding)}, stride={_shown(stride)}, expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {counts[0]} * {counts[1]} = {math.prod(counts)}, but got input.size(2)={shape[-1]}."
        )


@composite(
    "fold(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The image whose sliding blocks are the columns ``(N, C * kernel elements, blocks)``, added up where they overlap."""
    return col2im(input, *_pairs(output_size, kernel_size, dilation, padding, stride))


# --- grids --------------------------------------------------------------------------------------------------------------------------


def _warn_corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True "
            "if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=3,
        )
    return bool(align_corners)


@op("affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor", forms=FUNCTION)
def affine_grid_generator(theta, size, align_corners):
    """For every place of an image of this size the point, in coordinates from -1 to 1, that an affine map sends it to."""
    spatial = size[2:]
    axes = []
    for n in spatial:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append(line if align_corners else line * (n - 1) / n)
    mesh = np.meshgrid(*axes, indexing="ij")
    base = jnp.asarray(np.stack([*mesh[::-1], np.ones(spatial)], -1), theta.dtype)
    return jnp.einsum("...j,nij->n...i", base, theta, precision=jax.lax.Precision.HIGHEST)


@composite("affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor", forms=FUNCTION, namespaces=_PUBLIC)
def affine_grid(theta, size, align_corners=None):
    """The sampling grid of a batch of affine maps: theta ``(N, 2, 3)`` and size ``(N, C, H, W)``, or one dimension more."""
    align_corners = _warn_corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = tuple(size)
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    rows = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (rows, rows + 1):
        raise ValueError(f"Expected a batch of {rows}D affine matrices of shape Nx{rows}x{rows + 1} for size {size}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, align_corners)


def _reflected(x, n: int, align_corners: bool, rounded):
    low, high = (0, 2 * (n - 1)) if align_corners else (-1, 2 * n - 1)
    if low == high:
        return jnp.zeros_like(x)
    start, span = low / 2, (high - low) / 2
    x = jnp.abs(rounded(x - start))
    extra, flips = jnp.fmod(x, span), jnp.floor(rounded(x / span))
    return rounded(jnp.where(flips % 2 == 0, extra, rounded(span - extra)) + start)


def _clipped(x, n: int):
    """``x`` inside of the image; no gradient on the edge."""
    return jnp.where(x <= 0, 0, jnp.where(x >= n - 1, n - 1, x))


def _placed(x, n: int, padding: int, align_corners: bool, rounded):
    """A position in pixels moved into the image: not at all, to the edge, or by reflection."""
    if padding == 2:
        x = _reflected(x, n, align_corners, rounded)
    return x if padding == 0 else _clipped(x, n)


def _read(image, positions: list[Any], padding: int, sizes):
    """Pixels at whole positions (one array a dimension), 0 outside of the image; image (N, C, elements)."""
    inside: Any = True
    flat: Any = 0
    for at, n in zip(positions, sizes):
        inside &= (at >= 0) & (at < n)
        flat = flat * n + jnp.clip(at, 0, n - 1).astype(jnp.int32)
    batch, channels = image.shape[:2]
    flat_index = flat.reshape(batch, 1, -1)
    found = jnp.take_along_axis(image, jnp.broadcast_to(flat_index, (batch, channels, flat_index.shape[-1])), 2, mode="clip")
    return jnp.where(inside.reshape(batch, 1, -1), found, 0)


def _pixel(x, n: int, align_corners: bool, rounded):
    """The position in pixels of a coordinate from -1 to 1."""
    x = rounded(x + 1)
    return rounded(rounded(x / 2) * (n - 1)) if align_corners else rounded(rounded(rounded(x * n) - 1) / 2)


def _cubic_weights(t, rounded):
    """Keys' cubic kernel with a = -0.75 at the four neighbours of a position ``t`` past the second."""
    a = -0.75
    r = rounded
    far = lambda x: r(r(r(r(r(r(a * x) - 5 * a) * x) + 8 * a) * x) - 4 * a)
    near = lambda x: r(r(r(r(r((a + 2) * x) - (a + 3)) * x) * x) + 1)
    return far(r(t + 1)), near(t), near(r(1 - t)), far(r(2 - t))


@op(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    forms=FUNCTION,
)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """``input`` read at the points of ``grid``, whose last dimension holds x, y (and z) from -1 to 1.

    Args:
        interpolation_mode: 0 linear, 1 nearest, 2 cubic.
        padding_mode: what lies outside: 0 zeros, 1 the edge, 2 reflections.

    As in torch every step is rounded to half precision, the positions too.
    """
    batch, channels, *sizes = input.shape
    image, points, rounded = widened(input).reshape(batch, channels, -1), widened(grid), rounding_to(input.dtype)
    pixels = [_pixel(points[..., len(sizes) - 1 - d], n, align_corners, rounded) for d, n in enumerate(sizes)]
    flat = (batch, 1, -1)
    if interpolation_mode == 2:
        result = _cubic_sample(image, pixels, padding_mode, align_corners, sizes, rounded)
    else:
        pixels = [_placed(x, n, padding_mode, align_corners, rounded) for x, n in zip(pixels, sizes)]
        if interpolation_mode == 1:
            result = _read(image, [jnp.round(x) for x in pixels], padding_mode, sizes)
        else:
            result = jnp.zeros((), image.dtype)
            lows = [jnp.floor(jax.lax.stop_gradient(x)) for x in pixels]
            for corner in np.ndindex(*(2,) * len(sizes)):
                weight: Any = 1
                for x, low, step in reversed([*zip(pixels, lows, corner)]):
                    weight = rounded(weight * rounded(x - low if step else low + 1 - x))
                pixel = _read(image, [low + step for low, step in zip(lows, corner)], padding_mode, sizes)
                result = rounded(result + rounded(pixel * weight.reshape(flat)))
    return result.reshape(batch, channels, *grid.shape[1:-1]).astype(input.dtype)


def _cubic_sample(image, pixels, padding: int, align_corners: bool, sizes, rounded):
    lows = [jnp.floor(jax.lax.stop_gradient(x)) for x in pixels]
    flat = (image.shape[0], 1, -1)
    rows, columns = ([w.reshape(flat) for w in _cubic_weights(rounded(x - low), rounded)] for x, low in zip(pixels, lows))
    total: Any = 0
    for i in range(4):
        line: Any = 0
        for j in range(4):
            at = [_placed(rounded(low + (step - 1)), n, padding, align_corners, rounded) for low, step, n in zip(lows, (i, j), sizes)]
            line = rounded(line + rounded(_read(image, at, padding, sizes) * columns[j]))
        total = rounded(total + rounded(line * rows[i]))
    return total


@grid_sampler.check
def _(input, grid, interpolation_mode, padding_mode, align_corners):
    size, points = list(input.shape), list(grid.shape)
    if len(size) not in (4, 5) or len(points) != len(size):
        raise RuntimeError(
            f"grid_sampler(): expected {len(size) if len(size) in (4, 5) else '4D or 5'}D input and grid with same number of dimensions, "
            f"but got input with sizes {size} and grid with sizes {points}"
        )
    if size[0] != points[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {size} and grid with sizes {points}"
        )
    if points[-1] != len(size) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(size) - 2} in last dimension, but got grid with sizes {points}"
        )
    for d in range(2, len(size)):
        if size[d] <= 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {size} with dimension {d} being empty"
            )
    if len(size) == 5 and interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(input.dtype)} but found {scalar_type(grid.dtype)}")


_SAMPLE_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_SAMPLE_PADDING = {"zeros": 0, "border": 1, "reflection": 2}


def _declare_grid_sampler(dimensions: int) -> None:
    @composite(
        f"grid_sampler_{dimensions}d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        forms=FUNCTION,
    )
    def sampler(input, grid, interpolation_mode, padding_mode, align_corners):
        return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)

    sampler.__doc__ = f"`grid_sampler` for inputs with {dimensions} spatial dimensions."


_declare_grid_sampler(2)
_declare_grid_sampler(3)


@composite(
    "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
    forms=FUNCTION,
    namespaces=_PUBLIC,
)
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """``input`` ``(N, C, H, W)`` read at the points of ``grid`` ``(N, *, *, 2)`` from -1 to 1; one dimension more for volumes."""
    if mode not in _SAMPLE_MODES:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in _SAMPLE_PADDING:
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    return grid_sampler(input, grid, _SAMPLE_MODES[mode], _SAMPLE_PADDING[padding_mode], _warn_corners(align_corners))
