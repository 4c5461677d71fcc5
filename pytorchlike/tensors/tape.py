"""The tape's data: nodes, edges and saved values.  What runs it is in ``autograd/``.

A differentiable tensor has an edge ``(node, k)``: it is the node's k-th result.  A leaf's edge leads to its `AccumulateGrad`.
A node holds values, never tensors, so the tape keeps alive only what the derivative needs.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ..core.handle import RemovableHandle, register
from ..graph.instruction import Instruction
from ..graph.value import Aval, Value

__all__ = ["AccumulateGrad", "Backward", "Edge", "Node", "NodeHooks", "accumulator", "connect", "next_number", "unpack_value"]

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
    """

    __slots__ = ("name", "node_class", "saved_inputs", "saved_outputs", "needed", "needed_positions", "inputs", "outputs", "build", "instructions", "pick")

    def __init__(self, name: str, saved_inputs: Sequence[int], saved_outputs: Sequence[int], needed: Sequence[bool],
                 inputs: Sequence[Aval], outputs: Sequence[Aval], build: Callable[[tuple[bool, ...]], Instruction]) -> None:  # fmt: skip
        self.name = name
        self.node_class = _node_class(name)
        self.saved_inputs = tuple(saved_inputs)
        self.saved_outputs = tuple(saved_outputs)
        self.needed = tuple(needed)
        self.needed_positions = tuple(i for i, n in enumerate(needed) if n)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.build = build
        self.instructions: dict[tuple[bool, ...], Instruction] = {}
        self.pick = _picker(self.saved_inputs, self.saved_outputs)

    def instruction(self, present: tuple[bool, ...]) -> Instruction:
        """The instruction for the output gradients that are there."""
        found = self.instructions.get(present)
        if found is None:
            found = self.instructions[present] = self.build(present)
        return found


def _picker(inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Callable[[Sequence[Value], Sequence[Value]], tuple[Value, ...]]:
    """A function (inputs, outputs) -> what is saved; written out, since it runs for every recorded operator."""
    text = "".join([f"i[{k}]," for k in inputs] + [f"o[{k}]," for k in outputs])
    return eval(f"lambda i, o: ({text})")  # the text is made of our own indices


class NodeHooks:
    """The hooks of one node: on the gradients of its results (by number, before it runs), on its inputs and outputs."""

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
        saved: the saved values; None once they were freed.
        scalars: the floats and ints the operator was called with.
        number: see `next_number`.
        hooks: None until somebody registers one.
    """

    __slots__ = ("backward", "edges", "saved", "scalars", "number", "hooks", "anomaly", "packed", "__weakref__", "__dict__")
    backward: Backward
    edges: tuple[Edge | None, ...]
    saved: tuple[Value, ...] | None
    scalars: tuple[tuple[float, ...], tuple[int, ...]] | None
    number: int
    hooks: NodeHooks | None

    def name(self) -> str:
        """torch's name of the operator's derivative."""
        return self.backward.name

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes its gradients go to, with the number of the result there."""
        return tuple((None, 0) if e is None else e for e in self.edges)

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

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


@functools.cache
def _node_class(name: str) -> type[Node]:
    """The class of the nodes of one name: ``type(x.grad_fn).__name__`` is torch's."""
    return type(name, (Node,), {"__slots__": (), "__module__": "torch.autograd.graph"})


new_node = object.__new__


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
    return node


class AccumulateGrad(Node):
    """Where a leaf's gradient arrives; adds it to ``leaf.grad``.

    It holds the leaf weakly (the leaf holds it), so that a parameter is freed without waiting for the cycle collector.
    """

    __slots__ = ("leaf", "post_accumulate")

    def __init__(self, leaf: Any) -> None:
        self.leaf = weakref.ref(leaf)
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


def unpack_value(node: Node, value: Value) -> Value:
    """A saved value, if it is still what was saved.

    Raises:
        RuntimeError: the tensor was modified in place since, torch's text.
    """
    origin = value.origin
    if origin is not None and origin[0].tracked != origin[1]:
        storage, version = origin
        kind = f"torch.{storage.value.aval.device.type + '.' if storage.value.aval.device.type != 'cpu' else ''}{_tensor_type(value.aval)}"
        raise RuntimeError(
            f"one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} {list(value.aval.size)}]"
            f"{_which_output(node, value)} is at version {storage.tracked}; expected version {version} instead. Hint: enable anomaly detection to "
            "find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
        )
    return value


def _tensor_type(aval: Aval) -> str:
    from ..core.promotion import scalar_type_name

    return f"{scalar_type_name(aval.dtype)}Tensor"


def _which_output(node: Node, value: Value) -> str:
    """``, which is output 0 of Tanh,`` where the tape knows it."""
    assert node.saved is not None
    position = next((k for k, saved in enumerate(node.saved) if saved is value), None)
    if position is None:
        return ","
    count = len(node.backward.saved_inputs)
    if position >= count:
        return f", which is output {node.backward.saved_outputs[position - count]} of {_operator(node)},"
    edge = node.edges[node.backward.saved_inputs[position]]
    if edge is None or isinstance(edge[0], AccumulateGrad):
        return ","
    return f", which is output {edge[1]} of {_operator(edge[0])},"


def _operator(node: Node) -> str:
    return node.name().rstrip("0123456789").removesuffix("Backward")
