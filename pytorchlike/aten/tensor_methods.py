"""Methods and properties of `Tensor` that are no operators of torch's tables, or that are made of other operators.

Transposed and conjugated attributes (``T``, ``mT``, ``H``, ``mH``), ``resize_``, ``set_``, pinned and shared
memory (nothing is either here), and what little torch keeps for old code.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..core.layouts import layout as layout_type
from ..core.layouts import strided
from ..core.state import thread
from ..dispatch.registry import FUNCTION, METHOD, composite, lookup
from ..tensors import layout as memory_layout
from ..tensors import pickling  # noqa: F401 - installs deepcopy and pickle
from ..tensors.geometry import geometry
from ..tensors.mutation import check_tape
from ..tensors.storages import TypedStorage, UntypedStorage, grow
from ..tensors.tensor import Tensor, make_storage, tensor_method, tensor_property
from .legacy import OPTION_NAMES

__all__: list[str] = []


# ---------------------------------------------------------------------------------------------------------------- transposed, conjugated
def _warn_0d(name: str, advice: str) -> None:
    warnings.warn(f"Tensor.{name} is deprecated on 0-D tensors. {advice}", UserWarning, stacklevel=3)


@tensor_property
def T(self: Tensor) -> Tensor:
    """The dimensions in reverse order; a view."""
    if self.ndim == 0:
        _warn_0d("T", "This function is the identity in these cases.")
    elif self.ndim != 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a future "
            "release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
            "dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return lookup("permute")(self, tuple(range(self.ndim))[::-1])


@tensor_property
def mT(self: Tensor) -> Tensor:
    """The last two dimensions swapped; a view."""
    if self.ndim == 0:
        _warn_0d("mT", "This function is the identity in these cases.")
        return lookup("numpy_T")(self)
    return lookup("mT")(self) if self.ndim == 1 else lookup("transpose.int")(self, -2, -1)  # of one dimension, `mT` has the error


@tensor_property
def H(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated, a view."""
    if self.ndim == 0:
        _warn_0d("H", "Consider using x.conj().")
        return self.conj() if self.is_complex() else lookup("numpy_T")(self)  # type: ignore[attr-defined]
    if self.ndim != 2:
        more = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{more}")
    return lookup("adjoint")(self)


@tensor_property
def mH(self: Tensor) -> Tensor:
    """Matrices transposed and conjugated, a view."""
    if self.ndim == 0:
        _warn_0d("mH", "Consider using x.conj().")
        return self.conj() if self.is_complex() else lookup("numpy_T")(self)  # type: ignore[attr-defined]
    if self.ndim == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return lookup("adjoint")(self)


# ---------------------------------------------------------------------------------------------------------------- size and memory
@composite("is_same_size(Tensor self, Tensor other) -> bool")
def is_same_size(self, other):
    """Whether the shapes are equal."""
    return self.shape == other.shape


@composite("sum_to_size(Tensor self, int[] size) -> Tensor", forms=METHOD)
def sum_to_size(self, size):
    """The sum over the dimensions in which ``size`` is 1 or absent: what broadcasting from ``size`` is undone by.

    Raises:
        RuntimeError: ``size`` does not broadcast to the tensor's shape.
    """
    size = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    lead = self.ndim - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, self.shape[lead:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    dims = [*range(lead), *[d + lead for d, n in enumerate(size) if n == 1 and self.shape[d + lead] != 1]]
    if not size:
        return self.sum()
    return self.sum(dims, keepdim=True).view(size) if dims else self


def _moved(self: Tensor, at: Any) -> Tensor:
    """Put a tensor, which must not be a plain one, elsewhere in its storage."""
    self._geometry = at
    self._seen = -1
    return self


@tensor_method
def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Change the shape in place, with more memory if need be (zeros, where torch leaves it to chance).

    Raises:
        RuntimeError: it asks for a gradient, or numpy shares the memory.
    """
    wanted = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    wanted = tuple([int(n) for n in wanted])
    if any(n < 0 for n in wanted):
        raise RuntimeError("numel: integer multiplication overflow")
    if wanted == tuple(self.shape) and memory_format is None:
        return self
    storage = make_storage(self)
    offset = self._geometry.offset
    name = "contiguous_format" if memory_format is None else memory_format.name
    at = geometry(wanted, memory_layout.format_strides(name, wanted, self.stride()), offset)
    if math.prod(wanted) and at.end > storage.base.numel:
        grow(storage, at.end)
    return _moved(self, at)


@tensor_method
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one that varies slowest in memory to the fastest.

    Args:
        ambiguity_check: refuse tensors with several such orders; or memory formats, of which the tensor must be in exactly one.

    Raises:
        RuntimeError: what the check refuses.
    """
    size, stride = tuple(self.shape), self.stride()
    if isinstance(ambiguity_check, bool):
        is_ambiguous = ambiguity_check and (1 in size or any(a == b for a, b in zip(stride, stride[1:])))
    elif isinstance(ambiguity_check, list):
        is_ambiguous = sum(self.is_contiguous(memory_format=format) for format in ambiguity_check) != 1
    else:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if is_ambiguous:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return memory_layout.dim_order(size, stride)


@tensor_method
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Change the shape in place to that of another tensor."""
    return resize_(self, tuple(the_template.shape), memory_format=memory_format)


@composite("resize_as_(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor", forms=FUNCTION)
def resized_as(self, the_template, memory_format):
    """Change the shape of a tensor in place to that of another."""
    return resize_as_(self, the_template, memory_format)


@tensor_method
def resize(self: Tensor, *size: Any) -> Tensor:
    """The tensor in another shape of as many elements; torch deprecates it in favour of ``reshape``."""
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return _resized(self, tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)


def _resized(self: Tensor, wanted: tuple) -> Tensor:
    if math.prod(wanted) != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, wanted))} ({math.prod(wanted)} elements in total), but the given tensor has a size of "
            f"{'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only change the shape of a given tensor, while "
            "preserving the number of elements. "
        )
    return self.reshape(wanted)  # type: ignore[attr-defined]


@tensor_method
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make the tensor an alias of another tensor, or a window of a storage; without a source, empty memory.

    Raises:
        RuntimeError: another dtype, a window that does not fit, or a leaf that asks for a gradient; torch's texts.
    """
    if thread.state.grad_enabled:
        check_tape(self)
    if source is None:
        source = self.new_empty(0)  # type: ignore[attr-defined]
    if isinstance(source, Tensor):
        found, at = source.dtype, source._where()
        storage = make_storage(source)
        if size is not None:
            at = _window(storage, storage_offset, size, stride)
    elif isinstance(source, (UntypedStorage, TypedStorage)):
        storage = source._storage
        found = storage.value.aval.dtype
        at = _window(storage, storage_offset, (storage.base.numel - storage_offset,) if size is None else size, stride)
    else:
        raise TypeError(f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}")
    if found is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {OPTION_NAMES.get(found.name, found.name)} to a tensor of type {OPTION_NAMES.get(self.dtype.name, self.dtype.name)}")
    flags = 0 if self._storage is None else self._flags
    self._storage, self._base_tensor, self._flags = storage, None, flags
    return _moved(self, at)


def _window(storage: Any, offset: int, size: Any, stride: Any) -> Any:
    size = (size,) if isinstance(size, int) else tuple(size)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    at = geometry(size, memory_layout.contiguous_strides(size) if stride is None else tuple(stride), offset)
    if math.prod(size) and at.end > storage.base.numel:
        raise RuntimeError("Trying to resize storage that is not resizable")
    return at


@tensor_method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same memory in the same way."""
    return make_storage(self) is make_storage(tensor) and self._geometry is tensor._geometry


@tensor_method
def is_shared(self: Tensor) -> bool:
    """Whether other processes see the memory: never on the CPU, always on an accelerator (as torch says it)."""
    return self.is_cuda


@tensor_method
def share_memory_(self: Tensor) -> Tensor:
    """Nothing: tensors travel to other processes by copy."""
    return self


@tensor_method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked: never, JAX decides about transfers."""
    return False


@tensor_method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself: JAX decides about transfers."""
    return self


@tensor_method
def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing: JAX keeps memory as long as something that was started uses it."""


@tensor_method
def is_nonzero(self: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(self)


@tensor_method
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The tensor in the shape of another of as many elements; torch deprecates it in favour of ``reshape``."""
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return _resized(self, tuple(tensor.shape))


@tensor_method
def is_distributed(self: Tensor) -> bool:
    """Kept for old code: False."""
    return False


@tensor_method
def storage_type(self: Tensor) -> type:
    """The class of the tensor's typed storage."""
    return type(self.storage())  # type: ignore[attr-defined]


@tensor_method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``Module.load_state_dict`` puts in the place of this tensor: its copy of ``other``, or ``other`` itself.

    Args:
        assign: ``other`` itself.
    """
    return other.detach() if assign else self.copy_(other).detach()  # type: ignore[attr-defined]


@composite("fill_diagonal_(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor", forms=METHOD)
def fill_diagonal_(self, fill_value, wrap):
    """Fill the main diagonal in place.

    Args:
        wrap: in a matrix of more rows than columns it begins again below, after an empty row.

    Raises:
        RuntimeError: fewer than two dimensions, or more than two that are not equally long.
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, start = sum(self.stride()), self.storage_offset()
    length = min(self.shape)
    self.as_strided((length,), (step,), start).fill_(fill_value)
    rows, columns = self.shape[:2]
    if wrap and self.ndim == 2 and rows > columns + 1:
        more = (rows * columns + columns) // (columns + 1) - length
        self.as_strided((more,), (step,), start + self.stride(0) * (columns + 1)).fill_(fill_value)
    return self


@composite("detach(Tensor self) -> Tensor", forms=FUNCTION)
def detach(self):
    """The same memory, off the tape."""
    return self.detach()


# ---------------------------------------------------------------------------------------------------------------- Python functions of elements
def _replace_elements(name: str, self: Tensor, others: tuple[Tensor, ...], function: Any) -> Tensor:
    """Replace each element in place by what a Python function makes of it and the elements beside it."""
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for other in others:
        if other.requires_grad:
            raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
        if other.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {other.type()})")  # type: ignore[attr-defined]
    if self.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    columns = [tensor.expand(self.shape).reshape(-1).tolist() for tensor in (self, *others)]  # type: ignore[attr-defined]
    made = self.new_tensor([function(*elements) for elements in zip(*columns)]).reshape(self.shape)  # type: ignore[attr-defined]
    return self.copy_(made)  # type: ignore[attr-defined]


@tensor_method
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element in place by a Python function of it."""
    return _replace_elements("apply_", self, (), callable)


@tensor_method
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element in place by a Python function of it and of the other tensor's."""
    return _replace_elements("map_", self, (tensor,), callable)


@tensor_method
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element in place by a Python function of it and of two other tensors'."""
    return _replace_elements("map2_", self, (x, y), callable)


# ---------------------------------------------------------------------------------------------------------------- attributes
@tensor_property
def layout(self: Tensor) -> layout_type:
    """How the elements are kept: always ``torch.strided``."""
    return strided


@tensor_property
def is_xla(self: Tensor) -> bool:
    """Whether the tensor is on the device that is called ``xla``."""
    return self.device.type == "xla"


@tensor_property
def is_ipu(self: Tensor) -> bool:
    """Always False."""
    return False


@tensor_property
def is_maia(self: Tensor) -> bool:
    """Always False."""
    return False


@tensor_property
def name(self: Tensor) -> None:
    """Kept for old code: None."""
    return None


@tensor_property
def __cuda_array_interface__(self: Tensor) -> dict[str, Any]:
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use tensor.cuda() to copy "  # type: ignore[attr-defined]
            "tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use var.detach() to get Variable "
            "that doesn't require grad."
        )
    from ..tensors.convert import to_jax

    return getattr(to_jax(self), "__cuda_array_interface__")


@tensor_method
def __dir__(self: Tensor) -> list[str]:
    from ..dispatch.forms import method_names

    found = {*dir(type(self)), *self.__dict__, *method_names()}
    return sorted(found if self.is_cuda else found - {"__cuda_array_interface__"})
