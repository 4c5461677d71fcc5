"""Backward: `backward` (``loss.backward()`` arrives here), `grad`, and the loop `run_backward` that replays the tape.

Gradients are values, recorded like everything else, so a whole backward pass joins the trace of the forward.  With
``create_graph`` they are tensors, and the backward pass puts itself on the tape.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import jax
import numpy as np

from ..aten.sparse_tensor import SparseTensor
from ..core.device import jax_device
from ..core.state import thread
from ..dispatch.call import apply, cast_instruction
from ..dispatch.registry import lookup
from ..graph.recorder import record
from ..graph.value import Aval, Value, constant
from ..tensors.tape import FREED, LEAF, AccumulateGrad, CustomNode, Edge, GradientEdge, Node, unpack_saved
from ..tensors.tensor import Tensor, make_tensor, tensor_method
from .accumulate import ADD, accumulate, warn_of_cycle
from .anomaly_mode import NanWatch, report
from .hooks import as_tensors, run_post_hooks, run_pre_hooks, run_tensor_hooks
from .sparse_gradients import added, as_roots, as_sparse, content, passed_on
from .task import Task, running
from .vmap import over_vectors

__all__ = ["backward", "backward_of", "grad", "run_backward"]

_NO_GRAPH = "element {number} of tensors does not require grad and does not have a grad_fn"
_NO_GRADIENT = "One of the differentiated Tensors does not require grad"
_UNUSED = (
    "The differentiated Tensor at index {number} appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
)
_BACKWARD_IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or call backward() "
    "outside of functorch transforms."
)


# ---------------------------------------------------------------------------------------------------------------- entry points
@tensor_method
def backward(self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None) -> None:
    """Compute the gradients of this tensor with respect to the leaves of its graph and add them to their ``.grad``.

    Args:
        gradient: gradient of some scalar with respect to this tensor; a scalar tensor needs none.
        retain_graph: keep what the graph saved, to go through it again (default: ``create_graph``).
        create_graph: record the backward pass itself, for derivatives of higher order.
        inputs: accumulate only into these tensors (leaves or not).

    Raises:
        RuntimeError: not on the tape, not a scalar, a freed graph, a saved tensor that was changed; torch's texts.
    """
    backward_of(self, gradient, retain_graph, create_graph, inputs=inputs)


def backward_of(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                grad_variables: Any = None, inputs: Any = None) -> None:  # fmt: skip
    """``torch.autograd.backward``: like `backward`, for one tensor (or gradient edge) or a sequence of them.

    Args:
        tensors: where to start, the roots.
        grad_tensors: a gradient for each of them (None for scalars); ``grad_variables`` is its old name.
        inputs: tensors, edges or a dict of tensors: accumulate only into these.

    Raises:
        RuntimeError: inside of a function that ``torch.func`` is transforming, ``inputs`` is empty, another number of gradients than of tensors; what `backward` raises.
    """
    if thread.state.transforms:
        raise RuntimeError(_BACKWARD_IN_TRANSFORM)
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    targets = None if inputs is None else _inputs(inputs, "backward")
    roots = _as_tuple(tensors)
    edges = _roots(*as_roots(roots, _gradients(grad_tensors, len(roots))), create_graph)
    run_backward(edges, keep=create_graph if retain_graph is None else retain_graph, create_graph=create_graph, inputs=targets, accumulates=True)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:  # fmt: skip
    """The gradients of the outputs with respect to the inputs, returned rather than accumulated.

    Args:
        outputs: a tensor or gradient edge, or a sequence of them.
        inputs: the same, or a dict of tensors (the gradients come as a dict then).
        grad_outputs: a gradient for each output (None for scalars).
        allow_unused: an input that does not take part gives None rather than an error.
        is_grads_batched: the first dimension of each gradient counts separate vectors.
        materialize_grads: unused inputs give zeros.

    Raises:
        RuntimeError: an input is unused or off the tape; what `backward` raises.
        ValueError: contradicting arguments.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    roots, targets = _as_tuple(outputs), _inputs(inputs, "grad")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of the graph, please "
            "use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    keep = create_graph if retain_graph is None else retain_graph
    roots, given = as_roots(roots, _gradients(grad_outputs, len(roots)))
    if is_grads_batched:
        found = _batched(roots, targets, given, keep, create_graph, allow_unused)
    else:
        found = run_backward(_roots(roots, given, create_graph), keep=keep, create_graph=create_graph, inputs=targets, accumulates=False)
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(_UNUSED.format(number=next(k for k, g in enumerate(found) if g is None)))
    if materialize_grads:
        if any(g is None and isinstance(x, GradientEdge) for g, x in zip(found, targets, strict=True)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        found = tuple([lookup("zeros_like")(x, requires_grad=create_graph) if g is None else g for g, x in zip(found, targets, strict=True)])
    found = as_sparse(targets, found)
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def _as_tuple(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, (Tensor, GradientEdge)) else tuple(tensors)


def _inputs(inputs: Any, function: str) -> tuple[Any, ...]:
    """What gradients are asked for.

    Raises:
        TypeError, RuntimeError: it is a mapping other than a dict, or empty; torch's texts.
    """
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not supported.")
    found = tuple(inputs.values()) if isinstance(inputs, dict) else _as_tuple(inputs)
    if not found:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return found


def _gradients(grads: Any, count: int) -> tuple[Any, ...]:
    """What was given as gradients of the roots."""
    return (None,) * count if grads is None else (grads,) if isinstance(grads, Tensor) else tuple(grads)


def _batched(outputs: tuple, inputs: tuple, given: tuple, keep: bool, create_graph: bool, allow_unused: bool) -> tuple:
    """One backward pass for all vectors.

    Raises:
        RuntimeError: gradients of another shape.
        ValueError: no gradients for a scalar, as the 1 that stands for them is no batch.
    """
    for number, (output, gradients) in enumerate(zip(outputs, given)):
        if gradients is None and not output.shape:
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of dimensionality 0 so expected in_dim "
                "to satisfy 0 <= in_dim < 0."
            )
        if gradients is not None and isinstance(output, GradientEdge):
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        if gradients is not None and gradients.shape[1:] != output.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
                "remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{number}] has a shape of {gradients.shape[2:]} and output[{number}] has a shape of {output.shape}. If you only want "
                "some tensors in `grad_output` to be considered batched, consider using vmap."
            )

    def for_one(*vectors: Any) -> tuple:
        return run_backward(_roots(outputs, vectors, create_graph), keep=keep, create_graph=create_graph, inputs=inputs, accumulates=False)

    return tuple(over_vectors(for_one, given))


@functools.lru_cache(maxsize=256)
def _ones(aval: Aval) -> Any:
    with jax.enable_x64(True), jax.ensure_compile_time_eval():  # it is kept, also if JAX is transforming the code that asks for it
        return jax.device_put(np.ones(aval.size, aval.dtype.numpy), jax_device(aval.device))


def _ones_like(aval: Aval) -> Value:
    """The gradient that backward starts from; its array is sent to the device once."""
    return constant(np.ones(aval.size, aval.dtype.numpy) if aval.is_meta else _ones(aval), aval)


def _roots(tensors: Sequence[Any], grads: tuple, create_graph: bool) -> list[tuple[Edge, Any]]:
    """(edge, gradient) of each tensor that backward starts from.

    Raises:
        RuntimeError: no graph, not a scalar, a gradient of another shape, fewer gradients than roots; torch's texts.
        TypeError: a gradient is no tensor.
    """
    roots: list[tuple[Edge, Any]] = []
    for number, (tensor, given) in enumerate(zip(tensors, grads)):
        if isinstance(tensor, GradientEdge):
            edge: Edge | None = (tensor.node, tensor.output_nr)
            aval = tensor.node.output_aval(tensor.output_nr)
        else:
            edge = tensor._current_edge()
            aval = tensor._aval()
        if given is not None:
            gradient = _given_gradient(number, given, aval)
        elif edge is not None:
            if aval.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not aval.dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {aval.dtype}")
            gradient = make_tensor(_ones_like(aval))
        if edge is None:
            raise RuntimeError(_NO_GRAPH.format(number=number))
        roots.append((edge, gradient if create_graph else gradient._content()))
    if len(grads) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    return roots


def _given_gradient(number: int, given: Any, aval: Aval) -> Tensor:
    """A gradient that a user passed for a root, in the root's dtype."""
    if not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if given.shape != aval.size:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{number}] has a shape of {given.shape} and output[{number}] has a shape of {aval.size}."
        )
    if given.is_complex() != aval.dtype.is_complex:
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[{number}] "
            f"has a dtype of {given.dtype} and output[{number}] has a dtype of {aval.dtype}."
        )
    return given if given.dtype is aval.dtype else given.to(aval.dtype)


# ---------------------------------------------------------------------------------------------------------------- the loop
def run_backward(roots: list[tuple[Edge, Any]], *, keep: bool, create_graph: bool, inputs: tuple[Any, ...] | None, accumulates: bool) -> tuple:
    """Replay the tape from the roots, newest node first.

    Args:
        roots: where to start, and with which gradients (values, or tensors with ``create_graph``).
        keep: leave what the nodes saved in place, for another pass.
        inputs: None, or the tensors whose gradients are wanted: only the nodes that lead to them run.
        accumulates: add the inputs' gradients to their ``.grad`` (else return them).

    Returns:
        the gradients of the inputs (None where none arrived); empty when they are accumulated.
    """
    edges = [] if inputs is None else _input_edges(inputs, accumulates)
    nodes, awaited = _reachable(roots)
    wanted: dict[Node, list[int]] = {}
    if inputs is not None:
        nodes, awaited, wanted = _narrowed(nodes, roots, edges, accumulates)
    state = thread.state
    previous = state.grad_enabled
    state.grad_enabled = create_graph
    run = Pass(nodes, awaited, wanted, inputs is not None, keep, create_graph)
    task = Task(nodes, awaited, inputs is None, not accumulates)
    running.tasks.append(task)
    try:
        run.all(roots)
        for callback in task.callbacks:
            callback()
    finally:
        running.tasks.pop()
        state.grad_enabled = previous
    if accumulates:
        if create_graph:
            warn_of_cycle()
        return ()
    return tuple([run.captured.get(edge) for edge in edges])


def _input_edges(inputs: tuple[Any, ...], accumulates: bool) -> list[Edge]:
    """Where on the tape the inputs stand.

    Raises:
        RuntimeError: one does not require a gradient.
    """
    edges = []
    for x in inputs:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")
        if accumulates and isinstance(x, Tensor):
            x.retain_grad()
        edge = (x.node, x.output_nr) if isinstance(x, GradientEdge) else x._current_edge()
        if edge is None:
            raise RuntimeError(_NO_GRADIENT)
        edges.append(edge)
    return edges


def _reachable(roots: list[tuple[Edge, Any]]) -> tuple[dict[Node, bool], dict[Node, int]]:
    """All nodes that gradients may arrive at, leaves apart (node -> it runs), and how many gradients each leaf waits for.

    No recursion: graphs are deep.
    """
    nodes: dict[Node, bool] = {}
    awaited: dict[Node, int] = {}
    stack: list[Sequence[Edge | None]] = [[edge for edge, _ in roots]]
    while stack:
        for edge in stack.pop():
            if edge is not None:
                node = edge[0]
                if node in nodes:
                    continue
                if type(node) is AccumulateGrad:
                    awaited[node] = awaited.get(node, 0) + 1
                else:
                    nodes[node] = True
                    stack.append(node.edges)
    return nodes, awaited


def _narrowed(reachable: dict[Node, bool], roots: list[tuple[Edge, Any]], edges: list[Edge], accumulates: bool) -> tuple[dict, dict, dict]:
    """What remains of the reachable nodes when only some gradients are asked for.

    Returns:
        node -> whether it runs (else its gradient is captured only); leaf -> how many gradients it waits for; node -> its captured results.
    """
    asked: dict[Node, list[int]] = {}
    for node, number in edges:
        asked.setdefault(node, []).append(number)
    nodes: dict[Node, bool] = {}
    for node in sorted(reachable, key=_NUMBER):  # what a node's edges lead to comes before it
        runs = any(e is not None and (e[0] in asked or nodes.get(e[0], False)) for e in node.edges)
        if runs or node in asked:
            nodes[node] = runs or accumulates
    awaited: dict[Node, int] = {}
    for edge in [*[edge for edge, _ in roots], *[edge for node, runs in nodes.items() if runs for edge in node.edges]]:
        if edge is not None and type(edge[0]) is AccumulateGrad and edge[0] in asked:
            awaited[edge[0]] = awaited.get(edge[0], 0) + 1
    return nodes, awaited, {} if accumulates else asked


_NUMBER = attrgetter("number")


class Pass:
    """One pass over the tape.

    Args:
        nodes: the nodes that gradients may arrive at, leaves apart, and whether each runs.
        awaited: how many gradients each leaf still waits for.
        wanted: the results of nodes whose gradients are captured.
        is_narrow: gradients may also lead to nodes that are none of these, where they are dropped.

    Attributes:
        captured: (node, number of its result) -> gradient, a tensor.
        arrived: node -> what has arrived so far: a gradient for a node with one result, else a list of them; tensors with ``create_graph``, else
            values.
        watch: looks for NaN, in anomaly mode.
    """

    __slots__ = ("nodes", "awaited", "wanted", "is_narrow", "keep", "create_graph", "captured", "arrived", "watch")

    def __init__(self, nodes: dict[Node, bool], awaited: dict[Node, int], wanted: dict[Node, list[int]], is_narrow: bool, keep: bool,
                 create_graph: bool) -> None:  # fmt: skip
        self.nodes = nodes
        self.awaited = awaited
        self.wanted = wanted
        self.is_narrow = is_narrow
        self.keep = keep
        self.create_graph = create_graph
        self.captured: dict[Edge, Tensor] = {}
        self.arrived: dict[Node, Any] = {}
        self.watch = NanWatch() if thread.state.anomaly else None

    def all(self, roots: list[tuple[Edge, Any]]) -> None:
        """Run the nodes, the newest first, and each leaf as soon as all its gradients are there."""
        arrived, deliver, keep = self.arrived, self.deliver, self.keep
        wanted = self.wanted
        is_plain = not self.create_graph and self.watch is None
        deliver([edge for edge, _ in roots], [gradient for _, gradient in roots])
        for node in sorted(self.nodes, key=_NUMBER, reverse=True):
            grads = arrived.pop(node, None)
            backward = node.backward
            if grads is None or backward is None or node.hooks is not None or not is_plain or (wanted and node in wanted):
                results = self.run_node(node, [grads] if grads is not None and backward is not None and backward.is_single else grads)
                if results is None:
                    continue
            else:  # what `_run_rule` does, written out for most nodes
                saved = node.saved
                if saved is None:
                    raise RuntimeError(FREED)
                for value in saved:
                    origin = value.origin
                    if origin is not None and origin[0].tracked != origin[1]:
                        saved, grads = self.unpacked(node, grads)
                        break
                if backward.is_single:
                    instruction = backward.single or backward.instruction((True,))
                    arguments = (*saved, grads)
                else:
                    instruction = backward.instruction(tuple([g is not None for g in grads]))
                    arguments = (*saved, *[g for g in grads if g is not None])
                results = record(instruction, arguments) if node.scalars is None else record(instruction, arguments, *node.scalars)
                if saved and not keep:
                    node.saved = None
                if len(results) != len(node.edges):
                    results = _at_edges(node, results)
            deliver(node.edges, results)
        if self.watch is not None:
            self.watch.settle()

    def unpacked(self, node: Node, grads: Any) -> tuple[tuple[Value, ...], Any]:
        """The saved values where hooks may have packed them, and the gradients, which the hooks may have replaced."""
        slots = [grads] if node.backward.is_single else grads
        self.enter(node, slots)
        return _unpacked(node), slots[0] if node.backward.is_single else slots

    def deliver(self, edges: Sequence[Edge | None], gradients: Sequence[Any]) -> None:
        """Add gradients (None: it is zero) to what has arrived where the edges lead; run the leaves whose last one this was."""
        nodes, arrived, awaited, is_narrow = self.nodes, self.arrived, self.awaited, self.is_narrow
        for edge, gradient in zip(edges, gradients):
            if edge is None:
                continue
            node = edge[0]
            if is_narrow and node not in nodes and node not in awaited:
                continue
            backward = node.backward
            if backward is not None and backward.is_single:
                if gradient is not None:
                    earlier = arrived.get(node)
                    arrived[node] = gradient if earlier is None else self.sum(earlier, gradient)
                if backward is LEAF:
                    left = awaited[node] = awaited[node] - 1
                    if left == 0:
                        self.run_leaf(node, [arrived.pop(node, None)])  # type: ignore[arg-type]
            elif gradient is not None:
                slots = arrived.get(node)
                if slots is None:
                    slots = arrived[node] = [None] * node.output_count()
                earlier = slots[edge[1]]
                slots[edge[1]] = gradient if earlier is None else self.sum(earlier, gradient)

    def sum(self, a: Any, b: Any) -> Any:
        """The sum of two gradients."""
        if a.__class__ is SparseTensor or b.__class__ is SparseTensor:
            return added(a, b, self.create_graph)
        return a + b if self.create_graph else record(ADD, (a, b))[0]

    def cast(self, gradient: Any, dtype: Any) -> Any:
        """A gradient (or None) in another dtype."""
        if gradient is None or self.create_graph or gradient.__class__ is SparseTensor:
            return gradient if gradient is None else gradient.to(dtype)
        return gradient if gradient.aval.dtype is dtype else record(cast_instruction(dtype), (gradient,))[0]

    def run_leaf(self, leaf: AccumulateGrad, grads: list[Any]) -> None:
        """Put a leaf's gradient where it belongs."""
        if self.watch is None:
            self.put(leaf, grads)
            return
        self.watch.settle()
        try:
            self.put(leaf, grads)
        except Exception:
            report(leaf)
            raise

    def put(self, leaf: AccumulateGrad, grads: list[Any]) -> None:
        """Run a leaf's hooks; accumulate or capture its gradient."""
        hooks = leaf.hooks
        if leaf.grad_dtype is not None:
            grads = [self.cast(g, leaf.grad_dtype) for g in grads]
        if hooks is not None:
            self.enter(leaf, grads)
            grads = run_tensor_hooks(leaf, grads, self.create_graph)
        if self.wanted:
            self.capture(leaf, grads)
            return
        if hooks is not None:
            grads = run_pre_hooks(leaf, grads, self.create_graph)
        accumulate(leaf, grads[0], self.create_graph)
        if hooks is not None and hooks.post:
            run_post_hooks(leaf, (), grads, self.create_graph)

    def run_node(self, node: Node, grads: list[Any] | None) -> Sequence[Any] | None:
        """Run any node: a gradient (or None) for each of its edges; None when it does not run."""
        if grads is None:  # nothing but missing gradients; they pass through all nodes but those of Python code
            if node.hooks is None and node.backward is not None and node not in self.wanted:
                return [None] * len(node.edges)
            grads = [None] * node.output_count()
        self.enter(node, grads)
        if node in self.wanted and self.nodes[node]:
            self.capture(node, grads)
        if self.watch is None:
            return self.derived(node, grads)
        if node.hooks is not None or node.backward is None:  # somebody else's code must see no NaN
            self.watch.settle()
        try:
            results = self.derived(node, grads)
        except Exception:
            report(node)
            raise
        if results is not None:
            self.watch.look_at(node, results)
        return results

    def derived(self, node: Node, grads: list[Any]) -> Sequence[Any] | None:
        """What the hooks and the derivative of a node make of the gradients; None when the node does not run."""
        create_graph = self.create_graph
        if node.hooks is not None:
            grads = run_tensor_hooks(node, grads, create_graph)
        if not self.nodes[node]:
            self.capture(node, grads)
            return None
        if node.hooks is not None:
            grads = run_pre_hooks(node, grads, create_graph)
            self.enter(node, grads)
        if isinstance(node, CustomNode):
            tensors = as_tensors(grads)
            running.tasks[-1].grads = tensors
            found = passed_on(node.run(tensors, create_graph, self.keep), node.edges)
            results: Sequence[Any] = found if create_graph else [None if r is None else content(r) for r in found]
        elif all(g is None for g in grads):
            results = [None] * len(node.edges)
        else:
            results = _run_rule(node, grads, self.keep, create_graph)
        if node.hooks is not None and node.hooks.post:
            results = run_post_hooks(node, results, grads, create_graph)
        return results

    def enter(self, node: Node, grads: list[Any]) -> None:
        """Let tools know which node runs."""
        task = running.tasks[-1]
        task.node, task.grads = node, grads

    def capture(self, node: Node, grads: list[Any]) -> None:
        """Keep the gradients that were asked for."""
        for number in self.wanted.get(node, ()):
            gradient = grads[number]
            if gradient is not None:
                self.captured[node, number] = gradient if isinstance(gradient, Tensor) else make_tensor(gradient)


def _unpacked(node: Node) -> tuple[Value, ...]:
    """The saved values; what hooks gave back in another dtype is cast to the one that was saved."""
    backward = node.backward
    avals = [*[backward.inputs[k] for k in backward.saved_inputs], *[backward.outputs[k] for k in backward.saved_outputs]]
    return tuple([
        value if value.aval.dtype is aval.dtype else record(cast_instruction(aval.dtype), (value,))[0]
        for value, aval in zip(unpack_saved(node), avals, strict=True)
    ])  # fmt: skip


def _run_rule(node: Node, grads: list[Any], keep: bool, create_graph: bool) -> Sequence[Any]:
    """Record a node's rule: a gradient for each of its edges that needs one.

    Raises:
        RuntimeError: what it saved is gone, or was modified.
    """
    saved = _unpacked(node)
    instruction = node.backward.instruction(tuple([g is not None for g in grads]))
    present = [g for g in grads if g is not None]
    floats, ints = node.scalars or ((), ())
    if create_graph:
        results: Sequence[Any] = apply(instruction, [*_on_tape(node, saved), *present], floats, ints)
    else:
        results = record(instruction, (*saved, *present), floats, ints)
    if saved and not keep:
        node.saved = None
    return results if len(results) == len(node.edges) else _at_edges(node, results)


def _at_edges(node: Node, results: Sequence[Any]) -> list[Any]:
    """The gradients that were needed, one entry for each edge."""
    found: list[Any] = [None] * len(node.edges)
    for position, gradient in zip(node.backward.needed_positions, results, strict=True):
        found[position] = gradient
    return found


def _on_tape(node: Node, saved: Sequence[Value]) -> list[Tensor]:
    """The saved values as tensors in their places on the tape, for derivatives of the derivative."""
    return [make_tensor(value, node.saved_edge(position)) for position, value in enumerate(saved)]
