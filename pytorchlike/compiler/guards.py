"""From notes to a check: one generated Python function that finds the known tensors again and tells what is not as it was."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..backends.switches import SwitchModule
from ..core import state as core_state
from ..core.state import thread
from ..graph.value import InferenceValue
from ..nn.modules import calls
from ..tensors.tensor import Tensor
from .following import LARGEST, Number, kind_of_result
from .known import Known, attributes_of, gradient_of, kind_of_edge, layout_of
from .structure import keys_of
from .values import CONTAINERS, LARGEST_CONTAINER, MISSING, base_of, is_alike, is_equal, is_same_table, is_simple
from .watch import Note, Watch

__all__ = ["Guards", "ambient"]


def ambient() -> tuple:
    """What a call depends on that is no object of the user's: the modes of this thread and of the process."""
    state = thread.state
    autocast = None if state.autocast is None else tuple(state.autocast.items())
    hooks = None
    if calls._global_forward_hooks or calls._global_forward_pre_hooks or calls._global_backward_hooks or calls._global_backward_pre_hooks:
        hooks = [
            tuple(kind.items())
            for kind in (calls._global_forward_hooks, calls._global_forward_pre_hooks, calls._global_backward_hooks, calls._global_backward_pre_hooks)
        ]
    return (
        state.grad_enabled, state.inference, state.immediate, tuple(state.modes), autocast, state.device, state.anomaly, tuple(state.saved_tensor_hooks),
        core_state.default_dtype(), hooks,
    )  # fmt: skip


class Guards:
    """The check of one captured call.

    Args:
        watch: what was noted.
        arguments: the flat arguments of the call.
        structure: their structure.
        fresh: (id of the dictionary, key) of the numbers that each replay reads anew.
        relevant: the known tensors whose gradient matters.

    Attributes:
        found: the numbers of the known tensors that the check finds again.
        reasons: number of a check -> what differs when it fails.
        numbers: number of a check -> the place of the number that it compares (compiler/following.py).
        check: function of the structure and the flat arguments -> the list of the known tensors and then the followed numbers, or the number of the check that failed.
        conditions: the same checks, but for those of the structure and of the modes, as expressions (what they are about, source, which is true where
            it fails) for a function that need not tell which one failed (compiler/steady.py).  The flat arguments are ``a0``, ``a1``, ..., the known
            tensors ``t0``, ``t1``, ..., which are names in ``names`` if they are fixed.
        names: of the values in the conditions.
        gradients: number of a known tensor -> number of its gradient.
        free: the tensors in others' places that share memory with no other (names in the conditions), and the name of the set of the ids of the fixed
            ones' storages ("": there are none).
    """

    def __init__(self, watch: Watch, arguments: Sequence[Any], structure: Any, fresh: set[tuple[int, Any]], relevant: set[int], ambience: tuple) -> None:
        self.reasons: list[str] = []
        self.places: list[tuple | None] = []
        self.conditions: list[tuple[Any, str]] = []
        self.gradients: dict[int, int] = {}
        self.names: dict[str, Any] = {
            "MISSING": MISSING, "gradient_of": gradient_of, "kind_of_edge": kind_of_edge, "layout_of": layout_of,
            "is_equal": is_equal, "is_alike": is_alike, "is_same_table": is_same_table, "keys_of": keys_of, "InferenceValue": InferenceValue, "attributes": attributes_of, "ambient": ambient, "ambience": ambience, "structure": structure,
            "kind_of_result": kind_of_result, "math": math,
        }  # fmt: skip
        self._lines: list[str] = ["    if given != structure:", f"        return {self._reason('the structure of the arguments')}"]
        keys = keys_of(structure)
        if keys:  # keys that are equal need not be the same: 1 is True, 0.0 is -0.0
            self._lines += [f"    if not is_equal(keys_of(given), {self._name(keys)}):", f"        return {self._reason('the keys of the arguments')}"]
        self._lines += ["    if ambient() != ambience:", f"        return {self._reason('a mode (gradients, autocast, default dtype, hooks ...)')}"]
        self._watch, self._fresh, self._relevant = watch, fresh, relevant
        self.structure = structure
        self.found: set[int] = set()
        self.numbers: dict[int, tuple] = {}
        self._followed = watch.following.numbers
        for k, value in enumerate(arguments):
            self._lines.append(f"    x = args[{k}]")
            self._value(value, f"argument {k}", ("argument", k), f"a{k}")
        for note in watch.notes.values():
            self._place(note)
        for value, _, where in watch.outside.values():
            if not isinstance(value, SwitchModule):
                self._fail(f"type({self._name(value)}) is not {self._name(type(value))}", f"{where} has another class")
        for space, names in watch.absent.values():
            self._fail(f"not {self._name(frozenset(names))}.isdisjoint({self._name(space.keys())})", f"there is a global {' or '.join(sorted(names))}")
        for text, (outcome, _) in watch.following.conditions.items():
            self._fail(f"{text.replace('{', '{{')} is not {self._name(outcome)}", f"a condition on numbers: {text} was {outcome}")
        self._aliases()
        found = [f"t{k}" if k in self.found else "None" for k in range(len(watch.known))]
        self._lines.append(f"    return [{', '.join([*found, *[f'm{number.index}' for number in self._followed.values()]])}]")
        source = "def check(given, args):\n" + "\n".join(self._lines) + "\n"
        exec(compile(source, "<pytorchlike guards>", "exec"), self.names)
        del self._watch, self._followed  # it has the tensors of the captured call
        self.check: Callable[[Any, Sequence[Any]], Any] = self.names["check"]

    def __len__(self) -> int:
        return len(self.reasons)

    def _reason(self, text: str, place: tuple | None = None) -> int:
        self.reasons.append(text)
        self.places.append(place)
        return len(self.reasons) - 1

    def _name(self, value: Any) -> str:
        """A name in the generated function for a value."""
        name = f"g{len(self.names)}"
        self.names[name] = value
        return name

    def _fail(self, condition: str, text: str, place: tuple | None = None, at: str = "", about: Any = None) -> None:
        """One check.

        Args:
            condition: true where it fails; ``{x}`` stands for the value that was found last.
            at: an expression for that value.
            about: see `conditions`.
        """
        self._lines.append(f"    if {condition.format(x='x')}:")
        self._lines.append(f"        return {self._reason(text, place)}")
        self.conditions.append((about, condition.format(x=at)))

    # -------------------------------------------------------------------------------------------------------------- places
    def _place(self, note: Note) -> None:
        container = note.container
        if note.kind == "class":
            entries = container.__dict__
            text = f"len({self._name(entries)}) != {len(entries)} or {self._name(container)}.__mro__ is not {self._name(container.__mro__)}"
            self._fail(text, f"{note.where} has other bases or further attributes")
            return
        if note.kind == "size":
            self._fail(f"len({self._name(container)}) != {len(container)}", f"{note.where} has further attributes")
            return
        if note.kind == "call":
            at = found = f"{self._name(container)}()"
        elif note.kind == "cell":
            at = found = f"{self._name(container)}.cell_contents"
        elif note.kind == "attribute":
            at = found = f"getattr({self._name(container)}, {note.key!r}, MISSING)"
        elif isinstance(container, (list, tuple, deque)):
            base = base_of(container)
            plain = type(container).__getitem__ is base.__getitem__
            at = found = f"{self._name(container)}[{note.key}]" if plain else f"{self._name(base.__getitem__)}({self._name(container)}, {note.key})"
        else:
            key = repr(note.key) if isinstance(note.key, (str, int)) else self._name(note.key)
            if not isinstance(container, dict) or type(container).get is dict.get:
                at = found = f"{self._name(container.get)}({key}, MISSING)"
            else:
                at = found = f"{self._name(dict.get)}({self._name(container)}, {key}, MISSING)"
            if type(container) is dict and note.value is not MISSING:
                found = f"{self._name(container)}[{key}]"  # faster; where there is none, that is an error and no match
        self._lines.append(f"    x = {at}")
        place = (note.kind, id(container), note.key)
        if (id(container), note.key) in self._fresh:
            self._fail(f"not is_alike({{x}}, {self._name(note.value)})", f"{note.where} changed its type or became zero", at=found, about=("fresh", id(container), note.key))
        else:
            self._value(note.value, note.where, place, found)

    def _value(self, value: Any, where: str, place: tuple | None, at: str) -> None:
        if isinstance(value, Tensor):
            self._tensor(self._watch.known[id(value)], where, place, at)
        elif place in self._followed:
            self._number(self._followed[place], where, at)  # type: ignore[index]
        elif is_simple(value):
            if place is not None and type(value) in (int, float):
                self.numbers[len(self.reasons)] = place
            name = self._name(value)
            unequal = "" if value is None or isinstance(value, bool) else f" and not is_equal({{x}}, {name})"
            self._fail(f"{{x}} is not {name}{unequal}", f"{where} was {value!r}", at=at)
        else:
            name = self._name(value)
            self._fail(f"{{x}} is not {name}", f"{where} is another object", at=at)
            if isinstance(value, CONTAINERS) and not isinstance(value, tuple):
                self._container(value, name, where)

    def _number(self, number: Number, where: str, at: str) -> None:
        """A number that may be another one."""
        m, kind = f"m{number.index}", type(number.value).__name__
        self._fail(f"({m} := {{x}}).__class__ is not {kind}", f"{where} is no {kind}", at=at)
        if kind == "int":
            self._fail(f"not -{LARGEST} < {m} < {LARGEST}", f"{where} is too large")

    def _container(self, container: Any, name: str, where: str) -> None:
        """What of a list, dictionary or set is not seen from its entries: how many there are, and in which order."""
        before = self._watch.containers[id(container)][1]
        base = base_of(container)
        entries = name if type(container).__iter__ is base.__iter__ else f"{self._name(base.__iter__)}({name})"
        count = f"len({name})" if type(container).__len__ is base.__len__ else f"{self._name(base.__len__)}({name})"
        if not before:
            self._fail(name if type(container) is base else count, f"{where} has another length")
        elif len(before) > LARGEST_CONTAINER and isinstance(container, dict):
            self._fail(f"not is_same_table({name}, {self._name(before)})", f"{where} has other entries")
        elif len(before) > LARGEST_CONTAINER:
            self._fail(f"not is_same_table([*{entries}], {self._name(before)})", f"{where} has other entries")
        elif isinstance(container, (dict, set, frozenset)) and (len(before) > 1 or not isinstance(next(iter(before)), str)):
            plain = all(type(key) is str for key in before)
            keys = self._name(tuple(before) if plain else list(map(id, before)))
            self._fail(f"(*{entries},) != {keys}" if plain else f"[*map(id, {entries})] != {keys}", f"{where} has other keys, or in another order")
        else:
            self._fail(f"{count} != {len(before)}", f"{where} has another length")

    # ------------------------------------------------------------------------------------------------------------- tensors
    def _tensor(self, known: Known, where: str, place: tuple | None, at: str) -> None:
        t = f"t{known.number}"
        if known.number in self.found:
            self._fail(f"{{x}} is not {t}", f"{where} is another tensor than {known.where}", place, at)
            return
        self.found.add(known.number)
        tensor = known.tensor
        if known.is_fixed:
            self.names[t] = tensor
            self._fail(f"{{x}} is not {t}", f"{where} is another tensor", place, at)
            self._fixed(known, t, where)
        else:
            differs = f"layout_of({t}) != {self._name(known.layout)}"
            if known.layout[1] is None:  # most tensors have no storage of their own: the look at them is written out
                differs = f"({t}._storage is not None or {t}._value.aval is not {self._name(known.layout[0])}) and {differs}"
            about = ("floating", known.number)
            self._fail(f"({t} := {{x}}).__class__ is not {self._name(type(tensor))}", f"{where} has another class", at=at, about=about)
            self._fail(differs, f"{where} has another shape, dtype, device or strides", about=about)
            quick = f"({t}._storage is not None or {t}._edge is not None or {t}._value.__class__ is InferenceValue) and " if known.edge == "none" else ""
            self._fail(f"{quick}kind_of_edge({t}) != {known.edge!r}", f"requires_grad of {where} changed", about=about)
            if known.attributes or at[0] == "a":
                own = self._name(known.attributes)
                self._fail(f"attributes({t}) != {own}" if known.attributes else f"{t}.__dict__ and attributes({t})", f"{where} has other attributes", about=about)
        if known.number in self._relevant:
            if known.gradient is None:
                self._fail(f"gradient_of({t}) is not None", f"{where} has a gradient")
            else:
                self._lines.append(f"    x = gradient_of({t})")
                gradient = self._watch.known[id(known.gradient)]
                self.gradients[known.number] = gradient.number
                self._fail("{x} is None", f"{where} has no gradient", at=f"{t}._grad", about=("floating", gradient.number))
                self._tensor(gradient, f"{where}.grad", None, f"{t}._grad")

    def _fixed(self, known: Known, t: str, where: str) -> None:
        """A tensor of which only what the user can exchange must be looked at: its memory and its place on the tape."""
        tensor = known.tensor
        memory, at = known.layout
        storage = tensor._storage  # as the call left it: the first write into a tensor gives it one
        text = f"{where} has another memory, shape, dtype, device or strides"
        if storage is None:
            self._fail(f"{t}._storage is not None or {t}._value.aval is not {self._name(memory)}", text)
        else:
            s = self._name(storage)
            self._fail(f"{t}._storage is not {s} or {t}._geometry is not {self._name(tensor._geometry)}", text)
            self._fail(f"{s}.value.aval is not {self._name(memory)}", text, about=("memory", id(storage)))
        text = f"requires_grad of {where} changed"
        if known.edge == "none":
            self._fail(f"{t}._edge is not None", text)
        elif known.edge == "leaf":
            edge, node = self._name(known.where_on_tape), self._name(known.where_on_tape[0])  # type: ignore[index]
            self._fail(f"{t}._edge is not {edge} or {node}.hooks is not None or {node}.post_accumulate", text)
        else:
            self._fail(f"kind_of_edge({t}) != {known.edge!r}", text)

    def _aliases(self) -> None:
        """Tensors that stand in others' places share memory with each other, and with the fixed ones, as these did."""
        floating = [k for k in self._watch.known.values() if not k.is_fixed and k.number in self.found]
        fixed = {id(k.tensor._storage or k.tensor) for k in self._watch.known.values() if k.is_fixed and k.number in self.found}
        groups: dict[int, list[Known]] = {}
        for known in floating:
            groups.setdefault(id(known.storage or known.tensor), []).append(known)
        free = []
        for key, members in groups.items():
            first = f"t{members[0].number}"
            for other in members[1:]:
                self._fail(f"(t{other.number}._storage or t{other.number}) is not ({first}._storage or {first})", f"{other.where} and {members[0].where} share no memory")
            if key in fixed:
                holder = next(k for k in self._watch.known.values() if k.is_fixed and id(k.tensor._storage or k.tensor) == key)
                self._fail(f"({first}._storage or {first}) is not (t{holder.number}._storage or t{holder.number})", f"{members[0].where} and {holder.where} share no memory")
            else:
                free.append(first)
        self.free = tuple(free), self._name(frozenset(fixed)) if fixed else ""
        if free:
            self._fail(self.apart(self.free[0]).replace("{", "{{").replace("}", "}}"), "tensors share memory that shared none", about=("free",))

    def apart(self, tensors: Sequence[str]) -> str:
        """The condition that some of the tensors that share no memory share some with each other, or with fixed ones."""
        keys = ", ".join([f"id({t}._storage or {t})" for t in tensors])
        fixed = self.free[1]
        return f"len(keys := {{{keys}}}) != {len(tensors)}" + (f" or not keys.isdisjoint({fixed})" if fixed else "")
