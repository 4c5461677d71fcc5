"""Views: operators that only map the geometry of a tensor; and those that are views when the strides allow it (`reshape`, `contiguous`).

The maps themselves are in `tensors.geometry`; reading a view, writing through it and its gradient are the same for all of them
(`tensors.windows`).
"""

from __future__ import annotations

import operator
from typing import Any

import jax.numpy as jnp

from ..core.dtype import bool_, int64
from ..core.promotion import scalar_type_name
from ..dispatch.registry import FUNCTION, INPLACE, METHOD, composite, op, view
from ..tensors import elements, geometry, parts

_WITH_INPLACE = FUNCTION | METHOD | INPLACE


# -- shapes ----------------------------------------------------------------------------------------------------------------------------


@view("view(Tensor(a) self, int[] size) -> Tensor(a)", forms=METHOD)
def view_size(self, size):
    """The same elements with another size (-1: inferred); torch's error when the strides do not allow it."""
    return geometry.view(self, size)


@view("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", forms=METHOD, changes_elements=True, differentiable=False)
def view_dtype(self, seen, dtype):
    """The same bytes as another dtype; where an element takes more or fewer of them, the last dimension changes.  Grad: none."""
    return elements.view_dtype(self, seen, dtype)


@view("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", forms=METHOD)
def view_as(self, other):
    """``self.view(other.size())``."""
    return geometry.view(self, other.size)


@view("unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)")
def unflatten(self, dim, sizes):
    """One dimension becomes several."""
    return geometry.unflatten(self, dim, sizes)


@view("expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)", forms=METHOD)
def expand(self, size, implicit):
    """Dimensions of size 1 repeat without a copy, new ones come in front; -1 keeps a size."""
    return geometry.expand(self, size)


@view("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", forms=METHOD)
def expand_as(self, other):
    """``self.expand(other.size())``."""
    return geometry.expand(self, other.size)


@view("squeeze(Tensor(a) self) -> Tensor(a)", forms=_WITH_INPLACE)
def squeeze(self):
    """Without the dimensions of size 1."""
    return geometry.squeeze(self)


@view("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", forms=_WITH_INPLACE)
def squeeze_dim(self, dim):
    """Without this dimension if its size is 1."""
    return geometry.squeeze(self, (dim,))


@view("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", forms=_WITH_INPLACE)
def squeeze_dims(self, dim):
    """Without those of these dimensions whose size is 1."""
    return geometry.squeeze(self, dim)


@view("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", forms=_WITH_INPLACE)
def unsqueeze(self, dim):
    """A dimension of size 1 put in at ``dim``."""
    return geometry.unsqueeze(self, dim)


# -- order of dimensions ---------------------------------------------------------------------------------------------------------------


@view("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", forms=_WITH_INPLACE)
def transpose(self, dim0, dim1):
    """Two dimensions change places."""
    return geometry.transpose(self, dim0, dim1)


@view("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", forms=_WITH_INPLACE)
def swapdims(self, dim0, dim1):
    """`transpose` under another name."""
    return geometry.transpose(self, dim0, dim1)


@view("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", forms=_WITH_INPLACE)
def swapaxes(self, axis0, axis1):
    """`transpose` under numpy's name."""
    return geometry.transpose(self, axis0, axis1)


@view("t(Tensor(a) self) -> Tensor(a)", forms=_WITH_INPLACE)
def t(self):
    """The transpose of a matrix; fewer dimensions stay as they are."""
    return geometry.t(self)


@view("permute(Tensor(a) self, int[] dims) -> Tensor(a)")
def permute(self, dims):
    """Dimension i of the result is dimension ``dims[i]``."""
    return geometry.permute(self, dims)


@view("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
def movedim(self, source, destination):
    """One dimension goes to another place, the others keep their order."""
    return geometry.movedim(self, (source,), (destination,))


@view("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
def movedims(self, source, destination):
    """Dimensions go to other places, the others keep their order."""
    return geometry.movedim(self, source, destination)


@view("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
def moveaxis(self, source, destination):
    """`movedim` under numpy's name."""
    return geometry.movedim(self, (source,), (destination,))


@view("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
def moveaxes(self, source, destination):
    """`movedim` under numpy's name."""
    return geometry.movedim(self, source, destination)


@view("numpy_T(Tensor(a) self) -> Tensor(a)", forms=FUNCTION, namespaces=())
def numpy_t(self):
    """What the property ``T`` is: all dimensions in reverse order."""
    return geometry.numpy_t(self)


@view("mT(Tensor(a) self) -> Tensor(a)", forms=FUNCTION, namespaces=())
def matrix_t(self):
    """What the property ``mT`` is: the last two dimensions change places."""
    return geometry.matrix_t(self)


@view("_matrix_t(Tensor(a) self, str name) -> Tensor(a)", forms=FUNCTION, namespaces=())
def named_matrix_t(self, name):
    """`matrix_t` for the operator of this name, which errors mention."""
    return geometry.matrix_t(self, name)


@composite("adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self):
    """The last two dimensions change places; complex elements are conjugated."""
    found = named_matrix_t(self, "adjoint()")
    return found.conj() if self.is_complex() else found


# -- parts -----------------------------------------------------------------------------------------------------------------------------


@view("narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)")
def narrow(self, dim, start, length):
    """``length`` indices of one dimension from ``start`` on."""
    return geometry.narrow(self, dim, start, length)


@composite("narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)")
def narrow_tensor(self, dim, start, length):
    """`narrow` from an index that is read from a 0-d tensor."""
    if start.ndim or start.is_floating_point() or start.is_complex() or start.dtype is bool_:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return self.narrow(dim, int(start.item()), length)


@view("select.int(Tensor(a) self, int dim, int index) -> Tensor(a)")
def select(self, dim, index):
    """One index of a dimension, which goes away."""
    return geometry.select(self, dim, index)


@view("slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)", forms=FUNCTION, namespaces=())
def slice_dim(self, dim, start, end, step):
    """What ``x[start:end:step]`` is, along one dimension."""
    return geometry.slice(self, dim, start, end, step)


@view("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
def diagonal(self, offset, dim1, dim2):
    """The diagonals over two dimensions; they become the last dimension."""
    return geometry.diagonal(self, offset, dim1, dim2)


@view("diagonal.linalg(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", forms=FUNCTION, namespaces=("linalg",))
def linalg_diagonal(A, offset, dim1, dim2):
    """The diagonals over two dimensions, the last two unless told; they become the last dimension."""
    return geometry.diagonal(A, offset, dim1, dim2)


@view("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", forms=METHOD)
def unfold(self, dimension, size, step):
    """All windows of ``size`` indices, ``step`` apart; the index within a window becomes the last dimension."""
    return geometry.unfold(self, dimension, size, step)


@view("as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)", forms=_WITH_INPLACE)
def as_strided(self, size, stride, storage_offset):
    """Any window on the storage."""
    return geometry.as_strided(self, size, stride, storage_offset)


# -- several parts ---------------------------------------------------------------------------------------------------------------------


@view("split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]")
def split(self, split_size, dim):
    """Parts of ``split_size``; the last one may be smaller."""
    return parts.split(self, split_size, dim)


@view("split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]")
def split_sizes(self, split_size, dim):
    """Parts of given sizes."""
    return parts.split_with_sizes(self, split_size, dim)


# The function form is Python in torch, with argument names of its own.
@view("split.function(Tensor(a -> *) tensor, int split_size_or_sections, int dim=0) -> Tensor(a)[]", forms=FUNCTION)
def split_function(tensor, split_size_or_sections, dim):
    """Parts of one size; the last one may be smaller."""
    return parts.split(tensor, split_size_or_sections, dim)


@view("split.function_sizes(Tensor(a -> *) tensor, int[] split_size_or_sections, int dim=0) -> Tensor(a)[]", forms=FUNCTION)
def split_function_sizes(tensor, split_size_or_sections, dim):
    """Parts of given sizes."""
    return parts.split_with_sizes(tensor, split_size_or_sections, dim)


@view("split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]")
def split_with_sizes(self, split_sizes, dim):
    """Parts of given sizes."""
    return parts.split_with_sizes(self, split_sizes, dim)


@view("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(self, chunks, dim):
    """At most ``chunks`` parts of one size; the last one may be smaller."""
    return parts.chunk(self, chunks, dim)


@view("tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]")
def tensor_split(self, sections, dim):
    """That many parts, whose sizes differ by one at most."""
    return parts.tensor_split(self, sections, dim)


@view("tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]")
def tensor_split_indices(self, indices, dim):
    """The parts between given indices."""
    return parts.tensor_split(self, indices, dim)


@composite("tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]")
def tensor_split_tensor(self, tensor_indices_or_sections, dim=0):
    """`tensor_split` with numbers that are read from a tensor: 0-d for sections, 1-d for indices."""
    given = tensor_indices_or_sections
    if given.ndim > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor with "
            f"{given.ndim} dims"
        )
    if given.dtype is not int64:
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {scalar_type_name(given.dtype)}"
        )
    return self.tensor_split(given.tolist(), dim)


@view("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def hsplit(self, sections):
    """Equal parts along dimension 1 (of a vector: 0)."""
    return parts.numpy_split("hsplit", self, sections)


@view("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def hsplit_indices(self, indices):
    """The parts between indices of dimension 1 (of a vector: 0)."""
    return parts.numpy_split("hsplit", self, indices)


@view("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def vsplit(self, sections):
    """Equal parts along dimension 0."""
    return parts.numpy_split("vsplit", self, sections)


@view("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def vsplit_indices(self, indices):
    """The parts between indices of dimension 0."""
    return parts.numpy_split("vsplit", self, indices)


@view("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
def dsplit(self, sections):
    """Equal parts along dimension 2."""
    return parts.numpy_split("dsplit", self, sections)


@view("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
def dsplit_indices(self, indices):
    """The parts between indices of dimension 2."""
    return parts.numpy_split("dsplit", self, indices)


@view("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(self, dim):
    """One part for each index of a dimension, which goes away."""
    return parts.unbind(self, dim)


# -- views if the strides allow it -----------------------------------------------------------------------------------------------------


def _ints(given: Any) -> tuple[int, ...]:
    return tuple(map(operator.index, given)) if isinstance(given, (tuple, list)) else (operator.index(given),)


@op("_unsafe_view(Tensor self, int[] size) -> Tensor", forms=FUNCTION, namespaces=())
def reshaped_copy(self, size):
    """The elements in row-major order with another size, as a tensor of its own."""
    return jnp.reshape(self, size)


@reshaped_copy.grad("self")
def _(g, self_meta):
    return jnp.reshape(g, self_meta.shape)


@composite("reshape(Tensor(a) self, int[] shape) -> Tensor(a)")
def reshape(self, shape):
    """Another size for the same elements: a view where the strides allow it, otherwise a contiguous copy."""
    size = geometry.infer_size(_ints(shape), self.numel())
    if geometry.view_stride(self.shape, self.stride(), size) is None:
        return reshaped_copy(self, size)
    return self.view(size)


@composite("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", forms=METHOD)
def reshape_as(self, other):
    """``self.reshape(other.size())``."""
    return self.reshape(other.shape)


@composite("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
def flatten(self, start_dim=0, end_dim=-1):
    """Dimensions ``start_dim`` to ``end_dim`` become one, as by `reshape`; ``self`` where that changes nothing."""
    size = geometry.flatten_size(self.shape, start_dim, end_dim)
    return self if size == self.shape else self.reshape(size)


@composite("ravel(Tensor(a) self) -> Tensor(a)")
def ravel(self):
    """All elements in one dimension: a view of a contiguous tensor, a copy of any other."""
    return self.contiguous().view(-1)


@composite("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", forms=METHOD)
def contiguous(self, memory_format="contiguous_format"):
    """``self`` if its elements lie in memory as the format orders them, otherwise a copy whose do.

    Raises:
        RuntimeError: ``preserve_format`` for a tensor that is not contiguous.
    """
    if self.is_contiguous(memory_format=memory_format):
        return self
    if getattr(memory_format, "name", str(memory_format)).endswith("preserve_format"):
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self.clone(memory_format=memory_format)
