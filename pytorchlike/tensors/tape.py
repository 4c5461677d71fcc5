"""The tape's data: nodes, edges and saved values.  What runs it is in ``autograd/``.

A differentiable tensor has an edge ``(node, k)``: it is the node's k-th result.  A leaf's edge leads to its `AccumulateGrad`.
A node holds values, never tensors, so the tape keeps alive only what the derivative needs.  Where hooks on saved tensors were active it
holds `PackedValue`s instead.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.handle import RemovableHandle, register
from ..core.state import thread
from ..graph.instruction import Instruction
from ..graph.value import Aval, Value
from . import inference

__all__ = [
    "FREED", "LEAF", "AccumulateGrad", "Backward", "CustomNode", "Edge", "GradientEdge", "InputMetadata", "Node", "NodeHooks", "PackedValue", "accumulator",
    "announce", "check_current", "connect", "move_retained", "next_number", "observe_new_nodes", "short_name", "unpack_saved", "unpack_value",
]  # fmt: skip

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
)

#: (node, number of its result)
Edge = tuple["Node", int]

#: Nodes are numbered as they are made; backward runs them from the highest number down, which is a topological order.
next_number = itertools.count().__next__


class Backward:
    """How an instruction is differentiated, for given input avals and given inputs that need a gradient; shared by its nodes.

    Attributes:
        name: torch's name of the node, ``AddBackward0``.
        saved_inputs, saved_outputs: which inputs and outputs the derivative reads.
        needed: for each input, whether its gradient is computed.
        inputs, outputs: avals of the instruction's inputs and outputs.
        build: function of the output gradients that are there (a tuple of bools) -> instruction over (saved inputs, saved outputs,
            gradients that are there, the instruction's floats and ints) that returns the needed gradients in order.
        is_single: the operator has one result; ``single`` is the instruction for its gradient, once it was asked for.
        described: for the derivative of an operator's call: (the call's instruction, the names that its rules ask for).
        pattern: where torch counts other edges than there are inputs: for each of its edges the input, or None; see `Node.spread`.
    """

    __slots__ = (
        "name", "node_class", "saved_inputs", "saved_outputs", "needed", "needed_positions", "inputs", "outputs", "build", "instructions", "pick",
        "is_single", "single", "described", "pattern",
    )  # fmt: skip

    def __init__(self, name: str, saved_inputs: Sequence[int], saved_outputs: Sequence[int], needed: Sequence[bool],
                 inputs: Sequence[Aval], outputs: Sequence[Aval], build: Callable[[tuple[bool, ...]], Instruction]) -> None:  # fmt: skip
        self.name = name
        self.node_class = _node_class(name.rpartition("::")[2])
        self.saved_inputs = tuple(saved_inputs)
        self.saved_outputs = tuple(saved_outputs)
        self.needed = tuple(needed)
        self.needed_positions = tuple(i for i, n in enumerate(needed) if n)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.build = build
        self.instructions: dict[tuple[bool, ...], Instruction] = {}
        self.pick = _picker(self.saved_inputs, self.saved_outputs)
        self.is_single: bool = len(outputs) == 1
        self.single: Instruction | None = None
        self.described: tuple[Any, frozenset[str]] | None = None
        self.pattern: tuple[int | None, ...] | None = None

    def instruction(self, present: tuple[bool, ...]) -> Instruction:
        """The instruction for the output gradients that are there."""
        found = self.instructions.get(present)
        if found is None:
            found = self.instructions[present] = self.build(present)
            if len(present) == 1:
                self.single = found
        return found


def _picker(inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Callable[[Sequence[Value], Sequence[Value]], tuple[Value, ...]]:
    """A function (inputs, outputs) -> what is saved; written out, since it runs for every recorded operator."""
    text = "".join([f"i[{k}]," for k in inputs] + [f"o[{k}]," for k in outputs])
    return eval(f"lambda i, o: ({text})")  # the text is made of our own indices


class NodeHooks:
    """The hooks of one node: on the gradients of its results (by number), on all of them before it runs, on its inputs after it ran.

    ``retain`` has those that keep a result's gradient: they see what the hooks on that result made of it.
    """

    __slots__ = ("tensor", "retain", "pre", "post")

    def __init__(self) -> None:
        self.tensor: dict[int, OrderedDict[int, Callable]] = {}
        self.retain: dict[int, Callable] = {}
        self.pre: OrderedDict[int, Callable] = OrderedDict()
        self.post: OrderedDict[int, Callable] = OrderedDict()


class Node:
    """One recorded operator on the tape.

    Attributes:
        backward: the shared description of its derivative.
        edges: for each input of the operator, where its gradient goes (None: nowhere).
        saved: the saved values (or `PackedValue`s); None once they were freed.
        scalars: the floats and ints the operator was called with.
        number: see `next_number`.
        hooks: None until somebody registers one.
        is_leaf: it stands for a tensor that nothing was computed for.
    """

    __slots__ = ("backward", "edges", "saved", "scalars", "number", "hooks", "__weakref__", "__dict__")
    __module__ = "torch.autograd.graph"
    backward: Backward
    edges: tuple[Edge | None, ...]
    saved: tuple[Value, ...] | None
    is_leaf = False
    scalars: tuple[tuple[float, ...], tuple[int, ...]] | None
    number: int
    hooks: NodeHooks | None

    def name(self) -> str:
        """torch's name of the operator's derivative."""
        return self.backward.name

    def spread(self, values: Sequence[Any]) -> list[Any]:
        """One entry for each edge as one for each argument that torch counts: numbers and missing tensors in the place of tensors get None."""
        pattern = self.pattern
        return list(values) if pattern is None else [None if k is None else values[k] for k in pattern]

    def gathered(self, values: Sequence[Any]) -> list[Any]:
        """The inverse of `spread`."""
        pattern = self.pattern
        if pattern is None:
            return list(values)
        found: list[Any] = [None] * len(self.edges)
        for k, value in zip(pattern, values, strict=True):
            if k is not None:
                found[k] = value
        return found

    @property
    def pattern(self) -> tuple[int | None, ...] | None:
        """See `Backward.pattern`."""
        return self.backward.pattern

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes its gradients go to, with the number of the result there."""
        return tuple([(None, 0) if e is None else e for e in self.spread(self.edges)])

    def saved_edge(self, position: int) -> Edge | None:
        """Where a saved value, given by its position in `saved`, stands on the tape."""
        backward = self.backward
        count = len(backward.saved_inputs)
        if position < count:
            return self.edges[backward.saved_inputs[position]]
        number = backward.saved_outputs[position - count]
        return (self, number) if backward.outputs[number].differentiable else None

    @property
    def metadata(self) -> dict:
        """A dictionary for users' own notes."""
        return self.__dict__.setdefault("_metadata", {})

    def output_count(self) -> int:
        """How many results the operator has."""
        return len(self.backward.outputs)

    def output_aval(self, number: int) -> Aval:
        """Shape and dtype that the gradient of a result must have."""
        return self.backward.outputs[number]

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple([InputMetadata(self.output_aval(k)) for k in range(self.output_count())])

    def _sequence_nr(self) -> int:
        return self.number

    def the_hooks(self) -> NodeHooks:
        """The node's hooks, made on first use."""
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks

    def register_prehook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; a returned tuple replaces them."""
        return register(self.the_hooks().pre, hook)

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; a returned tuple replaces the ``grad_inputs``."""
        return register(self.the_hooks().post, hook)

    def _register_hook_dict(self, tensor: Any) -> None:
        """Let a tensor's dictionary of hooks see the gradients that arrive for it here."""
        self.the_hooks().tensor[tensor.output_nr] = tensor._backward_hooks

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


@functools.cache
def _node_class(name: str) -> type[Node]:
    """The class of the nodes of one name: ``type(x.grad_fn).__name__`` is torch's."""
    return type(name, (Node,), {"__slots__": (), "__module__": "torch.autograd.graph"})


class CustomNode(Node):
    """A node whose derivative is Python code: ``run(grads, create_graph, keep)`` returns a gradient (or None) for each edge."""

    __slots__ = ()
    backward = pattern = None  # type: ignore[assignment]

    def run(self, grads: list[Any], create_graph: bool, keep: bool) -> list[Any]:
        """The gradients of the inputs.

        Args:
            grads: what arrived for the outputs, tensors or None.
            create_graph: the operators that it calls are recorded on the tape.
            keep: leave what was saved in place, for another pass.
        """
        raise NotImplementedError


class InputMetadata:
    """What a gradient that arrives at a node looks like."""

    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, aval: Aval) -> None:
        self.shape = aval.size
        self.dtype = aval.dtype
        self.device = aval.device


class GradientEdge(NamedTuple):
    """Where on the tape the gradient of a tensor is computed: something to differentiate or to ask a gradient for instead of the tensor.

    ``autograd.graph.get_gradient_edge`` makes one.
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


GradientEdge.__module__ = "torch.autograd.graph"

new_node = object.__new__

#: Called with each new node while some thread's anomaly mode is on (autograd/anomaly_mode.py); None otherwise.
_observer: Callable[[Node], None] | None = None


def observe_new_nodes(observer: Callable[[Node], None] | None) -> None:
    """Have a function called with each node that `connect` makes; None ends it."""
    global _observer
    _observer = observer


def announce(node: Node) -> None:
    """Tell the observer of a node that `connect` did not make."""
    if _observer is not None:
        _observer(node)


def connect(backward: Backward, edges: tuple[Edge | None, ...], inputs: Sequence[Value], outputs: Sequence[Value],
            scalars: tuple[tuple[float, ...], tuple[int, ...]] | None = None) -> Node:  # fmt: skip
    """Put an operator that was just recorded on the tape.

    Args:
        edges: for each input, where its gradient goes (None: nowhere).
        inputs, outputs: the operator's values, of which the node keeps those that the derivative reads.
        scalars: the floats and ints it was called with, if any.
    """
    node: Node = new_node(backward.node_class)
    node.backward = backward
    node.edges = edges
    node.saved = backward.pick(inputs, outputs)
    node.scalars = scalars
    node.number = next_number()
    node.hooks = None
    if inference.was_used:
        inference.refuse_saving(node.saved)
    if _observer is not None:
        _observer(node)
    return node


def _no_rule(present: tuple[bool, ...]) -> Instruction:
    raise NotImplementedError("a leaf has no derivative")


#: What stands for the derivative at a leaf: a gradient arrives, and nothing is computed.
LEAF = Backward("AccumulateGrad", (), (), (), (), (), _no_rule)
LEAF.is_single = True


class AccumulateGrad(Node):
    """Where a leaf's gradient arrives; adds it to ``leaf.grad``.

    It holds the leaf weakly (the leaf holds it), so that a parameter is freed without waiting for the cycle collector.

    Attributes:
        grad_dtype: what gradients are cast to; None leaves them as they come.
    """

    __slots__ = ("grad_dtype", "leaf", "post_accumulate")
    backward = LEAF  # type: ignore[assignment]
    pattern = None
    is_leaf = True

    def __init__(self, leaf: Any) -> None:
        self.leaf = weakref.ref(leaf)
        self.grad_dtype: Any = None
        self.edges = ()
        self.saved = ()
        self.scalars = None
        self.number = 1 << 62
        self.hooks = None
        self.post_accumulate: OrderedDict[int, Callable] | None = None

    @property
    def variable(self) -> Any:
        """The leaf, or None when it is gone."""
        return self.leaf()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1

    def output_count(self) -> int:
        return 1

    def output_aval(self, number: int) -> Aval:
        leaf = self.leaf()
        assert leaf is not None, "the leaf is gone"
        return leaf._aval()

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


def accumulator(leaf: Any) -> Edge:
    """The edge of a new leaf."""
    return (AccumulateGrad(leaf), 0)


def move_retained(old: Edge | None, new: Edge | None) -> None:
    """Let ``retain_grad`` of a tensor go with it from its old to its new place on the tape."""
    if old is None or new is None or old[0].hooks is None:
        return
    keep = old[0].hooks.retain.pop(old[1], None)
    if keep is not None:
        new[0].the_hooks().retain[new[1]] = keep


class _NeverCurrent:
    """Stands for the storage of packed values: the check that every saved value undergoes always sends them to `unpack_saved`."""

    tracked = 0


class PackedValue:
    """What hooks made of a saved value; it stands in its place in `Node.saved`.

    Args:
        unpack: function that gives the value back.
    """

    __slots__ = ("unpack",)
    origin = (_NeverCurrent, 1)

    def __init__(self, unpack: Callable[[], Value]) -> None:
        self.unpack = unpack


def unpack_saved(node: Node) -> tuple[Value, ...]:
    """All values that a node saved, if they are still what was saved.

    Raises:
        RuntimeError: they were freed, or a saved tensor was modified in place since; torch's texts.
    """
    saved = node.saved
    if saved is None:
        raise RuntimeError(FREED)
    return tuple([unpack_value(node, value) for value in saved])


_SWITCH_ON = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
    "check_nan=False)."
)
_SHOWN_ABOVE = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed in there or anywhere "
    "later. Good luck!"
)


def unpack_value(node: Node, value: Value) -> Value:
    """A saved value, if it is still what was saved.

    Raises:
        RuntimeError: the tensor was modified in place since, torch's text.
    """
    if type(value) is PackedValue:
        return value.unpack()
    origin = value.origin
    if origin is not None and origin[0].tracked != origin[1]:
        assert node.saved is not None
        position = next((k for k, saved in enumerate(node.saved) if saved is value), None)
        check_current(value, None if position is None else node.saved_edge(position), node)
    return value


def check_current(value: Value, edge: Edge | None, owner: Node | None = None) -> None:
    """Check that the tensor of which this was the value has not been modified since.

    Args:
        edge: the tensor's place on the tape when it was saved.
        owner: the node that saved it.

    Raises:
        RuntimeError: it was; torch's text.
    """
    if value.origin is None or value.origin[0].tracked == value.origin[1]:
        return
    changes, version = value.origin
    device = value.aval.device.type
    kind = f"torch.{'' if device == 'cpu' else device + '.'}{_tensor_type(value.aval)}"
    raise RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} {list(value.aval.size)}]"
        f"{_which_output(value, edge, owner)} is at version {changes.tracked}; expected version {version} instead. Hint: "
        f"{_SHOWN_ABOVE if thread.state.anomaly else _SWITCH_ON}"
    )


def _which_output(value: Value, edge: Edge | None, owner: Node | None) -> str:
    """``, which is output 0 of Tanh,`` where the tape knows it: the operator that computed the saved tensor or, if it is none of the owner's own
    results, that wrote into it last."""
    if edge is None or isinstance(edge[0], AccumulateGrad):
        return ""
    assert value.origin is not None
    changes, _ = value.origin
    name, number = edge[0].name(), edge[1]
    if edge[0] is not owner and changes.written_by is not None:
        name, number, size = changes.written_by
        if value.aval.size != size:
            name, number = "AsStridedBackward0", 0
    return f", which is output {number} of {short_name(name)},"


def _tensor_type(aval: Aval) -> str:
    from ..core.promotion import scalar_type_name

    return f"{scalar_type_name(aval.dtype)}Tensor"


def short_name(name: str) -> str:
    """A node's name as torch's messages give it: ``Tanh`` for ``TanhBackward0``."""
    return name.rstrip("0123456789").removesuffix("Backward")
