"""From a call's arguments to an instruction: what is an array, what is a number of the trace, what is part of the program."""

from __future__ import annotations

import functools
import math
import operator as python_operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core import promotion
from ..core import state as settings
from ..core.bounded import kind_of, remember
from ..core.device import CPU, device
from ..core.dtype import FLOATING, bool_, dtype, from_numpy, int64
from ..graph.data_checks import DataCheck, HostCheck
from ..graph.value import Aval
from ..tensors import layout as memory_layout
from ..tensors.tape import Backward
from ..tensors.tensor import Tensor
from .derivative import Differentiable, rule_backward
from .registry import Operator, Promote, parameters
from .schema import Argument

__all__ = ["Call", "OperatorInstruction", "bind", "broadcast_shapes", "column_major", "type_name", "wrong_type"]

# What stands for an argument in an instruction's key.
TENSOR, NOTHING, FLOAT, INT = "tensor", "none", "float", "int"


def type_name(value: Any) -> str:
    """The type's name as torch's messages give it."""
    if isinstance(value, (list, tuple)) and value:
        return f"{type(value).__name__} of {type(value[0]).__name__}s"
    return type(value).__name__


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape.

    Raises:
        RuntimeError: two sizes do not match, torch's text.
    """
    result: list[int] = []
    for shape in shapes:
        ndim = max(len(result), len(shape))
        left = [1] * (ndim - len(result)) + result
        right = [1] * (ndim - len(shape)) + list(shape)
        for d, (a, b) in enumerate(zip(left, right)):
            if a != b and a != 1 and b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {d}"
                )
            left[d] = b if a == 1 else a
        result = left
    return tuple(result)


class Layout:
    """Which argument each input array and each number of an instruction belongs to; made from the instruction's key."""

    __slots__ = ("order", "parts", "unrounded", "argument_of", "lists")

    def __init__(self, arguments: Sequence[Argument], parts: tuple[Any, ...], unrounded: tuple[str, ...] = ()) -> None:
        self.order = [a.name for a in arguments]
        self.parts = parts
        self.unrounded = unrounded
        self.argument_of: list[str] = []
        self.lists: set[str] = set()
        for argument, part in zip(arguments, parts, strict=True):
            if part[0] == TENSOR:
                self.argument_of.append(argument.name)
            elif part[0] == "list":
                self.lists.add(argument.name)
                self.argument_of += [argument.name for there in part[1] if there]

    def is_list(self, name: str) -> bool:
        return name in self.lists

    def values(self, arrays: Sequence[Any], scalars: Sequence[Any], compute: Any) -> list[Any]:
        """The body's arguments, in order; numbers are cast to the compute dtype (or stay weakly typed where there is none, or they are not rounded)."""
        array, floats = iter(arrays), sum(part[0] == FLOAT for part in self.parts)
        float_scalar, int_scalar = iter(scalars[:floats]), iter(scalars[floats:])
        found: list[Any] = []
        for name, part in zip(self.order, self.parts):
            kind = part[0]
            if kind == TENSOR:
                found.append(next(array))
            elif kind == FLOAT or kind == INT:
                own = None if compute in _HALVES and name in self.unrounded else compute
                found.append(_number(next(float_scalar if kind == FLOAT else int_scalar), own, kind))
            elif kind == "list":
                found.append([next(array) if there else None for there in part[1]])
            elif kind == NOTHING:
                found.append(None)
            else:
                found.append(part[1])
        return found

    def named(self, arrays: Sequence[Any], scalars: Sequence[Any], compute: Any) -> dict[str, Any]:
        """The same by argument name."""
        return dict(zip(self.order, self.values(arrays, scalars, compute), strict=True))

    def named_avals(self, avals: Sequence[Any]) -> dict[str, Any]:
        """Avals by argument name (numbers as 0-d ones)."""
        named = dict(zip(self.order, self.values(avals, [None] * len(self.parts), "aval"), strict=True))
        return named | {name: _INT_AVAL for name, part in zip(self.order, self.parts) if part[0] == INT}


_HALVES = (np.dtype(jnp.float16), np.dtype(jnp.bfloat16))
_FLOAT_AVAL = jax.ShapeDtypeStruct((), np.dtype(np.float64))
_INT_AVAL = jax.ShapeDtypeStruct((), np.dtype(np.int64))


def _number(scalar: Any, compute: Any, kind: str) -> Any:
    if compute == "host":
        return scalar
    if scalar is None or compute == "aval":
        return _FLOAT_AVAL if kind == FLOAT else _INT_AVAL
    if compute is not None:
        return lax.convert_element_type(scalar, compute)
    return jax._src.lax.lax._convert_element_type(scalar, scalar.dtype, weak_type=True)


class _Unknown:
    """Stands for an array in a data check: it has a shape and a dtype, and computing with it is a TypeError."""

    __slots__ = ("shape", "dtype")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: tuple[int, ...], of: np.dtype) -> None:
        self.shape = shape
        self.dtype = of

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __eq__(self, other: object) -> Any:
        raise TypeError("the array's numbers are not known")

    __ne__ = __eq__

    def __getattr__(self, name: str) -> Any:
        raise TypeError(f"the array's numbers are not known, so it has no {name}")


#: Operator -> which of its results are laid out column by column, LAPACK's order, as torch's are (not those of ``A`` on the right of ``X``).
column_major: dict[str, tuple[int, ...]] = {}


@functools.cache
def _stride_rules() -> dict[str, str]:
    """Operator -> how its results lie in memory if nothing is promoted: as those of elementwise operators do, with the dimensions in the order of the
    ``first`` tensor, or channels last if the first tensor (any of the first two, all) is."""
    table = Path(settings.__file__).parent / "data" / "result_strides.tsv"
    return dict(line.split("\t") for line in table.read_text().splitlines()[1:])


def _by_rule(rule: str, shape: tuple[int, ...], avals: tuple[Aval, ...]) -> tuple[int, ...] | None:
    """The strides of a result by a rule of the table; None is contiguous."""
    size = tuple(shape)
    if rule == "elementwise":
        operands = [(a.size, a.stride) for a in avals]
        return memory_layout.elementwise_strides(size, operands) if broadcast_shapes(*[a.size for a in avals]) == size else None
    if rule == "first":
        return memory_layout.elementwise_strides(size, [(size, avals[0].stride)]) if len(size) == avals[0].ndim else None
    formats = [memory_layout.suggest_memory_format(a.size, a.stride) for a in avals]
    wanted = formats[:1] if rule == "format" else sorted(formats[:2]) if rule == "any format" else formats
    if wanted[0] == "contiguous_format" or rule == "common format" and len(set(wanted)) > 1:
        return None
    return memory_layout.format_strides(wanted[0], size, ()) if len(size) == (4 if wanted[0] == "channels_last" else 5) else None


def _by_columns(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of matrices stored column by column."""
    if len(shape) < 2:
        return None
    *batch, rows, columns = shape
    strides = [1, max(rows, 1)]
    step = max(rows, 1) * max(columns, 1)
    for n in reversed(batch):
        strides.insert(0, step)
        step *= max(n, 1)
    return tuple(strides)


class OperatorInstruction(Differentiable):
    """An operator with its static arguments bound.

    Args:
        operator: the declaration.
        parts: for each schema argument ``(TENSOR,)``, ``(NOTHING,)``, ``(FLOAT,)``, ``(INT,)``, ``("list", which are there)`` or
            ``("static", value)``.
        inplace: the result is written into the first tensor, so it is cast to its dtype.
        target: the device of an operator without tensors.
    """

    __slots__ = ("operator", "layout", "inplace", "default_float", "promoted", "_host_checks")

    def __init__(self, operator: Operator, parts: tuple[Any, ...], inplace: bool, target: device) -> None:
        self.operator = operator
        self.layout = Layout(operator.schema.arguments, parts, operator.unrounded)
        self.inplace = inplace
        self.default_float = settings.default_dtype()
        names = operator.promoted or [a.name for a in operator.schema.arguments if a.is_tensor or a.is_scalar]
        self.promoted = frozenset(names) if operator.promote is not Promote.NONE else frozenset()
        self._host_checks: dict[tuple[Aval, ...], tuple[HostCheck, ...]] = {}
        checks = [DataCheck(c.exception, c.message, c.numbers, functools.partial(self._found, c.predicate), c.at_once) for c in operator.data_checks]
        floats, ints = (sum(part[0] == kind for part in parts) for kind in (FLOAT, INT))
        super().__init__(operator.name, self._forward, floats, ints, checks, target)

    def identity(self) -> Any:
        return self.operator, self.layout.parts, self.inplace, self.default_float, self.target

    # ------------------------------------------------------------------ promotion
    def compute_dtype(self, avals: Sequence[Any]) -> Any:
        """The numpy dtype in which the body computes; None where arrays stay as they are."""
        promote = self.operator.promote
        if promote is Promote.NONE:
            return None
        operands = []
        avals_left = iter(avals)
        for argument, part in zip(self.operator.schema.arguments, self.layout.parts, strict=True):
            kind = part[0]
            if kind == TENSOR or kind == "list":
                for _ in range(1 if kind == TENSOR else sum(part[1])):
                    aval = next(avals_left)
                    if argument.name in self.promoted:
                        found = aval.dtype if isinstance(aval.dtype, dtype) else from_numpy(aval.dtype)
                        operands.append((found, promotion.DIM if aval.ndim else promotion.ZERO_DIM))
            elif argument.name not in self.promoted:
                continue
            elif kind == FLOAT:
                operands.append((self.default_float, promotion.NUMBER))
            elif kind == INT:
                operands.append((int64, promotion.NUMBER))
            elif kind == "static" and isinstance(part[1], (int, float, complex)) and (argument.required or part[1] is not argument.default):
                operands.append((promotion.number_dtype(part[1], self.default_float), promotion.NUMBER))
        common = promotion.result_dtype(operands, self.default_float)
        if promote is Promote.INT_TO_FLOAT and common.category < FLOATING:
            common = self.default_float
        elif promote is Promote.BOOL_TO_LONG and common is bool_:
            common = int64
        return common.numpy

    def cast(self, arrays: Sequence[Any], compute: Any) -> list[Any]:
        """The arrays that take part in promotion, cast to the compute dtype."""
        if compute is None:
            return list(arrays)
        return [
            array if array is None or array.dtype == compute or name not in self.promoted else lax.convert_element_type(array, compute)
            for array, name in zip(arrays, self.layout.argument_of, strict=True)
        ]

    def _arguments(self, arrays: Sequence[Any]) -> list[Any]:
        count = len(self.layout.argument_of)
        given, scalars = arrays[:count], arrays[count:]
        compute = self.compute_dtype(given)
        return self.layout.values(self.cast(given, compute), scalars, compute)

    def _forward(self, *arrays: Any) -> Any:
        arguments = self._arguments(arrays)
        results = self.operator.body(*arguments)
        if self.inplace:
            own = arrays[0]
            if results.dtype != own.dtype:
                results = lax.convert_element_type(results, own.dtype)
            if self.data_checks:  # a failed write leaves the tensor as it was
                found = [check.predicate(*arrays) for check in self.data_checks]
                bad = functools.reduce(python_operator.or_, [jnp.any(f[0] if isinstance(f, tuple) else f) for f in found])
                results = jnp.where(bad, own, results)
        return results

    def _static(self, name: str) -> Any:
        """The value of a static argument; None where the operator has none of that name."""
        for own, part in zip(self.layout.order, self.layout.parts):
            if own == name and part[0] == "static":
                return part[1]
        return None

    # ------------------------------------------------------------------ data checks
    def _found(self, predicate: Any, *arrays: Any) -> Any:
        """What a data check's predicate returns for the instruction's arrays and scalars."""
        known = dict(zip(self.layout.order, self._arguments(arrays), strict=True))
        return predicate(**{p: known[p.removesuffix("_meta")] for p in parameters(predicate)})

    def host_checks(self, avals: tuple[Aval, ...]) -> Sequence[HostCheck]:
        found = self._host_checks.get(avals)
        if found is None:
            made = [self._host_check(*c, avals) for c in zip(self.data_checks, self.operator.data_checks) if not c[0].at_once]
            found = remember(self._host_checks, avals, tuple([check for check in made if check is not None]), 1024)
        return found

    def _host_check(self, check: DataCheck, declared: DataCheck, avals: tuple[Aval, ...]) -> HostCheck | None:
        """A check for numpy arrays; None where it cannot fail, as a division that is none of integers."""
        compute = self.compute_dtype(avals)
        names = self.layout.argument_of
        shapes = [_Unknown(a.size, compute if compute and n in self.promoted else a.dtype.numpy) for a, n in zip(avals, names)]
        asked = parameters(declared.predicate)
        numbers = [p for kind in (FLOAT, INT) for p, part in zip(self.layout.order, self.layout.parts) if part[0] == kind]
        known = self.layout.named(shapes, [_Unknown((), np.dtype(compute or np.float64))] * len(numbers), "host")
        unchanging = {p: known[p.removesuffix("_meta")] for p in asked}
        try:
            if declared.predicate(**unchanging) is False:
                return None
        except TypeError:
            pass  # it does look at numbers
        needs = tuple([k for k, name in enumerate(names) if name in asked])
        casts = [None if shapes[k].dtype == avals[k].dtype.numpy else shapes[k].dtype for k in needs]
        lists = [name for name in self.layout.lists if name in asked]

        def predicate(arrays: Sequence[np.ndarray], floats: Sequence[float], ints: Sequence[int]) -> Any:
            given = unchanging.copy()
            for k, array, cast in zip(needs, arrays, casts):
                given[names[k]] = array if cast is None else array.astype(cast)
            for name in lists:
                elements = iter([array for k, array in zip(needs, arrays) if names[k] == name])
                given[name] = [None if e is None else next(elements) for e in unchanging[name]]
            for name, number in zip(numbers, (*floats, *ints)):
                if name in given:
                    given[name] = number if compute is None else np.asarray(number).astype(compute)
            return declared.predicate(**given)

        return HostCheck(check, needs, predicate)

    # ------------------------------------------------------------------ inference
    def check(self, avals: tuple[Aval, ...]) -> None:
        operator = self.operator
        named = self.layout.named_avals([a.shape_dtype for a in avals])
        if operator.promote is not Promote.NONE:
            shapes = [a.size for a, name in zip(avals, self.layout.argument_of) if name in self.promoted]
            common = broadcast_shapes(*shapes)
            if self.inplace and common != avals[0].size:
                raise RuntimeError(f"output with shape {list(avals[0].size)} doesn't match the broadcast shape {list(common)}")
        for check in operator.checks:
            check(**named)

    def _infer(self, avals: tuple[Aval, ...]) -> Any:
        found = super()._infer(avals)
        if self.inplace:
            outside = OperatorInstruction(self.operator, self.layout.parts, False, self.target).infer(avals).outputs[0]
            own = avals[0]
            if not promotion.can_cast(outside.dtype, own.dtype):
                raise RuntimeError(
                    f"result type {promotion.scalar_type_name(outside.dtype)} can't be cast to the desired output type "
                    f"{promotion.scalar_type_name(own.dtype)}"
                )
            if self.operator.promote is Promote.COMPLEX_TO_FLOAT and own.dtype.is_complex:
                raise RuntimeError(f"In-place {self.operator.name} is not supported for complex tensors.")
            if self._static("dtype") not in (None, own.dtype):
                names = [promotion.scalar_type_name(d).lower() for d in (own.dtype, outside.dtype)]
                raise RuntimeError(f"Bad in-place call: input tensor dtype {names[0]} and output tensor dtype {names[1]} should match")
            if outside.size != own.size:
                raise RuntimeError(f"output with shape {list(own.size)} doesn't match the broadcast shape {list(outside.size)}")
        return found

    def strides(self, avals: tuple[Aval, ...], shapes: list[tuple[int, ...]]) -> Sequence[tuple[int, ...] | None]:
        if self.inplace:
            return [avals[0].stride]
        columns = column_major.get(self.operator.qualified_name)
        if columns is not None and (self.operator.name in ("solve_triangular", "ormqr") or self._static("left") is not False):
            return [_by_columns(shape) if k in columns else None for k, shape in enumerate(shapes)]
        if not avals or all(a.is_contiguous for a in avals):
            return [None] * len(shapes)
        rule = _stride_rules().get(self.operator.qualified_name)
        if rule is not None and self._static("mode") != "circular":  # torch pads circularly by writing into contiguous memory
            return [_by_rule(rule, shape, avals) for shape in shapes]
        if self.operator.promote is Promote.NONE:
            return [None] * len(shapes)
        operands = [(a.size, a.stride) for a, name in zip(avals, self.layout.argument_of) if name in self.promoted]
        common = broadcast_shapes(*[size for size, _ in operands])
        return [memory_layout.elementwise_strides(common, operands) if tuple(shape) == common else None for shape in shapes]

    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        return rule_backward(self.operator, self, needed, inputs, outputs)


class Call:
    """A bound call: the instruction, its tensors and its numbers."""

    __slots__ = ("instruction", "tensors", "floats", "ints")

    def __init__(self, instruction: OperatorInstruction, tensors: list[Tensor], floats: list[float], ints: list[int]) -> None:
        self.instruction = instruction
        self.tensors = tensors
        self.floats = floats
        self.ints = ints


def bind(operator: Operator, arguments: Sequence[Any], inplace: bool = False, target: device = CPU) -> Call:
    """Bind a call's arguments, given in the schema's order.

    Raises:
        TypeError: an argument of the wrong type, torch's text.
    """
    tensors: list[Tensor] = []
    floats: list[float] = []
    ints: list[int] = []
    parts = tuple(
        [_part(operator, argument, value, position, tensors, floats, ints) for position, (argument, value) in enumerate(zip(operator.schema.arguments, arguments, strict=True))]
    )
    key = (parts, inplace, target)
    instruction = operator.instructions.get(key)
    if instruction is None:
        instruction = remember(operator.instructions, key, OperatorInstruction(operator, parts, inplace, target), 4096)
    return Call(instruction, tensors, floats, ints)


def wrong_type(operator: Operator, argument: Argument, value: Any, position: int, expected: str) -> TypeError:
    """torch's error for an argument of the wrong type."""
    name = "input" if argument.name == "self" else argument.name
    return TypeError(f"{operator.name}(): argument '{name}' (position {position + 1}) must be {expected}, not {type_name(value)}")


def _part(operator: Operator, argument: Argument, value: Any, position: int, tensors: list[Tensor], floats: list[float], ints: list[int]) -> tuple:
    kind = argument.type
    if isinstance(value, Tensor) and kind in ("Tensor", "Tensor?"):
        tensors.append(value)
        return (TENSOR,)
    if value is None:
        if kind.endswith("?") or argument.default is None and not argument.required:
            return (NOTHING,)
        raise wrong_type(operator, argument, value, position, _readable(kind))
    if kind in ("Tensor", "Tensor?"):
        if argument.name in operator.numbers and isinstance(value, (int, float, complex, np.number, np.bool_)):
            return _scalar(value, floats, ints)
        raise wrong_type(operator, argument, value, position, "Tensor")
    if kind in ("Tensor[]", "Tensor?[]"):
        return _list_part(operator, argument, value, position, tensors)
    if argument.is_scalar:
        if isinstance(value, Tensor):
            value = value.item()
        if not isinstance(value, (int, float, complex, np.number, np.bool_)):
            raise wrong_type(operator, argument, value, position, "Number")
        if argument.name in operator.static or (value is argument.default and not argument.required):
            value = value.item() if isinstance(value, np.generic) else value
            return ("static", value, kind_of(value))
        return _scalar(value, floats, ints)
    return ("static", *_static(operator, argument, value, position))


def _list_part(operator: Operator, argument: Argument, value: Any, position: int, tensors: list[Tensor]) -> tuple:
    if isinstance(value, Tensor):
        raise wrong_type(operator, argument, value, position, "tuple of Tensors")
    there = []
    for k, element in enumerate(value):
        if element is None and argument.type == "Tensor?[]":
            there.append(False)
            continue
        if not isinstance(element, Tensor):
            raise TypeError(f"expected Tensor as element {k} in argument {position}, but got {type(element).__name__}")
        tensors.append(element)
        there.append(True)
    return ("list", tuple(there))


def _scalar(value: Any, floats: list[float], ints: list[int]) -> tuple:
    """A number that the trace carries (bool and complex ones, which are rare, are part of the program)."""
    if isinstance(value, (bool, np.bool_)):
        return ("static", bool(value), bool)
    if isinstance(value, (int, np.integer)):
        value = int(value)
        if not -(2**63) <= value < 2**63:
            if value < 2**64 and value > 0:
                return ("static", np.uint64(value), np.uint64)
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        ints.append(value)
        return (INT,)
    if isinstance(value, (float, np.floating)):
        floats.append(float(value))
        return (FLOAT,)
    return ("static", complex(value), kind_of(complex(value)))


_READABLE = {"int": "int", "float": "float", "bool": "bool", "int[]": "tuple of ints", "str": "str", "ScalarType": "torch.dtype", "Tensor": "Tensor",
             "Scalar": "Number", "Tensor[]": "tuple of Tensors"}  # fmt: skip


def _readable(kind: str) -> str:
    return _READABLE.get(kind.rstrip("?"), kind.rstrip("?"))


def _as_int(value: Any) -> int:
    if isinstance(value, Tensor):
        return int(value)
    if isinstance(value, float):
        raise TypeError
    return python_operator.index(value)


def _static(operator: Operator, argument: Argument, value: Any, position: int) -> tuple:
    """A hashable static value, and its kind where equal values of different kinds mean different things."""
    kind = argument.type.rstrip("?")
    try:
        if kind == "int":
            return (_as_int(value),)
        if kind == "int[]":
            return (tuple([_as_int(v) for v in value]) if isinstance(value, (tuple, list)) else (_as_int(value),),)
        if kind == "bool":
            if not isinstance(value, (bool, int, np.bool_)):
                raise TypeError
            return (bool(value),)
        if kind == "float":
            return float(value), kind_of(float(value))
        if kind == "float[]":
            numbers = tuple(map(float, value)) if isinstance(value, (tuple, list)) else (float(value),)
            return numbers, kind_of(numbers)
        if kind == "ScalarType":
            if not isinstance(value, dtype):
                raise TypeError
            return (value,)
    except (TypeError, ValueError):
        raise wrong_type(operator, argument, value, position, _readable(kind)) from None
    if isinstance(value, list):
        value = tuple(value)
    hash(value)
    return value, kind_of(value)
