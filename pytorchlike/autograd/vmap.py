"""``vmap``: a function of single elements as a function of batches.

What happens to an operator inside is in ``dispatch/batching.py``; here the arguments and results are put into batches and taken out of them.
The public name is ``torch.func.vmap``; it stands in this layer because gradients with respect to many vectors at once need it, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core import pytree
from ..core.pytree import TreeSpec
from ..dispatch.batching import BatchLevel
from ..dispatch.levels import inside_transform, pop, push
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor

__all__ = ["over_batch", "over_vectors", "vmap"]


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None) -> Callable:
    """A function that calls ``func`` for each element of a batch, all at once.

    Args:
        func: takes tensors (in nested containers), returns tensors.
        in_dims: for each argument the dimension of the batch, or None for what is the same for every element; nested like the arguments.
        out_dims: where the results have the batch's dimension; None for results that are the same for every element.
        randomness: what random operators inside do: raise (``"error"``), draw for each element (``"different"``) or once (``"same"``).
        chunk_size: how many elements are computed at a time; None is all.

    Raises:
        RuntimeError, ValueError: torch's texts; those that concern the arguments are raised by the function returned.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @_wraps(func)
    def on_batches(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        size, dims, flat, spec = _batches(func, in_dims, args)
        run = functools.partial(over_batch, func, dims=dims, spec=spec, out_dims=out_dims, randomness=randomness, kwargs=kwargs)
        if chunk_size is None:
            return run(size, flat)
        return _in_chunks(run, size, chunk_size, dims, flat, out_dims, randomness)

    return on_batches


def _wraps(func: Callable) -> Callable:
    try:
        return functools.wraps(func)
    except AttributeError:  # no function
        return lambda wrapper: wrapper


def over_batch(func: Callable, size: int, flat: Sequence[Any], *, dims: Sequence[int | None], spec: TreeSpec, out_dims: Any, randomness: str,
               kwargs: dict[str, Any]) -> Any:  # fmt: skip
    """Call a function once for a whole batch.

    Args:
        size: the batch's size.
        flat, spec: the arguments.
        dims: for each of them the batch's dimension, or None.
    """
    level = BatchLevel(size, randomness)
    outer = [_to_front(a, dim) for a, dim in zip(flat, dims, strict=True)]
    push(level)
    try:
        inside = [a if dim is None else level.wrap(a, True) for a, dim in zip(outer, dims, strict=True)]
        with inside_transform():
            outputs = func(*pytree.unflatten(inside, spec), **kwargs)
        results, result_spec = pytree.flatten(outputs)
        result_dims = _result_dims(func, outputs, result_spec, out_dims)
        unwrapped = [_unwrap(func, level, r, dim) for r, dim in zip(results, result_dims, strict=True)]
        written = [
            (a, dim, level.unwrap(i)[0]) for a, dim, i in zip(flat, dims, inside) if dim is not None and i._storage is not None and i._storage.version
        ]
    finally:
        pop(level)
    for argument, dim, content in written:
        argument.copy_(content.movedim(0, dim))
    return pytree.unflatten([_from_front(r, dim, is_batched, size) for (r, is_batched), dim in zip(unwrapped, result_dims)], result_spec)


def _to_front(argument: Any, dim: int | None) -> Any:
    return argument if not dim else argument.movedim(dim, 0)


def _from_front(result: Any, dim: int | None, is_batched: bool, size: int) -> Any:
    if dim is None:
        return result
    if not is_batched:
        result = result.expand(size, *result.shape)
    return result.movedim(0, dim) if dim else result


def _unwrap(func: Callable, level: BatchLevel, result: Any, dim: int | None) -> tuple[Any, bool]:
    """A result as a tensor outside, and whether its first dimension is the batch.

    Raises:
        ValueError: no tensor, or one of a batch where none is to be; torch's texts.
    """
    if not isinstance(result, Tensor):
        if dim is None:
            return result, False
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(result)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    outer, is_batched = level.unwrap(result)
    if dim is None and is_batched:
        raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None")
    return outer, is_batched


# ---------------------------------------------------------------------------------------------------------------- arguments
def _name(func: Callable) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({_name(func.func)}, ...)"
    return repr(func)


def _check_out_dims(func: Callable, out_dims: Any) -> None:
    for dim in pytree.leaves(out_dims):
        if not isinstance(dim, int) and dim is not None:
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing "
                "where in the outputs the vmapped dimension should appear."
            )


def _batches(func: Callable, in_dims: Any, args: tuple[Any, ...]) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """The batch's size, and the arguments with the dimension of each.

    Raises:
        ValueError: dimensions that do not fit the arguments, torch's texts.
    """
    call = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    flat, spec = pytree.flatten(args)
    dims = pytree.broadcast(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure {pytree.flatten(in_dims)[1]} but inputs has "
            f"structure {spec}."
        )
    dims = [_checked_dim(call, argument, dim) for argument, dim in zip(flat, dims)]
    sizes = [argument.shape[dim] for argument, dim in zip(flat, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return sizes[0], dims, flat, spec


def _checked_dim(call: str, argument: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{call}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
    if not isinstance(argument, Tensor):
        raise ValueError(
            f"{call}Got in_dim={dim} for an input but the input is of type {type(argument)}. We cannot vmap over non-Tensor arguments, please use "
            "None as the respective in_dim"
        )
    ndim = argument.ndim
    if not -ndim <= dim < ndim:
        raise ValueError(
            f"{call}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so expected in_dim to satisfy "
            f"-{ndim} <= in_dim < {ndim}."
        )
    return dim % ndim


def _result_dims(func: Callable, outputs: Any, spec: TreeSpec, out_dims: Any) -> list[int | None]:
    """For each result where its batch dimension goes.

    Raises:
        ValueError: ``out_dims`` does not fit the results, torch's text.
    """
    found = pytree.broadcast(out_dims, spec)
    if isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        found = list(out_dims)
    if found is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {pytree.flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return found


# ---------------------------------------------------------------------------------------------------------------- chunks
def _in_chunks(run: Callable, size: int, chunk_size: int, dims: Sequence[int | None], flat: Sequence[Any], out_dims: Any, randomness: str) -> Any:
    """The function over one part of the batch after the other, the results joined."""
    starts = range(0, size, chunk_size)
    state = _generator().get_state() if randomness == "same" else None
    parts: list[list[Any]] = []
    spec = pytree.LEAF
    for start in starts:
        length = min(chunk_size, size - start)
        if state is not None:
            _generator().set_state(state)
        outputs = run(length, [a if dim is None else a.narrow(dim, start, length) for a, dim in zip(flat, dims)])
        results, spec = pytree.flatten(outputs)
        parts.append(results)
    result_dims = pytree.broadcast(out_dims, spec) or []
    joined = [lookup("cat")(list(column), dim) for column, dim in zip(zip(*parts), result_dims)]
    return pytree.unflatten(joined, spec)


def _generator() -> Any:
    """The generator whose numbers ``randomness="same"`` repeats in each chunk."""
    from ..tensors.generator import default_generator

    return default_generator


# ---------------------------------------------------------------------------------------------------------------- for the tape
def over_vectors(function: Callable, vectors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Call a function of vectors, such as a backward pass, for all rows of matrices at once.

    Args:
        function: returns a sequence of tensors and None.
        vectors: for each argument a tensor with the vectors in dimension 0, or None.
    """
    size = next(v.shape[0] for v in vectors if v is not None)
    level = BatchLevel(size)
    push(level)
    try:
        found = [r if r is None else level.unwrap(r) for r in function(*[v if v is None else level.wrap(v, True) for v in vectors])]
    finally:
        pop(level)
    return [r if r is None else _from_front(r[0], 0, r[1], size) for r in found]
