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


def check_leaves(leaves: Sequence[Any], specs: Sequence[InputSpec], arguments: Sequence[Argument], as_guards: bool = True) -> None:
    """Whether tensors are where tensors were, and the same numbers and strings where there were some.

    Args:
        as_guards: the errors are those of guards, not those of a program's inputs.

    Raises:
        AssertionError: another number; AttributeError: no tensor.  RuntimeError in the place of both.
    """
    for leaf, spec, argument in zip(leaves, specs, arguments, strict=True):
        if not isinstance(spec.arg, ConstantArgument):
            if not isinstance(leaf, Tensor):
                if as_guards:
                    raise AttributeError(f"'{type(leaf).__name__}' object has no attribute 'size'")
                raise RuntimeError(f"Expected input at {argument.place} to be a tensor, but got {type(leaf)}")
        elif not leaf == spec.arg.value:  # a tensor is asked, as in torch
            value = spec.arg.value
            _Checks(as_guards).require(False, f"{argument.name} == {value!r}", f"Expected input at {argument.place} to be equal to {value}, but got {leaf}")


class _Checks:
    """What is asked of one call's sizes.

    Attributes:
        sizes, where: the symbols' numbers as far as they are known, and what they were read from.
    """

    def __init__(self, as_guards: bool) -> None:
        self.as_guards = as_guards
        self.sizes: dict[str, int] = {}
        self.where: dict[str, str] = {}

    def require(self, is_right: bool, guard: str, text: str) -> None:
        """Raise the guard's or the input's error."""
        if is_right:
            return
        if self.as_guards:
            raise AssertionError(f"Guard failed: {guard}")
        raise RuntimeError(text)

    def bounds(self, symbol: Symbol, size: int, text: str, place: str) -> None:
        """Of sizes 0 and 1, only a lower bound that excludes more is asked, as in torch."""
        which = f"Expected input at {place} to be"
        if symbol.least > 2 or symbol.kind == "Dim":
            self.require(size >= symbol.least, f"{text} >= {symbol.least}", f"{which} >= {symbol.least}, but got {size}")
        if symbol.most is not None:
            self.require(size <= symbol.most, f"{text} <= {symbol.most}", f"{which} <= {symbol.most}, but got {size}")
        if symbol.step > 1:
            rest = f"{symbol.rest} more than a multiple" if symbol.rest else "a multiple"
            self.require(size % symbol.step == symbol.rest, f"{text} % {symbol.step} == {symbol.rest}", f"{which} {rest} of {symbol.step}, but got {size}")

    def relation(self, symbol: Symbol, place: Place, size: int, text: str, where: str) -> None:
        """A size that is an expression of a symbol."""
        name, sizes = symbol.name, self.sizes
        if name in sizes:
            product = f"{text} == {place.factor} * {self.where[name]}{f' + {place.offset}' if place.offset else ''}"
            guard = f"{self.where[name]} == {-place.offset} + {text}" if place.factor == 1 else product
            self.require(place.of(sizes) == size, guard, f"Expected input at {where} to be equal to {place.of(sizes)}, but got {size}")
            return
        number = place.solved(size)
        self.require(
            number is not None, f"{text} % {place.factor} == {place.offset % place.factor}",
            f"Expected input at {where} to be of the form {place}, but got {size}",
        )  # fmt: skip
        assert number is not None
        expression = f"({text}{f' - {place.offset}' if place.offset else ''})" + (f" // {place.factor}" if place.factor > 1 else "")
        self.bounds(symbol, number, expression, where)
        sizes[name], self.where[name] = number, expression


def check_shapes(tensors: Sequence[Tensor], key: Sequence[Any], symbols: Symbols, as_guards: bool = True) -> None:
    """Whether the tensors are as the program needs them.

    Args:
        key: of its tensors, shape, dtype and device (`Program.key`).
        as_guards: the errors are those of guards, not those of a program's inputs.

    Raises:
        AssertionError: one is not; RuntimeError in its place.
    """
    arguments = [a for a, shape in zip(symbols.arguments, symbols.shapes, strict=True) if shape is not None]
    checks = _Checks(as_guards)
    later: list[tuple[Place, int, str, str]] = []
    for tensor, shape, (_, dtype, device), argument in zip(tensors, symbols.tensor_shapes, key, arguments, strict=True):
        name, at = argument.name, argument.place
        checks.require(
            tensor.dim() == len(shape), f"len({name}.size()) == {len(shape)}",
            f"Unexpected number of dimensions in input at {at}.shape (expected torch.Size([{', '.join(map(str, shape))}]), got {tensor.shape})",
        )  # fmt: skip
        checks.require(tensor.dtype == dtype, f"{name}.dtype == {dtype}", f"Expected input at {at} to be of dtype {dtype}, but got {tensor.dtype}")
        checks.require(tensor.device.type == device, f"{name}.device.type == {device!r}", f"Expected input at {at} to be on {device}")
        for d, (size, place) in enumerate(zip(tensor.shape, shape)):
            text, where = f"{name}.size()[{d}]", f"{at}.shape[{d}]"
            if not isinstance(place, Place):
                checks.require(size == place, f"{text} == {place}", f"Expected input at {where} to be equal to {place}, but got {size}. {_DYNAMIC}")
            elif (place.factor, place.offset) != (1, 0):
                later.append((place, size, text, where))
            elif place.symbol in checks.sizes:
                known = checks.sizes[place.symbol]
                checks.require(
                    size == known, f"{text} == {checks.where[place.symbol]}", f"Expected input at {where} to be equal to {known}, but got {size}"
                )
            else:
                checks.bounds(symbols.table[place.symbol], size, text, where)
                checks.sizes[place.symbol], checks.where[place.symbol] = size, text
    for place, size, text, where in later:
        checks.relation(symbols.table[place.symbol], place, size, text, where)


_DYNAMIC = "If you meant for this dimension to be dynamic, please re-export and specify dynamic_shapes (e.g. with Dim.DYNAMIC)"


def numbers_of(tensors: Sequence[Tensor], symbols: Symbols) -> dict[str, int]:
    """The symbols' numbers in a call."""
    found: dict[str, int] = {}
    for tensor, shape in zip(tensors, symbols.tensor_shapes, strict=True):
        for size, place in zip(tensor.shape, shape, strict=True):
            if isinstance(place, Place):
                found.setdefault(place.symbol, place.solved(size))  # type: ignore[arg-type]
    return found
