"""The public forms of the declared operators: functions by namespace, methods of `Tensor`, in-place methods, Python's operators.

They are made on first use: a name that nobody calls costs nothing at import.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dtype import dtype
from ..tensors.tensor import Tensor, method_makers
from . import overrides, registry
from .bind import type_name
from .generate import folded_argument, make_function, make_inplace, numpy_spellings
from .overloads import callers
from .registry import FUNCTION, INPLACE, METHOD
from .schema import Argument

__all__ = ["function", "has_function", "install", "method", "names_of"]

#: namespace -> public name -> declared operators, in order of declaration.
_functions: dict[str, dict[str, list[Any]]] = {}
#: method name -> declared operators.
_methods: dict[str, list[Any]] = {}
#: in-place method name -> declared operators.
_inplace: dict[str, list[Any]] = {}
_made_functions: dict[tuple[str, str], Any] = {}


def install() -> None:
    """Collect what has been declared and give `Tensor` its operators; called once all of aten is imported."""
    for declared in registry.OPERATORS.values():
        names = [declared.name, *[a for a in declared.aliases if "." not in a]]
        for name in names:
            if FUNCTION in declared.forms:
                for namespace in declared.namespaces:
                    _functions.setdefault(namespace, {}).setdefault(name, []).append(declared)
            if METHOD in declared.forms:
                _methods.setdefault(name, []).append(declared)
            if INPLACE in declared.forms:
                _inplace.setdefault(name + "_", []).append(declared)
        for alias in declared.aliases:
            if "." in alias:
                namespace, _, name = alias.rpartition(".")
                _functions.setdefault(namespace, {}).setdefault(name, []).append(declared)
    method_makers.append(method)
    for dunder, name in _OPERATORS.items():
        setattr(Tensor, dunder, _dunder(dunder, name) if dunder in ("__matmul__", "__invert__") else _at_first_call(dunder, name))
    Tensor.__rtruediv__ = _rtruediv  # type: ignore[attr-defined]
    Tensor.__matmul__, Tensor.__invert__ = _of_tensors(Tensor.__matmul__), _of_integers(Tensor.__invert__)  # type: ignore[attr-defined]
    for dunder, name in _REFLECTED.items():
        setattr(Tensor, dunder, _reflected(name))
    for dunder in ("__rtruediv__", "__invert__", *_REFLECTED):
        whole = overrides.overridable(Tensor.__dict__[dunder])
        whole.__name__ = _NAMES_OF_DUNDERS.get(dunder, dunder)
        setattr(Tensor, dunder, whole)
    Tensor.__rdiv__ = Tensor.__rtruediv__  # type: ignore[attr-defined]
    for dunder, name in _INPLACE_OPERATORS.items():
        setattr(Tensor, dunder, _inplace_dunder(name))


def has_function(namespace: str, name: str) -> bool:
    """Whether an operator has a function of this name there."""
    return name in _functions.get(namespace, ()) or (namespace == "" and name in _inplace)


def names_of(namespace: str) -> list[str]:
    """The public functions of a namespace."""
    return sorted(_functions.get(namespace, ()))


def function(namespace: str, name: str) -> Any:
    """The public function ``namespace.name``.

    Raises:
        KeyError: there is none.
    """
    made = _made_functions.get((namespace, name))
    if made is None:
        if namespace == "" and name in _inplace and name not in _functions.get("", ()):
            made = method(name)
        else:
            declared = _functions[namespace][name]
            made = _named(_made(name, [(d, make_function(d, _first_name(d))) for d in declared]), name, namespace)
        _made_functions[namespace, name] = made
    return made


def _first_name(declared: Any) -> str:
    """What a function calls its ``self``: ``input``, unless it is a list."""
    arguments = declared.schema.arguments
    return "self" if arguments and arguments[0].type == "Tensor[]" else "input"


def _named(made: Any, name: str, namespace: str) -> Any:
    made.__name__ = made.__qualname__ = name
    made.__module__ = f"torch.{namespace}" if namespace else "torch"
    return made


def method(name: str) -> Any:
    """The method of `Tensor` of this name, made and installed.

    Raises:
        KeyError: there is none.
    """
    if name in Tensor.__dict__:
        return Tensor.__dict__[name]
    if name in _methods:
        made = _made(name, [(d, make_function(d)) for d in _methods[name]])
    else:
        made = _made(name, [(d, make_inplace(d)) for d in _inplace[name]])
    made.__name__, made.__qualname__ = name, f"Tensor.{name}"
    setattr(Tensor, name, made)
    return made


def _made(name: str, overloads: list[tuple[Any, Callable]]) -> Any:
    if len(overloads) == 1:
        return overloads[0][1]
    first = overloads[0][0]
    if isinstance(first, registry.ViewOperator) and folded_argument(first.schema):  # ``x.view(2, 3)`` is too frequent to choose first
        return make_function(first, others=functools.partial(_other_overload, name, overloads[1:]))
    return packet(name, overloads)


def _other_overload(name: str, overloads: list[tuple[Any, Callable]], error: TypeError, *args: Any, **kwargs: Any) -> Any:
    """Call the overload that fits, or raise the error of the first one again."""
    for declared, function in overloads:
        if _fits(declared, args, kwargs, True):
            return function(*args, **kwargs)
    raise error


def packet(name: str, overloads: list[tuple[Any, Callable]]) -> Any:
    """One function for several overloads: the first, in order of declaration, that the arguments fit."""
    chosen: dict[tuple, Callable] = {}

    def overloaded(*args: Any, **kwargs: Any) -> Any:
        key = (*map(type, args), None, *kwargs, *map(type, kwargs.values()))
        found = chosen.get(key)
        if found is None:
            values = (*args, *kwargs.values())
            overridden = overrides.is_wanted_by_class(values)
            if overridden and overrides.wanted(values):
                return overrides.hand_over(overloaded, args, kwargs)
            found, by_type = _resolve(name, overloads, args, kwargs)
            if by_type and not overridden and not any(isinstance(v, (list, tuple)) for v in values):
                chosen[key] = found
        return found(*args, **kwargs)

    for _, each in overloads:
        each.__globals__["public"] = overloaded  # each has globals of its own: what its ``__torch_function__`` calls are told
    overloaded.__doc__ = overloads[0][0].__doc__
    overloaded.__module__ = "torch"
    overloaded.overloads = overloads  # type: ignore[attr-defined]
    overloaded.declared = overloads[0][0]  # type: ignore[attr-defined]
    return overloaded


def _overload_packet(name: str, found: list[Any]) -> Any:
    """The function that calls the first of several `OpOverload`s that the arguments fit."""
    made = _packets.get(name)
    if made is None:
        made = _packets[name] = packet(name, [(o.declared, make_inplace(o.declared) if o.form else make_function(o.declared)) for o in found])
    return made


_packets: dict[str, Any] = {}
callers["packet"] = _overload_packet


def _resolve(name: str, overloads: list[tuple[Any, Callable]], args: tuple, kwargs: dict[str, Any]) -> tuple[Callable, bool]:
    """The overload that fits, and whether the arguments' types alone decide that."""
    for loosely in (False, True):
        for declared, function in overloads:
            if _fits(declared, args, kwargs, loosely):
                return function, not loosely
    got = ", ".join([*map(type_name, args), *[f"{k}={type_name(v)}" for k, v in kwargs.items()]])
    known = "\n".join(f" * ({', '.join(f'{a.type} {a.name}' for a in d.schema.arguments)})" for d, _ in overloads)
    raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{known}\n")


def _fits(declared: Any, args: tuple, kwargs: dict[str, Any], loosely: bool) -> bool:
    """Whether a call fits an overload; loosely, a number may stand for a tensor, and a 0-d tensor for a number."""
    schema = declared.schema
    positional = [a for a in schema.arguments if not a.keyword_only]
    folded = folded_argument(schema)
    if folded is not None:
        rest = args[positional.index(folded) :]
        if len(rest) > 1 or (rest and not isinstance(rest[0], (list, tuple))):
            args = (*args[: positional.index(folded)], tuple(rest))
    if len(args) > len(positional):
        return False
    given = dict(zip([a.name for a in positional], args))
    for name, value in kwargs.items():
        if name == "input" and "self" not in given and any(a.name == "self" for a in schema.arguments):
            name = "self"
        name = numpy_spellings(schema).get(name, name)
        if name in given:
            return False
        given[name] = value
    given.pop("out", None)
    for argument in schema.arguments:
        if argument.name not in given:
            if argument.required:
                return False
        elif not fits(argument, value := given.pop(argument.name)):
            if not loosely or not _stands_for(declared, argument, value):
                return False
    return not given


def fits(argument: Argument, value: Any) -> bool:
    """Whether a value may be passed for an argument."""
    kind = argument.type
    if value is None:
        return kind.endswith("?") or (not argument.required and argument.default is None)
    test = _TESTS.get(kind.rstrip("?"))
    return test is None or test(value)


def _stands_for(declared: Any, argument: Argument, value: Any) -> bool:
    kind = argument.type.rstrip("?")
    if isinstance(value, Tensor):
        return kind in ("int", "int[]") and _is_integral_scalar(value) or kind == "Scalar" and value.ndim == 0 and value._edge is None
    return _is_number(value) and argument.name in getattr(declared, "numbers", ())


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def _is_tensor_class(kind: type) -> bool:
    return issubclass(kind, Tensor) or hasattr(kind, "__torch_function__")


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_integral_scalar(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim == 0 and not value.dtype.is_floating_point and not value.dtype.is_complex


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number, np.bool_))


_TESTS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda v: _is_tensor(v),
    "Tensor[]": lambda v: isinstance(v, (list, tuple)) and all(map(_is_tensor_class, set(map(type, v)))),
    "Tensor?[]": lambda v: isinstance(v, (list, tuple)) and all(e is None or _is_tensor(e) for e in v),
    "Scalar": _is_number,
    "Scalar[]": lambda v: isinstance(v, (list, tuple)) and all(map(_is_number, v)),
    "int": _is_int,
    "int[]": lambda v: _is_int(v) or isinstance(v, (list, tuple)) and all(_is_int(e) or _is_integral_scalar(e) for e in v),
    "float": lambda v: isinstance(v, (int, float, np.number)) and not isinstance(v, bool),
    "float[]": lambda v: isinstance(v, (list, tuple)) and all(isinstance(e, (int, float)) for e in v),
    "bool": lambda v: isinstance(v, (bool, np.bool_)),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, dtype),
}


# ---------------------------------------------------------------------------------------------------------------- Python's operators
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__rsub__": "rsub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "true_divide",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul",
    "__neg__": "neg", "__abs__": "abs", "__invert__": "bitwise_not", "__pos__": "positive",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__and__": "bitwise_and", "__rand__": "bitwise_and", "__or__": "bitwise_or", "__ror__": "bitwise_or", "__xor__": "bitwise_xor", "__rxor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
}  # fmt: skip
_REFLECTED = {
    "__rpow__": "pow", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift", "__rmatmul__": "matmul",
}  # fmt: skip
_INPLACE_OPERATORS = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_",
    "__ipow__": "pow_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}  # fmt: skip


#: The special methods that ``__torch_function__`` is given as themselves (reflected ones are, too); for the others it is the plain method
#: (``Tensor.add`` for ``x + y``).
_HANDED_OVER_AS_THEMSELVES = frozenset(
    "__rsub__ __floordiv__ __pow__ __eq__ __and__ __or__ __xor__ __rand__ __ror__ __rxor__ __lshift__ __rshift__".split()
)
_NAMES_OF_DUNDERS = {"__pow__": "pow", "__rtruediv__": "__rdiv__"}


def _dunder(dunder: str, name: str) -> Any:
    declared = _methods[name]
    itself = dunder in _HANDED_OVER_AS_THEMSELVES
    if len(declared) == 1 and isinstance(declared[0], registry.Operator):
        made = make_function(declared[0], for_dunder=True)
        made.__globals__["public"] = dunder if itself else "div" if name == "true_divide" else name
    else:
        packed = method(name)
        if declared[0].schema.arguments[1:] == ():
            return packed

        def made(self: Any, other: Any) -> Any:
            if not isinstance(other, _OPERANDS) and not hasattr(type(other), "__torch_function__"):
                return NotImplemented
            if itself and overrides.wanted((self, other)):
                return overrides.hand_over(Tensor.__dict__[dunder], (self, other), {})
            return packed(self, other)

        made.declared = declared[0]  # type: ignore[attr-defined]
    made.__name__ = _NAMES_OF_DUNDERS.get(dunder, dunder) if itself else name
    return made


def _at_first_call(dunder: str, name: str) -> Any:
    """A special method that puts the real one in its place when it is called for the first time."""

    def first_call(self: Any, *operands: Any) -> Any:
        made = _dunder(dunder, name)
        setattr(Tensor, dunder, made)
        return made(self, *operands)

    return first_call


def _takes_over(value: Any) -> bool:
    return hasattr(type(value), "__torch_function__")


def _reflected(name: str) -> Any:
    """``other OP self``: the same operator with the operands in that order."""
    operands: Any = Tensor if name == "matmul" else _OPERANDS

    def reflected(self: Any, other: Any) -> Any:
        if not isinstance(other, operands) and not _takes_over(other):
            return NotImplemented
        return function("", name)(other, self)

    return reflected


def _rtruediv(self: Any, other: Any) -> Any:
    """``other / self``, which torch computes with the reciprocal."""
    if not isinstance(other, (*_OPERANDS, np.ndarray)) and not _takes_over(other):
        return NotImplemented
    return self.reciprocal() * other


def _of_tensors(made: Any) -> Any:
    """A binary special method that takes no numbers."""

    def matmul(self: Any, other: Any) -> Any:
        if not isinstance(other, Tensor) and not _takes_over(other):
            return NotImplemented
        return made(self, other)

    matmul.declared = made.declared  # type: ignore[attr-defined]
    return matmul


def _of_integers(made: Any) -> Any:
    """``~x`` with torch's refusal of other dtypes."""

    def invert(self: Any) -> Any:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return made(self)

    invert.declared = made.declared  # type: ignore[attr-defined]
    return invert


def _inplace_dunder(name: str) -> Any:
    """``self OP= other``; operands that the operator does not know leave the other side its turn."""

    def inplace(self: Any, other: Any) -> Any:
        if not isinstance(other, _OPERANDS) and not _takes_over(other):
            return NotImplemented
        return method(name)(self, other)

    return inplace


def method_names() -> list[str]:
    """All methods that the declared operators give `Tensor`, made or not."""
    return [*_methods, *_inplace]


_OPERANDS = (Tensor, int, float, complex, np.number, np.bool_)
