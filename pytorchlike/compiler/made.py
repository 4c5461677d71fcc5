"""What one replay makes and writes: values, nodes of the tape, storages, tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..graph.value import Value, constant
from ..tensors.storage import Storage
from ..tensors.tape import FREED, CustomNode, Node, accumulator, new_node, next_number
from ..tensors.tensor import make_storage, new_tensor
from .known import memory_of
from .structure import unflatten

if TYPE_CHECKING:
    from .replay import Replay

__all__ = ["FreedNode", "Made", "write"]


class FreedNode(CustomNode):
    """Stands for the node of a user's `autograd.Function` that a backward pass has been through: another one through it is an error.

    Attributes:
        avals: of the function's outputs; None for those that are no tensors.
    """

    avals: tuple[Any, ...] = ()

    @classmethod
    def like(cls, node: Any) -> type[FreedNode]:
        """The class of such a node's stand-ins; it is in a plan where others have a `Backward`."""
        return type(node.name(), (cls,), {"avals": tuple(node._output_avals)})

    def output_count(self) -> int:
        return len(self.avals)

    def output_aval(self, number: int) -> Any:
        return self.avals[number]

    def run(self, grads: list[Any], create_graph: bool, keep: bool) -> list[Any]:
        """Refuse.

        Raises:
            RuntimeError: always, torch's text.
        """
        raise RuntimeError(FREED)


class Made:
    """What one replay makes."""

    __slots__ = ("replay", "known", "results", "drawn", "nodes", "storages", "tensors")

    def __init__(self, replay: Replay, known: list[Any], results: list[Value], drawn: dict[int, Value]) -> None:
        self.replay, self.known, self.results, self.drawn = replay, known, results, drawn
        self.nodes: list[Node] = []
        if replay._node_plans:
            self._make_nodes()
        self.storages = [Storage(self.value(reference)) for reference in replay._storage_plans]
        self.tensors: list[Any] = []
        for plan in replay.tensor_plans:
            self.tensors.append(self.new_tensor(plan))

    def value(self, reference: tuple) -> Value:
        kind, what = reference
        if kind == "result":
            return self.results[what]
        if kind == "memory":
            return memory_of(self.known[what])
        if kind == "content":
            return self.known[what]._content()
        return self.drawn[what] if kind == "draw" else constant(what.array, what.aval)

    def _make_nodes(self) -> None:
        for backward, edges, saved, scalars in self.replay._node_plans:
            is_freed = isinstance(backward, type)
            node: Node = new_node(backward if is_freed else backward.node_class)
            if not is_freed:
                node.backward = backward
            node.edges = tuple([None if e is None else self.edge(e, None) for e in edges])
            node.saved = None if saved is None else tuple([self.value(reference) for reference in saved])
            node.scalars = None if scalars is None else scalars[0] if not scalars[1] else self._scalars(*scalars)
            node.number = next_number()
            node.hooks = None
            self.nodes.append(node)

    def _scalars(self, scalars: tuple, plans: list[tuple]) -> tuple:
        floats = list(scalars[0])
        for index, formula in plans:
            floats[index] = formula.of(self.known)
        return tuple(floats), scalars[1]

    def edge(self, plan: Any, tensor: Any) -> Any:
        if plan is None:
            return None
        if plan[0] == "node":
            return self.nodes[plan[1]], plan[2]
        return accumulator(tensor) if plan[0] == "leaf" else self.known[plan[1]]._current_edge()

    def object(self, plan: tuple) -> Any:
        kind, what = plan[0], plan[1]
        if kind == "tensor":
            return self.tensors[what]
        if kind == "known":
            return self.known[what]
        if kind == "items":
            return [self.object(each) for each in what]
        if kind == "number":
            return what.of(self.known)
        return what if kind == "same" else unflatten(what, iter([self.object(each) for each in plan[2]]))

    def new_tensor(self, plan: tuple) -> Any:
        made: Any
        if plan[0] == "plain":
            _, reference, edge, cls = plan
            made = new_tensor(cls)
            made._value = self.value(reference)
            made._storage = None
            made._edge = None if edge is None else self.edge(edge, made)
            return made
        _, place, at, base, flags, edge, cls = plan
        storage = self.storages[place[1]] if place[0] == "stored" else make_storage(self.known[place[1]])
        made = new_tensor(cls)
        made._storage = storage
        made._geometry = at
        made._base_tensor = None if base is None else self.object(base)
        made._flags = flags
        made._seen = -1 - storage.version
        made._edge = self.edge(edge, made)
        return made


def write(storage: Storage, value: Value, versions: int, tracked: int) -> None:
    """Give a storage the content that the captured call gave it, by so many changes."""
    if storage.host is not None:
        storage.replace(value)
        return
    storage.version += versions
    changes = storage.changes
    changes.tracked += tracked
    storage.value = value
    value.origin = (changes, changes.tracked)
