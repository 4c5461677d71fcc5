"""The dtype objects (`float32`, `int64`, ...) with torch's names and the numpy dtype each one stands for."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["BY_NAME", "dtype", "from_numpy"]

#: Categories in promotion order: a higher one wins whatever the ranks (https://docs.pytorch.org/docs/stable/tensor_attributes.html).
BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype:  # noqa: N801 - torch's name
    """An element type; one object for each, compared by identity.

    Attributes:
        name: torch's name, without the prefix.
        numpy: the ``numpy.dtype`` of the elements.
        itemsize: bytes an element takes.
        category: ``BOOL``, ``INTEGRAL``, ``FLOATING`` or ``COMPLEX``.
    """

    __slots__ = ("name", "numpy", "itemsize", "category", "is_floating_point", "is_complex", "is_signed")
    __module__ = "torch"

    def __init__(self, name: str, scalar_type: Any, category: int, is_signed: bool = True) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(scalar_type)
        self.itemsize = self.numpy.itemsize
        self.category = category
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = is_signed

    def to_real(self) -> dtype:
        """The real dtype of the same precision (``complex64`` -> ``float32``); a real dtype is returned as it is."""
        return _TO_REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype of the same precision (``float32`` -> ``complex64``)."""
        return _TO_COMPLEX.get(self, self) if not self.is_complex else self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple:
        return _by_name, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict) -> dtype:
        return self


def _by_name(name: str) -> dtype:
    return next((d for d in _ELSEWHERE if d.name == name), None) or BY_NAME[name]


uint8 = dtype("uint8", np.uint8, INTEGRAL, is_signed=False)
uint16 = dtype("uint16", np.uint16, INTEGRAL, is_signed=False)
uint32 = dtype("uint32", np.uint32, INTEGRAL, is_signed=False)
uint64 = dtype("uint64", np.uint64, INTEGRAL, is_signed=False)
int8 = dtype("int8", np.int8, INTEGRAL)
int16 = dtype("int16", np.int16, INTEGRAL)
int32 = dtype("int32", np.int32, INTEGRAL)
int64 = dtype("int64", np.int64, INTEGRAL)
float16 = dtype("float16", np.float16, FLOATING)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING)
float32 = dtype("float32", np.float32, FLOATING)
float64 = dtype("float64", np.float64, FLOATING)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING, is_signed=False)
complex64 = dtype("complex64", np.complex64, COMPLEX)
complex128 = dtype("complex128", np.complex128, COMPLEX)
bool_ = dtype("bool", np.bool_, BOOL, is_signed=False)

#: The dtypes of quantized tensors (aten/quantize.py); the numpy dtype is that of their codes.
quint8 = dtype("quint8", np.uint8, INTEGRAL, is_signed=False)
qint8 = dtype("qint8", np.int8, INTEGRAL)
qint32 = dtype("qint32", np.int32, INTEGRAL)
#: That of pairs of halves (aten/half_complex.py), which XLA has not.
complex32 = dtype("complex32", np.dtype([("real", np.float16), ("imag", np.float16)]), COMPLEX)

#: Every dtype of plain tensors under its torch name.
BY_NAME: dict[str, dtype] = {
    d.name: d
    for d in (
        uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2,
        float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, complex64, complex128, bool_,
    )
}  # fmt: skip
_ELSEWHERE = (quint8, qint8, qint32, complex32)
#: torch's second names.
ALIASES = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
    "short": int16, "int": int32, "long": int64,
}  # fmt: skip

# XLA cannot compute with torch's complex32; half's complex is therefore complex64 here.
_TO_COMPLEX = {float64: complex128, float32: complex64, float16: complex64, bfloat16: complex64}
_TO_REAL = {complex32: float16, complex64: float32, complex128: float64}
_BY_NUMPY = {d.numpy: d for d in BY_NAME.values()}


def from_numpy(numpy_dtype: np.dtype | type) -> dtype:
    """The dtype whose elements a numpy dtype describes.

    Raises:
        TypeError: numpy's dtype has no counterpart (strings, objects, dates), with torch's text.
    """
    numpy_dtype = np.dtype(numpy_dtype)
    found = _BY_NUMPY.get(numpy_dtype)
    if found is None:
        found = _BY_NUMPY.get(numpy_dtype.newbyteorder("="))
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type {numpy_dtype.type.__module__}.{numpy_dtype.type.__name__}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return found
