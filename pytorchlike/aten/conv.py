"""Convolutions and transposed convolutions over one, two and three dimensions; `convolve.py` chooses how they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..core import dtype as dtypes
from ..dispatch.registry import FUNCTION, OPERATORS, Operator, composite, op
from .convolve import Convolution, Pairs
from .reduce import scalar_type

__all__ = ["c_name", "expand"]

_C_NAMES = {
    "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "bool": "bool",
}  # fmt: skip


def c_name(numpy_dtype: Any) -> str:
    """The C++ name that some of torch's errors give a dtype (``float``, ``long int``)."""
    name = dtypes.from_numpy(numpy_dtype).name
    return _C_NAMES.get(name, name)


def expand(values: int | Sequence[int], n: int) -> tuple[int, ...]:
    """``values`` for each of ``n`` dimensions: one number stands for all of them."""
    if isinstance(values, int):
        return (values,) * n
    values = tuple(values)
    return values * n if len(values) == 1 else values


# --- the computation ----------------------------------------------------------------------------------------------------------------


def _batched(x, spatial: int):
    return x if x.ndim == spatial + 2 else x[None]


def _like_input(result, input, spatial: int):
    return result if len(input.shape) == spatial + 2 else result[0]


def _with_bias(result, bias, dtype):
    """The result of a convolution plus the bias, rounded once."""
    return (result if bias is None else result + bias.astype(result.dtype).reshape(-1, *(1,) * (result.ndim - 2))).astype(dtype)


def _bias_gradient(g, spatial: int):
    channel = g.ndim - spatial - 1
    return g.sum(tuple(d for d in range(g.ndim) if d != channel))


def _pairs(padding: Any, weight, dilation: Sequence[int]) -> Pairs:
    """Padding as pairs; ``same`` puts the odd element behind, as torch does."""
    kernel = weight.shape[2:]
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, kernel)]
        return [(t // 2, t - t // 2) for t in totals]
    return [(p, p) for p in expand(padding, len(kernel))]


def _convolution(weight, stride, padding, dilation, groups, spatial, wide=False) -> Convolution:
    stride, dilation = expand(stride, spatial), expand(dilation, spatial)
    return Convolution(stride, tuple(_pairs(padding, weight, dilation)), dilation, groups, wide)


def _transposed(weight, stride, padding, output_padding, groups, dilation, spatial, wide=False) -> Convolution:
    """The convolution whose transpose a transposed convolution is; its input ends where the output does."""
    pairs = [(p, p - extra) for p, extra in zip(expand(padding, spatial), expand(output_padding, spatial))]
    return Convolution(expand(stride, spatial), tuple(pairs), expand(dilation, spatial), groups, wide)


def _transposed_sizes(at: Convolution, counts, kernel) -> list[int]:
    borders = zip(counts, kernel, at.stride, at.padding, at.dilation)
    return [(n - 1) * s - low - high + d * (k - 1) + 1 for n, k, s, (low, high), d in borders]


# --- torch's checks -----------------------------------------------------------------------------------------------------------------


def _listed(values: Sequence[int]) -> str:
    return str(list(values))


def _times(values: Sequence[int]) -> str:
    return "(" + " x ".join(map(str, values)) + ")"


def _check_list(values: Any, name: str, spatial: int) -> tuple[int, ...]:
    values = (values,) if isinstance(values, int) else tuple(values)
    if len(values) not in (1, spatial):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {spatial} values to match the convolution dimensions, "
            f"but got {name}={_listed(values)}"
        )
    return expand(values, spatial)


def _check_convolution(input, weight, bias, stride, padding, dilation, groups, spatial, output_padding=None) -> None:
    """Raise what torch raises for these arguments; a transposed convolution is one that has an ``output_padding``."""
    transposed = output_padding is not None
    name = f"conv_transpose{spatial}d" if transposed else f"conv{spatial}d"
    size, weight_size = tuple(input.shape), tuple(weight.shape)
    if len(size) not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, but got input of size: {_listed(size)}"
        )
    size = size if len(size) == spatial + 2 else (1, *size)
    kernel_dims = len(weight_size) - 2
    stride = _check_list(expand(stride, spatial), "stride", kernel_dims)
    dilation = _check_list(expand(dilation, spatial), "dilation", kernel_dims)
    pads = (0,) * spatial if isinstance(padding, str) else _check_list(expand(padding, spatial), "padding", kernel_dims)
    if padding == "same" and any(s != 1 for s in expand(stride, spatial)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if isinstance(padding, str) and padding not in ("same", "valid"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(weight_size) != spatial + 2:
        raise RuntimeError(
            f"Expected {len(weight_size)}-dimensional input for {len(weight_size)}-dimensional weight {_listed(weight_size)}, "
            f"but got {len(size)}-dimensional input of size {_listed(size)} instead"
        )
    if any(p < 0 for p in pads):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {_listed(dilation)}")
    if any(k <= 0 for k in weight_size[2:]):
        raise RuntimeError(f"kernel size should be greater than zero, but got {_listed(weight_size[2:])}")
    if transposed and any(p < 0 for p in expand(output_padding, spatial)):
        raise RuntimeError("negative output_padding is not supported")
    start = f"Given transposed=1, weight of size {_listed(weight_size)}" if transposed else f"Given groups={groups}"
    if weight_size[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {_listed(weight_size)} instead"
        )
    if weight_size[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{_listed(weight_size)}] instead"
        )
    channels, features = (weight_size[0], weight_size[1] * groups) if transposed else (weight_size[1] * groups, weight_size[0])
    if size[1] != channels:
        start = start if transposed else f"{start}, weight of size {_listed(weight_size)}"
        raise RuntimeError(f"{start}, expected input{_listed(size)} to have {channels} channels, but got {size[1]} channels instead")
    if bias is not None and tuple(bias.shape) != (features,):
        start = start if transposed else f"Given weight of size {_listed(weight_size)}"
        raise RuntimeError(
            f"{start}, expected bias to be 1-dimensional with {features} elements, but got bias of size {_listed(bias.shape)} instead"
        )
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight_size[2:])]
    if transposed:
        _check_transposed_size(size[2:], reach, stride, pads, expand(output_padding, spatial), dilation)
    else:
        padded = [n + low + high for n, (low, high) in zip(size[2:], _pairs(padding, weight, dilation))]
        if any(n < r for n, r in zip(padded, reach)):
            raise RuntimeError(
                f"Calculated padded input size per channel: {_times(padded)}. Kernel size: {_times(reach)}. "
                "Kernel size can't be greater than actual input size"
            )
    if input.dtype != weight.dtype:
        raise RuntimeError(f"expected scalar type {scalar_type(input.dtype)} but found {scalar_type(weight.dtype)}")
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({c_name(input.dtype)}) and bias type ({c_name(bias.dtype)}) should be the same")


def _check_transposed_size(size, reach, stride, padding, output_padding, dilation) -> None:
    spatial = len(size)
    axes = (("width",), ("height", "width"), ("depth", "height", "width"))[spatial - 1]
    if any(extra >= max(s, d) for extra, s, d in zip(output_padding, stride, dilation)):
        groups = (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
        shown = " ".join(f"{name}_{axis}: {v}" for name, values in groups for axis, v in zip(axes, values))
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {shown}")
    sizes = [(n - 1) * s - 2 * p + r + e for n, s, p, r, e in zip(size, stride, padding, reach, output_padding)]
    if any(n < 1 for n in sizes):
        raise RuntimeError(
            f"Given input size per channel: {_times(size)}. Calculated output size per channel: {_times(sizes)}. Output size is too small"
        )


# --- the operators ------------------------------------------------------------------------------------------------------------------


def _declare_convolution(spatial: int, overload: str, padding_type: str) -> Operator:
    @op(
        f"conv{spatial}d{overload}(Tensor input, Tensor weight, Tensor? bias=None, int[{spatial}] stride=1, {padding_type}, "
        f"int[{spatial}] dilation=1, int groups=1) -> Tensor",
        forms=FUNCTION,
        namespaces=("", "nn.functional"),
    )
    def conv(input, weight, bias, stride, padding, dilation, groups):
        """Cross-correlation of ``input`` with ``weight``, plus ``bias``; batched or not.

        Args:
            padding: zeros on both sides, ``"valid"`` (none) or ``"same"`` (output as large as the input, stride 1).
            groups: input and output channels are split into this many independent convolutions.

        Shape:   input ``(N, C, *)`` or ``(C, *)``, weight ``(O, C / groups, *)`` -> ``(N, O, *)`` or ``(O, *)``
        """
        result = _convolution(weight, stride, padding, dilation, groups, spatial, wide=True).forward(_batched(input, spatial), weight)
        return _like_input(_with_bias(result, bias, input.dtype), input, spatial)

    @conv.grad("input")
    def _(g, input_meta, weight, stride, padding, dilation, groups):
        at, sizes = _convolution(weight, stride, padding, dilation, groups, spatial), input_meta.shape[-spatial:]
        return _like_input(at.transpose(_batched(g, spatial), jnp.conj(weight), sizes), input_meta, spatial)

    @conv.grad("weight")
    def _(g, input, weight_meta, stride, padding, dilation, groups):
        at = _convolution(weight_meta, stride, padding, dilation, groups, spatial)
        return at.weight(jnp.conj(_batched(input, spatial)), _batched(g, spatial), weight_meta.shape)

    @conv.grad("bias")
    def _(g):
        return _bias_gradient(g, spatial)

    @conv.check
    def _(input, weight, bias, stride, padding, dilation, groups):
        _check_convolution(input, weight, bias, stride, padding, dilation, groups, spatial)

    return conv


def _declare_transposed(spatial: int) -> Operator:
    overload = "" if spatial == 1 else ".input"

    @op(
        f"conv_transpose{spatial}d{overload}(Tensor input, Tensor weight, Tensor? bias=None, int[{spatial}] stride=1, "
        f"int[{spatial}] padding=0, int[{spatial}] output_padding=0, int groups=1, int[{spatial}] dilation=1) -> Tensor",
        forms=FUNCTION,
        namespaces=("", "nn.functional"),
    )
    def conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation):
        """The transpose of a convolution: what `conv` does to its input's gradient, plus ``bias``.

        Shape:   input ``(N, C, *)`` or ``(C, *)``, weight ``(C, O / groups, *)`` -> ``(N, O, *)`` or ``(O, *)``
        """
        at = _transposed(weight, stride, padding, output_padding, groups, dilation, spatial, wide=True)
        sizes = _transposed_sizes(at, input.shape[-spatial:], weight.shape[2:])
        result = at.transpose(_batched(input, spatial), weight, sizes)
        return _like_input(_with_bias(result, bias, input.dtype), input, spatial)

    @conv_transpose.grad("input")
    def _(g, input_meta, weight, stride, padding, output_padding, groups, dilation):
        at = _transposed(weight, stride, padding, output_padding, groups, dilation, spatial)
        return _like_input(at.forward(_batched(g, spatial), jnp.conj(weight)), input_meta, spatial)

    @conv_transpose.grad("weight")
    def _(g, input, weight_meta, stride, padding, output_padding, groups, dilation):
        at = _transposed(weight_meta, stride, padding, output_padding, groups, dilation, spatial)
        return at.weight(_batched(g, spatial), jnp.conj(_batched(input, spatial)), weight_meta.shape)

    @conv_transpose.grad("bias")
    def _(g):
        return _bias_gradient(g, spatial)

    @conv_transpose.check
    def _(input, weight, bias, stride, padding, output_padding, groups, dilation):
        _check_convolution(input, weight, bias, stride, padding, dilation, groups, spatial, output_padding)

    return conv_transpose


for _spatial in (1, 2, 3):
    _declare_convolution(_spatial, "", f"int[{_spatial}] padding=0")
    _declare_convolution(_spatial, ".padding", 'str padding="valid"')
    _declare_transposed(_spatial)


@composite(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
    "int[] output_padding, int groups) -> Tensor",
    forms=FUNCTION,
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The convolution, or the transposed one, over as many dimensions as ``weight`` has beyond two."""
    spatial = weight.dim() - 2
    if transposed:
        name = "conv_transpose1d" if spatial == 1 else f"conv_transpose{spatial}d.input"
        return OPERATORS[name](input, weight, bias, stride, padding, output_padding, groups, dilation)
    return OPERATORS[f"conv{spatial}d"](input, weight, bias, stride, padding, dilation, groups)


@composite("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", forms=FUNCTION, namespaces=("", "nn.functional"))
def conv_tbc(self, weight, bias, pad=0):
    """A one-dimensional convolution over (time, batch, channel); ``weight`` is (kernel, channels, features)."""
    return OPERATORS["conv1d"](self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1).contiguous()
