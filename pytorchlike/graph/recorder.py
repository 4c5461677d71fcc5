"""Recording instructions in the thread's trace, and flushing it: the only two things that happen to a trace.

`record` is the general way in; the generated operator functions (dispatch/generate.py) do the same inline for the common case.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..core.device import jax_device
from ..core.state import ThreadState, on_new_thread, thread
from . import counters, executors, pieces, provenance
from .data_checks import raise_failed_now
from .instruction import Instruction
from .lower import Program, compile_program, donated
from .packed import PackedArrays
from .trie import MOST_INSTRUCTIONS, RecentTraces, State
from .value import Aval, Value, new_value

__all__ = ["Trace", "flush", "flush_all", "forget_programs", "materialise", "raise_data_errors", "record", "run_alone", "step_boundary", "synchronise"]

#: Inputs with fewer elements than this are not donated: handing over the buffer costs more than it saves.
SMALLEST_DONATION = 4096

#: ``sys.getrefcount`` of an argument of `run_alone` that only its storage and the list of arguments hold.
_IN_STORAGE = 3

#: Error flags of this many programs wait for somebody to look at numbers; then they are looked at in any case.
MOST_UNREAD_CHECKS = 100

#: A trace with a larger share of its values in use than this is not cut at `trie.SOFT_CAP`: each would become an array, which takes as long as the
#: operator.  Where fewer are, XLA makes few large kernels of a trace, and the time it takes grows with the square of their size.
MOSTLY_IN_USE = 0.6

_root = State(None, None, (), None, None)
recent_traces = RecentTraces(MOST_INSTRUCTIONS)
_extend_lock = threading.RLock()


class Trace:
    """What one thread has recorded since its last flush.

    Attributes:
        position: where it stands in the trie.
        values: slot -> value, inputs and results alike.
        inputs: input value -> slot.
        floats, ints: the Python numbers that instructions take, in order.
        sites: slot -> source line, for instructions with data checks.
        capture: what makes one instruction of the whole trace (compiler/capture.py), and is asked before a flush; usually None.
    """

    __slots__ = ("position", "values", "inputs", "floats", "ints", "sites", "capture", "lock", "__weakref__")

    def __init__(self) -> None:
        self.position = _root
        self.values: list[Value] = []
        self.inputs: dict[Value, int] = {}
        self.floats: list[float] = []
        self.ints: list[int] = []
        self.sites: dict[int, tuple[str, int] | None] = {}
        self.capture: Any = None
        self.lock = threading.RLock()

    def slot_of(self, value: Value) -> int:
        """The slot of a value that is not pending here; it becomes an input when it is not one yet."""
        slot = self.inputs.get(value)
        if slot is None:
            if value.trace is not None:
                if type(value.trace) is PackedArrays:
                    value.trace.take(value)
                else:
                    materialise(value, "another thread")
            position = self.position.next.get(value.aval)
            if position is None:
                with _extend_lock:
                    position = self.position.next.setdefault(value.aval, State(self.position, None, (), None, value.aval))
            self.position = position
            slot = self.inputs[value] = position.slot
            self.values.append(value)
        return slot

    def extend(self, instruction: Instruction, slots: tuple[int, ...]) -> State | None:
        """The state behind a transition not seen before; None when the trace had to be flushed and everything starts anew."""
        if self.position.is_full and self.capture is None:
            further = self.position.further() if self._is_in_use() else None
            if further is None:
                flush(self, "cap")
                return None
            self.position = further
            if (found := further.next.get((instruction, *slots))) is not None:
                return found
        inference = instruction.infer(tuple([self.values[slot].aval for slot in slots]))
        with _extend_lock:
            return self.position.next.setdefault((instruction, *slots), State(self.position, instruction, slots, inference, None))

    def _is_in_use(self) -> bool:
        """Most values are referenced elsewhere, by the tape mostly (`MOSTLY_IN_USE`)."""
        return sum([count > _DEAD_RESULT for count in map(sys.getrefcount, self.values)]) > MOSTLY_IN_USE * len(self.values)


def _start_thread(state: ThreadState) -> None:
    state.trace = Trace()
    if executors.immediate_by_default():
        state.immediate += 1
        state.slow += 1


on_new_thread(_start_thread)


def record(instruction: Instruction, arguments: tuple[Value, ...], floats: tuple[float, ...] = (), ints: tuple[int, ...] = ()) -> tuple[Value, ...]:
    """Record an instruction (or run it at once, under the immediate executor) and return its results.

    Raises:
        Whatever the instruction's checks raise; nothing is recorded then.
    """
    state = thread.state
    if state.immediate:
        return executors.run_now(instruction, arguments, floats, ints)
    found = None
    while found is None:
        trace = state.trace
        key = (instruction, *[a.slot if a.trace is trace else trace.slot_of(a) for a in arguments])
        found = trace.position.next.get(key) or trace.extend(instruction, key[1:])
    if instruction.data_checks:
        raise_failed_now(instruction.host_checks(tuple([a.aval for a in arguments])), arguments, floats, ints)
        trace.sites[found.slot] = provenance.user_line()
    trace.position = found
    if floats:
        trace.floats.extend(floats)
    if ints:
        trace.ints.extend(ints)
    outputs = found.inference.outputs  # type: ignore[union-attr]
    if len(outputs) == 1:
        value: Value = new_value(state.value_class)
        value.aval = found.aval  # type: ignore[assignment]
        value.trace = trace
        value.slot = found.slot
        value.array = value.origin = None
        trace.values.append(value)
        results: tuple[Value, ...] = (value,)
    else:
        results = _several(outputs, found.slot, trace, state)
    if instruction.at_once:
        flush(trace, "a check of the data")
        raise_data_errors()
    return results


def _several(avals: tuple[Aval, ...], slot: int, trace: Trace, state: ThreadState) -> tuple[Value, ...]:
    """The results of an instruction that has not exactly one."""
    results = []
    for position, aval in enumerate(avals, slot):
        value: Value = new_value(state.value_class)
        value.aval = aval
        value.trace = trace
        value.slot = position
        value.array = value.origin = None
        trace.values.append(value)
        results.append(value)
    return tuple(results)


def run_alone(position: State, arguments: list[Value], replaced: Sequence[int], floats: tuple[float, ...], ints: tuple[int, ...],
              site: tuple[str, int] | None) -> list[Value]:  # fmt: skip
    """Run at once what a trace would hold that consists of one instruction, all of whose results live.

    Args:
        position: where that trace stands.
        arguments: the instruction's inputs, which are the trace's, computed.
        site: where errors that depend on data are said to come from.
        replaced: numbers of those that are a storage's content, which gets another one right after: they are donated if nobody else has them.
    """
    assert position.inference is not None
    outputs = position.inference.outputs
    live = tuple(range(position.slot, position.slot + len(outputs)))
    counters.count_flush("compiled step", position)
    donatable = tuple([k for k in replaced if sys.getrefcount(arguments[k]) == _IN_STORAGE and _is_ours(arguments[k])])
    program, protected = position.programs.get((live, donatable)) or _program(position, live, donatable)
    results, flags = program.run(arguments, list(floats), list(ints), protected)
    if flags is not None:
        _keep_checks(flags, program, {position.slot: site})
    cls, made = thread.state.value_class, []
    for array, aval in zip(results, outputs):
        value: Value = new_value(cls)
        value.aval, value.array, value.trace, value.slot, value.origin = aval, array, None, -1, None
        made.append(value)
    return made


# ---------------------------------------------------------------------------------------------------------------- flushing
def _calibrate() -> tuple[int, int, int]:
    """The reference counts that a dead result, an input only the trace holds and an array only its value holds show in `flush`."""
    values, inputs = [new_value(Value), new_value(Value)], {}
    inputs[values[1]] = 1
    values[1].array = np.zeros(1)
    counts = list(map(sys.getrefcount, values))
    return counts[0], counts[1], sys.getrefcount(values[1].array)


_DEAD_RESULT, _DEAD_INPUT, _OWN_ARRAY = _calibrate()


def flush(trace: Trace, reason: str) -> None:
    """Run what the trace holds: every result that is still referenced gets its array, and the thread starts a new trace.

    Args:
        reason: what the flush is counted under in `explain`.
    """
    if trace.capture is not None and not trace.capture.ends_by(reason):
        return
    with trace.lock:
        position, values = trace.position, trace.values
        state = thread.state
        if position.depth == 0:
            if state.trace is trace and values:
                state.trace = Trace()
            return
        counts = list(map(sys.getrefcount, values))
        live = tuple([s for s, count in enumerate(counts) if count > _DEAD_RESULT and values[s].trace is trace and not values[s].aval.is_meta])
        counters.count_flush(reason, position)
        recent_traces.touch(position)
        try:
            if live or trace.sites:
                donatable = tuple(
                    [s for v, s in trace.inputs.items() if v.aval.numel >= SMALLEST_DONATION and counts[s] == _DEAD_INPUT and _is_ours(v)]
                )
                program, protected = position.programs.get((live, donatable)) or _program(position, live, donatable)
                _run(program, protected, trace)
            for value in values if position.has_meta else ():
                if value.aval.is_meta:
                    value.trace = None
            values.clear()  # a dead value and its trace refer to each other: without this they would wait for the cycle collector,
            trace.inputs.clear()  # and the inputs with them
        finally:  # also after an error (out of memory): what was pending can still be asked for value by value
            if state.trace is trace:
                state.trace = Trace()


def _is_ours(value: Value) -> bool:
    """Nobody else holds the array (a numpy array counts too, so that a first step is the same program as the second)."""
    return sys.getrefcount(value.array) == _OWN_ARRAY and isinstance(value.array, (jax.Array, np.ndarray))


def _program(position: State, live: tuple[int, ...], donatable: tuple[int, ...]) -> tuple[Program, frozenset[int]]:
    """A program that computes at least the live slots, and the inputs it donates although they must survive (they are copied first).

    One that was made for more results or more donations serves too: what lingers in a reference cycle at one flush and not at the next
    must not cost a compilation.
    """
    wanted, given = set(live), set(donated(position, live, donatable))
    for program, _ in dict.fromkeys(position.programs.values()):
        if wanted.issubset(program.live) and given.issubset(program.donated) and len(program.live) <= 2 * len(live) + 4:
            break
    else:
        program = compile_program(position, live, donatable)
    found = position.programs[live, donatable] = (program, frozenset(program.donated) - set(donatable))
    return found


def _run(program: Program, protected: frozenset[int], trace: Trace) -> None:
    values = trace.values
    results, flags = program.run(values, trace.floats, trace.ints, protected)
    for slot, array in zip(program.live, results):
        value = values[slot]
        value.array = array
        value.trace = None
    if flags is not None:
        _keep_checks(flags, program, trace.sites)


def _keep_checks(flags: Any, program: Program, sites: dict[int, tuple[str, int] | None]) -> None:
    """Keep a program's verdicts until somebody looks at numbers."""
    checks = thread.state.checks
    checks.append((flags, program.data_checks, sites))
    if len(checks) > MOST_UNREAD_CHECKS:
        raise_data_errors()


def materialise(value: Value, reason: str) -> Any:
    """The array of a value, running the trace it is pending in if need be.

    Args:
        reason: what the flush is counted under in `explain`.
    """
    trace, state = value.trace, thread.state
    if type(trace) is PackedArrays:  # no computation is needed for it
        trace.take(value)
        trace = None
    if state.capture is not None:
        state.capture.looked_at(reason)
    if trace is None:
        return value.array
    if trace is state.trace:
        flush(trace, reason)
        return value.array
    if not isinstance(trace, Trace):  # the value of a batch: nobody outside of its transformation may look into it
        raise trace.refuse(reason)
    # Pending in another thread's trace: compute just this value and leave that trace to its owner, which may be recording now.
    with trace.lock:
        if value.trace is not None:
            position = trace.position
            while position.parent is not None and position.parent.slot_count > value.slot:
                position = position.parent
            program, protected = _program(position, (value.slot,), ())
            results, _ = program.run(trace.values, trace.floats, trace.ints, protected)
            value.array = results[program.live.index(value.slot)]
            value.trace = None
    return value.array


def synchronise(value: Value, reason: str) -> Any:
    """Like `materialise`, for somebody who looks at the numbers: errors that depended on data are raised now."""
    array = materialise(value, reason)
    if thread.state.checks:
        raise_data_errors()
    return array


def raise_data_errors() -> None:
    """Raise the first error that a data check of an executed program found, naming the operator and its source line."""
    pending = thread.state.checks
    while pending:
        flags, data_checks, sites = pending.pop(0)
        flags = np.asarray(flags)
        if not any(flags.tolist()):  # a few numbers: faster than numpy's any
            continue
        pending.clear()
        start = 0
        for slot, check, name in data_checks:
            if flags[start]:
                site = provenance.as_text(sites.get(slot))
                where = "" if check.at_once else f" ({name}, called at {site})" if site else f" ({name})"
                raise check.error(flags[start + 1 : start + check.length], where)
            start += check.length


def step_boundary(reason: str) -> None:
    """A natural place to run what is pending: the end of an optimizer's step, the next batch of a loader."""
    trace = thread.state.trace
    if trace.capture is not None:
        trace.capture.has_boundary = True  # the captured call as a whole ends there
    else:
        flush(trace, reason)


def flush_all() -> None:
    """Run everything pending in this thread, and wait until devices have finished."""
    trace = thread.state.trace
    pending = [weakref.ref(value) for value in trace.values]  # a strong reference would make dead results live
    flush(trace, "flush_all")
    survivors = [value.array for value in (reference() for reference in pending) if value is not None]
    jax.block_until_ready([array for array in survivors if isinstance(array, jax.Array) and not array.is_deleted()])
    raise_data_errors()


def forget_programs() -> None:
    """Forget all traces that were ever recorded, and their programs: memory against compiling again (XLA's code takes memory and, on Linux,
    memory maps, of which a process has 65,530)."""
    flush(thread.state.trace, "forget_programs")
    with _extend_lock:
        _root.next.clear()
        _root.programs.clear()
        recent_traces.clear()
    counters.forget(counters.compilations)
    pieces.compiled.cache_clear()
    jax.clear_caches()


def to_device_array(value: Value) -> Any:
    """The computed array as a ``jax.Array`` on its device (a numpy array that was not sent yet is sent and kept)."""
    array = materialise(value, "array")
    if type(array) is np.ndarray:
        array = value.array = jax.device_put(array, jax_device(value.aval.device))
    return array
