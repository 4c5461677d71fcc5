"""Transforms of whole vectors, matrices and other shapes, and of the parts of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.size import Size
from ..core.typeinfo import finfo
from ..tensors.tensor import Tensor
from . import constraints
from ._functions import F, T, linalg
from ._number_transforms import inside_unit_interval
from ._transform import Plain, Transform, require_dims
from .utils import _sum_rightmost, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "ReshapeTransform", "SoftmaxTransform",
    "StackTransform", "StickBreakingTransform",
]  # fmt: skip


class ReshapeTransform(Transform):
    """Gives the last dimensions another shape.

    Raises:
        ValueError: the shapes have different numbers of elements.
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _copy(self, cache_size: int) -> Any:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _replaced_tail(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _replaced_tail(shape, self.out_shape, self.in_shape)


def _replaced_tail(shape: Any, old: Size, new: Size) -> Any:
    require_dims(len(shape) >= len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


# --- the parts of a tensor ---------------------------------------------------------------------------------------------------------------


class _Joined(Transform):
    """Transforms for the parts of a tensor along a dimension."""

    transforms: list[Transform]
    dim: int

    def _set_parts(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        Transform.__init__(self, cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    def _parts(self, value: Any, name: str, kind: str = "tensor") -> list[Any]:
        """The parts of a value, a part for each transform.

        Args:
            name, kind: what error texts call the value.
        """
        what, length = self._expected()
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {kind} with {value.dim()} dimensions")
        if value.size(self.dim) != length:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {what} {length}")
        return self._split(value)

    def _expected(self) -> tuple[str, int]:
        """The size of the dimension, after what error texts call it."""
        raise NotImplementedError

    def _split(self, value: Any) -> list[Any]:
        raise NotImplementedError

    def _join(self, parts: list[Any], dim: int) -> Any:
        raise NotImplementedError

    def _call(self, x: Any) -> Any:
        return self._join([t(part) for t, part in zip(self.transforms, self._parts(x, "x"))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return self._join([t.inv(part) for t, part in zip(self.transforms, self._parts(y, "y"))], self.dim)

    def _log_determinants(self, x: Any, y: Any) -> list[Any]:
        parts = zip(self.transforms, self._parts(x, "x", "x"), self._parts(y, "y", "y"))
        return [t.log_abs_det_jacobian(before, after) for t, before, after in parts]

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_Joined):
    """Transforms for slices of a dimension, of the given lengths (1 by default), as `torch.cat` puts them together."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        self._set_parts(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:  # type: ignore[override]
        """How many dimensions the largest event among the parts has."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def _copy(self, cache_size: int) -> Any:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _expected(self) -> tuple[str, int]:
        return "length", self.length

    def _split(self, value: Any) -> list[Any]:
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _join(self, parts: list[Any], dim: int) -> Any:
        return T.cat(parts, dim=dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        determinants = zip(self.transforms, self._log_determinants(x, y))
        terms = [_sum_rightmost(term, max(self.event_dim - t.event_dim, 0)) for t, term in determinants]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return self._join(terms, dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms for the elements of a dimension, as `torch.stack` puts them together."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        self._set_parts(tseq, dim, cache_size)

    def _copy(self, cache_size: int) -> Any:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _expected(self) -> tuple[str, int]:
        return "len(transforms)", len(self.transforms)

    def _split(self, value: Any) -> list[Any]:
        return [value.select(self.dim, i) for i in range(value.size(self.dim))]

    def _join(self, parts: list[Any], dim: int) -> Any:
        return T.stack(parts, dim=dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._join(self._log_determinants(x, y), self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


# --- vectors and matrices ----------------------------------------------------------------------------------------------------------------


class CorrCholeskyTransform(Transform):
    """Vectors to Cholesky factors of correlation matrices: `tanh` of the elements below the diagonal are shares of what is left of a row.

    Row i starts with a vector of length 1; each element takes its share, and the diagonal what remains.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - shares**2).sqrt().cumprod(-1)
        whole = T.eye(shares.shape[-1], dtype=shares.dtype, device=shares.device)
        return (shares + whole) * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        shares = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (shares.log1p() - shares.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)  # a row's last element takes its share without any Jacobian
        return 0.5 * left.log().sum(-1) - 2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dims(len(shape) >= 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(len(shape) >= 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(Plain):
    """Vectors to the simplex by `exp` and normalizing; no bijection, so without a determinant."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        require_dims(len(shape) >= 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Plain):
    """Vectors to the simplex of one dimension more: each element breaks a share off the rest of a stick.

    Zeros break it into equal parts.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        share = inside_unit_interval((x - _pieces_left(x, x.shape[-1]).log()).sigmoid())
        left = (1 - share).cumprod(-1)
        return F.pad(share, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        cut = y[..., :-1]
        left = (1 - cut.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return cut.log() - left.log() + _pieces_left(y, cut.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _pieces_left(x, x.shape[-1]).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dims(len(shape) >= 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(len(shape) >= 1)
        return shape[:-1] + (shape[-1] - 1,)


def _pieces_left(like: Tensor, cuts: int) -> Tensor:
    """How many pieces remain after each cut: ``cuts``, ..., 1."""
    return T.arange(cuts, 0, -1, dtype=like.dtype, device=like.device)


class LowerCholeskyTransform(Plain):
    """Square matrices to lower triangular ones with a positive diagonal, by `exp` of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """Square matrices to positive definite ones: the Cholesky factor is that of `LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))
