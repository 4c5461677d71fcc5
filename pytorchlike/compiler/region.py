"""A region: what a function does to tensors, recorded apart and not run.

The branches and bodies of control flow (_higher_order_ops/) and exported programs (export/) are regions.  The function runs once on tensors
without numbers; the tensors that it takes from elsewhere become further inputs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core import pytree
from ..core.state import thread
from ..dispatch.custom_vjp import with_rules
from ..dispatch.derivative import Differentiable, vjp_backward
from ..dispatch.modes import TorchFunctionMode
from ..graph import provenance
from ..graph.lower import avals_of, run_steps
from ..graph.recorder import Trace
from ..graph.trie import State
from ..graph.value import Aval, Value, aval_of, constant
from ..tensors.tape import Backward
from ..tensors.tensor import Tensor, make_tensor
from .capture import Listener
from .captured import Captured, captured, part_of

__all__ = ["Region", "RegionInstruction", "evaluator", "placeholder", "record_region"]


class _RegionTrace(Trace):
    """A trace whose inputs may be pending in another one: nothing of it is run."""

    __slots__ = ()

    def slot_of(self, value: Value) -> int:
        slot = self.inputs.get(value)
        if slot is None:
            position = self.position.next.get(value.aval)
            if position is None:
                position = self.position.next.setdefault(value.aval, State(self.position, None, (), None, value.aval))
            self.position = position
            slot = self.inputs[value] = position.slot
            self.values.append(value)
        return slot


class _Refusal(Listener):
    """Stands for a capture (compiler/capture.py) while a region is recorded: it raises where numbers would be needed."""

    def __init__(self, refuse: Callable[[str], Exception], outer: Any) -> None:
        super().__init__()
        self.refuse, self.outer = refuse, outer
        self.draws: dict[Value, Callable[[], Any]] = {}

    def give_up(self, reason: str) -> None:
        where = provenance.as_text(provenance.user_line())
        raise self.refuse(f"{reason} ({where})" if where else reason)

    def note_floats(self, sources: Any) -> None:
        self.give_up("an optimizer's step")

    def run_on_host(self, function: Callable, args: tuple) -> Any:
        self.give_up("a scheduler's step")

    def note_draw(self, made: Any, make: Callable[[], Any]) -> None:
        self.draws[made._value] = make


class _Notice(TorchFunctionMode):
    """Notes the tensors from outside that a region uses, and has their content read outside."""

    def __init__(self, region_trace: Trace, outer: tuple, placeholders: set[Value]) -> None:
        self.trace, self.outer, self.placeholders = region_trace, outer, placeholders
        self.owners: dict[Value, Tensor] = {}
        self.states: dict[int, tuple] = {}

    def __torch_function__(self, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
        """Look at the arguments, and call."""
        for leaf in pytree.leaves((args, kwargs or {})):
            if isinstance(leaf, Tensor):
                self.note(leaf)
        return func(*args, **(kwargs or {}))

    def note(self, tensor: Tensor) -> None:
        storage = tensor._storage
        value = tensor._value if storage is None else storage.value
        if value.trace is self.trace or value in self.placeholders:
            return
        if storage is not None:
            state, (trace, capture, levels) = thread.state, self.outer
            mine = state.trace, state.capture, state.levels
            state.trace, state.capture, state.levels = trace, capture, levels
            try:
                value = tensor._content()
            finally:
                state.trace, state.capture, state.levels = mine
        self.owners.setdefault(value, tensor)
        self.states.setdefault(id(tensor), (tensor, storage, None if storage is None else storage.value, 0 if storage is None else storage.version, value))

    def restore(self) -> bool:
        """Undo what was written into tensors from outside; whether anything was."""
        written = False
        for tensor, storage, memory, version, value in self.states.values():
            if storage is None:
                if tensor._storage is not None and tensor._storage.version:
                    tensor._storage, tensor._value, written = None, value, True
            elif storage.version != version:
                storage.value, storage.version, written = memory, version, True
        return written


class Region:
    """What a function did.

    Attributes:
        captured: the operators.
        sources: for each of their inputs, the number of an argument, or of a value in ``outside`` (counted from -1 downwards).
        outside: the tensors from elsewhere.
        outputs: for each tensor result ("result", number) or ("source", as in ``sources``).
        avals: of the tensor results.
        written: the arguments that were written to, by number, with the output that has the new content.
        structure, leaves: the result as a tree, where ``leaves`` has numbers of outputs in the place of tensors (as `Output`).
        draws: outside tensors of random numbers, by number -> what draws them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.captured: Captured
        self.sources: list[int] = []
        self.outside: list[Tensor] = []
        self.outputs: list[tuple[str, int]] = []
        self.avals: list[Aval] = []
        self.written: dict[int, int] = {}
        self.structure: Any = None
        self.leaves: list[Any] = []
        self.draws: dict[int, Callable[[], Any]] = {}
        self.floats: tuple[float, ...] = ()
        self.ints: tuple[int, ...] = ()

    def fingerprint(self) -> tuple:
        """What `graph.fingerprint` tells of it."""
        return self.key

    @property
    def key(self) -> tuple:
        """Equal for regions that compute the same."""
        return self.captured, tuple(self.sources), tuple(self.outputs), len(self.outside)


class Output(int):
    """The number of a tensor among a region's results."""


def placeholder(tensor: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    """A tensor without numbers like another one (or of another shape)."""
    aval = aval_of(tuple(tensor.shape), tensor.dtype, tensor.device, tuple(tensor.stride())) if shape is None else aval_of(shape, tensor.dtype, tensor.device)
    return make_tensor(constant(None, aval), None, type(tensor) if shape is None else Tensor)


def record_region(name: str, function: Callable[[], Any], arguments: Sequence[Tensor], refuse: Callable[[str], Exception]) -> Region:
    """Run a function and keep what it does.

    Args:
        function: takes nothing; it uses ``arguments``, which are placeholders.
        refuse: makes the error for what cannot be part of a region, of the reason.

    Raises:
        what ``refuse`` makes; what the function raises.
    """
    state = thread.state
    outer = state.trace, state.capture, state.levels
    immediate, state.immediate = state.immediate, 0
    arrived = {tensor._value: k for k, tensor in enumerate(arguments)}
    trace = _RegionTrace()
    refusal = _Refusal(refuse, outer[1])
    trace.capture = refusal
    notice = _Notice(trace, outer, set(arrived))
    state.trace, state.capture, state.levels = trace, refusal, []
    region = Region(name)
    try:
        with notice:
            result = function()
        leaves, region.structure = pytree.flatten(result)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        for tensor in tensors:
            notice.note(tensor)
        changed = [k for k, a in enumerate(arguments) if a._storage is not None and a._storage.version]
        values = [tensor._content() for tensor in tensors + [arguments[k] for k in changed]]
        position = trace.position
    finally:
        state.trace, state.capture, state.levels = outer
        state.immediate = immediate
        written = notice.restore()
        trace.capture = None
    if written:
        raise refuse("a tensor from outside of the function is written to")
    numbers = iter(range(len(tensors)))
    region.leaves = [Output(next(numbers)) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    region.written = {k: len(tensors) + n for n, k in enumerate(changed)}
    region.avals = [value.aval for value in values]
    slots = tuple(sorted({value.slot for value in values if value.trace is trace}))
    region.captured = captured(name, position, slots)
    outside: dict[Value, int] = {}

    def source(value: Value) -> int:
        found = arrived.get(value)
        return found if found is not None else -1 - outside.setdefault(value, len(outside))

    region.sources = [source(trace.values[slot]) for slot in region.captured.inputs]
    region.outputs = [("result", slots.index(v.slot)) if v.trace is trace else ("source", source(v)) for v in values]
    region.outside = [notice.owners[value] if value in notice.owners else make_tensor(value) for value in outside]
    region.draws = {number: refusal.draws[value] for value, number in outside.items() if value in refusal.draws}
    region.floats, region.ints = tuple(trace.floats), tuple(trace.ints)
    return region


# -------------------------------------------------------------------------------------------------------------- evaluation
def evaluator(region: Region, rules: bool) -> Callable[..., list[Any]]:
    """``function(arguments, outside, floats, ints)`` -> the outputs, on arrays.

    Args:
        rules: JAX's reverse mode is to use the tape's rules.
    """
    steps = region.captured.steps
    inputs, sources, outputs, results = region.captured.inputs, list(region.sources), list(region.outputs), region.captured.results
    avals = avals_of(region.captured.position)

    def with_rule(step: State, given: list[Any]) -> list[Any]:
        assert step.instruction is not None and step.inference is not None
        return list(with_rules(step.instruction, tuple([avals[slot] for slot in step.slots]), step.inference.outputs)(*given))

    def evaluate(arguments: Sequence[Any], outside: Sequence[Any], floats: Sequence[Any], ints: Sequence[Any]) -> list[Any]:
        def from_source(k: int) -> Any:
            return arguments[k] if k >= 0 else outside[-1 - k]

        environment = {slot: from_source(k) for slot, k in zip(inputs, sources, strict=True)}
        run_steps(steps, environment, part_of(floats), part_of(ints), *((with_rule,) if rules else ()))
        made = [environment[slot] for slot in results]
        return [made[k] if kind == "result" else from_source(k) for kind, k in outputs]

    return evaluate


class RegionInstruction(Differentiable):
    """One instruction made of regions.

    Args:
        build: ``build(rules)`` -> the function of arrays, floats and ints; with ``rules``, JAX's reverse mode uses the tape's rules in it.
        strided: the strides of the results.
        rules: what ``build`` gets.
    """

    __slots__ = ("_build", "_strides", "_rules")

    def __init__(self, name: str, build: Callable[[bool], Callable], floats: int, ints: int, strided: Sequence[Any] = (), rules: bool = False) -> None:
        super().__init__(name, build(rules), floats, ints)
        self._build, self._strides, self._rules = build, tuple(strided), rules

    def identity(self) -> Any:
        return self._build, self._rules

    def strides(self, avals: Any, shapes: Any) -> Any:
        """Those that the regions' results have."""
        return self._strides or [None] * len(shapes)

    @functools.lru_cache(maxsize=256)  # noqa: B019 - instructions live as long as the process
    def derivative(self, needed: tuple[bool, ...], inputs: tuple[Aval, ...], outputs: tuple[Aval, ...]) -> Backward:
        """JAX's, through the rules of the operators."""
        twin = RegionInstruction(self.name, self._build, self.float_count, self.int_count, rules=True)
        return vjp_backward(twin, needed, inputs, outputs)
