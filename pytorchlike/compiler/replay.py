"""Replaying a captured call: one instruction is recorded, and what the call wrote is written again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.function import BackwardCFunction
from ..core.layouts import strided
from ..core.state import thread
from ..graph import counters, recorder, tiers
from ..graph.value import Value, constant
from ..tensors.restricted import INFERENCE
from ..tensors.tape import AccumulateGrad, Edge, Node, PackedValue
from ..tensors.tensor import Tensor, make_storage, make_tensor
from .backends import compile_with, graph_of
from .capture import Capture
from .captured import Captured, captured
from .code_kinds import may_subscript
from .effects import differences, is_same
from .following import Formula
from .guards import Guards
from .known import Known, attributes_of, gradient_of, layout_of, memory_of
from .leaks import Unreplayable, forget_reading, refuse_held, refuse_leaks
from .made import FreedNode, Made, write
from .packing import Packing, packing_of
from .steady import steady
from .structure import flatten_until, unflatten
from .values import CONTAINERS, MISSING, is_simple
from .watch import Watch

__all__ = ["Replay", "Unreplayable"]


class Replay:
    """A captured call, ready to be replayed.

    Args:
        name, owner: the compiled function's name and number.
        capture, watch: what was noted of the call.
        arguments, structure: the flat arguments and their structure.
        result: what the call returned.
        ambience: `guards.ambient` before the call.
        given: the lists and dictionaries among the arguments, each with a copy of what it held.

    Attributes:
        shapes: of the tensors among the arguments.
        takes_containers: a replay needs the lists and dictionaries among the arguments, behind all else that it is given.

    Raises:
        Unreplayable: with the reason.
    """

    def __init__(self, name: str, owner: int, capture: Capture, watch: Watch, arguments: Sequence[Any], structure: Any, result: Any,
                 ambience: tuple, given: Sequence[tuple[Any, Any]] = ()) -> None:  # fmt: skip
        self._watch = watch
        self._formula = watch.following.formulas(len(watch.known))
        self._capture = capture
        self._known = list(watch.known.values())
        self._trace = capture.trace
        self._slots: dict[int, int] = {}  # slots that something needs -> number of the instruction's result
        self._nodes: dict[Node, int] = {}
        self._node_plans: list[tuple] = []
        self._stored: dict[int, int] = {}
        self._storage_plans: list[tuple] = []
        self._tensors: dict[int, int] = {}  # id of a new tensor -> number of its plan
        self.tensor_plans: list[tuple] = []
        self._needed: set[int] = set()
        self._on_tape: dict[Edge, Known] = {}
        for known in self._known:
            if known.where_on_tape is not None:
                self._on_tape.setdefault(known.where_on_tape, known)
        for known in self._known:
            if layout_of(known.tensor) != known.layout:
                raise Unreplayable(f"{known.where} was given another shape or strides")
            if attributes_of(known.tensor) != known.attributes:
                raise Unreplayable(f"attributes of {known.where} were changed")
        self.actions, self._draws = capture.actions, capture.draws
        fresh = self._fresh()
        self._inputs = self._input_values()
        self.memory_plans = [plan for known in self._known for plan in self._memory_plan(known)]
        self.gradient_plans = [plan for known in self._known for plan in self._gradient_plan(known)]
        first = len(self._known) + len(watch.following.numbers)
        self._given = {id(container): first + n for n, (container, _) in enumerate(given)}
        if len(self._given) < len(given) or not self._given.keys().isdisjoint(watch.containers):
            raise Unreplayable("a list or dictionary is given twice, or found outside as well")
        self._new: dict[int, Any] = {}  # the lists and dictionaries that the call made and left somewhere
        self.takes_containers = False
        self.write_plans: list[tuple[Any, Any, Any]] = [
            (container, key, value if value is MISSING else self._describe(value, where)) for container, key, value, where in self._changes(fresh)
        ]
        self.write_plans += [
            (number.holder, number.name, ("number", self._formula(number.now.source))) for number in watch.following.written.values() if number.now
        ]
        leaves: list[Any] = []
        self.structure = flatten_until(result, leaves, self._is_found)
        self.result_plans = [self._describe(leaf, "the result") for leaf in leaves]
        self.write_plans += self._written_arguments(given)
        del leaves, result
        if not self._slots:
            self._keep_checks()
        slots = tuple(sorted(self._slots))
        self.instruction: Captured = captured(name, self._trace.position, slots, owner)
        order = {slot: k for k, slot in enumerate(slots)}
        self.order = [order[slot] for slot in self._slots]  # number of a result as the plans count -> as the instruction does
        self.input_plans = [self._outside(self._trace.values[slot]) for slot in self.instruction.inputs]
        refuse_held([value for kind, value in self.input_plans if kind == "constant"])
        self.floats, self.ints = tuple(self._trace.floats), tuple(self._trace.ints)
        self.number_plans = self._numbers(self.floats)
        self.int_plans = [(at, self._formula(expression.source)) for at, expression in watch.following.int_uses]
        self.has_boundary = capture.has_boundary
        relevant = self._relevant()
        self.guards = Guards(watch, arguments, structure, fresh, relevant, ambience)
        if not self._needed <= self.guards.found:
            raise Unreplayable("a tensor is used that is not found again")
        self.runs = 0
        self.shapes: tuple = ()
        del self._watch, self._inputs, self._formula, self._draws, self._given, self._new

    def _keep_checks(self) -> None:
        """A call without results may check data all the same: a program has results, so that of a check is one."""
        checking = next((s for s in self._trace.position.path() if s.instruction is not None and s.instruction.data_checks), None)
        if checking is not None:
            self._slots[checking.slot] = 0

    def _fresh(self) -> set[tuple[int, Any]]:
        """(id of the dictionary, key) of the numbers of optimizers that each replay reads anew: not those that the call itself reads or writes."""
        fresh = {(id(action[2]), action[3]) for action in self.actions if action[0] == "float"}
        written = self._capture.own | fresh & {(id(container), key) for container, key, *_ in self._watch.changes()}
        own = written | {(container, key) for container, key in fresh if any(may_subscript(code, key) for code in self._watch.entered)}
        if own:
            if written and any(action[0] == "host" for action in self.actions):
                raise Unreplayable("numbers of an optimizer are written beside a scheduler's step")
            kept = [n for n, action in enumerate(self.actions) if action[0] != "float" or (id(action[2]), action[3]) not in own]
            self.actions = [self.actions[n] for n in kept]
            self._draws = {value: kept.index(n) for value, n in self._draws.items()}
        return fresh - own

    # ------------------------------------------------------------------------------------------------------------- inputs
    def _input_values(self) -> dict[Value, tuple]:
        """Value from outside -> how a replay gets it."""
        found: dict[Value, tuple] = {}
        for known in self._known:
            if known.content is not None:
                found[known.content] = ("content", known.number)
        for known in self._known:
            found[known.memory] = ("memory", known.number)
        found.update({value: ("draw", number) for value, number in self._draws.items()})
        return found

    def _reference(self, value: Value) -> tuple:
        """How a replay gets a value: a result of the instruction, something from outside, or a constant that the call made."""
        if value.trace is self._trace:
            return "result", self._slots.setdefault(value.slot, len(self._slots))
        return self._outside(value)

    def _outside(self, value: Value) -> tuple:
        found = self._inputs.get(value)
        if found is not None:
            if found[0] != "draw":
                self._needed.add(found[1])
            return found
        if value.trace is not None:
            raise Unreplayable("a tensor of another thread is used")
        origin = value.origin
        if origin is not None and any(known.storage is not None and origin[0] is known.storage.changes for known in self._known):
            raise Unreplayable("a tensor is used at an earlier version")
        return "constant", value

    # ------------------------------------------------------------------------------------------------------- what it wrote
    def _memory_plan(self, known: Known) -> list[tuple]:
        tensor = known.tensor
        storage = tensor._storage
        edge_moved = tensor._edge is not known.where_on_tape
        if storage is None:
            if tensor._value is not known.memory:
                raise Unreplayable(f"{known.where} was given other data")
            changed = False
        elif known.storage is not None and storage is not known.storage or known.storage is None and storage.version == 0:
            if storage.value is known.memory or known.storage is None and storage.version == 0 and storage.value.trace is None:
                changed = False
            else:
                raise Unreplayable(f"{known.where} was given other data")
        else:
            changed = storage.version != known.version
            if changed and any(other.storage is storage and other.number < known.number for other in self._known):
                changed = False  # an alias that was found before writes it
        if not changed and not edge_moved:
            return []
        self._needed.add(known.number)
        edge = self._edge(tensor._edge, tensor) if edge_moved else MISSING
        if not changed:
            return [(known.number, None, 0, 0, edge)]
        assert storage is not None
        return [(known.number, self._reference(storage.value), storage.version - known.version, storage.changes.tracked - known.tracked, edge)]

    def _gradient_plan(self, known: Known) -> list[tuple]:
        after = gradient_of(known.tensor)
        if after is known.gradient:
            return []
        self._needed.add(known.number)
        return [(known.number, None if after is None else self._describe(after, f"{known.where}.grad"))]

    def _relevant(self) -> set[int]:
        """The known tensors whose gradient the call read or changed."""
        changed = {number for number, *_ in self.gradient_plans}
        used = self._needed | {number for number, *_ in self.memory_plans}
        return {
            known.number
            for known in self._known
            if known.number in changed or id(known.tensor) in self._watch.asked or known.gradient is not None and self._watch.known[id(known.gradient)].number in used
        }

    def _changes(self, fresh: set[tuple[int, Any]]) -> list[tuple]:
        found = []
        for container, key, value, where in self._watch.changes():
            if container is None:
                raise Unreplayable(f"{where} was changed")
            if (id(container), key) not in fresh and ("item", id(container), key) not in self._watch.following.written:
                found.append((container, key, value, where))
        return found

    def _written_arguments(self, given: Sequence[tuple[Any, Any]]) -> list[tuple[int, Any, Any]]:
        """What the call wrote into lists and dictionaries that it was given."""
        found: list[tuple[int, Any, Any]] = []
        for container, before in given:
            number = self._given[id(container)]
            if isinstance(container, dict):
                for _, key, value, where in differences(container, before, "a dictionary among the arguments"):
                    found.append((number, key, value if value is MISSING else self._describe(value, where)))
            elif not is_same(container, before):
                where = "a list among the arguments"
                found.append((number, slice(None), ("items", [self._describe(value, where) for value in container])))
        self.takes_containers |= bool(found)
        return found

    # ------------------------------------------------------------------------------------------------------------- results
    def _is_found(self, container: Any) -> bool:
        """Whether a list or dictionary is one that a replay finds; one that the call made can be made again in one place."""
        if id(container) in self._given or id(container) in self._watch.containers:
            return True
        if id(container) in self._new:
            raise Unreplayable("a new list or dictionary is left in two places")
        self._new[id(container)] = container
        return False

    def _describe(self, value: Any, where: str) -> tuple:
        """How a replay makes a result again."""
        if isinstance(value, Tensor):
            return self._tensor(value, where)
        if id(value) in self._given:
            self.takes_containers = True
            return "known", self._given[id(value)]
        if is_simple(value) or id(value) in self._watch.outside or id(value) in self._watch.containers:
            return "same", value
        if isinstance(value, CONTAINERS) and type(value) in (list, tuple, dict):
            leaves: list[Any] = []
            structure = flatten_until(value, leaves, self._is_found)
            return "container", structure, [self._describe(leaf, where) for leaf in leaves]
        if isinstance(value, (type, type(unflatten), type(len))):
            return "same", value
        raise Unreplayable(f"{where} holds a new {type(value).__name__}")

    def _tensor(self, tensor: Tensor, where: str) -> tuple:
        known = self._watch.known.get(id(tensor))
        if known is not None:
            self._needed.add(known.number)
            return "known", known.number
        number = self._tensors.get(id(tensor))
        if number is None:
            plan = self._new_tensor(tensor, where)
            number = self._tensors[id(tensor)] = len(self.tensor_plans)
            self.tensor_plans.append(plan)
        return "tensor", number

    def _new_tensor(self, tensor: Tensor, where: str) -> tuple:
        if tensor.is_sparse or tensor.is_quantized or tensor.layout is not strided:
            raise Unreplayable(f"{where} is a tensor of another layout than strided")
        if tensor.__dict__:
            raise Unreplayable(f"{where} is a tensor with attributes of its own")
        storage = tensor._storage
        if storage is not None and storage.host is not None:
            raise Unreplayable(f"{where} is a new tensor that shares its memory with something outside")
        edge = self._edge(tensor._edge, tensor)
        cls = type(tensor)
        gradient = gradient_of(tensor)
        if gradient is not None:
            raise Unreplayable(f"{where} is a new tensor with a gradient")
        if tensor.is_inference() != thread.state.inference and (storage is None or not tensor._flags & INFERENCE):
            raise Unreplayable(f"{where} was made in another inference mode than that of the call")
        if storage is None:
            return "plain", self._reference(tensor._value), edge, cls
        base = tensor._base_tensor
        flags = tensor._flags
        holder = next((k for k in self._known if k.tensor._storage is storage), None)
        if holder is None and base is None and tensor._geometry is storage.base and sys.getrefcount(storage) <= _OF_ONE_TENSOR:
            return "plain", self._reference(storage.value), edge, cls
        if holder is None:
            number = self._stored.get(id(storage))
            if number is None:
                number = self._stored[id(storage)] = len(self._storage_plans)
                self._storage_plans.append(self._reference(storage.value))
            place: tuple = ("stored", number)
        else:
            self._needed.add(holder.number)
            place = ("known", holder.number)
        return "window", place, tensor._geometry, None if base is None else self._tensor(base, where), flags, edge, cls

    def _edge(self, edge: Any, tensor: Tensor | None) -> Any:
        """How a replay finds a place on the tape: None, a known tensor's, a new leaf's, or a result of a node it makes."""
        if edge is None:
            return None
        known = self._on_tape.get(edge)
        if known is not None:
            self._needed.add(known.number)
            return "known", known.number
        node, number = edge
        if type(node) is AccumulateGrad:
            if tensor is not None and node.leaf() is tensor:
                return ("leaf",)
            raise Unreplayable("the tape leads to a tensor that is not found again")
        return "node", self._node(node), number

    def _node(self, top: Node) -> int:
        """The number of the plan of a node; the nodes it leads to are planned first (no recursion: graphs are deep)."""
        stack = [top]
        while stack:
            node = stack[-1]
            if node in self._nodes:
                stack.pop()
                continue
            if type(node).__base__ is BackwardCFunction and node.saved is None and node.number >= self._capture.first_node:
                self._nodes[node] = len(self._node_plans)
                self._node_plans.append((FreedNode.like(node), (), None, None))
                continue
            if node.number < self._capture.first_node or node.hooks is not None or node.__dict__ or type(node).__base__ is not Node:
                raise Unreplayable(f"{node.name()} is part of the result's graph and cannot be made again")
            is_freed = node.saved is None
            edges = () if is_freed else node.edges
            missing = [e[0] for e in edges if e is not None and e not in self._on_tape and type(e[0]) is not AccumulateGrad and e[0] not in self._nodes]
            if missing:
                stack += missing
                continue
            planned = tuple([None if e is None else self._edge(e, None) for e in edges])
            if any(type(value) is PackedValue for value in node.saved or ()):
                raise Unreplayable("hooks on saved tensors")
            saved = None if node.saved is None else tuple([self._reference(value) for value in node.saved])
            self._nodes[node] = len(self._node_plans)
            scalars: Any = node.scalars
            if scalars is not None:
                scalars = scalars, self._numbers(scalars[0])
            self._node_plans.append((node.backward, planned, saved, scalars))
            stack.pop()
        return self._nodes[top]

    def _numbers(self, floats: Sequence[float]) -> list[tuple[int, Formula]]:
        """Which of some recorded floats are followed: where they are, and what they are computed of."""
        uses = {id(value): expression for value, expression in self._watch.following.uses}
        return [(at, self._formula(f"float({uses[id(value)].source})")) for at, value in enumerate(floats) if id(value) in uses] if uses else []

    # ------------------------------------------------------------------------------------------------- the first run's end
    def take_over(self, backend: Callable[..., Any] | None = None) -> None:
        """Let the values of the captured call come from the instruction, so that the call itself already runs the program of its replays.

        Args:
            backend: runs in the instruction's place, if given.
        """
        old, state = self._trace, thread.state
        for known in self._known:
            forget_reading(known.tensor, old)
        refuse_leaks(old, self._slots)
        values = [old.values[slot] for slot in self.instruction.inputs]
        self.backend: Callable[..., Any] | None = None
        self.varying = sorted({action[1] for action in self.actions if action[0] == "float"} | {at for at, _ in self.number_plans})
        if backend is not None:
            self._compile_with(backend, values, old)
        new = state.trace = recorder.Trace()
        self.site = next(iter(old.sites.values()), None)
        slots = tuple([new.slot_of(value) for value in values])
        found = new.position.next.get((self.instruction, *slots)) or new.extend(self.instruction, slots)
        assert found is not None
        new.position = found
        new.floats, new.ints = list(old.floats), list(old.ints)
        if self.instruction.data_checks:
            new.sites[found.slot] = self.site
        for k, slot in enumerate(self.instruction.results):
            value = old.values[slot]
            if self.backend is None:
                value.trace, value.slot = new, found.slot + k
            new.values.append(value)
        written = {number for number, reference, *_ in self.memory_plans if reference is not None}
        self.replaced = [
            k for k, (kind, what) in enumerate(self.input_plans) if kind == "memory" and what in written and values[k].aval.numel >= recorder.SMALLEST_DONATION
        ]
        self.position = found
        # Inputs that were one value need not be one at each replay: then the recorder looks for the program.
        self.is_alone = self.may_pack = self.backend is None and self.has_boundary and not self.takes_containers and slots == tuple(range(len(slots)))
        self.may_pack = self.may_pack and not self.int_plans
        self.packing: Packing | None = None
        self.unpacked = 0  # how often it did not apply
        self.steady: Callable[[tuple, dict[str, Any]], Any] | None = None
        self.unsteady = 0
        self._look_up_storages()
        old.values.clear()
        old.inputs.clear()
        self.input_plans = [_own(plan) for plan in self.input_plans]
        self._node_plans = [
            (backward, edges, None if saved is None else tuple([_own(s) for s in saved]), scalars) for backward, edges, saved, scalars in self._node_plans
        ]
        del self._trace, self._capture, self._known, self._nodes, self._on_tape

    def _compile_with(self, backend: Callable[..., Any], values: list[Value], old: Any) -> None:
        """Have a backend compile the call, and the values of this call come from what it made."""
        names = [self._known[what].where if kind in ("memory", "content") else kind for kind, what in self.input_plans]
        graph = graph_of(self.instruction, names, self.floats, self.ints, self.varying)
        numbers = [self.floats[at] for at in self.varying]
        thread.state.trace = recorder.Trace()
        self.backend = compile_with(backend, graph, [*[make_tensor(value) for value in values], *numbers], {})
        for slot, made in zip(self.instruction.results, self.backend(values, numbers), strict=True):
            old.values[slot].array, old.values[slot].trace = recorder.materialise(made, "compile"), None

    def _look_up_storages(self) -> None:
        """The guards hold the storages of fixed tensors, so they need not be asked for at each replay."""
        storages = {k.number: k.tensor._storage for k in self._known if k.is_fixed and k.tensor._storage is not None}
        self.input_plans = [
            ("storage", storages[what]) if kind == "memory" and what in storages else (kind, what) for kind, what in self.input_plans
        ]
        self.storage_writes = []
        rest = []
        for plan in self.memory_plans:
            number, reference, versions, tracked, edge = plan
            if number in storages and reference is not None and reference[0] == "result" and edge is MISSING:
                self.storage_writes.append((storages[number], self.order[reference[1]], versions, tracked))
            else:
                rest.append(plan)
        self.memory_plans = rest

    # -------------------------------------------------------------------------------------------------------------- replay
    def __call__(self, known: list[Any]) -> Any:
        """Do it again, with these tensors in the place of the known ones."""
        self.runs += 1
        if self.may_pack and self._is_hot():
            self.may_pack, self.packing = False, packing_of(self)
        floats: Any = self.floats
        drawn: dict[int, Value] = {}
        if self.actions or self.number_plans:
            changed = list(floats)
            for index, formula in self.number_plans:
                changed[index] = formula.of(known)
            for number, action in enumerate(self.actions):
                kind = action[0]
                if kind == "float":
                    _, index, container, key, part = action
                    changed[index] = float(container[key] if part is None else container[key][part])
                elif kind == "draw":
                    drawn[number] = action[1]()._value
                else:
                    action[1](*action[2])
            floats = tuple(changed)
        if self.packing is not None and not counters.watchers:
            result = self.packing.run(known, drawn, floats)
            if result is not MISSING:
                self._settle()
                return result
            self.unpacked += 1
            if self.unpacked > _MOST_UNPACKED and 2 * self.unpacked > self.runs:
                self.packing = None
        ints = self.ints
        if self.int_plans:
            given = list(ints)
            for index, formula in self.int_plans:
                given[index] = formula.of(known)
            ints = tuple(given)
        results = self._launch(self._arguments(known, drawn), floats, ints)
        for storage, k, versions, tracked in self.storage_writes:
            write(storage, results[k], versions, tracked)
        return self.finish(known, results, drawn)

    def _settle(self) -> None:
        """A packed launch is over: from the next one on, `steady` does it as long as nobody holds anything of it."""
        if self.steady is not None:
            self.unsteady += 1
            if self.unsteady > _MOST_UNPACKED and 2 * self.unsteady > self.runs:
                self.steady = None
            else:
                self.steady.look_again()  # type: ignore[attr-defined]
        elif not self.unsteady:
            self.unsteady = 1
            self.steady = steady(self)

    def finish(self, known: list[Any], results: Sequence[Value], drawn: dict[int, Value]) -> Any:
        """Write what the call wrote, but for the storages of fixed tensors, and return what it returned."""
        made = Made(self, known, [results[k] for k in self.order], drawn)
        del results
        for number, reference, versions, tracked, edge in self.memory_plans:
            tensor = known[number]
            if reference is not None:
                storage = tensor._storage or make_storage(tensor)
                write(storage, made.value(reference), versions, tracked)
            if edge is not MISSING:
                tensor._edge = made.edge(edge, tensor)
        for number, plan in self.gradient_plans:
            known[number]._grad = None if plan is None else made.object(plan)
        for container, key, plan in self.write_plans:
            if container.__class__ is int:  # one of the arguments
                container = known[container]
            if plan is MISSING:
                container.pop(key, None)
            else:
                container[key] = made.object(plan)
        result = unflatten(self.structure, iter([made.object(plan) for plan in self.result_plans]))
        del made
        if self.has_boundary:
            recorder.step_boundary("compiled step")
        return result

    @property
    def is_simple(self) -> bool:
        """All that the call made, but for what it wrote into fixed tensors, are plain tensors off the tape."""
        plans = [plan for _, plan in self.gradient_plans if plan is not None] + self.result_plans
        return (
            not (self.takes_containers or self._node_plans or self._storage_plans or self.memory_plans or self.write_plans)
            and all(plan[0] == "plain" and plan[1][0] == "result" and plan[2] is None for plan in self.tensor_plans)
            and all(plan[0] in ("tensor", "known", "same") for plan in plans)
        )

    def _arguments(self, known: list[Any], drawn: dict[int, Value]) -> list[Value]:
        """The instruction's inputs."""
        arguments = []
        for kind, what in self.input_plans:
            if kind == "storage":
                if what.host is not None:
                    what.refresh()
                arguments.append(what.value)
            elif kind == "memory":
                arguments.append(memory_of(known[what]))
            elif kind == "content":
                arguments.append(known[what]._content())
            elif kind == "draw":
                arguments.append(drawn[what])
            else:
                arguments.append(what)
        return arguments

    def _is_hot(self) -> bool:
        """Whether the program runs so often that it is, or now would be, compiled fully."""
        parts = [program.parts[0] for program, _ in self.position.programs.values() if len(program.parts) == 1]
        for part in parts:
            part.is_packed_later = True
        return any(part.tier is tiers.FULL or tiers.is_due(part.tier, part.runs + 1, part.family, part.is_whole) for part in parts)

    def gradient_results(self) -> list[int]:
        """The numbers of the results that become gradients and nothing else."""
        plans = [self.tensor_plans[plan[1]] for _, plan in self.gradient_plans if plan is not None and plan[0] == "tensor"]
        return [self.order[plan[1][1]] for plan in plans if plan[0] == "plain" and plan[1][0] == "result"]

    def _launch(self, arguments: list[Value], floats: tuple[float, ...], ints: tuple[int, ...]) -> Sequence[Value]:
        """The results of the instruction.

        A call that ends with a natural boundary runs at once where nothing else is pending: its program is known, and so is that all of
        its results live.
        """
        if self.backend is not None:
            return self.backend(arguments, [floats[at] for at in self.varying])
        state = thread.state
        if self.is_alone and not state.trace.values and all(value.trace is None for value in arguments):
            return recorder.run_alone(self.position, arguments, self.replaced, floats, ints, self.site)
        return recorder.record(self.instruction, tuple(arguments), floats, ints)


def _own(reference: tuple) -> tuple:
    """A reference that holds no value of the captured call."""
    return ("constant", constant(reference[1].array, reference[1].aval)) if reference[0] == "constant" else reference


#: A replay whose packed launch did not apply more often than this, and most of the time, no longer tries.
_MOST_UNPACKED = 16

#: ``sys.getrefcount`` of a storage that one tensor has, and a local name.
_OF_ONE_TENSOR = 3
