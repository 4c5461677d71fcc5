"""Sparse tensors: a class made of ordinary tensors, and the table of what operators do with it.

A `SparseTensor` holds its indices and its values as tensors of their own.  Nothing of it is a value of the graph layer: the generated functions hand
every call with one over (``__torch_function__``), and the table `IMPLEMENTATIONS` says what the operator means on the components.  What it means is
written with ordinary operators on the values, so gradients, devices and recording are theirs; the tape sees the values alone, and the gradient of a
sparse tensor is sparse, with its indices.  Indices are looked at on the host wherever the pattern of a result depends on them (`coalesce`, unions).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..core.device import device
from ..core.dtype import bool_, dtype, int32
from ..core.layouts import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..core.size import Size
from ..dispatch.call import host_tensor
from ..dispatch.registry import Composite, view
from ..tensors import storages  # noqa: F401 - Tensor's methods, all of which the class below hands over
from ..tensors.convert import host_array
from ..tensors.tensor import Tensor, new_tensor
from . import copy, indexing, legacy, tensor_methods  # noqa: F401 - the same
from .composed import ComposedTensor, Implementations, bound_arguments, called_name, check_not_leaf

__all__ = [
    "COMPRESSED", "IMPLEMENTATIONS", "LAYOUT_NAMES", "SparseTensor", "become", "compressed", "coo", "host", "index_tensor", "like", "linear_index",
    "not_implemented", "own", "sparse", "strides_of", "sum_duplicates", "unravelled",
]  # fmt: skip

#: The compressed layouts -> (names of the compressed and the plain indices, whether rows are what is compressed, whether values are blocks).
COMPRESSED: dict[layout, tuple[str, str, bool, bool]] = {
    sparse_csr: ("crow_indices", "col_indices", True, False),
    sparse_csc: ("ccol_indices", "row_indices", False, False),
    sparse_bsr: ("crow_indices", "col_indices", True, True),
    sparse_bsc: ("ccol_indices", "row_indices", False, True),
}
#: What torch calls the layouts in messages.
LAYOUT_NAMES = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc",
                "strided": "Strided"}  # fmt: skip

#: What functions, methods and properties do where an argument is sparse ...
IMPLEMENTATIONS = Implementations()
#: ... and the decorator that declares it.
sparse = IMPLEMENTATIONS.declare


# ---------------------------------------------------------------------------------------------------------------- the class
class SparseTensor(ComposedTensor):
    """A tensor that keeps the elements which are not zero: values, and indices that say where they stand.

    Slots:
        _kind: the layout.
        _index: ``(indices,)`` of ``(sparse dimensions, elements)``, or ``(compressed indices, plain indices)``.
        _elements (of the base): the values; what follows their first dimension (behind batches, in front of blocks) is dense.
        _size: the shape.
        _coalesced: each place occurs once, in order.
    """

    __slots__ = ("_kind", "_index", "_size", "_coalesced")
    __module__ = "torch"

    _kind: layout
    _index: tuple[Tensor, ...]
    _size: Size
    _coalesced: bool

    # -------------------------------------------------------------------------------------------------------- dispatch
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """What the table says; composites, and Tensor's methods in Python, come down to operators that it knows.

        Raises:
            NotImplementedError: an operator that is not defined for sparse tensors.
        """
        kwargs = dict(kwargs or {})
        if any(t is not cls and getattr(t.__torch_function__, "__func__", None) is not _DEFAULT for t in types):
            return NotImplemented  # a class of the user's
        owner, name = getattr(func, "__self__", None), called_name(func)
        found = None if getattr(func, "__module__", "") == "torch.sparse" else IMPLEMENTATIONS.get(name)
        if found is not None:
            out = kwargs.pop("out", None)
            result = found(*args, **kwargs)
            return result if out is None else _into(out, result)
        if isinstance(owner, property):
            return func(*args)
        if name.endswith("_") and name[:-1] in IMPLEMENTATIONS:
            return _in_place(func, IMPLEMENTATIONS[name[:-1]], args, kwargs)
        declared = getattr(func, "declared", None)
        if declared is None:
            return getattr(func, "__wrapped__", func)(*args, **kwargs)
        overloads = [declared for declared, _ in getattr(func, "overloads", [(declared, None)])]
        for each in overloads:
            if isinstance(each, Composite) and not name.endswith("_"):
                arguments = bound_arguments(each, args, kwargs)
                if arguments is not None:
                    return each.body(**arguments)
        not_implemented(name if name.endswith("_") else declared.qualified_name, (*args, *kwargs.values()))

    def refuse(self, name: str) -> NoReturn:
        """Refuse an operator."""
        not_implemented(name, (self,))

    # -------------------------------------------------------------------------------------------------------- metadata
    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return self._size

    @property
    def layout(self) -> layout:
        """How the elements are kept."""
        return self._kind

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether the layout is ``torch.sparse_coo``."""
        return self._kind is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is ``torch.sparse_csr``."""
        return self._kind is sparse_csr

    # -------------------------------------------------------------------------------------------------------- the tape
    def with_elements(self, elements: Tensor) -> SparseTensor:
        """Other values at the same places."""
        return like(self, elements)

    @property
    def data(self) -> Tensor:
        """The same memory, off the tape."""
        return self.detach()

    @data.setter
    def data(self, other: Any) -> None:
        become(self, other.detach())

    def of_gradient(self, gradient: Tensor) -> SparseTensor:
        """The gradient of this tensor from that of its values: duplicates of a place share one."""
        if self._kind is not sparse_coo or self._coalesced:
            return like(self, gradient)
        linear, first = np.unique(linear_index(self), return_index=True)
        indices = unravelled(linear, self._size[: self.sparse_dim()])
        return coo(index_tensor(indices, self.device), gradient.index_select(0, index_tensor(first, self.device)), self._size, True)

    def to_gradient(self, gradient: Tensor) -> Tensor:
        """The inverse of `of_gradient`: a gradient at the places of this tensor."""
        if isinstance(gradient, SparseTensor) and gradient._elements.shape == self._elements.shape and gradient._index[0] is self._index[0]:
            return gradient._elements
        return IMPLEMENTATIONS["sparse_mask"](gradient, self)._elements

    # -------------------------------------------------------------------------------------------------------- structure
    def sparse_dim(self) -> int:
        """How many dimensions are indexed."""
        return self._index[0].shape[0] if self._kind is sparse_coo else 2

    def dense_dim(self) -> int:
        """How many dimensions, the last ones, the values have."""
        if self._kind is sparse_coo:
            return self._elements.ndim - 1
        return self._elements.ndim - self._index[1].ndim - 2 * COMPRESSED[self._kind][3]

    def _nnz(self) -> int:
        return self._index[-1].shape[-1]

    @property
    def _backend(self) -> str:
        kind = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(self.device.type, self.device.type.upper())
        return ("Sparse" if self._kind is sparse_coo else "SparseCsr") + kind


_DEFAULT = Tensor.__torch_function__.__func__  # type: ignore[attr-defined]
SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"  # what users see: the layout tells


def not_implemented(name: str, arguments: Any) -> NoReturn:
    """Refuse an operator.

    Raises:
        NotImplementedError: torch's text.
    """
    flat = [e for a in arguments for e in (a if isinstance(a, (list, tuple)) else (a,))]
    where = next((a._backend for a in flat if isinstance(a, SparseTensor)), "SparseCPU")
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{where}' backend. This could be because the operator doesn't exist for this "
        "backend, or was omitted during the selective/custom build process (if using custom build)."
    )


def _in_place(func: Any, found: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What an in-place form does, from what the operator does."""
    target = args[0]
    if not isinstance(target, SparseTensor):
        return func(target, *[a.to_dense() if isinstance(a, SparseTensor) else a for a in args[1:]], **kwargs)
    check_not_leaf(target)
    result = found(*args, **kwargs)
    if result.dtype is not target.dtype:
        result = result.to(target.dtype)
    return become(target, result)


def _into(out: Tensor, result: Tensor) -> Tensor:
    """The result of a call with ``out=``."""
    if isinstance(out, SparseTensor):
        return become(out, result)
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def become(target: Any, other: Any) -> Any:
    """Let a sparse tensor have another one's components."""
    check_not_leaf(target)
    values = other._elements
    if target.requires_grad and target.is_leaf:  # it stays one, and keeps its gradient where its values only change
        if target._elements.shape == values.shape:
            values = target._elements.copy_(values)
        else:
            values = values.detach().requires_grad_()
    target._kind, target._index, target._elements = other._kind, other._index, values
    target._size, target._coalesced = other._size, other._coalesced
    return target


# ---------------------------------------------------------------------------------------------------------------- making them
@view("_sparse_coo_tensor_with_dims_and_tensors.values(Tensor(a) values) -> Tensor(a)", namespaces=())
def of_values(values):
    """The values on their way into a sparse tensor."""
    return values


def own(values: Tensor) -> Tensor:
    """Values of the same memory, as a tensor that stands at a place of its own on the tape."""
    return of_values(values) if values.requires_grad else values.detach()


def _made(kind: layout, index: tuple[Tensor, ...], values: Tensor, size: Any, coalesced: bool) -> SparseTensor:
    made: SparseTensor = new_tensor(SparseTensor)
    made._kind, made._index, made._size, made._coalesced = kind, index, Size(size), coalesced
    made._elements = own(values) if values.requires_grad and values.is_leaf else values
    return made


def coo(indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> SparseTensor:
    """A tensor of coordinates, ``indices`` of (sparse dimensions, elements), without any check."""
    return _made(sparse_coo, (indices,), values, size, coalesced)


def compressed(kind: layout, pointers: Tensor, plain: Tensor, values: Tensor, size: Any) -> SparseTensor:
    """A tensor in a compressed layout, without any check."""
    return _made(kind, (pointers, plain), values, size, True)


def like(tensor: SparseTensor, values: Tensor) -> SparseTensor:
    """Other values at the same places."""
    size = tensor._size[: len(tensor._size) - tensor.dense_dim()] + tuple(values.shape[1:]) if tensor._kind is sparse_coo else tensor._size
    return _made(tensor._kind, tensor._index, values, size, tensor._coalesced)


# ---------------------------------------------------------------------------------------------------------------- indices on the host
def host(indices: Tensor) -> np.ndarray:
    """Indices as numbers."""
    return host_array(indices, "item")


def index_tensor(indices: np.ndarray, where: device | None = None, kind: dtype | None = None) -> Tensor:
    """Numbers as a tensor of indices."""
    return host_tensor(np.ascontiguousarray(indices if kind is not None else indices.astype(np.int64)), kind, where)


def strides_of(size: Any) -> np.ndarray:
    """What an index in each dimension adds to the linear index."""
    counts = np.asarray([*size, 1], np.int64)
    return np.cumprod(counts[::-1])[::-1][1:]


def linear_index(tensor: SparseTensor, dims: Any = None) -> np.ndarray:
    """One number for the place of each element of a tensor of coordinates, in the order of the places."""
    chosen = range(tensor.sparse_dim()) if dims is None else dims
    indices = host(tensor._index[0])
    weights = strides_of([tensor._size[d] for d in chosen])
    return (indices[list(chosen)] * weights[:, None]).sum(0, dtype=np.int64)


def unravelled(linear: np.ndarray, size: Any) -> np.ndarray:
    """The inverse of `linear_index`: (dimensions, elements)."""
    if not len(size):
        return np.zeros((0, len(linear)), np.int64)
    return np.stack(np.unravel_index(linear, tuple(max(int(n), 1) for n in size))).astype(np.int64)


def sum_duplicates(values: Tensor, inverse: np.ndarray, count: int) -> Tensor:
    """The sums of values of the same number in ``inverse``."""
    if values.dtype is bool_:
        return sum_duplicates(values.to(int32), inverse, count) != 0
    total = values.new_zeros((count, *values.shape[1:]))
    return total.index_add(0, index_tensor(inverse, values.device), values)
