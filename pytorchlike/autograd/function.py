"""torch.autograd.function: `Function`, operators whose forward and backward are written by the user."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core.state import thread
from ..dispatch.registry import lookup
from ..graph.executors import seen_by_jax
from ..graph.value import Aval
from ..tensors.mutation import write_into
from ..tensors.restricted import CUSTOM_VIEW, MULTI_OUTPUT_VIEW, RESTRICTED
from ..tensors.tape import FREED, AccumulateGrad, CustomNode, Edge, announce, next_number, unpack_value
from ..tensors.tensor import Tensor, make_tensor
from .grad_mode import no_grad
from .saved import SavedTensor, pack

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]

_LEAF_IN_PLACE = "a leaf Variable that requires grad has been used in an in-place operation."
_DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all be outputs "
    "of the Function."
)
_DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. This is not "
    "supported by the current autograd engine. You should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a second "
    "one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
_NO_COMPLEX = (
    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)"
)


class FunctionCtx:
    """What a `Function`'s ``forward`` and ``setup_context`` may call on ``ctx``."""

    materialize_grads: bool
    to_save: Sequence[Any]
    dirty_tensors: Sequence[Any]
    non_differentiable: Sequence[Any]
    saved_for_forward: Sequence[Any]
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``; read them there as ``ctx.saved_tensors``.  None may be among them."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor) and tensor is not None:
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """These inputs were changed in place by ``forward``, which returns them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """These outputs have no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Accepted without effect: tensors that share memory are known."""

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing output gradients arrive as zeros (the default) or as None."""
        self.materialize_grads = value


class BackwardCFunction(CustomNode, FunctionCtx):
    """The tape's node of a `Function`; it is also the ``ctx`` that forward and backward share."""

    __slots__ = ()
    _forward_cls: type[Function]

    def __init__(self) -> None:
        self.edges: tuple[Edge | None, ...] = ()
        self.saved: tuple[Any, ...] | None = ()
        self.scalars = None
        self.hooks = None
        self.number = next_number()
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self.to_save = self.dirty_tensors = self.non_differentiable = self.saved_for_forward = ()
        self._lent: tuple[Any, ...] | None = None
        self._saved_at: tuple[Edge | int | None, ...] = ()  # an int: the node's own result
        self._originals: tuple[Tensor | None, ...] = ()
        self._was_read = False
        self._input_avals: list[Aval | None] = []
        self._output_avals: list[Aval | None] = []

    # ------------------------------------------------------------------ what was saved
    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, in its places on the tape.

        Raises:
            RuntimeError: it was freed, or a saved tensor was changed in place; torch's texts.
        """
        if self._lent is not None:
            return self._lent
        if self.saved is None:
            raise RuntimeError(FREED)
        once = self._forward_cls.clear_saved_tensors_on_access
        if once and self._was_read:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. Either access "
                "saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        found = tuple([self.unpacked(k) for k in range(len(self.saved))])
        if once and self.saved:
            self._was_read = True
            self.saved = self._originals = self._saved_at = ()
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self.saved is None:
            raise RuntimeError(FREED)
        return tuple([SavedTensor(self, k) for k in range(len(self.saved))])

    def unpacked(self, position: int) -> Tensor | None:
        """One of the `saved_tensors`.

        Raises:
            RuntimeError: it was freed, or changed in place; torch's texts.
        """
        if self.saved is None:
            raise RuntimeError(FREED)
        kept = self.saved[position]
        if kept is None:
            return None
        value = unpack_value(self, kept)
        original = self._originals[position]
        return make_tensor(value, self.saved_edge(position)) if original is None else original

    def saved_edge(self, position: int) -> Edge | None:
        place = self._saved_at[position]
        return (self, place) if isinstance(place, int) else place

    def keep(self) -> None:
        """Turn what ``save_for_backward`` was given into saved values: an output as its value, so that no cycle keeps it alive.

        Raises:
            TypeError: something else than a tensor; torch's text.
        """
        kept: list[tuple[Any, Edge | int | None, Tensor | None]] = []
        hooks = thread.state.saved_tensor_hooks
        for position, x in enumerate(self.to_save):
            if x is None:
                kept.append((None, None, None))
                continue
            if not isinstance(x, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {position} is of type {type(x).__name__}")
            edge = x._current_edge()
            is_output = edge is not None and edge[0] is self
            place = edge[1] if is_output else edge  # type: ignore[index]
            kept.append((pack(x, hooks[-1]) if hooks else x._content(), place, None if is_output or hooks else x))
        self.saved, self._saved_at, self._originals = map(tuple, zip(*kept)) if kept else ((), (), ())
        self.to_save = ()

    def with_saved(self, tensors: Sequence[Any], function: Callable[[], Any]) -> Any:
        """Call a function for which ``saved_tensors`` are these."""
        self._lent = tuple(tensors)
        try:
            return function()
        finally:
            self._lent = None

    # ------------------------------------------------------------------ the node
    def name(self) -> str:
        return type(self).__name__

    def output_count(self) -> int:
        return len(self._output_avals)

    def output_aval(self, number: int) -> Aval:
        aval = self._output_avals[number]
        assert aval is not None, "the output is no tensor"
        return aval

    def run(self, grads: list[Any], create_graph: bool, keep: bool) -> list[Any]:
        """Call the user's ``backward``.

        Raises:
            RuntimeError: another number of gradients than of inputs, or one that does not fit; torch's texts.
        """
        if self.materialize_grads:
            grads = [_zeros(aval) if g is None and aval is not None else g for g, aval in zip(grads, self._output_avals, strict=True)]
        answer = self.apply(*grads)
        results = list(answer) if isinstance(answer, tuple) else [answer]
        inputs = self._input_avals
        if len(results) > len(inputs) and all(r is None for r in results[len(inputs) :]):
            results = results[: len(inputs)]
        if len(results) != len(inputs):
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {len(inputs)}, got {len(results)})")
        for position, (result, aval) in enumerate(zip(results, inputs, strict=True)):
            if aval is None and result is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {position + 1}, but the corresponding forward "
                    "input was not a Variable"
                )
        if not keep:
            self.saved = None
            self._originals = ()
        of_tensors = [(r, aval) for r, aval in zip(results, inputs, strict=True) if aval is not None]
        return [_fitting(self, k, r, aval, edge) for k, ((r, aval), edge) in enumerate(zip(of_tensors, self.edges, strict=True))]

    def apply(self, *grads: Any) -> Any:
        """What the user's ``backward`` (or ``vjp``) returns for these output gradients."""
        own = self._forward_cls
        if own.backward is not Function.backward and own.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        function = own.vjp if own.vjp is not Function.vjp else own.backward
        return function(self, list(grads)) if own.boxed_grads_call else function(self, *grads)


def _zeros(aval: Aval) -> Tensor:
    return lookup("zeros")(tuple(aval.size), dtype=aval.dtype, device=aval.device)


def _fitting(node: BackwardCFunction, position: int, gradient: Any, aval: Aval, edge: Edge | None) -> Any:
    """A gradient returned by user code, in the shape and dtype that the input has."""
    if gradient is None or edge is None:
        return None
    if not isinstance(gradient, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
    if gradient.shape != aval.size:
        try:
            gradient = gradient.sum_to_size(aval.size)
        except RuntimeError:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {position} - got {list(gradient.shape)} but expected shape "
                f"compatible with {list(aval.size)}"
            ) from None
    if gradient.is_complex() and not aval.dtype.is_complex:
        raise RuntimeError(_NO_COMPLEX)
    if gradient.device != aval.device:
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index {position} - expected device {aval.device} but got {gradient.device}"
        )
    return gradient if gradient.dtype is aval.dtype else gradient.to(aval.dtype)


# ---------------------------------------------------------------------------------------------------------------- Function
class FunctionMeta(type):
    """Gives each `Function` class a node class of its own, named ``<Name>Backward``."""

    def __init__(cls, name: str, bases: tuple, members: dict) -> None:
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, members)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of operators with a gradient of their own: static methods ``forward`` (and ``setup_context``) and ``backward``.

    Call it with ``apply``.  https://docs.pytorch.org/docs/stable/notes/extending.html

    Attributes:
        clear_saved_tensors_on_access: ``ctx.saved_tensors`` may be read once, and is freed then.
        boxed_grads_call: ``backward`` gets the output gradients as one list, which it may empty.
    """

    _backward_cls: Any
    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the class "
            "itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static forward "
            "method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

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

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangent, or None, of each output of ``forward`` for the tangents of its inputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Apply the function to a whole batch and return ``(outputs, out_dims)``.

        Args:
            info: ``batch_size`` and ``randomness`` of the ``torch.vmap`` that is active.
            in_dims: for each argument the dimension of the batch, or None.
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on the arguments, untracked, and put the operator on the tape if one of them is on it.

        Tensors count where they are arguments themselves; those inside of lists and dictionaries are not seen, as in torch.
        """
        if cls.setup_context is not Function.setup_context:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        state = thread.state
        if state.levels or state.transforms:
            from .function_levels import apply_inside

            return apply_inside(cls, args, kwargs)
        return cls.run_forward(args, kwargs)[0]

    @classmethod
    def run_forward(cls, args: tuple[Any, ...], kwargs: dict[str, Any], forward: Callable | None = None) -> tuple[Any, BackwardCFunction]:
        """Run ``forward`` and put it on the tape of the code that is running.

        Args:
            forward: what to run in place of ``forward`` (of a function that overrides ``setup_context``).

        Returns:
            the output, and the ``ctx``.
        """
        splits = cls.setup_context is not Function.setup_context
        node = cls._backward_cls()
        inputs = (*args, *kwargs.values())
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        edges = tuple([x._current_edge() for x in tensors])
        node.needs_input_grad = tuple([isinstance(x, Tensor) and x.requires_grad for x in inputs])
        with seen_by_jax(), no_grad():
            output = (forward or cls.forward)(*args, **kwargs) if splits else cls.forward(node, *args, **kwargs)
            if splits:
                cls.setup_context(node, inputs, output)
        is_recorded = thread.state.grad_enabled and any(e is not None for e in edges)
        if is_recorded:
            node.edges = edges
            node.number = next_number()
            node._input_avals = [x._aval() if isinstance(x, Tensor) else None for x in inputs]
            announce(node)
        results = _connect_outputs(node, tensors, output if isinstance(output, tuple) else (output,), is_recorded)
        if is_recorded:
            node.keep()
        else:
            node.to_save = ()
        node.dirty_tensors = node.non_differentiable = ()
        return (tuple(results) if isinstance(output, tuple) else results[0]), node


def _connect_outputs(node: BackwardCFunction, inputs: list[Tensor], outputs: tuple[Any, ...], is_recorded: bool) -> list[Any]:
    """The outputs in their places on the tape.

    Args:
        is_recorded: the node is on the tape.

    Raises:
        RuntimeError: a leaf was written to, or what was written to is not returned; torch's texts.
    """
    dirty = node.dirty_tensors
    if any(not any(d is o for o in outputs) for d in dirty):
        raise RuntimeError(_DIRTY_NOT_RETURNED)
    results: list[Any] = []
    differentiable = 0
    for k, out in enumerate(outputs):
        if isinstance(out, Tensor):
            has_gradient = is_recorded and out._aval().differentiable and not any(out is n for n in node.non_differentiable)
            differentiable += has_gradient
            node._output_avals.append(out._aval())
            results.append(_connected(out, (node, k) if has_gradient else None, inputs, dirty, len(outputs)))
        else:
            node._output_avals.append(None)
            results.append(out)
    if differentiable > 1:
        for out in results:
            if isinstance(out, Tensor) and out._is_view():
                out._flags = out._flags & ~RESTRICTED | MULTI_OUTPUT_VIEW
    return results


def _connected(out: Tensor, edge: Edge | None, inputs: list[Tensor], dirty: Sequence[Any], count: int) -> Tensor:
    """One output at its place on the tape (None: off it): a dirty input itself, an input as a view of it."""
    is_input = any(out is x for x in inputs)
    is_dirty = any(out is d for d in dirty)
    if edge is None:
        if out.requires_grad:
            return out.detach()
        return _as_view(out) if is_input and not is_dirty else out
    if is_dirty:
        own = out._current_edge()
        if own is not None and type(own[0]) is AccumulateGrad:
            raise RuntimeError(_LEAF_IN_PLACE)
        if not is_input:
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
                "ctx.mark_dirty().",
                stacklevel=4,
            )
        if out._is_view() and count > 1:
            raise RuntimeError(_DIRTY_VIEW)
        write_into(out, out._content(), edge)
        return out
    if is_input:
        out = _as_view(out)
    out._edge = edge
    if out._is_view():
        out._flags = out._flags & ~RESTRICTED | CUSTOM_VIEW
    return out


def _as_view(tensor: Tensor) -> Tensor:
    """A view of a whole tensor, made untracked."""
    with no_grad():
        return lookup("view_as")(tensor, tensor)


class InplaceFunction(Function):
    """The old base of functions that write into their inputs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn: Callable) -> Callable:
    """Mark a ``backward`` that must not be differentiated again: doing so raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        recording = thread.state.grad_enabled
        with no_grad():
            found = fn(ctx, *args, **kwargs)
        if not recording or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return found
        outputs = found if isinstance(found, tuple) else (found,)
        refusing = _Refuse.apply(*[o.detach().requires_grad_() if isinstance(o, Tensor) else o for o in outputs])
        return refusing if isinstance(found, tuple) else refusing[0]

    return wrapper


class _Refuse(Function):
    """The identity, whose derivative is an error."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> tuple[Any, ...]:  # type: ignore[override]
        return tuple([t.clone() if isinstance(t, Tensor) else t for t in tensors])

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
