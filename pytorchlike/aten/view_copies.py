"""Views without sharing: what the view operators give as copies (``permute_copy``), and tensors with a view written over (``slice_scatter``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.dims import wrap_dim
from ..dispatch.out import put_out
from ..dispatch.registry import FUNCTION, METHOD, OPERATORS, OUT, composite, op
from . import views
from .copy import clone

_FORMS = FUNCTION | METHOD | OUT

#: The view operators that torch has a copying twin of.
_COPIED = (
    "view", "view.dtype", "expand", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze", "transpose.int", "t", "permute", "select.int",
    "slice.Tensor", "diagonal", "unfold", "as_strided", "split.Tensor", "split_with_sizes", "unbind.int",
)  # fmt: skip


# -------------------------------------------------------------------------------------------------------------------------- copies
def _contiguous(tensor):
    return clone(tensor, memory_format="contiguous_format")


def _copying_schema(view: Any) -> str:
    """The schema of a view operator's copying twin, without ``out=``."""
    name, parenthesis, rest = view.schema_text.replace("(a -> *)", "").replace("(a)", "").partition("(")
    base, dot, overload = name.partition(".")
    return f"{base}_copy{dot}{overload}{parenthesis}{rest}"


def _declare_copy(view: Any) -> None:
    if view.schema_text.endswith("[]"):

        @composite(_copying_schema(view).replace(") -> ", ", *, Tensor[]? out=None) -> "), forms=FUNCTION)
        def copying(*arguments, out):
            copies = tuple([_contiguous(part) for part in view.function(*arguments)])
            if out is None:
                return copies
            for target, part in zip(out, copies, strict=True):
                put_out(target, part._content())
            return None  # as in torch

    else:

        @composite(_copying_schema(view), forms=FUNCTION | OUT)
        def copying(*arguments, **options):
            return _contiguous(view.function(*arguments, **options))

    copying.__doc__ = f"What `{view.name}` gives, as a copy."


for _name in _COPIED:
    _declare_copy(OPERATORS[_name])


@composite("alias_copy(Tensor self) -> Tensor", forms=FUNCTION | OUT)
def alias_copy(self):
    """A contiguous copy."""
    return _contiguous(self)


@composite("detach_copy(Tensor self) -> Tensor", forms=FUNCTION | OUT)
def detach_copy(self):
    """A contiguous copy that is not on the tape."""
    return _contiguous(self.detach())


@composite("narrow_copy(Tensor self, int dim, int start, int length) -> Tensor", forms=_FORMS)
def narrow_copy(self, dim, start, length):
    """What `narrow` gives, as a copy."""
    if dim >= self.ndim > 0:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    return _contiguous(views.narrow(self, dim, start, length))


# ------------------------------------------------------------------------------------------------------------------- unsafe splits
def _declare_unsafe(name: str, parameters: str, split: Callable) -> None:
    @composite(f"{name}(Tensor self, {parameters}, int dim=0) -> Tensor[]")
    def unsafe(self, sizes, dim):
        dim = wrap_dim(dim, self.ndim)
        starts = np.cumsum([0, *(part.shape[dim] for part in split(self, sizes, dim))])
        return tuple([views.narrow(self, dim, int(start), int(end - start)) for start, end in zip(starts, starts[1:])])

    unsafe.__doc__ = f"Like `{split.__name__}`, but each part is a view of its own, which may be written to while a gradient is asked for."


_declare_unsafe("unsafe_split.Tensor", "int split_size", OPERATORS["split.Tensor"])
_declare_unsafe("unsafe_split_with_sizes", "int[] split_sizes", OPERATORS["split_with_sizes"])
_declare_unsafe("unsafe_chunk", "int chunks", OPERATORS["chunk"])


# ------------------------------------------------------------------------------------------------------------------------ scatters
def _check_source(name: str, shape: tuple[int, ...], src) -> None:
    if tuple(src.shape) != shape:
        raise RuntimeError(f"expected src to have a size equal to the {name} of self. src size = {list(src.shape)}, {name} size = {list(shape)}")


def _slice(dim: int, start, end, step: int, shape: tuple[int, ...]) -> tuple[int, slice]:
    dim = wrap_dim(dim, len(shape))
    return dim, slice(*slice(start, end, step).indices(shape[dim]))


@op("slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", forms=_FORMS)
def slice_scatter(self, src, dim, start, end, step):
    """A copy of ``self`` whose slice along one dimension is ``src``."""
    dim, where = _slice(dim, start, end, step, self.shape)
    return self.at[(slice(None),) * dim + (where,)].set(src.astype(self.dtype))


@slice_scatter.check
def _(self, src, dim, start, end, step):
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim, where = _slice(dim, start, end, step, self.shape)
    _check_source("slice", (*self.shape[:dim], len(range(self.shape[dim])[where]), *self.shape[dim + 1 :]), src)


@slice_scatter.grad("self")
def _(g, dim, start, end, step):
    dim, where = _slice(dim, start, end, step, g.shape)
    return g.at[(slice(None),) * dim + (where,)].set(0)


@slice_scatter.grad("src")
def _(g, dim, start, end, step):
    dim, where = _slice(dim, start, end, step, g.shape)
    return g[(slice(None),) * dim + (where,)]


@op("select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor", forms=_FORMS)
def select_scatter(self, src, dim, index):
    """A copy of ``self`` whose slice at one index of a dimension is ``src``."""
    return self.at[(slice(None),) * wrap_dim(dim, self.ndim) + (index,)].set(src.astype(self.dtype))


@select_scatter.check
def _(self, src, dim, index):
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    if not -self.shape[dim] <= index < self.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}")
    _check_source("slice", (*self.shape[:dim], *self.shape[dim + 1 :]), src)


@select_scatter.grad("self")
def _(g, dim, index):
    return g.at[(slice(None),) * wrap_dim(dim, g.ndim) + (index,)].set(0)


@select_scatter.grad("src")
def _(g, dim, index):
    return g[(slice(None),) * wrap_dim(dim, g.ndim) + (index,)]


def _on_diagonal(x, offset: int, dim1: int, dim2: int, change: Callable):
    """The array with ``change`` made to its diagonals, which it gets as ``moved.at[..., rows, columns]``."""
    moved = jnp.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    at = np.arange(count)
    return jnp.moveaxis(change(moved.at[..., at - min(offset, 0), at + max(offset, 0)]), (-2, -1), (dim1, dim2))


@op("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", forms=_FORMS)
def diagonal_scatter(self, src, offset, dim1, dim2):
    """A copy of ``self`` whose diagonals over two dimensions are ``src``."""
    return _on_diagonal(self, offset, dim1, dim2, lambda diagonal: diagonal.set(src.astype(self.dtype)))


@diagonal_scatter.check
def _(self, src, offset, dim1, dim2):
    first, second = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = self.shape[first], self.shape[second]
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    _check_source("slice", (*[n for d, n in enumerate(self.shape) if d not in (first, second)], count), src)


@diagonal_scatter.grad("self")
def _(g, offset, dim1, dim2):
    return _on_diagonal(g, offset, dim1, dim2, lambda diagonal: diagonal.set(0))


@diagonal_scatter.grad("src")
def _(g, offset, dim1, dim2):
    return jnp.diagonal(g, offset, dim1, dim2)


@composite("as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor", forms=_FORMS)
def as_strided_scatter(self, src, size, stride, storage_offset):
    """A copy of ``self`` with its strides, in which a window on the memory is ``src``."""
    end = self.storage_offset() + sum((n - 1) * s for n, s in zip(self.shape, self.stride())) + 1 if self.numel() else 0
    memory = clone(views.as_strided(self, (end,), (1,), 0))
    offset = self.storage_offset() if storage_offset is None else storage_offset
    window = views.as_strided(memory, size, stride, offset)
    _check_source("slice", tuple(window.shape), src)
    window.copy_(src)
    return views.as_strided(memory, self.shape, self.stride(), self.storage_offset())
