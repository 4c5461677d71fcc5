"""What an exported program asks of its arguments, and the errors for others: torch's classes and, where the condition is the same, texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core import pytree
from ..tensors.tensor import Tensor
from .graph_signature import ConstantArgument, InputSpec
from .shape_specs import Argument, Place, Symbol, Symbols

__all__ = ["check_leaves", "check_shapes", "flattened", "numbers_of"]


def flattened(in_spec: pytree.TreeSpec, args: tuple, kwargs: Mapping[str, Any]) -> list[Any]:
    """The leaves of the arguments; keywords may come in another order.

    Raises:
        ValueError: another structure; torch's texts.
    """
    expected = in_spec.children()[1].context
    if set(kwargs) != set(expected):
        raise ValueError(f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {list(expected)}")
    leaves, spec = pytree.flatten((args, {name: kwargs[name] for name in expected}))
    if spec != in_spec:
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{in_spec}\nbut actually got inputs with tree spec of: \n{spec}.\n"
            "Please check that the inputs have the same number and type of args and kwargs as the ones you used when tracing."
        )
    return leaves


def check_leaves(leaves: Sequence[Any], specs: Sequence[InputSpec], arguments: Sequence[Argument]) -> None:
    """Whether tensors are where tensors were, and the same numbers and strings where there were some.

    Raises:
        AssertionError: another number; AttributeError: no tensor.
    """
    for leaf, spec, argument in zip(leaves, specs, arguments, strict=True):
        if not isinstance(spec.arg, ConstantArgument):
            if not isinstance(leaf, Tensor):
                raise AttributeError(f"'{type(leaf).__name__}' object has no attribute 'size'")
        elif not leaf == spec.arg.value:  # a tensor is asked, as in torch
            raise AssertionError(f"Guard failed: {argument.name} == {spec.arg.value!r}")


def check_shapes(tensors: Sequence[Tensor], key: Sequence[Any], symbols: Symbols) -> None:
    """Whether the tensors are as the program needs them.

    Args:
        key: of its tensors, shape, dtype and device (`Program.key`).

    Raises:
        AssertionError: one is not.
    """
    arguments = [a for a, shape in zip(symbols.arguments, symbols.shapes, strict=True) if shape is not None]
    sizes: dict[str, int] = {}
    where: dict[str, str] = {}
    later: list[tuple[Place, int, str]] = []
    for tensor, shape, (_, dtype, device), argument in zip(tensors, symbols.tensor_shapes, key, arguments, strict=True):
        name = argument.name
        _require(tensor.dim() == len(shape), f"len({name}.size()) == {len(shape)}")
        _require(tensor.dtype == dtype, f"{name}.dtype == {dtype}")
        _require(tensor.device.type == device, f"{name}.device.type == {device!r}")
        for d, (size, place) in enumerate(zip(tensor.shape, shape)):
            text = f"{name}.size()[{d}]"
            if not isinstance(place, Place):
                _require(size == place, f"{text} == {place}")
            elif (place.factor, place.offset) != (1, 0):
                later.append((place, size, text))
            elif place.symbol in sizes:
                _require(size == sizes[place.symbol], f"{text} == {where[place.symbol]}")
            else:
                _require_bounds(symbols.table[place.symbol], size, text)
                sizes[place.symbol], where[place.symbol] = size, text
    for place, size, text in later:
        _require_relation(symbols.table[place.symbol], place, size, text, sizes, where)


def _require(is_right: bool, guard: str) -> None:
    if not is_right:
        raise AssertionError(f"Guard failed: {guard}")


def _require_bounds(symbol: Symbol, size: int, text: str) -> None:
    """Of sizes 0 and 1, only a lower bound that excludes more is asked, as in torch."""
    if symbol.least > 2 or symbol.kind == "Dim":
        _require(size >= symbol.least, f"{text} >= {symbol.least}")
    if symbol.most is not None:
        _require(size <= symbol.most, f"{text} <= {symbol.most}")
    if symbol.step > 1:
        _require(size % symbol.step == symbol.rest, f"{text} % {symbol.step} == {symbol.rest}")


def _require_relation(symbol: Symbol, place: Place, size: int, text: str, sizes: dict[str, int], where: dict[str, str]) -> None:
    name = symbol.name
    if name in sizes:
        if place.factor == 1:
            _require(place.of(sizes) == size, f"{where[name]} == {-place.offset} + {text}")
        product = f"{place.factor} * {where[name]}"
        _require(place.of(sizes) == size, f"{text} == {product}{f' + {place.offset}' if place.offset else ''}")
        return
    number = place.solved(size)
    if number is None:
        raise AssertionError(f"Guard failed: {text} % {place.factor} == {place.offset % place.factor}")
    expression = f"({text}{f' - {place.offset}' if place.offset else ''})" + (f" // {place.factor}" if place.factor > 1 else "")
    _require_bounds(symbol, number, expression)
    sizes[name], where[name] = number, expression


def numbers_of(tensors: Sequence[Tensor], symbols: Symbols) -> dict[str, int]:
    """The symbols' numbers in a call."""
    found: dict[str, int] = {}
    for tensor, shape in zip(tensors, symbols.tensor_shapes, strict=True):
        for size, place in zip(tensor.shape, shape, strict=True):
            if isinstance(place, Place):
                found.setdefault(place.symbol, place.solved(size))  # type: ignore[arg-type]
    return found
