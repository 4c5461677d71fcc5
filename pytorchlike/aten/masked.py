"""Reductions and normalizations that leave elements out: `torch.masked`.

Elements where the mask is false are replaced by what does not change the result (0 for a sum, infinity for a minimum); then the plain
operator runs.  Where a whole slice is left out, the result is that of the replacements alone.

Limits:  tensors and masks are dense here; `masked_tensor.py` has tensors that carry their mask
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.dims import wrap_dim
from ..core.dtype import bool_, float32, int64
from ..core.typeinfo import iinfo
from ..dispatch.registry import FUNCTION, composite
from ..tensors.tensor import Tensor
from .compare import maximum
from .vector_norm import vector_norm

_MASKED = "ScalarType? dtype=None, Tensor? mask=None"
_REDUCED = f"Any dim=None, *, bool? keepdim=False, {_MASKED}"


def _masked(schema: str) -> Callable:
    return composite(schema, forms=FUNCTION, namespaces=("masked",))


# ---------------------------------------------------------------------------------------------------------------------- arguments
def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions, ascending; None and none at all are all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(wrap_dim(d, ndim))
    return tuple(sorted(found))


def _mask_of(x: Tensor, mask: Tensor) -> Tensor:
    """The mask in the size of the input."""
    if mask.shape != x.shape:
        if mask.ndim > x.ndim:
            raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
        mask = mask.broadcast_to(x.shape)
    return mask.to(bool_)


def _dense(name: str, *tensors: Tensor | None) -> None:
    for tensor in tensors:
        if tensor is not None and str(tensor.layout) != "torch.strided":
            raise NotImplementedError(f"masked {name}: {tensor.layout} is not supported; call to_dense() first")


def _lowest(dtype: Any, name: str) -> float | int:
    """What no element is below."""
    if dtype.is_floating_point:
        return -math.inf
    if dtype is bool_ or dtype.is_complex:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return iinfo(dtype).min


def _highest(dtype: Any, name: str) -> float | int:
    if dtype.is_floating_point:
        return math.inf
    if dtype is bool_ or dtype.is_complex:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return iinfo(dtype).max


#: Operator -> what left-out elements are replaced by, given the dtype and the operator's name.
_REPLACEMENTS: dict[str, Callable[[Any, str], Any]] = {
    "sum": lambda dtype, name: 0, "prod": lambda dtype, name: 1, "amax": _lowest, "amin": _highest, "argmax": _lowest, "argmin": _highest,
    "logaddexp": _lowest, "logsumexp": lambda dtype, name: complex(-math.inf, 0) if dtype.is_complex else _lowest(dtype, name),
    "median": lambda dtype, name: math.nan,
}  # fmt: skip


def _replaced(name: str, x: Tensor, mask: Tensor | None) -> Tensor:
    """The input with what does not change the result of an operator where the mask is false."""
    _dense(name, x, mask)
    if mask is None:
        return x
    return x.masked_fill(~_mask_of(x, mask), _REPLACEMENTS[name](x.dtype, name))


def _accumulated(x: Tensor, dtype: Any) -> Any:
    """The dtype of a sum: that asked for, int64 of smaller integers."""
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex or x.dtype.itemsize == 8 else int64


# --------------------------------------------------------------------------------------------------------------------- reductions
def _sum(x: Tensor, dim: Any, keepdim: Any, dtype: Any, mask: Tensor | None) -> Tensor:
    dims = _dims(dim, x.ndim)
    return _replaced("sum", x, mask).sum(dims, bool(keepdim), dtype=_accumulated(x, dtype))


@_masked(f"sum.masked(Tensor input, {_REDUCED}) -> Tensor")
def masked_sum(input, dim, *, keepdim, dtype, mask):
    """The sum of the elements where the mask is true."""
    return _sum(input, dim, keepdim, dtype, mask)


@_masked(f"prod.masked(Tensor input, {_REDUCED}) -> Tensor")
def masked_prod(input, dim, *, keepdim, dtype, mask):
    """The product of the elements where the mask is true."""
    dims, kind = _dims(dim, input.ndim), _accumulated(input, dtype)
    result = _replaced("prod", input, mask).to(kind)
    for d in reversed(dims):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


def _declare_extremum(name: str, what: str) -> None:
    @_masked(f"{name}.masked(Tensor input, {_REDUCED}) -> Tensor")
    def extremum(input, dim, *, keepdim, dtype, mask):
        replaced = _replaced(name, input, mask)
        return getattr(replaced, name)(_dims(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)

    extremum.__doc__ = f"The {what} of the elements where the mask is true."

    @_masked(f"arg{name[1:]}.masked(Tensor input, int? dim=None, *, bool? keepdim=False, {_MASKED}) -> Tensor")
    def place(input, dim, *, keepdim, dtype, mask):
        return getattr(_replaced(f"arg{name[1:]}", input, mask), f"arg{name[1:]}")(dim, bool(keepdim)).to(dtype or input.dtype)

    place.__doc__ = f"The index of the {what} of the elements where the mask is true, in the dtype of the input unless told."


_declare_extremum("amax", "largest")
_declare_extremum("amin", "smallest")


def _count(x: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Any:
    """How many elements are not left out: a number, or a tensor."""
    if mask is not None:
        return _mask_of(x, mask).sum(_dims(dim, x.ndim), keepdim)
    return math.prod(x.shape[d] for d in _dims(dim, x.ndim)) if x.ndim else 1


@_masked(f"mean.masked(Tensor input, {_REDUCED}) -> Tensor")
def masked_mean(input, dim, *, keepdim, dtype, mask):
    """The mean of the elements where the mask is true."""
    kind = dtype or input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. Got: {kind}"
        )
    return _sum(input, dim, keepdim, kind, mask) / _count(input, dim, bool(keepdim), mask)


@_masked(f"median.masked(Tensor input, int dim=-1, *, bool keepdim=False, {_MASKED}) -> Tensor")
def masked_median(input, dim, *, keepdim, dtype, mask):
    """The median of the elements where the mask is true; NaN where there is none."""
    floating = input.dtype.is_floating_point
    (dim,) = _dims(dim, input.ndim)
    result = _replaced("median", input if floating else input.to(float32), mask).nanmedian(dim, keepdim).values
    if floating:
        return result
    if bool(result.isnan().any()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype or input.dtype)


@_masked(f"logsumexp.masked(Tensor input, Any dim=None, *, bool keepdim=False, {_MASKED}) -> Tensor")
def masked_logsumexp(input, dim, *, keepdim, dtype, mask):
    """The logarithm of the sum of the exponentials of the elements where the mask is true."""
    return _replaced("logsumexp", input, mask).logsumexp(_dims(dim, input.ndim), keepdim=keepdim).to(dtype or input.dtype)


@_masked(
    "logaddexp.masked(Tensor input, Tensor other, *, ScalarType? dtype=None, Tensor? input_mask=None, Tensor? other_mask=None) -> Tensor"
)
def masked_logaddexp(input, other, *, dtype, input_mask, other_mask):
    """``log(exp(input) + exp(other))``, without the elements where a mask is false."""
    left, right = _replaced("logaddexp", input, input_mask), _replaced("logaddexp", other, other_mask)
    return left.logaddexp(right).to(dtype or input.dtype)


def _norm(x: Tensor, ord: Any, dim: Any, keepdim: Any, dtype: Any, mask: Tensor | None) -> Tensor:
    replaced = _replaced("amin" if ord == -math.inf else "sum", x, mask)
    return vector_norm(replaced, ord, _dims(dim, x.ndim), bool(keepdim), dtype=dtype or x.dtype)


@_masked(f"norm.masked(Tensor input, Scalar? ord=2.0, {_REDUCED}) -> Tensor")
def masked_norm(input, ord, dim, *, keepdim, dtype, mask):
    """The norm of the vector of elements where the mask is true."""
    return _norm(input, ord, dim, keepdim, dtype, mask)


def _variance(x: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: Any, dtype: Any, mask: Tensor | None) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = float(correction if correction is not None else 1.0 if unbiased in (None, True) else 0.0)
    inexact = x.dtype.is_floating_point or x.dtype.is_complex
    kind = dtype or (x.dtype if inexact else float32)
    computed = kind if kind.is_floating_point or kind.is_complex else float32
    away = x - _sum(x, dim, True, kind, mask) / _count(x, dim, True, mask)
    total = _sum(away * away.conj(), dim, keepdim, computed, mask)
    count = _count(x, dim, bool(keepdim), mask)
    if less:
        count = (count.to(total.real.dtype) - less).clamp_min(0) if isinstance(count, Tensor) else max(count - less, 0.0)
    return (total / count).to(kind)


_VARIANCE = f"Any dim=None, bool? unbiased=None, *, Scalar? correction=None, bool? keepdim=False, {_MASKED}"


@_masked(f"var.masked(Tensor input, {_VARIANCE}) -> Tensor")
def masked_var(input, dim, unbiased, *, correction, keepdim, dtype, mask):
    """The variance of the elements where the mask is true."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@_masked(f"std.masked(Tensor input, {_VARIANCE}) -> Tensor")
def masked_std(input, dim, unbiased, *, correction, keepdim, dtype, mask):
    """The standard deviation of the elements where the mask is true."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


# ----------------------------------------------------------------------------------------------------------------- normalizations
@_masked(f"cumsum.masked(Tensor input, int dim, *, {_MASKED}) -> Tensor")
def masked_cumsum(input, dim, *, dtype, mask):
    """The sums of the elements so far where the mask is true."""
    kind = dtype or input.dtype
    return _replaced("sum", input, mask).cumsum(_dims(dim, input.ndim)[0], dtype=kind).to(kind)


@_masked(f"cumprod.masked(Tensor input, int dim, *, {_MASKED}) -> Tensor")
def masked_cumprod(input, dim, *, dtype, mask):
    """The products of the elements so far where the mask is true."""
    kind = dtype or input.dtype
    return _replaced("prod", input, mask).cumprod(_dims(dim, input.ndim)[0], dtype=kind).to(kind)


@_masked(f"softmax.masked(Tensor input, int dim, *, {_MASKED}) -> Tensor")
def masked_softmax(input, dim, *, dtype, mask):
    """The softmax over the elements where the mask is true, 0 elsewhere."""
    return _replaced("amax", input, mask).softmax(_dims(dim, input.ndim)[0], dtype=dtype or input.dtype)


@_masked(f"log_softmax.masked(Tensor input, int dim, *, {_MASKED}) -> Tensor")
def masked_log_softmax(input, dim, *, dtype, mask):
    """The logarithm of the softmax over the elements where the mask is true, -inf elsewhere."""
    return _replaced("amax", input, mask).log_softmax(_dims(dim, input.ndim)[0], dtype=dtype or input.dtype)


@_masked(f"softmin.masked(Tensor input, int dim, *, {_MASKED}) -> Tensor")
def masked_softmin(input, dim, *, dtype, mask):
    """The softmax of the negative elements where the mask is true, 0 elsewhere."""
    return (-_replaced("amin", input, mask)).softmax(_dims(dim, input.ndim)[0], dtype=dtype or input.dtype)


@_masked(f"normalize.masked(Tensor input, Scalar ord, int dim, *, float eps=1e-12, {_MASKED}) -> Tensor")
def masked_normalize(input, ord, dim, *, eps, dtype, mask):
    """The elements divided by the norm of those where the mask is true, 0 elsewhere."""
    norm = _norm(input, ord, dim, True, dtype, mask)
    return _replaced("sum", input, mask) / maximum(norm, norm.new_full((), eps))
