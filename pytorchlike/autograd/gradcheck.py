"""`gradcheck` and `gradgradcheck`: derivatives of a function of tensors against finite differences, with torch's checks and texts.

A function with complex outputs is checked as two functions, its real and its imaginary part; forward mode takes complex inputs apart in the
same way.  The fast mode compares products of the Jacobians with random vectors instead of the Jacobians.

Ref: https://docs.pytorch.org/docs/stable/notes/gradcheck.html
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core.layouts import sparse_coo, strided
from ..dispatch.registry import lookup
from ..tensors.convert import from_numpy
from ..tensors.generator import Generator
from ..tensors.tensor import Tensor
from . import forward_ad, jacobians
from .engine import grad
from .function import Function
from .jacobians import Direction, as_tuple, elements, is_float, memory, specified, to_tensor
from .vmap import vmap

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative that `gradcheck` or `gradgradcheck` found wrong."""


_NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, although analytical "
    "gradient matches numerical gradient.The tolerance for nondeterminism was {tolerance}.\n\nNOTE: If your op relies on non-deterministic "
    "operations i.e., it is listed here:\nhttps://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html\nthis failure might be "
    "expected.\n"
)
_STRIDE_0 = (
    "The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to compute the "
    "numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
)
_LOW_PRECISION = (
    "Input #{position} requires gradient and is not a double precision floating point or complex. This check will likely fail if all the inputs "
    "are not of double precision floating point or complex. "
)
_SPARSE_OUTPUT = (
    "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for gradcheck."
)
_UNDEFINED = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
_UNDEFINED_IS_NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of this "
    'function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)
_FAST_MODE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. See: "
    "https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. Below, we recompute numerical and analytical jacobians "
    "in slow mode:\n\nNumerical:\n {numerical}\nAnalytical:\n{analytical}\n\nThe max per-element difference (slow mode) is: {difference}.\n"
)
_SLOW_MODE_WOULD_DO = (
    "Fast gradcheck failed but element-wise differences are small. This means that the\ntest might've passed in slow_mode!"
)
_BATCHED = "gradcheck or gradgradcheck failed while testing batched gradient computation."
_BATCHED_FORWARD = "gradcheck failed while testing batched gradient computation with forward-mode AD."


@dataclass(frozen=True)
class _Options:
    """How closely, and what, is checked."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool
    masked: bool | None


@dataclass(frozen=True)
class _Part:
    """The function in hand: all of it, or the real or imaginary part of complex outputs (backward) or inputs (forward mode).

    Attributes:
        results: what it returned for these inputs; ``outputs`` are those of them that are on the tape.
        complex_positions: the outputs (forward mode: inputs) that were taken apart; ``imaginary`` says which half this is.
    """

    function: Callable
    inputs: tuple
    results: tuple
    forward_mode: bool = False
    complex_positions: frozenset[int] = field(default=frozenset())
    imaginary: bool = False

    @property
    def outputs(self) -> list[Tensor]:
        return [r for r in self.results if r.requires_grad]

    @property
    def leaves(self) -> list[Tensor]:
        return [x for x in self.inputs if isinstance(x, Tensor) and x.requires_grad]

    @property
    def leaf_positions(self) -> list[int]:
        return [k for k, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]


# ---------------------------------------------------------------------------------------------------------------- entry points
def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func`` are those that finite differences give, within ``atol + rtol * |numerical|``.

    Args:
        func: a function of the inputs that returns a tensor or several.
        inputs: a tensor or a tuple; those that require a gradient are checked, and should be of double precision.
        eps: how far the elements are moved.
        raise_exception: raise what was found rather than return False.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: missing gradients of outputs are to be taken as zeros.
        check_grad_dtypes: gradients are to have their inputs' dtypes.
        check_batched_grad: several gradients of an output at once (by vmap) are to give what one after the other gives.
        check_batched_forward_grad: the same for tangents of the inputs.
        check_forward_ad, check_backward_ad: which of the two modes is checked.
        fast_mode: compare the Jacobians' products with random vectors (not those of sparse inputs).
        masked: only elements that a sparse input holds are moved; and the gradient of a zero gradient need only be near zero.

    Raises:
        GradcheckError: a wrong derivative; torch's text.
        ValueError: no input requires a gradient, or an output is sparse.
        RuntimeError: an input whose elements overlap in memory.
        NotImplementedError: a sparse input of another layout than COO.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    options = _Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, check_batched_forward_grad, check_forward_ad,
        check_backward_ad, fast_mode, masked,
    )  # fmt: skip
    try:
        _check(func, as_tuple(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of ``func`` are right: `gradcheck` of its backward pass.

    Args:
        grad_outputs: gradients of the outputs to start from; by default random ones between -1 and 1.
        gen_non_contig_grad_outputs: the random ones are not contiguous.
        check_fwd_over_rev, check_rev_over_rev: forward mode over backward, backward over backward.

    The other arguments, and what is raised, are those of `gradcheck`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        gradients = tuple([_random_gradient(o, gen_non_contig_grad_outputs) for o in _on_tape(as_tuple(func(*given)))])
    else:
        gradients = as_tuple(grad_outputs)
    count = len(gradients)
    needed = [isinstance(x, Tensor) and x.requires_grad for x in (*given, *gradients)]  # forward mode takes the inputs off the tape

    def backward(*arguments: Any) -> tuple[Tensor, ...]:
        on_tape = [x.requires_grad_() if need else x for x, need in zip(arguments, needed, strict=True)]
        outputs = _on_tape(as_tuple(func(*on_tape[:-count])))
        leaves = [x for x, need in zip(on_tape[:-count], needed, strict=False) if need]
        found = grad(outputs, leaves, on_tape[-count:], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        backward, (*given, *gradients), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


def _random_gradient(output: Tensor, noncontiguous: bool) -> Tensor:
    """A gradient for an output, drawn as torch draws it."""
    size = tuple(output.shape)
    noncontiguous = noncontiguous and output.numel() > 1
    if noncontiguous:
        size = (*size[:-1], 2 * size[-1])
    real = output.dtype.to_real() if is_float(output) else dtypes.float64
    parts = lookup("empty")((*size, 2) if output.is_complex() else size, dtype=real, device=output.device).uniform_(-1, 1)
    found = lookup("complex")(*parts.unbind(-1)) if output.is_complex() else parts
    return (found[..., 1::2] if noncontiguous else found).requires_grad_()


def _on_tape(results: Iterable[Any]) -> list[Tensor]:
    return [r for r in results if r.requires_grad]


# ---------------------------------------------------------------------------------------------------------------- the checks in order
def _check(function: Callable, inputs: tuple, options: _Options) -> None:
    _check_inputs(inputs)
    results = as_tuple(function(*inputs))
    if any(r.layout is not strided for r in _on_tape(results)):
        raise ValueError(_SPARSE_OUTPUT)
    whole = _Part(function, inputs, results)
    if options.check_backward_ad:
        for part in _parts_of_outputs(whole):
            _compare(part, options)
    if options.check_forward_ad:
        parts = _parts_of_inputs(whole)
        for part in parts:
            _compare(part, options)
        if options.check_undefined_grad:
            for part in parts:
                _check_undefined_tangents(part)
    if options.check_batched_forward_grad:
        for k, x in enumerate(inputs):
            if is_float(x) and x.requires_grad:
                _check_batched_forward(function, inputs, k)
    if not options.check_backward_ad:
        return
    if options.check_batched_grad:
        for k, output in enumerate(whole.outputs):
            _check_batched(whole.leaves, output, k)
    _check_multiplied(whole, options.masked)
    if options.check_undefined_grad:
        _check_undefined_gradients(whole)


def _check_inputs(inputs: tuple) -> None:
    on_tape = [(k, x) for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    for position, x in on_tape:
        if x.layout not in (strided, sparse_coo):
            raise NotImplementedError(f"gradcheck of a {x.layout} input (number {position}) is not supported; check a function of its values")
        if x.dtype not in (dtypes.float64, dtypes.complex128):
            warnings.warn(_LOW_PRECISION.format(position=position), stacklevel=4)
        if any(step <= 0 and n > 1 for step, n in zip(memory(x).stride(), memory(x).shape)):
            raise RuntimeError(_STRIDE_0.format(position=position))
    if not on_tape:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")


def _parts_of_outputs(whole: _Part) -> list[_Part]:
    """The function's imaginary and real parts, if an output is complex; else itself."""
    if not any(r.is_complex() for r in whole.results):
        return [whole]

    def part(name: str) -> _Part:
        def function(*inputs: Any) -> tuple:
            return tuple([getattr(r, name) if r.is_complex() else r for r in as_tuple(whole.function(*inputs))])

        positions = frozenset(k for k, o in enumerate(whole.outputs) if o.is_complex())
        return _Part(function, whole.inputs, function(*whole.inputs), complex_positions=positions, imaginary=name == "imag")

    return [part("imag"), part("real")]


def _parts_of_inputs(whole: _Part) -> list[_Part]:
    """The function of the imaginary parts and of the real parts of complex inputs (the other half held), if there are any; else itself."""
    positions = frozenset(k for k, x in enumerate(whole.inputs) if isinstance(x, Tensor) and x.is_complex())
    if not positions:
        return [replace(whole, forward_mode=True)]

    def part(name: str) -> _Part:
        def joined(k: int, half: Tensor) -> Tensor:
            original = whole.inputs[k].detach()
            return half + original.imag * 1j if name == "real" else original.real + half * 1j

        def function(*halves: Any) -> tuple:
            return as_tuple(whole.function(*[joined(k, x) if k in positions else x for k, x in enumerate(halves)]))

        halves = tuple([
            getattr(x.detach(), name).clone().requires_grad_(x.requires_grad) if k in positions else x for k, x in enumerate(whole.inputs)
        ])  # fmt: skip
        return _Part(function, halves, function(*halves), forward_mode=True, complex_positions=positions, imaginary=name == "imag")

    return [part("imag"), part("real")]


def _compare(part: _Part, options: _Options) -> None:
    if options.fast_mode and all(x.layout is strided for x in part.leaves):
        _compare_products(part, options)
    else:
        _compare_jacobians(part, options)


# ---------------------------------------------------------------------------------------------------------------- slow and fast
def _compare_jacobians(part: _Part, options: _Options) -> None:
    moved = part.inputs if options.masked else tuple([specified(x) if isinstance(x, Tensor) else x for x in part.inputs])
    numerical = [jacobians.numerical(part.function, moved, k, options.eps, part.forward_mode) for k in part.leaf_positions]
    if not part.outputs:
        if any(j is not None and j.any() for of_input in numerical for j in of_input):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    floats = [k for k, r in enumerate(part.results) if is_float(r)]
    on_tape = [k for k in floats if part.results[k].requires_grad]
    if part.forward_mode:
        mismatch = GradcheckError if options.check_grad_dtypes else None
        found = jacobians.forward(part.function, part.inputs, len(floats), mismatch)
        analytical = [[of_input[floats.index(k)] for of_input in found] for k in on_tape]
    else:
        analytical = []
    for i, k in enumerate(on_tape):
        if not part.forward_mode:
            analytical.append(_checked(jacobians.analytical(part.results[k], part.leaves), options))
        for j, (a, of_input) in enumerate(zip(analytical[i], numerical, strict=True)):
            n = of_input[k]
            assert n is not None
            if not _is_close(a, n, options.rtol, options.atol):
                raise GradcheckError(_mismatch(part, i, j, _text(n), _text(a)))


def _compare_products(part: _Part, options: _Options) -> None:
    random = Generator()  # the user's random numbers stay as they are
    directions: list[Direction] = []
    for x in part.leaves:
        one = _random_direction(x, random)
        directions.append((one, _random_direction(x, random)) if x.is_complex() else one)
    positions = [k for k, r in enumerate(part.results) if r.requires_grad]
    weights = None if part.forward_mode else [_random_direction(o, random) for o in part.outputs]
    products = [
        jacobians.numerical_product(part.function, part.inputs, k, d, options.eps, part.forward_mode)
        for k, d in zip(part.leaf_positions, directions, strict=True)
    ]
    if not part.forward_mode and not positions:
        if any(p is not None and p.size and not np.abs(p).max() <= options.nondet_tol for of_input in products for p in of_input):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    if part.forward_mode:
        assert all(isinstance(d, np.ndarray) for d in directions), "forward mode takes complex inputs apart"
        mismatch = GradcheckError if options.check_grad_dtypes else None
        found = jacobians.forward_products(part.function, part.inputs, directions, mismatch)  # type: ignore[arg-type]
        floats = [k for k, r in enumerate(part.results) if is_float(r)]
        analytical = [[of_input[floats.index(k)] for of_input in found] for k in positions]
        numerical = [[of_input[k] for of_input in products] for k in positions]
    else:
        assert weights is not None
        numerical = [[np.sum(v * of_input[k]) for of_input in products] for k, v in zip(positions, weights, strict=True)]
        analytical = [
            [
                _along(column[:, 0], d)
                for column, d in zip(_checked(jacobians.analytical_products(part.results[k], part.leaves, v), options), directions, strict=True)
            ]
            for k, v in zip(positions, weights, strict=True)
        ]
    for j, direction in enumerate(directions):
        for i in range(len(positions)):
            a, n = analytical[i][j], numerical[i][j]
            total = sum(float(d.sum()) for d in (direction if isinstance(direction, tuple) else (direction,)))
            atol = options.atol * total * (1.0 if weights is None else float(weights[i].sum()))
            if not _is_close(a, n, options.rtol, atol):
                message = _mismatch(part, i, j, _text(n), _text(a))
                raise GradcheckError(message + _slow_details(part, i, j, options))


def _along(vector: np.ndarray, direction: Direction) -> Any:
    if isinstance(direction, tuple):
        return vector.real @ direction[0] + 1j * (vector.imag @ direction[1])
    return vector @ direction


def _random_direction(x: Tensor, random: Generator) -> np.ndarray:
    real = x.dtype.to_real()
    drawn = lookup("rand")(x.numel(), generator=random, device="cpu", dtype=dtypes.float32)
    found = elements(drawn).astype(real.numpy)
    return found / np.linalg.norm(found).astype(real.numpy)


def _slow_details(part: _Part, i: int, j: int, options: _Options) -> str:
    """The Jacobians element by element, for the message."""
    position = [k for k, r in enumerate(part.results) if r.requires_grad][i]
    n = jacobians.numerical(part.function, part.inputs, part.leaf_positions[j], options.eps, part.forward_mode)[position]
    if part.forward_mode:
        floats = [k for k, r in enumerate(part.results) if is_float(r)]
        a = jacobians.forward(part.function, part.inputs, len(floats))[j][floats.index(position)]
    else:
        a = jacobians.analytical(part.results[position], part.leaves).jacobians[j]
    assert n is not None
    message = _FAST_MODE.format(numerical=_text(n), analytical=_text(a), difference=np.abs(n - a).max())
    return message + (_SLOW_MODE_WOULD_DO if _is_close(a, n, options.rtol, options.atol) else "")


def _checked(found: jacobians.Analytical, options: _Options) -> list[np.ndarray]:
    if not found.dtypes_fit and options.check_grad_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not found.sizes_fit:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not found.spread <= options.nondet_tol:
        raise GradcheckError(_NOT_REENTRANT.format(tolerance=options.nondet_tol))
    return found.jacobians


def _is_close(a: Any, n: Any, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a, n, rtol, atol))


def _text(array: Any) -> str:
    return str(from_numpy(np.array(array)) if np.ndim(array) else array)


def _mismatch(part: _Part, output: int, input: int, numerical: str, analytical: str) -> str:
    half = "imaginary" if part.imaginary else "real"
    elements = "inputs" if part.forward_mode else "outputs"
    taken_apart = (input if part.forward_mode else output) in part.complex_positions
    start = f"While considering the {half} part of complex {elements} only, " if taken_apart else ""
    mode = "computed with forward mode " if part.forward_mode else ""
    return (
        f"{start}Jacobian {mode}mismatch for output {output:d} with respect to input {input:d},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


# ---------------------------------------------------------------------------------------------------------------- what else must hold
def _check_batched(leaves: list[Tensor], output: Tensor, number: int) -> None:
    """Two gradients of an output at once give what they give one after the other."""

    def pull_back(v: Tensor) -> tuple[Tensor, ...]:
        found = grad(output, leaves, v, retain_graph=True, allow_unused=True)
        return tuple([_zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)])

    _check_same_at_once(pull_back, output, lambda k: f"For output {number} and input {k}", _BATCHED)


def _check_batched_forward(function: Callable, inputs: tuple, position: int) -> None:
    """Two tangents of an input at once give what they give one after the other."""
    def push_forward(tangent: Tensor) -> tuple[Tensor, ...]:
        with forward_ad.dual_level():
            plain = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
            plain[position] = forward_ad.make_dual(plain[position], tangent)
            pairs = [forward_ad.unpack_dual(o) for o in as_tuple(function(*plain)) if o is not None]
            return tuple([_zeros_like(primal) if t is None else t for primal, t in pairs])

    _check_same_at_once(push_forward, inputs[position], lambda k: f"For output {k} and input {k}", _BATCHED_FORWARD)


def _check_same_at_once(function: Callable, like: Tensor, where: Callable[[int], str], failed: str) -> None:
    draws = [lookup("randn_like")(like.detach()) for _ in range(2)]
    expected = [[elements(r) for r in function(v)] for v in draws]
    try:
        batch = vmap(function)(lookup("stack")(draws))
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{failed}") from error
    for k, found in enumerate(batch):
        got, wanted = elements(found), np.stack([row[k] for row in expected])
        if not np.allclose(got, wanted):
            raise GradcheckError(f"{where(k)}:\n\n{failed}\n\nGot:\n{_text(got)}\n\nExpected:\n{_text(wanted)}")


def _zeros_like(x: Tensor) -> Tensor:
    return lookup("zeros_like")(x.detach())


def _check_multiplied(whole: _Part, masked: bool | None) -> None:
    """Backward multiplies by the gradient of the output: zero gives zero, of the input's type and size."""
    outputs = whole.outputs
    zeros = [to_tensor(np.zeros(tuple(o.shape)), o) for o in outputs]
    for gradient, x in zip(grad(outputs, whole.leaves, zeros, allow_unused=True), whole.leaves, strict=True):
        if gradient is None:
            continue
        array = elements(gradient)
        if not (np.allclose(array, 0) if masked else (array == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        for what, fits in (("type", gradient.dtype is x.dtype), ("device", gradient.device == x.device), ("size", gradient.shape == x.shape)):
            if not fits:
                raise GradcheckError(f"grad is incorrect {what}")


class _UndefinedGrad(Function):
    """The identity, whose backward gives no gradient at all."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> None:  # type: ignore[override]
        return None


def _check_undefined_gradients(whole: _Part) -> None:
    """Missing gradients of the outputs, all of them or one at a time, count as zeros."""

    def check(missing: Callable[[int], bool]) -> None:
        outputs = _on_tape(as_tuple(whole.function(*whole.inputs)))
        outputs = [_UndefinedGrad.apply(o) if missing(k) else o for k, o in enumerate(outputs)]
        zeros = [to_tensor(np.zeros(tuple(o.shape)), o) for o in outputs]
        try:
            found = grad(outputs, whole.leaves, zeros, allow_unused=True)
        except RuntimeError as error:
            warnings.warn(_UNDEFINED_IS_NEW, stacklevel=2)
            raise GradcheckError(f"Expected backward function to handle undefined output grads. {_UNDEFINED}") from error
        if any(g is not None and (elements(g) != 0).any() for g in found):
            warnings.warn(_UNDEFINED_IS_NEW, stacklevel=2)
            raise GradcheckError(
                f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. {_UNDEFINED}"
            )

    check(lambda k: True)
    if len(whole.outputs) > 1:
        for undefined in range(len(whole.outputs)):
            check(lambda k, undefined=undefined: k == undefined)  # type: ignore[misc]


def _check_undefined_tangents(part: _Part) -> None:
    """An input without a tangent gives what one with a zero tangent gives."""
    random = Generator()
    tangents = {k: _random_direction(x, random).reshape(tuple(x.shape)) for k, x in zip(part.leaf_positions, part.leaves, strict=True)}

    def run(position: int, zero: bool) -> list[np.ndarray | None]:
        duals = list(part.inputs)
        for k, tangent in tangents.items():
            x = part.inputs[k]
            duals[k] = x.detach()
            if k != position or zero:
                duals[k] = forward_ad.make_dual(x.detach(), to_tensor(np.zeros_like(tangent) if k == position else tangent, x))
        found = [forward_ad.unpack_dual(o)[1] for o in filter(is_float, as_tuple(part.function(*duals)))]
        return [None if t is None else np.array(elements(t)) for t in found]

    with forward_ad.dual_level():
        for position in tangents:
            for k, (with_zero, without) in enumerate(zip(run(position, True), run(position, False), strict=True)):
                if with_zero is not None and without is not None and not np.allclose(with_zero, without):
                    raise GradcheckError(
                        "Mismatch in tangent values for output with index: ", k, " when input: ", part.inputs[position],
                        " has an undefined tangent value. ", " Got: ", _text(with_zero), " but expected: ", _text(without),
                    )  # fmt: skip
