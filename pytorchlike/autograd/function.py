"""`Function`: operators whose forward and backward are written by the user."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.state import thread
from ..graph.value import Aval, Value
from ..tensors.mutation import write_into
from ..tensors.tape import FREED, CustomNode, Edge, announce, next_number, unpack_value
from ..tensors.tensor import Tensor, alias_of, make_tensor
from .grad_mode import no_grad, set_grad_enabled

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionNode(CustomNode):
    """The tape's node of a `Function`; it is also the ``ctx`` that forward and backward share."""

    __slots__ = ()

    def __init__(self) -> None:
        self.edges: tuple[Edge | None, ...] = ()
        self.saved: tuple[Value, ...] | None = ()
        self.scalars = None
        self.number = next_number()
        self.hooks = None
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._saved: list[Any] | None = []
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self._output_avals: list[Aval] = []

    # ------------------------------------------------------------------ what users call on ctx
    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``; read them there as ``ctx.saved_tensors``."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were changed in place by ``forward``."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients arrive as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved.

        Raises:
            RuntimeError: it was freed, or a saved tensor was changed in place.
        """
        if self._saved is None:
            raise RuntimeError(FREED)
        found = []
        for kind, value, edge in self._saved:
            if kind == "tensor":
                if value.origin is not None:
                    unpack_value(self, value)
                found.append(make_tensor(value, (self, edge) if isinstance(edge, int) else edge))
            else:
                found.append(value)
        return tuple(found)

    saved_variables = saved_tensors

    # ------------------------------------------------------------------ the node
    def name(self) -> str:
        return f"{type(self).__name__}"

    def output_count(self) -> int:
        return len(self._output_avals)

    def output_aval(self, number: int) -> Aval:
        return self._output_avals[number]

    def run(self, grads: list[Any], create_graph: bool, keep: bool) -> list[Any]:
        """Call the user's ``backward``; a gradient for each input of ``forward``.

        Args:
            grads: what arrived for the outputs, tensors or None.
            create_graph: record the operators that ``backward`` calls.
            keep: leave the saved tensors in place, for another pass.

        Raises:
            RuntimeError: another number of gradients than of inputs, or one of the wrong shape; torch's texts.
            TypeError: something else than a tensor or None was returned.
        """
        if self.materialize_grads:
            grads = [_zeros(aval) if g is None and aval.differentiable else g for g, aval in zip(grads, self._output_avals, strict=True)]
        with set_grad_enabled(create_graph):
            found = self._function.backward(self, *grads)  # type: ignore[attr-defined]
        results = list(found) if isinstance(found, (tuple, list)) else [found]
        count = len(self.edges)
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(results)})")
        if not keep:
            self._saved = None
        return [_fitting(self, k, r, edge) for k, (r, edge) in enumerate(zip(results, self.edges, strict=True))]


FunctionCtx = FunctionNode


def _zeros(aval: Aval) -> Tensor:
    from ..dispatch.registry import lookup

    return lookup("zeros")(tuple(aval.size), dtype=aval.dtype, device=aval.device)


def _fitting(node: FunctionNode, position: int, gradient: Any, edge: Edge | None) -> Any:
    """A gradient returned by user code, in the shape and dtype that the input has."""
    if gradient is None or edge is None:
        return None
    if not isinstance(gradient, Tensor):
        raise TypeError(f"{node.name()} returned a {type(gradient).__name__} where a Tensor or None was expected at index {position}")
    aval = node._input_avals[position]  # type: ignore[attr-defined]
    if gradient.shape != aval.size:
        try:
            gradient = gradient.sum_to_size(aval.size)
        except RuntimeError:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {position} - got {list(gradient.shape)} but expected shape "
                f"compatible with {list(aval.size)}"
            ) from None
    return gradient if gradient.dtype is aval.dtype else gradient.to(aval.dtype)


class _FunctionMeta(type):
    """Each `Function` class has a node class of its own, named ``<Name>Backward``."""

    def __init__(cls, name: str, bases: tuple, members: dict) -> None:
        super().__init__(name, bases, members)
        cls._node_class = type(f"{name}Backward", (FunctionNode,), {"_function": cls, "__module__": cls.__module__})


class Function(metaclass=_FunctionMeta):
    """Base of operators with a gradient of their own: static methods ``forward`` (and ``setup_context``) and ``backward``.

    Call it with ``apply``.  https://docs.pytorch.org/docs/stable/notes/extending.html
    """

    _node_class: Any
    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; with ``setup_context`` it takes no ``ctx``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill ``ctx`` from the inputs and outputs."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return a gradient, or None, for each input of ``forward``."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on the arguments, untracked, and put the operator on the tape if one of them is on it.

        Tensors count where they are arguments themselves; those inside of lists and dictionaries are not seen, as in torch.
        """
        node = cls._node_class()
        inputs = [a if isinstance(a, Tensor) else None for a in args]
        recording = thread.state.grad_enabled
        edges = tuple([x._current_edge() if x is not None and recording else None for x in inputs])
        node.needs_input_grad = tuple([e is not None for e in edges])
        splits = cls.setup_context is not Function.setup_context
        with no_grad():
            output = cls.forward(*args, **kwargs) if splits else cls.forward(node, *args, **kwargs)
            if splits:
                cls.setup_context(node, args, output)
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        if not any(e is not None for e in edges):
            return output
        node.edges = edges
        node.number = next_number()
        announce(node)
        node._input_avals = [None if x is None else x._aval() for x in inputs]
        results = _connect_outputs(node, inputs, outputs)
        _save(node, inputs, edges, results)
        if isinstance(output, (tuple, list)):
            return tuple(results)
        return results[0]


def _connect_outputs(node: FunctionNode, inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """The outputs with their places on the tape: dirty inputs as they are, other inputs as aliases."""
    results: list[Any] = []
    for k, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            results.append(out)
            node._output_avals.append(_NO_AVAL)
            continue
        node._output_avals.append(out._aval())
        if any(out is n for n in node._non_differentiable) or not out._aval().differentiable:
            results.append(out)
            continue
        if any(out is d for d in node._dirty):
            write_into(out, out._content(), (node, k))
            results.append(out)
            continue
        if any(out is x for x in inputs) or out._edge is not None:
            out = alias_of(out)
        out._edge = (node, k)
        results.append(out)
    return results


_NO_AVAL: Any = type("_NoAval", (), {"differentiable": False})()


def _save(node: FunctionNode, inputs: list[Any], edges: tuple[Edge | None, ...], results: list[Any]) -> None:
    """Turn ``save_for_backward``'s tensors into values and edges: outputs refer to the node itself, so no cycle keeps it alive."""
    saved: list[Any] = []
    for x in node._to_save:
        if not isinstance(x, Tensor):
            saved.append(("other", x, None))
            continue
        value = x._content()
        position = next((k for k, r in enumerate(results) if r is x), None)
        saved.append(("tensor", value, position if position is not None and x._edge is not None else x._current_edge()))
    node._saved = saved
    node._to_save = ()


def once_differentiable(function: Callable) -> Callable:
    """Mark a ``backward`` that must not be differentiated again: doing so raises."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = thread.state.grad_enabled
        with no_grad():
            found = function(ctx, *args)
        if not recording or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return found
        outputs = found if isinstance(found, tuple) else (found,)
        refusing = tuple([_Refuse.apply(o.detach().requires_grad_()) if isinstance(o, Tensor) else o for o in outputs])
        return refusing if isinstance(found, tuple) else refusing[0]

    return wrapper


class _Refuse(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
