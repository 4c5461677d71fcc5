"""What distributions share: broadcasting parameters, properties computed when asked for, probabilities and logits, triangles as vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..aten.constructors import get_default_dtype, tensor
from ..autograd.grad_mode import enable_grad
from ..core.typeinfo import finfo
from ..tensors.tensor import Tensor
from ._functions import T

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060

_Number = (bool, int, float)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors and numbers as tensors of one shape; a number takes dtype and device of the first tensor, else the default dtype.

    Raises:
        ValueError: something else was passed.
    """
    if not all(_is_tensor_like(value) or isinstance(value, _Number) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    place = {"dtype": get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return T.broadcast_tensors(*[value if _is_tensor_like(value) else tensor(value, **place) for value in values])


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return T.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logits: of yes if ``is_binary``, else of the events in the last dimension, whose logits need not be normalized."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the dtype's precision."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits from probabilities: of yes if ``is_binary``, else of the events in the last dimension.  They are always finite."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:  # noqa: N801 - torch's name
    """A property that is computed, with gradients, when it is first asked for, and is an attribute of the instance from then on."""

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):  # noqa: N801 - torch's name
    """What a class shows of a `lazy_property`: documentation tools look for a property, the checks of arguments for a lazy one."""

    def __init__(self, wrapped: Callable) -> None:
        property.__init__(self, wrapped)


def _lower_triangle(n: int, diag: int) -> tuple[list[int], list[int]]:
    """Rows and columns of the elements on and below a diagonal of an n x n matrix, row by row."""
    places = [(row, column) for row in range(n) for column in range(min(n, row + diag + 1))]
    return [row for row, _ in places], [column for _, column in places]


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of square matrices as vectors, row by row.

    Raises:
        ValueError: there is no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[(..., *_lower_triangle(n, diag))]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The square matrices that `tril_matrix_to_vec` makes these vectors of, zero above the diagonal.

    Raises:
        ValueError: no matrix has that many elements there.
    """
    length = vec.shape[-1]
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(size)
    if n - size > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[(..., *_lower_triangle(n, diag))] = vec
    return matrix
