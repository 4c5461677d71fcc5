"""Discrete Fourier transforms: `torch.fft`.

Three kinds of transform, each forward and inverse: complex to complex (``fft``), real to the half of a Hermitian spectrum (``rfft``) and
back (``irfft``).  ``hfft`` and ``ihfft`` are the latter two with the signal and the spectrum in each other's place.  All are linear, so
their gradient is the transposed transform and nothing is saved for it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim
from ..core.dtype import FLOATING
from ..core.promotion import scalar_type_name
from ..dispatch.registry import FUNCTION, OUT, Promote, composite, op
from .create import OPTIONS, Target
from .reduce import is_complex, scalar_type
from .shape import roll

#: What a norm of the transform is for the inverse one.
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# ------------------------------------------------------------------------------------------------------------------ arguments
def _sizes_and_dims(x, s, dim) -> tuple[list[int], list[int]]:
    """The transformed dimensions and the size of the signal along each (of the input, where the caller gave none)."""
    if dim is None:
        dims = list(range(x.ndim))[x.ndim - len(s) if s is not None else 0 :]
    else:
        dims = [wrap_dim(d, x.ndim) for d in dim]
    given = [-1] * len(dims) if s is None else s
    return [x.shape[d] if n == -1 else n for d, n in zip(dims, given)], dims


def _half_to_whole(x, s, dims: list[int], sizes: list[int]) -> None:
    """Set the last size to that of the signal whose half spectrum has the input's size, unless the caller gave it."""
    if s is None or s[-1] == -1:
        sizes[-1] = 2 * (x.shape[dims[-1]] - 1)


def _check(name: str, x, s, dim, kind: str) -> None:
    """torch's refusals, in its order."""
    several = name.endswith(("n", "2"))
    if is_complex(x.dtype) and kind == "real":
        if name == "ihfftn" or name == "ihfft2":
            raise RuntimeError(f"Only supports floating-point dtypes, but found: {scalar_type(x.dtype)}")
        raise RuntimeError(f"{name} expects a real{'-valued' if several else ''} input tensor, but got {scalar_type(x.dtype)}")
    if x.dtype.itemsize == 2 and jnp.issubdtype(x.dtype, jnp.floating):
        raise RuntimeError(f"Unsupported dtype {scalar_type(x.dtype)}")
    if not several and x.ndim == 0:
        raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
    if dim is not None:
        if len({wrap_dim(d, x.ndim) for d in dim}) != len(dim):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dim):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    if s is not None and len(s) > x.ndim:
        raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
    sizes, dims = _sizes_and_dims(x, s, dim)
    if not dims and kind != "complex":
        raise RuntimeError(f"{name.removesuffix('2').removesuffix('n')}n must transform at least one axis")
    if kind == "half":
        _half_to_whole(x, s, dims, sizes)
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _check_norm(norm) -> None:
    if norm not in _OPPOSITE:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')


# ----------------------------------------------------------------------------------------------------------------- transforms
def complex_of(x):
    """The array as a complex one."""
    return x if is_complex(x.dtype) else lax.complex(x, jnp.zeros_like(x))


def _fft(x, s, dim, norm):
    sizes, dims = _sizes_and_dims(x, s, dim)
    return jnp.fft.fftn(complex_of(x), sizes, dims, norm) if dims else complex_of(x)


def _ifft(x, s, dim, norm):
    sizes, dims = _sizes_and_dims(x, s, dim)
    return jnp.fft.ifftn(complex_of(x), sizes, dims, norm) if dims else complex_of(x)


def _rfft(x, s, dim, norm):
    return jnp.fft.rfftn(x, *_sizes_and_dims(x, s, dim), norm)


def _irfft(x, s, dim, norm):
    sizes, dims = _sizes_and_dims(x, s, dim)
    _half_to_whole(x, s, dims, sizes)
    return jnp.fft.irfftn(complex_of(x), sizes, dims, norm)


def _hfft(x, s, dim, norm):
    return _irfft(x.conj(), s, dim, _OPPOSITE[norm])


def _ihfft(x, s, dim, norm):
    return _rfft(x, s, dim, _OPPOSITE[norm]).conj()


def _transposed(transform, g, meta, s, dim, norm):
    """The gradient of a transform: the conjugate of its transpose applied to the conjugate."""
    floating = meta if jnp.issubdtype(meta.dtype, jnp.inexact) else jax.ShapeDtypeStruct(meta.shape, np.finfo(g.dtype).dtype)
    return jax.linear_transpose(lambda x: transform(x, s, dim, norm), floating)(g.conj())[0].conj()


def _declare(name: str, transform, kind: str, what: str) -> None:
    """Declare a transform over one dimension, two and many."""

    def over_many(suffix: str, dims: str, where: str) -> None:
        @op(
            f"{name}{suffix}(Tensor self, int[1]? s=None, int[1]{dims}, str? norm=None) -> Tensor",
            promote=Promote.INT_TO_FLOAT, promoted=("self",), forms=FUNCTION | OUT, namespaces=("fft",),
        )  # fmt: skip
        def many(self, s, dim, norm):
            return transform(self, s, dim, norm)

        many.__doc__ = f"{what} over {where}."
        many.grad("self")(lambda g, self_meta, s, dim, norm: _transposed(transform, g, self_meta, s, dim, norm))

        @many.check
        def _(self, s, dim, norm):
            _check(name + suffix, self, s, dim, kind)
            _check_norm(norm)

    @op(
        f"{name}(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        promote=Promote.INT_TO_FLOAT, promoted=("self",), forms=FUNCTION | OUT, namespaces=("fft",),
    )  # fmt: skip
    def one(self, n, dim, norm):
        return transform(self, None if n is None else (n,), (dim,), norm)

    one.__doc__ = f"{what} over one dimension; ``n`` cuts or pads the signal to that length."
    one.grad("self")(lambda g, self_meta, n, dim, norm: _transposed(transform, g, self_meta, None if n is None else (n,), (dim,), norm))

    @one.check
    def _(self, n, dim, norm):
        if n is not None and n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        _check(name, self, None if n is None else (n,), (dim,), kind)
        _check_norm(norm)

    over_many("2", " dim=[-2, -1]", "two dimensions")
    over_many("n", "? dim=None", "all dimensions, those of ``dim`` or the last ones of ``s``")


_declare("fft", _fft, "complex", "The discrete Fourier transform")
_declare("ifft", _ifft, "complex", "The inverse discrete Fourier transform")
_declare("rfft", _rfft, "real", "The Fourier transform of a real signal, without the half of the last dimension that its symmetry gives")
_declare("irfft", _irfft, "half", "The inverse of `rfft`; the last dimension of the signal is even unless its size is given")
_declare("hfft", _hfft, "half", "The Fourier transform of a Hermitian signal, given by its first half along the last dimension")
_declare("ihfft", _ihfft, "real", "The inverse of `hfft`: the first half of a Hermitian signal")


# ---------------------------------------------------------------------------------------------------------------- frequencies
@op("_frequencies(int size, int n, float d, ScalarType dtype) -> Tensor", namespaces=(), forms=FUNCTION, differentiable=False)
def frequencies(size, n, d, dtype):
    """``k / (n d)`` for the ``size`` first bins of a transform of length ``n``, those beyond the half with their negative frequency."""
    bins = np.arange(size)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.float64(1.0) / (n * d)
        return np.where(bins < size - (n // 2 if size == n else 0), bins, bins - n).astype(dtype.numpy) * step.astype(dtype.numpy)


def _frequencies(function: str, size: int, n: int, d: float, options: dict):
    target = Target(function, **options)
    if target.dtype.category < FLOATING:
        raise RuntimeError(f"{function} requires a floating point or complex dtype")
    if target.dtype.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{scalar_type_name(target.dtype)}'")
    if size < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {size}: [{size}]")
    return target.make(frequencies, size, n, float(d))


@composite(f"fftfreq(int n, float d=1.0, {OPTIONS}) -> Tensor", forms=FUNCTION, namespaces=("fft",))
def fftfreq(n, d, **options):
    """The frequencies of the bins of `fft` for signals of length ``n`` sampled at a distance of ``d``."""
    return _frequencies("fftfreq", n, n, d, options)


@composite(f"rfftfreq(int n, float d=1.0, {OPTIONS}) -> Tensor", forms=FUNCTION, namespaces=("fft",))
def rfftfreq(n, d, **options):
    """The frequencies of the bins of `rfft`, which are not negative."""
    return _frequencies("rfftfreq", int(n / 2) + 1, n, d, options)


@composite("fftshift(Tensor self, int[1]? dim=None) -> Tensor", forms=FUNCTION, namespaces=("fft",))
def fftshift(self, dim):
    """Frequency 0 moved from the front to the middle."""
    return _rolled(self, dim, lambda n: n // 2)


@composite("ifftshift(Tensor self, int[1]? dim=None) -> Tensor", forms=FUNCTION, namespaces=("fft",))
def ifftshift(self, dim):
    """Frequency 0 moved from the middle to the front: undoes `fftshift`."""
    return _rolled(self, dim, lambda n: (n + 1) // 2)


def _rolled(x, dim, shift):
    dims = list(range(x.ndim)) if dim is None else [wrap_dim(d, x.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    return roll(x, [shift(x.shape[d]) for d in dims], dims)
