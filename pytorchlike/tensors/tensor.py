"""`Tensor`: a mutable handle on values.  Its state and properties; operators, conversion, indexing are installed by their own files.

A *plain* tensor holds its `Value` and nothing else.  The first view of it, or the first write into it, gives it a `Storage`, and
from then on its content is what the storage holds at the tensor's geometry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.device import device
from ..core.dtype import dtype
from ..core.size import Size
from ..core.state import thread
from ..graph.executors import without_gradient
from ..graph.recorder import record
from ..graph.value import Aval, InferenceValue, Value, aval_of, constant
from . import inference, layout, views
from .geometry import Geometry, geometry
from .relayout import instruction as relayout_instruction
from .restricted import INFERENCE, RESTRICTED, STALE_VIEW, UNTRACKED, VERSION_SHIFT, refusal
from .storage import Storage
from .tape import AccumulateGrad, Edge, Node, accumulator, connect, move_retained

__all__ = [
    "PLAIN_TYPES", "Tensor", "TensorType", "alias_of", "base_aval", "make_storage", "make_tensor", "make_view", "tensor_method", "tensor_property", "view_edge",
]  # fmt: skip

Method = TypeVar("Method", bound=Callable)

#: name -> function that makes and installs a method of `Tensor` (dispatch/forms.py); most are made when first asked for.
method_makers: list[Callable[[str], Any]] = []


def _made_method(name: str) -> Any:
    for make in method_makers:
        try:
            return make(name)
        except KeyError:
            pass
    return None


class TensorType(type):
    """The class of `Tensor`: methods that are not made yet are made when they are looked up."""

    def __getattr__(cls, name: str) -> Any:
        found = None if name.startswith("__") else _made_method(name)
        if found is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        return found


class Tensor(metaclass=TensorType):
    """An n-dimensional array of one dtype on one device, with torch's interface.

    Slots:
        _value: the value of a plain tensor; for a view, what was last read.
        _storage: None for a plain tensor.
        _edge: ``(node, k)`` on the tape; a leaf's leads to its `AccumulateGrad`; None when no gradient is asked for.
        _geometry, _seen, _base_tensor, _flags: only with a storage: where in it, the storage version ``_value`` was read at (``-1 - v``: not
            read yet, ``_edge`` is of version v), the base tensor of a differentiable view, see restricted.py.
        _grad: ``.grad``, unset until there is one.
    """

    __slots__ = ("_value", "_storage", "_edge", "_geometry", "_seen", "_base_tensor", "_flags", "_grad", "__weakref__", "__dict__")
    __module__ = "torch"
    __hash__ = object.__hash__
    __array_priority__ = 1000

    _value: Value
    _storage: Storage | None
    _edge: Edge | None
    _geometry: Geometry
    _seen: int
    _base_tensor: Tensor | None
    _flags: int
    _grad: Tensor | None

    if TYPE_CHECKING:  # operators, conversion, indexing, gradients are installed when the package is imported

        grad: Tensor | None
        grad_dtype: dtype | None

        def _binary(self, other: Any) -> Tensor: ...
        def _unary(self) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __len__(self) -> int: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __float__(self) -> float: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _binary
        __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _binary
        __neg__ = __abs__ = __invert__ = _unary
        __eq__: Any
        __ne__: Any

    # -------------------------------------------------------------------------------------------------------- content
    def _read(self) -> Value:
        """The current value of a tensor that has a storage."""
        storage = self._storage
        assert storage is not None
        if storage.host is not None:
            if self._geometry.numel * 4 < storage.base.numel and storage.host.is_shared():
                return self._read_shared(storage)
            storage.refresh()
        if self._base_tensor is None:
            if self._geometry is storage.base:
                return storage.value
        if self._seen != storage.version:
            self._refresh(storage)
        return self._value

    def _refresh(self, storage: Storage) -> None:
        """Read the window anew after the storage moved on."""
        if self._base_tensor is not None:
            self._current_edge()
        at = self._geometry
        if at is storage.base:
            self._value = storage.value
        else:
            self._value = views.read(storage.value, storage.base, at)
            self._value.origin = (storage.changes, storage.changes.tracked)
        self._seen = storage.version if not self._flags & STALE_VIEW else -1 - storage.version

    def _read_shared(self, storage: Storage) -> Value:
        """Read a small window straight from memory that numpy code may have written to, instead of looking at all of it."""
        self._current_edge()
        at, aval = self._geometry, storage.value.aval
        assert storage.host is not None
        value = self._value = constant(storage.host.read_window(at), aval_of(tuple(at.size), self.dtype, aval.device, at.stride))
        value.origin = (storage.changes, storage.changes.tracked)
        self._seen = -1 - storage.version
        return value

    def _content(self) -> Value:
        """The current value, also of a view that no operator may use any more (see restricted.py)."""
        if self._storage is None:
            return self._value
        state = thread.state
        if not self._flags & RESTRICTED or state.levels:  # inside of a transformation what is read has a place on an outer tape, too
            return self._read()
        recording, state.grad_enabled = state.grad_enabled, False
        try:
            return self._read()
        finally:
            state.grad_enabled = recording

    def _aval(self) -> Aval:
        """Size, dtype, device and strides (without reading a view)."""
        if self._storage is None:
            return self._value.aval
        return self._content().aval

    def _where(self) -> Geometry:
        """The geometry: size, strides, offset."""
        if self._storage is None:
            aval = self._value.aval
            return geometry(aval.size, aval.stride)
        return self._geometry

    def __getattr__(self, name: str) -> Any:
        own = Tensor.__dict__.get(name)
        if isinstance(own, property):  # it raised AttributeError itself: let its message be seen
            return own.__get__(self)
        made = None if own is not None or name.startswith("__") else _made_method(name)  # in the class: an unset slot
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return made.__get__(self)

    # -------------------------------------------------------------------------------------------------------- metadata
    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return self._value.aval.size if self._storage is None else self._geometry.size

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        shape = self.shape
        if dim is None:
            return shape
        if not -len(shape) <= dim < len(shape):
            reach = max(len(shape), 1)
            if not shape:
                raise IndexError(f"dimension specified as {dim} but tensor has no dimensions")
            raise IndexError(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
        return shape[dim]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self._value.aval.numel if self._storage is None else self._geometry.numel

    nelement = numel

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        if self._storage is None:
            return self._value.aval.dtype
        elements = self._geometry.elements
        return self._storage.value.aval.dtype if elements is None else elements.dtype

    @property
    def device(self) -> device:
        """Where the tensor lives."""
        return (self._value if self._storage is None else self._storage.value).aval.device

    def get_device(self) -> int:
        """The device's index, -1 for the CPU."""
        index = self.device.index
        return -1 if index is None else index

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements, or that of one dimension."""
        found = self._value.aval.stride if self._storage is None else self._geometry.stride
        return found if dim is None else found[dim]

    def storage_offset(self) -> int:
        """The position of the first element in the storage."""
        return 0 if self._storage is None else int(self._geometry.offset)

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory as this format orders them."""
        name = "contiguous_format" if memory_format is None else getattr(memory_format, "name", str(memory_format))
        return layout.is_contiguous_in(name, self.shape, self.stride())

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is a complex one."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has a sign."""
        return self.dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        """On a GPU."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """On the CPU."""
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Without data."""
        return self.device.type == "meta"

    is_mps = is_xpu = is_sparse = is_quantized = is_mkldnn = is_nested = is_sparse_csr = is_mtia = is_vulkan = False

    def is_inference(self) -> bool:
        """Made under ``inference_mode``."""
        return self._value.__class__ is InferenceValue if self._storage is None else bool(self._flags & INFERENCE)

    def is_conj(self) -> bool:
        """Whether the conjugate bit is set: memory holds the conjugates of the elements."""
        return self._storage is not None and self._geometry.elements is not None and self._geometry.elements.conjugate

    def is_neg(self) -> bool:
        """Whether the negative bit is set: memory holds the negatives of the elements."""
        return self._storage is not None and self._geometry.elements is not None and self._geometry.elements.negative

    def data_ptr(self) -> int:
        """A number that stands for the address: equal for aliases of the same element."""
        if self.numel() == 0:
            return 0
        return make_storage(self).address + self.storage_offset() * self.dtype.itemsize

    # -------------------------------------------------------------------------------------------------------- autograd state
    def _current_edge(self) -> Edge | None:
        """The place on the tape; a differentiable view whose base was written to gets its new one here."""
        storage = self._storage
        if storage is not None and self._base_tensor is not None:
            seen = self._seen
            if (seen if seen >= 0 else -1 - seen) != storage.version:
                self._seen = -1 - storage.version
                if self._base_tensor._edge is not None:
                    flags = self._flags
                    if not flags & RESTRICTED:
                        edge = view_edge(self._base_tensor, self._geometry)
                        move_retained(self._edge, edge)
                        self._edge = edge
                    elif flags >> VERSION_SHIFT != storage.changes.tracked:
                        self._flags = flags | STALE_VIEW
            if self._flags & STALE_VIEW and thread.state.grad_enabled:
                raise RuntimeError(refusal(self._flags, self._edge, is_base=True))
        return self._edge

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is asked for."""
        if self._storage is not None and self._flags & RESTRICTED:
            return self._edge is not None
        return self._current_edge() is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether a gradient is asked for; only for leaves.

        Raises:
            RuntimeError: not a leaf, a dtype without gradients, a function that ``torch.func`` is transforming.
        """
        if requires_grad:
            if self.is_inference() and not thread.state.inference:
                raise RuntimeError(inference.NO_GRADIENT)
            if thread.state.transforms:
                raise RuntimeError(_REQUIRES_GRAD_IN_TRANSFORM)
            if self._edge is None:
                if not self._aval().differentiable:
                    raise RuntimeError("only Tensors of floating point dtype can require gradients")
                self._edge = self.__dict__.pop("_idle_edge", None) or accumulator(self)
                self._edge[0].grad_dtype = self.__dict__.get("_grad_dtype")  # type: ignore[attr-defined, union-attr]
        elif self._edge is not None:
            if not self.is_leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
                    "doesn't require differentiation use var_no_grad = var.detach()."
                )
            if self._edge[0].hooks is not None:  # they are still there when a gradient is asked for again
                self.__dict__["_idle_edge"] = self._edge
            self._edge = None
        return self

    @property
    def is_leaf(self) -> bool:
        """Not the result of a recorded operator."""
        edge = self._current_edge()
        return edge is None or type(edge[0]) is AccumulateGrad

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor."""
        edge = self._current_edge()
        return None if edge is None or type(edge[0]) is AccumulateGrad else edge[0]

    @property
    def output_nr(self) -> int:
        """Which result of its node it is."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def retains_grad(self) -> bool:
        """A non-leaf whose gradient is kept."""
        edge = self._edge
        return edge is not None and edge[0].hooks is not None and edge[1] in edge[0].hooks.retain

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError(inference.NO_VERSION)
        return 0 if self._storage is None else self._storage.changes.tracked

    @property
    def _base(self) -> Tensor | None:
        return None if self._storage is None else self._base_tensor

    def _is_view(self) -> bool:
        return self._base is not None

    # -------------------------------------------------------------------------------------------------------- aliases
    @property
    def data(self) -> Tensor:
        """The same memory, off the tape; writes through it are not seen by the tape's checks."""
        if thread.state.levels:
            return thread.state.levels[-1].data(self)
        found = alias_of(self)
        found._flags |= UNTRACKED
        return found

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
        if self._edge is not None and not (other.dtype.is_floating_point or other.dtype.is_complex):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        storage = make_storage(other)
        self._storage = storage
        self._geometry = other._geometry
        self._seen = -1
        self._base_tensor = None
        self._flags = 0

    def detach(self) -> Tensor:
        """The same memory, off the tape."""
        state = thread.state
        if state.levels:
            return state.levels[-1].detach(self)
        if state.off_tape_is_constant and (value := without_gradient(self._content())) is not None:
            return make_tensor(value)
        return alias_of(self)

    def detach_(self) -> Tensor:
        """Take this tensor off the tape.

        Raises:
            RuntimeError: it is a view, whose base would stay on it.
        """
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
                "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these "
                "gradients."
            )
        self._edge = None
        if thread.state.off_tape_is_constant and (value := without_gradient(self._content())) is not None:
            if self._storage is None:
                self._value = value
            else:
                self._storage.value = value
        return self

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, *args: Any, **kwargs: Any) -> Any:
        """An alias of ``data`` of another class, off the tape, as a leaf that asks for a gradient or not."""
        made = alias_of(data, cls)
        if require_grad:
            made.requires_grad_()
        return made

    @staticmethod
    def _make_wrapper_subclass(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("wrapper subclasses (Tensor._make_wrapper_subclass) are not supported yet")

    def as_subclass(self, cls: type) -> Any:
        """An alias of another class that stays on the tape."""
        made = alias_of(self, cls)
        made._edge = self._current_edge()
        return made


_REQUIRES_GRAD_IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a function being transformed "
    "by a functorch transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or "
    "call requires_grad_() outside of a function being transformed instead."
)


new_tensor = object.__new__

#: Classes whose tensors take the short way through dispatch: they override nothing.
PLAIN_TYPES: set[type] = {Tensor}


def make_tensor(value: Value, edge: Edge | None = None, cls: type = Tensor) -> Any:
    """A plain tensor."""
    made: Any = new_tensor(cls)
    made._value = value
    made._storage = None
    made._edge = edge
    return made


def make_storage(tensor: Tensor) -> Storage:
    """The tensor's storage, made if it had none."""
    storage = tensor._storage
    if storage is None:
        value = tensor._value
        aval = value.aval
        made_for_inference = value.__class__ is InferenceValue
        if not aval.is_contiguous and not layout.is_non_overlapping_and_dense(aval.size, aval.stride):
            value = tensor._value = relayout(value, layout.preserve_strides(aval.size, aval.stride))
        elif value.origin is not None:  # the content of another storage too: this one needs a value of its own
            value = tensor._value = relayout(value, aval.stride)
        storage = Storage(value)
        tensor._geometry = storage.base
        tensor._seen = 0
        tensor._base_tensor = None
        tensor._flags = INFERENCE if made_for_inference else 0
        tensor._storage = storage
        del tensor._value  # the storage has it: a second reference would keep old content alive
    return storage


def relayout(value: Value, stride: tuple[int, ...]) -> Value:
    """The same elements as a value with other strides (bookkeeping only: nothing moves)."""
    return record(relayout_instruction(stride), (value,))[0]


def alias_of(tensor: Tensor, cls: type | None = None, at: Geometry | None = None) -> Any:
    """A tensor of the same memory, at the same geometry unless another is given, off the tape, no view of it."""
    storage = make_storage(tensor)
    made: Any = new_tensor(cls or Tensor)
    made._storage = storage
    made._geometry = at or tensor._geometry
    made._edge = None
    made._base_tensor = None
    made._flags = tensor._flags & INFERENCE
    made._seen = -1
    return made


def make_view(tensor: Tensor, at: Geometry, edge: Edge | None, flags: int = 0) -> Tensor:
    """A view of a tensor at a geometry of its storage."""
    storage = make_storage(tensor)
    made: Tensor = new_tensor(Tensor)
    made._storage = storage
    made._geometry = at
    made._edge = edge
    made._seen = -1 - storage.version
    if tensor._base_tensor is None:
        made._base_tensor = tensor
    else:
        made._base_tensor = tensor._base_tensor
        flags = flags or tensor._flags & RESTRICTED
    if tensor._flags & INFERENCE:
        made._flags = INFERENCE  # the tape has no part in it
    else:
        made._flags = flags if not flags else flags | storage.changes.tracked << VERSION_SHIFT
    return made


def view_edge(base: Tensor, at: Geometry) -> Edge | None:
    """The place on the tape of a view of ``base``, whatever view operators once made it."""
    storage = make_storage(base)
    if base._edge is None:
        return None
    whole = storage.base
    if base._geometry is whole:
        backward = views.view_backward(storage.value.aval, whole, at)
    else:
        backward = views.view_backward(base_aval(base), whole, at, base._geometry)
    return (connect(backward, (base._edge,), (storage.value,), ()), 0)


def base_aval(base: Tensor) -> Aval:
    """Size, dtype and device of a tensor with a storage, as the gradient of its content has them (without reading it)."""
    return aval_of(tuple(base._geometry.size), base.dtype, base.device)


def tensor_method(function: Method) -> Method:
    """Install a function as a method of `Tensor` (a layer installs its own)."""
    setattr(Tensor, function.__name__, function)
    return function


def tensor_property(getter: Method) -> Method:
    """Install a function as a property of `Tensor`."""
    setattr(Tensor, getter.__name__, property(getter))
    return getter

