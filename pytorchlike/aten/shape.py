"""Joining, repeating, turning and stacking tensors, and matrices made of diagonals; the results are copies unless said otherwise."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ..core.dims import wrap_dim, wrap_dims
from ..core.dtype import from_numpy, int32, int64
from ..core.promotion import promote_types, scalar_type_name
from ..dispatch.registry import ALL_FORMS, FUNCTION, METHOD, OUT, composite, op


def common_dtype(arrays: Sequence) -> np.dtype:
    """The promoted numpy dtype of arrays that all count alike, whatever their number of dimensions (`cat`, `stack`, `block_diag`)."""
    found = from_numpy(arrays[0].dtype)
    for array in arrays[1:]:
        found = promote_types(found, from_numpy(array.dtype))
    return found.numpy


def listed(shape: Sequence[int]) -> str:
    """A shape as torch's error texts print it: ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which all of them broadcast.

    Raises:
        RuntimeError: two sizes differ and neither is 1, torch's text.
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        ndim = max(len(result), len(shape))
        a, b = ((1,) * (ndim - len(s)) + tuple(s) for s in (result, shape))
        for dim, (x, y) in enumerate(zip(a, b)):
            if x != y and 1 not in (x, y):
                raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}")
        result = tuple(y if x == 1 else x for x, y in zip(a, b))
    return result


# --- joining ---------------------------------------------------------------------------------------------------------------------------


def _is_skipped(array) -> bool:
    """torch lets a 1-d tensor without elements stand in `cat` beside tensors of any shape."""
    return array.shape == (0,)


@op("cat(Tensor[] tensors, int dim=0) -> Tensor", forms=FUNCTION | OUT, aliases=("concat", "concatenate"))
def cat(tensors, dim):
    """The tensors joined along an existing dimension, in their common dtype; 1-d tensors without elements only lend their dtype."""
    dtype = common_dtype(tensors)
    joined = [t.astype(dtype) for t in tensors if not _is_skipped(t)]
    return jnp.concatenate(joined, axis=wrap_dim(dim, joined[0].ndim)) if joined else jnp.zeros((0,), dtype)


@cat.grad("tensors")
def _(g, tensors_meta, dim):
    dim = dim % g.ndim
    parts, start = [], 0
    for meta in tensors_meta:
        if _is_skipped(meta):
            parts.append(jnp.zeros(meta.shape, g.dtype))
            continue
        parts.append(jax.lax.slice_in_dim(g, start, start + meta.shape[dim], axis=dim))
        start += meta.shape[dim]
    return parts


@cat.check
def _(tensors, dim):
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, tensor in enumerate(tensors):
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    common_dtype(tensors)
    first = next((t for t in tensors if not _is_skipped(t)), None)
    if first is None:
        return
    dim = wrap_dim(dim, first.ndim)
    for position, tensor in enumerate(tensors):
        if _is_skipped(tensor):
            continue
        if tensor.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}")
        for d, (expected, got) in enumerate(zip(first.shape, tensor.shape)):
            if d != dim and expected != got:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} but got size {got} for tensor "
                    f"number {position} in the list."
                )


@op("stack(Tensor[] tensors, int dim=0) -> Tensor", forms=FUNCTION | OUT)
def stack(tensors, dim):
    """The tensors, all of one shape, joined along a new dimension in their common dtype."""
    dtype = common_dtype(tensors)
    return jnp.stack([t.astype(dtype) for t in tensors], axis=wrap_dim(dim, tensors[0].ndim + 1))


@stack.grad("tensors")
def _(g, tensors_meta, dim):
    return [jax.lax.index_in_dim(g, i, axis=wrap_dim(dim, g.ndim), keepdims=False) for i in range(len(tensors_meta))]


@stack.check
def _(tensors, dim):
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    wrap_dim(dim, tensors[0].ndim + 1)
    for entry, tensor in enumerate(tensors):
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {listed(tensors[0].shape)} at entry 0 and {listed(tensor.shape)} "
                f"at entry {entry}"
            )
    common_dtype(tensors)


def _require_tensors(tensors, function: str) -> None:
    if not len(tensors):
        raise RuntimeError(f"{function} expects a non-empty TensorList")


@composite("hstack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", forms=FUNCTION)
def hstack(tensors, out):
    """The tensors joined along dimension 1; 1-d ones along dimension 0."""
    _require_tensors(tensors, "hstack")
    tensors = [_at_least_1d(t) for t in tensors]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1, out=out)


@composite("vstack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", forms=FUNCTION, aliases=("row_stack",))
def vstack(tensors, out):
    """The tensors joined along dimension 0; 1-d ones as rows."""
    _require_tensors(tensors, "vstack")
    return cat([_at_least_2d(t) for t in tensors], 0, out=out)


@composite("dstack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", forms=FUNCTION)
def dstack(tensors, out):
    """The tensors joined along dimension 2, taken as 3-d."""
    _require_tensors(tensors, "dstack")
    return cat([_at_least_3d(t) for t in tensors], 2, out=out)


@composite("column_stack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", forms=FUNCTION)
def column_stack(tensors, out):
    """The tensors joined along dimension 1; 0-d and 1-d ones as columns."""
    _require_tensors(tensors, "column_stack")
    return hstack([t.reshape(t.numel(), 1) if t.ndim <= 1 else t for t in tensors], out=out)


@op("block_diag(Tensor[] tensors) -> Tensor", forms=FUNCTION)
def block_diag(tensors):
    """A matrix with the tensors on its diagonal; 1-d tensors are rows, 0-d ones single elements."""
    if not tensors:
        return jnp.zeros((1, 0), jnp.float32)
    dtype = common_dtype(tensors)
    blocks = [_block_shape(t.shape) for t in tensors]
    result = jnp.zeros((sum(r for r, _ in blocks), sum(c for _, c in blocks)), dtype)
    row = column = 0
    for tensor, (rows, columns) in zip(tensors, blocks):
        result = jax.lax.dynamic_update_slice(result, tensor.astype(dtype).reshape(rows, columns), (row, column))
        row, column = row + rows, column + columns
    return result


def _block_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
    return rows, columns


@block_diag.grad("tensors")
def _(g, tensors_meta):
    parts, row, column = [], 0, 0
    for meta in tensors_meta:
        rows, columns = _block_shape(meta.shape)
        parts.append(g[row : row + rows, column : column + columns].reshape(meta.shape))
        row, column = row + rows, column + columns
    return parts


@block_diag.check
def _(tensors):
    for position, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has {tensor.ndim} dimensions"
            )


# --- turning ---------------------------------------------------------------------------------------------------------------------------


@op("flip(Tensor self, int[] dims) -> Tensor")
def flip(self, dims):
    """The elements in reverse order along the dims."""
    return jnp.flip(self, wrap_dims(dims, self.ndim)) if dims and self.ndim else self


@flip.grad("self")
def _(g, dims):
    return jnp.flip(g, wrap_dims(dims, g.ndim)) if dims and g.ndim else g


@flip.check
def _(self, dims):
    wrap_dims(dims, self.ndim)


@composite("fliplr(Tensor self) -> Tensor")
def fliplr(self):
    """Reversed along dimension 1."""
    if self.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(self, (1,))


@composite("flipud(Tensor self) -> Tensor")
def flipud(self):
    """Reversed along dimension 0."""
    if self.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(self, (0,))


def _roll(array, shifts, dims):
    if array.size == 0:
        return array
    return jnp.roll(array, shifts, dims) if dims else jnp.roll(array.reshape(-1), shifts[0]).reshape(array.shape)


@op("roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor")
def roll(self, shifts, dims):
    """The elements moved along the dims, those that fall off one end coming in at the other; without dims, in flattened order."""
    return _roll(self, shifts, dims)


@roll.grad("self")
def _(g, shifts, dims):
    return _roll(g, tuple(-s for s in shifts), dims)


@roll.check
def _(self, shifts, dims):
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and not (len(shifts) == 1 and not dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for dim in dims:
        if self.ndim == 0:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        wrap_dim(dim, self.ndim)


@composite("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
def rot90(self, k, dims):
    """Turned by ``k`` times 90 degrees in the plane of the two dims, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.ndim}")
    first, second = (wrap_dim(d, self.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    turns = k % 4
    if turns == 0:
        return self.clone()
    if turns == 2:
        return flip(self, (first, second))
    return flip(self, (second if turns == 1 else first,)).transpose(first, second)


# --- repeating -------------------------------------------------------------------------------------------------------------------------


@op("repeat(Tensor self, int[] repeats) -> Tensor", forms=METHOD)
def repeat(self, repeats):
    """The tensor laid out ``repeats`` times along each dimension; surplus repeats add dimensions in front."""
    return jnp.tile(self, repeats)


@repeat.grad("self")
def _(g, self_meta, repeats):
    shape = (1,) * (len(repeats) - self_meta.ndim) + tuple(self_meta.shape)
    split = g.reshape(tuple(itertools.chain.from_iterable(zip(repeats, shape))))
    return split.sum(axis=tuple(range(0, 2 * len(repeats), 2))).reshape(self_meta.shape)


@repeat.check
def _(self, repeats):
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = [s * r for s, r in zip((1,) * (len(repeats) - self.ndim) + tuple(self.shape), repeats)]
    for size in shape:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {listed(shape)}")


@composite("tile(Tensor self, int[] dims) -> Tensor")
def tile(self, dims):
    """`repeat`, with missing repeats counted as 1 in front."""
    return self.repeat((1,) * (self.ndim - len(dims)) + tuple(dims))


@op("_repeated_positions(Tensor repeats, int size) -> Tensor", namespaces=(), forms=FUNCTION, differentiable=False)
def repeated_positions(repeats, size):
    """Position ``i`` in a row ``repeats[i]`` times; ``size`` is the sum of the repeats."""
    positions = jnp.arange(repeats.shape[0], dtype=repeats.dtype)
    return jnp.repeat(positions, repeats, total_repeat_length=size) if repeats.shape[0] else positions


@repeated_positions.data_check(RuntimeError, "repeats can not be negative")
def _(repeats):
    return repeats < 0


@repeated_positions.data_check(RuntimeError, "allocated size does not match required size")
def _(repeats, size):
    return repeats.sum() != size


@composite("repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor", forms=FUNCTION)
def repeat_interleave_positions(repeats, output_size):
    """Position ``i`` in a row ``repeats[i]`` times; the repeats are read back unless ``output_size`` is given."""
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (int32, int64):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{scalar_type_name(repeats.dtype)}'")
    size = int(repeats.sum().item()) if output_size is None else output_size
    return repeated_positions(repeats, max(size, 0))


@composite("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor")
def repeat_interleave_tensor(self, repeats, dim, output_size):
    """Element ``i`` along ``dim`` repeated ``repeats[i]`` times; one repeat serves all elements."""
    if dim is None:
        self, dim = self.reshape(-1), 0
    dim = wrap_dim(dim, self.ndim)
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    size = self.shape[dim] if self.ndim else 1
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(size)
    elif repeats.numel() != size:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.numel()} and input.size({dim}) = {size}"
        )
    return self.index_select(dim, repeat_interleave_positions(repeats, output_size=output_size))


def _along(self, dim: int | None) -> tuple:
    """The array and the axis that `repeat_interleave` works on: flattened without a dim."""
    return (self.reshape(-1), 0) if dim is None else (self.reshape(self.shape or (1,)), wrap_dim(dim, self.ndim))


@op("repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor")
def repeat_interleave(self, repeats, dim, output_size):
    """Each element ``repeats`` times in a row along ``dim``, or of the flattened tensor."""
    array, axis = _along(self, dim)
    return jnp.repeat(array, repeats, axis=axis)


@repeat_interleave.grad("self")
def _(g, self_meta, repeats, dim):
    axis = 0 if dim is None else wrap_dim(dim, self_meta.ndim)
    size = math.prod(self_meta.shape) if dim is None else (self_meta.shape or (1,))[axis]
    return g.reshape(*g.shape[:axis], size, repeats, *g.shape[axis + 1 :]).sum(axis=axis + 1).reshape(self_meta.shape)


@repeat_interleave.check
def _(self, repeats, dim, output_size):
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if dim is not None:
        wrap_dim(dim, self.ndim)
    size = math.prod(self.shape) if dim is None else (self.shape or (1,))[wrap_dim(dim, self.ndim)]
    if output_size is not None and output_size != size * repeats:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size * repeats} but got {output_size}")


# --- triangles and diagonals ----------------------------------------------------------------------------------------------------------


def _require_matrix(self, function: str) -> None:
    if self.ndim < 2:
        raise RuntimeError(f"{function}: input tensor must have at least 2 dimensions")


@op("tril(Tensor self, int diagonal=0) -> Tensor", forms=ALL_FORMS)
def tril(self, diagonal):
    """The elements on and below a diagonal of each matrix, zero above; ``diagonal`` counts upwards from the main one."""
    return jnp.tril(self, diagonal)


@tril.grad("self")
def _(g, diagonal):
    return jnp.tril(g, diagonal)


@tril.check
def _(self, diagonal):
    _require_matrix(self, "tril")


@op("triu(Tensor self, int diagonal=0) -> Tensor", forms=ALL_FORMS)
def triu(self, diagonal):
    """The elements on and above a diagonal of each matrix, zero below; ``diagonal`` counts upwards from the main one."""
    return jnp.triu(self, diagonal)


@triu.grad("self")
def _(g, diagonal):
    return jnp.triu(g, diagonal)


@triu.check
def _(self, diagonal):
    _require_matrix(self, "triu")


def _on_diagonal(values, rows: int, columns: int, offset: int):
    """Matrices of this shape with the last dimension of ``values`` on a diagonal: a selection, so it fuses with what follows."""
    start = max(-offset, 0), max(offset, 0)
    side = rows if offset >= 0 else columns  # the dimension along which the diagonal starts at 0
    padded = jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, side - values.shape[-1])])
    spread = padded[..., :, None] if offset >= 0 else padded[..., None, :]
    row = jax.lax.broadcasted_iota(jnp.int32, (rows, columns), 0)
    column = jax.lax.broadcasted_iota(jnp.int32, (rows, columns), 1)
    return jnp.where(row - start[0] == column - start[1], spread, jnp.zeros((), values.dtype))


def _diagonal(array, offset: int, dim1: int = 0, dim2: int = 1):
    """``jnp.diagonal``, empty when the offset lies outside."""
    rows, columns = array.shape[dim1], array.shape[dim2]
    if offset >= columns or -offset >= rows:
        rest = [s for d, s in enumerate(array.shape) if d not in (dim1, dim2)]
        return jnp.zeros((*rest, 0), array.dtype)
    return jnp.diagonal(array, offset, dim1, dim2)


@op("diag(Tensor self, int diagonal=0) -> Tensor", forms=FUNCTION | METHOD | OUT)
def diag(self, diagonal):
    """Of a vector, the matrix with it on a diagonal; of a matrix, that diagonal (a copy)."""
    if self.ndim == 2:
        return _diagonal(self, diagonal)
    side = self.shape[0] + abs(diagonal)
    return _on_diagonal(self, side, side, diagonal)


@diag.grad("self")
def _(g, self_meta, diagonal):
    return _diagonal(g, diagonal) if self_meta.ndim == 1 else _on_diagonal(g, self_meta.shape[0], self_meta.shape[1], diagonal)


@diag.check
def _(self, diagonal):
    if self.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")


@op("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(self, offset, dim1, dim2):
    """Matrices over ``dim1`` and ``dim2`` of the result, with the last dimension on a diagonal."""
    dim1, dim2 = (wrap_dim(d, self.ndim + 1) for d in (dim1, dim2))
    side = self.shape[-1] + abs(offset)
    return jnp.moveaxis(_on_diagonal(self, side, side, offset), (-2, -1), (dim1, dim2))


@diag_embed.grad("self")
def _(g, offset, dim1, dim2):
    return _diagonal(g, offset, wrap_dim(dim1, g.ndim), wrap_dim(dim2, g.ndim))


@diag_embed.check
def _(self, offset, dim1, dim2):
    if wrap_dim(dim1, self.ndim + 1) == wrap_dim(dim2, self.ndim + 1):
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")


@composite("diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(self, offset):
    """The matrix with the flattened tensor on a diagonal."""
    return diag(self.reshape(-1), offset)


# --- broadcasting, grids and combinations ---------------------------------------------------------------------------------------------


@composite("broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)")
def broadcast_to(self, size):
    """A view of this size, as `expand`."""
    return self.expand(size)


@composite("broadcast_tensors(Tensor[] tensors) -> Tensor[]", forms=FUNCTION)
def broadcast_tensors(tensors):
    """Views of one common shape."""
    shape = broadcast_shape(*(t.shape for t in tensors))
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)


@composite("meshgrid(Tensor[] tensors, *, str? indexing=None) -> Tensor[]", forms=FUNCTION)
def meshgrid(tensors, indexing):
    """The coordinate grids of vectors, as views; with ``indexing="xy"`` the first two dimensions are swapped."""
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", UserWarning, stacklevel=2
        )
    _require_tensors(tensors, "meshgrid")
    for tensor in tensors:
        if tensor.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor}")
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(tensors) >= 2
    if swapped:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.numel() for t in tensors)
    grids = [t.reshape((1,) * d + (-1,) + (1,) * (len(shape) - d - 1)).expand(shape) for d, t in enumerate(tensors)]
    if swapped:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


@composite("cartesian_prod(Tensor[] tensors) -> Tensor", forms=FUNCTION)
def cartesian_prod(tensors):
    """Every combination of one element of each vector, as rows in the order of `itertools.product`."""
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {listed(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(tensors, indexing="ij")], 1)


@op("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
def combinations(self, r, with_replacement):
    """Every choice of ``r`` elements of a vector, as rows in the order of `itertools.combinations`."""
    if r == 0:
        return jnp.zeros((0,), self.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    positions = np.array(list(choose(range(self.shape[0]), r)), np.int64).reshape(-1, r)
    return self[jnp.asarray(positions)]


@combinations.check
def _(self, r, with_replacement):
    if self.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {listed(self.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")


def _at_least_1d(tensor):
    return tensor if tensor.ndim >= 1 else tensor.reshape(1)


def _at_least_2d(tensor):
    return tensor if tensor.ndim >= 2 else tensor.unsqueeze(0) if tensor.ndim else tensor.reshape(1, 1)


def _at_least_3d(tensor):
    return tensor if tensor.ndim >= 3 else tensor.reshape(1, -1, 1) if tensor.ndim <= 1 else tensor.unsqueeze(-1)


@composite("atleast_1d(Tensor self) -> Tensor", forms=FUNCTION)
def atleast_1d(self):
    """The tensor, as a view with one dimension if it has none."""
    return _at_least_1d(self)


@composite("atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", forms=FUNCTION)
def atleast_1d_each(tensors):
    """`atleast_1d` of each."""
    return tuple(map(_at_least_1d, tensors))


@composite("atleast_2d(Tensor self) -> Tensor", forms=FUNCTION)
def atleast_2d(self):
    """The tensor, as a view with dimensions of size 1 in front up to two."""
    return _at_least_2d(self)


@composite("atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", forms=FUNCTION)
def atleast_2d_each(tensors):
    """`atleast_2d` of each."""
    return tuple(map(_at_least_2d, tensors))


@composite("atleast_3d(Tensor self) -> Tensor", forms=FUNCTION)
def atleast_3d(self):
    """The tensor, as a view with dimensions of size 1 up to three: a vector lies along the middle one."""
    return _at_least_3d(self)


@composite("atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", forms=FUNCTION)
def atleast_3d_each(tensors):
    """`atleast_3d` of each."""
    return tuple(map(_at_least_3d, tensors))
