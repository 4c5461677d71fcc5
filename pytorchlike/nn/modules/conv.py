"""Convolutions and their transposes in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...aten.create import empty
from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions hold: weight, bias and geometry."""

    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size"]
    bias: Tensor | None
    weight: Tensor

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple, stride: tuple, padding: Any, dilation: tuple, transposed: bool,
        output_padding: tuple, groups: int, bias: bool, padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            totals = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size)]
            self._reversed_padding_repeated_twice: Any = [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*channels, *kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight, then the bias, uniformly within ``1 / sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * len(self.dilation):
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * len(self.output_padding):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _DirectConv(_ConvNd):
    """The three convolutions; a class names its functional and how numbers become tuples."""

    _tuple: Callable[[Any], tuple]
    _functional: str

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        as_tuple = type(self)._tuple
        super().__init__(
            in_channels, out_channels, as_tuple(kernel_size), as_tuple(stride), padding if isinstance(padding, str) else as_tuple(padding),
            as_tuple(dilation), False, as_tuple(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = getattr(F, self._functional)
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(padded, weight, bias, self.stride, type(self)._tuple(0), self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_DirectConv):
    """Convolution (cross-correlation) of sequences.

    Shape:   input ``(N, C, L)`` or ``(C, L)``
    """

    _tuple = _single
    _functional = "conv1d"


class Conv2d(_DirectConv):
    """Convolution (cross-correlation) of images.

    Shape:   input ``(N, C, H, W)`` or ``(C, H, W)``
    """

    _tuple = _pair
    _functional = "conv2d"


class Conv3d(_DirectConv):
    """Convolution (cross-correlation) of volumes.

    Shape:   input ``(N, C, D, H, W)`` or ``(C, D, H, W)``
    """

    _tuple = _triple
    _functional = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """The three transposed convolutions."""

    _tuple: Callable[[Any], tuple]
    _functional: str

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
        bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        as_tuple = type(self)._tuple
        super().__init__(
            in_channels, out_channels, as_tuple(kernel_size), as_tuple(stride), as_tuple(padding), as_tuple(dilation), True,
            as_tuple(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any, num_spatial_dims: int) -> Any:
        """The output padding that gives the requested size.

        Raises:
            ValueError: the size has the wrong length or cannot be reached.
        """
        if output_size is None:
            return _single(self.output_padding)
        sizes = input.size()
        wanted, n = list(output_size), num_spatial_dims
        has_batch = input.dim() == n + 2
        leading = 2 if has_batch else 1
        if len(wanted) == n + leading:
            wanted = wanted[leading:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {n + leading} elements (got {len(output_size)})"
            )
        smallest = [
            (size - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1
            for d, size in enumerate(sizes[leading:])
        ]
        largest = [low + self.stride[d] - 1 for d, low in enumerate(smallest)]
        if any(not low <= size <= high for size, low, high in zip(wanted, smallest, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(wanted, smallest)]

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        output_padding = self._output_padding(input, output_size, len(self.kernel_size))
        return getattr(F, self._functional)(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` with respect to its input, as a layer."""

    _tuple = _single
    _functional = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` with respect to its input, as a layer."""

    _tuple = _pair
    _functional = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of `Conv3d` with respect to its input, as a layer."""

    _tuple = _triple
    _functional = "conv_transpose3d"


class _LazyConvXdMixin(LazyModuleMixin):
    """Convolutions that learn ``in_channels`` from their first input."""

    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple
    transposed: bool
    weight: Any
    bias: Any

    def _init_lazily(self, out_channels: int, kernel_size: Any, bias: bool, device: Any, dtype: Any, **settings: Any) -> None:
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__(0, 0, kernel_size, bias=False, **settings, **where)  # without elements nothing is drawn
        self.weight = UninitializedParameter(**where)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**where)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        spatial = len(self.kernel_size)
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[1] if input.dim() == spatial + 2 else input.shape[0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        first, last = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        with no_grad():
            self.weight.materialize((first, last // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class _LazyDirect(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._init_lazily(
            out_channels, kernel_size, bias, device, dtype, stride=stride, padding=padding, dilation=dilation, groups=groups,
            padding_mode=padding_mode,
        )  # fmt: skip


class _LazyTransposed(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._init_lazily(
            out_channels, kernel_size, bias, device, dtype, stride=stride, padding=padding, output_padding=output_padding, groups=groups,
            dilation=dilation, padding_mode=padding_mode,
        )  # fmt: skip


class LazyConv1d(_LazyDirect, Conv1d):
    """A `Conv1d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyDirect, Conv2d):
    """A `Conv2d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyDirect, Conv3d):
    """A `Conv3d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose3d
