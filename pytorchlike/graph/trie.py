"""The trie of traces: every position a recorder has ever been in, with all that is known there.

In the steady state one dictionary look-up an operator, ``position.next[(instruction, *slots)]``, does shape inference, promotion,
validation and the cache key at once; only a transition never seen before is inferred.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from . import counters
from .instruction import Inference, Instruction
from .value import Aval

__all__ = ["HARD_CAP", "LIVE_CAP", "MOST_INSTRUCTIONS", "SOFT_CAP", "RecentTraces", "State"]

#: From this many operators on, a trace that repeats itself is cut at a multiple of its period ...
SOFT_CAP = 256
#: ... unless most of its values are in use; then it is cut from this many on ...
LIVE_CAP = 2048
#: ... and one that does not repeat is cut here.
HARD_CAP = 8192
#: Traces together may have this many instructions (about 12 KB each, with their programs); then those not run for long are forgotten.
MOST_INSTRUCTIONS = 40_000

#: The key of `State.further`.
FURTHER = "further"


class State:
    """A position in the trie, reached from ``parent`` by one instruction or by one new input (or by none, see `further`).

    Attributes:
        next: ``(instruction, *slots)`` or an input's `Aval` -> the next state.
        instruction: what led here; None for an input (and for the root).
        slots: the instruction's input slots.
        inference: the instruction's outputs.
        aval, slot: aval and slot of the input or of the first output (what recording needs at once).
        slot_count, float_count, int_count: how many slots and scalars the trace has here.
        depth: how many instructions.
        limit: the depth at which the trace is cut.
        backwards: needed inputs (bits) -> `Backward` of the instruction here.
        programs: (live slots, donated slots) -> compiled `Program` of the trace that ends here.
        has_meta: some value of the trace is on the meta device.
        offsets: window of a storage -> the offsets it was seen with here (one that keeps changing becomes an input).
        key: where ``parent.next`` has it.
    """

    __slots__ = (
        "next", "parent", "instruction", "slots", "inference", "aval", "slot", "slot_count", "float_count", "int_count", "depth", "limit",
        "backwards", "programs", "offsets", "has_meta", "key",
    )  # fmt: skip

    def __init__(self, parent: State | None, instruction: Instruction | None, slots: tuple[int, ...], inference: Inference | None,
                 aval: Aval | None) -> None:  # fmt: skip
        self.next: dict[Any, State] = {}
        self.parent = parent
        self.instruction = instruction
        self.slots = slots
        self.inference = inference
        self.backwards: dict[int, Any] = {}
        self.programs: dict[tuple, Any] = {}
        self.offsets: dict[tuple, set[int]] = {}
        self.key: Any = aval if instruction is None else (instruction, *slots)
        if parent is None:
            self.aval, self.slot = aval, -1
            self.slot_count = self.float_count = self.int_count = self.depth = 0
            self.limit = SOFT_CAP
            self.has_meta = False
            return
        self.aval = inference.outputs[0] if inference is not None and inference.outputs else aval
        self.has_meta = parent.has_meta or (self.aval is not None and self.aval.is_meta)
        self.slot = parent.slot_count
        self.slot_count = parent.slot_count + (1 if inference is None else len(inference.outputs))
        self.float_count, self.int_count = parent.float_count, parent.int_count
        self.depth, self.limit = parent.depth, parent.limit
        if instruction is not None:
            self.float_count += instruction.float_count
            self.int_count += instruction.int_count
            self.depth += 1
            if self.depth == self.limit:
                self.limit = self._next_limit()

    def _next_limit(self) -> int:
        """Where to cut, seen from a position at which the limit is reached: here when the trace is at a multiple of its period."""
        if self.depth >= HARD_CAP:
            return self.depth
        period, start = period_of([state.instruction for state in self.path() if state.instruction is not None])
        if period == 0:
            return min(2 * self.depth, HARD_CAP)
        return self.depth + -(self.depth - start) % period

    @property
    def is_full(self) -> bool:
        """The trace has to be flushed, or let go on (`further`), before anything more is recorded."""
        return self.depth >= self.limit

    def further(self) -> State | None:
        """Where a full trace that is not to be cut here goes on: the same position, with room for twice as many operators; None at `LIVE_CAP`."""
        if self.depth >= LIVE_CAP:
            return None
        state = State(self, None, (), None, None)
        state.slot, state.slot_count = -1, self.slot_count
        state.limit = 2 * self.depth
        state.key = FURTHER
        return self.next.setdefault(FURTHER, state)

    def path(self) -> list[State]:
        """The states from the first one after the root to this one."""
        states = []
        state = self
        while state.parent is not None:
            if state.key is not FURTHER:
                states.append(state)
            state = state.parent
        return states[::-1]


class RecentTraces:
    """The ends of traces, least recently run first; those that were not run for long are cut out of the trie, with their programs.

    Attributes:
        most: how many instructions all traces together may have.
        instructions: how many they have.
        forgotten: how many traces were cut out.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.instructions = self.forgotten = 0
        self._ends: OrderedDict[State, None] = OrderedDict()
        self._lock = threading.Lock()

    def touch(self, end: State) -> None:
        """A trace that ends here is run."""
        try:
            self._ends.move_to_end(end)
        except KeyError:
            with self._lock:
                self._ends[end] = None
                self.instructions += end.depth
                while self.instructions > self.most and len(self._ends) > 1:
                    self._forget(next(iter(self._ends)))

    def _forget(self, end: State) -> None:
        del self._ends[end]
        self.instructions -= end.depth
        self.forgotten += 1
        counters.forget([program for program, _ in end.programs.values()])
        end.programs.clear()
        state: State | None = end
        while state is not None and state.parent is not None and not state.next and state not in self._ends:
            if state.parent.next.get(state.key) is state:
                del state.parent.next[state.key]
            state = state.parent

    def clear(self) -> None:
        """Start anew, with an empty trie."""
        with self._lock:
            self._ends.clear()
            self.instructions = 0


def period_of(sequence: list[Any]) -> tuple[int, int]:
    """The smallest period of a sequence's tail, and where the periodic part starts: (0, 0) unless it covers two periods.

    Computed from the border of the reversed sequence (Knuth-Morris-Pratt failure function), in linear time.
    """
    reverse = sequence[::-1]
    failure = [0] * len(reverse)
    best = (0, 0)
    for end in range(1, len(reverse)):
        matched = failure[end - 1]
        while matched and reverse[end] is not reverse[matched]:
            matched = failure[matched - 1]
        failure[end] = matched + (reverse[end] is reverse[matched])
        period = end + 1 - failure[end]
        if end + 1 >= 2 * period and (end + 1) * 2 >= len(reverse):
            best = (period, len(reverse) - end - 1)
    return best
