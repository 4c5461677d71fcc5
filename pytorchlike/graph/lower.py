"""From a path in the trie to a program: dead code dropped, the rest interpreted, or one function under ``jax.jit``."""

from __future__ import annotations

import functools
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import SingleDeviceSharding

from ..core.bounded import are_same
from ..core.device import CPU, device, jax_device
from . import background, cache, counters, fusion, tiers
from .data_checks import DataCheck
from .fingerprint import Unknown, digest, environment
from .host import HostProgram
from .store import compiling, keep_program, load_program
from .trie import State
from .value import Aval, Value

__all__ = ["Program", "avals_of", "compile_program", "donated", "needed_steps", "run_steps", "told_of"]

#: ``sys.getrefcount`` of a value that only the trace holds: its list of values, its inputs, a local name and the argument.
_ONLY_THE_TRACE = 4


class Program:
    """A trace made ready to run, for one set of results.

    Attributes:
        live: the slots it computes, in ascending order.
        donated: input slots whose buffers it takes over.
        inputs: input slots it reads.
        data_checks: (slot, check, operator's name) of each check, in the order of their verdicts.
        step_count: instructions left after dropping dead code.
    """

    __slots__ = ("live", "donated", "inputs", "data_checks", "step_count", "parts", "runs", "first_run_seconds", "__weakref__")

    def __init__(self, live: tuple[int, ...], donated: tuple[int, ...], parts: list[Part], data_checks: list[tuple[int, DataCheck, str]]) -> None:
        self.live = live
        self.donated = donated
        self.parts = parts
        self.inputs = tuple(slot for part in parts for slot in part.inputs)
        self.data_checks = data_checks
        self.step_count = sum(len(part.steps) for part in parts)
        self.runs = 0
        self.first_run_seconds = 0.0

    @property
    def compile_seconds(self) -> float:
        """How long XLA took for it so far."""
        return sum(part.compile_seconds for part in self.parts)

    def run(self, values: list[Value], floats: list[float], ints: list[int], protected: frozenset[int]) -> tuple[list[Any], Any]:
        """Compute the live slots: (their arrays in order, the verdicts of the data checks in one vector, or None).

        Args:
            protected: donated inputs that must survive this run.
        """
        start = time.perf_counter() if self.runs == 0 or counters.watchers else 0.0
        if len(self.parts) == 1:
            results, flags = self.parts[0].run(values, floats, ints, protected)
        else:  # values on several devices: one part for each, none reads another's results
            found: dict[int, Any] = {}
            collected = []
            for part in self.parts:
                results, flags = part.run(values, floats, ints, protected)
                found.update(zip(part.live, results, strict=True))
                if flags is not None:
                    collected.append(np.asarray(flags))
            results, flags = [found[slot] for slot in self.live], np.concatenate(collected) if collected else None
        self.runs += 1
        if self.runs == 1:
            self.first_run_seconds = time.perf_counter() - start
            counters.count_compilation(self)
        if counters.watchers:
            counters.tell([state.instruction for part in self.parts for state in part.steps], start, results)
        return results, flags


class Part:
    """The part of a program that runs on one device.

    Attributes:
        avals: of the slots that it reads.
        tier: how it runs now (`tiers`).
        runs: how often it has run.
        family: what it has in common with programs of the same operators.
        is_whole: a compiled function captured it.
        is_packed_later: it is going to be compiled in another form (compiler/packing.py), not in the background.
        places: for each live slot where its array is among the inputs or XLA's results (see `_distinct`); None: they are XLA's results.
        compile_seconds: how long tracing for XLA and XLA took.
    """

    __slots__ = (
        "live", "inputs", "donated", "steps", "avals", "float_count", "int_count", "floats", "ints", "target", "function", "host", "tier", "runs",
        "family", "job", "places", "compile_seconds", "is_whole", "is_packed_later",
    )  # fmt: skip

    def __init__(self, live: tuple[int, ...], inputs: tuple[int, ...], donated: tuple[int, ...], steps: list[State], avals: dict[int, Aval],
                 target: device) -> None:  # fmt: skip
        self.live = live
        self.inputs = inputs
        self.steps = steps
        last = steps[-1] if steps else None
        self.float_count = last.float_count if last else 0
        self.int_count = last.int_count if last else 0
        self.floats: tuple[list[float], Any] = ([], None)
        self.ints: tuple[list[int], Any] = ([], None)
        self.donated = donated
        self.avals = {slot: avals[slot] for slot in (*inputs, *[slot for step in steps for slot in step.slots])}
        self.target = jax_device(target)
        self.runs = 0
        self.host: HostProgram | None = None
        self.job: background.Job | None = None
        self.places: list[tuple[bool, int]] | None = None
        self.compile_seconds = 0.0
        instructions = [step.instruction for step in steps if step.instruction is not None]
        self.family = tiers.family_of([instruction.family for instruction in instructions])
        self.is_whole = any(instruction.is_whole for instruction in instructions)
        self.is_packed_later = False
        self.tier = tiers.first_tier(self.target.platform, target == CPU)
        self.function: Callable[..., tuple[list[Any], Any]] | None = None

    def _compile(self, tier: str) -> Callable[..., tuple[list[Any], Any]]:
        """Compile for a tier, or find on the disk what another process has compiled."""
        start = time.perf_counter()
        key = self._key(tier)
        found = None if key is None else load_program(key, self.target)
        if found is not None:
            compiled, self.places = found
        else:
            name = "program" if key is None else f"program_{key.hex()[:12]}"  # JAX's cache, too, takes it for this one alone
            with jax.enable_x64(True), compiling() as was_loaded:
                specifications = self._specifications()
                compiled = self._without_repetition(self._distinct, tier, specifications, name).trace(*specifications).lower().compile()
            if key is not None and not was_loaded:
                keep_program(key, compiled, self.places)
        self.compile_seconds += time.perf_counter() - start
        counters.note_compilation(len(self.steps), self.compile_seconds)
        return compiled

    def _key(self, tier: str) -> bytes | None:
        """Under what the compiled program is kept on the disk; None: it is not.

        Accelerators' programs, and those that nobody asked to be compiled as a whole, are left to JAX's own cache.
        """
        if self.target.platform != "cpu" or not self.is_whole:
            return None
        try:
            return digest(environment(), tier, self._told())
        except Unknown:
            return None

    def _specifications(self) -> list[jax.ShapeDtypeStruct | None]:
        """Shapes, dtypes and places of the program's arguments."""
        at = SingleDeviceSharding(self.target)
        numbers = [
            jax.ShapeDtypeStruct((count,), dtype, sharding=at) if count else None
            for count, dtype in ((self.float_count, np.float64), (self.int_count, np.int64))
        ]
        return numbers + [jax.ShapeDtypeStruct(a.size, a.dtype.numpy, sharding=at) for a in (self.avals[slot] for slot in self.inputs)]

    def _told(self) -> Any:
        """What the program depends on, as `fingerprint.described` takes it.

        Raises:
            Unknown: another process cannot know it.
        """
        return told_of(self.steps), [self.avals[slot] for slot in self.inputs], repr((self.inputs, self.live, self.donated, self.target.id))

    def _jitted(self, function: Callable, tier: str, name: str) -> Any:
        """A function of (packed floats, packed ints, *inputs) that is compiled for a tier."""

        def program(*arguments: Any) -> Any:
            return function(*arguments)

        program.__name__ = name
        donated = tuple(i + 2 for i, slot in enumerate(self.inputs) if slot in self.donated)
        return jax.jit(program, donate_argnums=donated, compiler_options=tiers.options(tier))

    def _without_repetition(self, function: Callable, tier: str, specifications: Sequence[Any], name: str) -> Any:
        """A function as `_jitted`, or what is to be compiled in its place (`fusion`) for arguments of these shapes and dtypes."""
        jitted = self._jitted(function, tier, name)
        other = fusion.without_repetition(jitted.trace(*specifications))
        return jitted if other is None else self._jitted(other, tier, name)

    def describe(self) -> str:
        """The tier, and why it is this one."""
        if self.tier is not tiers.INTERPRETED:
            return self.tier
        pieces = 0 if self.host is None else self.host.pieces
        compiled = f", {pieces} operators compiled singly" if pieces else ""
        return f"{self.tier}{compiled}: {tiers.outlook(self.family, self.runs, self.is_whole)}"

    def _advance(self) -> None:
        """Change the tier, or prepare for that, where this run is the one to do so."""
        run = self.runs + 1
        if self.tier is tiers.INTERPRETED and run <= 2:
            tiers.count_run(self.family, tuple([self.avals[slot].size for slot in self.inputs]))
        if tiers.is_due(self.tier, run, self.family, self.is_whole):
            job = self.job
            self.function = None if job is None else job.result()
            self.tier = tiers.FULL
            self.host = self.job = None
        elif self.tier is tiers.INTERPRETED and self.job is None and not self.is_packed_later and tiers.starts_background(run, self.family):
            self.job = background.submit(functools.partial(self._compile, tiers.FULL))

    def run(self, values: list[Value], floats: list[float], ints: list[int], protected: frozenset[int]) -> tuple[list[Any], Any]:
        """Run on the device's inputs."""
        if self.tier is not tiers.FULL:
            self._advance()
        self.runs += 1
        arrays = [values[slot].array for slot in self.inputs]
        if self.tier is tiers.INTERPRETED:
            if self.host is None:
                self.host = HostProgram(self.steps, self.inputs, self.live, self.avals)
            return self.host.run(arrays, floats, ints)
        for k, array in enumerate(arrays):
            if type(array) is np.ndarray:
                value = values[self.inputs[k]]
                if sys.getrefcount(value) > _ONLY_THE_TRACE:  # it will be an input again: send it to the device once
                    with jax.enable_x64(True):
                        arrays[k] = value.array = jax.device_put(array, jax_device(value.aval.device))
        if protected:
            arrays = [jax.numpy.copy(a) if slot in protected else a for slot, a in zip(self.inputs, arrays, strict=True)]
        with jax.enable_x64(True):
            # Numbers stay on the device from run to run, since most do not change; list and array in one tuple, as threads share programs.
            given_floats, packed_floats = self.floats
            if not are_same(floats[: self.float_count], given_floats):
                packed_floats = jax.device_put(np.array(floats[: self.float_count], np.float64), self.target)
                self.floats = (floats[: self.float_count], packed_floats)
            given_ints, packed_ints = self.ints
            if ints[: self.int_count] != given_ints:
                packed_ints = jax.device_put(np.array(ints[: self.int_count], np.int64), self.target)
                self.ints = (ints[: self.int_count], packed_ints)
            if self.function is None:
                self.function = self._compile(self.tier)
            results, flags = self.function(packed_floats, packed_ints, *arrays)
        if self.places is not None:
            results = [arrays[k] if is_input else results[k] for is_input, k in self.places]
        return results, flags

    def _trace(self, floats: Any, ints: Any, *arrays: Any) -> tuple[list[Any], Any]:
        environment = dict(zip(self.inputs, arrays, strict=True))
        flags = run_steps(self.steps, environment, functools.partial(_scalars, floats), functools.partial(_scalars, ints))
        return [environment[slot] for slot in self.live], jax.numpy.concatenate(flags) if flags else None

    def _distinct(self, floats: Any, ints: Any, *arrays: Any) -> tuple[list[Any], Any]:
        """Like `_trace`, without results that are inputs as they stand, or other results: XLA would copy them, and arrays can be shared.

        The gradients of an addition, for example, are the gradient that arrived.
        """
        results, flags = self._trace(floats, ints, *arrays)
        known = {id(array): (True, k) for k, (slot, array) in enumerate(zip(self.inputs, arrays)) if slot not in self.donated}
        kept: list[Any] = []
        places = []
        for result in results:
            place = known.get(id(result))
            if place is None:
                place = known[id(result)] = (False, len(kept))
                kept.append(result)
            places.append(place)
        self.places = places if len(kept) < len(places) else None
        return kept, flags


def _scalars(packed: Any, first: int, end: int) -> list[Any]:
    return [lax.squeeze(lax.slice(packed, (k,), (k + 1,)), (0,)) for k in range(first, end)]


def told_of(steps: Sequence[State]) -> tuple[list[bytes], str]:
    """What instructions of a trace compute, as `fingerprint.described` takes it.

    Raises:
        Unknown: one of them has no fingerprint.
    """
    places = [(s.slot, s.slots, s.parent.float_count, s.parent.int_count) for s in steps if s.parent is not None]
    return [s.instruction.fingerprint() for s in steps if s.instruction is not None], repr(places)


def _evaluate(step: State, arguments: list[Any]) -> list[Any]:
    assert step.inference is not None
    return step.inference.evaluate(arguments)


def run_steps(steps: Sequence[State], environment: dict[int, Any], floats: Callable[[int, int], list[Any]], ints: Callable[[int, int], list[Any]],
              run: Callable[[State, list[Any]], list[Any]] = _evaluate) -> list[Any]:  # fmt: skip
    """Run instructions on arrays, one after the other; inlined into whatever is being traced.

    Args:
        environment: slot -> array, for the inputs; the results are added.
        floats, ints: the numbers of the trace from the first one up to the second.
        run: runs one instruction: its results, and behind them the verdicts of its data checks.

    Returns:
        the verdicts.
    """
    verdicts: list[Any] = []
    for step in steps:
        instruction, inference, before = step.instruction, step.inference, step.parent
        assert instruction is not None and inference is not None and before is not None
        arguments = [environment[slot] for slot in step.slots]
        arguments += floats(before.float_count, before.float_count + instruction.float_count)
        arguments += ints(before.int_count, before.int_count + instruction.int_count)
        with jax.named_scope(instruction.name):
            results = run(step, arguments)
        count = len(inference.outputs)
        environment.update(zip(range(step.slot, step.slot + count), results[:count], strict=True))
        verdicts += results[count:]
    return verdicts


def needed_steps(position: State, wanted: Sequence[int], *, meta: bool) -> tuple[list[int], list[State]]:
    """What of a trace is needed for some of its slots: (input slots, instructions), in order; instructions that check data are.

    Args:
        meta: take instructions on the meta device, too.
    """
    needed = set(wanted)
    inputs: list[int] = []
    steps: list[State] = []
    for state in reversed(position.path()):
        if state.instruction is None:
            if state.slot in needed:
                inputs.append(state.slot)
            continue
        assert state.inference is not None
        outputs = state.inference.outputs
        if not meta and outputs and outputs[0].is_meta:
            continue
        if state.instruction.data_checks or not needed.isdisjoint(range(state.slot, state.slot + len(outputs))):
            steps.append(state)
            needed.update(state.slots)
    return inputs[::-1], steps[::-1]


def compile_program(position: State, live: tuple[int, ...], donatable: tuple[int, ...]) -> Program:
    """The program for the trace that ends at this position and for these live slots (XLA compiles it when it first runs)."""
    cache.configure()
    inputs, steps = needed_steps(position, live, meta=False)
    avals = avals_of(position)
    device_of = {slot: aval.device for slot, aval in avals.items()}
    given = donated(position, live, donatable)
    parts = []
    for target in dict.fromkeys(device_of[s] for s in (*live, *[step.slot for step in steps])):
        parts.append(
            Part(
                tuple(s for s in live if device_of[s] == target),
                tuple(s for s in inputs if device_of[s] == target),
                given,
                [step for step in steps if device_of[step.slot] == target],
                avals,
                target,
            )
        )
    data_checks = [
        (step.slot, check, step.instruction.name)
        for part in parts
        for step in part.steps
        if step.instruction is not None
        for check in step.instruction.data_checks
    ]
    return Program(live, given, parts, data_checks)


def avals_of(position: State) -> dict[int, Any]:
    """Slot -> aval, for all inputs and results of a trace."""
    avals: dict[int, Any] = {}
    for state in position.path():
        outputs = (state.aval,) if state.inference is None else state.inference.outputs
        avals.update(zip(range(state.slot, state.slot + len(outputs)), outputs, strict=True))
    return avals


def donated(position: State, live: tuple[int, ...], donatable: tuple[int, ...]) -> tuple[int, ...]:
    """The donatable inputs for which there is a result of the same shape and dtype (XLA warns about others)."""
    if not donatable:
        return ()
    avals = avals_of(position)
    room = Counter((avals[s].size, avals[s].dtype) for s in live)
    found = []
    for slot in donatable:
        key = (avals[slot].size, avals[slot].dtype)
        if room[key] > 0:
            room[key] -= 1
            found.append(slot)
    return tuple(found)
