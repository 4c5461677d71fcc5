"""Recording a module's call as a program: a pure function of state, constants and arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..autograd.grad_mode import no_grad
from ..compiler import settings
from ..compiler.compiled import Unsupported
from ..compiler.region import Output, Region, RegionInstruction, evaluator, placeholder, record_region
from ..core import pytree
from ..dispatch.call import apply
from ..nn.modules.module import Module
from ..tensors.generator import default_generator
from ..tensors.tensor import Tensor
from .shape_specs import Place

__all__ = ["Program", "key_of", "named_state", "record_program"]


def named_state(module: Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Parameters and buffers by name; one that is shared is there under all of its names."""
    return dict(module.named_parameters(remove_duplicate=False)), dict(module.named_buffers(remove_duplicate=False))


@dataclasses.dataclass
class Program:
    """What a call with arguments of certain shapes does.

    Attributes:
        key: shapes, dtypes and devices of the tensors among the arguments; a size that may be any is a `Place` (loaded programs).
        instruction: takes state, arguments, then ``outside``.
        outside: constants: tensors that are neither state nor arguments.
        draws: numbers among ``outside`` -> what draws random numbers anew.
        structure, leaves: of the result; `Output` numbers stand for tensors, `Place`s for numbers that depend on sizes (loaded programs).
        written: number of a tensor among state and arguments -> the output that has its new content.
        region: the operators; None for a loaded program.
        training: the mode of the module that it is for; None for any.
    """

    key: tuple
    instruction: Any
    outside: list[Tensor]
    draws: dict[int, Callable[[], Any]]
    structure: Any
    leaves: list[Any]
    written: dict[int, int]
    floats: tuple[float, ...] = ()
    ints: tuple[int, ...] = ()
    region: Region | None = None
    training: bool | None = None

    def __call__(self, tensors: Sequence[Tensor], numbers: dict[str, int] | None = None) -> Any:
        """Run it on state and arguments; what it writes is written.

        Args:
            numbers: those of the symbols in this call.
        """
        outside = [self.draws[k]() if k in self.draws else tensor for k, tensor in enumerate(self.outside)]
        given = [tensor.clone() if k in self.written else tensor for k, tensor in enumerate(tensors)]  # what the derivative saves is not written to
        results = apply(self.instruction, [*given, *outside], self.floats, self.ints)
        with no_grad():
            for k, output in self.written.items():
                tensors[k].copy_(results[output])
        leaves = [leaf.of(numbers or {}) if isinstance(leaf, Place) else leaf for leaf in self.leaves]
        return pytree.unflatten([results[leaf] if isinstance(leaf, Output) else leaf for leaf in leaves], self.structure)


def key_of(tensors: Sequence[Tensor]) -> tuple:
    """See `Program.key`."""
    return tuple([(tuple(t.shape), t.dtype, t.device.type) for t in tensors])


def record_program(module: Module, args: tuple, kwargs: dict[str, Any]) -> Program:
    """Run a module on placeholders and keep what it does; the module, its buffers, its arguments and the random stream stay as they are.

    Raises:
        Unsupported: numbers are needed in the middle.
    """
    parameters, buffers = named_state(module)
    state = [*parameters.values(), *buffers.values()]
    leaves, structure = pytree.flatten((args, kwargs))
    given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    stand_ins = [placeholder(tensor) for tensor in [*state, *given]]
    arriving = iter(stand_ins[len(state) :])
    new_args, new_kwargs = pytree.unflatten([next(arriving) if isinstance(leaf, Tensor) else leaf for leaf in leaves], structure)

    def refuse(reason: str) -> Exception:
        return Unsupported(f"{type(module).__name__} cannot be exported as one program: {reason}")

    def run() -> Any:
        with _swapped(module, {id(old): (k, new) for k, (old, new) in reversed(list(enumerate(zip(state, stand_ins))))}) as replaced:
            result = module(*new_args, **new_kwargs)
            return result, replaced()

    settings.exporting += 1
    random = default_generator.packed_state()
    try:
        with no_grad():
            region = record_region(type(module).__name__, run, stand_ins, refuse)
    finally:
        settings.exporting -= 1
        if (default_generator.packed_state() != random).any():
            default_generator.unpack_state(random)
    result_structure, reassigned = region.structure.children()
    count = result_structure.num_leaves
    written = region.written | {k: int(leaf) for k, leaf in zip(reassigned.context, region.leaves[count:], strict=True)}
    build = _builder(region, len(stand_ins))
    instruction = RegionInstruction(
        type(module).__name__, build, len(region.floats), len(region.ints), [aval.stride for aval in region.avals]
    )
    return Program(
        key_of(given), instruction, list(region.outside), region.draws, result_structure, region.leaves[:count], written, region.floats, region.ints, region
    )


def _builder(region: Region, count: int) -> Callable[[bool], Callable]:
    outside, floats = len(region.outside), len(region.floats)

    def build(rules: bool) -> Callable:
        run = evaluator(region, rules)

        def function(*everything: Any) -> tuple[Any, ...]:
            rest = everything[count + outside :]
            return tuple(run(everything[:count], everything[count : count + outside], rest[:floats], rest[floats:]))

        return function

    return build


@contextmanager
def _swapped(module: Module, stand_ins: dict[int, tuple[int, Tensor]]) -> Iterator[Callable[[], dict[int, Tensor]]]:
    """The module with stand-ins (and their numbers) for its parameters and buffers; yields a function that tells which were assigned anew: number ->
    tensor."""
    undo: list[tuple[dict, str, Any]] = []

    def assigned() -> dict[int, Tensor]:
        found = {}
        for store, name, own in undo:
            now = store.get(name)
            number, stand_in = stand_ins[id(own)]
            if isinstance(now, Tensor) and now is not stand_in:
                found[number] = now
        return found

    try:
        for each in module.modules():
            for store in (each._parameters, each._buffers):
                for name, own in list(store.items()):
                    if own is not None and id(own) in stand_ins:
                        undo.append((store, name, own))
                        store[name] = stand_ins[id(own)][1]  # type: ignore[assignment]
        yield assigned
    finally:
        for store, name, own in undo:
            store[name] = own
