"""How sparse tensors are made: from indices and values, from dense tensors, from diagonals; and their invariants."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.device import as_device
from ..core.dtype import dtype as dtype_type
from ..core.dtype import int32, int64
from ..core.layouts import layout as layout_type
from ..core.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..core.size import Size
from ..core.state import default_dtype
from ..dispatch.registry import METHOD, composite, lookup
from ..tensors import rebuild
from ..tensors.tensor import Tensor
from .constructors import tensor as tensor_of
from .sparse_convert import converted, dense_to
from .sparse_tensor import COMPRESSED, LAYOUT_NAMES, SparseTensor, compressed, coo, host, index_tensor, linear_index, own

__all__ = [
    "check_sparse_tensor_invariants", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor", "spdiags",
]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- the parts
def _indices(given: Any, where: Any, keep: bool = False) -> Tensor:
    """What was passed for indices, as int64 (or int32 where that is kept)."""
    made = given if isinstance(given, Tensor) else tensor_of(given, device=where)
    if not (made.dtype is int64 or keep and made.dtype is int32):
        made = made.to(int64)
    return made.detach() if where is None else made.detach().to(where)


def _values(given: Any, dtype: dtype_type | None, where: Any) -> Tensor:
    if isinstance(given, Tensor):
        made = given.to(device=where or given.device, dtype=dtype or given.dtype)
        return own(made)
    if dtype is None and isinstance(given, (list, tuple)) and not len(given):
        dtype = default_dtype()
    return tensor_of(given, dtype=dtype, device=where)


def _finished(made: SparseTensor, requires_grad: bool) -> SparseTensor:
    return made.requires_grad_() if requires_grad else made  # type: ignore[return-value]


def _where(device: Any, values: Any) -> Any:
    if device is not None:
        return as_device(device)
    return values.device if isinstance(values, Tensor) else None


# ---------------------------------------------------------------------------------------------------------------- coordinates
def sparse_coo_tensor(indices: Any, values: Any = None, size: Any = None, *, dtype: dtype_type | None = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None) -> Tensor:  # fmt: skip
    """A sparse tensor of coordinates: element ``values[k]`` at ``indices[:, k]``; elements of the same place count as their sum.

    Args:
        indices: (sparse dimensions, elements); or, alone, the size of an empty tensor.
        values: (elements, *dense dimensions).
        size: the shape; by default the smallest that holds all indices.
        check_invariants: look at the indices; by default as `check_sparse_tensor_invariants` says.
        is_coalesced: promise that each place occurs once, in order.

    Raises:
        RuntimeError: the parts do not fit each other, torch's texts.
    """
    if values is None:
        size = Size(indices if size is None else size)
        where = None if device is None else as_device(device)
        kind = dtype or default_dtype()
        empty = lookup("zeros")((0,), dtype=kind, device=where)
        found = coo(lookup("zeros")((len(size), 0), dtype=int64, device=where), empty, size, True)
        return _finished(found, requires_grad)
    where = _where(device, values)
    elements = _values(values, dtype, where)
    parts = _indices(indices, elements.device)
    if parts.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(parts.shape)}")
    if elements.ndim == 0:
        elements = elements.unsqueeze(0)
    if parts.shape[1] != elements.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {parts.shape[1]}, nnz from values: {elements.shape[0]}"
        )
    if size is None:
        size = (*_smallest(parts), *elements.shape[1:])
    size = Size(int(n) for n in size)
    if len(size) != parts.shape[0] + elements.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {parts.shape[0]}, dense_dim = "
            f"{elements.ndim - 1}"
        )
    wanted = [elements.shape[0], *size[parts.shape[0] :]]
    if list(elements.shape) != wanted:
        raise RuntimeError(f"values has incorrect size, expected {wanted}, got {list(elements.shape)}")
    made = coo(parts, elements, size, bool(is_coalesced))
    if _checks(check_invariants):
        _check_coo(made, is_coalesced)
    return _finished(made, requires_grad)


def _smallest(indices: Tensor) -> list[int]:
    numbers = host(indices)
    if numbers.shape[1] == 0:
        return [0] * numbers.shape[0]
    if numbers.size and numbers.min() < 0:
        raise RuntimeError(f"found negative index {numbers.min()} for dim {int(np.argmin(numbers.min(1)))}")
    return [int(n) + 1 for n in numbers.max(1)]


def _check_coo(made: SparseTensor, is_coalesced: bool | None) -> None:
    numbers = host(made._index[0])
    for d in range(numbers.shape[0]) if numbers.shape[1] else ():
        low, high = int(numbers[d].min()), int(numbers[d].max())
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {d}")
        if high >= made._size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {made._size[d]} but found index {high}")
    if is_coalesced and numbers.shape[1] > 1 and not bool((np.diff(linear_index(made)) > 0).all()):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


# ---------------------------------------------------------------------------------------------------------------- compressed layouts
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: dtype_type | None = None,
                             layout: layout_type | None = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                             check_invariants: bool | None = None) -> Tensor:  # fmt: skip
    """A sparse tensor whose rows (CSR, BSR) or columns (CSC, BSC) are given by where their elements begin and end.

    Args:
        compressed_indices: row or column ``k`` has the elements from ``compressed_indices[k]`` to ``compressed_indices[k + 1]``.
        plain_indices: the column or row of each element.
        values: the elements, or blocks of them.

    Raises:
        RuntimeError: the parts do not fit each other, torch's texts.
    """
    if layout not in COMPRESSED:
        name = "none" if layout is None else LAYOUT_NAMES[layout.name]
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {name}")
    where = _where(device, values)
    elements = _values(values, dtype, where)
    pointers, plain = _indices(compressed_indices, elements.device, True), _indices(plain_indices, elements.device, True)
    if size is None:
        size = _inferred(layout, pointers, plain, elements)
    made = compressed(layout, pointers, plain, elements, Size(int(n) for n in size))
    if _checks(check_invariants):
        _check_compressed(made)
    return _finished(made, requires_grad)


def _inferred(layout: layout_type, pointers: Tensor, plain: Tensor, values: Tensor) -> tuple[int, ...]:
    _, _, by_rows, in_blocks = COMPRESSED[layout]
    batch = tuple(plain.shape[:-1])
    block = tuple(values.shape[plain.ndim : plain.ndim + 2]) if in_blocks else (1, 1)
    numbers = host(plain)
    along, across = pointers.shape[-1] - 1, int(numbers.max()) + 1 if numbers.size else 0
    rows, columns = (along, across) if by_rows else (across, along)
    return (*batch, rows * block[0], columns * block[1], *values.shape[plain.ndim + 2 * in_blocks :])


def _check_compressed(made: SparseTensor) -> None:
    pointer_name, plain_name, by_rows, in_blocks = COMPRESSED[made._kind]
    batch = made._index[1].ndim - 1
    block = made._elements.shape[batch + 1 : batch + 3] if in_blocks else (1, 1)
    rows, columns = made._size[batch] // block[0], made._size[batch + 1] // block[1]
    along, across, name = (rows, columns, "ncols") if by_rows else (columns, rows, "nrows")
    pointers, plain = host(made._index[0]), host(made._index[1])
    count = plain.shape[-1]
    if pointers.shape[-1] != along + 1:
        raise RuntimeError(f"{pointer_name}.shape[-1] must be equal to the number of {name[:1]}{'rows' if by_rows else 'cols'} + 1 as {along + 1}, but got "
                           f"{pointers.shape[-1]}")  # fmt: skip
    if (pointers[..., 0] != 0).any():
        raise RuntimeError(f"`{pointer_name}[..., 0] == 0` is not satisfied.")
    if (pointers[..., -1] != count).any():
        raise RuntimeError(f"`{pointer_name}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(pointers)
    if (steps < 0).any() or (steps > across).any():
        raise RuntimeError(f"`0 <= {pointer_name}[..., 1:] - {pointer_name}[..., :-1] <= {name}` is not satisfied.")
    if plain.size and (plain.min() < 0 or plain.max() >= across):
        raise RuntimeError(f"`0 <= {plain_name} < {name}` is not satisfied.")


def _named(layout: layout_type, pointers: str, plain: str) -> Callable:
    def make(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None,
             pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None) -> Tensor:  # fmt: skip
        return sparse_compressed_tensor(
            compressed_indices, plain_indices, values, size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory,
            requires_grad=requires_grad, check_invariants=check_invariants,
        )  # fmt: skip

    name = f"{layout.name}_tensor"

    @functools.wraps(make)
    def named(*args: Any, **kwargs: Any) -> Tensor:
        for own_name, common in ((pointers, "compressed_indices"), (plain, "plain_indices")):
            if own_name in kwargs:
                kwargs[common] = kwargs.pop(own_name)
        return make(*args, **kwargs)

    named.__name__ = named.__qualname__ = name
    named.__doc__ = f"A sparse tensor of layout ``torch.{layout.name}``; see `sparse_compressed_tensor`."
    return named


sparse_csr_tensor = _named(sparse_csr, "crow_indices", "col_indices")
sparse_csc_tensor = _named(sparse_csc, "ccol_indices", "row_indices")
sparse_bsr_tensor = _named(sparse_bsr, "crow_indices", "col_indices")
sparse_bsc_tensor = _named(sparse_bsc, "ccol_indices", "row_indices")
for _function in (sparse_coo_tensor, sparse_compressed_tensor, sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor):
    _function.__module__ = "torch"


# ---------------------------------------------------------------------------------------------------------------- invariants
_state = {"checks": False}


def _checks(asked: bool | None) -> bool:
    return _state["checks"] if asked is None else asked


class check_sparse_tensor_invariants:  # noqa: N801 - torch's name
    """Whether constructors of sparse tensors look at the indices: a context manager, a decorator, and switches for the process.

    Args:
        enable: the state inside the block.
    """

    __module__ = "torch.sparse"

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are looked at."""
        return _state["checks"]

    @staticmethod
    def enable() -> None:
        """Look at indices from now on."""
        _state["checks"] = True

    @staticmethod
    def disable() -> None:
        """Trust indices from now on."""
        _state["checks"] = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance for context nesting.")
        self.saved_state, _state["checks"] = _state["checks"], self.state

    def __exit__(self, *error: object) -> None:
        assert self.saved_state is not None
        _state["checks"], self.saved_state = self.saved_state, None

    def __call__(self, function: Callable) -> Callable:
        """The function, run in this state."""

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


# ---------------------------------------------------------------------------------------------------------------- from dense tensors
@composite("to_sparse(Tensor self, *, Layout? layout=None, int[]? blocksize=None, int? dense_dim=None) -> Tensor", forms=METHOD)
def to_sparse(self, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not zero, in a sparse layout (coordinates by default)."""
    if layout is strided:
        return self
    return dense_to(self, layout or sparse_coo, blocksize, dense_dim)


@composite("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", forms=METHOD)
def to_sparse_dims(self, sparse_dim):
    """The same with only the first ``sparse_dim`` dimensions indexed: an element is a part of the rest."""
    if self.ndim and sparse_dim <= 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if sparse_dim > self.ndim:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{self.ndim}] range, but {sparse_dim} is given")
    return dense_to(self, sparse_coo, None, self.ndim - sparse_dim)


def _to_layout(kind: layout_type, schema: str) -> None:
    blocks = COMPRESSED[kind][3] if kind in COMPRESSED else False

    if blocks:

        @composite(schema, forms=METHOD)
        def convert(self, blocksize, dense_dim=None):
            """The same tensor in a layout of compressed blocks."""
            return dense_to(self, kind, blocksize, dense_dim)

    else:

        @composite(schema, forms=METHOD)
        def convert(self, dense_dim=None):
            """The same tensor in a compressed layout."""
            return dense_to(self, kind, None, dense_dim)


for _kind in (sparse_csr, sparse_csc):
    _to_layout(_kind, f"to_{_kind.name}(Tensor self, int? dense_dim=None) -> Tensor")
for _kind in (sparse_bsr, sparse_bsc):
    _to_layout(_kind, f"to_{_kind.name}(Tensor self, int[] blocksize, int? dense_dim=None) -> Tensor")


@composite("to_sparse_coo(Tensor self) -> Tensor", forms=METHOD)
def to_sparse_coo(self):
    """The elements that are not zero, as a sparse tensor of coordinates."""
    return dense_to(self, sparse_coo)


# ---------------------------------------------------------------------------------------------------------------- diagonals
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: layout_type | None = None) -> Tensor:
    """A sparse matrix with the rows of ``diagonals`` along the diagonals ``offsets``.

    Raises:
        RuntimeError: shapes that do not fit, a repeated offset; torch's texts.
    """
    rows = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    if rows.ndim != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if layout is not None and layout not in (sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {LAYOUT_NAMES[layout.name]}")
    numbers = np.atleast_1d(host(offsets))
    if offsets.dtype is not int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype}")
    if len(numbers) != rows.shape[0]:
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({len(numbers)})")
    if len(np.unique(numbers)) != len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    places: list[np.ndarray] = []
    taken: list[np.ndarray] = []
    for k, offset in enumerate(numbers.tolist()):
        columns = np.arange(max(offset, 0), min(shape[1], shape[0] + offset, rows.shape[1]), dtype=np.int64)
        places.append(np.stack([columns - offset, columns]))
        taken.append(k * rows.shape[1] + columns)
    indices = index_tensor(np.concatenate(places, 1), rows.device)
    values = rows.reshape(-1).index_select(0, index_tensor(np.concatenate(taken), rows.device))
    made = coo(indices, values, tuple(shape))
    return made if layout in (None, sparse_coo) else converted(made, layout)


spdiags.__module__ = "torch.sparse"


# ---------------------------------------------------------------------------------------------------------------- files
def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor from a pickle or a file.

    Raises:
        RuntimeError: the parts do not fit each other.
        NotImplementedError: an unknown layout.
    """
    if layout is sparse_coo:
        indices, values, size, *rest = data
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=rest[0] if rest else None)
    if layout in COMPRESSED:
        pointers, plain, values, size = data
        return sparse_compressed_tensor(pointers, plain, values, size, layout=layout, check_invariants=True)
    raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")


_rebuild_sparse_tensor.__module__ = rebuild.__name__
rebuild._rebuild_sparse_tensor = _rebuild_sparse_tensor
