"""A captured training step whose small state stays packed from one replay to the next, behind one generated function.

A step of a small network hands XLA some fifty arrays of a few hundred numbers each, and takes as many back, which costs more than computing
them.  Here the small ones among the parameters, the optimizer's state and the gradients are one array for each dtype, which the program takes
apart and puts together again; a parameter that somebody reads in between is cut out of it (`graph/packed.py`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..core.bounded import are_same
from ..core.device import CPU
from ..core.state import thread
from ..graph import counters, recorder, tiers
from ..graph.fingerprint import Unknown, digest
from ..graph.lower import Part, Program, _scalars, avals_of, run_steps
from ..graph.packed import PackedArrays
from ..graph.store import number_list
from ..graph.trie import State
from ..graph.value import Aval, Value, new_value
from .equal_results import numbered
from .known import memory_of
from .structure import unflatten
from .values import MISSING

if TYPE_CHECKING:
    from .replay import Replay

__all__ = ["Packing", "packing_of"]

#: Fewer results than this are not worth packing.
_FEWEST = 4

#: A longer captured call is not traced a second time to find inputs that stay equal.
_MOST_STEPS = 200

#: ``sys.getrefcount`` of an input that its storage, or its tensor, and the generated function hold.
_HELD_ONCE = 3


class _Layout:
    """Where the small arrays lie.

    Attributes:
        results: number of a result -> (number of the buffer, start, end).
        inputs: number of an input -> the number of the result that takes its place.
        sizes: (dtype, length) of each buffer.
        shared: inputs of one element that are equal, and whose results are as long as they are: step counts.
    """

    def __init__(self, inputs: dict[int, int], avals: dict[int, Aval], shared: tuple[int, ...] = ()) -> None:
        self.inputs, self.shared = inputs, shared
        self.results: dict[int, tuple[int, int, int]] = {}
        self.sizes: list[tuple[Any, int]] = []
        for dtype in dict.fromkeys(aval.dtype for aval in avals.values()):
            end = 0
            for k, aval in avals.items():
                if aval.dtype is dtype:
                    self.results[k] = (len(self.sizes), end, end + aval.numel)
                    end += aval.numel
            self.sizes.append((dtype.numpy, end))

    @property
    def key(self) -> tuple:
        return tuple(self.inputs.items()), tuple(self.results), self.shared


class _PackedPart(Part):
    """A program that takes other inputs and the buffers, and gives the buffers and the other results."""

    __slots__ = ("layout",)

    def __init__(self, layout: _Layout, position: State, donated: tuple[int, ...]) -> None:
        assert position.inference is not None
        self.layout = layout
        results = range(len(position.inference.outputs))
        super().__init__(
            tuple([position.slot + k for k in results if k not in layout.results]),
            tuple([slot for i, slot in enumerate(position.slots) if i not in layout.inputs]),
            donated, [position], avals_of(position), CPU,
        )  # fmt: skip
        self.tier = tiers.FULL

    def make(self) -> None:
        """Compile."""
        self.function = self._compile(tiers.FULL)

    def _told(self) -> Any:
        return super()._told(), repr(self.layout.key)

    def _specifications(self) -> list[jax.ShapeDtypeStruct | None]:
        (step,) = self.steps
        given = [self.avals[slot].shape_dtype for slot in self.inputs] + [jax.ShapeDtypeStruct((length,), dtype) for dtype, length in self.layout.sizes]
        return [jax.ShapeDtypeStruct((step.float_count,), np.dtype(np.float64)), jax.ShapeDtypeStruct((step.int_count,), np.dtype(np.int64)), *given]

    def _evaluate(self, floats: Any, ints: Any, *arrays: Any) -> tuple[dict[int, Any], list[Any]]:
        (step,) = self.steps
        environment = dict(zip(self.inputs, arrays))
        buffers = arrays[len(self.inputs) :]
        assert step.inference is not None
        outputs = step.inference.outputs
        for i, k in self.layout.inputs.items():
            number, start, end = self.layout.results[k]
            environment[step.slots[i]] = jax.lax.slice(buffers[number], (start,), (end,)).reshape(outputs[k].size)
        for i in self.layout.shared:
            environment[step.slots[i]] = environment[step.slots[self.layout.shared[0]]]
        return environment, run_steps(self.steps, environment, functools.partial(_scalars, floats), functools.partial(_scalars, ints))

    def numbers_of(self, inputs: Sequence[int]) -> list[int]:
        """A number for the result in the place of each of these inputs; the same number means that they are the same computation."""
        (step,) = self.steps

        def results(*arrays: Any) -> list[Any]:
            environment, _ = self._evaluate(*arrays)
            return [environment[step.slot + self.layout.inputs[i]] for i in inputs]

        def compute() -> list[int]:
            with jax.enable_x64(True):
                return numbered(jax.make_jaxpr(results)(*self._specifications()))

        try:
            key = digest("numbers", self._told(), repr(inputs))
        except Unknown:
            return compute()
        return number_list(key, compute)

    def _distinct(self, floats: Any, ints: Any, *arrays: Any) -> tuple[list[Any], Any]:
        (step,) = self.steps
        environment, flags = self._evaluate(floats, ints, *arrays)
        packed: list[list[Any]] = [[] for _ in self.layout.sizes]
        for k, (number, _, _) in self.layout.results.items():
            packed[number].append(environment[step.slot + k].reshape(-1))
        made = [jax.numpy.concatenate(each) for each in packed]
        return made + [environment[slot] for slot in self.live], jax.numpy.concatenate(flags) if flags else None


class Packing:
    """The launch of one replay.

    Args:
        replay: whose small state is packed.
        part, program: shared by the replays of the same instruction.

    Attributes:
        run: function of the known tensors, the drawn values and the floats: replays the call and returns its result, or MISSING when the inputs
            are such that nothing was done (something is pending, or shared with numpy).
    """

    def __init__(self, replay: Replay, part: _PackedPart, program: Program) -> None:
        self.replay, self.part, self.program = replay, part, program
        self.layout = part.layout
        self.last: list[Any] = [None] * len(self.layout.inputs)  # the values that the packed inputs were given by the last launch
        self.buffers: Sequence[Any] = ()
        self.parked: PackedArrays | None = None  # what the values of the last launch's packed results lie in
        self.rest: list[Value] = []  # its packed results that take no input's place: gradients
        self.floats: tuple[Any, Any] = (None, None)
        assert replay.position.inference is not None
        self._outputs: tuple[Aval, ...] = replay.position.inference.outputs
        with jax.enable_x64(True):
            ints = jax.device_put(np.array(replay.ints, np.int64), part.target)
        self.names: dict[str, Any] = {
            "P": self, "pack": self.pack, "unshared": self.unshared, "send_numbers": self.numbers, "are_same": are_same, "ints": ints, "memory_of": memory_of, "send": _send, "getrefcount": sys.getrefcount,
            "is_ours": _is_ours, "copy": jax.numpy.copy, "enable_x64": jax.enable_x64, "part": part, "program": program, "count": counters.count_flush,
            "position": replay.position, "Packed": PackedArrays, "places": list(self.layout.results.values()), "new": new_value, "thread": thread,
            "ndarray": np.ndarray, "after": self._after, "MISSING": MISSING, "finish": replay.finish, "unflatten": unflatten,
            "step_boundary": recorder.step_boundary,
        }  # fmt: skip
        self.run: Callable[..., Any] = self._generate()

    def pack(self, values: list[Value]) -> bool:
        """Put the inputs together, when somebody gave the storages other content than the last launch did; False: some are not equal that
        have to be."""
        buffers = [np.zeros(length, dtype) for dtype, length in self.layout.sizes]
        for value, k in zip(values, self.layout.inputs.values(), strict=True):
            number, start, end = self.layout.results[k]
            buffers[number][start:end] = np.asarray(recorder.materialise(value, "compiled step")).reshape(-1)
        with jax.enable_x64(True):
            self.buffers = [jax.device_put(buffer, self.part.target) for buffer in buffers]
        places = [self.layout.results[self.layout.inputs[i]] for i in self.layout.shared]
        return len({buffers[number][start].tobytes() for number, start, _ in places}) <= 1

    def unshared(self, known: list[Any], drawn: dict[int, Value], floats: tuple[float, ...]) -> Any:
        """Go on with a layout without shared inputs."""
        self.replay.packing = packing_of(self.replay, share=False)
        self.replay.steady, self.replay.unsteady = None, 0
        return MISSING if self.replay.packing is None else self.replay.packing.run(known, drawn, floats)

    def numbers(self, floats: tuple[float, ...]) -> Any:
        """The floats on the device; they stay there, as most do not change."""
        with jax.enable_x64(True):
            packed = jax.device_put(np.array(floats, np.float64), self.part.target)
        self.floats = (floats, packed)
        return packed

    def _generate(self) -> Callable[..., Any]:
        lines = ["def run(known, drawn, floats):", *self.gathering("known[{}]"), *self._launching(), *self._writing()]
        names = self.names
        exec(compile("\n    ".join(lines) + "\n", "<pytorchlike replay>", "exec"), names)
        return names["run"]

    def gathering(self, known: str, alone: bool = False) -> list[str]:
        """The lines that find the inputs: values ``v0``, ``v1``, ..., and of those that are not packed arrays ``b0``, ``b1``, ...

        Args:
            known: how a known tensor is called, with its number.
            alone: leave the packed and the drawn ones out.
        """
        replay, names, lines = self.replay, self.names, []
        self.others: list[str] = []
        for i, (kind, what) in enumerate(replay.input_plans):
            v = f"v{i}"
            if alone and (i in self.layout.inputs or kind == "draw"):
                if kind == "draw":
                    self.others.append(f"b{i}")
                continue
            if kind == "storage":
                names[f"s{i}"] = what
                lines += [f"if s{i}.host is not None:", "    return MISSING", f"{v} = s{i}.value"]
            elif kind == "memory":
                lines.append(f"{v} = memory_of({known.format(what)})")
            elif kind == "content":
                lines.append(f"{v} = {known.format(what)}._content()")
            elif kind == "draw":
                lines.append(f"{v} = drawn[{what}]")
            else:
                names[f"{v}c"] = what
                lines.append(f"{v} = {v}c")
            if i in self.layout.inputs:
                continue
            self.others.append(f"b{i}")
            lines += [f"if {v}.trace is not None:", "    return MISSING", f"b{i} = {v}.array"]
            if kind != "draw":
                lines += [f"if b{i}.__class__ is ndarray:", f"    b{i} = send({v})"]
            if replay.position.slots[i] in self.part.donated:
                lines += [f"if getrefcount({v}) != {_HELD_ONCE} or not is_ours({v}):", f"    b{i} = copy(b{i})"]
        for n, (storage, *_) in enumerate(replay.storage_writes):
            names[f"w{n}"], names[f"c{n}"] = storage, storage.changes
        lines.append(f"if {' or '.join(f'w{n}.host is not None' for n in range(len(replay.storage_writes)))}:")
        return [*lines, "    return MISSING"]

    def launch(self) -> list[str]:
        """The lines that run the program on ``numbers``, ``ints``, the gathered arrays and the buffers."""
        return [
            "count('compiled step', position)", "with enable_x64(True):",
            f"    made, flags = part.function(numbers, ints, {', '.join([*self.others, '*P.buffers'])})",
            "if flags is not None or not program.runs:", "    after(flags)", "program.runs += 1", f"P.buffers = buffers = made[:{len(self.layout.sizes)}]",
        ]  # fmt: skip

    def new_value(self, k: int, at: str) -> list[str]:
        """The lines that make the value ``rK`` of a result; ``at``: its array, trace and slot."""
        self.names[f"A{k}"] = self._outputs[k]
        return [f"r{k} = new(cls)", f"r{k}.aval = A{k}", f"r{k}.array, r{k}.trace, r{k}.slot = {at}"]

    def places(self) -> list[str | None]:
        """For each result where the program gave it: an expression, or None for a packed one."""
        numbers = iter(range(len(self.layout.sizes), len(self._outputs) + len(self.layout.sizes)))
        return [None if k in self.layout.results else f"made[{next(numbers)}]" for k in range(len(self._outputs))]

    def _launching(self) -> list[str]:
        """The lines that run the program: its results are values ``r0``, ``r1``, ..."""
        layout = self.layout
        packed = [f"v{i}" for i in layout.inputs]
        lines = ["last = P.last", f"if {' or '.join(f'{v} is not last[{n}]' for n, v in enumerate(packed))}:", f"    if not pack([{', '.join(packed)}]):", "        return unshared(known, drawn, floats)"]
        lines += ["given, numbers = P.floats", "if not are_same(floats, given):", "    numbers = send_numbers(floats)", *self.launch()]
        lines += ["P.parked = parked = Packed(buffers, places)", "cls = thread.state.value_class"]
        slots = {k: slot for slot, k in enumerate(layout.results)}
        written = {k for _, k, *_ in self.replay.storage_writes}
        for k, place in enumerate(self.places()):
            lines += self.new_value(k, f"None, parked, {slots[k]}" if place is None else f"{place}, None, -1")
            if k not in written:
                lines.append(f"r{k}.origin = None")
        rest = [k for k in layout.results if k not in layout.inputs.values()]
        return [*lines, f"P.last, P.rest = [{', '.join(f'r{k}' for k in layout.inputs.values())}], [{', '.join(f'r{k}' for k in rest)}]"]

    def _writing(self) -> list[str]:
        """The lines that write what the call wrote and return what it returned."""
        replay, lines = self.replay, []
        for n, (_, k, versions, tracked) in enumerate(replay.storage_writes):
            lines += [f"w{n}.version += {versions}", f"c{n}.tracked += {tracked}", f"w{n}.value, r{k}.origin = r{k}, (c{n}, c{n}.tracked)"]
        results = f"[{', '.join(f'r{k}' for k in range(len(self._outputs)))}]"
        if not replay.is_simple:
            return [*lines, f"return finish(known, {results}, drawn)"]
        for n in range(len(replay.tensor_plans)):
            lines += self.new_tensor(n)
        return [*lines, *self.new_gradients("known[{}]"), *self.returning("known[{}]")]

    def new_gradients(self, known: str, kept: Container[int] = ()) -> list[str]:
        """The lines that set gradients, but for those new tensors that are there already."""
        plans = [(number, plan) for number, plan in self.replay.gradient_plans if plan is None or plan[0] != "tensor" or plan[1] not in kept]
        return [f"{known.format(number)}._grad = {'None' if plan is None else self._found(plan, known)}" for number, plan in plans]

    def new_tensor(self, n: int) -> list[str]:
        """The lines that make the tensor ``nN`` of a plan."""
        _, reference, _, cls = self.replay.tensor_plans[n]
        self.names[f"T{n}"] = cls
        return [f"n{n} = new(T{n})", f"n{n}._value = r{self.replay.order[reference[1]]}", f"n{n}._storage = n{n}._edge = None"]

    def _found(self, plan: tuple, known: str) -> str:
        if plan[0] == "same":
            self.names[f"k{len(self.names)}"] = plan[1]
            return f"k{len(self.names) - 1}"
        return known.format(plan[1]) if plan[0] == "known" else f"n{plan[1]}"

    def returning(self, known: str) -> list[str]:
        """The last lines."""
        replay = self.replay
        leaves = f"({', '.join([*[self._found(plan, known) for plan in replay.result_plans], ''])})"
        self.names["structure"] = replay.structure
        lines = ["if thread.state.trace.values:", "    step_boundary('compiled step')"]
        return [*lines, f"return unflatten(structure, iter({leaves}))" if isinstance(replay.structure, tuple) else f"return {leaves}[0]"]

    def _after(self, flags: Any) -> None:
        if not self.program.runs:
            counters.count_compilation(self.program)
        if flags is not None:
            recorder._keep_checks(flags, self.program, {self.replay.position.slot: self.replay.site})


def _send(value: Value) -> Any:
    """A numpy array that will be an input again is sent to the device once."""
    with jax.enable_x64(True):
        array = value.array = jax.device_put(value.array)
    return array


def _is_ours(value: Value) -> bool:
    """Nobody but the value and the generated function hold the array."""
    return isinstance(value.array, jax.Array) and sys.getrefcount(value.array) == _HELD_ONCE


def packing_of(replay: Replay, share: bool = True) -> Packing | None:
    """How to launch a replay with packed state; None where that gains nothing.

    Args:
        share: look for inputs of one element that are always equal, so that what is computed of each is computed once.
    """
    position, outputs = replay.position, replay.position.inference.outputs  # type: ignore[union-attr]
    given = avals_of(replay.instruction.position)
    inputs = [given[slot] for slot in replay.instruction.inputs]

    def is_small(aval: Aval) -> bool:
        return aval.numel < recorder.SMALLEST_DONATION and aval.device == CPU

    if not all(aval.device == CPU for aval in (*inputs, *outputs)):
        return None
    written = {id(storage): k for storage, k, *_ in replay.storage_writes if is_small(outputs[k])}
    taken: dict[int, int] = {}
    for i, (kind, what) in enumerate(replay.input_plans):
        k = written.get(id(what)) if kind == "storage" else None
        if k is not None and inputs[i].size == outputs[k].size and inputs[i].dtype is outputs[k].dtype and k not in taken.values():
            taken[i] = k
    chosen = set(written.values()) | {k for k in replay.gradient_results() if is_small(outputs[k])}
    if len(chosen) < _FEWEST or not taken:
        return None
    packed = {k: outputs[k] for k in sorted(chosen)}
    donated = tuple([position.slots[i] for i in replay.replaced if i not in taken])
    layout = _Layout(taken, packed, _shared(replay, taken, packed, donated) if share else ())
    key = (position, layout.key, donated)
    found = replay.instruction.packed.get(key)
    if found is None:
        program = next(iter(position.programs.values()))[0]
        part = _PackedPart(layout, position, donated)
        part.make()
        found = replay.instruction.packed[key] = part, Program(program.live, donated, [part], program.data_checks)
    return Packing(replay, *found)


def _shared(replay: Replay, taken: dict[int, int], packed: dict[int, Aval], donated: tuple[int, ...]) -> tuple[int, ...]:
    """The inputs of one element that are equal now and that the program leaves equal."""
    found: dict[Any, list[int]] = {}
    for i, k in taken.items():
        if packed[k].numel == 1:
            value = np.asarray(recorder.materialise(replay.input_plans[i][1].value, "compiled step"))
            found.setdefault((packed[k].dtype, value.tobytes()), []).append(i)
    largest = max(found.values(), key=len, default=[])
    if len(largest) < _FEWEST or len(replay.instruction.steps) > _MOST_STEPS:
        return ()
    trial = _PackedPart(_Layout(taken, packed, tuple(largest)), replay.position, donated)
    numbers = trial.numbers_of(largest)
    return tuple(largest) if len(set(numbers)) == 1 else ()
