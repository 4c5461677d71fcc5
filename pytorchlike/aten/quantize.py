"""Quantisation: what training needs of it (``fake_quantize_*``), and quantized tensors that can be made, looked at and dequantized.

There is no arithmetic on quantized tensors: XLA has none, and torch's own kernels for it are being retired.
"""

from __future__ import annotations

from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np

from ..core.dtype import float32, int8, int32, qint8, qint32, quint8, uint8
from ..dispatch.registry import FUNCTION, composite, op
from ..tensors.tensor import Tensor, new_tensor

__all__ = ["QuantizedTensor"]


# -- in training -------------------------------------------------------------------------------------------------------------------------


def _codes(x, scale, zero_point):
    """What the elements are rounded to (halves to even), before it is clamped."""
    return jnp.round(x * (1 / scale.astype(x.dtype))) + zero_point.astype(x.dtype)


def _fake(x, scale, zero_point, low: int, high: int):
    codes = jnp.clip(_codes(x, scale, zero_point), low, high)
    return (codes - zero_point.astype(x.dtype)) * scale.astype(x.dtype)


def _passes(g, x, scale, zero_point, low: int, high: int):
    codes = _codes(x, scale, zero_point)
    return jnp.where((codes >= low) & (codes <= high), g, 0)


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


@op("_fake_quantize(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor", forms=FUNCTION, namespaces=())
def fake_quantize(self, scale, zero_point, quant_min, quant_max):
    """Quantized and dequantized again; scale and zero point have the shape of ``self`` or are broadcast to it.

    Grad: passes where nothing was clamped (the straight-through estimator, arXiv:1712.05877).
    """
    return _fake(self, scale, zero_point, quant_min, quant_max)


@fake_quantize.grad("self")
def _(g, self, scale, zero_point, quant_min, quant_max):
    return _passes(g, self, scale, zero_point, quant_min, quant_max)


@fake_quantize.grad("scale", "zero_point")
def _(g, scale_meta):
    return jnp.zeros(scale_meta.shape, g.dtype)


@composite("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", forms=FUNCTION)
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    """Rounded to ``scale * (code - zero_point)`` with codes of ``[quant_min, quant_max]``; the gradient passes where nothing was clamped.

    Raises:
        RuntimeError: an empty range, or a zero point outside of it.
    """
    _check_range(quant_min, quant_max)
    if not isinstance(zero_point, Tensor) and not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return fake_quantize(self, _number(scale, self), _number(zero_point, self), quant_min, quant_max)


def _number(value: Any, like: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else like.new_tensor(float(value))  # type: ignore[attr-defined]


@composite(
    "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor", forms=FUNCTION
)
def fake_quantize_per_tensor_affine_tensor(self, scale, zero_point, quant_min, quant_max):
    """`fake_quantize_per_tensor_affine` with the scale and zero point of tensors with one element."""
    _check_range(quant_min, quant_max)
    return fake_quantize(self, scale.detach().reshape(()), zero_point.detach().reshape(()), quant_min, quant_max)


@composite(
    "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor", forms=FUNCTION
)
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of a dimension.

    Raises:
        RuntimeError: dtypes, sizes or a range that torch refuses.
    """
    if scale.dtype is not float32:
        raise RuntimeError(f"Scale must be Float, found {str(scale.dtype).removeprefix('torch.').capitalize()}")
    if str(zero_point.dtype) not in ("torch.int32", "torch.float32", "torch.float16"):
        name = {"int64": "Long", "int8": "Char", "uint8": "Byte", "float64": "Double"}.get(zero_point.dtype.name, zero_point.dtype.name)
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {name}")
    if scale.dim() != 1 or zero_point.dim() != 1:
        raise RuntimeError("scale and zero-point need to be 1-D tensors")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != self.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check_range(quant_min, quant_max)
    shape = [1] * self.dim()
    shape[axis] = -1
    return fake_quantize(self, scale.detach().view(shape), zero_point.detach().view(shape), quant_min, quant_max)


# -- quantized tensors -------------------------------------------------------------------------------------------------------------------

_REFUSED = "Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend: pytorchlike has no arithmetic on quantized tensors; use dequantize()."
_OWN = frozenset({"dequantize", "int_repr", "q_scale", "q_zero_point", "qscheme"})


class QuantizedTensor(Tensor):
    """Codes with a scale and a zero point: ``scale * (code - zero_point)``.

    Slots:
        _codes, _scale, _zero_point, _kind: the codes, as a tensor of integers; one scale and zero point; the dtype.
    """

    __slots__ = ("_codes", "_scale", "_zero_point", "_kind")
    __module__ = "torch"
    _storage = None
    _base_tensor = None
    _edge = None
    is_quantized = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Tell what a quantized tensor is made of, refuse everything else.

        Raises:
            NotImplementedError: another function.
        """
        name = getattr(func, "__name__", str(func))
        if name in _OWN:
            return getattr(args[0], name)()
        raise NotImplementedError(_REFUSED.format(name=name))

    @property
    def _value(self) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError(_REFUSED.format(name="an operator"))

    shape = property(lambda self: self._codes.shape)  # type: ignore[assignment]
    dtype = property(lambda self: self._kind)  # type: ignore[assignment]
    device = property(lambda self: self._codes.device)  # type: ignore[assignment]

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self._codes.size(dim)

    def numel(self) -> int:
        """The number of elements."""
        return self._codes.numel()

    def int_repr(self) -> Tensor:
        """The codes, as integers."""
        return self._codes.clone()  # type: ignore[attr-defined]

    def dequantize(self) -> Tensor:
        """The numbers that the codes stand for, in float32."""
        return (self._codes.to(float32) - self._zero_point) * self._scale  # type: ignore[attr-defined]

    def q_scale(self) -> float:
        """The scale."""
        return self._scale

    def q_zero_point(self) -> int:
        """The code of zero."""
        return self._zero_point

    def qscheme(self) -> str:
        """One scale for the whole tensor."""
        return "torch.per_tensor_affine"

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        shown = repr(self.dequantize())
        return (
            f"{shown.removesuffix(')')}, size={tuple(self.shape)}, dtype={self.dtype},\n       quantization_scheme=torch.per_tensor_affine, "
            f"scale={self._scale}, zero_point={self._zero_point})"
        )


@composite("quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor", forms=FUNCTION)
def quantize_per_tensor(self, scale, zero_point, dtype):
    """A quantized tensor: codes ``round(self / scale) + zero_point``, clamped to what the dtype holds.

    Raises:
        RuntimeError: another dtype than ``quint8``, ``qint8`` or ``qint32``, or a tensor that is not float32.
    """
    if dtype not in (quint8, qint8, qint32):
        raise RuntimeError(f"Expected a quantized dtype, but got {dtype}")
    if self.dtype is not float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {self.dtype.name.capitalize()}")
    scale, zero_point = float(scale), int(zero_point)
    limits = np.iinfo(dtype.numpy)
    codes = (self.detach() * (1.0 / np.float32(scale)).item()).round() + zero_point
    made: Any = new_tensor(QuantizedTensor)
    made._codes = codes.clamp(int(limits.min), int(limits.max)).to(_PLAIN[dtype])
    made._scale, made._zero_point, made._kind = scale, zero_point, dtype
    return made


#: The dtype of the codes.
_PLAIN = {quint8: uint8, qint8: int8, qint32: int32}
