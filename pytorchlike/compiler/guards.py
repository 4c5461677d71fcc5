"""From notes to a check: one generated Python function that finds the known tensors again and tells what is not as it was."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..core import state as core_state
from ..core.state import thread
from ..nn.modules import calls
from ..tensors.tensor import Tensor
from .known import Known, gradient_of, kind_of_edge, layout_of
from .watch import CONTAINERS, LARGEST_CONTAINER, MISSING, Note, Watch, is_simple

__all__ = ["Guards", "ambient"]


def ambient() -> tuple:
    """What a call depends on that is no object of the user's: the modes of this thread and of the process."""
    state = thread.state
    autocast = None if state.autocast is None else tuple(state.autocast.items())
    hooks = (len(calls._global_forward_hooks), len(calls._global_forward_pre_hooks), len(calls._global_backward_hooks), len(calls._global_backward_pre_hooks))
    return (
        state.grad_enabled, state.inference, state.immediate, len(state.modes), autocast, state.device, state.anomaly, len(state.saved_tensor_hooks),
        core_state.default_dtype(), hooks,
    )  # fmt: skip


def _is_equal(new: Any, old: Any) -> bool:
    """Whether a simple value is what it was: the same type, and equal (NaN equals NaN)."""
    if type(new) is not type(old):
        return False
    if isinstance(old, tuple):
        return len(new) == len(old) and all(map(_is_equal, new, old))
    if isinstance(old, float):
        return new == old and math.copysign(1, new) == math.copysign(1, old) or new != new and old != old
    return bool(new == old)


def _is_alike(new: Any, old: Any) -> bool:
    """Whether a number that each replay reads anew may take the place of another: the same type, and zero where it was zero."""
    if type(new) is tuple and type(old) is tuple:
        return len(new) == len(old) and all(map(_is_alike, new, old))
    return type(new) is type(old) and bool(new) == bool(old)


class Guards:
    """The check of one captured call.

    Args:
        watch: what was noted.
        arguments: the flat arguments of the call.
        structure: their structure.
        fresh: (id of the dictionary, key) of the numbers that each replay reads anew.
        relevant: the known tensors whose gradient matters.
        followed: the numbers of the arguments that may be other floats.

    Attributes:
        found: the numbers of the known tensors that the check finds again.
        reasons: number of a check -> what differs when it fails.
        floats: number of a check -> the number of the argument, a float, whose value it compares.
        check: function of the structure and the flat arguments -> the list of the known tensors and then the followed floats, or the number of the check that failed.
    """

    def __init__(self, watch: Watch, arguments: Sequence[Any], structure: Any, fresh: set[tuple[int, Any]], relevant: set[int], ambience: tuple,
                 followed: Sequence[int] = ()) -> None:  # fmt: skip
        self.reasons: list[str] = []
        self.places: list[tuple | None] = []
        self._names: dict[str, Any] = {
            "MISSING": MISSING, "gradient_of": gradient_of, "kind_of_edge": kind_of_edge, "layout_of": layout_of,
            "is_equal": _is_equal, "is_alike": _is_alike, "ambient": ambient, "ambience": ambience, "structure": structure,
        }  # fmt: skip
        self._lines: list[str] = ["    if given != structure:", f"        return {self._reason('the structure of the arguments')}"]
        self._lines += ["    if ambient() != ambience:", f"        return {self._reason('a mode (gradients, autocast, default dtype, hooks ...)')}"]
        self._watch, self._fresh, self._relevant = watch, fresh, relevant
        self.found: set[int] = set()
        self.floats: dict[int, int] = {}
        for k, value in enumerate(arguments):
            self._lines.append(f"    x = args[{k}]")
            if k in followed:
                self._fail("x.__class__ is not float", f"argument {k} changed its type")
                continue
            if type(value) is float:
                self.floats[len(self.reasons)] = k
            self._value(value, f"argument {k}", None)
        for note in watch.notes.values():
            self._place(note)
        self._aliases()
        found = [f"t{k}" if k in self.found else "None" for k in range(len(watch.known))]
        self._lines.append(f"    return [{', '.join([*found, *[f'args[{k}]' for k in followed]])}]")
        source = "def check(given, args):\n" + "\n".join(self._lines) + "\n"
        exec(compile(source, "<pytorchlike guards>", "exec"), self._names)
        self.check: Callable[[Any, Sequence[Any]], Any] = self._names["check"]

    def __len__(self) -> int:
        return len(self.reasons)

    def _reason(self, text: str, place: tuple | None = None) -> int:
        self.reasons.append(text)
        self.places.append(place)
        return len(self.reasons) - 1

    def _name(self, value: Any) -> str:
        """A name in the generated function for a value."""
        name = f"v{len(self._names)}"
        self._names[name] = value
        return name

    def _fail(self, condition: str, text: str, place: tuple | None = None) -> None:
        self._lines.append(f"    if {condition}:")
        self._lines.append(f"        return {self._reason(text, place)}")

    # -------------------------------------------------------------------------------------------------------------- places
    def _place(self, note: Note) -> None:
        container = note.container
        if note.kind == "cell":
            self._lines.append(f"    x = {self._name(container)}.cell_contents")
        elif note.kind == "attribute":
            self._lines.append(f"    x = getattr({self._name(container)}, {note.key!r}, MISSING)")
        elif isinstance(container, (list, tuple, deque)):
            self._lines.append(f"    x = {self._name(container)}[{note.key}]")
        else:
            key = repr(note.key) if isinstance(note.key, (str, int)) else self._name(note.key)
            self._lines.append(f"    x = {self._name(container.get)}({key}, MISSING)")
        place = (note.kind, id(container), note.key)
        if (id(container), note.key) in self._fresh:
            self._fail(f"not is_alike(x, {self._name(note.value)})", f"{note.where} changed its type or became zero")
        else:
            self._value(note.value, note.where, place)

    def _value(self, value: Any, where: str, place: tuple | None) -> None:
        if isinstance(value, Tensor):
            self._tensor(self._watch.known[id(value)], where, place)
        elif is_simple(value):
            name = self._name(value)
            self._fail(f"x is not {name} and not is_equal(x, {name})", f"{where} was {value!r}")
        else:
            name = self._name(value)
            self._fail(f"x is not {name}", f"{where} is another object")
            if isinstance(value, CONTAINERS) and not isinstance(value, tuple):
                self._fail(f"len({name}) != {self._length(value)}", f"{where} has another length")
                if isinstance(value, (set, frozenset)) and len(value) <= LARGEST_CONTAINER:
                    self._fail(f"{name} != {self._name(set(value))}", f"{where} has other members")

    def _length(self, container: Any) -> int:
        before = self._watch.containers[id(container)][1]
        return len(container) if before is None else len(before)

    # ------------------------------------------------------------------------------------------------------------- tensors
    def _tensor(self, known: Known, where: str, place: tuple | None) -> None:
        t = f"t{known.number}"
        if known.number in self.found:
            self._fail(f"x is not {t}", f"{where} is another tensor than {known.where}", place)
            return
        self.found.add(known.number)
        tensor = known.tensor
        if known.is_fixed:
            self._lines.append(f"    {t} = {self._name(tensor)}")
            self._fail(f"x is not {t}", f"{where} is another tensor", place)
            self._fixed(known, t, where)
        else:
            self._lines.append(f"    {t} = x")
            differs = f"layout_of(x) != {self._name(known.layout)}"
            if known.layout[1] is None:  # most tensors have no storage of their own: the look at them is written out
                differs = f"(x._storage is not None or x._value.aval is not {self._name(known.layout[0])}) and {differs}"
            self._fail(f"x.__class__ is not {self._name(type(tensor))} or {differs}", f"{where} has another shape, dtype, device or strides")
            quick = "(x._storage is not None or x._edge is not None) and " if known.edge == "none" else ""
            self._fail(f"{quick}kind_of_edge(x) != {known.edge!r}", f"requires_grad of {where} changed")
        if known.number in self._relevant:
            if known.gradient is None:
                self._fail(f"gradient_of({t}) is not None", f"{where} has a gradient")
            else:
                self._lines.append(f"    x = gradient_of({t})")
                self._fail("x is None", f"{where} has no gradient")
                self._tensor(self._watch.known[id(known.gradient)], f"{where}.grad", None)

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
            self._fail(f"{t}._storage is not {s} or {t}._geometry is not {self._name(tensor._geometry)} or {s}.value.aval is not {self._name(memory)}", text)
        text = f"requires_grad of {where} changed"
        if known.edge == "none":
            self._fail(f"{t}._edge is not None", text)
        elif known.edge == "leaf":
            edge = self._name(known.where_on_tape)
            self._fail(f"{t}._edge is not {edge} or {edge}[0].hooks is not None or {edge}[0].post_accumulate", text)
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
        if not free:
            return
        keys = ", ".join([f"id({t}._storage or {t})" for t in free])
        self._lines.append(f"    keys = {{{keys}}}")
        text = "tensors share memory that shared none"
        self._fail(f"len(keys) != {len(free)} or not keys.isdisjoint({self._name(frozenset(fixed))})" if fixed else f"len(keys) != {len(free)}", text)
