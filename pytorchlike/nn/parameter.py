"""Parameters and buffers: tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..aten.create import empty
from ..autograd.grad_mode import no_grad
from ..dispatch.overrides import DisableTorchFunctionSubclass, _disabled_torch_function
from ..tensors.rebuild import attributes_of, set_attributes
from ..tensors.tensor import PLAIN_TYPES, Tensor, TensorType

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]


class _ParameterMeta(TensorType):
    """Makes ``isinstance(t, Parameter)`` true for tensors of other classes that were wrapped as parameters."""

    def __instancecheck__(self, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        return self is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is registered as a parameter when it is assigned to a module.

    Args:
        data: the values; shared with the parameter, not copied.  None means an empty tensor.
    """

    __torch_function__ = _disabled_torch_function  # results of operators are plain tensors

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        kind = type(data)
        if kind is Tensor or kind is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        wrapped: Any = data.detach().requires_grad_(requires_grad)
        if type(wrapped) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns an instance of the same type, "
                f"but return type {type(wrapped).__name__} was found instead. To use the type as a Parameter, please correct the detach() "
                "semantics defined by its __torch_dispatch__() implementation."
            )
        wrapped._is_param = True
        return wrapped

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(*args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        state = attributes_of(self)
        if state:
            return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), state)
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


PLAIN_TYPES.add(Parameter)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: OrderedDict) -> Parameter:
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: OrderedDict, state: Any) -> Parameter:
    parameter = Parameter(data, requires_grad)
    set_attributes(parameter, state)
    return parameter


class _BufferMeta(TensorType):
    def __instancecheck__(self, instance: object) -> bool:
        if super().__instancecheck__(instance):
            return True
        return self is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is registered as a buffer when it is assigned to a module.

    Args:
        persistent: whether the buffer is part of the module's ``state_dict``.
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        wrapped: Any = data.detach().requires_grad_(data.requires_grad)
        wrapped.persistent = persistent
        wrapped._is_buffer = True
        return wrapped


#: What can be done with a tensor that has no shape yet.
_ALLOWED_BEFORE_SHAPES = frozenset({
    "__hash__", "char", "copy_", "cpu", "cuda", "double", "float", "get_device", "half", "int", "is_complex", "is_floating_point", "long", "short",
    "requires_grad_", "size", "to",
})  # fmt: skip


class UninitializedTensorMixin:
    """What the tensors of lazy modules share: no shape until ``materialize``."""

    cls_to_become: type
    data: Any
    requires_grad: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor memory of this shape and turn it into an ordinary one."""
        with no_grad():
            self.data = empty(shape, device=self.data.device if device is None else device, dtype=self.data.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to "
            "load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their attributes."
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        # "method-wrapper" is the getter or setter of a property.
        if getattr(func, "__name__", "") in _ALLOWED_BEFORE_SHAPES or func.__class__.__name__ == "method-wrapper":
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` or explicitly "
            f"manipulating `torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to initialize the "
            "parameters before calling torch functions"
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return self.__class__, (self.requires_grad,)


def is_lazy(param: Any) -> bool:
    """Whether this parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first ``forward`` decides."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first ``forward`` decides."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> UninitializedBuffer:
        made = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
