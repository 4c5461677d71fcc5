"""What arithmetic, reductions and softmax do with sparse tensors."""

from __future__ import annotations

from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from ..core.layouts import sparse_coo, strided
from ..dispatch.registry import lookup, op
from ..tensors.tensor import Tensor
from .sparse_convert import as_coo, coalesced, dense, matched, places_of, restored, taken
from .sparse_tensor import (
    IMPLEMENTATIONS,
    SparseTensor,
    become,
    coo,
    host,
    index_tensor,
    like,
    linear_index,
    not_implemented,
    sparse,
    sum_duplicates,
    unravelled,
)  # fmt: skip

__all__ = ["reduced", "softmax_of"]


# ---------------------------------------------------------------------------------------------------------------- one operand
#: Functions that map zero to zero: they act on the values.  Those of the second line are linear, so that duplicates may stay.
_ZERO_STAYS = (
    "abs absolute arcsin arcsinh arctan arctanh asin asinh atan atanh ceil deg2rad erf erfinv expm1 fix floor frac isinf isnan isneginf isposinf "
    "log1p nan_to_num rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc angle threshold"
).split()
_LINEAR = "neg negative positive conj conj_physical real imag resolve_conj resolve_neg".split()


def _unary(name: str, is_linear: bool) -> None:
    @sparse(name)
    def apply(input: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
        on = input if is_linear or input._kind is not sparse_coo else coalesced(input)
        return like(on, getattr(on._elements, name)(*args, **kwargs))


for _name in _ZERO_STAYS:
    _unary(_name, False)
for _name in _LINEAR:
    _unary(_name, True)


@sparse("pow", "__pow__", "float_power")
def _pow(input: SparseTensor, exponent: Any) -> Tensor:
    if isinstance(input, SparseTensor) and not isinstance(exponent, Tensor):
        if exponent == 0:
            raise RuntimeError("pow: 0-th power is not supported, as it would be dense")
        on = input if input._kind is not sparse_coo else coalesced(input)
        return like(on, on._elements**exponent)
    not_implemented("pow", (input, exponent))


# ---------------------------------------------------------------------------------------------------------------- two operands
_ADD_DENSE = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


def _same_places(a: SparseTensor, b: SparseTensor) -> bool:
    return a._kind is b._kind and all(x is y for x, y in zip(a._index, b._index))


def _same_size(name: str, a: Any, b: Any) -> None:
    if a.shape != b.shape:
        raise RuntimeError(f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")


@sparse("add", "__radd__")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """The sum: of sparse tensors sparse, of a dense and a sparse one dense."""
    if not isinstance(input, SparseTensor):
        if not isinstance(input, Tensor):
            raise RuntimeError(_ADD_DENSE)
        return input.add(dense(other), alpha=alpha)
    if not isinstance(other, SparseTensor):
        if isinstance(other, Tensor) and other.ndim and input._kind is not sparse_coo:
            return other.add(dense(input)) if alpha == 1 else dense(input).add(other, alpha=alpha)
        raise RuntimeError(_ADD_DENSE)
    _same_size("add", input, other)
    if _same_places(input, other):
        return like(input, input._elements.add(other._elements, alpha=alpha))
    a, b = as_coo(input), as_coo(other)
    if a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same sparse_dim, but {a.sparse_dim()} != {b.sparse_dim()}"
        )
    values = b._elements if alpha == 1 else b._elements * alpha
    cat = lookup("cat")
    joined = coo(cat([a._index[0], b._index[0]], 1), cat([a._elements, values]), a._size)
    if a._coalesced and b._coalesced:
        joined = coalesced(joined)
    return restored(joined, input)


@sparse("sub", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """The difference, as `add`."""
    return add(input, other, alpha=-alpha)


@sparse("rsub", "__rsub__")
def _rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    if isinstance(other, Tensor):
        return add(other, input, alpha=-alpha)
    raise RuntimeError(_ADD_DENSE)


def _is_number(other: Any) -> bool:
    return not isinstance(other, Tensor) or not isinstance(other, SparseTensor) and other.ndim == 0


@sparse("mul", "multiply", "__rmul__")
def mul(input: Any, other: Any) -> Tensor:
    """The product: sparse wherever an operand is."""
    if not isinstance(input, SparseTensor):
        return mul(other, input)
    if _is_number(other):
        return like(input, input._elements * other)
    if not isinstance(other, SparseTensor):
        at = as_coo(input)
        values = at._elements * taken(other.expand(input.shape), at._index[0]) if at.sparse_dim() else at._elements * other
        return like(input, values) if input._kind is sparse_coo else restored(coo(at._index[0], values, at._size, at._coalesced), input)
    _same_size("mul", input, other)
    if _same_places(input, other) and (input._kind is not sparse_coo or input._coalesced):
        return like(input, input._elements * other._elements)
    a, b = places_of(input), places_of(other)
    mine, theirs = linear_index(a), linear_index(b)
    both = np.flatnonzero(np.isin(mine, theirs))
    indices = index_tensor(host(a._index[0])[:, both], a.device)
    values = a._elements.index_select(0, index_tensor(both, a.device)) * matched(b, mine[both])
    return restored(coo(indices, values, a._size, True), input)


@sparse("div", "divide", "true_divide")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """A sparse tensor over a number."""
    return _divided(input, other, "div", rounding_mode)


def _divided(input: Any, other: Any, name: str, rounding_mode: str | None) -> Tensor:
    if not isinstance(input, SparseTensor) or isinstance(other, Tensor) and (isinstance(other, SparseTensor) or other.ndim):
        shape = list(other.shape) if isinstance(other, Tensor) else []
        raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)")
    on = input if rounding_mode is None or input._kind is not sparse_coo else coalesced(input)
    return like(on, on._elements.div(other, rounding_mode=rounding_mode))


@sparse("floor_divide", "__floordiv__")
def _floor_divide(input: Any, other: Any) -> Tensor:
    return _divided(input, other, "floor_divide", "floor")


@sparse("__rtruediv__", "__rdiv__", "reciprocal")
def _reciprocal(input: Any, *other: Any) -> NoReturn:
    not_implemented("reciprocal", (input,))


# ---------------------------------------------------------------------------------------------------------------- reductions
def reduced(input: SparseTensor, dims: Any, dtype: Any = None, keepdim: bool = False) -> Tensor:
    """The sum over dimensions; dense if no sparse dimension is left."""
    values, indexed = input._elements if dtype is None else input._elements.to(dtype), input.sparse_dim()
    if dims is None or dims in ((), []):
        dims = range(input.ndim)
    elif isinstance(dims, int):
        dims = (dims,)
    gone = sorted({d % input.ndim for d in dims}) if input.ndim else []
    over_values = [d - indexed + 1 for d in gone if d >= indexed]
    if over_values:
        values = values.sum(over_values, keepdim=keepdim)
    left = [d for d in range(indexed) if d not in gone]
    if not left:
        total = values.sum(0)
        return total.reshape([1] * indexed + list(total.shape)) if keepdim else total
    numbers = linear_index(input, left)
    unique, inverse = np.unique(numbers, return_inverse=True)
    places = unravelled(unique, [input._size[d] for d in left])
    values = sum_duplicates(values, inverse, len(unique))
    if keepdim:
        whole = np.zeros((indexed, len(unique)), np.int64)
        whole[left] = places
        size = [1 if d in gone else n for d, n in enumerate(input._size)]
        return coo(index_tensor(whole, input.device), values, size, True)
    size = [n for d, n in enumerate(input._size) if d not in gone]
    return coo(index_tensor(places, input.device), values, size, True)


@sparse("sum")
def _sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if input._kind is not sparse_coo:
        if dim is None or dim in ((), []):
            return input._elements.sum(dtype=dtype)
        if not keepdim:
            raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
        return restored(reduced(as_coo(input), dim, dtype, True), input)  # type: ignore[arg-type]
    if dim is None or dim in ((), []):
        return input._elements.sum(dtype=dtype)
    return reduced(input, dim, dtype, keepdim)


@sparse("any")
def _any(input: SparseTensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        not_implemented("any.dim", (input,))
    return input._elements.any()


@sparse("norm", "native_norm")
def _norm(input: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if dim is not None and (not isinstance(dim, (list, tuple)) or len(dim) != input.ndim):
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input")
    values = places_of(input)._elements
    return values.reshape(-1).norm(2 if p == "fro" else p, dtype=dtype)


# ---------------------------------------------------------------------------------------------------------------- softmax
@op("_sparse_softmax.grouped(Tensor values, Tensor groups, int count, bool log) -> Tensor", namespaces=())
def _softmax(values, groups, count, log):
    """Softmax (or its logarithm) over the values of the same group."""
    shifted = values - jax.lax.stop_gradient(jax.ops.segment_max(values, groups, count))[groups]
    powers = jnp.exp(shifted)
    total = jax.ops.segment_sum(powers, groups, count)[groups]
    return shifted - jnp.log(total) if log else powers / total


@_softmax.grad("values")
def _(g, result, groups, count, log):
    if log:
        return g - jnp.exp(result) * jax.ops.segment_sum(g, groups, count)[groups]
    return result * (g - jax.ops.segment_sum(g * result, groups, count)[groups])


def softmax_of(input: SparseTensor, dim: int, dtype: Any, log: bool) -> Tensor:
    """Softmax along a dimension, where what is not specified counts as minus infinity."""
    found = coalesced(input)
    values = found._elements if dtype is None else found._elements.to(dtype)
    dim, indexed = dim % max(found.ndim, 1), found.sparse_dim()
    if dim >= indexed:
        along = dim - indexed + 1
        return like(found, values.log_softmax(along) if log else values.softmax(along))
    rest = [d for d in range(indexed) if d != dim]
    numbers = linear_index(found, rest) if rest else np.zeros(found._nnz(), np.int64)
    unique, inverse = np.unique(numbers, return_inverse=True)
    return like(found, _softmax(values, index_tensor(inverse, found.device), max(len(unique), 1), log))


IMPLEMENTATIONS["_sparse_softmax"] = lambda input, dim, dtype=None: softmax_of(input, dim, dtype, False)
IMPLEMENTATIONS["_sparse_log_softmax"] = lambda input, dim, dtype=None: softmax_of(input, dim, dtype, True)


# ---------------------------------------------------------------------------------------------------------------- in place
@sparse("zero_")
def _zero_(input: SparseTensor) -> Tensor:
    return become(input, _empty(input, input.shape))


def _empty(input: SparseTensor, size: Any, dtype: Any = None, device: Any = None) -> SparseTensor:
    """No elements, in the layout of a tensor."""
    dtype = dtype or input.dtype
    indexed = input.sparse_dim() if len(size) == input.ndim else len(size)
    zeros = lookup("zeros")
    where = device or input.device
    places = zeros((indexed, 0), dtype=input._index[0].dtype, device=where)
    found = coo(places, zeros((0, *size[indexed:]), dtype=dtype, device=where), size, True)
    return restored(found, input)


@sparse("zeros_like", "empty_like")
def _zeros_like(input: SparseTensor, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = False,
                requires_grad: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    if layout is not None and layout is not input._kind:
        return lookup("zeros")(tuple(input.shape), dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)
    return _empty(input, input.shape, dtype, device).requires_grad_(requires_grad)


@sparse("ones_like", "full_like", "rand_like", "randn_like", "randint_like")
def _filled_like(input: SparseTensor, *args: Any, layout: Any = None, **kwargs: Any) -> Tensor:
    if layout is None or layout is not strided:
        not_implemented("fill_.Scalar", (input,))
    raise NotImplementedError("a dense tensor like a sparse one: make it with torch.ones(x.shape) and the like")


@sparse("new_zeros", "new_empty")
def _new_zeros(input: SparseTensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **rest: Any) -> Tensor:
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return _empty(input, tuple(shape), dtype, device).requires_grad_(requires_grad)


@sparse("copy_")
def _copy_(input: Any, other: Any, non_blocking: bool = False) -> Tensor:
    if not isinstance(input, SparseTensor) or not isinstance(other, SparseTensor):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{input.type()} and src type = {other.type()}")  # fmt: skip
    found = other.to(dtype=input.dtype, device=input.device)
    return become(input, found.clone() if found is other else found)

