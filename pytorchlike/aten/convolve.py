"""How convolutions are computed: the forward map, its transpose and the weight's gradient, each by the lowering that measured fastest.

XLA's convolution is the rule.  On the CPU some shape classes are computed otherwise, in single precision and double; figures are times of torch's
(oneDNN's) time on one core of a Zen 5, XLA's convolution -> the lowering here, float32, batch 16 or 32:

    forward     1x1, 32 channels, 112x112        5.4 -> 0.6    batched matrix products (256 channels, 28x28: 2.7 -> 1.1)
                1x1, stride 2, 256 ch., 14x14    1.6 -> 1.2    one matrix product, where there are few places
                3x3, 3 channels, 64x64           3.4 -> 1.1    a sum of shifted products
                5x5, 3 channels, 32x32           5.0 -> 1.5    matrix times patches, image by image (3x3, 8 channels: 2.2 -> 1.7)
                3x3, stride 2, 3 ch., 64x64      3.9 -> 1.5    the same (1x3, 64 channels, 1024 places: 1.4 -> 1.3)
                3x3, stride 2, 64 ch., 56x56 *   1.9 -> 1.3    the same
                3x3, 512 channels, 3x3 *         1.9 -> 1.0    matrix times patches of all images (stride 2, 6x6: 1.5 -> 0.8)
                depthwise 3x3, 64 ch., 56x56            0.7    a sum of shifted products (XLA's: 40 times slower)
    transpose   3x3, stride 2, 64 ch., 56x56     2.3 -> 1.1    one convolution for each phase (7x7, stride 2: 1.0 -> 0.6)
                1x1, 64 channels, 56x56          1.9 -> 0.4    batched matrix products
                3x3, 3 channels, 64x64 *         1.5 -> 0.5    matrix times gradient, shifted and added, image by image (5x5: 1.8 -> 0.6)
                3x3, 64 channels, 56x56 *        1.5 -> 1.2    the same (28x28: 1.4 -> 1.1; 32 channels, unpadded: 1.6 -> 1.0)
                depthwise 3x3, 64 ch., 56x56     1.6 -> 0.5    a sum of shifted products of the gradient (before: the sum's transpose)
    weight      1x1, 64 channels, 56x56          3.3 -> 0.3    batched matrix products, then their sum
                3x3, stride 2, 64 ch., 56x56 *    10 -> 1.0    patches times gradient, image by image (7x7, 3 channels: 2.9 -> 1.1)
                3x3, 3 channels, 64x64 *         5.9 -> 1.1    the same (64 channels, 28x28, 1 image: 1.4 -> 1.0, 16 images: 1.8 -> 1.2)
                3x3, 256 channels, 14x14 *       1.5 -> 1.0    gradient times patches, image by image
                3x3, 128 channels, 28x28         1.9 -> 1.4    shifted products, image by image (56x56, 64 channels *: 8.2 -> 1.2)
                1x3, 64 channels, 1024 places    1.2 -> 0.9    the same
                depthwise 3x3, 64 ch., 56x56     8.9 -> 1.4    one loop that adds up all positions of the kernel (before: the sum's transpose)

Lines with a star are of a Zen 3 with half the cache.  Other 3x3 kernels with stride 1 stay with XLA: 1.1 to 1.5 forward and for the input.  Its layouts take
temporaries whose pages are new to the process in each run, so it loses to patches where they are large (64 images of 28x28, 32 channels: 2.2 -> 1.6), and
where nothing is padded (26x26, 32 to 64 channels: 3.9 -> 1.3).  Measured and slower: patches of the whole batch (3 to 7, but for few places), sums of shifted
matrix products of it (1.1 to 5; image by image the same as XLA's), Winograd's F(2, 3) and F(4, 3) (1.2 to 6), patches of bands of rows (1.1 to 2.8), XLA's
convolution image by image (10 to 70), the NHWC layout (the same: XLA changes to it anyway), XLA's oneDNN option (the same).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["Convolution", "Pairs"]

#: Padding before and after each spatial dimension.
Pairs = Sequence[tuple[int, int]]

#: Depthwise kernels up to this many elements are computed as a sum of shifted products.
_SHIFTED_KERNEL = 64
#: Kernels up to this many elements over all their channels are, too.
_SHIFTED_PATCH = 32
#: Up to this many channels patches are multiplied image by image; with a stride, up to this many elements of a patch.
_FEW_CHANNELS, _STRIDED_PATCH = 8, 48
#: From this many places on, each image has a matrix product of its own (1x1 kernels).
_BATCHED_PLACES = 512
#: From this many places on, weights' gradients are computed image by image; for fewer channels than this always from patches.
_LOOPED_PLACES, _FEW_COLUMNS = 64, 32
#: Up to this many elements of a patch, an input's gradient is a sum of shifted products.
_FEW_ROWS = 640
#: From this many features on, a weight's gradient is gradient times patches, and for fewer patches times gradient, which takes longer rows.
_MANY_FEATURES = 256
#: Weights from this many elements on are read once for all images, where these have up to so many places together.
_LARGE_WEIGHT, _FEW_PLACES = 1 << 18, 256
#: An image's patches stay in the cache up to this many bytes; layers from this many bytes on make XLA's convolution slow.
_CACHED_PATCHES, _MANY_BYTES = 5 << 19, 12_000_000


#: From this many groups on, they are computed in a loop.
_LOOPED_GROUPS = 4


@dataclass(frozen=True)
class Convolution:
    """Cross-correlation of ``(N, C, *)`` with ``(O, C / groups, *)``, a bilinear map; its transposes are the gradients, but for conjugation.

    Attributes:
        stride, padding, dilation: one entry for each spatial dimension.
        wide: results of half precision are float32, to be rounded later.
    """

    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int = 1
    wide: bool = False

    def forward(self, x, weight):
        """The convolution."""
        if self._is_depthwise(weight.shape):
            return _shifted_products(x, weight, self)
        return _on_cpu(self._forward, self._by_xla, x, weight)

    def transpose(self, g, weight, sizes: Sequence[int]):
        """For ``g`` like the result, the array like the input, with these spatial sizes, that `forward` sends it back to."""
        kernel = weight.shape[2:]
        if self._is_depthwise(weight.shape) and weight.shape[0] == self.groups:
            return _shifted_products(g, jnp.flip(weight, _spatial(weight)), self._reversed(kernel, g.shape[2:], sizes), self.stride)

        own, default = (lambda g, w: self._transpose(g, w, sizes)), (lambda g, w: self._transpose_by_xla(g, w, sizes))
        return _on_cpu(own, default, g, weight)

    def weight(self, x, g, shape: Sequence[int]):
        """For ``g`` like the result, the array like the weight, of this shape, that `forward` at ``x`` sends it back to."""

        return _on_cpu(lambda x, g: self._weight(x, g, shape), lambda x, g: self._weight_by_xla(x, g, shape), x, g)

    # --- choices ------------------------------------------------------------------------------------------------------------------------

    def _is_depthwise(self, shape: Sequence[int]) -> bool:
        return self.groups > 1 and shape[1] == 1 and math.prod(shape[2:]) <= _SHIFTED_KERNEL

    def _forward(self, x, weight):
        kernel, channels = weight.shape[2:], weight.shape[1]
        if self.groups > 1:
            alone = replace(self, groups=1)
            return _each_group(lambda a, w: alone._forward(a, w), self.groups, (x, 1), (weight, 0), joined=1)
        if not _has_lowerings(x, weight):
            return self._by_xla(x, weight)
        if math.prod(kernel) == 1:
            return _pointwise(_selected(x, self.padding, self.stride), weight[(..., *(0,) * len(kernel))])
        dense, few = set(self.stride) == {1}, channels * math.prod(kernel)
        if dense and few <= _SHIFTED_PATCH:
            return _few_products(x, weight, self)
        if channels <= _FEW_CHANNELS and (dense or few <= _STRIDED_PATCH):
            return _patches_by_image(x, weight, self)
        places = self._places(x, kernel)
        if x.shape[0] * math.prod(places) <= _FEW_PLACES and weight.size >= _LARGE_WEIGHT:
            return _patches_of_batch(x, weight, self)
        if (dense and x.ndim == 3) or self._suits_patches(x, weight, places):
            return _patches_by_image(x, weight, self)
        return self._by_xla(x, weight)

    def _places(self, x, kernel: Sequence[int]) -> list[int]:
        """The spatial sizes of the result."""
        borders = zip(x.shape[2:], kernel, self.stride, self.padding, self.dilation)
        return [(n + sum(pads) - d * (k - 1) - 1) // s + 1 for n, k, s, pads, d in borders]

    def _suits_patches(self, x, weight, places: Sequence[int]) -> bool:
        """Whether XLA's convolution would lose to patches image by image, by the pages that its layouts touch or by its unpadded form."""
        count, inner, dense = math.prod(places), math.prod(weight.shape[1:]), set(self.stride) == {1}
        if inner * count * x.dtype.itemsize > _CACHED_PATCHES or count > math.prod(x.shape[2:]):
            return False
        unpadded = dense and not any(map(any, self.padding)) and count >= _LOOPED_PLACES
        inputs = weight.shape[1] * (count if dense else math.prod(x.shape[2:]))
        return unpadded or x.shape[0] * (weight.shape[0] * count + inputs) * x.dtype.itemsize >= _MANY_BYTES

    def _transpose(self, g, weight, sizes):
        kernel = weight.shape[2:]
        if self.groups > 1:
            alone = replace(self, groups=1)
            return _each_group(lambda a, w: alone._transpose(a, w, sizes), self.groups, (g, 1), (weight, 0), joined=1)
        if not _has_lowerings(g, weight):
            return self._transpose_by_xla(g, weight, sizes)
        if math.prod(kernel) == 1:
            spread = _pointwise(g, weight[(..., *(0,) * len(kernel))].T)
            borders = [(-p, n + p - (m - 1) * s - 1, s - 1) for n, m, s, (p, _) in zip(sizes, g.shape[2:], self.stride, self.padding)]
            return lax.pad(spread, jnp.zeros((), g.dtype), [(0, 0, 0)] * 2 + borders)
        if set(self.stride) == {1}:
            few = weight.shape[1] < _FEW_COLUMNS or (g.ndim > 3 and math.prod(weight.shape[1:]) <= _FEW_ROWS)
            if few and math.prod(g.shape[2:]) >= _LOOPED_PLACES:
                return _transposed_by_image(g, weight, self, sizes)
            swapped = jnp.flip(weight, _spatial(weight)).swapaxes(0, 1)
            return self._reversed(kernel, g.shape[2:], sizes)._forward(g, swapped)
        if set(self.dilation) == {1}:
            return self._transpose_by_phases(g, weight, sizes)
        return self._transpose_by_xla(g, weight, sizes)

    def _weight(self, x, g, shape):
        kernel, places = shape[2:], math.prod(g.shape[2:])
        if self._is_depthwise(shape):
            if _has_lowerings(x, g) and shape[0] == self.groups:
                return _depthwise_weight(x, g, self, tuple(kernel))
            return _transposed(lambda w: _shifted_products(x, w, self), shape, g)
        if self.groups > 1:
            alone, part = replace(self, groups=1), (shape[0] // self.groups, *shape[1:])
            return _each_group(lambda a, b: alone._weight(a, b, part), self.groups, (x, 1), (g, 1), joined=0)
        if not _has_lowerings(x, g):
            return self._weight_by_xla(x, g, shape)
        if math.prod(kernel) == 1:
            return _pointwise_weight(_selected(x, self.padding, self.stride), g).reshape(shape)
        if places < _LOOPED_PLACES:
            return self._weight_by_xla(x, g, shape)
        cached = math.prod(shape[1:]) * places * x.dtype.itemsize <= _CACHED_PATCHES
        if max(self.stride) > 1 or (x.ndim > 3 and (cached or shape[1] < _FEW_COLUMNS)):
            return _weight_by_image(x, g, self, tuple(shape))
        return _weight_by_positions(x, g, self, tuple(shape))

    # --- XLA's convolution --------------------------------------------------------------------------------------------------------------

    def _by_xla(self, x, weight, input_dilation: Sequence[int] | None = None):
        letters = "DHW"[5 - x.ndim :]
        return lax.conv_general_dilated(
            x, weight, self.stride, self.padding, lhs_dilation=input_dilation, rhs_dilation=self.dilation, feature_group_count=self.groups,
            dimension_numbers=("NC" + letters, "OI" + letters, "NC" + letters),
            preferred_element_type=jnp.float32 if self.wide and _is_half(x) else None,
        )  # fmt: skip

    def _reversed(self, kernel, counts, sizes) -> Convolution:
        """The convolution by which a reversed kernel sends ``counts`` places, spread by the stride, back to ``sizes``."""
        pairs = []
        for k, m, n, s, (p, _), d in zip(kernel, counts, sizes, self.stride, self.padding, self.dilation):
            low = d * (k - 1) - p
            pairs.append((low, n + d * (k - 1) - (m - 1) * s - 1 - low))
        return replace(self, stride=(1,) * len(kernel), padding=tuple(pairs))

    def _transpose_by_xla(self, g, weight, sizes):
        # channels swapped inside each group, kernel reversed
        grouped = weight.reshape(self.groups, weight.shape[0] // self.groups, *weight.shape[1:]).swapaxes(1, 2)
        swapped = jnp.flip(grouped.reshape(-1, weight.shape[0] // self.groups, *weight.shape[2:]), _spatial(weight))
        return self._reversed(weight.shape[2:], g.shape[2:], sizes)._by_xla(g, swapped, self.stride)

    def _weight_by_xla(self, x, g, shape):
        return _transposed(lambda w: self._by_xla(x, w), shape, g)

    def _transpose_by_phases(self, g, weight, sizes):
        """The elements of the result that lie a stride apart meet the same elements of the kernel: one convolution for each such phase."""
        spatial = len(sizes)
        rounds = tuple(-(-n // s) for n, s in zip(sizes, self.stride))
        phases = []
        for phase in itertools.product(*map(range, self.stride)):
            taps, pairs = [], []
            for r, k, m, q, s, (p, _) in zip(phase, weight.shape[2:], g.shape[2:], rounds, self.stride, self.padding):
                first = (r + p) % s  # kernel elements first, first + s, ...: the last of them meets the earliest place
                count = -(-(k - first) // s) if first < k else 0
                latest = (r + p - first) // s
                taps.append(slice(first, None, s))
                pairs.append((count - 1 - latest, q + latest - m))
            part = jnp.flip(weight[(slice(None), slice(None), *taps)], _spatial(weight)).swapaxes(0, 1)
            if 0 in part.shape:
                phases.append(jnp.zeros((g.shape[0], weight.shape[1], *rounds), g.dtype))
            else:
                ones = (1,) * spatial
                phases.append(replace(self, stride=ones, padding=tuple(pairs), dilation=ones)._forward(g, part))
        stacked = jnp.stack(phases, -1).reshape(g.shape[0], weight.shape[1], *rounds, *self.stride)
        order = [axis for d in range(spatial) for axis in (2 + d, 2 + spatial + d)]
        joined = stacked.transpose(0, 1, *order).reshape(g.shape[0], weight.shape[1], *(q * s for q, s in zip(rounds, self.stride)))
        return lax.slice(joined, (0,) * joined.ndim, (*joined.shape[:2], *sizes))


# --- conditions ---------------------------------------------------------------------------------------------------------------------


def _is_half(x) -> bool:
    return x.dtype in (jnp.float16, jnp.bfloat16)


def _has_lowerings(x, y) -> bool:
    """Whether the CPU's own lowerings apply: they add up in the dtype itself, and want elements."""
    return x.dtype in (jnp.float32, jnp.float64) and x.size > 0 and y.size > 0


def _spatial(x) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def _on_cpu(own: Callable, default: Callable, *arrays):
    return lax.platform_dependent(*arrays, cpu=own, default=default)


def _transposed(function: Callable, shape: Sequence[int], g):
    """The transpose of a linear ``function`` of an array of this shape, applied to ``g``."""
    return jax.vjp(function, jnp.zeros(shape, g.dtype))[1](g)[0]


def _each_group(function: Callable, groups: int, first: tuple[Any, int], second: tuple[Any, int], joined: int):
    """``function`` of each group of two (array, axis), joined along an axis.

    XLA's grouped convolutions on the CPU are slow: 16x64x32x32, 3x3, 8 groups: 63 ms -> 8 ms, the weight's gradient 1775 ms -> 19 ms.
    Many groups are a loop, which runs as fast and compiles once: two layers of 19 groups, forward and backward, 9.5 s -> 1.7 s.
    """
    parts = jnp.split(first[0], groups, first[1]), jnp.split(second[0], groups, second[1])
    if groups >= _LOOPED_GROUPS:
        return jnp.concatenate(list(lax.map(lambda pair: function(*pair), tuple(map(jnp.stack, parts)))), joined)
    return jnp.concatenate([function(a, b) for a, b in zip(*parts)], joined)


# --- windows ------------------------------------------------------------------------------------------------------------------------


def _padded(x, padding: Pairs, spread: Sequence[int] | None = None):
    """The last dimensions padded with zeros, their elements ``spread`` apart."""
    spread = spread or (1,) * len(padding)
    borders = [(0, 0, 0)] * (x.ndim - len(padding)) + [(low, high, s - 1) for (low, high), s in zip(padding, spread)]
    return lax.pad(x, jnp.zeros((), x.dtype), borders)


def _selected(x, padding: Pairs, stride: Sequence[int]):
    """What a kernel of one element sees of the input."""
    x = _padded(x, padding) if any(map(any, padding)) else x
    return x[(..., *(slice(None, None, s) for s in stride))]


def _shifted(x, kernel: Sequence[int], at: Convolution) -> list[Any]:
    """For each position of the kernel, in row-major order, the elements of a padded input that meet it; spatial dimensions last."""
    lead = x.ndim - len(kernel)
    sizes = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[lead:], kernel, at.stride, at.dilation)]
    found = []
    for position in itertools.product(*map(range, kernel)):
        start = [p * d for p, d in zip(position, at.dilation)]
        stop = [a + (size - 1) * s + 1 for a, size, s in zip(start, sizes, at.stride)]
        found.append(lax.slice(x, (0,) * lead + tuple(start), (*x.shape[:lead], *stop), (1,) * lead + at.stride))
    return found


# --- lowerings ----------------------------------------------------------------------------------------------------------------------


def _shifted_products(x, weight, at: Convolution, spread: Sequence[int] | None = None):
    """A depthwise convolution as the sum over kernel positions of a strided slice of the input times one weight a channel."""
    groups, multiplier, kernel = at.groups, weight.shape[0] // at.groups, weight.shape[2:]
    result_dtype = jnp.dtype(jnp.float32) if at.wide and _is_half(x) else x.dtype
    if _is_half(x):
        x, weight = x.astype(jnp.float32), weight.astype(jnp.float32)
    weight = weight.reshape(groups, multiplier, -1)
    total: Any = 0
    for position, window in enumerate(_shifted(_padded(x, at.padding, spread), kernel, at)):
        total = total + window[:, :, None] * weight[:, :, position].reshape(1, groups, multiplier, *(1,) * len(kernel))
    return total.reshape(x.shape[0], groups * multiplier, *total.shape[3:]).astype(result_dtype)


def _few_products(x, weight, at: Convolution):
    """A convolution of few channels as the sum over kernel positions and channels of a strided slice times one weight a feature."""
    total: Any = 0
    factors = weight.reshape(*weight.shape[:2], -1)
    for position, window in enumerate(_shifted(_padded(x, at.padding), weight.shape[2:], at)):
        for channel in range(weight.shape[1]):
            factor = factors[:, channel, position].reshape(1, -1, *(1,) * (x.ndim - 2))
            total = total + window[:, channel : channel + 1] * factor
    return total


def _patches(x, kernel: Sequence[int], at: Convolution):
    """For an image ``(C, *)`` the matrix (C times kernel positions, places), in the order of a weight's elements, and the spatial sizes."""
    windows = _shifted(_padded(x, at.padding), kernel, at)
    return jnp.stack(windows, 1).reshape(len(windows) * x.shape[0], -1), windows[0].shape[1:]


def _patches_by_image(x, weight, at: Convolution):
    """Matrix times patches; one image at a time, so that its patches stay in the cache."""
    kernel, matrix = weight.shape[2:], weight.reshape(weight.shape[0], -1)

    def one(_, image):
        return None, matrix @ _patches(image, kernel, at)[0]

    return lax.scan(one, None, x)[1].reshape(x.shape[0], weight.shape[0], *at._places(x, kernel))


def _patches_of_batch(x, weight, at: Convolution):
    """Matrix times the patches of all images, so that a large matrix is read once."""
    windows = _shifted(_padded(x, at.padding), weight.shape[2:], at)
    stacked = jnp.stack(windows, 2).reshape(*x.shape[:2], len(windows), -1)  # (N, C, kernel positions, places)
    patches = stacked.transpose(1, 2, 0, 3).reshape(x.shape[1] * len(windows), -1)
    product = weight.reshape(weight.shape[0], -1) @ patches
    return product.reshape(weight.shape[0], x.shape[0], *windows[0].shape[2:]).swapaxes(0, 1)


def _transposed_by_image(g, weight, at: Convolution, sizes: Sequence[int]):
    """For stride 1, the products of matrix and gradient, shifted to where they go and added up in one loop; one image at a time."""
    kernel, matrix = weight.shape[2:], weight.reshape(weight.shape[0], -1).T
    zero = jnp.zeros((), g.dtype)

    def one(_, gradient):
        products = (matrix @ gradient.reshape(weight.shape[0], -1)).reshape(weight.shape[1], -1, *gradient.shape[1:])
        total: Any = 0
        for number, position in enumerate(itertools.product(*map(range, kernel))):
            first = [p * d - low for p, d, (low, _) in zip(position, at.dilation, at.padding)]
            borders = [(f, n - m - f, 0) for f, n, m in zip(first, sizes, gradient.shape[1:])]
            total = total + lax.pad(products[:, number], zero, [(0, 0, 0), *borders])
        return None, total

    return lax.scan(one, None, g)[1]


def _weight_by_image(x, g, at: Convolution, shape: tuple[int, ...]):
    """Patches times gradient, or from `_MANY_FEATURES` on gradient times patches, added up image by image."""
    many, columns = shape[0] >= _MANY_FEATURES, math.prod(shape[1:])

    def one(total, pair):
        image, gradient = pair
        patches, flat = _patches(image, shape[2:], at)[0], gradient.reshape(shape[0], -1)
        return total + (flat @ patches.T if many else patches @ flat.T), None

    total, _ = lax.scan(one, jnp.zeros((shape[0], columns) if many else (columns, shape[0]), g.dtype), (x, g))
    return (total if many else total.T).reshape(shape)


def _weight_by_positions(x, g, at: Convolution, shape: tuple[int, ...]):
    """The gradient times the shifted image, a product for each position of the kernel, added up image by image."""

    def one(totals, pair):
        image, gradient = pair
        flat = gradient.reshape(shape[0], -1)
        windows = _shifted(_padded(image, at.padding), shape[2:], at)
        return [total + flat @ w.reshape(shape[1], -1).T for total, w in zip(totals, windows)], None

    totals, _ = lax.scan(one, [jnp.zeros(shape[:2], g.dtype)] * math.prod(shape[2:]), (x, g))
    return jnp.stack(totals, -1).reshape(shape)


def _pointwise(x, matrix):
    """``matrix`` (O, C) times every place of ``x`` (N, C, *)."""
    flat = x.reshape(*x.shape[:2], -1)
    if flat.shape[2] >= _BATCHED_PLACES:
        product = jnp.broadcast_to(matrix, (x.shape[0], *matrix.shape)) @ flat
    else:
        product = lax.dot_general(flat, matrix, (((1,), (1,)), ((), ()))).swapaxes(1, 2)
    return product.reshape(x.shape[0], matrix.shape[0], *x.shape[2:])


def _pointwise_weight(x, g):
    """The matrix (O, C) of products of ``g`` and ``x`` added up over batch and places."""
    x, g = x.reshape(*x.shape[:2], -1), g.reshape(*g.shape[:2], -1)
    if x.shape[2] >= _BATCHED_PLACES:
        return (g @ x.swapaxes(1, 2)).sum(0)
    return lax.dot_general(g, x, (((0, 2), (0, 2)), ((), ())))


@jax.custom_jvp
def _sums_of_products(windows: list[Any], g):
    """For each of some arrays ``(N, C, *)``, its products with ``g`` added up over all but the channels, in one loop over the elements."""
    axes = (0, *range(2, g.ndim))
    zeros = [jnp.zeros((), g.dtype)] * len(windows)
    return lax.reduce([w * g for w in windows], zeros, lambda a, b: [p + q for p, q in zip(a, b)], axes)


@_sums_of_products.defjvp
def _(primals, tangents):
    """JAX cannot transpose a reduction of several arrays at once; one by one it can."""

    def one_by_one(windows, g):
        return [jnp.sum(w * g, (0, *range(2, g.ndim))) for w in windows]

    (windows, g), (windows_change, g_change) = primals, tangents
    changes = zip(one_by_one(windows_change, g), one_by_one(windows, g_change))
    return _sums_of_products(windows, g), [a + b for a, b in changes]


def _depthwise_weight(x, g, at: Convolution, kernel: tuple[int, ...]):
    sums = _sums_of_products(_shifted(_padded(x, at.padding), kernel, at), g)
    return jnp.stack(sums, -1).reshape(-1, 1, *kernel)
