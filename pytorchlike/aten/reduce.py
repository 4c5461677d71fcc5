"""Reductions: sums, products, extrema, tests and variances.

Half-precision sums are accumulated in float32.  What sorts first (median, quantile) is in `sort.py`, norms in `vector_norm.py`.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core.dims import wrap_dim, wrap_dims
from ..dispatch.registry import FUNCTION, METHOD, OUT, Promote, op

_FORMS = FUNCTION | METHOD | OUT

#: What torch's error texts call a dtype.
_SCALAR_TYPES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def scalar_type(dtype) -> str:
    """The name torch's error texts give to a dtype (``Long`` for int64)."""
    name = np.dtype(dtype).name
    return _SCALAR_TYPES.get(name, name)


def is_integral(dtype) -> bool:
    """Whether it is an integer dtype or bool."""
    return jnp.issubdtype(dtype, jnp.integer) or dtype == np.bool_


def is_complex(dtype) -> bool:
    """Whether it is a complex dtype."""
    return jnp.issubdtype(dtype, jnp.complexfloating)


def widened(x):
    """Half precision as float32, everything else as it is: the dtype in which a reduction accumulates."""
    return x.astype(jnp.float32) if x.dtype.itemsize <= 2 and jnp.issubdtype(x.dtype, jnp.floating) else x


def restore(x, axes: tuple[int, ...], keepdim: bool):
    """The reduced dimensions put back with size 1, unless they were kept."""
    return x if keepdim else jnp.expand_dims(x, axes)


def spread(g, shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool):
    """The gradient of a sum: the result's gradient, repeated along the reduced dimensions."""
    return jnp.broadcast_to(restore(g, axes, keepdim), shape)


def one_axis(dim: int, ndim: int) -> tuple[int, ...]:
    """A single reduced dimension as axes; a 0-d tensor has none."""
    axis = wrap_dim(dim, ndim)
    return (axis,) if ndim else ()


def _total(x, axes, keepdim, dtype):
    kind = dtype.numpy if dtype is not None else np.dtype(np.int64) if is_integral(x.dtype) else x.dtype
    if kind == np.bool_:
        return jnp.any(x.astype(bool), axis=axes, keepdims=keepdim)
    return jnp.sum(widened(x.astype(kind)), axis=axes, keepdims=keepdim).astype(kind)


def _average(x, axes, keepdim, dtype):
    kind = x.dtype if dtype is None else dtype.numpy
    return jnp.mean(widened(x.astype(kind)), axis=axes, keepdims=keepdim).astype(kind)


def _product(x, axes, keepdim, dtype):
    kind = dtype.numpy if dtype is not None else np.dtype(np.int64) if is_integral(x.dtype) else x.dtype
    if kind == np.bool_:
        return jnp.all(x.astype(bool), axis=axes, keepdims=keepdim)
    return jnp.prod(widened(x.astype(kind)), axis=axes, keepdims=keepdim).astype(kind)


# ---------------------------------------------------------------------------------------------------------------- sums


@op("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")
def sum_all(self, dtype):
    """The sum of all elements; integers and bool are summed as int64."""
    return _total(self, None, False, dtype)


@sum_all.grad("self")
def _(g, self_meta):
    return jnp.broadcast_to(g, self_meta.shape)


@op("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", forms=_FORMS)
def sum_dims(self, dim, keepdim, dtype):
    """The sum over dimensions; no dimensions means all of them."""
    return _total(self, wrap_dims(dim, self.ndim), keepdim, dtype)


@sum_dims.grad("self")
def _(g, self_meta, dim, keepdim):
    return spread(g, self_meta.shape, wrap_dims(dim, self_meta.ndim), keepdim)


@op("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", forms=_FORMS)
def nansum(self, dim, keepdim, dtype):
    """The sum over dimensions in which NaN counts as zero."""
    return _total(jnp.where(jnp.isnan(self), 0, self), wrap_dims(dim, self.ndim), keepdim, dtype)


@nansum.grad("self")
def _(g, self, dim, keepdim):
    return spread(g, self.shape, wrap_dims(dim, self.ndim), keepdim) * jnp.logical_not(jnp.isnan(self))


@nansum.check
def _(self, dim, keepdim, dtype):
    if is_complex(self.dtype):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    wrap_dims(dim, self.ndim)


@op("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", forms=_FORMS)
def mean_all(self, dtype):
    """The average of all elements; NaN when there are none."""
    return _average(self, None, False, dtype)


@mean_all.grad("self")
def _(g, self_meta):
    return jnp.broadcast_to(g / max(self_meta.size, 1), self_meta.shape)


@op("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", forms=_FORMS)
def mean_dims(self, dim, keepdim, dtype):
    """The average over dimensions; no dimensions means all of them."""
    return _average(self, wrap_dims(dim, self.ndim), keepdim, dtype)


@mean_dims.grad("self")
def _(g, self_meta, dim, keepdim):
    axes = wrap_dims(dim, self_meta.ndim)
    return spread(g / max(math.prod(self_meta.shape[a] for a in axes), 1), self_meta.shape, axes, keepdim)


def _check_mean(self, dtype) -> None:
    kind = self.dtype if dtype is None else dtype.numpy
    if is_integral(kind):
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: {scalar_type(kind)}"
        )


@mean_all.check
def _(self, dtype):
    _check_mean(self, dtype)


@mean_dims.check
def _(self, dim, keepdim, dtype):
    _check_mean(self, dtype)
    wrap_dims(dim, self.ndim)


@op("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", forms=_FORMS)
def nanmean(self, dim, keepdim, dtype):
    """The average over dimensions of the elements that are not NaN."""
    axes = wrap_dims(dim, self.ndim)
    valid = jnp.logical_not(jnp.isnan(self))
    total = _total(jnp.where(valid, self, 0), axes, keepdim, dtype)
    return total / jnp.sum(valid, axis=axes, keepdims=keepdim).astype(total.dtype)


@nanmean.grad("self")
def _(g, self, dim, keepdim):
    axes = wrap_dims(dim, self.ndim)
    valid = jnp.logical_not(jnp.isnan(self))
    share = restore(g, axes, keepdim) / jnp.sum(valid, axis=axes, keepdims=True).astype(g.dtype)
    return jnp.where(valid, share, 0 * share)  # lanes of NaN only: 0 * inf, as in torch


@nanmean.check
def _(self, dim, keepdim, dtype):
    if is_integral(self.dtype):
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {scalar_type(self.dtype)}")
    wrap_dims(dim, self.ndim)


@op("trace(Tensor self) -> Tensor")
def trace(self):
    """The sum of a matrix's diagonal; integers are summed as int64."""
    return _total(jnp.diagonal(self), None, False, None)


@trace.grad("self")
def _(g, self_meta):
    return jnp.where(jnp.eye(self_meta.shape[0], self_meta.shape[1], dtype=bool), g, 0)


@trace.check
def _(self):
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype == np.bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")


@op("count_nonzero(Tensor self, int? dim=None) -> Tensor", differentiable=False)
def count_nonzero(self, dim):
    """How many elements are not zero (NaN is not), as int64."""
    return jnp.sum(self != 0, axis=None if dim is None else one_axis(dim, self.ndim), dtype=np.int64)


@op("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", differentiable=False)
def count_nonzero_dims(self, dim):
    """How many elements along some dimensions are not zero, as int64."""
    return jnp.sum(self != 0, axis=wrap_dims(dim, self.ndim), dtype=np.int64)


# ------------------------------------------------------------------------------------------------------------ products


def _product_of_others(x):
    """Along the last axis: for each element, the product of all the others (right also where there are zeros)."""
    ones = jnp.ones_like(x[..., :1])
    before = jnp.cumprod(jnp.concatenate([ones, x[..., :-1]], -1), -1)
    after = jnp.flip(jnp.cumprod(jnp.concatenate([ones, jnp.flip(x[..., 1:], -1)], -1), -1), -1)
    return before * after


@op("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor")
def prod_all(self, dtype):
    """The product of all elements; integers and bool are multiplied as int64.

    Grad: the product of the other elements, so zeros are no special case.
    """
    return _product(self, None, False, dtype)


@prod_all.grad("self")
def _(g, self):
    if self.size == 0:
        return jnp.zeros_like(self)
    others = _product_of_others(widened(self.astype(g.dtype)).reshape(-1)).reshape(self.shape)
    return g * others.conj()


@op("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", forms=_FORMS)
def prod_dim(self, dim, keepdim, dtype):
    """The product over one dimension."""
    return _product(self, one_axis(dim, self.ndim), keepdim, dtype)


@prod_dim.grad("self")
def _(g, self, dim, keepdim):
    axes = one_axis(dim, self.ndim)
    if self.size == 0 or not axes:
        return jnp.broadcast_to(g, self.shape)
    others = _product_of_others(jnp.moveaxis(widened(self.astype(g.dtype)), axes[0], -1))
    return restore(g, axes, keepdim) * jnp.moveaxis(others, -1, axes[0]).conj()


# ------------------------------------------------------------------------------------------------------------- extrema


def extremum(x, axes, keepdim, largest: bool):
    """The largest or smallest element over axes; NaN if there is one."""
    return (jnp.max if largest else jnp.min)(x, axis=axes, keepdims=keepdim)


def first_extremum(x, dim, keepdim, largest: bool):
    """Value and index of the first largest (or smallest) element; the first NaN if there is one."""
    if x.ndim == 0:
        return x, jnp.zeros((), np.int64)
    # The first place that holds the value: both passes are vectorised, unlike XLA's argmax (1024x1024, CPU: 0.7 ms against 4.8 ms, torch 0.7 ms).
    axis = wrap_dim(dim, x.ndim)
    value = extremum(x, (axis,), True, largest)
    kind = np.int32 if x.shape[axis] < 2**31 else np.int64
    places = lax.broadcasted_iota(kind, x.shape, axis)
    indices = jnp.min(jnp.where((x == value) | (x != x), places, kind(x.shape[axis] - 1)), axis=axis, keepdims=keepdim)
    return value if keepdim else jnp.squeeze(value, axis), indices.astype(np.int64)


def at_indices(g, indices, shape, dim, keepdim):
    """The gradient of a selection along one dimension, one element of each lane: ``g`` at the index, zero elsewhere."""
    if not shape:
        return g
    axis = wrap_dim(dim, len(shape))
    chosen = lax.broadcasted_iota(np.int64, shape, axis) == restore(indices, (axis,), keepdim)
    return jnp.where(chosen, restore(g, (axis,), keepdim), 0)


def evenly(g, x, value, axes, keepdim):
    """The gradient of a full or multi-dimensional extremum: shared evenly among the elements that reach it (NaN where none does)."""
    reached = x == restore(value, axes, keepdim)
    return restore(g, axes, keepdim) * reached / jnp.sum(reached, axis=axes, keepdims=True).astype(g.dtype)


def evenly_over_all(g, x, value):
    """`evenly` over all elements; a NaN value was reached by the NaNs."""
    reached = jnp.logical_or(x == value, jnp.logical_and(jnp.isnan(x), jnp.isnan(value)))
    return jnp.where(reached, g / jnp.sum(reached).astype(g.dtype), 0)


def check_not_empty(name: str, self, axes, error: str = "{name}(): Expected reduction dim {axis} to have non-zero size.") -> None:
    """Refuse to reduce an empty dimension by an operation that has no identity.

    Raises:
        IndexError: torch's text.
    """
    for axis in axes:
        if self.shape[axis] == 0:
            raise IndexError(error.format(name=name, axis=axis))


def _refuse_complex(self, kernel: str) -> None:
    if is_complex(self.dtype):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type(self.dtype)}'")


def _declare_extremum(name: str, largest: bool) -> None:
    word = "largest" if largest else "smallest"

    @op(f"{name}(Tensor self) -> Tensor", forms=_FORMS)
    def whole(self):
        return extremum(self, None, False, largest)

    whole.__doc__ = f"The {word} element; NaN if there is one.  Grad: shared evenly among ties."

    @whole.grad("self")
    def _(g, self, result):
        return evenly_over_all(g, self, result)

    @whole.check
    def _(self):
        if self.size == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        _refuse_complex(self, f"{name}_all")

    @op(f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", forms=_FORMS)
    def along(self, dim, keepdim):
        return first_extremum(self, dim, keepdim, largest)

    along.__doc__ = f"The {word} element along a dimension and the index of its first occurrence.  Grad: to that index only."

    @along.grad("self")
    def _(g, result1, self_meta, dim, keepdim):
        return at_indices(g[0], result1, self_meta.shape, dim, keepdim)

    @along.check
    def _(self, dim, keepdim):
        axes = one_axis(dim, self.ndim)
        if is_complex(self.dtype):
            raise RuntimeError(f"{name}(): does not support complex input")
        check_not_empty(name, self, axes)

    @op(f"{name}.other(Tensor self, Tensor other) -> Tensor", promote=Promote.DEFAULT, forms=_FORMS, numbers=())
    def other(self, other):
        return (jnp.maximum if largest else jnp.minimum)(self, other)

    other.__doc__ = f"The element-wise {word} of two tensors; NaN if either is.  Grad: halved at ties."

    def share(g, mine, theirs):
        wins = mine > theirs if largest else mine < theirs
        return jnp.where(mine == theirs, g / 2, jnp.where(wins | jnp.isnan(mine) | jnp.isnan(theirs), g, 0))

    @other.grad("self")
    def _(g, self, other):
        return share(g, self, other)

    @other.grad("other")
    def _(g, self, other):
        return share(g, other, self)

    @op(f"a{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", forms=_FORMS)
    def over(self, dim, keepdim):
        return extremum(self, wrap_dims(dim, self.ndim), keepdim, largest)

    over.__doc__ = f"The {word} element over dimensions (none means all); NaN if there is one.  Grad: shared evenly among ties."

    @over.grad("self")
    def _(g, self, result, dim, keepdim):
        axes = wrap_dims(dim, self.ndim)
        reached = self == restore(result, axes, keepdim)
        count = jnp.sum(reached, axis=axes, keepdims=True).astype(g.dtype)
        return restore(g, axes, keepdim) * reached / count  # NaN reaches nothing: 0 / 0, as in torch

    @over.check
    def _(self, dim, keepdim):
        axes = wrap_dims(dim, self.ndim)
        if self.size == 0 and not dim:
            raise RuntimeError(
                f"a{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        check_not_empty(f"a{name}", self, axes)
        _refuse_complex(self, f"{name}_values_cpu")

    @op(f"arg{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", forms=_FORMS, differentiable=False)
    def index(self, dim, keepdim):
        if dim is None:
            found = first_extremum(self.reshape(-1), 0, False, largest)[1]
            return found.reshape((1,) * self.ndim) if keepdim else found
        return first_extremum(self, dim, keepdim, largest)[1]

    index.__doc__ = f"The index of the first {word} element along a dimension, or in the flattened tensor."

    @index.check
    def _(self, dim, keepdim):
        axes = () if dim is None else one_axis(dim, self.ndim)
        if is_complex(self.dtype) or self.dtype == np.bool_:
            raise RuntimeError(f"arg{name}(): does not support {'bool' if self.dtype == np.bool_ else 'complex'} input")
        if self.size == 0 and dim is None:
            raise IndexError(f"arg{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        check_not_empty(f"arg{name}", self, axes)


_declare_extremum("max", True)
_declare_extremum("min", False)


@op("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", forms=_FORMS)
def aminmax(self, dim, keepdim):
    """The smallest and the largest element over one dimension or all; NaN if there is one.  Grad: shared evenly among ties."""
    axes = wrap_dims(None, self.ndim) if dim is None else one_axis(dim, self.ndim)
    return extremum(self, axes, keepdim, False), extremum(self, axes, keepdim, True)


@aminmax.grad("self")
def _(g, self, result0, result1, dim, keepdim):
    axes = wrap_dims(None, self.ndim) if dim is None else one_axis(dim, self.ndim)
    return evenly(g[0], self, result0, axes, keepdim) + evenly(g[1], self, result1, axes, keepdim)


@aminmax.check
def _(self, dim, keepdim):
    if dim is not None:
        check_not_empty("aminmax", self, one_axis(dim, self.ndim), "{name}: Expected reduction dim {axis} to have non-zero size.")
    elif self.size == 0:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    _refuse_complex(self, "aminmax_cpu")


# --------------------------------------------------------------------------------------------------------------- tests


def _declare_test(name: str, reduce) -> None:
    def tested(x, axes, keepdim):
        return reduce(x != 0, axis=axes, keepdims=keepdim).astype(np.uint8 if x.dtype == np.uint8 else np.bool_)

    @op(f"{name}(Tensor self) -> Tensor", forms=_FORMS, differentiable=False)
    def whole(self):
        return tested(self, None, False)

    @op(f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", forms=_FORMS, differentiable=False)
    def along(self, dim, keepdim):
        return tested(self, one_axis(dim, self.ndim), keepdim)

    @op(f"{name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", forms=_FORMS, differentiable=False)
    def over(self, dim, keepdim):
        axes = () if dim == () else wrap_dims(dim, self.ndim)  # an empty list reduces nothing here
        return tested(self, axes, keepdim)

    for declared in (whole, along, over):
        declared.__doc__ = f"Whether {name} elements are not zero (NaN is not); a bool, for uint8 a uint8."


_declare_test("all", jnp.all)
_declare_test("any", jnp.any)


# ----------------------------------------------------------------------------------------------------------- variances


def _moments(x, axes, correction, keepdim):
    """Variance and mean, in the dtype of ``x``."""
    wide = widened(x)
    mean = jnp.mean(wide, axis=axes, keepdims=True)
    centered = wide - mean
    squares = jnp.square(centered.real) + jnp.square(centered.imag) if is_complex(x.dtype) else jnp.square(centered)
    total = jnp.sum(squares, axis=axes, keepdims=keepdim)
    divisor = max(0, math.prod(x.shape[a] for a in axes) - (1 if correction is None else correction))
    real = jnp.finfo(x.dtype).dtype  # the variance of complex numbers is real
    return (total / divisor).astype(real), (mean if keepdim else jnp.squeeze(mean, axes)).astype(x.dtype)


def _variance_gradient(g, x, dim, correction, keepdim):
    wide, axes = widened(x), wrap_dims(dim, x.ndim)
    centered = wide - jnp.mean(wide, axis=axes, keepdims=True)
    divisor = math.prod(x.shape[a] for a in axes) - (1 if correction is None else correction)
    g = restore(g, axes, keepdim)
    if divisor <= 0 and not dim:  # over dimensions that were named, torch divides by what there is
        return g * jnp.where(centered == 0, jnp.nan, jnp.inf).astype(g.dtype)
    return (2 / divisor if divisor else math.inf) * g * centered


def _deviation_gradient(g, x, result, dim, correction, keepdim):
    safe = jnp.where(result == 0, 1, result)
    return _variance_gradient(jnp.where(result == 0, 0, g / (2 * safe)), x, dim, correction, keepdim)


def _mean_gradient(g, x, dim, keepdim):
    axes = wrap_dims(dim, x.ndim)
    return spread(g / max(math.prod(x.shape[a] for a in axes), 1), x.shape, axes, keepdim)


def _check_moments(self, dim) -> None:
    if is_integral(self.dtype):
        raise RuntimeError("std and var only support floating point and complex dtypes")
    wrap_dims(dim, self.ndim)


def _declare_moments(name: str, doc: str, returns: str, results, gradient) -> None:
    """Declare the three overloads of one of var, std, var_mean, std_mean.

    Args:
        results: variance, mean -> what the operator returns.
        gradient: g, self, the first result, dim, correction, keepdim -> the gradient.
    """

    @op(f"{name}(Tensor self, bool unbiased=True) -> {returns}", forms=_FORMS)
    def whole(self, unbiased):
        return results(*_moments(self, wrap_dims(None, self.ndim), int(unbiased), False))

    @whole.grad("self")
    def _(g, self, result, unbiased):
        return gradient(g, self, result, None, int(unbiased), False)

    @whole.check
    def _(self, unbiased):
        _check_moments(self, None)

    @op(f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {returns}", forms=_FORMS)
    def over(self, dim, unbiased, keepdim):
        return results(*_moments(self, wrap_dims(dim, self.ndim), int(unbiased), keepdim))

    @over.grad("self")
    def _(g, self, result, dim, unbiased, keepdim):
        return gradient(g, self, result, dim, int(unbiased), keepdim)

    @over.check
    def _(self, dim, unbiased, keepdim):
        _check_moments(self, dim)

    @op(
        f"{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> {returns}",
        forms=_FORMS,
        static=("correction",),
    )
    def corrected(self, dim, correction, keepdim):
        return results(*_moments(self, wrap_dims(dim, self.ndim), correction, keepdim))

    @corrected.grad("self")
    def _(g, self, result, dim, correction, keepdim):
        return gradient(g, self, result, dim, correction, keepdim)

    @corrected.check
    def _(self, dim, correction, keepdim):
        _check_moments(self, dim)

    for declared in (whole, over, corrected):
        declared.__doc__ = f"{doc} over dimensions, divided by their size less the correction (1 unless told)."


def _root(variance):
    return jnp.sqrt(variance)


_declare_moments(
    "var", "The variance", "Tensor", lambda variance, mean: variance, lambda g, x, result, *rest: _variance_gradient(g, x, *rest)
)
_declare_moments("std", "The standard deviation", "Tensor", lambda variance, mean: _root(variance), _deviation_gradient)
_declare_moments(
    "var_mean", "The variance and the mean", "(Tensor, Tensor)", lambda variance, mean: (variance, mean),
    lambda g, x, result, dim, correction, keepdim: (
        _variance_gradient(g[0], x, dim, correction, keepdim) + _mean_gradient(g[1], x, dim, keepdim)
    ),
)  # fmt: skip
_declare_moments(
    "std_mean", "The standard deviation and the mean", "(Tensor, Tensor)", lambda variance, mean: (_root(variance), mean),
    lambda g, x, result, dim, correction, keepdim: (
        _deviation_gradient(g[0], x, result, dim, correction, keepdim) + _mean_gradient(g[1], x, dim, keepdim)
    ),
)  # fmt: skip
