"""Products of groups of rows or columns with a matrix each (mixtures of experts), and of 8-bit floats with scales."""

from __future__ import annotations

import enum
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dtype import bfloat16
from ..dispatch.registry import FUNCTION, composite, op

__all__ = ["ScalingType", "SwizzleType"]

_FUNCTIONAL = ("nn.functional",)
_GROUPED = (np.dtype(np.float32), np.dtype(jnp.bfloat16), np.dtype(np.float16))


class ScalingType(enum.Enum):
    """What part of a matrix one scale is for."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """In what order scales of blocks lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


# ---------------------------------------------------------------------------------------------------------------- groups
def _rows_by_groups(rows, matrices, ends):
    """``rows[ends[i - 1] : ends[i]] @ matrices[i]``, below each other; rows behind the last end are zero."""
    sizes = jnp.diff(ends, prepend=0).astype(np.int32)
    return lax.ragged_dot(rows, matrices, sizes, preferred_element_type=np.float32).astype(rows.dtype)


def _inner_by_groups(a, b, ends):
    """The product over each group of inner places: ``a[:, s:e] @ b[s:e]``, one matrix for each group."""
    places = jnp.arange(a.shape[1])
    starts = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]])

    def product(bounds):
        inside = (places >= bounds[0]) & (places < bounds[1])
        return jnp.matmul(jnp.where(inside, a, 0), b, preferred_element_type=np.float32)

    return lax.map(product, jnp.stack([starts, ends], 1)).astype(a.dtype)


@op(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor", forms=FUNCTION,
)  # fmt: skip
def _grouped_mm(self, mat2, offs, bias, out_dtype):
    """Products of groups of a matrix; see `grouped_mm`."""
    if offs is None:
        return jnp.matmul(self, mat2, preferred_element_type=np.float32).astype(self.dtype)
    if self.ndim == 2 and mat2.ndim == 3:
        return _rows_by_groups(self, mat2, offs)
    if self.ndim == 3:
        return _rows_by_groups(mat2.T, self.transpose(0, 2, 1), offs).T
    return _inner_by_groups(self, mat2, offs)


@_grouped_mm.check
def _(self, mat2, offs, bias, out_dtype):
    for name, matrix in (("mat_a", self), ("mat_b", mat2)):
        if matrix.dtype not in _GROUPED:
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {matrix.dtype.name.capitalize()}")
        if matrix.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {self.dtype.name} != {mat2.dtype.name}")
    if not (self.ndim == mat2.ndim == 2) and self.shape[-1] != mat2.shape[-2] or self.ndim == mat2.ndim == 2 and self.shape[1] != mat2.shape[0]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is not None) != (self.ndim == 2 or mat2.ndim == 2):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None:
        batches = self.shape[0], mat2.shape[0]
    else:
        if len(offs.shape) != 1:
            raise RuntimeError("offs has to be 1D")
        if offs.dtype != np.int32:
            raise RuntimeError("Offsets have to be int32")
        batches = (offs.shape[0], *[m.shape[0] for m in (self, mat2) if m.ndim == 3])
    if len(set(batches)) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype.numpy != self.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


@composite(
    "grouped_mm(Tensor mat_a, Tensor mat_b, *, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    forms=FUNCTION,
    namespaces=_FUNCTIONAL,
)
def grouped_mm(mat_a, mat_b, *, offs, bias, out_dtype):
    """The products of groups, each with a matrix of its own.

    Args:
        mat_a: ``(M, K)``, of which ``offs`` ends groups of rows (or of columns, if ``mat_b`` is 2-D too), or ``(G, M, K)``.
        mat_b: ``(G, K, N)``, or ``(K, N)``, of which ``offs`` ends groups of columns (or of rows, if ``mat_a`` is 2-D too).
        offs: ``(G,)`` int32, the ends of the groups; None if both are 3-D.

    Returns:
        ``(M, N)``, or ``(G, M, N)`` if both are 2-D or both 3-D.  What is behind the last group is zero (torch leaves it undefined).  Unlike
        torch's kernels this one does not ask for strides of 16 bytes.

    Raises:
        RuntimeError: dtypes or shapes that do not fit; a bias, or another dtype of the result, which torch does not compute either.
    """
    return _grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


# ---------------------------------------------------------------------------------------------------------------- 8-bit floats
def _is_float8(kind: Any) -> bool:
    return np.dtype(kind).name.startswith("float8")


@op(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, "
    "ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    forms=FUNCTION,
    differentiable=False,
)
def _scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    """The product of two matrices of 8-bit floats times their scales: one for all, or one for each row of ``self`` and column of ``mat2``.

    Computed in float32 and rounded once; results in 8 bits are divided by ``scale_result`` and clamped to the largest number.
    """
    found = jnp.matmul(self.astype(np.float32), mat2.astype(np.float32), precision=lax.Precision.HIGHEST)
    found = found * scale_a.reshape(scale_a.shape if scale_a.ndim == 2 else ()) * scale_b.reshape(scale_b.shape if scale_b.ndim == 2 else ())
    if bias is not None:
        found = found + bias.astype(np.float32)
    kind = self.dtype if out_dtype is None else out_dtype.numpy
    if _is_float8(kind):
        if scale_result is not None:
            found = found / scale_result.reshape(())
        largest = float(jnp.finfo(kind).max)
        found = jnp.clip(found, -largest, largest)
    return found.astype(kind)


@_scaled_mm.check
def _(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    if self.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"mat_{'a' if self.ndim != 2 else 'b'} must be a matrix")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    of_tensors = scale_a.size == 1 and scale_b.size == 1
    of_rows = scale_a.shape == (self.shape[0], 1) and scale_b.shape == (1, mat2.shape[1])
    if not (
        _is_float8(self.dtype) and _is_float8(mat2.dtype) and scale_a.dtype == scale_b.dtype == np.float32 and (of_tensors or of_rows)
    ):  # fmt: skip
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            f"- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be ({self.shape[0]}, 1) and scale_b "
            f"should be (1, {mat2.shape[1]}), and both should be contiguous.\n"
            f"Got mat_a.dtype()={self.dtype.name}, scale_a.dtype()={scale_a.dtype.name}, scale_a.size()={list(scale_a.shape)}, "
            f"mat_b.dtype()={mat2.dtype.name}, scale_b.dtype()={scale_b.dtype.name}, scale_b.size()={list(scale_b.shape)}"
        )


def _only(values: Any) -> Any:
    """The single scale of a matrix; kernels that take two are those of CUDA."""
    values = values if isinstance(values, (list, tuple)) else [values]
    if len(values) != 1:
        raise ValueError(f"Invalid scaling configuration: one scale for each matrix is supported, got {len(values)}")
    return values[0]


def scaled_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None,
    bias: Any = None, output_dtype: Any = bfloat16, contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """The product of two matrices of 8-bit floats times their scales.

    Args:
        mat_a, mat_b: ``(M, K)`` and ``(K, N)`` of a float8 dtype.
        scale_a, scale_b: float32; one number for ``ScalingType.TensorWise``, ``(M, 1)`` and ``(1, N)`` for ``ScalingType.RowWise``.
        swizzle_a, swizzle_b: of scales of blocks only.

    Raises:
        ValueError: scales of blocks, which torch has for CUDA only; scales or dtypes that do not fit.
    """
    recipes = _only(scale_recipe_a), _only(scale_recipe_b)
    if set(recipes) - {ScalingType.TensorWise, ScalingType.RowWise} or recipes[0] is not recipes[1]:
        raise ValueError(f"Invalid scaling configuration: {' and '.join(str(r) for r in recipes)} (both TensorWise or both RowWise is supported)")
    return _scaled_mm(mat_a, mat_b, _only(scale_a), _only(scale_b), bias, None, output_dtype, use_fast_accum)


def scaled_grouped_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None,
    bias: Any = None, offs: Any = None, output_dtype: Any = bfloat16, contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """`grouped_mm` of 8-bit floats with scales.

    Raises:
        NotImplementedError: always, as torch does without CUDA.
    """
    raise NotImplementedError("torch.nn.functional.scaled_grouped_mm is not supported: dequantize the matrices and use grouped_mm")
