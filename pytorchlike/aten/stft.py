"""Short-time Fourier transforms: a signal cut into overlapping windows, each one transformed, and back by adding them up again."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np

from ..dispatch.bind import column_major
from ..dispatch.registry import op
from .fft import complex_of
from .reduce import is_complex, is_integral, scalar_type

#: What numpy calls torch's padding modes.
_PADDING = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
#: Frames that overlap up to so often are joined from slices; others are gathered, which costs five times as much backward.
_MOST_SLICES = 32


def _frames(x, length: int, hop: int, count: int):
    """The ``count`` pieces of the last dimension that start ``hop`` apart, as rows."""
    overlap = -(-length // hop)
    if overlap > _MOST_SLICES:
        return x[..., np.arange(count)[:, None] * hop + np.arange(length)]
    total = (count - 1 + overlap) * hop
    x = jnp.pad(x[..., :total], [(0, 0)] * (x.ndim - 1) + [(0, max(total - x.shape[-1], 0))])
    blocks = x.reshape(*x.shape[:-1], count - 1 + overlap, hop)
    return jnp.concatenate([blocks[..., k : k + count, :] for k in range(overlap)], -1)[..., :length]


def _overlap_add(frames, hop: int):
    """The sum of frames laid ``hop`` apart: the transpose of `_frames`."""
    *lead, count, length = frames.shape
    signal = jax.ShapeDtypeStruct((*lead, (count - 1) * hop + length), frames.dtype)
    return jax.linear_transpose(lambda x: _frames(x, length, hop, count), signal)(frames)[0]


def _window(window, n_fft: int, win_length: int, dtype):
    """The window, ones if there is none, in the middle of ``n_fft`` elements."""
    window = jnp.ones(win_length, dtype) if window is None else window
    left = (n_fft - win_length) // 2
    return jnp.pad(window, (left, n_fft - win_length - left))


def _text(tensor, brackets: str) -> str:
    """A tensor as these operators' error texts show it."""
    if tensor is None:
        return "None"
    size = f"[{', '.join(map(str, tensor.shape))}]"
    return f"torch.{scalar_type(tensor.dtype)}Tensor{brackets.format(size)}"


def _flag(value) -> str:
    return "None" if value is None else str(int(value))


# ------------------------------------------------------------------------------------------------------------------------ stft
def _pad_of(n_fft: int, win_length: int, center: bool, align_to_window) -> int:
    if center:
        return n_fft // 2
    return (n_fft - win_length) // 2 if align_to_window else 0


@op(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    'str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor'
)
def stft(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window):
    """The Fourier transforms of overlapping windows of a signal: (frequency, window).

    Args:
        n_fft: length of each transform.
        hop_length: distance of the windows, a quarter of ``n_fft`` unless given.
        win_length: length of the window, ``n_fft`` unless given; it lies in the middle of the transformed piece.
        window: weights of its elements, ones unless given.
        center: windows are centred at ``hop_length * k``, which takes padding of mode ``pad_mode`` at both ends; else they start there.
        normalized: divide by the root of ``n_fft``.
        onesided: only frequencies that are not negative; the default for real signals.
        return_complex: without it real and imaginary parts are in a further dimension.
        align_to_window: without ``center``: as many windows as fit, not as many pieces of ``n_fft``.
    """
    hop, win = hop_length if hop_length is not None else n_fft // 4, win_length if win_length is not None else n_fft
    border = _pad_of(n_fft, win, center, align_to_window)
    x = jnp.pad(self, [(0, 0)] * (self.ndim - 1) + [(border, border)], mode=_PADDING[pad_mode] if center else "constant")
    frames = _frames(x, n_fft, hop, 1 + (x.shape[-1] - n_fft) // hop)
    if window is not None or win < n_fft:
        frames = frames * _window(window, n_fft, win, self.dtype)
    norm = "ortho" if normalized else "backward"
    one_half = onesided if onesided is not None else not is_complex(frames.dtype)
    out = (jnp.fft.rfft if one_half else jnp.fft.fft)(frames if one_half else complex_of(frames), norm=norm)
    out = jnp.swapaxes(out, -1, -2)
    as_complex = return_complex if return_complex is not None else True
    return out if as_complex else jnp.stack([out.real, out.imag], -1)


@stft.check
def _(self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window):
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop, win = hop_length if hop_length is not None else n_fft // 4, win_length if win_length is not None else n_fft
    if window is None:
        warnings.warn(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows such as "
            "torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning and use a "
            "rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.", UserWarning, stacklevel=2,
        )  # fmt: skip
    complex_input = is_complex(self.dtype) or (window is not None and is_complex(window.dtype))
    if return_complex is None and not complex_input:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a "
            "future PyTorch release."
        )
    if return_complex is False:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all inputs, and "
            "return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex output to recover the old "
            "return format.", UserWarning, stacklevel=2,
        )  # fmt: skip
    if center and pad_mode not in _PADDING:
        raise NotImplementedError(f"Unrecognised padding mode {pad_mode}")
    shape = self.shape
    if center and self.ndim:
        border = n_fft // 2
        if pad_mode == "reflect" and border and border >= shape[-1]:
            full = [1] * (3 - self.ndim) + list(shape)
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({border}, {border}) at "
                f"dimension {len(full) - 1} of input {full}"
            )
        shape = (*shape[:-1], shape[-1] + 2 * border)
    given = jax.ShapeDtypeStruct(shape, self.dtype)

    def refuse(reason: str) -> None:
        raise RuntimeError(
            f"stft({_text(given, '{}')}, n_fft={n_fft}, hop_length={hop}, win_length={win}, window={_text(window, '{{{}}}')}, "
            f"normalized={int(normalized)}, onesided={_flag(onesided)}, return_complex={_flag(return_complex)}, "
            f"align_to_window={_flag(align_to_window)}) : {reason}"
        )

    if is_integral(self.dtype):
        refuse("expected a tensor of floating point or complex values")
    if not 1 <= self.ndim <= 2:
        refuse("expected a 1D or 2D tensor")
    if not 0 < n_fft <= shape[-1]:
        refuse(f"expected 0 < n_fft < {shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        refuse(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        refuse(f"expected 0 < win_length <= n_fft, but got win_length={win}")
    if window is not None and window.shape != (win,):
        refuse(f"expected a 1D window tensor of size equal to win_length={win}, but got window with size {list(window.shape)}")
    if onesided and complex_input:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if self.dtype.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {scalar_type(self.dtype)}")


# ----------------------------------------------------------------------------------------------------------------------- istft
def _istft_span(n_fft: int, hop: int, center: bool, length, count: int) -> tuple[int, int, int]:
    """Where the signal starts and ends in the sum of all frames, and the length of that sum."""
    whole = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    return start, end, whole


def _envelope(window, n_fft: int, hop: int, win: int, center: bool, length, count: int, dtype):
    """The sum of the squared windows along the signal."""
    start, end, _ = _istft_span(n_fft, hop, center, length, count)
    squares = jnp.square(_window(window, n_fft, win, dtype))
    return _overlap_add(jnp.broadcast_to(squares, (count, n_fft)), hop)[start:end]


@op(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"
)
def istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    """The signal whose `stft` this is, by least squares: overlapping pieces are averaged with the window's weights.

    Args:
        length: of the signal; cut off or filled with zeros at the end.
        return_complex: whether the signal is complex; it needs all frequencies.

    Ref: Griffin and Lim, IEEE Trans. Acoust. Speech Signal Process. 32 (1984), equation 6.
    """
    hop, win = hop_length if hop_length is not None else n_fft // 4, win_length if win_length is not None else n_fft
    spectra = jnp.swapaxes(self, -1, -2)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = jnp.fft.ifft(spectra, norm=norm)
    else:
        frames = jnp.fft.irfft(spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    count, real = spectra.shape[-2], frames.real.dtype
    if window is not None or win < n_fft:
        frames = frames * _window(window, n_fft, win, real)
    start, end, whole = _istft_span(n_fft, hop, center, length, count)
    signal = _overlap_add(frames, hop)[..., start:end] / _envelope(window, n_fft, hop, win, center, length, count, real)
    return jnp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, max(end - whole, 0))])


@istft.check
def _(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    hop, win = hop_length if hop_length is not None else n_fft // 4, win_length if win_length is not None else n_fft
    if window is None:
        warnings.warn(
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to make the "
            "inversion lossless.To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
            "device=<device>)`.", UserWarning, stacklevel=2,
        )  # fmt: skip

    def refuse(reason: str) -> None:
        raise RuntimeError(
            f"istft(CPU{scalar_type(self.dtype)}Type[{', '.join(map(str, self.shape))}], n_fft={n_fft}, hop_length={hop}, win_length={win}, "
            f"window={_text(window, '{{{}}}')}, center={int(center)}, normalized={int(normalized)}, onesided={_flag(onesided)}, "
            f"length={length}, return_complex={int(return_complex)}) : {reason}"
        )

    if not is_complex(self.dtype):
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if self.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-self.ndim - 1}, {self.ndim}], but got -3)")
    if 0 in self.shape:
        refuse("input tensor cannot be empty.")
    if self.ndim > 3:
        refuse(f"expected a tensor with 3 or 4 dimensions, but got {self.ndim + 1}")
    bins, count = self.shape[-2:]
    if onesided if onesided is not None else bins != n_fft:
        if bins != n_fft // 2 + 1:
            refuse(
                "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when onesided=True, but got "
                f"{bins}"
            )
    elif bins != n_fft:
        refuse(f"expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when onesided=False, but got {bins}")
    if not 0 < hop <= win:
        refuse("expected 0 < hop_length <= win_length")
    if not 0 < win <= n_fft:
        refuse("expected 0 < win_length <= n_fft")
    if window is not None and window.shape != (win,):
        refuse("Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and (onesided if onesided is not None else bins != n_fft):
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and is_complex(window.dtype):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    start, end, whole = _istft_span(n_fft, hop, center, length, count)
    if min(end, whole) <= start:
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )
    if end > whole:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check your "
            "center and hop_length settings.", UserWarning, stacklevel=2,
        )  # fmt: skip


@istft.data_check(RuntimeError, "istft: the windows, added up, are zero somewhere: window overlap add min: 1")
def _(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    hop, win = hop_length if hop_length is not None else n_fft // 4, win_length if win_length is not None else n_fft
    return jnp.abs(_envelope(window, n_fft, hop, win, center, length, self.shape[-1], self.real.dtype)) < 1e-11


column_major["stft"] = (0,)  # each window's spectrum lies together
