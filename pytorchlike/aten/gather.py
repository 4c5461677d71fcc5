"""An index for every element: gather, scatter and scatter's reductions; a gather's gradient is a scatter-add and the other way round.

Positions outside the tensor are reported by data checks; the values they lead to are unspecified but in bounds.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..core.dims import wrap_dim
from ..core.dtype import from_numpy
from ..core.promotion import scalar_type_name
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, op
from .shape import listed

#: From this many indices on, those out of bounds are searched for by `first_of`.
_MANY_INDICES = 4096

OUT_OF_BOUNDS = "index {} is out of bounds for dimension {} with size {}"


def outside(index, size, negative: bool = False):
    """True where an index does not lie in ``[0, size)``, or in ``[-size, size)`` when negative ones count from the end."""
    return (index < (-size if negative else 0)) | (index >= size)


def outside_along(self, dim: int, index, negative: bool = False):
    """What a data check with the text `OUT_OF_BOUNDS` returns for an index along a dimension."""
    size = size_along(self, dim)
    bad, index = first_of(outside(index, size, negative), index)
    return bad, index, wrap_dim(dim, self.ndim), size


def first_of(bad, index):
    """The first bad index and whether there is one, of large arrays in a program; other arrays as they are.

    A minimum over places is vectorised, unlike the argmax that a verdict takes: gather of 1024x512 indices 1.4 -> 0.5 ms (torch 0.35 ms).
    """
    if not isinstance(bad, jax.core.Tracer) or bad.size < _MANY_INDICES:
        return bad, index
    bad, index = bad.reshape(-1), index.reshape(-1)
    place = jnp.min(jnp.where(bad, jax.lax.iota(np.int32, bad.size), bad.size - 1))
    return bad[place], index[place]


def type_name(array) -> str:
    """torch's C++ name of an array's dtype, as its errors give it."""
    return scalar_type_name(from_numpy(array.dtype))


def is_index(array, *names: str) -> bool:
    """Whether an array has one of these dtypes: those that may index, where none is named."""
    return array.dtype.name in (names or ("int32", "int64"))


def size_along(array, dim: int) -> int:
    """The size along a dimension; 1 for a 0-d array."""
    return array.shape[wrap_dim(dim, array.ndim)] if array.ndim else 1


def cast(value, like):
    """A number as an array of the tensor's dtype (torch truncates a float written into integers)."""
    return jnp.asarray(value).astype(like.dtype)


def way_of(array, reduce: str):
    """The update method of ``array.at[...]`` for a reduction; on bool, ``add`` is or and ``multiply`` is and."""
    if array.dtype == jnp.bool_:
        reduce = {"add": "max", "multiply": "min"}.get(reduce, reduce)
    return reduce


def _positions(index, dim: int) -> tuple:
    """What to index with so that ``index`` counts along ``dim`` and every other dimension is walked in step."""
    return tuple(index if d == dim else jax.lax.broadcasted_iota(index.dtype, index.shape, d) for d in range(index.ndim))


def gathered(array, dim: int, index):
    """``array[..., index[i, j], ...]`` with the shape of ``index``, which may be smaller along the other dims."""
    if index.size == 0:
        return jnp.zeros(index.shape, array.dtype)
    shape = index.shape
    array, index = jnp.atleast_1d(array), jnp.atleast_1d(index)
    dim = wrap_dim(dim, array.ndim)
    array = array[tuple(slice(None) if d == dim else slice(size) for d, size in enumerate(index.shape))]
    return jnp.take_along_axis(array, index, axis=dim, mode="clip").reshape(shape)


def scattered(array, dim: int, index, source, reduce: str = "set"):
    """``array`` with ``source`` written, or reduced into, the places that `_gather` would read."""
    if index.size == 0:
        return array
    shape = array.shape
    array, index, source = jnp.atleast_1d(array), jnp.atleast_1d(index), jnp.asarray(source)
    if source.ndim:
        source = source[tuple(slice(size) for size in index.shape)]
    at = array.at[_positions(index, wrap_dim(dim, array.ndim))]
    return getattr(at, way_of(array, reduce))(source).reshape(shape)


def _gather_for(source_meta, g, dim: int, index):
    """The gradient of a scatter's source: what lies beyond the index was not read."""
    return _padded(gathered(g, dim, index), source_meta.shape)


def _padded(taken, shape: tuple[int, ...]):
    """Zeros behind an array so that it has a shape; one without dimensions counts as a vector."""
    taken = jnp.atleast_1d(taken)
    missing = [(0, size - got) for size, got in zip(shape or (1,), taken.shape, strict=True)]
    return jnp.pad(taken, missing).reshape(shape)


def _check_index(self, dim, index, function: str, other: str) -> int:
    dim = wrap_dim(dim, self.ndim)
    if math.prod(index.shape) and not is_index(index):
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")
    if math.prod(index.shape) and max(index.ndim, 1) != max(self.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {other} tensor")
    return dim


def _larger(index, other, dim: int | None) -> bool:
    """Whether the index is larger than the other tensor along some dimension but ``dim``."""
    return any(i > s for d, (i, s) in enumerate(zip(index.shape or (1,), other.shape or (1,))) if d != dim)


@op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", forms=FUNCTION | METHOD | OUT)
def gather(self, dim, index, sparse_grad):
    """Elements along ``dim`` at the positions in ``index``; the result has the shape of ``index``."""
    return gathered(self, dim, index)


@gather.grad("self")
def _(g, self_meta, dim, index):
    return scattered(jnp.zeros(self_meta.shape, g.dtype), dim, index, g, "add")


@gather.check
def _(self, dim, index, sparse_grad):
    dim = _check_index(self, dim, index, "gather", "input")
    if math.prod(index.shape) and _larger(index, self, dim):
        raise RuntimeError(
            f"Size does not match at dimension {_larger_dim(index, self, dim)} expected index "
            f"{listed(index.shape)} to be no larger than self {listed(self.shape)} apart from dimension {dim}"
        )


def _larger_dim(index, other, dim: int) -> int:
    return next(d for d, (i, s) in enumerate(zip(index.shape, other.shape)) if d != dim and i > s)


@gather.data_check(RuntimeError, OUT_OF_BOUNDS)
def _(self_meta, dim, index):
    return outside_along(self_meta, dim, index)


def _check_scatter(self, dim, index, source=None) -> None:
    dim = _check_index(self, dim, index, "scatter", "self")
    if source is not None and source.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if math.prod(index.shape) == 0:
        return
    if source is None:
        if _larger(index, self, dim):
            raise RuntimeError(
                f"Expected index {listed(index.shape)} to be no larger than self {listed(self.shape)} apart from dimension {dim}"
            )
        return
    if max(index.ndim, 1) != max(source.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if _larger(index, self, dim) or _larger(index, source, None):
        raise RuntimeError(
            f"Expected index {listed(index.shape)} to be no larger than self {listed(self.shape)} apart from dimension {dim} and to be no "
            f"larger size than src {listed(source.shape)}"
        )


def check_value(self, value) -> None:
    """Refuse a complex number that is to be written into a real tensor."""
    if jnp.issubdtype(getattr(value, "dtype", type(value)), jnp.complexfloating) and not jnp.issubdtype(self.dtype, jnp.complexfloating):
        raise RuntimeError(f"value cannot be converted to type {C_NAMES.get(self.dtype.name, self.dtype.name)} without overflow")


#: What torch calls the element types where it reports that a number does not fit.
C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "uint8": "uint8_t",
            "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t"}  # fmt: skip


@op("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", forms=ALL_FORMS)
def scatter(self, dim, index, src):
    """``self`` with the elements of ``src`` written at the positions in ``index`` along ``dim``."""
    return scattered(self, dim, index, src)


@scatter.grad("self")
def _(g, dim, index):
    return scattered(g, dim, index, jnp.zeros((), g.dtype))


@scatter.grad("src")
def _(g, dim, index, src_meta):
    return _gather_for(src_meta, g, dim, index)


@scatter.check
def _(self, dim, index, src):
    _check_scatter(self, dim, index, src)


@op("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", forms=ALL_FORMS)
def scatter_value(self, dim, index, value):
    """``self`` with a number written at the positions in ``index`` along ``dim``."""
    return scattered(self, dim, index, cast(value, self))


@scatter_value.grad("self")
def _(g, dim, index):
    return scattered(g, dim, index, jnp.zeros((), g.dtype))


@scatter_value.check
def _(self, dim, index, value):
    _check_scatter(self, dim, index)
    check_value(self, value)


def _check_multiply(reduce: str) -> None:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")


@op("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", forms=ALL_FORMS)
def scatter_with(self, dim, index, src, reduce):
    """``self`` with the elements of ``src`` added to, or multiplied into, the positions in ``index`` along ``dim``."""
    return scattered(self, dim, index, src, reduce)


@scatter_with.check
def _(self, dim, index, src, reduce):
    _check_multiply(reduce)
    _check_scatter(self, dim, index, src)


@op("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", forms=ALL_FORMS)
def scatter_value_with(self, dim, index, value, reduce):
    """``self`` with a number added to, or multiplied into, the positions in ``index`` along ``dim``."""
    return scattered(self, dim, index, cast(value, self), reduce)


@scatter_value_with.check
def _(self, dim, index, value, reduce):
    _check_multiply(reduce)
    _check_scatter(self, dim, index)
    check_value(self, value)


@op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", forms=ALL_FORMS)
def scatter_add(self, dim, index, src):
    """``self`` with the elements of ``src`` added at the positions in ``index`` along ``dim``."""
    return scattered(self, dim, index, src, "add")


@scatter_add.grad("self")
def _(g):
    return g


@scatter_add.grad("src")
def _(g, dim, index, src_meta):
    return _gather_for(src_meta, g, dim, index)


@scatter_add.check
def _(self, dim, index, src):
    _check_scatter(self, dim, index, src)


for _declared in (scatter_value, scatter, scatter_with, scatter_value_with, scatter_add):
    _declared.data_check(RuntimeError, OUT_OF_BOUNDS)(lambda self_meta, dim, index: outside_along(self_meta, dim, index))

_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "max", "amin": "min"}


def _neutral(reduce: str, dtype: np.dtype):
    """The value that changes nothing in a reduction."""
    if reduce in ("sum", "mean"):
        return jnp.zeros((), dtype)
    if reduce == "prod":
        return jnp.ones((), dtype)
    if dtype == jnp.bool_:
        return jnp.asarray(reduce == "amin")
    if jnp.issubdtype(dtype, jnp.integer):
        limits = jnp.iinfo(dtype)
        return jnp.asarray(limits.min if reduce == "amax" else limits.max, dtype)
    return jnp.asarray(-jnp.inf if reduce == "amax" else jnp.inf, dtype)


def _counts(like, dim: int, index, include_self: bool):
    """How many values met at each place, at least 1."""
    ones = jnp.ones((), like.dtype)
    count = jnp.full(like.shape, 1 if include_self else 0, like.dtype)
    return jnp.maximum(_real(scattered(count, dim, index, ones, "add")), 1)


def _real(array):
    return array.real if jnp.iscomplexobj(array) else array


def _base(self, dim, index, reduce, include_self):
    """What the values are reduced into."""
    return self if include_self else scattered(self, dim, index, _neutral(reduce, self.dtype))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _product(base, dim, index, src):
    """``base`` times the elements of ``src`` that share a place; JAX has no derivative of this where they do."""
    return scattered(base, dim, index, src, "multiply")


@_product.defjvp
def _(dim, primals, tangents):
    (base, index, src), (base_tangent, _, src_tangent) = primals, tangents
    result = _product(base, dim, index, src)
    moved = scattered(jnp.zeros_like(result), dim, index, _without_each(base, dim, index, src, result) * src_tangent, "add")
    return result, _without_base(base, dim, index, src) * base_tangent + moved


def _without_base(base, dim, index, src):
    """The products without the element of ``base``."""
    filled = jnp.where(base == 0, 1, base)
    return _product(filled, dim, index, src) / filled


def _without_each(base, dim, index, src, result):
    """For each element of ``src``, the product without it."""
    zero = src == 0
    zeros_met = _gather_for(src, scattered(jnp.zeros(base.shape, jnp.int32), dim, index, zero.astype(jnp.int32), "add"), dim, index)
    only_zero = zero & (zeros_met == 1)
    without_it = _product(base, dim, index, jnp.where(only_zero, 1, src))
    return jnp.where(only_zero, _gather_for(src, without_it, dim, index), _gather_for(src, result, dim, index) / jnp.where(zero, 1, src))


def _scatter_reduce(self, dim, index, src, reduce, include_self):
    base = _base(self, dim, index, reduce, include_self)
    if reduce == "prod" and jnp.issubdtype(self.dtype, jnp.inexact):
        return _product(base, dim, index, src)
    result = scattered(base, dim, index, src, _REDUCTIONS[reduce])
    if reduce != "mean":
        return result
    # integers count in their own dtype and round down, as torch does
    count = _counts(self, dim, index, include_self)
    return (result // count if jnp.issubdtype(self.dtype, jnp.integer) else result / count).astype(self.dtype)


@op(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    forms=ALL_FORMS,
)
def scatter_reduce(self, dim, index, src, reduce, include_self):
    """The elements of ``src`` that share a place, and that of ``self`` if it is included, reduced; other places stay as they are.

    Grad: of amax and amin, shared evenly by all elements that equal the result.
    """
    return _scatter_reduce(self, dim, index, src, reduce, include_self)


def _extremum_share(g, self, dim, index, src, result):
    """The gradient of amax or amin, divided by the number of elements that equal the result."""
    own = (self == result).astype(g.dtype)
    equal = (jnp.atleast_1d(src)[tuple(slice(s) for s in index.shape)] == gathered(result, dim, index)).astype(g.dtype)
    return g / scattered(own, dim, index, equal, "add"), own, equal


@scatter_reduce.grad("self")
def _(g, self, dim, index, src, reduce, include_self, result):
    if reduce == "mean":
        g = g / _counts(g, dim, index, include_self)
    elif reduce == "prod":
        g = g * jnp.conj(_without_base(_base(self, dim, index, reduce, include_self), dim, index, src))
    elif reduce in ("amax", "amin"):
        share, own, _ = _extremum_share(g, self, dim, jnp.atleast_1d(index), src, result)
        g = share * own
    return g if include_self else scattered(g, dim, index, jnp.zeros((), g.dtype))


@scatter_reduce.grad("src")
def _(g, self, dim, index, src, reduce, include_self, result):
    if reduce == "sum":
        return _gather_for(src, g, dim, index)
    if reduce == "mean":
        return _gather_for(src, g / _counts(g, dim, index, include_self), dim, index)
    if reduce == "prod":
        others = _without_each(_base(self, dim, index, reduce, include_self), dim, index, src, result)
        return _gather_for(src, g, dim, index) * jnp.conj(others)
    index = jnp.atleast_1d(index)
    share, _, equal = _extremum_share(g, self, dim, index, src, result)
    return _padded(gathered(share, dim, index) * equal, src.shape)


@scatter_reduce.check
def _(self, dim, index, src, reduce, include_self):
    wrap_dim(dim, self.ndim)
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _check_scatter(self, dim, index, src)
    without_order = reduce in ("amax", "amin") and jnp.issubdtype(self.dtype, jnp.complexfloating)
    if without_order or (reduce == "mean" and self.dtype == jnp.bool_):
        raise NotImplementedError(f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{type_name(self)}'")


@scatter_reduce.data_check(RuntimeError, OUT_OF_BOUNDS)
def _(self_meta, dim, index):
    return outside_along(self_meta, dim, index)
