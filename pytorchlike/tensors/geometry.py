"""`Geometry`: where the elements of a tensor lie in its storage; and torch's view operators as maps from geometry to geometry.

Everything about a view is in its geometry: nothing here knows values, dtypes or devices.  Geometries are interned, so equal ones are
the same object and every function of one is memoised by identity: creating a view costs one look-up.
Entry points: `geometry`, `contiguous` and one function for each view operator, with torch's argument names and errors.
"""

from __future__ import annotations

import functools
import math
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NoReturn

from ..core.dims import wrap_dim, wrap_dims
from ..core.size import Size
from .layout import contiguous_strides, is_contiguous

Ints = tuple[int, ...]
_memo = functools.lru_cache(maxsize=8192)
_interned: weakref.WeakValueDictionary[tuple[Ints, Ints, int, Any], Geometry] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class Geometry:
    """Size, strides and offset of a tensor within its storage, counted in elements.  Immutable and interned: make it with `geometry`.

    Attributes:
        size: the shape.
        stride: elements from one index to the next, for each dimension.
        offset: the element of the storage that index (0, ..., 0) means.
        elements: what the elements are if not the storage's own (`elements.Elements`), else None.
        ndim: how many dimensions.
        numel: how many elements.
        is_contiguous: they lie row-major without gaps.
        end: how many elements the storage must have (0 if there are none).
    """

    __slots__ = ("size", "stride", "offset", "elements", "ndim", "numel", "is_contiguous", "end", "__weakref__")
    size: Size
    stride: Ints
    offset: int
    elements: Any
    ndim: int
    numel: int
    is_contiguous: bool
    end: int

    def __new__(cls) -> Geometry:
        raise TypeError("geometries are interned: call geometry(size, stride, offset)")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: a Geometry is immutable")

    def fingerprint(self) -> Any:
        """What `graph.fingerprint` tells of it."""
        return tuple(self.size), self.stride, self.offset, self.elements

    def __repr__(self) -> str:
        seen = "" if self.elements is None else f", elements={self.elements}"
        return f"Geometry(size={tuple(self.size)}, stride={self.stride}, offset={self.offset}{seen})"

    def __reduce__(self) -> tuple:
        return geometry, (tuple(self.size), self.stride, self.offset, self.elements)

    def __copy__(self) -> Geometry:
        return self

    def __deepcopy__(self, memo: dict) -> Geometry:
        return self


def geometry(size: Sequence[int], stride: Sequence[int], offset: int = 0, elements: Any = None) -> Geometry:
    """The one `Geometry` with these numbers; they are not checked."""
    key = (tuple(size), tuple(stride), offset, elements)
    found = _interned.get(key)
    return _intern(key) if found is None else found


def _intern(key: tuple[Ints, Ints, int, Any]) -> Geometry:
    size, stride = tuple(map(int, key[0])), tuple(map(int, key[1]))
    made = object.__new__(Geometry)
    numel = math.prod(size)
    facts = (Size(size), stride, int(key[2]), key[3], len(size), numel, is_contiguous(size, stride), required_numel(size, stride, key[2]))
    for name, value in zip(Geometry.__slots__, facts, strict=False):  # __weakref__ has no value
        object.__setattr__(made, name, value)
    with _lock:  # two threads may make the same one at once: the first stays
        return _interned.setdefault((size, stride, made.offset, made.elements), made)


@_memo
def contiguous(size: Ints) -> Geometry:
    """Row-major from offset 0."""
    return geometry(size, contiguous_strides(tuple(size)))


def required_numel(size: Sequence[int], stride: Sequence[int], offset: int) -> int:
    """How many elements a storage must have for this window; 0 for a window without elements."""
    if 0 in size:
        return 0
    return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


# -- shapes ----------------------------------------------------------------------------------------------------------------------------


@_memo
def infer_size(size: Ints, numel: int) -> Ints:
    """``size`` with its -1 replaced by what makes it hold ``numel`` elements.

    Raises:
        RuntimeError: it cannot, torch's texts.
    """
    unknown, known = None, 1
    for i, n in enumerate(size):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(size)}")
        else:
            known *= n
    if known != numel and not (unknown is not None and known > 0 and numel % known == 0):
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {numel}")
    if unknown is None:
        return tuple(size)
    if known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 can be any value "
            "and is ambiguous"
        )
    return (*size[:unknown], numel // known, *size[unknown + 1 :])


@_memo
def view_stride(size: Ints, stride: Ints, new_size: Ints) -> Ints | None:
    """The strides under which the same elements have ``new_size`` (without -1), or None when no strides do that.

    Dimensions that lie one within the other in memory form a run; a new dimension must fall within one run.
    """
    if 0 in size:
        return tuple(stride) if tuple(size) == tuple(new_size) else contiguous_strides(tuple(new_size))
    runs: list[list[int]] = []  # [elements, stride of the innermost dimension], innermost run first
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if runs and (n == 1 or s == runs[-1][0] * runs[-1][1]):
            runs[-1][0] *= n
        else:
            runs.append([n, s])
    new_stride: list[int] = []
    wanted = list(new_size)
    for elements, step in runs or [[1, 1]]:
        taken = 1
        while wanted and (taken < elements or wanted[-1] == 1):
            new_stride.append(taken * step)
            taken *= wanted.pop()
        if taken != elements:
            return None
    return None if wanted else tuple(reversed(new_stride))


@_memo
def view(at: Geometry, size: Ints) -> Geometry:
    """``Tensor.view(size)``.

    Raises:
        RuntimeError: the size does not fit, or the elements cannot be seen so without a copy.
    """
    size = infer_size(size, at.numel)
    stride = view_stride(at.size, at.stride, size)
    if stride is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return geometry(size, stride, at.offset)


@_memo
def reshape(at: Geometry, shape: Ints) -> Geometry | None:
    """The geometry of ``reshape(shape)`` when it is a view, None when it has to copy (into a contiguous tensor of `infer_size`)."""
    size = infer_size(shape, at.numel)
    stride = view_stride(at.size, at.stride, size)
    return None if stride is None else geometry(size, stride, at.offset)


@_memo
def flatten_size(size: Ints, start_dim: int = 0, end_dim: int = -1) -> Ints:
    """The size that ``flatten`` reshapes to.

    Raises:
        RuntimeError: ``start_dim`` is behind ``end_dim``.
    """
    first, last = wrap_dim(start_dim, len(size)), wrap_dim(end_dim, len(size))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not size:
        return (1,)
    return (*size[:first], math.prod(size[first : last + 1]), *size[last + 1 :])


@_memo
def unflatten(at: Geometry, dim: int, sizes: Ints) -> Geometry:
    """``Tensor.unflatten``: one dimension becomes several.

    Raises:
        RuntimeError: the sizes do not multiply up to it.
    """
    dim = wrap_dim(dim, at.ndim)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not at.ndim:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    try:
        inferred = infer_size(sizes, at.size[dim])
    except RuntimeError as error:
        if "is invalid for input of size" in str(error):
            text = f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({at.size[dim]}) in the input tensor"
        else:
            text = f"unflatten got an unexpected error:\n{error}"
        raise RuntimeError(text) from None
    return view(at, (*at.size[:dim], *inferred, *at.size[dim + 1 :]))


@_memo
def expand(at: Geometry, size: Ints) -> Geometry:
    """``Tensor.expand``: dimensions of size 1 repeat, new ones come in front; -1 keeps a size.

    Raises:
        RuntimeError: a size that is not 1 would change.
    """
    lead = len(size) - at.ndim
    if lead < 0:
        # The geometry knows no dtype; torch's text has its legacy type name here.
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(at.size)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({at.ndim})"
        )
    new_size, new_stride = list(size), [0] * len(size)
    for i in reversed(range(len(size))):
        old = at.size[i - lead] if i >= lead else 1
        if i >= lead:
            step = at.stride[i - lead]
        else:  # as if it had been unsqueezed: 0-d tensors get 0 everywhere
            step = new_size[i + 1] * new_stride[i + 1] if at.ndim else 0
        if size[i] == -1 and at.ndim:
            if i < lead:
                raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
            new_size[i] = old
        elif size[i] != old:
            if old != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size[i]}) must match the existing size ({old}) at non-singleton dimension {i}.  "
                    f"Target sizes: {list(size)}.  Tensor sizes: {list(at.size)}"
                )
            step = 0
        new_stride[i] = step
    if any(n < 0 for n in new_size):  # torch lets one through when another size is 0, and has a tensor of size (0, -1)
        raise RuntimeError("numel: integer multiplication overflow")
    return geometry(new_size, new_stride, at.offset)


# -- order of dimensions ---------------------------------------------------------------------------------------------------------------


def _in_order(at: Geometry, order: Sequence[int]) -> Geometry:
    return geometry([at.size[d] for d in order], [at.stride[d] for d in order], at.offset)


@_memo
def transpose(at: Geometry, dim0: int, dim1: int) -> Geometry:
    """``Tensor.transpose``: two dimensions change places."""
    dim0, dim1 = wrap_dim(dim0, at.ndim), wrap_dim(dim1, at.ndim)
    if dim0 == dim1:
        return at
    order = list(range(at.ndim))
    order[dim0], order[dim1] = dim1, dim0
    return _in_order(at, order)


@_memo
def permute(at: Geometry, dims: Ints) -> Geometry:
    """``Tensor.permute``: dimension i of the result is dimension ``dims[i]``.

    Raises:
        RuntimeError: not every dimension stands there once.
    """
    if len(dims) != at.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions "
            f"i.e. input.dim() = {at.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order: list[int] = []
    for dim in dims:
        order.append(wrap_dim(dim, at.ndim))
        if order[-1] in order[:-1]:  # before what is wrong with the next ones
            raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _in_order(at, order)


@_memo
def movedim(at: Geometry, source: Ints, destination: Ints) -> Geometry:
    """``Tensor.movedim``: dimensions go from ``source`` to ``destination``, the others keep their order.

    Raises:
        RuntimeError: the two differ in length, or name a dimension twice.
    """
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as "
            f"destination ({list(destination)} dims)"
        )
    taken = [wrap_dim(d, at.ndim) for d in source]
    placed = [wrap_dim(d, at.ndim) for d in destination]
    if len(set(taken)) != len(taken):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(source)})")
    if len(set(placed)) != len(placed):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({list(destination)})")
    if at.ndim == 0:
        return at
    rest = iter(d for d in range(at.ndim) if d not in taken)
    moved = dict(zip(placed, taken, strict=True))
    return _in_order(at, [moved[d] if d in moved else next(rest) for d in range(at.ndim)])


@_memo
def t(at: Geometry) -> Geometry:
    """``Tensor.t``: the transpose of a matrix; fewer dimensions stay as they are.

    Raises:
        RuntimeError: more than two dimensions.
    """
    if at.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {at.ndim}D")
    return at if at.ndim < 2 else transpose(at, 0, 1)


@_memo
def numpy_t(at: Geometry) -> Geometry:
    """``Tensor.T``: all dimensions in reverse order."""
    return _in_order(at, range(at.ndim)[::-1])


@_memo
def matrix_t(at: Geometry, name: str = "mT") -> Geometry:
    """``Tensor.mT`` (and of a real tensor ``mH``, ``adjoint()``): the last two dimensions change places.

    Raises:
        RuntimeError: one dimension.
    """
    if at.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return at if at.ndim == 0 else transpose(at, -2, -1)


# -- parts -----------------------------------------------------------------------------------------------------------------------------


def _with_dim(at: Geometry, dim: int, size: int, stride: int, offset: int) -> Geometry:
    return geometry((*at.size[:dim], size, *at.size[dim + 1 :]), (*at.stride[:dim], stride, *at.stride[dim + 1 :]), offset)


def _without_dims(at: Geometry, dims: Sequence[int], offset: int) -> Geometry:
    kept = [d for d in range(at.ndim) if d not in dims]
    return geometry([at.size[d] for d in kept], [at.stride[d] for d in kept], offset)


@_memo
def narrow(at: Geometry, dim: int, start: int, length: int) -> Geometry:
    """``Tensor.narrow``: ``length`` indices of one dimension from ``start`` on.

    Raises:
        IndexError: ``start`` lies outside.
        RuntimeError: the end lies outside.
    """
    if at.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, at.ndim)
    reach = at.size[dim]
    if not -reach <= start <= reach:
        raise IndexError(f"start out of range (expected to be in range of [{-reach}, {reach}], but got {start})")
    start += reach if start < 0 else 0
    if start + length > reach:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({reach}).")
    return _with_dim(at, dim, length, at.stride[dim], at.offset + start * at.stride[dim])


@_memo
def select(at: Geometry, dim: int, index: int) -> Geometry:
    """``Tensor.select``: one index of a dimension, which goes away.

    Raises:
        IndexError: there is no such index.
    """
    if at.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, at.ndim)
    reach = at.size[dim]
    if not -reach <= index < reach:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(at.size)} at dimension {dim}")
    return _without_dims(at, (dim,), at.offset + (index + reach if index < 0 else index) * at.stride[dim])


@_memo
def slice(at: Geometry, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Geometry:
    """``x[start:end:step]`` along one dimension; bounds are clamped as in Python.

    Raises:
        IndexError: no dimensions.
        RuntimeError: ``step`` is not positive.
    """
    if at.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, at.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    reach = at.size[dim]
    first = 0 if start is None else start
    last = reach if end is None else end
    first = min(max(first + reach if first < 0 else first, 0), reach)
    last = min(max(last + reach if last < 0 else last, first), reach)
    return _with_dim(at, dim, -(-(last - first) // step), at.stride[dim] * step, at.offset + first * at.stride[dim])


@_memo
def unfold(at: Geometry, dimension: int, size: int, step: int) -> Geometry:
    """``Tensor.unfold``: all windows of ``size`` indices, ``step`` apart; the index within a window becomes the last dimension.

    Raises:
        RuntimeError: no window fits, or a number is out of range.
    """
    dim = wrap_dim(dimension, at.ndim)
    reach, stride = (at.size[dim], at.stride[dim]) if at.ndim else (1, 1)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > reach:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {reach} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if at.ndim == 0:
        return geometry((size,), (stride,), at.offset)
    windows = _with_dim(at, dim, (reach - size) // step + 1, stride * step, at.offset)
    return geometry((*windows.size, size), (*windows.stride, stride), at.offset)


@_memo
def diagonal(at: Geometry, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Geometry:
    """``Tensor.diagonal``: the indices with i2 - i1 = ``offset``; the diagonal becomes the last dimension.

    Raises:
        RuntimeError: twice the same dimension.
    """
    first, second = wrap_dim(dim1, at.ndim), wrap_dim(dim2, at.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = max(min(at.size[first] + min(offset, 0), at.size[second] - max(offset, 0)), 0)
    start = at.offset
    if length:
        start += offset * at.stride[second] if offset >= 0 else -offset * at.stride[first]
    rest = _without_dims(at, (first, second), start)
    return geometry((*rest.size, length), (*rest.stride, at.stride[first] + at.stride[second]), start)


@_memo
def squeeze(at: Geometry, dims: Ints | None = None) -> Geometry:
    """``Tensor.squeeze``: the dimensions of size 1 go away; ``dims`` says which ones to look at (None: all, (): none)."""
    looked_at = range(at.ndim) if dims is None else wrap_dims(dims, at.ndim) if dims else ()
    gone = [d for d in looked_at if d < at.ndim and at.size[d] == 1]
    return _without_dims(at, gone, at.offset) if gone else at


@_memo
def unsqueeze(at: Geometry, dim: int) -> Geometry:
    """``Tensor.unsqueeze``: a dimension of size 1 is put in at ``dim``."""
    dim = wrap_dim(dim, at.ndim + 1)
    stride = at.size[dim] * at.stride[dim] if dim < at.ndim else 1
    return geometry((*at.size[:dim], 1, *at.size[dim:]), (*at.stride[:dim], stride, *at.stride[dim:]), at.offset)


@_memo
def as_strided(at: Geometry, size: Ints, stride: Ints, storage_offset: int | None = None) -> Geometry:
    """``Tensor.as_strided``: any window on the storage; whether the storage is large enough is for the caller to check (`required_numel`).

    Raises:
        RuntimeError: lengths differ, or a number is negative.
    """
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    offset = at.offset if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    return geometry(size, stride, offset)
