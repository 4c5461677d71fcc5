"""The Python functions of operators, written out from their schemas: for calls on plain tensors each takes the short way.

That is, it finds the next state of the recorder's trie at once; every other call goes `call.general`'s way.
"""

from __future__ import annotations

import functools
import linecache
import textwrap
from collections.abc import Callable, Sequence
from keyword import iskeyword
from typing import Any

import numpy as np

from ..core.bounded import kind_of
from ..core.state import on_default_dtype_change, thread
from ..graph.data_checks import raise_failed_now
from ..graph.provenance import user_line
from ..graph.trie import State
from ..graph.value import Value, new_value
from ..tensors import inference
from ..tensors.tape import Edge, Node, next_number
from ..tensors.tensor import PLAIN_TYPES, Tensor
from . import autocast, overloads, overrides, registry
from .call import backward_of, general, general_inplace, host_tensor, named_results
from .out import composite_out, general_out
from .registry import OUT, Operator, Promote, ViewOperator
from .schema import Argument, Schema
from .view import call_view, call_view_inplace

__all__ = ["folded_argument", "make_function", "make_inplace", "numpy_spellings", "on_tape"]

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
    if inference.was_used:
        inference.refuse_saving(node.saved)
    node.scalars = scalars
    node.number = next_number()
    node.hooks = None
    return (node, 0)


_new = object.__new__

_RECORDED = """\
{indent}    trace.position = found{keep_scalar}
{indent}    pending = new(state.value_class)
{indent}    pending.aval = found.aval
{indent}    pending.trace = trace
{indent}    pending.slot = found.slot
{indent}    pending.array = None
{indent}    trace.values.append(pending)"""

_BLOCK = """\
{indent}trace = state.trace
{slots}
{indent}found = trace.position.next.get((instruction, {slot_names})) or trace.extend(instruction, ({slot_names}))
{indent}if found is not None:
{recorded}
{indent}    pending.origin = None
{indent}    out = new(Tensor)
{indent}    out._value = pending
{indent}    out._storage = None
{edges}
{indent}        out._edge = None
{indent}    else:
{indent}        out._edge = on_tape(found, ({edge_names},), ({value_names},), pending{scalars})
{indent}    return out
"""


#: The same when the result becomes the content of the first tensor, a base tensor that is not on the tape.
_INPLACE_BLOCK = """\
{indent}trace = state.trace
{slots}
{indent}found = trace.position.next.get((instruction, {slot_names}))
{indent}if found is not None:
{recorded}
{indent}    storage.version += 1
{indent}    changes = storage.changes
{indent}    changes.tracked += 1
{indent}    storage.value = pending
{indent}    pending.origin = (changes, changes.tracked)
{indent}    return self
"""


def _block(names: Sequence[str], key: str, table: str, indent: str, scalar: tuple[str, str] | None, data_checks: bool = False,
           inplace: bool = False) -> str:  # fmt: skip
    """The lines that record a call on the tensors of these names."""
    read = "".join(
        f"{indent}v{k} = storage.value\n" if inplace and k == 0 else f"{indent}v{k} = {n}._value if {n}._storage is None else {n}._read()\n"
        for k, n in enumerate(names)
    )
    lookup = f"{indent}instruction = {table}.get({key})\n{indent}if instruction is not None:\n"
    inner = indent + "    "
    slots = "\n".join(f"{inner}s{k} = v{k}.slot if v{k}.trace is trace else trace.slot_of(v{k})" for k in range(len(names)))
    edges = "\n".join(f"{inner}    e{k} = {n}._edge" for k, n in enumerate(names))
    edges += f"\n{inner}    if not state.grad_enabled or {' and '.join(f'e{k} is None' for k in range(len(names)))}:"
    check, keep, scalars = "", "", ""
    if scalar is not None:
        keep = f"\n{inner}    trace.{scalar[0]}.append({scalar[1]})"
        scalars = f", (({scalar[1]},), ())" if scalar[0] == "floats" else f", ((), ({scalar[1]},))"
    if data_checks:
        values = "".join(f"v{k}, " for k in range(len(names)))
        numbers = "(), ()" if scalar is None else f"({scalar[1]},), ()" if scalar[0] == "floats" else f"(), ({scalar[1]},)"
        check = f"{inner}    raise_failed_now(instruction.host_checks(({''.join(f'v{k}.aval, ' for k in range(len(names)))})), ({values}), {numbers})\n"
        keep += f"\n{inner}    trace.sites[found.slot] = user_line()"
    slot_names = ", ".join(f"s{k}" for k in range(len(names))) + ("," if names else "")
    recorded = check + _RECORDED.format(indent=inner, keep_scalar=keep)
    if inplace:
        return read + lookup + _INPLACE_BLOCK.format(indent=inner, slots=slots, slot_names=slot_names, recorded=recorded)
    return read + lookup + _BLOCK.format(
        indent=inner, slots=slots, slot_names=slot_names, recorded=recorded, edges=edges,
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


class _Shape:
    """What of an operator's schema decides its short way.

    Attributes:
        names: the parameters that are tensors; ``optional`` the one that may be None (or none at all).
        statics: the parameters that are part of the instruction, ``key`` the source of their tuple.
        is_default: the source of a test that the other numbers were left out.
        is_eligible: whether there is a short way.
    """

    def __init__(self, operator: Operator, first: str) -> None:
        arguments = operator.schema.arguments
        name_of = {a.name: first if k == 0 and a.name == "self" else a.name for k, a in enumerate(arguments)}
        optional = [a.name for a in arguments if a.type == "Tensor?"]
        scalars = [a for a in arguments if a.is_scalar and a.name not in operator.static]
        self.names = [name_of[a.name] for a in arguments if a.type == "Tensor"]
        self.all_names = [name_of[a.name] for a in arguments if a.type in ("Tensor", "Tensor?")]
        self.optional = optional[0] if optional else None
        self.statics = [a.name for a in arguments if not a.is_tensor and a not in scalars]
        parts = [p for a in arguments if not a.is_tensor and a not in scalars for p in _key_parts(operator, a)]
        self.key = f"({', '.join(parts)},)" if parts else "()"
        self.is_default = "".join(f" and {a.name} is _default_{a.name}" for a in scalars)
        self.is_eligible = (
            bool(self.names) and operator.schema.returns == ("Tensor",) and len(optional) <= 1
            and not any(a.type.endswith("[]") and a.is_tensor for a in arguments) and not any(a.required for a in scalars)
            and not any(check.at_once for check in operator.data_checks)
        )  # fmt: skip

    def guarded(self, body: str) -> str:
        """The body, with a way out for static arguments that cannot be looked up."""
        if not self.statics:
            return body
        return f"        try:\n{_shift(body)}        except TypeError:\n            if not unhashable({', '.join(self.statics)}):\n                raise\n"


def _key_parts(operator: Operator, argument: Argument) -> list[str]:
    """The source of what a static argument contributes to the key: with its kind, where equal values of other kinds mean other things."""
    if not argument.is_scalar and argument.type.rstrip("?") in ("int", "int[]", "bool", "ScalarType", "str"):
        return [argument.name]
    x = argument.name
    return [x, f"{x}.__class__ if {x}.__class__ is int or {x}.__class__ is float and {x} else kind_of({x})"]


def _are_plain(names: Sequence[str]) -> str:
    return " and ".join(f"{n}.__class__ in plain" for n in names)


def _fast_source(operator: Operator, first: str) -> str:
    """The lines of an operator's short way; empty where there is none."""
    shape = _Shape(operator, first)
    if not shape.is_eligible:
        return ""
    names, key, defaults, checked = shape.names, shape.key, shape.is_default, bool(operator.data_checks)
    indent, deeper = " " * 8, " " * 12
    if shape.optional is not None:
        body = f"{indent}if {shape.optional} is None and {_are_plain(names)}{defaults}:\n" + _block(names, key, "table_without", deeper, None, checked)
        body += f"{indent}elif {_are_plain(shape.all_names)}{defaults}:\n" + _block(shape.all_names, key, "table", deeper, None, checked)
    else:
        body = f"{indent}if {_are_plain(names)}{defaults}:\n" + _block(names, key, "table", deeper, None, checked)
        for condition, scalar, table in _number_cases(operator, names):
            body += f"{indent}elif {condition} and {names[0]}.__class__ in plain{defaults}:\n"
            body += _block(names[:1], key, table, deeper, scalar, checked)
    return "    if not state.slow:\n" + shape.guarded(body)


def _number_cases(operator: Operator, names: Sequence[str]) -> list[tuple[str, tuple[str, str], str]]:
    """For a binary operator: the tests that the second operand is a Python number, where it goes, and the table for it."""
    if len(names) != 2 or operator.promote is Promote.NONE:
        return []
    other = names[1]
    in_range = f"{-2**63} <= {other} < {2**63}"
    return [
        (f"{other}.__class__ is float", ("floats", other), "table_float"),
        (f"{other}.__class__ is int and {in_range}", ("ints", other), "table_int"),
    ]


def _fast_inplace_source(operator: Operator) -> str:
    """The lines of an in-place form's short way: a base tensor of its own memory, nothing on the tape."""
    shape = _Shape(operator, "self")
    if not shape.is_eligible or shape.optional is not None or operator.data_checks or shape.names[0] != "self":
        return ""
    names, key, defaults = shape.names, shape.key, shape.is_default
    indent, deeper = " " * 8, " " * 12
    others = names[1:]
    apart = "".join(f" and ({n} is self or {n}._storage is not storage)" for n in others)
    untaped = f" and (not state.grad_enabled or {' and '.join(f'{n}._edge is None' for n in names)})"
    body = f"{indent}if {_are_plain(names)}{defaults}{apart}{untaped}:\n" + _block(names, key, "table", deeper, None, inplace=True)
    for condition, scalar, table in _number_cases(operator, names):
        body += f"{indent}elif {condition} and self.__class__ in plain{defaults} and (not state.grad_enabled or self._edge is None):\n"
        body += _block(names[:1], key, table, deeper, scalar, inplace=True)
    return (
        "    state = thread.state\n    storage = getattr(self, '_storage', None)\n"
        "    if storage is not None and not state.slow and self._geometry is storage.base and self._base_tensor is None and storage.host is None"
        " and not self._flags:\n" + shape.guarded(body)
    )


def _shift(text: str) -> str:
    return "".join("    " + line + "\n" for line in text.splitlines())


def _unhashable(*values: Any) -> bool:
    for value in values:
        try:
            hash(value)
        except TypeError:
            return True
    return False


def _place(operator: Operator, arguments: tuple[Any, ...], tables: dict[str, dict]) -> tuple[dict | None, tuple]:
    """The table and key under which a generated function looks for the instruction of such a call; ``(None, ())`` if it does not."""
    if thread.state.slow:
        return None, ()
    parts: list[Any] = []
    pattern = "table"
    types = [a.type for a in operator.schema.arguments]
    takes_numbers = types.count("Tensor") == 2 and "Tensor?" not in types  # see `_number_cases`
    for a, value in zip(operator.schema.arguments, arguments):
        if a.type == "Tensor?":
            pattern = "table_without" if value is None and pattern else pattern
        elif a.type == "Tensor" and not isinstance(value, Tensor):
            kind = {float: "table_float", int: "table_int"}.get(type(value))
            pattern = kind if kind and takes_numbers and value is not arguments[0] else ""
        elif not a.is_tensor and (not a.is_scalar or a.name in operator.static):
            parts += [value, kind_of(value)][: len(_key_parts(operator, a))]
        elif a.is_scalar and value is not a.default:
            pattern = ""
    if not pattern or _unhashable(*parts) or any(isinstance(p, Tensor) or isinstance(p, tuple) and any(isinstance(q, Tensor) for q in p) for p in parts):
        return None, ()  # a tensor in the place of an int is that number today
    return tables[pattern], tuple(parts)


def _remember(operator: Operator, arguments: tuple[Any, ...], tables: dict[str, dict]) -> Any:
    """The general way, which also leaves the bound instruction where the generated function looks for it."""
    return general(operator, arguments, *_place(operator, arguments, tables))


def _remember_inplace(operator: Operator, arguments: tuple[Any, ...], tables: dict[str, dict]) -> Tensor:
    """The same for an in-place form."""
    return general_inplace(operator, arguments, *_place(operator, arguments, tables))


def _remember_or_decline(operator: Operator, arguments: tuple[Any, ...], tables: dict[str, dict]) -> Any:
    """For ``x + y``: an operand that is no tensor and no number leaves the other side its turn."""
    for value in arguments[:2]:
        if not isinstance(value, _OPERANDS) and not hasattr(type(value), "__torch_function__"):
            if isinstance(value, np.ndarray) and operator.name == "eq":  # the only one that torch answers for arrays
                return _remember(operator, (arguments[0], host_tensor(np.array(value)), *arguments[2:]), tables)
            return NotImplemented
    return _remember(operator, arguments, tables)


_OPERANDS = (Tensor, int, float, complex, np.number, np.bool_)


def make_function(declared: Any, first: str = "self", for_dunder: bool = False, others: Callable | None = None) -> Any:
    """The Python function of a declared operator, with its schema's signature.

    Args:
        first: the name of the first parameter (``input`` in torch's functions, ``self`` in methods).
        for_dunder: the function serves ``x + y`` and the like: other operands than it knows give NotImplemented.
        others: for a view that is called with ints one by one: what calls another overload, or raises the error it is given again.
    """
    schema = declared.schema
    name = _python_name(schema.name)
    names = _parameters(schema, first)
    passed = ", ".join(names) + ("," if names else "")
    with_out = not isinstance(declared, ViewOperator) and bool(declared.forms & OUT)
    signature, defaults = _signature(schema, first, with_out)
    source = f"def {name}({signature}):\n" + _respell(schema, first) + _unfold(schema)
    namespace: dict[str, Any] = defaults | _SHARED | {"declared": declared}
    handing = f"take_over(public, declared, ({passed}), {'one_by_one' if folded_argument(schema) else None}"
    if isinstance(declared, Operator):
        tables = _new_tables(declared)
        namespace |= tables | {
            "tables": tables, "on_tape": on_tape, "remember": _remember, "general_out": general_out,
            "Tensor": Tensor,
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
        if others is not None:
            namespace["others"] = others
            head, _, rest = source.partition("    one_by_one =")
            rest = textwrap.indent(f"    one_by_one ={rest}", "    ")
            source = f"{head}    try:\n{rest}    except TypeError as error:\n        return others(error, {names[0]}, *one_by_one, **named)\n"
    else:
        namespace |= {"body": declared.body, "composite_out": composite_out}
        if schema.result_names:
            namespace["named"] = named_results(schema)
        by_kind = "".join(f"{n}={n}, " if a.keyword_only else f"{n}, " for n, a in zip(names, schema.arguments))
        if with_out:
            source += f"    if out is not None:\n        if wanted(({passed} out,)):\n            return {handing}, out)\n"
            source += f"        return composite_out(declared, ({passed}), body({by_kind}), out)\n"
        unsure = ["thread.state.slow", *[_is_special(n, a) for n, a in zip(names, schema.arguments) if a.is_tensor]]
        source += f"    if {' or '.join(unsure)}:\n        if wanted(({passed})):\n            return {handing})\n"
        if autocast.is_listed(declared):
            source += f"        if thread.state.autocast:\n            return autocasting(declared, '', ({passed}))\n"
        source += f"    return {'named' if schema.result_names else ''}(body({by_kind}))\n"
    function = namespace["public"] = _compile(name, source, namespace)
    function.__doc__ = declared.__doc__
    function.__qualname__ = function.__name__ = schema.name
    function.__module__ = "torch"
    function.declared = declared
    return function


def _new_tables(operator: Operator) -> dict[str, dict]:
    tables: dict[str, dict] = {t: {} for t in ("table", "table_without", "table_float", "table_int")}
    operator.tables += tables.values()
    return tables


def _is_special(name: str, argument: Argument) -> str:
    """The source of a quick test that is false for plain tensors."""
    test = f"{name}.__class__ not in plain"
    if argument.type == "Tensor[]":
        test = f"({name}.__class__ is not list and {name}.__class__ is not tuple or not plain.issuperset(map(type, {name})))"
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
    "autocasting": autocast.autocasting, "complain": _complain, "folded": _folded, "missing": _MISSING, "plain": PLAIN_TYPES,
    "raise_failed_now": raise_failed_now, "respelled": _respelled, "take_over": overrides.take_over, "thread": thread, "wanted": overrides.wanted,
    "unhashable": _unhashable, "user_line": user_line, "kind_of": kind_of, "new": new_value,
}  # fmt: skip


def make_inplace(operator: Operator | ViewOperator) -> Any:
    """The in-place method of an operator, ``x.add_(y)``."""
    signature, defaults = _signature(operator.schema, "self", False)
    names = ", ".join(_parameters(operator.schema, "self"))
    name = _python_name(operator.name + "_")
    source = f"def {name}({signature}):\n{_respell(operator.schema, 'self')}{_unfold(operator.schema)}"
    namespace = defaults | _SHARED | {"declared": operator, "call_view_inplace": call_view_inplace}
    if isinstance(operator, Operator):
        tables = _new_tables(operator)
        namespace |= tables | {"tables": tables, "remember": _remember_inplace}
        source += _fast_inplace_source(operator)
    source += f"    if wanted(({names},)):\n"
    source += f"        return take_over(public, declared, ({names},), {'one_by_one' if folded_argument(operator.schema) else None})\n"
    if isinstance(operator, ViewOperator):
        first, _, rest = names.partition(", ")
        source += f"    return call_view_inplace(declared, {first}, ({rest}{',' if rest else ''}))\n"
    else:
        source += f"    return remember(declared, ({names},), tables)\n"
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
