"""Calling operators: the general way, and the generated functions that take the short way through it.

`general` binds a call to an instruction, records it and puts it on the tape.  For calls on plain tensors each operator has a
function, written out from its schema by `make_function`, that finds the next state of the recorder's trie at once.
"""

from __future__ import annotations

import functools
import linecache
import warnings
from collections.abc import Sequence
from keyword import iskeyword
from operator import itemgetter
from typing import Any

import jax
import numpy as np

from ..core import dtype as dtypes
from ..core import promotion
from ..core.device import CPU, as_device, device, jax_device
from ..core.state import on_default_dtype_change, thread
from ..graph.recorder import record
from ..graph.trie import State
from ..graph.value import Value, aval_of, constant, new_value
from ..tensors import geometry as geometries
from ..tensors import layout as memory_layout
from ..tensors import windows
from ..tensors.mutation import check_no_partial_overlap, check_writable, check_writable_memory, write_into
from ..tensors.relayout import instruction as relayout
from ..tensors.tape import Backward, Edge, Node, connect, next_number
from ..tensors.tensor import MULTI_OUTPUT_VIEW, NO_GRAD_VIEW, PLAIN_TYPES, Tensor, make_storage, make_tensor, make_view, view_edge
from . import keys, overloads, overrides, registry
from .bind import bind
from .derivative import Differentiable, backward_name
from .registry import OUT, Operator, Promote, ViewOperator
from .schema import Argument, Schema

__all__ = ["apply", "call_factory", "general", "general_inplace", "general_out", "host_tensor"]


# ---------------------------------------------------------------------------------------------------------------- the general way
def apply(instruction: Any, tensors: Sequence[Tensor], floats: tuple[float, ...] = (), ints: tuple[int, ...] = ()) -> tuple[Tensor, ...]:
    """Record an instruction on tensors, with the tape: what every computing operator comes down to."""
    values = tuple([t._value if t._storage is None else t._read() for t in tensors])
    results = record(instruction, values, floats, ints)
    edges = _edges(tensors)
    if edges is None:
        return tuple([make_tensor(r) for r in results])
    node = tape(instruction, edges, values, results, floats, ints)
    if node is None:
        return tuple([make_tensor(r) for r in results])
    return tuple([make_tensor(r, (node, k) if r.aval.differentiable else None) for k, r in enumerate(results)])


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
    node = connect(backward, edges, inputs, outputs, (floats, ints) if floats or ints else None)
    if thread.state.saved_tensor_hooks or thread.state.anomaly:
        overrides.prepare_node(node)
    return node


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
        found = _backwards[key] = instruction.derivative(needed, avals, results) if differentiable else None
        return found


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
    if table is not None and not (thread.state.slow and thread.state.autocast):
        table[key] = call.instruction
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
            name = "input" if argument.name == "self" else argument.name
            raise TypeError(f"{operator.name}(): argument '{name}' (position {position + 1}) must be Tensor, not {type(value).__name__}")


def general_inplace(operator: Operator, arguments: tuple[Any, ...]) -> Tensor:
    """Call an operator's in-place form: the result becomes the content of the first argument, which is returned."""
    if keys.is_intercepted(arguments):
        return keys.run(operator, "_", arguments)
    target = arguments[0]
    if operator.name in _FILLS and target._storage is not None and memory_layout.has_internal_overlap(target._geometry.size, target._geometry.stride):
        general_inplace(operator, (_each_once(target), *arguments[1:]))
        return target
    others = any(isinstance(a, Tensor) and a._edge is not None for a in arguments[1:])
    check_writable(target, other_requires_grad=others)
    call = bind(operator, arguments, inplace=True)
    if operator.promote is not Promote.NONE:
        check_no_partial_overlap(target, call.tensors)
    floats, ints = tuple(call.floats), tuple(call.ints)
    values = tuple([t._value if t._storage is None else t._read() for t in call.tensors])
    results = record(call.instruction, values, floats, ints)
    edges = _edges(call.tensors)
    node = None
    if edges is not None:
        # what the derivative saves of the target is its old value: a copy, since the value itself is void after the write
        (old,) = record(relayout(values[0].aval.stride), values[:1])
        node = tape(call.instruction, edges, (old, *values[1:]), results, floats, ints)
    write_into(target, results[0], (node, 0) if node is not None else None)
    return target


def general_out(operator: Operator, arguments: tuple[Any, ...], out: Any) -> Any:
    """Call an operator's ``out=`` form."""
    if keys.is_intercepted((*arguments, out)):
        return keys.run(operator, "out", arguments, out)
    call = bind(operator, arguments)
    targets = list(out) if isinstance(out, (tuple, list)) else [out]
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"{operator.name}(): argument 'out' must be Tensor, not {type(target).__name__}")
        if operator.promote is not Promote.NONE:
            check_no_partial_overlap(target, call.tensors)
    if thread.state.grad_enabled and any(t.requires_grad for t in (*call.tensors, *targets)):
        culprit = "one of the arguments requires grad."
        raise RuntimeError(f"{operator.name}(): functions with out=... arguments don't support automatic differentiation, but {culprit}")
    values = tuple([t._value if t._storage is None else t._read() for t in call.tensors])
    results = record(call.instruction, values, tuple(call.floats), tuple(call.ints))
    for target, result in zip(targets, results, strict=True):
        put_out(target, result)
    return out if isinstance(out, Tensor) or not isinstance(out, list) else tuple(out)


def put_out(target: Tensor, result: Value) -> None:
    """Copy a result into an ``out=`` tensor, resizing it as torch does.

    Raises:
        RuntimeError: the dtype cannot hold the result, the device differs, or the memory overlaps; torch's texts.
    """
    own = target.dtype
    if not promotion.can_cast(result.aval.dtype, own):
        raise RuntimeError(
            f"result type {promotion.scalar_type_name(result.aval.dtype)} can't be cast to the desired output type "
            f"{promotion.scalar_type_name(own)}"
        )
    if target.device != result.aval.device:
        raise RuntimeError(f"Expected out tensor to have device {result.aval.device}, but got {target.device} instead")
    check_writable_memory(target)
    if result.aval.dtype is not own:
        (result,) = record(cast_instruction(own), (result,))
    if target.shape != result.aval.size:
        if target.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not match the required "
                f"output shape {list(result.aval.size)}. This behavior is deprecated, and in a future PyTorch release outputs will not be "
                "resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                "with t.resize_(0).",
                UserWarning,
                stacklevel=3,
            )
        target.data = make_tensor(result)
        return
    write_into(target, result)


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
        made = make_tensor(constant(array if target == CPU else jax.device_put(array, jax_device(target)), aval_of(array.shape, found, target)))
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
    key = (operator, arguments, tuple(map(type, arguments)), dtype, target)
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


# ---------------------------------------------------------------------------------------------------------------- views
_view_memo: dict[tuple, _ViewPlan] = {}


class ViewAdjoint(Differentiable):
    """The gradient of a view operator: the adjoints of its windows in the whole input, added up."""

    __slots__ = ()

    def __init__(self, name: str, whole: Any, windows_at: Sequence[Any]) -> None:
        def pull_back(*grads: Any) -> Any:
            total = None
            for g, at in zip(grads, windows_at, strict=True):
                part = windows.adjoint(g, whole, at)
                total = part if total is None else total + part
            return total

        super().__init__(name, pull_back)


class _ViewPlan:
    """What a view operator does to one geometry.

    Attributes:
        results: the geometries of its results.
        several: whether it returns a tuple.
        whole, relatives: the input as a contiguous whole, and where the results lie in it.
        backwards: (dtype, device) -> `Backward`, made on first use.
    """

    __slots__ = ("name", "results", "several", "whole", "relatives", "backwards")

    def __init__(self, operator: ViewOperator, at: Any, arguments: tuple[Any, ...]) -> None:
        found = operator.body(at, *arguments)
        self.name = operator.name
        self.several = not isinstance(found, geometries.Geometry)
        self.results = tuple(found) if self.several else (found,)
        self.whole = geometries.contiguous(tuple(at.size))
        relative = found if at is self.whole else operator.body(self.whole, *arguments)
        self.relatives = tuple(relative) if self.several else (relative,)
        self.backwards: dict[tuple, Backward] = {}

    def backward(self, tensor: Tensor) -> Backward:
        """How the tape differentiates the view of a tensor."""
        aval = (tensor._value if tensor._storage is None else tensor._storage.value).aval
        key = (aval.dtype, aval.device)
        found = self.backwards.get(key)
        if found is None:
            inputs = (aval_of(tuple(self.whole.size), *key),)
            outputs = tuple([aval_of(tuple(r.size), *key) for r in self.results])
            found = self.backwards[key] = Backward(backward_name(self.name), (), (), (True,), inputs, outputs, self._adjoint)
        return found

    def _adjoint(self, present: tuple[bool, ...]) -> ViewAdjoint:
        return ViewAdjoint(f"{self.name}_backward", self.whole, [r for r, there in zip(self.relatives, present, strict=True) if there])


def call_view(operator: ViewOperator, tensor: Tensor, arguments: tuple[Any, ...]) -> Any:
    """Call a view operator: new geometries over the same storage."""
    state = thread.state
    if (state.slow or tensor.__class__ not in PLAIN_TYPES) and keys.is_intercepted((tensor, *arguments)):
        return keys.run(operator, "", (tensor, *arguments))
    at = tensor._where()
    key = (operator, at, *arguments)
    try:
        plan = _view_memo.get(key)
    except TypeError:
        plan = None
    if plan is None:
        arguments = _view_arguments(operator, arguments)
        key = (operator, at, *arguments)
        plan = _view_memo.get(key) or _ViewPlan(operator, at, arguments)
        if operator.name == "as_strided":
            _check_storage(tensor, plan.results[0])
        if len(_view_memo) > 65536:
            _view_memo.clear()
        _view_memo[key] = plan
    edge = tensor._current_edge()
    flags = (0 if state.grad_enabled else NO_GRAD_VIEW) | (MULTI_OUTPUT_VIEW if plan.several else 0)
    if edge is None or not state.grad_enabled:
        views = tuple([make_view(tensor, r, None, flags) for r in plan.results])
    elif operator.name == "as_strided":  # it looks at the whole storage, so its gradient goes to the base tensor
        base = tensor if tensor._base is None else tensor._base
        views = (make_view(tensor, plan.results[0], view_edge(base, plan.results[0]), flags),)
    else:
        node = connect(plan.backward(tensor), (edge,), (), ())
        views = tuple([make_view(tensor, r, (node, k), flags) for k, r in enumerate(plan.results)])
    return views if plan.several else views[0]


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
    """The in-place form of a view operator (``x.t_()``): the tensor itself gets the new geometry."""
    viewed = call_view(operator, tensor, arguments)
    base, flags = tensor._base, tensor._flags
    tensor._geometry, tensor._seen = viewed._geometry, viewed._seen
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


# ---------------------------------------------------------------------------------------------------------------- generated functions
#: torch's functions that take their tensors one by one as well as in a list.
_VARIADIC = frozenset({"atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul", "einsum", "meshgrid"})


def folded_argument(schema: Schema) -> Argument | None:
    """The list that positional arguments stand for one by one: ``x.view(2, 3)``, ``zeros(2, 3)``, ``meshgrid(a, b)``."""
    positional = [a for a in schema.arguments if not a.keyword_only]
    if not positional:
        return None
    last = positional[-1]
    if last.type == "Tensor[]" and schema.name in _VARIADIC:
        return last
    rest = positional[1:] if positional[0].name in ("self", "input") and positional[0].type == "Tensor" else positional
    return last if len(rest) == 1 and last.type == "int[]" else None


def on_tape(found: State, edges: tuple[Edge | None, ...], inputs: tuple[Value, ...], output: Value, scalars: Any = None) -> Edge | None:
    """The tape for the generated functions: like `tape`, with the derivative kept at the trie's state."""
    needed = tuple([e is not None for e in edges])
    try:
        backward = found.backwards[needed]  # type: ignore[index]
    except KeyError:
        backward = found.backwards[needed] = backward_of(found.instruction, needed, inputs, (output,))  # type: ignore[index]
    if backward is None:
        return None
    node: Node = _new(backward.node_class)
    node.backward = backward
    node.edges = edges
    node.saved = backward.pick(inputs, (output,))
    node.scalars = scalars
    node.number = next_number()
    node.hooks = None
    return (node, 0)


_new = object.__new__

_BLOCK = """\
{indent}trace = state.trace
{slots}
{indent}found = trace.position.next.get((instruction, {slot_names}))
{indent}if found is not None:
{indent}    trace.position = found{keep_scalar}
{indent}    value = new(Value)
{indent}    value.aval = found.aval
{indent}    value.trace = trace
{indent}    value.slot = found.slot
{indent}    value.array = value.origin = None
{indent}    trace.values.append(value)
{indent}    out = new(Tensor)
{indent}    out._value = value
{indent}    out._storage = None
{edges}
{indent}        out._edge = None
{indent}    else:
{indent}        out._edge = on_tape(found, ({edge_names},), ({value_names},), value{scalars})
{indent}    return out
"""


def _block(names: Sequence[str], key: str, table: str, indent: str, scalar: tuple[str, str] | None) -> str:
    """The lines that record a call on the tensors of these names."""
    read = "".join(
        f"{indent}v{k} = {n}._value if {n}._storage is None else {n}._read()\n" for k, n in enumerate(names)
    )
    lookup = f"{indent}instruction = {table}.get({key})\n{indent}if instruction is not None:\n"
    inner = indent + "    "
    slots = "\n".join(f"{inner}s{k} = v{k}.slot if v{k}.trace is trace else trace.slot_of(v{k})" for k in range(len(names)))
    edges = "\n".join(f"{inner}    e{k} = {n}._edge" for k, n in enumerate(names))
    edges += f"\n{inner}    if not state.grad_enabled or {' and '.join(f'e{k} is None' for k in range(len(names)))}:"
    keep, scalars = "", ""
    if scalar is not None:
        keep = f"\n{inner}    trace.{scalar[0]}.append({scalar[1]})"
        scalars = f", (({scalar[1]},), ())" if scalar[0] == "floats" else f", ((), ({scalar[1]},))"
    return read + lookup + _BLOCK.format(
        indent=inner, slots=slots, slot_names=", ".join(f"s{k}" for k in range(len(names))) + ("," if names else ""), keep_scalar=keep, edges=edges,
        edge_names=", ".join(f"e{k}" for k in range(len(names))), value_names=", ".join(f"v{k}" for k in range(len(names))), scalars=scalars,
    )  # fmt: skip


def _signature(schema: Schema, first: str, with_out: bool) -> tuple[str, dict[str, Any]]:
    """The parameter list as text, and the defaults its names refer to."""
    defaults: dict[str, Any] = {}
    positional: list[str] = []
    keyword: list[str] = []
    fold = folded_argument(schema)
    for name, a in zip(_parameters(schema, first), schema.arguments):
        text = name
        if a is fold:
            keyword.insert(0, f"*{name}")
            continue
        if not a.required:
            defaults[f"_default_{a.name}"] = a.default
            text += f"=_default_{a.name}"
        elif a.name in _may_be_missing(schema):
            text += "=missing"
        (keyword if a.keyword_only else positional).append(text)
    if with_out:
        keyword.append("out=None")
    keyword += [f"{spelling}=None" for spelling in numpy_spellings(schema)]
    if keyword and not fold:
        keyword.insert(0, "*")
    return ", ".join(positional + keyword + (["**named"] if fold or _reserved(schema) else [])), defaults


def numpy_spellings(schema: Schema) -> dict[str, str]:
    """numpy's names that a call may use -> the arguments' own: ``axis`` for ``dim``, ``keepdims`` for ``keepdim``."""
    names = {a.name for a in schema.arguments}
    return {} if folded_argument(schema) else {n: own for n, own in _NUMPY_SPELLINGS.items() if own in names and n not in names}


_NUMPY_SPELLINGS = {"axis": "dim", "keepdims": "keepdim"}
_MISSING = type("_Missing", (), {"__slots__": (), "__repr__": lambda self: "<required>"})()


def _may_be_missing(schema: Schema) -> list[str]:
    """Required positional arguments that need a default, because one that has another spelling stands before (or is) them."""
    spelled = set(numpy_spellings(schema).values())
    positional = [a for a in schema.arguments if a.required and not a.keyword_only]
    first = next((k for k, a in enumerate(positional) if a.name in spelled), len(positional))
    return [a.name for a in positional[first:]]


def _respell(schema: Schema, first: str) -> str:
    """The lines that accept numpy's spellings, and complain of arguments that neither spelling gave."""
    lines = ""
    for spelling, own in numpy_spellings(schema).items():
        argument = next(a for a in schema.arguments if a.name == own)
        left_out = "missing" if argument.required else f"_default_{own}"
        lines += f"    if {spelling} is not None:\n        {own} = respelled('{schema.name}', '{own}', {own}, {left_out}, {spelling})\n"
    for name in _may_be_missing(schema):
        own = dict(zip([a.name for a in schema.arguments], _parameters(schema, first)))[name]
        lines += f"    if {own} is missing:\n        complain('{schema.name}', '{own}')\n"
    return lines


def _respelled(function: str, name: str, value: Any, left_out: Any, respelled: Any) -> Any:
    """The value that was given under numpy's name."""
    if value is not left_out:
        raise TypeError(f"{function}() got multiple values for argument '{name}'")
    return respelled


def _complain(function: str, argument: str) -> None:
    raise TypeError(f"{function}() missing 1 required positional argument: '{argument}'")


def _parameters(schema: Schema, first: str) -> list[str]:
    return [first if k == 0 and a.name == "self" else _python_name(a.name) for k, a in enumerate(schema.arguments)]


def _reserved(schema: Schema) -> list[str]:
    """The arguments whose names are words of Python, such as ``from``: only ``**{"from": 0}`` can name them in a call."""
    return [a.name for a in schema.arguments if iskeyword(a.name)]


def _unfold(schema: Schema) -> str:
    """The line that makes one tuple of ints that were passed one by one (or by keyword), or picks up arguments named like words of Python."""
    if _reserved(schema):
        picked = "".join(f"    {_python_name(n)} = named.pop('{n}', {_python_name(n)})\n" for n in _reserved(schema))
        refusal = f"{schema.name}() got an unexpected keyword argument '"
        return picked + f"    if named:\n        raise TypeError({refusal!r} + next(iter(named)) + \"'\")\n"
    listed = folded_argument(schema)
    if listed is None:
        return ""
    single = "Sequence" if listed.type == "Tensor[]" else "int"
    return f"    one_by_one = {listed.name}\n    {listed.name} = folded('{schema.name}', '{listed.name}', {listed.name}, named, {single!r})\n"


def _compile(name: str, source: str, namespace: dict[str, Any]) -> Any:
    filename = f"<pytorchlike {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def _python_name(name: str) -> str:
    return name if name.isidentifier() and not iskeyword(name) else f"{name}_"


def _fast_source(operator: Operator, first: str) -> str:
    """The lines of an operator's short way; empty where there is none."""
    arguments = operator.schema.arguments
    tensors = [a for a in arguments if a.type == "Tensor"]
    optional = [a for a in arguments if a.type == "Tensor?"]
    eligible = (
        tensors and len(operator.schema.returns) == 1 and operator.schema.returns[0] == "Tensor" and not operator.data_checks
        and not any(a.type.endswith("[]") and a.is_tensor for a in arguments) and len(optional) <= 1
    )  # fmt: skip
    if not eligible:
        return ""
    name_of = {a.name: first if k == 0 and a.name == "self" else a.name for k, a in enumerate(arguments)}
    statics = [a for a in arguments if not a.is_tensor and (not a.is_scalar or a.name in operator.static)]
    defaults = [a for a in arguments if a.is_scalar and a.name not in operator.static]
    key_parts = []
    for a in statics:
        key_parts.append(a.name)
        if a.is_scalar or a.type.rstrip("?") not in ("int", "int[]", "bool", "ScalarType", "str"):
            key_parts.append(f"{a.name}.__class__")
    key = f"({', '.join(key_parts)},)" if key_parts else "()"
    is_default = "".join(f" and {a.name} is _default_{a.name}" for a in defaults if not a.required)
    if any(a.required for a in defaults):
        return ""

    def is_plain(names: list[str]) -> str:
        return " and ".join(f"{n}.__class__ in plain" for n in names)

    names = [name_of[a.name] for a in tensors]
    lines = ["    if not state.slow:"]
    indent = "        "
    body = ""
    if optional:
        o = optional[0].name
        body += f"{indent}if {o} is None and {is_plain(names)}{is_default}:\n" + _block(names, key, "table_without", indent + "    ", None)
        order = [name_of[a.name] for a in arguments if a.type in ("Tensor", "Tensor?")]
        body += f"{indent}elif {is_plain(order)}{is_default}:\n" + _block(order, key, "table", indent + "    ", None)
    else:
        body += f"{indent}if {is_plain(names)}{is_default}:\n" + _block(names, key, "table", indent + "    ", None)
        if len(names) == 2 and operator.promote is not Promote.NONE:
            own, other = names
            for kind, store, table in (("float", "floats", "table_float"), ("int", "ints", "table_int")):
                in_range = f" and {-2**63} <= {other} < {2**63}" if kind == "int" else ""
                body += f"{indent}elif {other}.__class__ is {kind} and {own}.__class__ in plain{in_range}{is_default}:\n"
                body += _block([own], key, table, indent + "    ", (store, other))
    if key_parts:
        lines.append(f"        try:\n{_shift(body)}        except TypeError:\n            if not unhashable({', '.join(a.name for a in statics)}):\n                raise")
        return "\n".join(lines) + "\n"
    return "\n".join(lines) + "\n" + body


def _shift(text: str) -> str:
    return "".join("    " + line + "\n" for line in text.splitlines())


def _unhashable(*values: Any) -> bool:
    for value in values:
        try:
            hash(value)
        except TypeError:
            return True
    return False


def _remember(operator: Operator, arguments: tuple[Any, ...], tables: dict[str, dict]) -> Any:
    """The general way, which also leaves the bound instruction where the generated function looks for it."""
    table, key = None, ()
    if not thread.state.slow:
        parts = []
        pattern = "table"
        tensor_count = sum(a.type == "Tensor" for a in operator.schema.arguments)
        for a, value in zip(operator.schema.arguments, arguments):
            if a.type == "Tensor?":
                pattern = "table_without" if value is None else pattern
            elif a.type == "Tensor" and not isinstance(value, Tensor):
                kind = {float: "table_float", int: "table_int"}.get(type(value))
                pattern = kind if kind and tensor_count == 2 and value is not arguments[0] else ""
            elif not a.is_tensor and (not a.is_scalar or a.name in operator.static):
                parts.append(value)
                if a.is_scalar or a.type.rstrip("?") not in ("int", "int[]", "bool", "ScalarType", "str"):
                    parts.append(value.__class__)
            elif a.is_scalar and value is not a.default:
                pattern = ""
        if pattern and not _unhashable(*parts):
            table, key = tables[pattern], tuple(parts)
    return general(operator, arguments, table, key)


def _remember_or_decline(operator: Operator, arguments: tuple[Any, ...], tables: dict[str, dict]) -> Any:
    """For ``x + y``: an operand that is no tensor and no number leaves the other side its turn."""
    for value in arguments[:2]:
        if not isinstance(value, _OPERANDS) and not hasattr(type(value), "__torch_function__"):
            if isinstance(value, np.ndarray) and operator.name == "eq":  # the only one that torch answers for arrays
                return _remember(operator, (arguments[0], host_tensor(np.array(value)), *arguments[2:]), tables)
            return NotImplemented
    return _remember(operator, arguments, tables)


_OPERANDS = (Tensor, int, float, complex, np.number, np.bool_)


def make_function(declared: Any, first: str = "self", for_dunder: bool = False) -> Any:
    """The Python function of a declared operator, with its schema's signature.

    Args:
        first: the name of the first parameter (``input`` in torch's functions, ``self`` in methods).
        for_dunder: the function serves ``x + y`` and the like: other operands than it knows give NotImplemented.
    """
    schema = declared.schema
    name = _python_name(schema.name)
    names = _parameters(schema, first)
    passed = ", ".join(names) + ("," if names else "")
    with_out = isinstance(declared, Operator) and bool(declared.forms & OUT)
    signature, defaults = _signature(schema, first, with_out)
    source = f"def {name}({signature}):\n" + _respell(schema, first) + _unfold(schema)
    namespace: dict[str, Any] = defaults | _SHARED | {"declared": declared}
    handing = f"take_over(public, declared, ({passed}), {'one_by_one' if folded_argument(schema) else None}"
    if isinstance(declared, Operator):
        tables: dict[str, dict] = {t: {} for t in ("table", "table_without", "table_float", "table_int")}
        declared.tables += tables.values()
        namespace |= tables | {
            "tables": tables, "on_tape": on_tape, "remember": _remember, "general_out": general_out, "unhashable": _unhashable,
            "Tensor": Tensor, "Value": Value, "new": new_value,
        }  # fmt: skip
        if with_out:
            source += f"    if out is not None:\n        if wanted(({passed} out,)):\n            return {handing}, out)\n        return general_out(declared, ({passed}), out)\n"
        source += f"    state = thread.state\n{_fast_source(declared, first)}    if wanted(({passed})):\n        return {handing})\n"
        source += f"    return remember(declared, ({passed}), tables)\n"
        if for_dunder:
            namespace["remember"] = _remember_or_decline
    elif isinstance(declared, ViewOperator):
        namespace["call_view"] = call_view
        unsure = ["thread.state.slow", *[_is_special(n, a) for n, a in zip(names, schema.arguments) if a.is_tensor]]
        source += f"    if ({' or '.join(unsure)}) and wanted(({passed})):\n        return {handing})\n"
        source += f"    return call_view(declared, {names[0]}, ({''.join(n + ', ' for n in names[1:])}))\n"
    else:
        namespace["body"] = declared.body
        by_kind = "".join(f"{n}={n}, " if a.keyword_only else f"{n}, " for n, a in zip(names, schema.arguments))
        unsure = ["thread.state.slow", *[_is_special(n, a) for n, a in zip(names, schema.arguments) if a.is_tensor]]
        source += f"    if ({' or '.join(unsure)}) and wanted(({passed})):\n        return {handing})\n"
        source += f"    return body({by_kind})\n"
    function = namespace["public"] = _compile(name, source, namespace)
    function.__doc__ = declared.__doc__
    function.__qualname__ = function.__name__ = schema.name
    function.__module__ = "torch"
    function.declared = declared
    return function


def _is_special(name: str, argument: Argument) -> str:
    """The source of a quick test that is false for plain tensors."""
    test = f"{name}.__class__ not in plain"
    return test if argument.required else f"{name} is not None and {test}"


def _folded(function: str, argument: str, positional: tuple, named: dict[str, Any], kind: str) -> Any:
    """The list of a call such as ``x.view(2, 3)``, ``x.view((2, 3))``, ``x.view(size=(2, 3))`` or ``meshgrid(a, b)``."""
    if named:
        value = named.pop(argument, positional)
        if named or (positional and value is not positional):
            raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named), argument)}'")
        return value
    if len(positional) != 1:
        if not positional and kind == "int":
            _complain(function, argument)
        return positional
    first = positional[0]
    is_list = isinstance(first, (list, tuple)) if kind == "Sequence" else not isinstance(first, int)
    return first if is_list else positional


#: What all generated functions refer to; ``public`` is the function that ``__torch_function__`` is given (forms.py puts a packet there).
_SHARED: dict[str, Any] = {
    "complain": _complain, "folded": _folded, "missing": _MISSING, "plain": PLAIN_TYPES, "respelled": _respelled, "take_over": overrides.take_over,
    "thread": thread, "wanted": overrides.wanted,
}  # fmt: skip


def make_inplace(operator: Operator | ViewOperator) -> Any:
    """The in-place method of an operator, ``x.add_(y)``."""
    signature, defaults = _signature(operator.schema, "self", False)
    names = ", ".join(_parameters(operator.schema, "self"))
    name = _python_name(operator.name + "_")
    source = f"def {name}({signature}):\n{_respell(operator.schema, 'self')}{_unfold(operator.schema)}    if wanted(({names},)):\n"
    source += f"        return take_over(public, declared, ({names},), {'one_by_one' if folded_argument(operator.schema) else None})\n"
    if isinstance(operator, ViewOperator):
        first, _, rest = names.partition(", ")
        source += f"    return call_view_inplace(declared, {first}, ({rest}{',' if rest else ''}))\n"
    else:
        source += f"    return general_inplace(declared, ({names},))\n"
    namespace = defaults | _SHARED | {"declared": operator, "general_inplace": general_inplace, "call_view_inplace": call_view_inplace}
    function = namespace["public"] = _compile(name, source, namespace)
    function.__doc__ = f"In-place form of `{operator.name}`."
    function.__qualname__ = function.__name__ = operator.name + "_"
    function.__module__ = "torch"
    function.declared = operator
    return function


registry.make_function = make_function
overloads.callers["_"] = functools.cache(make_inplace)


def _forget() -> None:
    for declared in registry.OPERATORS.values():
        if isinstance(declared, Operator):
            declared.instructions.clear()
            for table in declared.tables:
                table.clear()


on_default_dtype_change(_forget)
