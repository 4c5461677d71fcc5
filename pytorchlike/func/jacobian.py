"""Jacobians and Hessians: `jacrev`, `jacfwd`, `hessian`, by products with the vectors of the standard basis, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..autograd.vmap import _wraps, vmap
from ..core import pytree
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor
from .forward import jvp_of
from .reverse import argument_slice, vjp_of

__all__ = ["hessian", "jacfwd", "jacrev", "standard_basis"]


def standard_basis(tensors: Sequence[Tensor], chunk_size: int | None = None) -> Iterator[list[Tensor]]:
    """The unit vectors of a space that several tensors span together, in chunks: for each tensor its part of them, the vectors in dimension 0."""
    counts = [t.numel() for t in tensors]
    total = sum(counts)
    length = total if not chunk_size else min(chunk_size, total)
    for first in range(0, total, max(length, 1)):
        rows = min(length, total - first)
        parts, start = [], 0
        for tensor, count in zip(tensors, counts):
            part = lookup("new_zeros")(tensor, (rows, count))
            part.diagonal(first - start).fill_(1)
            parts.append(part.view(rows, *tensor.shape))
            start += count
        yield parts


def _refuse_complex(call: str, tree: Any, kind: str) -> None:
    for position, leaf in enumerate(pytree.leaves(tree)):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(f"{call}: Expected all {kind} to be real but received complex tensor at flattened input idx: {position}")


def jacrev(func: Callable, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable:  # fmt: skip
    """A function that computes the Jacobian of ``func`` by reverse mode.

    Args:
        argnums: the argument, or arguments, with respect to which.
        has_aux: ``func`` returns ``(output, aux)``; the new function returns ``(jacobian, aux)``.
        chunk_size: how many rows are computed at a time; None is all, 1 a loop.

    Returns:
        a function that returns, in the structure of the output, the structure of the arguments with tensors of size ``(*output, *argument)``.

    Raises:
        ValueError: ``chunk_size`` is not positive.
        RuntimeError: by the function returned, for complex tensors and what `vjp` refuses; torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.jacrev.html
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @_wraps(func)
    def jacobian(*args: Any) -> Any:
        _refuse_complex("jacrev", args, "inputs")
        output, vjp_fn, *aux = vjp_of(func, args, argnums, has_aux)
        outputs, output_spec = pytree.flatten(output)
        _refuse_complex("jacrev", outputs, "outputs")
        inputs, input_spec = pytree.flatten(argument_slice(args, argnums))
        parts: list[list[Tensor]] = []
        for basis in standard_basis(outputs, chunk_size):
            if chunk_size == 1:
                rows = [g.unsqueeze(0) for g in pytree.leaves(vjp_fn(pytree.unflatten([b.squeeze(0) for b in basis], output_spec)))]
            else:
                rows = pytree.leaves(vmap(vjp_fn)(pytree.unflatten(basis, output_spec)))
            parts.append(rows)
        cat = lookup("cat")
        stacked = parts[0] if len(parts) == 1 else [cat(list(column), 0) for column in zip(*parts)]
        split = [rows.split([o.numel() for o in outputs], 0) for rows in stacked]
        by_output = [
            pytree.unflatten([s[k].view(*o.shape, *x.shape) for s, x in zip(split, inputs)], input_spec) for k, o in enumerate(outputs)
        ]
        found = pytree.unflatten(by_output, output_spec)
        return (found, aux[0]) if has_aux else found

    return jacobian


def jacfwd(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """A function that computes the Jacobian of ``func`` by forward mode.

    Args:
        argnums, has_aux: see `jacrev`.
        randomness: see `vmap`.

    Raises:
        RuntimeError: by the function returned, for complex tensors and what `jvp` refuses; torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.jacfwd.html
    """

    @_wraps(func)
    def jacobian(*args: Any) -> Any:
        _refuse_complex("jacfwd", args, "inputs")
        varied = argument_slice(args, argnums)
        varied = (varied,) if isinstance(argnums, int) else varied
        inputs, input_spec = pytree.flatten(varied)

        def push(basis: Any) -> Any:
            output, product, *aux = jvp_of(func, args, basis, argnums, has_aux=has_aux)
            _refuse_complex("jacfwd", output, "outputs")
            return (product, aux[0]) if has_aux else product

        found = vmap(push, randomness=randomness)(pytree.unflatten(next(standard_basis(inputs)), input_spec))
        if has_aux:
            found, aux = found
            aux = pytree.tree_map(lambda t: t[0], aux)  # the same for every direction
        columns, output_spec = pytree.flatten(found)
        by_output = []
        for column in columns:
            split = column.movedim(0, -1).split([x.numel() for x in inputs], -1)
            parts = pytree.unflatten([s.reshape(*s.shape[:-1], *x.shape) for s, x in zip(split, inputs)], input_spec)
            by_output.append(parts[0] if isinstance(argnums, int) else parts)
        result = pytree.unflatten(by_output, output_spec)
        return (result, aux) if has_aux else result

    return jacobian


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """A function that computes the Hessian of ``func``: forward mode over reverse mode.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.hessian.html
    """
    return jacfwd(jacrev(func, argnums), argnums)
