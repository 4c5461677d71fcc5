"""`opcheck`: whether what was registered for an operator fits together, by calling it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.engine import grad
from ..core import pytree
from ..dispatch.overloads import OpOverload, OpOverloadPacket
from ..tensors.tensor import Tensor
from .custom_ops import CustomOpDef, shares_memory
from .keys import AUTOGRAD, COMPOSITE
from .matching import match
from .operators import UserOperator, tensors_of

__all__ = ["OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """A check of `opcheck` failed."""

    __module__ = "torch.testing._internal.optests.generate_tests"


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = (
    "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"), raise_exception: bool = True,
    atol: float | None = None, rtol: float | None = None) -> dict[str, Any]:  # fmt: skip
    """Check an operator on sample arguments.

    Args:
        op: a `CustomOpDef`, an overload or a packet.
        test_utils: "test_schema" (what it writes to and shares), "test_autograd_registration" (a gradient stands where it is looked for),
            "test_faketensor" (the fake kernel's shapes), "test_aot_dispatch_static" and "test_aot_dispatch_dynamic" (values and gradients when
            compiled), or several of them.
        raise_exception: raise where a check fails; else the exception is in what is returned.

    Returns:
        name of each check -> "SUCCESS", or its exception.

    Raises:
        OpCheckError: a check failed.
    """
    overload = op._opoverload if isinstance(op, CustomOpDef) else op.default if isinstance(op, OpOverloadPacket) else op
    if not isinstance(overload, OpOverload) or not isinstance(overload.declared, UserOperator):
        raise ValueError(f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got {type(op)}")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = set(names) - set(_CHECKS)
    if unknown:
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(_CHECKS)} but it was not")
    results: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](overload, args, kwargs or {}, atol, rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            results[name] = error
    return results


def _copied(values: Any) -> Any:
    """Arguments whose tensors are leaves of their own."""

    def copy(leaf: Any) -> Any:
        return leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, Tensor) else leaf

    leaves, spec = pytree.flatten(values)
    return pytree.unflatten([copy(leaf) for leaf in leaves], spec)


def _check_schema(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    schema = overload.declared.parsed
    args, kwargs = pytree_detached((args, kwargs))
    values = match(schema, args, kwargs)
    before = _copied(list(values))
    found = overload(*args, **kwargs)
    results = found if isinstance(found, tuple) and len(schema.returns) > 1 else (found,)
    for argument, value, old in zip(schema.arguments, values, before):
        changed = any(not bool(a.equal(b)) for a, b in zip(tensors_of((value,)), tensors_of((old,))) if a.isnan().any().item() is False)
        if changed and not argument.written:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        for result, declared in zip(results, schema.returns):
            shared = any(shares_memory(a, b) for a in tensors_of((value,)) for b in tensors_of((result,)))
            if shared and not (declared.alias_info and argument.alias_info and declared.alias_info.before_set & argument.alias_info.before_set):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
    for k, result in enumerate(results):
        for other in results[:k]:
            if any(shares_memory(a, b) for a in tensors_of((result,)) for b in tensors_of((other,))):
                raise RuntimeError("Outputs alias each other unexpectedly")


def pytree_detached(values: Any) -> Any:
    """Copies of arguments, off the tape."""
    leaves, spec = pytree.flatten(values)
    return pytree.unflatten([leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves], spec)


def _check_autograd(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    operator: UserOperator = overload.declared
    inputs = list(tensors_of((*args, *kwargs.values())))
    if not any(t.requires_grad for t in inputs) or operator.kernels.has(AUTOGRAD) or operator.kernels.has(COMPOSITE[-1]):
        return
    kinds = {f"{AUTOGRAD}{t.device.type.upper()}" for t in inputs}
    if any(operator.kernels.has(key) for key in kinds):
        return
    copied, named = _copied((args, kwargs))
    found = overload(*copied, **named)
    if any(t.requires_grad and not any(t is i for i in tensors_of(copied)) for t in tensors_of(found if isinstance(found, tuple) else (found,))):
        raise AssertionError(
            f"{operator.full_name}: at least one output of this operator has requires_grad=True but the operator does not have an autograd kernel defined "
            "at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have incorrectly registered an autograd kernel to a non-Autograd "
            "DispatchKey, which may lead to silently incorrect results. If your operator consists of regular PyTorch operations, consider not using an "
            "operator at all or registering your operator as CompositeImplicitAutograd. If you have an autograd.Function inside of a backend "
            "(CPU/CUDA) kernel, please refactor it so that it is registered to the Autograd key."
        )


def _check_fake(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    real_args, real_kwargs = pytree_detached((args, kwargs))
    real = overload(*real_args, **real_kwargs)
    leaves, spec = pytree.flatten(pytree_detached((args, kwargs)))
    fake_args, fake_kwargs = pytree.unflatten([leaf.to("meta") if isinstance(leaf, Tensor) else leaf for leaf in leaves], spec)
    fake = overload(*fake_args, **fake_kwargs)
    for a, b in zip(pytree.leaves(real), pytree.leaves(fake), strict=True):
        if not isinstance(a, Tensor):
            continue
        for what in ("shape", "dtype"):
            if getattr(a, what) != getattr(b, what):
                raise AssertionError(
                    f"When comparing the output of {overload} on FakeTensor and concrete Tensors, found mismatched tensor metadata: {what.capitalize()}s "
                    f"{getattr(a, what)} and {getattr(b, what)} are not equal!"
                )


def _check_compiled(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any], atol: Any, rtol: Any) -> None:
    from ..compiler import compile
    from ..testing import assert_close

    def call(values: Any) -> Any:
        return overload(*values[0], **values[1])

    def value_and_gradients(function: Callable) -> tuple[list[Any], list[Any]]:
        values = _copied((args, kwargs))
        found = [t for t in pytree.leaves(function(values)) if isinstance(t, Tensor)]
        inputs = [t for t in tensors_of(pytree.leaves(values)) if t.requires_grad]
        outputs = [t for t in found if t.requires_grad]
        gradients = grad([t.sum() for t in outputs], inputs, allow_unused=True) if inputs and outputs else ()
        return found, [g for g in gradients if g is not None]

    assert_close(value_and_gradients(compile(call)), value_and_gradients(call), atol=atol, rtol=rtol)


_CHECKS: dict[str, Callable] = {
    "test_schema": _check_schema, "test_autograd_registration": _check_autograd, "test_faketensor": _check_fake,
    "test_aot_dispatch_static": _check_compiled, "test_aot_dispatch_dynamic": _check_compiled,
}  # fmt: skip
