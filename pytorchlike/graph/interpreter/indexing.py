"""Gather and scatter in XLA's general form."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from .table import Equation, NotInterpretable, Run, dtype_of, primitive


def _positions(indices: Any, dims: tuple[int, ...], limits: list[int], clip: bool) -> tuple[dict[int, Any], Any]:
    """For each indexed dimension the starts of windows, all inside; and which of them were inside by themselves (None: all)."""
    starts: dict[int, Any] = {}
    inside = None
    for k, dim in enumerate(dims):
        start = indices[..., k].astype(np.int64, copy=False)
        if not clip:
            fits = (start >= 0) & (start <= limits[dim])
            if not fits.all():
                inside = fits if inside is None else inside & fits
        starts[dim] = np.clip(start, 0, limits[dim])
    if inside is not None:
        starts = {dim: np.where(inside, start, 0) for dim, start in starts.items()}
    return starts, inside


class _Windows:
    """How the windows of a gather or scatter lie in the operand and in the batched array (a gather's result, a scatter's updates).

    Args:
        operand: the operand's size.
        batch: how many dimensions of windows there are.
        window: sizes of a window in each dimension of the operand.
        indexed: the operand's dimensions that the indices count in.
        dropped: dimensions of the operand (with windows of size 1) that the batched array lacks, batching ones included.
        batching: (dimension of the operand, dimension of the indices) that go together.
        places: where the window's dimensions stand in the batched array.
    """

    def __init__(self, operand: tuple[int, ...], batch: int, window: tuple[int, ...], indexed: tuple[int, ...], dropped: tuple[int, ...],
                 batching: tuple[tuple[int, int], ...], places: tuple[int, ...]) -> None:  # fmt: skip
        self.batch, self.batching, self.indexed, self.window = batch, batching, indexed, window
        paired = [d for d, _ in batching]
        self.limits = [n - w for n, w in zip(operand, window)]
        self.picked = [d for d in range(len(operand)) if d in indexed or d in paired or window[d] != operand[d]]
        self.whole = [d for d in range(len(operand)) if d not in self.picked]
        self.spread = [d for d in self.picked if d not in dropped]
        self.order = (*self.picked, *self.whole)
        # the batched array as: windows, spread dimensions, whole dimensions
        kept = [d for d in range(len(operand)) if d not in dropped]
        rank = batch + len(kept)
        outer = [k for k in range(rank) if k not in places]
        self.batched_order = (*outer, *[places[kept.index(d)] for d in self.spread], *[places[kept.index(d)] for d in self.whole if d not in dropped])
        self.lost = [d for d in self.whole if d in dropped]  # whole dimensions of size 1 that the batched array lacks
        self.whole_sizes = tuple(operand[d] for d in self.whole)

    def index(self, indices: Any, clip: bool) -> tuple[tuple[Any, ...], Any]:
        """An index into the operand's dimensions `picked`, and which windows are inside."""
        starts, inside = _positions(indices, self.indexed, self.limits, clip)
        size = indices.shape[:-1]
        found = []
        for dim in self.picked:
            start: Any = starts.get(dim, np.zeros((), np.int64))
            for operand_dim, index_dim in self.batching:
                if operand_dim == dim:
                    line = [1] * len(size)
                    line[index_dim] = size[index_dim]
                    start = np.arange(size[index_dim]).reshape(line)
            if start.ndim:
                start = start.reshape(*start.shape, *[1] * len(self.spread))
            if dim in self.spread:
                line = [1] * len(self.spread)
                line[self.spread.index(dim)] = self.window[dim]
                start = start + np.arange(self.window[dim]).reshape(line)
            found.append(start)
        shape = (*size, *[self.window[d] for d in self.spread])
        return tuple(np.broadcast_to(each, shape) for each in found), inside


@primitive("gather")
def _gather(equation: Equation) -> Run:
    p = equation.params
    numbers, mode = p["dimension_numbers"], p["mode"]
    operand, indices = (v.aval.shape for v in equation.invars)
    size, dtype = equation.outvars[0].aval.shape, dtype_of(equation.outvars[0])
    paired = tuple(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims))
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    windows = _Windows(operand, len(indices) - 1, p["slice_sizes"], numbers.start_index_map, dropped, paired, numbers.offset_dims)
    back = np.argsort(windows.batched_order)
    clip = mode in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)
    fill = p["fill_value"]
    if fill is None and not clip:
        fill = np.nan if dtype.kind in "fc" or dtype.name == "bfloat16" else True if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    if not windows.picked:
        return lambda x, index: np.broadcast_to(x, (*index.shape[:-1], *x.shape)).transpose(back).reshape(size)

    def gather(x: Any, index: Any) -> Any:
        if not x.size:
            return np.full(size, 0 if fill is None else fill, dtype)
        places, inside = windows.index(index, clip)
        found = np.transpose(x, windows.order)[places if len(places) > 1 else places[0]]
        if inside is not None:
            found = np.where(inside.reshape(*inside.shape, *[1] * (found.ndim - inside.ndim)), found, dtype.type(fill))
        if windows.lost:
            found = found.reshape(*found.shape[: found.ndim - len(windows.whole)], *[n for d, n in zip(windows.whole, windows.whole_sizes) if d not in windows.lost])
        return np.transpose(found, back).reshape(size)

    return gather


_COMBINE: dict[str, Any] = {"scatter-add": np.add, "scatter-mul": np.multiply, "scatter-min": np.minimum, "scatter-max": np.maximum,
                            "scatter-sub": np.subtract, "scatter": None}  # fmt: skip


@primitive(*_COMBINE)
def _scatter(equation: Equation) -> Run:
    p = equation.params
    ufunc = _COMBINE[equation.primitive.name]
    numbers, mode = p["dimension_numbers"], p["mode"]
    operand, indices, updates = (v.aval.shape for v in equation.invars)
    dtype = dtype_of(equation.invars[0])
    if ufunc is None and not _replaces(p.get("update_jaxpr")):
        raise NotInterpretable("scatter with another function")
    if dtype.name == "bfloat16" and ufunc is not None:
        raise NotInterpretable("scatter of bfloat16")
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    paired = tuple(zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims))
    places = numbers.update_window_dims
    sizes = iter(updates[d] for d in places)
    window = tuple(1 if d in dropped else next(sizes) for d in range(len(operand)))
    windows = _Windows(operand, len(indices) - 1, window, numbers.scatter_dims_to_operand_dims, dropped, paired, places)
    back = np.argsort(windows.order)
    clip = mode is GatherScatterMode.CLIP

    def scatter(x: Any, index: Any, new: Any) -> Any:
        if not new.size or not x.size:
            return x
        result = np.array(np.transpose(x, windows.order), order="C")
        new = np.transpose(new, windows.batched_order)
        if windows.lost:
            new = new.reshape(*new.shape[: new.ndim - len(windows.whole) + len(windows.lost)], *windows.whole_sizes)
        if not windows.picked:
            for each in new.reshape(-1, *result.shape):
                result = each.copy() if ufunc is None else ufunc(result, each)
            return np.transpose(result, back)
        at, inside = windows.index(index, clip)
        if inside is not None:
            at, new = tuple(each[inside] for each in at), new[inside]
        if ufunc is None:
            result[at] = new
        elif ufunc is np.add and len(at) == 1 and result.ndim == 2 and dtype.kind == "f" and dtype.itemsize >= 4 and at[0].ndim >= 1:
            _add_rows(result, at[0].reshape(-1), new.reshape(-1, result.shape[1]))
        else:
            ufunc.at(result, at, new)
        return np.transpose(result, back)

    return scatter


def _replaces(jaxpr: Any) -> bool:
    """Whether a scatter's function returns the new element."""
    if jaxpr is None:
        return True
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return not inner.eqns and len(inner.outvars) == 1 and inner.outvars[0] is inner.invars[1]


#: Up to this size a matrix of zeros and ones is as good as a sparse one.
_SMALL_PRODUCT = 1 << 16


def _add_rows(result: Any, rows: Any, new: Any) -> None:
    """Add rows to rows of a matrix, repeated ones too: a sparse product, as numpy's ``add.at`` goes element by element."""
    if len(result) * len(rows) <= _SMALL_PRODUCT and np.isfinite(new).all():  # zero times infinity would be NaN
        picker = np.zeros((len(result), len(rows)), result.dtype)
        picker[rows, np.arange(len(rows))] = 1
        result += picker @ new
        return
    from scipy import sparse

    ones = np.ones(len(rows), result.dtype)
    picker = sparse.csc_matrix((ones, rows, np.arange(len(rows) + 1)), shape=(len(result), len(rows)))
    result += picker @ np.ascontiguousarray(new)
