"""Reverse mode as transformations of functions: `grad`, `grad_and_value`, `vjp`.

They are the tape, used on a part of it: the arguments to differentiate become inputs of a function (`FunctionInput`), the function is
recorded as it runs, and a backward pass stops at these inputs.  What of the results depends on tensors outside stays on the tape, so the
derivative of a derivative is the tape's, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..autograd.engine import grad as tape_gradient
from ..autograd.vmap import _wraps
from ..core import pytree
from ..core.state import ThreadState, thread
from ..dispatch.batching import BatchLevel
from ..dispatch.derivative import Differentiable
from ..dispatch.levels import inside_transform
from ..dispatch.registry import lookup
from ..graph.executors import seen_by_jax
from ..graph.value import Aval
from ..tensors.tape import Backward, Edge, Node, connect, next_number
from ..tensors.tensor import Tensor, alias_of, make_tensor

__all__ = ["Region", "argument_slice", "grad", "grad_and_value", "vjp", "vjp_of"]


class FunctionInput(Node):
    """Where the tape of a transformed function begins: behind it the argument's own place on the tape, if it has one."""

    __slots__ = ()
    is_leaf = True

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


@functools.lru_cache(maxsize=4096)
def _identity(aval: Aval) -> Backward:
    made = Backward("FunctionInput", (), (), (True,), (aval,), (aval,), lambda present: _PASS_ON)
    made.node_class = FunctionInput
    return made


_PASS_ON = Differentiable("pass_on", lambda gradient: gradient)


class Region:
    """What a reverse transformation records between its beginning and its end.

    Attributes:
        start: nodes with lower numbers were on the tape before.
        is_recorded: whether the code around the transformation is put on the tape.
    """

    def __init__(self) -> None:
        self.start = next_number()
        self.is_recorded = thread.state.grad_enabled
        self._batch = next((level for level in reversed(thread.state.levels) if isinstance(level, BatchLevel)), None)
        self._previous: list[tuple[bool, bool | None]] = []

    def __enter__(self) -> Region:
        """Switch the tape on for the code inside; what that does to the tensors around its batch is recorded as before."""
        state, batch = thread.state, self._batch
        self._previous.append((state.grad_enabled, None if batch is None else batch.outer_grad_enabled))
        if batch is not None and batch.outer_grad_enabled is None:
            batch.outer_grad_enabled = state.grad_enabled
        state.grad_enabled = True
        return self

    def __exit__(self, *error: object) -> None:
        thread.state.grad_enabled, outer = self._previous.pop()
        if self._batch is not None:
            self._batch.outer_grad_enabled = outer

    def enter(self, tensor: Any) -> Tensor:
        """An argument as an input of the function.

        Raises:
            ValueError: it is no tensor.
            RuntimeError: its dtype has no gradient; torch's texts.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        aval = tensor._aval()
        if not aval.differentiable:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        levels = thread.state.levels
        lifted = levels[-1].lift(tensor) if levels else tensor
        return make_tensor(lifted._content(), (connect(_identity(aval), (lifted._current_edge(),), (), ()), 0))

    def reaches_outside(self, edges: Iterable[Edge | None]) -> bool:
        """Whether something that was on the tape before takes part in these results, and is to get gradients through them."""
        if not self.is_recorded:
            return False
        seen: set[Node] = set()
        stack = [edge[0] for edge in edges if edge is not None]
        while stack:
            node = stack.pop()
            if node.number < self.start or node.number == _LEAF_NUMBER:
                return True
            if node not in seen:
                seen.add(node)
                stack += [edge[0] for edge in node.edges if edge is not None]
        return False

    def leave(self, tree: Any) -> Any:
        """Results as the code around sees them: off the tape, unless something outside takes part in them.

        Raises:
            RuntimeError: something else than tensors in nested containers; torch's text.
        """

        def leave(result: Any) -> Tensor:
            if not isinstance(result, Tensor):
                raise RuntimeError(f"Expected tensors, got unsupported type {type(result)}")
            edge = result._current_edge()
            if edge is None or self.reaches_outside((edge,)):
                return result
            return make_tensor(result._value) if result._storage is None else alias_of(result)

        return pytree.tree_map(leave, tree)


_LEAF_NUMBER = 1 << 62


def gradients(outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor | None] | None, keep: bool, create_graph: bool) -> list[Tensor]:
    """The gradients of a function's inputs, zeros for those that do not take part.

    Args:
        cotangents: the gradients of the outputs; None for a scalar's.
        keep: the tape will be gone through again.
    """
    given = [None] * len(outputs) if cotangents is None else cotangents
    pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o._current_edge() is not None]
    zeros = lookup("zeros_like")
    if not pairs:
        return [zeros(x) for x in inputs]
    with seen_by_jax():  # unlike those of ``torch.autograd.grad``, these gradients can be differentiated from outside
        found = tape_gradient([o for o, _ in pairs], list(inputs), [g for _, g in pairs], keep, create_graph, allow_unused=True)
    return [zeros(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


# ---------------------------------------------------------------------------------------------------------------- arguments
def argument_slice(args: tuple[Any, ...], argnums: Any) -> Any:
    """The arguments with these numbers: one, or a tuple of them.

    Raises:
        RuntimeError: no such argument, no numbers, or twice the same; torch's texts.
    """
    if isinstance(argnums, int):
        return args[_position(argnums, len(args))]
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    positions = tuple([_position(n, len(args)) for n in argnums])
    if not positions:
        raise RuntimeError("argnums must be non-empty")
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {positions}")
    return tuple([args[p] for p in positions])


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def replaced(args: tuple[Any, ...], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with others in the place of those with these numbers (see `argument_slice`)."""
    found = list(args)
    for argnum, value in [(argnums, values)] if isinstance(argnums, int) else zip(argnums, values, strict=True):
        found[argnum] = value
    return tuple(found)


def split_aux(result: Any, call: str) -> tuple[Any, Any]:
    """The output and what came with it.

    Raises:
        RuntimeError: not a pair, torch's text.
    """
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


# ---------------------------------------------------------------------------------------------------------------- the transformations
def grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradients of ``func``, which returns a scalar.

    Args:
        func: takes tensors (in nested containers) and returns a 0-d tensor.
        argnums: the argument, or arguments, with respect to which.
        has_aux: ``func`` returns ``(output, aux)``; the new function returns ``(gradients, aux)``.

    Raises:
        RuntimeError, ValueError: by the function returned, torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.grad.html
    """

    @_wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """Like `grad`, for a function that returns ``(gradients, output)``, or ``(gradients, (output, aux))``."""

    @_wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return gradient_and_value


def _grad_and_value(func: Callable, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    call = "grad_and_value(f)(*args)"
    with Region() as region:
        flat, spec = pytree.flatten(argument_slice(args, argnums))
        inputs = [region.enter(x) for x in flat]
        with inside_transform():
            output = func(*replaced(args, argnums, pytree.unflatten(inputs, spec)), **kwargs)
        if has_aux:
            output, aux = split_aux(output, call)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(
                f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you wanted to use the vjp or "
                "jacrev APIs instead?"
            )
        is_outside = region.reaches_outside((output._current_edge(),))
        found = pytree.unflatten(gradients([output], inputs, None, is_outside or has_aux, is_outside), spec)
        value = region.leave((output, aux)) if has_aux else region.leave(output)
    return found, value


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The function's value, and a function that multiplies vectors with its Jacobian, from the left.

    Args:
        func: takes and returns tensors (in nested containers).
        primals: its arguments.
        has_aux: ``func`` returns ``(output, aux)``.

    Returns:
        ``(output, vjp_fn)`` or ``(output, vjp_fn, aux)``; ``vjp_fn(cotangents)`` takes what is shaped like the output and returns a tuple
        shaped like the arguments.

    Raises:
        RuntimeError: an output is not a floating tensor, torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.vjp.html
    """
    return vjp_of(func, primals, None, has_aux)


def vjp_of(func: Callable, primals: tuple[Any, ...], argnums: Any, has_aux: bool) -> tuple:
    """`vjp` with respect to some of the arguments (None: all)."""
    call = "vjp(f, *primals)"
    with Region() as region:
        flat, spec = pytree.flatten(primals if argnums is None else argument_slice(primals, argnums))
        inputs = [region.enter(x) for x in flat]
        entered = pytree.unflatten(inputs, spec)
        with inside_transform():
            output = func(*(entered if argnums is None else replaced(primals, argnums, entered)))
        if has_aux:
            output, aux = split_aux(output, call)
            aux = region.leave(aux)
        outputs, output_spec = pytree.flatten(output)
        check_outputs(outputs, call)
        result = region.leave(output)
        for tensor in outputs:
            if not tensor._aval().differentiable:
                raise RuntimeError(f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {tensor.dtype}")

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_spec = pytree.flatten(cotangents)
        if given_spec != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. cotangents: "
                f"{_shown(given_spec, len(given))}, primal output: {_shown(output_spec, len(outputs))}"
            )
        state: ThreadState = thread.state
        if create_graph is None:
            create_graph = state.grad_enabled
        if create_graph:
            create_graph = region.reaches_outside([t._current_edge() for t in outputs]) or any(g._current_edge() is not None for g in given)
        with region:
            found = gradients(outputs, inputs, given, retain_graph, create_graph)
        return pytree.unflatten(found, spec)

    return (result, vjp_fn, aux) if has_aux else (result, vjp_fn)


def check_outputs(outputs: Sequence[Any], call: str) -> None:
    """Refuse what is no tensor, and no outputs at all.

    Raises:
        RuntimeError: torch's texts.
    """
    if not outputs or list(outputs) == [None]:
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = {list(outputs)})")
    for output in outputs:
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(output)}")


def _shown(spec: pytree.TreeSpec, count: int) -> str:
    """A structure with a star for each of its leaves."""
    return repr(pytree.unflatten([_STAR] * count, spec))


_STAR = type("_Star", (), {"__repr__": lambda self: "*"})()
