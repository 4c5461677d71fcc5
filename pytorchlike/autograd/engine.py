"""Backward: `backward` (``loss.backward()`` arrives here), `grad`, and the loop `run_backward` that replays the tape.

Gradients are values, recorded like everything else, so a whole backward pass joins the trace of the forward.  With
``create_graph`` they are tensors, and the backward pass puts itself on the tape.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..core.device import jax_device
from ..core.state import thread
from ..dispatch.call import apply
from ..dispatch.derivative import Differentiable
from ..dispatch.registry import lookup
from ..graph.recorder import record
from ..graph.value import Aval, Value, constant
from ..tensors.mutation import write_into
from ..tensors.tape import AccumulateGrad, Edge, Node, unpack_value
from ..tensors.tensor import Tensor, make_tensor, tensor_method

__all__ = ["backward", "grad", "run_backward"]

_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
)
_NO_GRAPH = "element {number} of tensors does not require grad and does not have a grad_fn"
_UNUSED = (
    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
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
    backward_of(self, gradient, retain_graph, create_graph, inputs)


def backward_of(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None,
                grad_variables: Any = None) -> None:  # fmt: skip
    """``torch.autograd.backward``: like `backward`, for one tensor or a sequence of them.

    Args:
        tensors: where to start, the roots.
        grad_tensors: a gradient for each of them (None for scalars); ``grad_variables`` is its old name.

    Raises:
        RuntimeError: ``inputs`` is empty, another number of gradients than of tensors; what `backward` raises.
    """
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    given = _as_tuple(grad_tensors, len(tensors))
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _roots(tensors, given, create_graph)
    run_backward(roots, keep=create_graph if retain_graph is None else retain_graph, create_graph=create_graph, inputs=inputs, accumulate=True)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple:  # fmt: skip
    """The gradients of the outputs with respect to the inputs, returned rather than accumulated.

    Args:
        outputs, inputs: a tensor or a sequence of tensors.
        grad_outputs: a gradient for each output (None for scalars).
        allow_unused: an input that does not take part gives None rather than an error.
        is_grads_batched: the first dimension of each gradient counts separate vectors.
        materialize_grads: unused inputs give zeros.

    Raises:
        RuntimeError: an input is unused or off the tape; what `backward` raises.
        ValueError: contradicting arguments.
    """
    outputs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    inputs = (inputs,) if _is_single(inputs) else tuple(inputs)
    if allow_unused is None:
        allow_unused = materialize_grads
    elif materialize_grads and not allow_unused:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    keep = create_graph if retain_graph is None else retain_graph
    given = _as_tuple(grad_outputs, len(outputs))
    if is_grads_batched:
        return _batched(outputs, inputs, given, keep, create_graph, allow_unused, materialize_grads)
    for x in inputs:
        if isinstance(x, Tensor) and x._current_edge() is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots = _roots(outputs, given, create_graph)
    found = run_backward(roots, keep=keep, create_graph=create_graph, inputs=inputs, accumulate=False)
    if any(g is None for g in found) and not allow_unused:
        raise RuntimeError(_UNUSED)
    if materialize_grads:
        found = tuple([_zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)])
    return found


def _is_single(inputs: Any) -> bool:
    return isinstance(inputs, Tensor) or (isinstance(inputs, tuple) and hasattr(inputs, "node"))


def _batched(outputs: tuple, inputs: tuple, given: tuple, keep: bool, create_graph: bool, allow_unused: bool, materialize: bool) -> tuple:
    """One backward pass for each vector; stacked."""
    count = next(g.shape[0] for g in given if g is not None)
    rows = []
    for k in range(count):
        row = tuple([None if g is None else g[k] for g in given])
        rows.append(grad(outputs, inputs, row, keep or k + 1 < count, create_graph, True, allow_unused, False, materialize))
    stack = lookup("stack")
    return tuple([None if column[0] is None else stack(list(column)) for column in zip(*rows)])


def _as_tuple(grads: Any, count: int) -> tuple:
    if grads is None:
        return (None,) * count
    found = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    if len(found) != count:
        raise RuntimeError(f"got {count} tensors and {len(found)} gradients")
    return found


def _zeros_like(x: Any) -> Tensor:
    return lookup("zeros_like")(x)


@functools.lru_cache(maxsize=256)
def _ones(aval: Aval) -> Any:
    with jax.enable_x64(True):
        return jax.device_put(np.ones(aval.size, aval.dtype.numpy), jax_device(aval.device))


def _ones_like(value: Value) -> Value:
    """The gradient that backward starts from; its array is sent to the device once."""
    return constant(np.ones(value.aval.size, value.aval.dtype.numpy) if value.aval.is_meta else _ones(value.aval), value.aval)


def _roots(tensors: Sequence[Tensor], grads: tuple, create_graph: bool) -> list[tuple[Edge, Any]]:
    """(edge, gradient) of each tensor that backward starts from.

    Raises:
        RuntimeError: no graph, not a scalar, a gradient of another shape; torch's texts.
    """
    roots: list[tuple[Edge, Any]] = []
    for number, (tensor, given) in enumerate(zip(tensors, grads, strict=True)):
        if isinstance(tensor, tuple):  # a GradientEdge
            edge: Edge | None = (tensor[0], tensor[1])
        else:
            edge = tensor._current_edge()
        if edge is None:
            raise RuntimeError(_NO_GRAPH.format(number=number))
        if given is None:
            value = tensor._content()
            if value.aval.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not value.aval.dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {value.aval.dtype}")
            ones = _ones_like(value)
            roots.append((edge, make_tensor(ones) if create_graph else ones))
            continue
        if not isinstance(given, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
        shape = edge[0].output_aval(edge[1]).size if isinstance(tensor, tuple) else tensor.shape
        if given.shape != shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{number}] has a shape of {given.shape} and output[{number}] has a shape of {shape}."
            )
        if not isinstance(tensor, tuple) and given.is_complex() != tensor.is_complex():
            raise RuntimeError(
                f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[{number}] "
                f"has a dtype of {given.dtype} and output[{number}] has a dtype of {tensor.dtype}."
            )
        if create_graph:
            roots.append((edge, given))
        else:
            roots.append((edge, given._content()))
    return roots


# ---------------------------------------------------------------------------------------------------------------- the loop
def run_backward(roots: list[tuple[Edge, Any]], *, keep: bool, create_graph: bool, inputs: Any, accumulate: bool) -> tuple:
    """Replay the tape from the roots, newest node first.

    Args:
        roots: where to start, and with which gradients (values, or tensors with ``create_graph``).
        inputs: None, or the tensors whose gradients are wanted: only the nodes that lead to them run.
        accumulate: add the inputs' gradients to their ``.grad`` (else return them).

    Returns:
        the gradients of the inputs (None where none arrived); empty when they are accumulated.
    """
    state = thread.state
    previous = state.grad_enabled
    state.grad_enabled = create_graph
    try:
        wanted = _wanted(inputs)
        pending, awaited = _pending(roots, wanted)
        arrived: dict[Node, list[Any]] = {}
        queue: list[tuple[int, int, Node]] = []
        for edge, gradient in roots:
            if edge[0] in pending:
                _arrive(arrived, queue, awaited, edge, gradient, create_graph)
        captured: dict[Edge, Any] = {}
        while queue:
            node = heapq.heappop(queue)[2]
            grads = arrived.pop(node)
            if node.hooks is not None:
                grads = _before(node, grads)
            for number in wanted.get(node, ()):
                captured[node, number] = grads[number]
            if not pending[node]:
                continue
            if type(node) is AccumulateGrad:
                _accumulate(node, grads[0], create_graph)
                continue
            results = _run_node(node, grads, keep, create_graph)
            for target, gradient in zip(node.edges, results):
                if target is not None and target[0] in pending:
                    _arrive(arrived, queue, awaited, target, gradient, create_graph)
        return _deliver(inputs, captured, accumulate, create_graph)
    finally:
        state.grad_enabled = previous


def _wanted(inputs: Any) -> dict[Node, list[int]]:
    """The results of nodes whose gradients are to be captured."""
    wanted: dict[Node, list[int]] = {}
    for x in inputs or ():
        edge = (x[0], x[1]) if isinstance(x, tuple) else x._current_edge()
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        wanted.setdefault(edge[0], []).append(edge[1])
    return wanted


def _pending(roots: list[tuple[Edge, Any]], wanted: dict[Node, list[int]]) -> tuple[dict[Node, bool], dict[Node, int]]:
    """The nodes that gradients may arrive at, and whether each is to be run; and how many gradients each leaf waits for.

    Without inputs that is everything reachable.  With inputs a node runs if it leads to one of them.  No recursion: graphs are deep.
    """
    reachable: dict[Node, bool] = {}
    awaited: dict[Node, int] = {}
    stack = []
    for (node, _), _gradient in roots:
        stack.append(node)
        if type(node) is AccumulateGrad:
            awaited[node] = awaited.get(node, 0) + 1
    while stack:
        node = stack.pop()
        if node not in reachable:
            reachable[node] = not wanted
            for edge in node.edges:
                if edge is not None:
                    following = edge[0]
                    if type(following) is AccumulateGrad:
                        awaited[following] = awaited.get(following, 0) + 1
                    if following not in reachable:
                        stack.append(following)
    if not wanted:
        return reachable, awaited
    for node in sorted(reachable, key=_number):  # what a node's edges lead to comes before it
        reachable[node] = any(e is not None and (e[0] in wanted or reachable.get(e[0], False)) for e in node.edges)
    pending = {node: runs for node, runs in reachable.items() if runs or node in wanted}
    for leaf in awaited:  # only nodes that run hand gradients on
        awaited[leaf] = sum(edge[0] is leaf for edge, _ in roots)
    for node, runs in pending.items():
        for edge in node.edges if runs else ():
            if edge is not None and edge[0] in awaited:
                awaited[edge[0]] += 1
    return pending, awaited


def _number(node: Node) -> int:
    return node.number if type(node) is not AccumulateGrad else -1


def _arrive(arrived: dict[Node, list[Any]], queue: list, awaited: dict[Node, int], edge: Edge, gradient: Any, create_graph: bool) -> None:
    """Add a gradient (None: it is zero) to what has arrived at a node's result.

    A node is queued with the first one, since everything newer runs before it; a leaf, which has no place in that order, with the last.
    """
    node, number = edge
    slots = arrived.get(node)
    if type(node) is AccumulateGrad:
        awaited[node] -= 1
        if gradient is not None:
            earlier = slots[0] if slots is not None else None
            arrived[node] = slots = [gradient if earlier is None else _sum(earlier, gradient, create_graph)]
        if awaited[node] == 0 and slots is not None:
            heapq.heappush(queue, (-node.number, id(node), node))
        return
    if gradient is None:
        return
    if slots is None:
        slots = arrived[node] = [None] * node.output_count()
        heapq.heappush(queue, (-node.number, id(node), node))
    earlier = slots[number]
    slots[number] = gradient if earlier is None else _sum(earlier, gradient, create_graph)


def _sum(a: Any, b: Any, create_graph: bool) -> Any:
    if create_graph:
        return a + b
    return record(_ADD, (a, b))[0]


_ADD = Differentiable("add", lambda a, b: a + b)


def _run_node(node: Node, grads: list[Any], keep: bool, create_graph: bool) -> Sequence[Any]:
    """Run one node's derivative: a gradient (or None) for each of its edges.

    Args:
        keep: leave what the node saved in place, for another pass.
    """
    run = getattr(type(node), "run", None)
    if run is not None:
        results = run(node, [g if g is None or create_graph else make_tensor(g) for g in grads], create_graph, keep)
        results = [r if r is None or create_graph else r._content() for r in results]
    else:
        results = _run_rule(node, grads, create_graph)
        if not keep and node.saved:
            node.saved = None
    if node.hooks is not None and node.hooks.post:
        results = _after(node, results, grads, create_graph)
    return results


def _run_rule(node: Node, grads: list[Any], create_graph: bool) -> Sequence[Any]:
    backward = node.backward
    saved = node.saved
    if saved is None:
        raise RuntimeError(_FREED)
    for value in saved:
        if value.origin is not None:
            unpack_value(node, value)
    if len(grads) == 1:
        instruction = backward.instructions.get((True,)) or backward.instruction((True,))
        present = grads
    else:
        there = tuple([g is not None for g in grads])
        instruction = backward.instruction(there)
        present = [g for g in grads if g is not None]
    floats, ints = node.scalars or ((), ())
    if create_graph:
        found: Sequence[Any] = apply(instruction, [*_saved_tensors(node), *present], floats, ints)
    else:
        found = record(instruction, (*saved, *present), floats, ints)
    if len(found) == len(node.edges):
        return found
    results: list[Any] = [None] * len(node.edges)
    for position, gradient in zip(backward.needed_positions, found, strict=True):
        results[position] = gradient
    return results


def _saved_tensors(node: Node) -> list[Tensor]:
    """The saved values as tensors in their places on the tape, for derivatives of the derivative."""
    assert node.saved is not None
    backward = node.backward
    edges: list[Edge | None] = [node.edges[k] for k in backward.saved_inputs]
    edges += [(node, k) if backward.outputs[k].differentiable else None for k in backward.saved_outputs]
    return [make_tensor(value, edge) for value, edge in zip(node.saved, edges, strict=True)]


# ---------------------------------------------------------------------------------------------------------------- leaves and hooks
def _accumulate(node: AccumulateGrad, gradient: Any, create_graph: bool) -> None:
    """Add to a leaf's ``.grad``: in place as torch does, unless the backward pass itself is recorded."""
    leaf = node.leaf()
    if leaf is None or gradient is None:
        return
    try:
        earlier = leaf._grad
    except AttributeError:
        earlier = None
    if earlier is None:
        leaf._grad = gradient if create_graph else make_tensor(gradient)
    elif create_graph:
        leaf._grad = earlier + gradient
    else:
        write_into(earlier, record(_ADD, (earlier._content(), gradient))[0])
    if node.post_accumulate:
        for hook in list(node.post_accumulate.values()):
            hook(leaf)


def _before(node: Node, grads: list[Any]) -> list[Any]:
    """The hooks on the gradients that arrived at a node: tensors' own, then the node's, then ``retain_grad``."""
    hooks = node.hooks
    assert hooks is not None
    as_tensors = [g if g is None or isinstance(g, Tensor) else make_tensor(g) for g in grads]
    for number, own in hooks.tensor.items():
        for hook in list(own.values()):
            gradient = as_tensors[number]
            if gradient is None:
                break
            changed = hook(gradient)
            if changed is not None:
                as_tensors[number] = _checked(changed, gradient)
    for hook in list(hooks.pre.values()):
        changed = hook(tuple(as_tensors))
        if changed is not None:
            as_tensors = [changed] if isinstance(changed, Tensor) else list(changed)
    for number, keep in hooks.retain.items():
        if as_tensors[number] is not None:
            keep(as_tensors[number])
    return [
        before if after is before or after is None else (after if isinstance(before, Tensor) else after._content())
        for before, after in zip(grads, as_tensors, strict=True)
    ]


def _checked(changed: Any, original: Tensor) -> Tensor:
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed.shape != original.shape:
        raise RuntimeError("hook '<unknown>' has changed the size of value")
    if changed.dtype is not original.dtype:
        raise RuntimeError(f"hook '<unknown>' has changed the type of value (was {original.dtype} got {changed.dtype})")
    return changed


def _after(node: Node, results: Sequence[Any], grads: list[Any], create_graph: bool) -> Sequence[Any]:
    assert node.hooks is not None

    def tensors(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple([v if v is None or isinstance(v, Tensor) else make_tensor(v) for v in values])

    inputs = tensors(results)
    for hook in list(node.hooks.post.values()):
        changed = hook(inputs, tensors(grads))
        if changed is not None:
            inputs = (changed,) if isinstance(changed, Tensor) else tuple(changed)
    return [i if i is None or create_graph else i._content() for i in inputs]


def _deliver(inputs: Any, captured: dict[Edge, Any], accumulate: bool, create_graph: bool) -> tuple:
    """Hand over the gradients of the inputs that were asked for."""
    if inputs is None:
        return ()
    found = []
    for x in inputs:
        edge = (x[0], x[1]) if isinstance(x, tuple) else x._current_edge()
        gradient = captured.get(edge)
        if accumulate and gradient is not None:
            if type(edge[0]) is AccumulateGrad:
                _accumulate(edge[0], gradient, create_graph)
            else:
                earlier = getattr(x, "_grad", None)
                new = gradient if create_graph else make_tensor(gradient)
                x._grad = new if earlier is None else earlier + new
        found.append(None if gradient is None else gradient if isinstance(gradient, Tensor) else make_tensor(gradient))
    return tuple(found)

