"""Calling operators the general way: bind a call to an instruction, record it, put it on the tape, wrap the results.

Calls on plain tensors take a shorter way (`generate`); views have their own (`view`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import jax
import numpy as np

from ..core import dtype as dtypes
from ..core.bounded import kind_of, remember
from ..core.device import CPU, as_device, device, jax_device
from ..core.state import thread
from ..graph.recorder import record
from ..graph.value import Value, aval_of, constant, on_device
from ..tensors import layout as memory_layout
from ..tensors.mutation import check_no_partial_overlap, check_writable, write_into
from ..tensors.tape import Backward, Edge, Node, connect
from ..tensors.tensor import Tensor, make_tensor, relayout
from . import keys, overrides, registry
from .bind import Call, bind, wrong_type
from .derivative import Differentiable
from .registry import Operator, Promote
from .schema import Schema

__all__ = [
    "apply", "backward_of", "call_factory", "cast_instruction", "general", "general_inplace", "host_tensor",
    "named_results", "replay",
]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- the general way
def apply(instruction: Any, tensors: Sequence[Tensor], floats: tuple[float, ...] = (), ints: tuple[int, ...] = ()) -> tuple[Tensor, ...]:
    """Record an instruction on tensors, with the tape: what every computing operator comes down to."""
    levels = thread.state.levels
    if levels:
        return levels[-1].apply(instruction, tensors, floats, ints)
    values = tuple([t._value if t._storage is None else t._read() for t in tensors])
    results = record(instruction, values, floats, ints)
    edges = _edges(tensors)
    if edges is None:
        return tuple([make_tensor(r) for r in results])
    node = tape(instruction, edges, values, results, floats, ints)
    if node is None:
        return tuple([make_tensor(r) for r in results])
    made = on_node(instruction, results, node)
    if thread.state.saved_tensor_hooks:
        overrides.pack_saved(node, tensors, made)
    return made


def on_node(instruction: Any, results: Sequence[Value], node: Node) -> tuple[Tensor, ...]:
    """The results as tensors; those that carry a gradient stand on the tape."""
    which: Any = getattr(getattr(instruction, "operator", None), "differentiable", True)
    return tuple([make_tensor(r, (node, k) if r.aval.differentiable and (which is True or k in which) else None) for k, r in enumerate(results)])


def replay(operator: Operator, args: Sequence[Any], kwargs: dict[str, Any], results: tuple[Value, ...]) -> Any:
    """A call whose results are known already: it is put on the tape, but not recorded.

    Args:
        args, kwargs: as the operator's overload takes them.
    """
    rest = operator.schema.arguments[len(args) :]
    call = bind(operator, (*args, *[kwargs.get(a.name, None if a.required else a.default) for a in rest]))
    values = tuple([t._content() for t in call.tensors])
    edges = _edges(call.tensors)
    node = None if edges is None else tape(call.instruction, edges, values, results, tuple(call.floats), tuple(call.ints))
    made = tuple([make_tensor(r) for r in results]) if node is None else on_node(call.instruction, results, node)
    if node is not None and thread.state.saved_tensor_hooks:
        overrides.pack_saved(node, call.tensors, made)
    return wrap(operator.schema, made)


def _edges(tensors: Sequence[Tensor]) -> tuple[Edge | None, ...] | None:
    if not thread.state.grad_enabled:
        return None
    edges = tuple([t._current_edge() for t in tensors])
    return edges if any(edges) else None


def tape(instruction: Any, edges: tuple[Edge | None, ...], inputs: tuple[Value, ...], outputs: tuple[Value, ...],
         floats: tuple[float, ...], ints: tuple[int, ...]) -> Node | None:  # fmt: skip
    """The node of a recorded instruction; None when its results have no gradient."""
    backward = backward_of(instruction, tuple([e is not None for e in edges]), inputs, outputs)
    if backward is None:
        return None
    return connect(backward, edges, inputs, outputs, (floats, ints) if floats or ints else None)


_backwards: dict[tuple, Backward | None] = {}


def backward_of(instruction: Any, needed: tuple[bool, ...], inputs: Sequence[Value], outputs: Sequence[Value]) -> Backward | None:
    """The derivative of an instruction for these inputs; made once."""
    avals = tuple([v.aval for v in inputs])
    key = (instruction, needed, avals)
    try:
        return _backwards[key]
    except KeyError:
        results = tuple([v.aval for v in outputs])
        differentiable = getattr(getattr(instruction, "operator", None), "differentiable", True) and any(a.differentiable for a in results)
        return remember(_backwards, key, instruction.derivative(needed, avals, results) if differentiable else None, 8192)


def general(operator: Operator, arguments: tuple[Any, ...], table: dict | None = None, key: tuple = ()) -> Any:
    """Call a computing operator with arguments in the schema's order.

    Args:
        table, key: where a generated function wants to find the instruction next time.
    """
    if keys.is_intercepted(arguments):
        return keys.run(operator, "", arguments)
    call = bind(operator, arguments)
    if not call.tensors:
        _refuse_numbers(operator, arguments)
    if table is not None:
        remember(table, key, call.instruction, 4096)
    return wrap(operator.schema, apply(call.instruction, call.tensors, tuple(call.floats), tuple(call.ints)))


#: Operators that write one value everywhere: elements of their target may share memory.
_FILLS = frozenset({"fill", "zero"})


def _each_once(tensor: Tensor) -> Tensor:
    """A view of an expanded tensor in which every memory location is one element."""
    narrow = registry.lookup("narrow")
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if stride == 0 and size > 1:
            tensor = narrow(tensor, dim, 0, 1)
    return tensor


def _refuse_numbers(operator: Operator, arguments: tuple[Any, ...]) -> None:
    """Numbers stand for tensors beside tensors only.

    Raises:
        TypeError: torch's text.
    """
    for position, (argument, value) in enumerate(zip(operator.schema.arguments, arguments)):
        if argument.type == "Tensor":
            raise wrong_type(operator, argument, value, position, "Tensor")


def general_inplace(operator: Operator, arguments: tuple[Any, ...], table: dict | None = None, key: tuple = ()) -> Tensor:
    """Call an operator's in-place form: the result becomes the content of the first argument, which is returned.

    Args:
        table, key: where a generated method wants to find the instruction next time.
    """
    if keys.is_intercepted(arguments):
        return keys.run(operator, "_", arguments)
    target = arguments[0]
    if operator.name in _FILLS and target._storage is not None and memory_layout.has_internal_overlap(target._geometry.size, target._geometry.stride):
        general_inplace(operator, (_each_once(target), *arguments[1:]))
        return target
    others = any(isinstance(a, Tensor) and a._edge is not None for a in arguments[1:])
    check_writable(target, other_requires_grad=others)
    call = bind(operator, arguments, inplace=True)
    if table is not None:
        remember(table, key, call.instruction, 4096)
    if operator.promote is not Promote.NONE:
        check_no_partial_overlap(target, call.tensors)
    floats, ints = tuple(call.floats), tuple(call.ints)
    if thread.state.levels:
        return _inplace_in_levels(call, floats, ints)
    values = tuple([t._value if t._storage is None else t._read() for t in call.tensors])
    results = record(call.instruction, values, floats, ints)
    edges = _edges(call.tensors)
    node = None
    if edges is not None:
        # what the derivative saves of the target is its old value: a copy, since the value itself is void after the write
        old = relayout(values[0], values[0].aval.stride)
        node = tape(call.instruction, edges, (old, *values[1:]), results, floats, ints)
        if node is not None and thread.state.saved_tensor_hooks:
            overrides.pack_saved(node, (make_tensor(old, edges[0]), *call.tensors[1:]), (make_tensor(results[0], (node, 0)),))
    write_into(target, results[0], (node, 0) if node is not None else None)
    return target


def _inplace_in_levels(call: Call, floats: tuple[float, ...], ints: tuple[int, ...]) -> Tensor:
    """An in-place operator inside a transformation: what it computes of a copy of the target becomes the target's content."""
    target = call.tensors[0]
    value = target._content()
    old = make_tensor(relayout(value, value.aval.stride), target._current_edge())
    (result,) = apply(call.instruction, [old, *call.tensors[1:]], floats, ints)
    write_into(target, result._value, result._edge)
    return target


class _Cast(Differentiable):
    __slots__ = ()

    def strides(self, avals: Any, shapes: Any) -> Any:
        return [memory_layout.preserve_strides(avals[0].size, avals[0].stride)]

    def derivative(self, needed: tuple[bool, ...], inputs: Any, outputs: Any) -> Backward:
        return Backward("ToCopyBackward0", (), (), needed, inputs, outputs, lambda present: cast_instruction(inputs[0].dtype))


_casts: dict[dtypes.dtype, _Cast] = {}


def cast_instruction(target: dtypes.dtype) -> _Cast:
    """The instruction that converts to a dtype."""
    found = _casts.get(target)
    if found is None:
        numpy_dtype = target.numpy

        def convert(x: Any) -> Any:
            if jax.numpy.iscomplexobj(x) and not target.is_complex:
                x = x != 0 if target is dtypes.bool_ else x.real
            return x.astype(numpy_dtype)

        found = _casts[target] = _Cast("_to_copy", convert)
    return found


_named_results: dict[str, type] = {}


def wrap(schema: Schema, results: tuple[Tensor, ...]) -> Any:
    """An operator's results as its function returns them: one tensor, a named tuple, a tuple."""
    if len(schema.returns) == 1:
        return results[0] if schema.returns[0] != "Tensor[]" else results
    if not schema.result_names:
        return results
    return named_results(schema)(results)


def named_results(schema: Schema) -> type:
    """The class of an operator's named results, like ``torch.return_types.max``."""
    key = f"{schema.name}({', '.join(schema.result_names)})"
    found = _named_results.get(key)
    if found is None:
        names = schema.result_names

        def make(cls: type, values: Any) -> Any:
            return tuple.__new__(cls, values)

        def show(self: Any) -> str:
            inner = ",\n".join(f"{n}={v!r}" for n, v in zip(names, self))
            return f"torch.return_types.{schema.name}(\n{inner})"

        members: dict[str, Any] = {n: property(itemgetter(k)) for k, n in enumerate(names)}
        members |= {"__new__": make, "__repr__": show, "__module__": "torch.return_types", "n_fields": len(names), "_fields": names,
                    "__reduce__": lambda self: (tuple, (tuple(self),))}  # fmt: skip
        found = _named_results[key] = type(schema.name, (tuple,), members)
    return found


# ---------------------------------------------------------------------------------------------------------------- factories
def host_tensor(array: np.ndarray, dtype: dtypes.dtype | None = None, device: device | None = None, requires_grad: bool = False) -> Tensor:
    """A tensor of a numpy array that nobody else will change (numbers drawn on the host, constants).

    Raises:
        RuntimeError: a gradient is asked for and the dtype has none.
    """
    found = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    if array.dtype != found.numpy:
        array = array.astype(found.numpy)
    target = thread.state.device or CPU if device is None else device
    if target.type == "meta":
        made = make_tensor(constant(None, aval_of(array.shape, found, target)))
    else:
        made = make_tensor(constant(on_device(array, target), aval_of(array.shape, found, target)))
    return made.requires_grad_() if requires_grad else made


#: Results of factories up to this many elements are kept: ``arange(n)`` in a loop is made, and sent to the device, once.
LARGEST_KEPT_CONSTANT = 65536
_constants: dict[tuple, Any] = {}


def call_factory(operator: Operator, arguments: tuple[Any, ...], dtype: dtypes.dtype, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Call an operator that takes no tensors; its body computes with numpy on the host.

    Args:
        dtype: the result's dtype, whatever the body returned.
        device: where to put it; None is the current default device.
    """
    target = (thread.state.device or CPU) if device is None else as_device(device)
    key = (operator, arguments, tuple(map(kind_of, arguments)), dtype, target)
    array = _constants.get(key)
    if array is None:
        array = np.array(operator.body(*arguments), dtype.numpy)
        if target.type != "meta" and array.size <= LARGEST_KEPT_CONSTANT:
            if len(_constants) > 4096:
                _constants.clear()
            with jax.enable_x64(True):
                array = jax.device_put(array, jax_device(target))
            _constants[key] = array
    if isinstance(array, np.ndarray):
        return host_tensor(array, dtype, target, requires_grad)
    made = make_tensor(constant(array, aval_of(array.shape, dtype, target)))
    return made.requires_grad_() if requires_grad else made
