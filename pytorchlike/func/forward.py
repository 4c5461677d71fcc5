"""Forward mode as transformations of functions: `jvp`, and `linearize`, which remembers the instructions of one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import pytree
from ..dispatch.forward import ForwardLevel, Linearization
from ..dispatch.levels import inside_transform, pop, push
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor
from .reverse import argument_slice, check_outputs, replaced, split_aux

__all__ = ["jvp", "jvp_of", "linearize"]

_CALL = "jvp(f, primals, tangents)"


def jvp(func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """The function's value, and its Jacobian times a vector.

    Args:
        func: takes and returns tensors (in nested containers).
        primals: its arguments, a tuple.
        tangents: the vector, in the structure of the arguments.
        strict: an output that does not depend on the arguments is an error rather than zeros.
        has_aux: ``func`` returns ``(output, aux)``.

    Returns:
        ``(output, product)``, or ``(output, product, aux)``.

    Raises:
        RuntimeError: arguments and vector do not fit; torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.jvp.html
    """
    return jvp_of(func, primals, tangents, None, strict=strict, has_aux=has_aux)


def jvp_of(func: Callable, primals: Any, tangents: Any, argnums: Any, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """`jvp` with respect to some of the arguments (None: all), to which ``tangents`` belong."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    varied = primals if argnums is None else _as_tuple(argument_slice(primals, argnums), argnums)
    flat, spec = pytree.flatten(varied)
    directions, directions_spec = pytree.flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(
            f"{_CALL}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, tangents "
            f"also must be. Got primals with structure {spec} and tangents with structure {directions_spec}"
        )
    for name, values in (("primals", flat), ("tangents", directions)):
        _check_tensors(values, name)
    level = ForwardLevel()
    push(level)
    try:
        duals = [level.make_dual(p, t) for p, t in zip(flat, directions)]
        entered = pytree.unflatten(duals, spec)
        with inside_transform():
            result = func(*(entered if argnums is None else replaced(primals, argnums, entered[0] if isinstance(argnums, int) else entered)))
        if has_aux:
            result, aux = split_aux(result, _CALL)
        outputs, output_spec = pytree.flatten(result)
        check_outputs(outputs, _CALL)
        found = [level.tangent(o) for o in outputs]
        written = [(p, d) for p, d in zip(flat, duals) if d._storage is not None and d._storage.version]
    finally:
        pop(level)
    for argument, dual in written:
        argument.copy_(dual)
    if strict and any(t is None for t in found):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True.")
    zeros = lookup("zeros_like")
    product = pytree.unflatten([zeros(o) if t is None else t for o, t in zip(outputs, found)], output_spec)
    return (result, product, aux) if has_aux else (result, product)


def _as_tuple(varied: Any, argnums: Any) -> tuple:
    return (varied,) if isinstance(argnums, int) else varied


def _check_tensors(values: Sequence[Any], name: str) -> None:
    """Refuse what is no tensor.

    Raises:
        RuntimeError: torch's texts.
    """
    if not values:
        raise RuntimeError(f"{_CALL}: Expected {name} to contain at least one Tensor.")
    for value in values:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{_CALL}: Expected {name} to only contain Tensors, got {type(value)}")


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """The function's value, and its Jacobian times vectors that come later, without evaluating the function again.

    Args:
        func: takes and returns tensors (in nested containers).
        primals: its arguments.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn(*tangents)`` takes what is shaped like the arguments.

    Raises:
        RuntimeError: ``jvp_fn`` was given vectors that do not fit, torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.linearize.html
    """
    flat, spec = pytree.flatten(primals)
    level = Linearization()
    push(level)
    try:
        inputs = [level.enter(p) for p in flat]
        with inside_transform():
            result = func(*pytree.unflatten(inputs, spec))
        outputs, output_spec = pytree.flatten(result)
        numbers = [level.number(o) if isinstance(o, Tensor) else None for o in outputs]
    finally:
        pop(level)
    avals = [(p.shape, p.device, p.dtype) for p in flat]
    zeros = lookup("zeros_like")

    def jvp_fn(*tangents: Any) -> Any:
        directions, given_spec = pytree.flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}")
        for position, (tangent, wanted) in enumerate(zip(directions, avals)):
            for kind, its, own in zip(("shape", "device", "dtype"), (tangent.shape, tangent.device, tangent.dtype), wanted):
                if its != own:
                    raise RuntimeError(
                        f"tangent:{position} with {kind} {its} in flattened pytree doesn't match the {kind} {own} of the corresponding primal."
                    )
        found = level.replay(directions)
        products = [o if not isinstance(o, Tensor) else zeros(o) if n is None else found[n] for o, n in zip(outputs, numbers)]
        return pytree.unflatten(products, output_spec)

    return result, jvp_fn
