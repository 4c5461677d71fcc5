"""The arguments of a call held against a schema, as ``torch.ops`` does it: values in the schema's order, or torch's error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.device import as_device, device
from ..core.dtype import dtype
from ..core.layouts import layout, memory_format
from ..tensors.generator import Generator
from ..tensors.tensor import Tensor
from .schema import Argument, FunctionSchema, Type

__all__ = ["checked_results", "for_kernel", "match"]

_UNFIT: Any = object()


def match(schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The values of all arguments, in the schema's order.

    Raises:
        RuntimeError: they do not fit, torch's texts.
    """
    name, declared = schema.name, schema.arguments
    if len(args) + len(kwargs) > len(declared) and not schema.is_vararg:
        raise RuntimeError(
            f"{name}() expected at most {len(declared)} argument(s) but received {len(args) + len(kwargs)} argument(s). Declaration: {schema}"
        )
    positional = sum(not a.kwarg_only for a in declared)
    if len(args) > positional and not schema.is_vararg:
        raise RuntimeError(f"{name}() takes {positional} positional argument(s) but {len(args)} was/were given.  Declaration: {schema}")
    for key in kwargs:
        if key not in [a.name for a in declared]:
            raise RuntimeError(f"Unknown keyword argument '{key}' for operator '{name}'. Schema: {schema}")
    values = []
    for position, argument in enumerate(declared):
        if position < len(args):
            if argument.name in kwargs:
                raise RuntimeError(f"Argument '{argument.name}' specified both as positional and keyword argument. Schema: {schema}")
            value = _fitting(schema, argument, position, args[position])
        elif argument.name in kwargs:
            value = _fitting(schema, argument, position, kwargs[argument.name])
        elif argument.required:
            raise RuntimeError(f"{name}() is missing value for argument '{argument.name}'. Declaration: {schema}")
        else:
            value = argument.default
        values.append(value)
    return (*values, *args[len(declared) :])


def for_kernel(schema: FunctionSchema, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments for a kernel: without the defaults at the end, and without keywords at their defaults."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    needed = 0
    for argument, value in zip(schema.arguments, values):
        is_default = not argument.required and _is_default(value, argument.default)
        if argument.kwarg_only:
            if not is_default:
                keywords[argument.name] = value
            continue
        positional.append(value)
        if not is_default:
            needed = len(positional)
    return (*positional[:needed], *values[len(schema.arguments) :]), keywords


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and not isinstance(value, Tensor) and value == default)


def _fitting(schema: FunctionSchema, argument: Argument, position: int, value: Any) -> Any:
    found = _cast(argument.type, value)
    if found is not _UNFIT:
        return found
    expected = argument.type
    if expected.plain == "Tensor":
        details = f"Unable to cast {value} to Tensor"
    elif expected.plain == "Scalar":
        details = f"Cannot cast {value} to number"
    else:
        details = (
            f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug "
            "mode for details)"
        )
    raise RuntimeError(
        f"{schema.name}() Expected a value of type '{expected}' for argument '{argument.name}' but instead found type '{type(value).__name__}'.\n"
        f"Position: {position}\nValue: {value!r}\nDeclaration: {schema}\nCast error details: {details}"
    )


def _cast(kind: Type, value: Any) -> Any:
    """A value as one of a type; `_UNFIT` if it is none."""
    if kind.kind == "?":
        assert kind.of is not None
        return None if value is None else _cast(kind.of, value)
    if kind.kind == "[]":
        assert kind.of is not None
        if kind.size is not None and isinstance(value, (int, float)):
            return [value] * kind.size
        if not isinstance(value, (list, tuple)):
            return _UNFIT
        found = [_UNFIT if v is None and kind.of.kind != "?" else _cast(kind.of, v) for v in value]
        return _UNFIT if any(f is _UNFIT for f in found) else found
    cast = _CASTS.get(kind.written)
    return value if cast is None else cast(value)


def _number(kinds: tuple[type, ...]) -> Callable[[Any], Any]:
    """The cast to numbers of some classes: numpy's numbers and tensors of one element are read."""

    def cast(value: Any) -> Any:
        if isinstance(value, kinds) and not isinstance(value, np.generic):
            return int(value) if kinds == (int,) else value  # type: ignore[call-overload]
        if isinstance(value, np.generic):
            return cast(value.item())
        if isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad:
            read: Any = value.item()
            return int(read) if kinds == (int,) else float(read) if kinds == (int, float) else _UNFIT
        return _UNFIT

    return cast


def _float(value: Any) -> Any:
    found = _number((int, float))(value)
    return float(found) if isinstance(found, (int, float)) else _UNFIT


def _scalar(value: Any) -> Any:
    if isinstance(value, Tensor) and not value.dim() and not value.requires_grad:
        return value.item()
    return _UNFIT if isinstance(value, Tensor) else _number((int, float, complex))(value)


def _device(value: Any) -> Any:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return as_device(value)
    return value if isinstance(value, device) else _UNFIT


def _bool(value: Any) -> Any:
    found = _number((int, float))(value)
    return bool(found) if isinstance(found, (int, float)) else _UNFIT


def _only(*kinds: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kinds) else _UNFIT


_CASTS: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda value: value if value is None or isinstance(value, Tensor) else _UNFIT, "int": _number((int,)), "SymInt": _number((int,)),
    "float": _float, "bool": _bool, "SymBool": _bool, "str": _only(str), "Scalar": _scalar, "complex": _number((int, float, complex)),
    "ScalarType": _only(dtype, int), "Device": _device, "Generator": _only(Generator), "Layout": _only(layout, int),
    "MemoryFormat": _only(memory_format, int),
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- results
def checked_results(schema: FunctionSchema, results: Any) -> Any:
    """What a kernel returned, as the schema says: tuples for several results, lists for lists.

    Raises:
        RuntimeError: it is something else, torch's text.
    """
    if schema.is_varret:
        return results
    if not schema.returns:
        if results is not None:
            raise RuntimeError(f"Expected PythonKernelHolder for {schema.name} to return None but it returned something else instead.")
        return None
    if len(schema.returns) == 1:
        return _result(schema.returns[0].type, results)
    if not isinstance(results, (tuple, list)):
        raise TypeError(f"Object of type '{type(results).__name__}' is not an instance of 'sequence'")
    if len(results) != len(schema.returns):
        raise RuntimeError(f"{schema.name} returned {len(results)} values, but its schema has {len(schema.returns)} results: {schema}")
    return tuple([_result(r.type, value) for r, value in zip(schema.returns, results)])


def _result(kind: Type, value: Any) -> Any:
    found = _cast(kind, value)
    if found is _UNFIT:
        raise RuntimeError(f"Unable to cast {value} to {kind}")
    return found
