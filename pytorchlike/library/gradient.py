"""Operators of users on the tape and inside of transformations: each is an `autograd.Function` made from what was registered for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.function import Function
from ..core.state import thread
from ..dispatch.overloads import overload_of
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor
from .custom_vjp import call_in_jax, is_wanted
from .keys import AutoDispatchBelowAutograd, DispatchKeySet, after_autograd
from .operators import UserOperator, tensors_of

__all__ = ["FlatValues", "GradientFunction", "without_formula"]

_NOT_REGISTERED = (
    "{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. This may lead to silently incorrect "
    "behavior. This behavior is deprecated and will be removed in a future version of PyTorch. If your operator is differentiable, please ensure you "
    "have registered an autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your "
    "operator is not differentiable, or to squash this warning and use the previous behavior, please register torch::CppFunction::makeFallthrough() "
    "to DispatchKey::Autograd."
)


class GradientFunction:
    """An operator as a function with a gradient.

    Attributes:
        backward, setup_context: what `register_autograd` was given.
    """

    def __init__(self, operator: UserOperator) -> None:
        self.operator = operator
        self.backward: Callable | None = None
        self.setup_context: Callable | None = None
        self.function = _make_function(self)

    def kernel(self, keyset: DispatchKeySet, values: tuple[Any, ...]) -> Any:
        """The kernel for the Autograd key.

        Raises:
            RuntimeError: a tensor of an operator that writes into ``out`` requires a gradient, torch's text.
        """
        operator, state = self.operator, thread.state
        needed = state.grad_enabled and any(t.requires_grad for t in tensors_of(values))
        if needed and operator.is_out:
            raise RuntimeError(
                f"{operator.parsed.name.partition('::')[2]}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        if needed or state.levels:
            return self.call(values)
        if state.on_tracers is not None and self.backward is not None and is_wanted(list(tensors_of(values))):
            given = FlatValues(operator, values)
            return given.results(call_in_jax(self, given))
        with AutoDispatchBelowAutograd():
            return operator.dispatch(values, keyset & after_autograd)

    def call(self, values: tuple[Any, ...]) -> Any:
        """Apply the function: what it computes has a place on the tape and in transformations."""
        given = FlatValues(self.operator, values)
        results = self.function.apply(*given.flat, given)
        return given.results(results)


class FlatValues:
    """The arguments of a call, with lists of tensors as tensors one by one: `Function` looks at those only."""

    def __init__(self, operator: UserOperator, values: Sequence[Any]) -> None:
        self.operator = operator
        self.flat: list[Any] = []
        self.lengths: list[int | None] = []
        for value in values:
            is_list = isinstance(value, list) and any(isinstance(v, Tensor) for v in value) and all(v is None or isinstance(v, Tensor) for v in value)
            self.flat += value if is_list else [value]
            self.lengths.append(len(value) if is_list else None)
        self.result_lengths: list[int | None] | None = None

    def structured(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """Something for each of ``flat``, as the arguments were given."""
        return _grouped(flat, self.lengths)

    def positional(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """The same of the positional arguments."""
        return self.structured(flat)[: sum(not a.kwarg_only for a in self.operator.parsed.arguments)]

    def keywords(self, flat: Sequence[Any]) -> dict[str, Any]:
        """The same of the arguments behind ``*``."""
        return {a.name: v for a, v in zip(self.operator.parsed.arguments, self.structured(flat)) if a.kwarg_only}

    def flatten_results(self, results: Any) -> Any:
        """Results as a `Function` returns them."""
        if not any(r.type.is_tensor_list for r in self.operator.parsed.returns):
            return results
        each = results if isinstance(results, tuple) else (results,)
        self.is_single = not isinstance(results, tuple)
        self.result_lengths = [len(r) if isinstance(r, list) else None for r in each]
        return tuple([v for r in each for v in (r if isinstance(r, list) else [r])])

    def results(self, flat: Any) -> Any:
        """Results as the operator returns them; the same for their gradients."""
        if self.result_lengths is None:
            return flat
        found = _grouped(flat, self.result_lengths)
        return found[0] if self.is_single else found


def _grouped(flat: Sequence[Any], lengths: Sequence[int | None]) -> tuple[Any, ...]:
    values, found = iter(flat), []
    for length in lengths:
        found.append(next(values) if length is None else [next(values) for _ in range(length)])
    return tuple(found)


def _make_function(gradient: GradientFunction) -> type[Function]:
    operator = gradient.operator
    namespace, _, name = operator.parsed.name.partition("::")
    has_keywords = any(a.kwarg_only for a in operator.parsed.arguments)

    def forward(*flat: Any) -> Any:
        given: FlatValues = flat[-1]
        values = given.structured(flat[:-1])
        with AutoDispatchBelowAutograd():
            return given.flatten_results(operator.dispatch(values, operator.keys(values) & after_autograd))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        given = ctx._values = inputs[-1]
        if gradient.setup_context is None:
            return
        known: dict[str, Any] = {"ctx": ctx, "inputs": given.positional(inputs[:-1]), "output": given.results(output)}
        if has_keywords:
            known["keyword_only_inputs"] = given.keywords(inputs[:-1])
        gradient.setup_context(**known)

    def backward(ctx: Any, *grads: Any) -> Any:
        if gradient.backward is None:
            raise RuntimeError(
                f"Trying to backward through {overload_of(operator)} but no autograd formula was registered. Please use register_autograd to add one."
            )
        given: FlatValues = ctx._values
        structured = given.results(grads)
        needed = ctx.needs_input_grad
        ctx.needs_input_grad = given.positional(needed[:-1])
        try:
            found = gradient.backward(ctx, *(structured if isinstance(structured, tuple) else (structured,)))
        finally:
            ctx.needs_input_grad = needed
        return _flat_gradients(given, found if isinstance(found, tuple) else (found,))

    def vmap(info: Any, in_dims: tuple[Any, ...], *flat: Any) -> Any:
        given: FlatValues = flat[-1]
        rules = operator.kernels.vmap_rules
        if not rules:
            return _one_by_one(given, info.batch_size, in_dims[:-1], flat[:-1])
        output, dims = _checked_rule(rules[-1](info, given.positional(in_dims[:-1]), *given.positional(flat[:-1]), **given.keywords(flat[:-1])))
        if isinstance(output, list):  # lists are flat inside of a `Function`
            given.result_lengths, given.is_single = [len(output)], True
            return tuple(output), tuple(dims) if isinstance(dims, (list, tuple)) else dims
        return output, dims

    members = {"forward": staticmethod(forward), "setup_context": staticmethod(setup_context), "backward": staticmethod(backward), "vmap": staticmethod(vmap)}
    return type(f"GeneratedBackwardFor_{namespace}_{name}_{overload_of(operator)._overloadname}", (Function,), members)


def _flat_gradients(given: FlatValues, found: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients that ``backward`` returned, one for each tensor, and None for what is no positional argument.

    Raises:
        RuntimeError: lists have another structure than the inputs', torch's text.
    """
    positional = sum(not a.kwarg_only for a in given.operator.parsed.arguments)
    if len(found) != positional:
        return (*found, None)  # `Function` says what is wrong
    flat: list[Any] = []
    for length, value in zip(given.lengths, found):
        if length is None:
            flat.append(value)
        elif isinstance(value, (list, tuple)) and len(value) == length:
            flat += value
        else:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: "
                f"{value if value is None else type(value).__name__} (return from backward), a list of {length} tensors (inputs)"
            )
    return (*flat, *[None] * (len(given.flat) - len(flat)), None)


def _checked_rule(result: Any) -> tuple[Any, Any]:
    expected = "Expected the vmap function to have two returns, an output and out_dims with pytree structure compatible with the output. "
    if not isinstance(result, tuple):
        raise RuntimeError(f"{expected}Got a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(f"{expected}Got {len(result)} returns instead")
    return result


def _one_by_one(given: FlatValues, size: int, in_dims: Sequence[int | None], flat: Sequence[Any]) -> tuple[Any, Any]:
    """A whole batch without a rule for it: the operator is called for each element.

    Raises:
        RuntimeError: it is no function of its arguments, torch's text.
    """
    operator = given.operator
    if not operator.parsed.is_functional:
        raise RuntimeError(f"Batching rule not implemented for {operator.full_name}. We could not generate a fallback.")
    rows = []
    for k in range(size):
        values = given.structured([v if dim is None or v is None else v.select(dim, k) for v, dim in zip(flat, in_dims, strict=True)])
        rows.append(given.flatten_results(operator.run(values)))
    stack = lookup("stack")
    if isinstance(rows[0], tuple):
        found = tuple([stack(list(each), 0) if isinstance(each[0], Tensor) else each[0] for each in zip(*rows)])
        return found, tuple([0 if isinstance(f, Tensor) else None for f in found])
    return (stack(rows, 0), 0) if isinstance(rows[0], Tensor) else (rows[0], None)


# ---------------------------------------------------------------------------------------------------------------- without a formula
class _WarnNotImplemented(Function):
    """Puts results that depend on inputs in a way that nobody declared on the tape, where a backward pass warns."""

    @staticmethod
    def forward(ctx: Any, name: str, results: Sequence[Tensor], *inputs: Tensor) -> Any:  # type: ignore[override]
        ctx.name_of_operator, ctx.count = name, len(inputs)
        ctx.set_materialize_grads(False)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        warnings.warn(_NOT_REGISTERED.format(name=ctx.name_of_operator), stacklevel=2)
        return (None,) * (2 + ctx.count)


_WarnNotImplemented._backward_cls.__name__ = "WarnNotImplemented"


def without_formula(operator: UserOperator, values: tuple[Any, ...], rest: DispatchKeySet) -> Any:
    """Call the kernel of a device of an operator that has none for autograd: derivatives are those of what the kernel does, and a backward pass warns."""
    found = operator.dispatch(values, rest)
    if not thread.state.grad_enabled:
        return found
    inputs = [t for t in tensors_of(values) if t.requires_grad]
    if not inputs:
        return found
    name = operator.full_name
    outputs = [t for t in tensors_of(found if isinstance(found, tuple) else (found,)) if not any(t is i for i in tensors_of(values))]
    untracked = [t for t in outputs if not t.requires_grad and t._aval().differentiable]
    for output in outputs:
        if output.requires_grad and not thread.state.levels and thread.state.capture is None:  # hooks would end a capture
            output.register_hook(lambda gradient: warnings.warn(_NOT_REGISTERED.format(name=name), stacklevel=2))
    if untracked and not thread.state.levels and not thread.state.transforms:
        _WarnNotImplemented.apply(name, untracked, *inputs)
    return found
