"""Backends of `compile` that are functions: each gets a captured call as a `torch.fx.GraphModule` and returns what replays run in its place."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..graph.instruction import Instruction
from ..graph.recorder import record
from ..graph.value import Value
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor, make_tensor
from .captured import Captured

__all__ = ["NATIVE", "RecordedOperator", "compile_with", "get_default_backend", "graph_of", "list_backends", "lookup_backend", "register_backend", "set_default_backend"]

#: Names that mean XLA, or no compilation ("eager"); as torch tags them.
NATIVE = {"aot_eager": ("debug",), "cudagraphs": (), "eager": ("debug",), "inductor": (), "openxla": ()}
_registered: dict[str, tuple[Callable, tuple[str, ...]]] = {}
_default: str | Callable = "inductor"


def register_backend(compiler_fn: Callable | None = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Give a function of a graph and its inputs a name for ``backend=``; also as a decorator.

    Args:
        name: its own name if left out.
        tags: ``list_backends`` leaves out what is tagged "debug" or "experimental".
    """
    if compiler_fn is None:
        return lambda fn: register_backend(fn, name, tags)
    assert callable(compiler_fn)
    _registered[name or compiler_fn.__name__] = compiler_fn, tuple(tags)
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> Callable | str:
    """A backend by its name: the function that was registered, or the name again, if XLA is meant.

    Raises:
        InvalidBackend: there is no such name.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in _registered:
        return _registered[compiler_fn][0]
    if compiler_fn not in NATIVE:
        raise RuntimeError(f"Invalid backend: {compiler_fn!r}, see `torch._dynamo.list_backends()` for available backends.")
    return compiler_fn


def set_default_backend(backend: str | Callable | None) -> None:
    """Choose what `compile` takes where no ``backend`` is given; None: "inductor" again.

    Raises:
        RuntimeError: there is no such name.
    """
    global _default
    lookup_backend(backend)
    _default = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable:
    """What `compile` takes where no ``backend`` is given."""
    return _default


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that ``backend=`` takes, but for those with one of these tags."""
    excluded = set(exclude_tags or ())
    known = {**NATIVE, **{name: tags for name, (_, tags) in _registered.items()}}
    return sorted(name for name, tags in known.items() if not excluded.intersection(tags))


class RecordedOperator:
    """An instruction of a captured call as a function of tensors and numbers.

    Attributes:
        instruction: what it records.
    """

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.__name__ = self.__qualname__ = re.sub(r"\W+", "_", instruction.name)
        self.__module__ = "torch.ops.captured"

    def __call__(self, *arguments: Any) -> Any:
        tensors = [a for a in arguments if isinstance(a, Tensor)]
        numbers = arguments[len(tensors) :]
        floats, ints = numbers[: self.instruction.float_count], numbers[self.instruction.float_count :]
        results = [make_tensor(value) for value in record(self.instruction, tuple([t._content() for t in tensors]), tuple(floats), tuple(ints))]
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<captured {self.instruction.name}>"


def graph_of(instruction: Captured, names: Sequence[str], floats: Sequence[float], ints: Sequence[int], varying: Sequence[int]) -> GraphModule:
    """A captured call as a graph: its inputs, then the floats that vary, are placeholders; the output is the tuple of its results.

    Args:
        names: of the inputs.
        varying: the positions of the floats that each replay gives anew; the others are constants.
    """
    graph = Graph()
    nodes = {slot: graph.placeholder(re.sub(r"\W+", "_", name).strip("_") or "input") for slot, name in zip(instruction.inputs, names, strict=True)}
    numbers: list[Any] = list(floats)
    for at in varying:
        numbers[at] = graph.placeholder(f"number_{at}")
    for step in instruction.steps:
        assert step.instruction is not None and step.inference is not None and step.parent is not None
        given = [nodes[slot] for slot in step.slots] + numbers[step.parent.float_count : step.float_count] + list(ints[step.parent.int_count : step.int_count])
        made = graph.call_function(RecordedOperator(step.instruction), tuple(given))
        count = len(step.inference.outputs)
        for k in range(count):
            nodes[step.slot + k] = made if count == 1 else graph.call_function(operator.getitem, (made, k))
    graph.output(tuple([nodes[slot] for slot in instruction.results]))
    return GraphModule(Module(), graph)


def compile_with(backend: Callable, graph: GraphModule, inputs: list[Any], options: dict[str, Any]) -> Callable[[list[Value], list[float]], list[Value]]:
    """Have a backend compile a graph.

    Returns:
        function of the inputs' values and the floats that vary -> the results' values.

    Raises:
        BackendCompilerFailed: the backend raised an error.
    """
    try:
        compiled = backend(graph, inputs, **options)
    except Exception as error:
        from .compiled import BackendCompilerFailed

        raise BackendCompilerFailed(f"backend={getattr(backend, '__name__', backend)!r} raised:\n{type(error).__name__}: {error}") from error
    if not callable(compiled):
        raise TypeError(f"torch.compile: a backend has to return a function, but {getattr(backend, '__name__', backend)!r} returned {type(compiled).__name__}")

    def run(arguments: list[Value], numbers: list[float]) -> list[Value]:
        with no_grad():
            results = compiled(*[make_tensor(value) for value in arguments], *numbers)
        return [result._content() for result in (results if isinstance(results, (tuple, list)) else [results])]

    return run
