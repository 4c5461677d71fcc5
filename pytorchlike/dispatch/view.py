"""Calling view operators: new geometries over the same storage, and their gradients."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..core.bounded import remember
from ..core.dtype import dtype
from ..core.state import thread
from ..graph.instruction import Traced
from ..graph.interpreter import Prepared
from ..graph.value import Aval, aval_of
from ..tensors.elements import Elements, elements_of, like_memory, with_elements
from ..tensors.geometry import Geometry, contiguous
from ..tensors.mutation import check_tape
from ..tensors.restricted import MULTI_OUTPUT_VIEW, NO_GRAD_VIEW
from ..tensors.tape import Backward, Edge, connect, move_retained
from ..tensors.tensor import PLAIN_TYPES, Tensor, alias_of, base_aval, make_storage, make_view
from ..tensors.views import Window, view_backward, window
from . import keys
from .derivative import Differentiable, backward_name
from .registry import ViewOperator

__all__ = ["call_view", "call_view_inplace"]

_view_memo: dict[tuple, _ViewPlan] = {}
#: Operators with several results for which torch calls an operator with one result several times.
_MANY_SINGLE_VIEWS = frozenset({"dsplit", "hsplit", "tensor_split", "vsplit"})


class ViewAdjoint(Differentiable):
    """The gradient of a view operator: the adjoints of its windows in the whole input, added up."""

    __slots__ = ("parts", "order")

    def __init__(self, name: str, parts: Sequence[Window]) -> None:
        self.parts = parts
        self.order = _order(parts[0]) if len(parts) == 1 else None

        def pull_back(*grads: Any) -> Any:
            total = None
            for g, part in zip(grads, parts, strict=True):
                found = part.adjoint(None, g)
                total = found if total is None else total + found
            return total

        super().__init__(name, pull_back)

    def _trace(self, avals: tuple[Aval, ...]) -> Traced:
        """Known without tracing where the windows' own functions in numpy are."""
        functions = [function for part in self.parts if (function := part.on_host()) is not None]
        if len(functions) < len(self.parts):
            return super()._trace(avals)
        whole = self.parts[0].base.size
        outputs = (jax.ShapeDtypeStruct(tuple(whole), avals[0].dtype.numpy),)
        add_up = functions[0] if len(functions) == 1 else lambda *grads: functools.reduce(np.add, [f(g) for f, g in zip(functions, grads)])
        return Traced(outputs, lambda: self._jaxpr(self.call, avals)[0], prepared=Prepared.of(add_up, len(functions)))

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> Sequence[tuple[int, ...] | None]:
        """Dimensions that changed places change back, as the gradient of torch is a view of what arrived."""
        return [None if self.order is None else tuple([avals[0].stride[d] for d in self.order])]


def _order(part: Window) -> tuple[int, ...] | None:
    """For each dimension of the whole its place in a view that is the same elements in another order of dimensions; None for other views."""
    whole, at = part.base, part.at
    pairs = list(zip(at.size, at.stride, strict=True))
    wanted = list(zip(whole.size, whole.stride, strict=True))
    if at.elements is not None or at.offset or sorted(pairs) != sorted(wanted) or len(set(pairs)) < len(pairs):
        return None
    return tuple([pairs.index(pair) for pair in wanted])


class _ViewPlan:
    """What a view operator does to one geometry.

    Attributes:
        results: the geometries of its results.
        several: whether it returns a tuple.
        whole, relatives: the input as a contiguous whole, and where the results lie in it.
        backwards: (dtype, device) -> `Backward`, made on first use.
    """

    __slots__ = ("operator", "results", "several", "whole", "relatives", "backwards")

    def __init__(self, operator: ViewOperator, at: Geometry, memory: dtype, arguments: tuple[Any, ...]) -> None:
        self.operator = operator
        self.whole = contiguous(tuple(at.size))
        seen = elements_of(at, memory)
        if operator.changes_elements:
            found = operator.body(at, seen, *arguments)
            relative = operator.body(self.whole, Elements(seen.dtype, seen.dtype), *arguments)
        else:
            found = operator.body(like_memory(at), *arguments)
            relative = found if at is self.whole else operator.body(self.whole, *arguments)
        self.several = not isinstance(found, Geometry)
        self.results = tuple(found) if self.several else (found,)
        self.relatives = tuple(relative) if self.several else (relative,)
        if at.elements is not None and not operator.changes_elements:
            self.results = tuple([with_elements(r, at.elements) for r in self.results])
        self.backwards: dict[tuple, Backward] = {}

    def backward(self, tensor: Tensor) -> Backward:
        """How the tape differentiates the view of a tensor."""
        key = (tensor.dtype, tensor.device)
        found = self.backwards.get(key)
        if found is None:
            inputs = (aval_of(tuple(self.whole.size), *key),)
            outputs = tuple([aval_of(tuple(r.size), elements_of(r, key[0]).dtype, key[1]) for r in self.relatives])
            found = self.backwards[key] = Backward(backward_name(self.operator), (), (), (True,), inputs, outputs, self._adjoint)
        return found

    def _adjoint(self, present: tuple[bool, ...]) -> ViewAdjoint:
        parts = [window("adjoint", self.whole, r) for r, there in zip(self.relatives, present, strict=True) if there]
        return ViewAdjoint(f"{self.operator.name}_backward", parts)


def call_view(operator: ViewOperator, tensor: Tensor, arguments: tuple[Any, ...]) -> Any:
    """Call a view operator: new geometries over the same storage."""
    state = thread.state
    if (state.slow or tensor.__class__ not in PLAIN_TYPES) and keys.is_intercepted((tensor, *arguments), is_view=True):
        return keys.run(operator, "", (tensor, *arguments))
    at = tensor._where()
    key = (operator, at, *arguments) if not operator.changes_elements else (operator, at, tensor.dtype, *arguments)
    try:
        plan = _view_memo.get(key)
    except TypeError:
        plan = None
    if plan is None:
        arguments = _view_arguments(operator, arguments)
        key = (operator, at, *arguments) if not operator.changes_elements else (operator, at, tensor.dtype, *arguments)
        plan = _view_memo.get(key) or _ViewPlan(operator, at, _memory(tensor), arguments)
        if operator.name == "as_strided":
            _check_storage(tensor, plan.results[0])
        remember(_view_memo, key, plan, 8192)
    if not operator.differentiable:
        aliases = tuple([alias_of(tensor, None, r) for r in plan.results])
        return aliases if plan.several else aliases[0]
    edge = tensor._current_edge()
    flags = NO_GRAD_VIEW if not state.grad_enabled else MULTI_OUTPUT_VIEW if plan.several and operator.name not in _MANY_SINGLE_VIEWS else 0
    if edge is None or not state.grad_enabled:
        views = tuple([make_view(tensor, r, None, flags) for r in plan.results])
    elif operator.name == "as_strided":  # it looks at the whole storage; its gradient goes to the elements that the tensor has of it
        views = (make_view(tensor, plan.results[0], _window_edge(tensor, edge, plan.results[0]), flags),)
    else:
        node = connect(plan.backward(tensor), (edge,), (), ())
        views = tuple([make_view(tensor, r, (node, k), flags) for k, r in enumerate(plan.results)])
    return views if plan.several else views[0]


def _window_edge(tensor: Tensor, edge: Edge, at: Geometry) -> Edge:
    """The place on the tape of a window on a tensor's storage."""
    storage = make_storage(tensor)
    whole = tensor._geometry is storage.base
    aval, inside = (storage.value.aval, None) if whole else (base_aval(tensor), tensor._geometry)
    return (connect(view_backward(aval, storage.base, at, inside), (edge,), (storage.value,), ()), 0)


def _memory(tensor: Tensor) -> dtype:
    """The dtype of what a tensor's memory holds."""
    return (tensor._value if tensor._storage is None else tensor._storage.value).aval.dtype


def _check_storage(tensor: Tensor, at: Any) -> None:
    """Refuse a window that reaches beyond the storage."""
    storage = make_storage(tensor)
    if at.end > storage.value.aval.numel:
        itemsize = storage.value.aval.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(at.size)}, strides {list(at.stride)}, storage offset {at.offset}, and itemsize {itemsize} requiring a storage "
            f"size of {at.end * itemsize} are out of bounds for storage of size {storage.nbytes}"
        )


def call_view_inplace(operator: ViewOperator, tensor: Tensor, arguments: tuple[Any, ...]) -> Tensor:
    """The in-place form of a view operator (``x.t_()``): the tensor itself gets the new geometry.

    Raises:
        RuntimeError: a leaf that asks for a gradient, or a view that may not be written to.
    """
    if thread.state.grad_enabled:
        check_tape(tensor)
    viewed = call_view(operator, tensor, arguments)
    base, flags = tensor._base, tensor._flags
    tensor._geometry, tensor._seen = viewed._geometry, viewed._seen
    move_retained(tensor._edge, viewed._edge)
    tensor._base_tensor, tensor._flags, tensor._edge = base, flags, viewed._edge
    return tensor


def _view_arguments(operator: ViewOperator, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The body's arguments: ints as ints, tensors as their geometries."""
    converted = []
    for argument, value in zip(operator.schema.arguments[1:], arguments, strict=True):
        if isinstance(value, Tensor):
            value = value._where() if argument.type.startswith("Tensor") else int(value)
        elif isinstance(value, (list, tuple)):
            value = tuple([int(v) if isinstance(v, (Tensor, np.integer)) else v for v in value])
        elif isinstance(value, np.integer):
            value = int(value)
        elif argument.type == "int[]" and isinstance(value, int):
            value = (value,)
        expected = argument.type.rstrip("?")
        if value is not None and expected == "int" and not isinstance(value, int) or expected == "int[]" and value is not None and not isinstance(value, tuple):
            raise TypeError(f"{operator.name}(): argument '{argument.name}' must be {'int' if expected == 'int' else 'tuple of ints'}, not {type(value).__name__}")
        converted.append(value)
    return tuple(converted)
