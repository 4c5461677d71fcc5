"""Operators on lists of tensors, ``torch._foreach_add``: each one is a public operator, called for every element.

They are functions without arithmetic of their own: a table says which method of a tensor does the work and which lists go along.  As every program
is compiled as a whole, there is nothing to win from a kernel over many tensors.  A 0-d tensor in the place of a number stays a tensor, which torch
reads first: only beside integers can the result have another dtype (that of the tensor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from ..core.promotion import scalar_type_name
from ..dispatch.registry import FUNCTION, composite, lookup
from ..tensors.tensor import Tensor
from .constructors import can_cast, scalar_tensor
from .vector_norm import vector_norm

#: Operators of one tensor.
UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt "
    "tan tanh trunc"
).split()
_ALPHA = ", *, Scalar alpha=1"
#: Name -> overload -> the arguments behind ``self``, in the order in which torch tries the overloads.
_SCALARS = {"Scalar": "Scalar scalar", "ScalarList": "Scalar[] scalars"}
_FACTORS = {
    "Scalar": "Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", "ScalarList": "Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars",
    "Tensor": "Tensor[] tensor1, Tensor[] tensor2, Tensor scalars",
}  # fmt: skip
OVERLOADS: dict[str, dict[str, str]] = {
    "add": {**_SCALARS, "Tensor": f"Tensor other{_ALPHA}", "List": f"Tensor[] other{_ALPHA}"},
    "sub": {**_SCALARS, "List": f"Tensor[] other{_ALPHA}"},
    **{name: {**_SCALARS, "Tensor": "Tensor other", "List": "Tensor[] other"} for name in ("mul", "div")},
    **{name: {**_SCALARS, "List": "Tensor[] other"} for name in ("clamp_min", "clamp_max", "maximum", "minimum")},
    "pow": {"Scalar": "Scalar exponent", "ScalarList": "Scalar[] exponent", "List": "Tensor[] exponent"},
    "lerp": {
        "Scalar": "Tensor[] tensors1, Scalar weight", "ScalarList": "Tensor[] tensors1, Scalar[] weight", "List": "Tensor[] tensors1, Tensor[] weights",
    },
    "addcmul": _FACTORS,
    "addcdiv": _FACTORS,
}  # fmt: skip
_EMPTY = "Tensor list must have at least one tensor."


# ---------------------------------------------------------------------------------------------------------------- lists
def _check_tensors(name: str, argument: str, position: int, tensors: Any) -> None:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument '{argument}' (position {position + 1}) must be tuple of Tensors, not {type(tensors).__name__}")
    if not all(issubclass(kind, Tensor) for kind in set(map(type, tensors))):
        k, element = next((k, element) for k, element in enumerate(tensors) if not isinstance(element, Tensor))
        raise TypeError(f"expected Tensor as element {k} in argument {position}, but got {type(element).__name__}")


def _check_scalar_tensor(tensor: Tensor) -> None:
    if tensor.dim() != 0:
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {tensor.dim()} dimensions and {tensor.numel()} elements.")


def _numbers_of(tensor: Tensor, count: int) -> list[Any]:
    """The numbers of a line of them, one for each tensor."""
    if tensor.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {tensor.dim()} instead.")
    if len(tensor) != count:
        raise RuntimeError(f"Expected length of scalars to match input of length {count} but got {len(tensor)} instead.")
    return tensor.tolist()


def _aligned(name: str, kinds: Sequence[tuple[str, str]], arguments: Sequence[Any]) -> list[Iterable[Any]]:
    """The arguments, each with as many elements as the first list has.

    Args:
        kinds: type and name of each argument.

    Raises:
        RuntimeError: no tensors, or lists of another length.
    """
    count = len(arguments[0])
    aligned: list[Any] = []
    if not count and not any(kind == "Tensor[]" and value for (kind, _), value in zip(kinds, arguments)):
        raise RuntimeError(_EMPTY)
    for position, ((kind, argument), value) in enumerate(zip(kinds, arguments)):
        if kind == "Tensor[]":
            _check_tensors(name, argument, position, value)
            if len(value) != count:
                raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
        elif kind == "Scalar[]":
            if len(value) != count:
                raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        elif kind == "Tensor" and argument == "scalars":
            value = _numbers_of(value, count)
        else:
            if kind == "Tensor":
                _check_scalar_tensor(value)
            value = repeat(value)
        aligned.append(value)
    return aligned


# ---------------------------------------------------------------------------------------------------------------- declarations
def _with_keywords(step: Callable[..., Any], named: dict[str, Any]) -> Callable[..., Any]:
    return partial(step, **named) if named and named != {"alpha": 1} else step


def _declare(name: str, overload: str, rest: str, step: Callable[[], Callable[..., Any]], write: Callable[[], Callable[..., Any]]) -> None:
    """Declare ``_foreach_NAME`` and ``_foreach_NAME_``.

    Args:
        rest: the arguments behind ``self``.
        step, write: give the functions of one tensor (methods are made when they are first asked for).
    """
    positional, _, keywords = rest.partition(", *, ")
    kinds = [("Tensor[]", "self"), *[(t, n.partition("=")[0]) for t, n in (part.split(" ") for part in positional.split(", ") if part)]]
    suffix = f".{overload}" if overload else ""
    tail = f", {rest}" if rest else ""

    @composite(f"_foreach_{name}{suffix}(Tensor[] self{tail}) -> Tensor[]", forms=FUNCTION)
    def foreach(self, *others, **named):
        _check_tensors(f"_foreach_{name}", "self", 0, self)
        return tuple(map(_with_keywords(step(), named), *_aligned(f"_foreach_{name}", kinds, (self, *others))))

    foreach.body.__doc__ = foreach.__doc__ = f"`{name}` of every tensor of a list."

    @composite(f"_foreach_{name}_{suffix}(Tensor(a!)[] self{tail}) -> ()", forms=FUNCTION)
    def foreach_(self, *others, **named):
        _check_tensors(f"_foreach_{name}_", "self", 0, self)
        for _ in map(_with_keywords(write(), named), *_aligned(f"_foreach_{name}_", kinds, (self, *others))):
            pass
        return self

    foreach_.body.__doc__ = foreach_.__doc__ = f"`{name}_` of every tensor of a list, which it returns."


def _method(name: str) -> Callable[..., Any]:
    return lambda: getattr(Tensor, name)


def _with_value(name: str) -> Callable[..., Any]:
    return lambda: lambda self, tensor1, tensor2, value: getattr(self, name)(tensor1, tensor2, value=value)


def _just(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _extremum(name: str) -> Callable[..., Any]:
    """`maximum` or `minimum`, also with a number (integers beside one are promoted as by `clamp`)."""
    clamp = "clamp_min" if name == "maximum" else "clamp_max"

    def extremum(self: Tensor, other: Any) -> Tensor:
        if isinstance(other, Tensor):
            return lookup(name)(self, other)
        if not self.is_floating_point():
            return getattr(self, clamp)(other)
        return lookup(name)(self, scalar_tensor(other, dtype=self.dtype, device=self.device))

    return extremum


def _written(step: Callable[..., Any]) -> Callable[..., Any]:
    """What writes the result of a step into its first argument."""

    def write(self: Tensor, *others: Any) -> Tensor:
        result = step(self.clone(), *others)  # what the derivative needs must not be void after the write
        if not can_cast(result.dtype, self.dtype):
            names = [scalar_type_name(dtype) for dtype in (result.dtype, self.dtype)]
            raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
        return self.copy_(result)

    return write


for _name in UNARY:
    _declare(_name, "", "", _method(_name), _method(f"{_name}_"))
for _name, _overloads in OVERLOADS.items():
    _step, _write = _method(_name), _method(f"{_name}_")
    if _name in ("addcmul", "addcdiv"):
        _step, _write = _with_value(_name), _with_value(f"{_name}_")
    elif _name in ("maximum", "minimum"):
        _extreme = _extremum(_name)
        _step, _write = partial(_just, _extreme), partial(_just, _written(_extreme))
    for _overload, _rest in _overloads.items():
        _declare(_name, _overload, _rest, _step, _write)


# ---------------------------------------------------------------------------------------------------------------- those with other arguments
def _each(schema: str, step: Callable[..., Any]) -> None:
    """Declare an operator that gives every tensor of ``self`` the same further arguments."""
    name = schema.partition("(")[0].partition(".")[0]

    @composite(schema, forms=FUNCTION)
    def foreach(self, *others, **named):
        _check_tensors(name, "self", 0, self)
        if not self:
            raise RuntimeError(_EMPTY)
        results = [step(x, *others, *named.values()) for x in self]
        return self if name.endswith("_") else tuple(results)

    foreach.body.__doc__ = foreach.__doc__ = f"`{name.removeprefix('_foreach_')}` of every tensor of a list."


def _largest(x: Tensor) -> Tensor:
    if not x.numel():
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return x.max()


def _norm(x: Tensor, order: Any, dtype: Any) -> Tensor:
    if order == float("inf") and not x.numel():
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an identity"
        )
    return vector_norm(x, order, dtype=dtype)


def _power_sum(x: Tensor, order: Any, dtype: Any) -> Tensor:
    if not x.is_floating_point() and not x.is_complex():
        raise NotImplementedError(f"\"powsum_cpu\" not implemented for '{x.type().rpartition('.')[2].removesuffix('Tensor')}'")
    return (x if dtype is None else x.to(dtype)).abs().pow(order).sum()


_each("_foreach_max(Tensor[] self) -> Tensor[]", _largest)
_each("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", _norm)
_each("_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", _power_sum)
_each(
    "_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]",
    lambda x, memory_format: x.clone(memory_format=memory_format),
)
_each("_foreach_zero_(Tensor(a!)[] self) -> ()", lambda x: x.zero_())


@composite("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", forms=FUNCTION)
def _foreach_pow_of_number(self, exponent):
    """A number to the power of every tensor of a list."""
    _check_tensors("_foreach_pow", "exponent", 1, exponent)
    if not exponent:
        raise RuntimeError(_EMPTY)
    return tuple([lookup("pow.Scalar")(self, x) for x in exponent])


@composite("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", forms=FUNCTION)
def _foreach_mm(self, mat2):
    """The products of the matrices of two lists."""
    _check_tensors("_foreach_mm", "self", 0, self)
    _check_tensors("_foreach_mm", "mat2", 1, mat2)
    if not self:
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    if len(self) != len(mat2):
        raise RuntimeError("_foreach_mm: self and mat2 must have the same number of tensors")
    return tuple([x.mm(y) for x, y in zip(self, mat2)])


@composite("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", forms=FUNCTION)
def _foreach_copy_(self, src, non_blocking):
    """Write the tensors of one list into those of another, which it returns."""
    _check_tensors("_foreach_copy_", "self", 0, self)
    for x, y in zip(*_aligned("_foreach_copy_", [("Tensor[]", "self"), ("Tensor[]", "src")], (self, src))):
        x.copy_(y, non_blocking)
    return self


@composite("_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[]", forms=FUNCTION, namespaces=())
def _foreach_copy(self, src, non_blocking):
    """What `_foreach_copy_` writes, as new tensors."""
    return _foreach_copy_([x.detach().clone() for x in self], src, non_blocking)


@composite("_foreach_zero(Tensor[] self) -> Tensor[]", forms=FUNCTION, namespaces=())
def _foreach_zero(self):
    """What `_foreach_zero_` writes, as new tensors."""
    return [x.new_zeros(x.shape) for x in self]
