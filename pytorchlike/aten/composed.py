"""Tensors made of ordinary tensors: what sparse and masked tensors have in common.

A `ComposedTensor` is no value of the graph layer.  The generated functions hand every call with one over (``__torch_function__``), and its class says
what the operator means on the components.  One of them, the elements, is on the tape; so the tape, devices and recording are those of the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Self

from ..core.device import device
from ..core.dtype import dtype
from ..core.size import Size
from ..core.state import thread
from ..dispatch.registry import Composite
from ..graph.value import Aval, aval_of
from ..tensors.tape import Edge
from ..tensors.tensor import Tensor

__all__ = ["ComposedTensor", "Implementations", "bound_arguments", "called_name", "check_not_leaf"]


class Implementations(dict[str, Callable]):
    """Name of a function, method or property -> what it does where an argument is a tensor of one of these classes."""

    def declare(self, *names: str) -> Callable[[Callable], Callable]:
        """A decorator that enters a function under these names."""

        def enter(function: Callable) -> Callable:
            self.update(dict.fromkeys(names, function))
            return function

        return enter


class ComposedTensor(Tensor):
    """A tensor whose elements are a tensor of their own.

    Slots:
        _elements: what is on the tape.
    """

    __slots__ = ("_elements",)
    _storage = None
    _base_tensor = None
    _flags = 0

    _elements: Tensor

    # ------------------------------------------------------------------ what the classes say
    def with_elements(self, elements: Tensor) -> Self:
        """The same tensor with other elements."""
        raise NotImplementedError

    def refuse(self, name: str) -> NoReturn:
        """Refuse an operator on the elements alone."""
        raise NotImplementedError

    def of_gradient(self, gradient: Tensor) -> Tensor:
        """The gradient of this tensor from that of its elements."""
        return self.with_elements(gradient)

    def to_gradient(self, gradient: Tensor) -> Tensor:
        """The inverse of `of_gradient`."""
        return gradient._elements if isinstance(gradient, type(self)) else gradient

    # ------------------------------------------------------------------ metadata
    @property
    def _value(self) -> NoReturn:  # type: ignore[override]
        self.refuse("an operator")

    def _content(self) -> NoReturn:
        self.refuse("an operator")

    def _aval(self) -> Aval:
        """Size, dtype and device, as those of a dense tensor."""
        return aval_of(tuple(self.shape), self.dtype, self.device)

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return self._elements.shape

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        return self._elements.dtype

    @property
    def device(self) -> device:
        """Where the tensor lives."""
        return self._elements.device

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return getattr(Tensor.size, "__wrapped__", Tensor.size)(self, dim)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    ndimension = dim
    ndim = property(dim)

    def numel(self) -> int:
        """The number of elements that the whole tensor has."""
        return self.shape.numel()

    nelement = numel

    def is_inference(self) -> bool:
        """Made under ``inference_mode``."""
        return self._elements.is_inference()

    def is_conj(self) -> bool:
        """Never: conjugation is done at once."""
        return False

    is_neg = is_conj

    # ------------------------------------------------------------------ the tape
    @property
    def _edge(self) -> Edge | None:  # type: ignore[override]
        return self._elements._edge

    def _current_edge(self) -> Edge | None:
        return self._elements._current_edge()

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is asked for."""
        return self._elements.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether a gradient is asked for; only for leaves."""
        self._elements.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        """Not the result of a recorded operator."""
        return self._elements.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node that computed this tensor."""
        return self._elements.grad_fn

    @property
    def output_nr(self) -> int:
        """Which result of its node it is."""
        return self._elements.output_nr

    @property
    def retains_grad(self) -> bool:
        """A non-leaf whose gradient is kept."""
        return self._elements.retains_grad

    @property
    def _version(self) -> int:
        return self._elements._version

    @property
    def _base(self) -> None:
        return None

    def detach(self) -> Self:
        """The same memory, off the tape."""
        return self.with_elements(self._elements.detach())

    def detach_(self) -> Self:
        """Take this tensor off the tape."""
        self._elements = self._elements.detach()
        return self

    @property
    def grad(self) -> Tensor | None:  # type: ignore[override]
        """The gradient that ``backward`` accumulated."""
        found = self._elements.grad
        return None if found is None else self.of_gradient(found)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and (not isinstance(value, type(self)) or value.shape != self.shape):
            raise RuntimeError(f"assigned grad has data of a different type or size: expected a {self.layout} tensor of size {list(self.shape)}")
        self._elements.grad = None if value is None else self.to_gradient(value)

    def retain_grad(self) -> None:
        """Keep this tensor's gradient in ``.grad`` although it is no leaf."""
        self._elements.retain_grad()

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call ``hook(gradient)`` with the gradient of this tensor whenever it has been computed."""

        def on_elements(gradient: Tensor) -> Tensor | None:
            answer = hook(self.of_gradient(gradient))
            return None if answer is None else self.to_gradient(answer)

        return self._elements.register_hook(on_elements)


# ---------------------------------------------------------------------------------------------------------------- calls
def called_name(func: Any) -> str:
    """The name of a function, method or property that was handed over."""
    owner = getattr(func, "__self__", None)
    return getattr(owner.fget if isinstance(owner, property) else func, "__name__", "")


def bound_arguments(declared: Composite, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments of a composite by name; None when they do not fit."""
    arguments = declared.schema.arguments
    if len(args) > len(arguments):
        return None
    found = dict(zip([a.name for a in arguments], args))
    for name, value in kwargs.items():
        found["self" if name == "input" and arguments[0].name == "self" else name] = value
    for argument in arguments:
        if argument.name not in found:
            if argument.required:
                return None
            found[argument.name] = argument.default
    return found if len(found) == len(arguments) else None


def check_not_leaf(target: Tensor) -> None:
    """Refuse to write into a leaf that asks for a gradient.

    Raises:
        RuntimeError: torch's text.
    """
    if target.requires_grad and target.is_leaf and thread.state.grad_enabled:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
