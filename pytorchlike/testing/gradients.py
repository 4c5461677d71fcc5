"""`compare_gradients`: the gradients of one function of tensors, found in four ways and compared pair by pair.

==============  ==================================================================================================
``tape``        the tape: ``autograd.grad`` (the operators' rules, replayed by the engine)
``rules``       ``jax.grad`` of the function, with each operator's rule as its ``jax.custom_vjp``
``jax``         ``jax.grad`` of the function, operators differentiated by JAX
``differences`` central differences
==============  ==================================================================================================

The first two agree wherever the tape is sound.  The third differs where torch's convention at a tie or kink is not JAX's; there, and at jumps,
finite differences mean nothing either.  See docs/gradients.md.

The functions `by_tape`, `by_jax` and `by_differences` are the four ways one by one.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..autograd.engine import grad
from ..autograd.grad_mode import no_grad
from ..autograd.jacobians import as_tuple, elements, is_float, to_tensor
from ..core import dtype as dtypes
from ..dispatch.custom_vjp import rules_for_jax
from ..graph import executors
from ..nn.modules.module import Module
from ..nn.utils.stateless import functional_call
from ..tensors.convert import from_jax
from ..tensors.generator import default_generator
from ..tensors.tensor import Tensor

__all__ = [
    "WAYS", "Difference", "GradientTable", "assert_gradients_agree", "by_differences", "by_jax", "by_tape", "compare_gradients", "loss_on_arrays",
    "weights_for",
]  # fmt: skip

#: The four ways, as `compare_gradients` takes them.
WAYS = ("tape", "rules", "jax", "differences")
#: dtype -> (rtol, atol) between exact ways; the lowest precision among the inputs counts.
_TOLERANCES = {
    dtypes.float64: (1e-9, 1e-11), dtypes.complex128: (1e-9, 1e-11), dtypes.float32: (1e-4, 1e-6), dtypes.complex64: (1e-4, 1e-6),
    dtypes.bfloat16: (5e-2, 1e-2), dtypes.float16: (1e-2, 1e-3),
}  # fmt: skip
#: (rtol, atol) where finite differences take part, as `gradcheck` has them.
_DIFFERENCES_TOLERANCE = (1e-3, 1e-5)
_DOUBLE = (dtypes.float64, dtypes.complex128)


@dataclass(frozen=True)
class Difference:
    """How far two ways are apart for one input: the greatest absolute and relative difference, and whether that is within the tolerance."""

    input: str
    pair: tuple[str, str]
    absolute: float
    relative: float
    agrees: bool


@dataclass(frozen=True)
class GradientTable:
    """What `compare_gradients` found; prints as a table.

    Attributes:
        gradients: way -> input's name -> gradient, a numpy array in torch's convention.
        differences: one row for each input and pair of ways.
    """

    gradients: dict[str, dict[str, np.ndarray]]
    differences: list[Difference]

    @property
    def agrees(self) -> bool:
        """Whether every pair is within the tolerance."""
        return all(row.agrees for row in self.differences)

    def __str__(self) -> str:
        head = [("input", "pair", "max abs", "max rel", "")]
        rows = [(d.input, " - ".join(d.pair), f"{d.absolute:.1e}", f"{d.relative:.1e}", "" if d.agrees else "differs") for d in self.differences]
        widths = [max(len(row[k]) for row in head + rows) for k in range(5)]
        return "\n".join("  ".join(cell.ljust(n) for cell, n in zip(row, widths)).rstrip() for row in head + rows)


# ---------------------------------------------------------------------------------------------------------------- entry points
def compare_gradients(
    function: Callable,
    *inputs: Any,
    ways: Sequence[str] = WAYS,
    rtol: float | None = None,
    atol: float | None = None,
    eps: float = 1e-6,
    raise_exception: bool = True,
) -> GradientTable:
    """Find the gradients of a function in several ways and compare each pair.

    Args:
        function: a function of tensors that returns one or several; or a module, whose parameters then count as inputs, too.
        inputs: its arguments.  Compared are the gradients of the tensors that require one (of all floating ones, if none does).
        ways: which ones, of `WAYS`; finite differences are left out where an input is not of double precision.
        rtol, atol: tolerance between the exact ways, by default 1e-9 and 1e-11 in double precision (finite differences have 1e-3 and 1e-5).
        eps: how far finite differences move the elements.
        raise_exception: raise where a pair disagrees, rather than only say so in the table.

    An output that is no single real number is multiplied with fixed random weights and summed.  Random operators draw the same numbers each time.

    Returns:
        the table of differences, with the gradients.

    Raises:
        AssertionError: a pair of ways disagrees; the text is the table.
        ValueError: an unknown way, or no input that could have a gradient.
    """
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        raise ValueError(f"compare_gradients: unknown way {unknown[0]!r}, there are {', '.join(WAYS)}")
    function, arguments, names = _prepared(function, inputs)
    leaves = [arguments[k] for k in names]
    if not leaves:
        raise ValueError("compare_gradients expects at least one floating point or complex tensor among the inputs")
    if any(x.dtype not in _DOUBLE for x in leaves):
        ways = [way for way in ways if way != "differences"]
    positions = list(names)
    with _same_draws():
        weights = weights_for(_outputs(function, _copies(arguments)))
    gradients: dict[str, dict[str, np.ndarray]] = {}
    for way in ways:
        with _same_draws():
            found = _gradients(way, function, arguments, positions, weights, eps)
        gradients[way] = dict(zip(names.values(), found, strict=True))
    exact = _tolerance(leaves, rtol, atol)
    differences = [
        _difference(name, pair, gradients[pair[0]][name], gradients[pair[1]][name], _DIFFERENCES_TOLERANCE if "differences" in pair else exact)
        for name in names.values()
        for pair in itertools.combinations(ways, 2)
    ]
    table = GradientTable(gradients, differences)
    if raise_exception and not table.agrees:
        raise AssertionError(f"gradients disagree\n{table}")
    return table


def assert_gradients_agree(function: Callable, *inputs: Any, **options: Any) -> None:
    """`compare_gradients` for tests: nothing when all ways agree, else an AssertionError whose text is the table.

    Args:
        options: those of `compare_gradients`.
    """
    __tracebackhide__ = True
    table = compare_gradients(function, *inputs, **options, raise_exception=False)
    if not table.agrees:
        raise AssertionError(f"gradients disagree\n{table}")


# ---------------------------------------------------------------------------------------------------------------- the ways
def by_tape(function: Callable, arguments: Sequence[Any], positions: Sequence[int], weights: Sequence[np.ndarray]) -> list[Tensor]:
    """The gradients by the tape, for the arguments at some positions.

    Args:
        weights: what each output is multiplied with (see `weights_for`); real outputs are multiplied, complex ones conjugated first.
    """
    arguments = _copies(arguments)
    for k in positions:
        arguments[k].requires_grad_()
    outputs = _outputs(function, arguments)
    pairs = [(o, to_tensor(w, o)) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    leaves = [arguments[k] for k in positions]
    if not pairs:
        return [to_tensor(np.zeros(tuple(x.shape)), x) for x in leaves]
    return list(grad([o for o, _ in pairs], leaves, [w for _, w in pairs], allow_unused=True, materialize_grads=True))


def by_jax(function: Callable, arguments: Sequence[Any], positions: Sequence[int], weights: Sequence[np.ndarray], rules: bool,
           arrays: Sequence[Any] | None = None) -> list[Any]:  # fmt: skip
    """The gradients by ``jax.grad``, as ``jax.Array``s; may be called inside ``jax.jit``.

    Args:
        rules: have JAX use the operators' rules.
        arrays: what the arguments at the positions hold; by default their own elements.
    """
    values = [jnp.asarray(elements(arguments[k])) for k in positions] if arrays is None else list(arrays)
    gradient = jax.grad(loss_on_arrays(function, arguments, positions, weights), tuple(range(len(values))))
    if not rules:
        return [jnp.conj(g) for g in gradient(*values)]
    with rules_for_jax():
        return [jnp.conj(g) for g in gradient(*values)]


def loss_on_arrays(function: Callable, arguments: Sequence[Any], positions: Sequence[int], weights: Sequence[np.ndarray]) -> Callable:
    """The function whose gradient is meant, for JAX: arrays of the arguments at the positions -> weighted sum of the outputs."""

    def loss(*values: Any) -> Any:
        with executors.inside_jax():
            full = _copies(arguments)
            for k, value in zip(positions, values, strict=True):
                full[k] = from_jax(value)
            results = [o._content().array for o in _outputs(function, full)]
        return sum(jnp.real(jnp.sum(jnp.conj(w) * r)) for w, r in zip(weights, results, strict=True))

    return loss


def by_differences(function: Callable, arguments: Sequence[Any], positions: Sequence[int], weights: Sequence[np.ndarray], eps: float = 1e-6) -> list[np.ndarray]:
    """The gradients by central differences, element by element."""
    arguments = _copies(arguments)
    found = []
    for k in positions:
        x = arguments[k]
        gradient = np.zeros(tuple(x.shape), x.dtype.numpy)
        for index in np.ndindex(*x.shape):
            for unit in (1, 1j) if x.is_complex() else (1,):
                gradient[index] += unit * _slope(function, arguments, k, index, unit, weights, eps)
        found.append(gradient)
    return found


def _slope(function: Callable, arguments: list, position: int, index: tuple, unit: complex, weights: Sequence[np.ndarray], eps: float) -> float:
    """The derivative of the weighted sum of the outputs along one element (``unit`` 1j: along its imaginary part)."""
    original = arguments[position]
    sums = []
    for sign in (-1, 1):
        moved = np.array(elements(original))
        moved[index] += sign * eps * unit
        arguments[position] = to_tensor(moved, original)
        with _same_draws(), no_grad():
            results = [elements(o) for o in _outputs(function, _copies(arguments))]
        sums.append(sum(float(np.real(np.sum(np.conj(w) * r))) for w, r in zip(weights, results, strict=True)))
    arguments[position] = original
    return (sums[1] - sums[0]) / (2 * eps)


def weights_for(outputs: Sequence[Tensor]) -> list[np.ndarray]:
    """Fixed random weights for outputs, 1 for a single real number: the gradient is that of the weighted sum (of its real part)."""
    if len(outputs) == 1 and outputs[0].numel() == 1 and not outputs[0].is_complex():
        return [np.ones(tuple(outputs[0].shape))]
    random = np.random.default_rng(0)
    found = []
    for output in outputs:
        shape = tuple(output.shape)
        weight = random.uniform(0.5, 1.5, shape)
        found.append(np.asarray(weight + 1j * random.uniform(-1, 1, shape) if output.is_complex() else weight).astype(output.dtype.numpy))
    return found


def _copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments with tensors of their own, so that the function may write to them."""
    return [to_tensor(elements(a), a) if isinstance(a, Tensor) else a for a in arguments]


def _outputs(function: Callable, arguments: Sequence[Any]) -> list[Tensor]:
    return [r for r in as_tuple(function(*arguments)) if is_float(r)]


@contextmanager
def _same_draws() -> Iterator[None]:
    """Leave the random stream where it was."""
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


# ---------------------------------------------------------------------------------------------------------------- the comparison
def _prepared(function: Callable, inputs: Sequence[Any]) -> tuple[Callable, list[Any], dict[int, str]]:
    """(function, arguments, position -> name of those whose gradients are compared); a module's parameters come after its inputs."""
    arguments = list(inputs)
    floats = [k for k, x in enumerate(arguments) if is_float(x)]
    called: Callable = function
    if isinstance(function, Module):
        module, count = function, len(arguments)
        parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        buffers = dict(module.named_buffers())
        arguments += parameters.values()

        def called(*full: Any) -> Any:
            held = dict(zip(parameters, full[count:], strict=True)) | {name: b.clone() for name, b in buffers.items()}
            return functional_call(module, held, full[:count])

        wanted = [k for k in floats if inputs[k].requires_grad]
        names = {k: f"input {k}" for k in wanted} | {count + k: name for k, name in enumerate(parameters)}
    else:
        wanted = [k for k in floats if inputs[k].requires_grad] or floats
        own = _parameter_names(function, len(arguments))
        names = {k: own[k] for k in wanted}
    return called, arguments, names


def _parameter_names(function: Callable, count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [plain[k] if k < len(plain) else f"input {k}" for k in range(count)]


def _gradients(way: str, function: Callable, arguments: list, positions: list[int], weights: list[np.ndarray], eps: float) -> list[np.ndarray]:
    if way == "tape":
        return [np.array(elements(g)) for g in by_tape(function, arguments, positions, weights)]
    if way == "differences":
        return by_differences(function, arguments, positions, weights, eps)
    with jax.enable_x64(True):
        values = [jnp.asarray(elements(arguments[k])) for k in positions]
        compute = jax.jit(lambda values: by_jax(function, arguments, positions, weights, way == "rules", values))
        return [np.asarray(g) for g in compute(values)]


def _tolerance(leaves: Sequence[Tensor], rtol: float | None, atol: float | None) -> tuple[float, float]:
    defaults = [_TOLERANCES.get(x.dtype, (1e-1, 1e-1)) for x in leaves]
    return max(d[0] for d in defaults) if rtol is None else rtol, max(d[1] for d in defaults) if atol is None else atol


def _difference(name: str, pair: tuple[str, str], a: np.ndarray, b: np.ndarray, tolerance: tuple[float, float]) -> Difference:
    rtol, atol = tolerance
    a, b = [x.astype(np.complex128 if np.iscomplexobj(x) else np.float64) for x in (a, b)]
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
        size = np.maximum(np.abs(a), np.abs(b))
        relative = np.where(apart == 0, 0, apart / size)
        agrees = np.allclose(a, b, rtol, atol, equal_nan=True)
    return Difference(name, pair, float(apart.max(initial=0)), float(relative.max(initial=0)), bool(agrees))
