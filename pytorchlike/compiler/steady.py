"""A training step that repeats and that nobody looks into: its guards and its launch as one function that makes no new objects for its state.

`packing.Packing` makes a value for each of the small arrays that it wrote, and a tensor for each gradient.  If at the next call nobody but
the storages and the parameters hold them, they serve again: the arrays that they lie in are exchanged, all at once.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..graph import counters, recorder
from ..graph.value import Value, new_value
from . import settings
from .structure import LEAF, keys_of
from .values import is_simple

if TYPE_CHECKING:
    from .packing import Packing
    from .replay import Replay

__all__ = ["steady"]

#: So many conditions stand in one statement.
_CHUNK = 24


def _calibrate() -> int:
    """``sys.getrefcount`` of a local name's object that another object's slot holds as well."""
    value, holder = new_value(Value), new_value(Value)
    holder.array = value
    return sys.getrefcount(value)


_HELD = _calibrate()


def steady(replay: Replay) -> Callable[[tuple, dict[str, Any]], Any] | None:
    """The function of a call's arguments and keywords that replays it, or returns MISSING where it does nothing, since a guard fails or somebody
    holds what would be used again; None: the call is not of the kind."""
    packing = replay.packing
    if packing is None or replay.position is None or not replay.is_simple or keys_of(replay.guards.structure):
        return None
    plans = replay.tensor_plans
    of_result = {replay.order[plan[1][1]]: n for n, plan in enumerate(plans)}
    holders = {plan[1]: number for number, plan in replay.gradient_plans if plan is not None and plan[0] == "tensor"}
    returned = {plan[1] for plan in replay.result_plans if plan[0] == "tensor"}
    taken = list(packing.layout.inputs.items())
    gradients = [of_result.get(k) for k in packing.layout.results if k not in packing.layout.inputs.values()]
    storages = {k: (n, storage) for n, (storage, k, *_) in enumerate(replay.storage_writes)}
    if any(n is None or n not in holders or n in returned for n in gradients) or len(set(gradients)) != len(gradients):
        return None
    if any(k not in storages or replay.input_plans[i] != ("storage", storages[k][1]) for i, k in taken):
        return None
    if any(holders[n] not in replay.guards.gradients or f"t{holders[n]}" not in replay.guards.names for n in gradients):
        return None
    return _Writer(replay, packing, taken, gradients, holders, storages).function()


class _Writer:
    """Writes the function.

    Args:
        taken: (number of a packed input, number of the result that takes its place).
        gradients: the plans of the new tensors that become gradients.
        holders: plan of a new tensor -> the known tensor whose gradient it becomes.
        storages: number of a result -> (number of the write, storage).
    """

    def __init__(self, replay: Replay, packing: Packing, taken: list[tuple[int, int]], gradients: list[Any], holders: dict[int, int],
                 storages: dict[int, tuple[int, Any]]) -> None:  # fmt: skip
        self.replay, self.packing, self.guards = replay, packing, replay.guards
        self.taken, self.gradients, self.holders, self.storages = taken, gradients, holders, storages
        #: The dictionaries' entries that an optimizer's numbers are read from, if all that happens before the launch is that they are read.
        self.fresh: list[tuple[dict, Any]] | None = None
        actions = replay.actions
        if not replay.number_plans and all(action[0] == "float" for action in actions):
            places = {(id(action[2]), action[3]): (action[2], action[3]) for action in actions}
            if all(is_simple(container[key]) for container, key in places.values()):
                self.fresh = list(places.values())
        self.seen: list[Any] = []
        self.names: dict[str, Any] = {}

    def function(self) -> Callable[[tuple, dict[str, Any]], Any]:
        packing = self.packing
        gathering = packing.gathering("t{}", alone=True)
        lines = ["def run(args, kwargs):", "state = thread.state"]
        lines += ["if state.capture is not None or settings.stance != 'default' or watchers or ambient() != ambience:", "    return MISSING", "try:"]
        lines += [f"    {line}" for line in [*self._arguments(), *self._conditions()]]
        lines += ["except (KeyError, AttributeError, IndexError, ValueError, TypeError):", "    return MISSING"]
        lines += [*gathering, *self._numbers(), *packing.launch(), "R.runs += 1", *self._writing(), *packing.returning("t{}")]
        names = {
            **self.guards.names, **packing.names, **self.names, "R": self.replay, "settings": settings, "watchers": counters.watchers, "seen": self.seen,
            "weakrefs": weakref.getweakrefcount, "materialise": recorder.materialise,
        }  # fmt: skip
        exec(compile("\n    ".join(lines) + "\n", "<pytorchlike step>", "exec"), names)
        self.look_again()
        run = names["run"]
        run.look_again = self.look_again
        return run

    def look_again(self) -> None:
        """Note the optimizer's numbers that the last launch was given."""
        if self.fresh is not None:
            self.seen[:] = [container[key] for container, key in self.fresh]

    def _name(self, value: Any) -> str:
        name = f"y{len(self.names)}"
        self.names[name] = value
        return name

    def _arguments(self) -> list[str]:
        """The lines that take the arguments apart: ``a0``, ``a1``, ..."""
        lines: list[str] = []
        leaves, parts = itertools.count(), itertools.count()

        def take(value: str, structure: Any) -> None:
            if structure is LEAF:
                lines.append(f"a{next(leaves)} = {value}")
                return
            part, kind = f"p{next(parts)}", structure[0]
            lines.append(f"{part} = {value}")
            if kind is dict:
                lines.append(f"if {part}.__class__ is not dict or {f'tuple({part}) != {structure[1]!r}' if structure[1] else part}:" if all(isinstance(k, (str, int)) for k in structure[1])
                             else f"if {part}.__class__ is not dict or tuple({part}) != {self._name(structure[1])}:")
                keys = [repr(k) if isinstance(k, (str, int)) else self._name(k) for k in structure[1]]
            else:
                lines.append(f"if {part}.__class__ is not {self._name(kind)} or len({part}) != {len(structure[1])}:")
                keys = [str(k) for k in range(len(structure[1]))]
            lines.append("    return MISSING")
            for key, inner in zip(keys, structure[-1], strict=True):
                take(f"{part}[{key}]", inner)

        _, (positional, named) = self.guards.structure
        take("args", positional)
        take("kwargs", named)
        return lines

    def _conditions(self) -> list[str]:
        """The lines that check the guards, and that nobody holds the values and the gradients that are used again."""
        guards, lines = self.guards, []
        found: list[str] = []
        lasts, rests = [f"l{n}" for n in range(len(self.taken))], [f"h{n}" for n in range(len(self.gradients))]
        lines.append(f"[{', '.join(lasts)}], [{', '.join(rests)}] = P.last, P.rest")
        new = set()
        for h, n in zip(rests, self.gradients, strict=True):
            holder = self.holders[n]
            new.add(guards.gradients[holder])
            x, cls = f"t{guards.gradients[holder]}", self._name(self.replay.tensor_plans[n][3])
            found.append(f"({x} := t{holder}._grad).__class__ is not {cls} or {x}._value is not {h} or {x}._storage is not None or {x}._edge is not None")
            found.append(f"getrefcount({x}) != {_HELD} or getrefcount({h}) != {_HELD + 1} or weakrefs({x}) or {x}.__dict__")
        for v, (_, k) in zip(lasts, self.taken, strict=True):
            w = f"w{self.storages[k][0]}"
            found.append(f"{w}.value is not {v} or {w}.host is not None or getrefcount({v}) != {_HELD + 1}")
        implied = {("memory", id(self.storages[k][1])) for _, k in self.taken} | {("floating", number) for number in new}
        for about, text in guards.conditions:
            if about is not None and about[0] == "fresh" and self.fresh is not None:
                at = [(id(container), key) for container, key in self.fresh].index(about[1:])
                container, key = self.fresh[at]
                found.append(f"{self._name(container)}[{key!r}] is not seen[{at}]")
            elif about == ("free",):
                found.append(guards.apart([t for t in guards.free[0] if t not in {f"t{number}" for number in new}]))
            elif about not in implied:
                found.append(text)
        for start in range(0, len(found), _CHUNK):
            lines += [f"if {' or '.join(f'({text})' if ' and ' in text else text for text in found[start : start + _CHUNK])}:", "    return MISSING"]
        return lines

    def _numbers(self) -> list[str]:
        """The lines that do what is done on the host, and give ``numbers``."""
        if self.fresh is not None:
            return ["numbers = P.floats[1]"]
        replay = self.replay
        lines = [f"changed = list({self._name(replay.floats)})"]
        lines += [f"changed[{index}] = {formula.source}" for index, formula in replay.number_plans]
        for number, action in enumerate(replay.actions):
            if action[0] == "float":
                _, index, container, key, part = action
                lines.append(f"changed[{index}] = float({self._name(container)}[{key!r}]{'' if part is None else f'[{part}]'})")
            elif action[0] == "draw":
                lines.append(f"d{number} = {self._name(action[1])}()._value")
                at = [i for i, plan in enumerate(replay.input_plans) if plan == ("draw", number)]
                lines += [f"b{i} = d{number}.array if d{number}.trace is None else materialise(d{number}, 'compiled step')" for i in at]
            else:
                lines.append(f"{self._name(action[1])}(*{self._name(action[2])})")
        return [*lines, "floats = tuple(changed)", "given, numbers = P.floats", "if not are_same(floats, given):", "    numbers = send_numbers(floats)"]

    def _writing(self) -> list[str]:
        """The lines that write what the call wrote, and make what is new: what it returns, and the values of what is not packed."""
        packing, replay = self.packing, self.replay
        lines = ["parked = P.parked", "parked.buffers = buffers"]
        again = {k: f"l{n}" for n, (_, k) in enumerate(self.taken)}
        for h in range(len(self.gradients)):
            lines += [f"h{h}.trace = parked", f"h{h}.array = None"]
        lines.append("cls = state.value_class")
        for k, place in enumerate(packing.places()):
            if place is not None:
                lines += packing.new_value(k, f"{place}, None, -1")
                if k not in self.storages:
                    lines.append(f"r{k}.origin = None")
        for n, (_, k, versions, tracked) in enumerate(replay.storage_writes):
            lines += [f"w{n}.version += {versions}", f"c{n}.tracked += {tracked}"]
            if k in again:
                lines += [f"{again[k]}.trace = parked", f"{again[k]}.array = None", f"{again[k]}.origin = (c{n}, c{n}.tracked)"]
            else:
                lines.append(f"w{n}.value, r{k}.origin = r{k}, (c{n}, c{n}.tracked)")
        for n in range(len(replay.tensor_plans)):
            if n not in self.gradients:
                lines += packing.new_tensor(n)
        return lines + packing.new_gradients("t{}", self.gradients)
