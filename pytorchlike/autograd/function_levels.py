"""`Function` inside of transformations: its ``jvp`` in forward mode, its ``vmap`` (or one made from ``forward`` and ``backward``) in a batch.

Each active level does its part and has the function applied one level further out, where the tape may have a place for it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core import pytree
from ..core.state import thread
from ..dispatch.batching import BatchLevel
from ..dispatch.forward import ForwardLevel
from ..dispatch.levels import outside, pop, push
from ..tensors.tensor import Tensor
from .function import BackwardCFunction, Function
from .grad_mode import set_grad_enabled

__all__ = ["VmapInfo", "apply_inside"]

_EXTENDING = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
_NO_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the setup_context "
    f"staticmethod. {_EXTENDING}"
)
_TWO_RULES = (
    "You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
    f"generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. {_EXTENDING}"
)
_NO_RULE = (
    "You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap staticmethod or set "
    f"generate_vmap_rule=True. {_EXTENDING}"
)
_TWO_RETURNS = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "


class VmapInfo(NamedTuple):
    """What a ``vmap`` staticmethod is told: the size of the batch, and what random operators are to do."""

    batch_size: int
    randomness: str


def apply_inside(kind: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a function inside of transformations.

    Raises:
        RuntimeError: it lacks what the transformations need, torch's texts.
    """
    state = thread.state
    if state.transforms and kind.setup_context is Function.setup_context:
        raise RuntimeError(_NO_SETUP)
    if not state.levels:
        return kind.run_forward(args, kwargs)[0]
    level = state.levels[-1]
    for argument in args:
        if isinstance(argument, Tensor):
            argument._content()  # a view is read here, where its tangent is known
    if isinstance(level, ForwardLevel):
        return _with_tangents(level, kind, args, kwargs)
    return _over_batch(level, kind, args, kwargs)


# ---------------------------------------------------------------------------------------------------------------- forward mode
def _with_tangents(level: ForwardLevel, kind: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tangents = [level.tangent(a) if isinstance(a, Tensor) else None for a in args]
    with outside(level) as state:
        ctx: BackwardCFunction
        if state.levels:
            output = kind.apply(*args, **kwargs)
            ctx = kind._backward_cls()
            kind.setup_context(ctx, (*args, *kwargs.values()), output)
        else:
            output, ctx = kind.run_forward(args, kwargs)
        if all(t is None for t in tangents):
            return output
        if ctx.materialize_grads:
            tangents = [a.new_zeros(a.shape) if t is None and isinstance(a, Tensor) and a._aval().differentiable else t for a, t in zip(args, tangents)]
        found = ctx.with_saved(ctx.saved_for_forward, lambda: kind.jvp(ctx, *tangents))
    results = found if isinstance(found, tuple) else (found,)
    outputs = output if isinstance(output, tuple) else (output,)
    if len(results) != len(outputs):
        raise RuntimeError(f"{kind.__name__}.jvp returned {len(results)} tangents for {len(outputs)} outputs")
    for out, tangent in zip(outputs, results):
        if isinstance(out, Tensor) and tangent is not None and out._aval().differentiable:
            level.tangents[out._content()] = tangent
    return output


# ---------------------------------------------------------------------------------------------------------------- batches
def _over_batch(level: BatchLevel, kind: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(v, Tensor) for v in pytree.leaves(kwargs)):
        raise NotImplementedError(
            f"Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to autograd.Function. Got: {kwargs}"
        )
    has_rule = kind.vmap is not Function.vmap
    if kind.generate_vmap_rule and has_rule:
        raise RuntimeError(_TWO_RULES.format(name=kind.__name__))
    unwrapped = [level.unwrap(a) if isinstance(a, Tensor) else (a, False) for a in args]
    outer = tuple([a for a, _ in unwrapped])
    are_batched = [is_batched for _, is_batched in unwrapped]
    if not (kind.generate_vmap_rule or has_rule):
        raise RuntimeError(_NO_RULE.format(name=kind.__name__))
    recorded = thread.state.grad_enabled if level.outer_grad_enabled is None else level.outer_grad_enabled

    def forward(*_: Any, **keywords: Any) -> Any:
        with set_grad_enabled(recorded), outside(level):
            if not any(are_batched):
                output = kind.apply(*outer, **keywords)
                dims = [False] * len(pytree.leaves(output))
            elif has_rule:
                output, dims = _by_rule(level, kind, are_batched, outer, keywords)
            else:
                made = _batched_function(level, kind, are_batched)
                output = made.apply(*outer, **keywords)
                dims = made.outputs_batched
        flat, spec = pytree.flatten(output)
        return pytree.unflatten([_wrapped(level, o, dim, outer, args) for o, dim in zip(flat, dims, strict=True)], spec)

    return kind.run_forward(args, kwargs, forward)[0]


def _wrapped(level: BatchLevel, output: Any, is_batched: bool, outer: Sequence[Any], args: Sequence[Any]) -> Any:
    """An output inside of the batch; an argument that was returned is the argument."""
    if not isinstance(output, Tensor):
        return output
    for own, argument in zip(outer, args):
        if output is own:
            return argument
    return level.wrap(output, is_batched)


def _by_rule(level: BatchLevel, kind: type[Function], are_batched: list[bool], outer: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[bool]]:
    """Call the ``vmap`` staticmethod: the outputs with the batch in front, and which of them have one."""
    info = VmapInfo(level.size, level.randomness)
    result = kind.vmap(info, tuple([0 if is_batched else None for is_batched in are_batched]), *outer, **kwargs)
    if not isinstance(result, tuple):
        raise RuntimeError(_TWO_RETURNS + f"Got a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(_TWO_RETURNS + f"Got {len(result)} returns instead")
    output, out_dims = result
    flat, spec = pytree.flatten(output)
    dims = pytree.broadcast(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            f"The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={out_dims} to be "
            f"compatible with the structure of `output`. out_dims has structure {pytree.flatten(out_dims)[1]} but output has structure {spec}. "
            f"{_EXTENDING}"
        )
    moved = [o.movedim(dim, 0) if isinstance(o, Tensor) and dim else o for o, dim in zip(flat, dims)]
    return pytree.unflatten(moved, spec), [dim is not None for dim in dims]


def _batched_function(level: BatchLevel, kind: type[Function], are_batched: list[bool]) -> Any:
    """The function over a whole batch as a function of its own, whose parts are those of ``kind`` run inside of the level."""

    def inside(function: Callable, values: Sequence[Any], flags: Sequence[bool]) -> Any:
        push(level)
        try:
            return function(*[level.wrap(v, True) if is_batched and isinstance(v, Tensor) else v for v, is_batched in zip(values, flags, strict=True)])
        finally:
            pop(level)

    def unwrapped(values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        pairs = [level.unwrap(v) if isinstance(v, Tensor) else (v, False) for v in values]
        return [v for v, _ in pairs], [is_batched for _, is_batched in pairs]

    class Batched(Function):
        outputs_batched: list[bool] = []
        generate_vmap_rule = True

        @staticmethod
        def forward(*outer: Any) -> Any:
            output = inside(kind.forward, outer, are_batched)
            flat, spec = pytree.flatten(output)
            found, Batched.outputs_batched = unwrapped(flat)
            return pytree.unflatten(found, spec)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            flat, spec = pytree.flatten(output)
            inner = ctx.inner = kind._backward_cls()

            def fill(*values: Any) -> None:
                kind.setup_context(inner, values[: len(inputs)], pytree.unflatten(values[len(inputs) :], spec))

            inside(fill, (*inputs, *flat), [*are_batched, *Batched.outputs_batched])
            ctx.materialize_grads = inner.materialize_grads
            kept, ctx.saved_flags = unwrapped(inner.to_save)
            ctx.save_for_backward(*kept)
            kept, ctx.forward_flags = unwrapped(inner.saved_for_forward)
            ctx.save_for_forward(*kept)
            ctx.mark_non_differentiable(*unwrapped(inner.non_differentiable)[0])

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            inner = ctx.inner
            inner.needs_input_grad = ctx.needs_input_grad
            sizes = [None if aval is None else tuple(aval.size)[is_batched:] for aval, is_batched in zip(ctx._input_avals, are_batched)]

            def pull_back(*values: Any) -> list[Any]:
                saved = values[len(grads) :]
                found = inner.with_saved(saved, lambda: inner.apply(*values[: len(grads)]))
                found = list(found) if isinstance(found, tuple) else [found]
                return [g if g is None or size is None or tuple(g.shape) == size else g.sum_to_size(size) for g, size in zip(found, sizes)]

            found, flags = unwrapped(inside(pull_back, (*grads, *ctx.saved_tensors), [*Batched.outputs_batched, *ctx.saved_flags]))
            return tuple([_as_argument(level, g, is_batched, wanted) for g, is_batched, wanted in zip(found, flags, are_batched)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            inner = ctx.inner

            def push_forward(*values: Any) -> list[Any]:
                found = inner.with_saved(values[len(tangents) :], lambda: kind.jvp(inner, *values[: len(tangents)]))
                return list(found) if isinstance(found, tuple) else [found]

            found, flags = unwrapped(inside(push_forward, (*tangents, *ctx.saved_tensors), [*are_batched, *ctx.forward_flags]))
            return tuple([_as_argument(level, t, is_batched, wanted) for t, is_batched, wanted in zip(found, flags, Batched.outputs_batched)])

    Batched.__name__ = f"Vmapped{kind.__name__}"
    return Batched


def _as_argument(level: BatchLevel, gradient: Any, is_batched: bool, wanted: bool) -> Any:
    """A gradient with the batch's dimension if what it belongs to has one, summed over it if not."""
    if gradient is None or is_batched == wanted:
        return gradient
    return gradient.expand(level.size, *gradient.shape) if wanted else gradient.sum(0)
