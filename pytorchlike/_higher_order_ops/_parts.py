"""What all control flow shares: recording its parts, and one instruction from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._dynamo.exc import UncapturedHigherOrderOpError
from ..compiler.region import Output, Region, RegionInstruction, evaluator, placeholder, record_region
from ..core import pytree
from ..dispatch.call import apply
from ..graph.value import Aval
from ..tensors.tensor import Tensor

__all__ = ["Part", "PartFunction", "describe_difference", "is_tensor_tree", "one_instruction", "record_part", "slices"]


class Part:
    """A recorded part of control flow, with where its inputs lie among those of the whole instruction.

    Args:
        name: of the operator, for errors.
    """

    def __init__(self, name: str, region: Region) -> None:
        if region.written:
            raise UncapturedHigherOrderOpError(f"{name}: an input is written to in place, which is not supported; return the new value instead")
        if region.draws:
            raise NotImplementedError(f"{name}: random numbers inside of a branch or body are not supported; draw them outside and pass them in")
        self.name, self.region = name, region
        self.structure = region.structure

    def outputs(self, what: str) -> list[Any]:
        """The avals of the results, which must all be tensors."""
        for leaf in self.region.leaves:
            if not isinstance(leaf, Output):
                raise UncapturedHigherOrderOpError(f"{self.name}: Expected all leaves of {what} to be of torch.Tensor type, but got {type(leaf).__name__}")
        return list(self.region.avals)

    def wrap(self, results: Sequence[Any]) -> Any:
        """Tensors in the structure that the function returned."""
        return pytree.unflatten(list(results), self.structure)


def record_part(name: str, function: Callable, trees: Sequence[Any], shape: Callable[[Tensor], tuple[int, ...] | None] = lambda tensor: None) -> Part:
    """Record ``function(*trees)``.

    Args:
        trees: containers of tensors.
        shape: the shape that a tensor has for the function, if not its own.
    """
    leaves, structure = pytree.flatten(tuple(trees))
    given = [placeholder(leaf, shape(leaf)) for leaf in leaves]

    def refuse(reason: str) -> Exception:
        return UncapturedHigherOrderOpError(
            f"{name} doesn't work unless it is captured completely: {reason}"
        )

    return Part(name, record_region(name, lambda: function(*pytree.unflatten(list(given), structure)), given, refuse))


class PartFunction:
    """A part as a function of the arrays that it is given.

    Attributes:
        run: function of (arrays given, ``outside``, ``floats``, ``ints``).
        outside, floats, ints: what it takes besides.
        rules: JAX's reverse mode is to use the tape's rules in it.
    """

    def __init__(self, run: Callable, outside: list, floats: list, ints: list, rules: bool) -> None:
        self.run, self.outside, self.floats, self.ints, self.rules = run, outside, floats, ints, rules

    def __call__(self, *given: Any) -> list[Any]:
        return self.run(given, self.outside, self.floats, self.ints)


_instructions: dict[tuple, RegionInstruction] = {}


def one_instruction(name: str, parts: Sequence[Part], arguments: Sequence[Tensor], key: tuple, build: Callable[..., Callable], strided: Sequence[Any] = ()) -> tuple[Tensor, ...]:  # fmt: skip
    """Record control flow as one instruction.

    Args:
        arguments: the tensors that ``build``'s function takes; those from outside follow.
        key: what else the instruction depends on.
        build: ``build(*functions)`` -> function of the arrays of ``arguments``, where ``functions`` are the parts, from arrays to lists of arrays.
    """
    regions = [part.region for part in parts]
    whole = (name, tuple([region.key for region in regions]), len(arguments), key)
    found = _instructions.get(whole)
    if found is None:
        found = _instructions[whole] = _instruction(name, regions, len(arguments), build, strided)
    outside = [tensor for region in regions for tensor in region.outside]
    floats = tuple([f for region in regions for f in region.floats])
    ints = tuple([i for region in regions for i in region.ints])
    return apply(found, [*arguments, *outside], floats, ints)


def _instruction(name: str, regions: Sequence[Region], count: int, build: Callable[..., Callable], strided: Sequence[Any]) -> RegionInstruction:
    outside = [len(region.outside) for region in regions]
    floats, ints = [len(region.floats) for region in regions], [len(region.ints) for region in regions]

    def with_functions(rules: bool) -> Callable:
        evaluators = [evaluator(region, rules) for region in regions]

        def function(*everything: Any) -> Any:
            arguments, rest = everything[:count], list(everything[count:])
            taken = []
            for sizes in (outside, floats, ints):
                groups = []
                for size in sizes:
                    groups.append(rest[:size])
                    del rest[:size]
                taken.append(groups)
            functions = [PartFunction(run, o, f, i, rules) for run, o, f, i in zip(evaluators, *taken, strict=True)]
            return tuple(build(*functions)(*arguments))

        return function

    return RegionInstruction(name, with_functions, sum(floats), sum(ints), strided)


def is_tensor_tree(tree: Any) -> bool:
    """Whether a container holds nothing but tensors."""
    return all(isinstance(leaf, Tensor) for leaf in pytree.leaves(tree))


def describe_difference(left: Sequence[Aval], right: Sequence[Aval], names: tuple[str, str], operator: str) -> None:
    """Check that two lists of tensors are alike.

    Raises:
        UncapturedHigherOrderOpError: torch's text.
    """
    if len(left) != len(right):
        raise UncapturedHigherOrderOpError(
            f"Expected {names[0]} and {names[1]} to have same number of outputs but got lhs:{_shown(left)} and rhs:{_shown(right)}\n"
            f"  Higher Order Operator: {operator}"
        )
    lines = []
    for k, (a, b) in enumerate(zip(left, right)):
        found = [
            f"'{what}: {x} vs {y}'"
            for what, x, y in (("shape", a.size, b.size), ("dtype", a.dtype, b.dtype), ("device", a.device, b.device))
            if x != y
        ]
        if found:
            lines.append(f"pair[{k}] differ in {', '.join(found)}, where lhs is {_one(a)} and rhs is {_one(b)}")
    if lines:
        raise UncapturedHigherOrderOpError(
            f"Expected {names[0]} and {names[1]} to have same metadata but found:\n" + "\n".join(lines) + f"\n  Higher Order Operator: {operator}"
        )


def _one(aval: Aval) -> str:
    dtype = "" if str(aval.dtype) == "torch.float32" else f", dtype={aval.dtype}"
    return f"FakeTensor(..., size={tuple(aval.size)}{dtype})"


def _shown(avals: Sequence[Aval]) -> str:
    return "[" + ", ".join([_one(a) for a in avals]) + "]"


def slices(xs: list[Tensor], dim: int, name: str) -> tuple[int, Callable[[Tensor], tuple[int, ...]]]:
    """The dimension, counted from the front, and the shape of a slice of a tensor."""
    first = xs[0]
    at = dim + first.dim() if dim < 0 else dim
    if not 0 <= at < first.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-first.dim()}, {first.dim() - 1}], but got {dim})")
    lengths = {x.shape[at] for x in xs}
    if len(lengths) != 1:
        raise RuntimeError(f"{name}: All xs tensors must have same scan dim length")
    if 0 in lengths:
        raise RuntimeError(f"{name}: All xs leaves must at least have 1 number of elements in the scan dimension")
    return at, lambda x: (*x.shape[:at], *x.shape[at + 1 :])
