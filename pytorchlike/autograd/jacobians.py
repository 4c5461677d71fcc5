"""Jacobians of functions of tensors, for `gradcheck`: by finite differences, by backward and by forward mode.

They are numpy arrays of shape (elements of the input, elements of the output), as torch prints them.  Each evaluation is flushed by itself,
with the perturbed input as an array of its own, so that all of them run one program: only the first one compiles.

Ref: complex inputs, "conjugate Wirtinger derivative": section 3.5.3 of https://arxiv.org/abs/1701.00392
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..aten.sparse_create import sparse_coo_tensor
from ..core.dtype import from_numpy
from ..core.layouts import strided
from ..core.size import Size
from ..graph.value import aval_of, constant, on_device
from ..tensors.convert import from_numpy as from_numpy_array
from ..tensors.convert import host_array
from ..tensors.mutation import write_into
from ..tensors.tensor import Tensor, make_tensor
from . import forward_ad
from .engine import grad

__all__ = [
    "Analytical", "Direction", "analytical", "analytical_products", "as_tuple", "elements", "forward", "forward_products", "is_float", "memory",
    "numerical", "numerical_product", "specified", "to_tensor",
]  # fmt: skip

#: A vector to multiply a Jacobian with; for a complex input one for the real and one for the imaginary part.
Direction = np.ndarray | tuple[np.ndarray, np.ndarray]


def as_tuple(x: Any) -> tuple:
    """A function's results as a tuple."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def is_float(x: Any) -> bool:
    """Whether a thing is a tensor that can carry a gradient."""
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def to_tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """A new tensor of these elements, with the dtype and device of another tensor."""
    aval = aval_of(array.shape, like.dtype, like.device)
    return make_tensor(constant(on_device(np.array(array, like.dtype.numpy), like.device), aval))


def elements(x: Tensor) -> np.ndarray:
    """A tensor's elements on the host; those of a sparse one with its zeros."""
    x = x.detach()
    return host_array(x if x.layout is strided else x.to_dense(), "gradcheck")


def memory(x: Tensor) -> Tensor:
    """What holds the elements that can be moved: the tensor itself, or a sparse one's values."""
    return x if x.layout is strided else x.detach()._values()


def specified(x: Tensor) -> Tensor:
    """A sparse tensor that holds all its zeros; others as they are."""
    if x.layout is strided:
        return x
    sparse = tuple(x.shape[: x.sparse_dim()])
    indices = np.indices(sparse).reshape(len(sparse), -1)
    dense = x.detach().to_dense()
    values = dense.reshape(-1, *x.shape[x.sparse_dim() :])
    return sparse_coo_tensor(from_numpy_array(indices), values, tuple(x.shape), is_coalesced=True).requires_grad_(x.requires_grad)


def _rows(x: Tensor) -> list[int]:
    """For each element of `memory`, its row in the Jacobian."""
    if x.layout is strided:
        return list(range(x.numel()))
    places = np.arange(x.numel()).reshape(tuple(x.shape))[tuple(elements(x._indices()))]
    return [int(row) for row in places.ravel()]


# ---------------------------------------------------------------------------------------------------------------- finite differences
def numerical(function: Callable, inputs: Sequence[Any], position: int, eps: float, forward_mode: bool = False) -> list[np.ndarray | None]:
    """The Jacobian of each output (None for those of integers) with respect to one input, by central differences.

    Args:
        position: the input's place; its memory is written to and restored.
        forward_mode: complex outputs are meant (backward's are taken apart into real and imaginary parts before).
    """
    entry = memory(inputs[position])
    columns = []
    for index in np.ndindex(*entry.shape):
        direction = np.zeros(tuple(entry.shape), _real(entry.dtype.numpy))
        direction[index] = 1
        columns.append(numerical_product(function, inputs, position, (direction, direction) if entry.is_complex() else direction, eps, forward_mode, index))
    if not columns:
        shapes = [o.numel() if is_float(o) else None for o in as_tuple(function(*inputs))]
        return [None if n is None else np.zeros((inputs[position].numel(), n)) for n in shapes]
    rows, size = _rows(inputs[position]), inputs[position].numel()
    return [None if found[0] is None else _placed(np.stack(found), rows, size) for found in zip(*columns)]  # type: ignore[arg-type]


def _placed(array: np.ndarray, rows: list[int], size: int) -> np.ndarray:
    full = np.zeros((size, *array.shape[1:]), array.dtype)
    full[rows] = array
    return full


def numerical_product(function: Callable, inputs: Sequence[Any], position: int, direction: Direction, eps: float, forward_mode: bool = False,
                      index: tuple[int, ...] | None = None) -> list[np.ndarray | None]:  # fmt: skip
    """The Jacobian of each output times a direction of one input, by central differences.

    Args:
        index: the element that is moved, for messages.
    """
    entry = memory(inputs[position])
    original = np.array(elements(entry))

    def along(step: np.ndarray) -> list[np.ndarray | None]:
        low, high = [_evaluate(function, inputs, entry, original + sign * step) for sign in (-1, 1)]
        _write(entry, original)
        for a, b in zip(low, high, strict=True):
            _check_same(a, b, eps, index)
        return [(b - a).ravel() / (2 * eps) if b.dtype.kind not in "biu" else None for a, b in zip(low, high, strict=True)]

    parts = [d.reshape(original.shape) * eps for d in (direction if isinstance(direction, tuple) else (direction,))]
    real = along(parts[0].astype(original.dtype))
    if not entry.is_complex():
        assert forward_mode or not any(r is not None and np.iscomplexobj(r) for r in real), "complex outputs come in two real parts"
        return real
    return [None if r is None or i is None else r + 1j * i for r, i in zip(real, along(parts[1] * 1j), strict=True)]


def _real(dtype: np.dtype) -> Any:
    return np.empty(0, dtype).real.dtype


def _evaluate(function: Callable, inputs: Sequence[Any], entry: Tensor, array: np.ndarray) -> list[np.ndarray]:
    _write(entry, array)
    return [np.array(elements(o)) for o in as_tuple(function(*inputs))]


def _write(entry: Tensor, array: np.ndarray) -> None:
    """Put elements into a tensor's memory, unseen by the tape (the function may use the tensor itself rather than its argument)."""
    aval = aval_of(tuple(entry.shape), entry.dtype, entry.device)
    write_into(entry.data, constant(on_device(np.array(array, aval.dtype.numpy), aval.device), aval))


def _check_same(low: np.ndarray, high: np.ndarray, eps: float, index: tuple[int, ...] | None) -> None:
    where = "" if index is None else f"on index {index} "
    for what, a, b in (("shape", Size(low.shape), Size(high.shape)), ("dtype", from_numpy(low.dtype), from_numpy(high.dtype))):
        if a != b:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but got: {what}s {a} and {b}."
            )


# ---------------------------------------------------------------------------------------------------------------- backward
class Analytical:
    """The Jacobians of one output by backward, one for each input, and what was noticed on the way.

    Attributes:
        jacobians: arrays; a missing gradient is zero.
        sizes_fit, dtypes_fit: whether the gradients had the shapes and dtypes of their inputs.
        spread: the greatest difference between two runs with the same gradient of the output.
    """

    def __init__(self, leaves: Sequence[Tensor], count: int) -> None:
        self.jacobians = [np.zeros((x.numel(), count), x.dtype.numpy) for x in leaves]
        self.sizes_fit = True
        self.dtypes_fit = True
        self.spread = 0.0

    def add(self, column: int, leaves: Sequence[Tensor], first: Sequence[Tensor | None], second: Sequence[Tensor | None]) -> None:
        """Put the gradients of one pass into their columns."""
        for jacobian, x, one, other in zip(self.jacobians, leaves, first, second, strict=True):
            if one is None:
                continue
            self.sizes_fit &= one.shape == x.shape
            self.dtypes_fit &= one.dtype is x.dtype
            jacobian[:, column] = elements(one).ravel()
            if other is not None and x.numel():
                self.spread = max(self.spread, float(np.abs(elements(one) - elements(other)).max()))


def analytical(output: Tensor, leaves: Sequence[Tensor]) -> Analytical:
    """The Jacobians of an output, one backward pass (run twice) for each of its elements."""
    found = Analytical(leaves, output.numel())
    for column, index in enumerate(np.ndindex(*output.shape)):
        direction = np.zeros(tuple(output.shape))
        direction[index] = 1
        found.add(column, leaves, *_two_passes(output, leaves, direction))
    return found


def analytical_products(output: Tensor, leaves: Sequence[Tensor], direction: np.ndarray) -> Analytical:
    """The Jacobians of an output times a direction of the output, as a single column each."""
    found = Analytical(leaves, 1)
    found.add(0, leaves, *_two_passes(output, leaves, direction.reshape(tuple(output.shape))))
    return found


def _two_passes(output: Tensor, leaves: Sequence[Tensor], direction: np.ndarray) -> list[tuple]:
    """The same gradients twice.  Both are recorded before either is computed, so rounding is the same unless the function's own code differs."""
    return [grad(output, leaves, to_tensor(direction, output), retain_graph=True, allow_unused=True) for _ in range(2)]


# ---------------------------------------------------------------------------------------------------------------- forward mode
def forward(function: Callable, inputs: Sequence[Any], count: int, mismatch: type[Exception] | None = None) -> list[list[np.ndarray]]:
    """The Jacobians by forward mode: for each input on the tape, one for each output that can carry a gradient.

    Args:
        count: how many outputs there are of those.
        mismatch: raise this where a tangent is complex and its output is not, or the other way round.
    """
    found = []
    for position in _on_tape(inputs):
        x = inputs[position]
        rows = []
        for index in np.ndindex(*x.shape):
            direction = np.zeros(tuple(x.shape))
            direction[index] = 1
            rows.append(_tangents(function, inputs, position, direction, mismatch))
        found.append([np.stack([row[k] for row in rows]) if rows else np.zeros((0, 0)) for k in range(count)])
    return found


def forward_products(function: Callable, inputs: Sequence[Any], directions: Sequence[np.ndarray], mismatch: type[Exception] | None) -> list[list[np.ndarray]]:
    """The Jacobians by forward mode, each times a direction of its input."""
    positions = _on_tape(inputs)
    return [_tangents(function, inputs, p, d.reshape(tuple(inputs[p].shape)), mismatch) for p, d in zip(positions, directions, strict=True)]


def _on_tape(inputs: Sequence[Any]) -> list[int]:
    return [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]


def _tangents(function: Callable, inputs: Sequence[Any], position: int, direction: np.ndarray, mismatch: type[Exception] | None) -> list[np.ndarray]:
    """The flattened tangents of the outputs for a tangent of one input; the other inputs' are zero."""
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(x.detach(), to_tensor(direction if k == position else np.zeros(tuple(x.shape)), x))
            if isinstance(x, Tensor) and x.requires_grad
            else x
            for k, x in enumerate(inputs)
        ]
        found = []
        for output in filter(is_float, as_tuple(function(*duals))):
            value, tangent = forward_ad.unpack_dual(output)
            if mismatch is not None and tangent is not None and value.is_complex() != tangent.is_complex():
                raise mismatch("Forward AD gradient has dtype mismatch.")
            zeros = np.zeros(math.prod(value.shape), value.dtype.numpy)
            found.append(zeros if tangent is None else np.array(elements(tangent)).ravel())
    return found
