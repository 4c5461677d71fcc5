"""torch.autograd.functional: Jacobians, Hessians and products with them, by the tape of one evaluation.

Products from the right (`jvp`, `hvp`) differentiate the product from the left once more, with respect to its vector; only
``strategy="forward-mode"`` uses forward mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.state import thread
from ..dispatch.registry import lookup
from ..tensors.tensor import Tensor
from . import engine
from .forward_ad import dual_level, make_dual, unpack_dual
from .grad_mode import enable_grad, set_grad_enabled
from .vmap import over_vectors

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]

_USER_OUTPUTS = "outputs of the user-provided function"
_INDEPENDENT = "The output of the user-provided function is independent of input {k}. This is not allowed in strict mode."
#: What ``strict`` says of a tensor that is not on the tape, by what the tensor is.
_CONSTANT = {
    "outputs": (
        "Output {k} of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner from the "
        "input when running in strict mode."
    ),
    "grad_inputs": "The gradient with respect to input {k} is independent of the inputs of the user-provided function. This is not allowed in strict mode.",
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {k} is independent of the input. "
        "This is not allowed in strict mode. You should ensure that your function is twice differentiable and that the jacobian depends on the "
        "inputs (this would be violated by a linear function for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {k} is independent of the input. This is not allowed in strict mode. You "
        "should ensure that your function is thrice differentiable and that the hessian depends on the inputs."
    ),
}
#: What ``strict`` says of a gradient that is missing, by the pass that did not find it.
_MISSING = {
    "back": _INDEPENDENT,
    "back_trick": (
        "The gradient with respect to the input is independent of entry {k} in the grad_outputs when using the double backward trick to compute "
        "forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": "The jacobian of the user-provided function is independent of input {k}. This is not allowed in strict mode.",
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {k} in the grad_jacobian. This is not allowed in strict mode as it "
        "prevents from using the double backward trick to replace forward mode AD."
    ),
}
_NOT_ON_TAPE = "The {what} of the user-provided function is independent of input {k}. This is not allowed in strict mode when create_graph=True."


# ---------------------------------------------------------------------------------------------------------------- arguments and results
def _as_tensors(value: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """Whether a value is a tuple, and its tensors.

    Raises:
        TypeError: it holds something else, torch's text.
    """
    is_tuple = isinstance(value, tuple)
    found = value if is_tuple else (value,)
    for k, element in enumerate(found):
        if not isinstance(element, Tensor):
            which = f"the value at index {k}" if is_tuple else f"the given {what}"
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but {which} has type {type(element)}.")
    return is_tuple, found


def _inputs(tensors: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """The arguments that the function is called with: new leaves, or with ``create_graph`` views of what is on the tape."""
    return tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in tensors])


def _vector(v: Any, function: str, others: Tensors, others_are_tuple: bool, create_graph: bool, missing: str) -> Tensors | None:
    """The vector of a product; None for a single number's, which is 1.

    Raises:
        RuntimeError: it does not fit, or it was left out and must not be; torch's texts.
    """
    if v is None:
        if len(others) != 1 or others[0].numel() != 1:
            raise RuntimeError(missing)
        return None
    vector = _inputs(_as_tensors(v, "v", function)[1], create_graph, False)
    if len(vector) != len(others):
        if others_are_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(others)} but got {len(vector)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for k, (element, other) in enumerate(zip(vector, others)):
        if element.shape != other.shape:
            where = f"Entry {k} in " if others_are_tuple else ""
            raise RuntimeError(f"{where}v has invalid size: should be {other.shape} but got {element.shape}.")
    return vector


_NO_V_FOR_OUTPUT = "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
_NO_V_FOR_INPUT = "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."


def _finished(tensors: Any, create_graph: bool) -> Any:
    """Results, off the tape unless it was asked for."""
    if create_graph:
        return tensors
    return tuple([t.detach() if isinstance(t, Tensor) else _finished(t, False) for t in tensors])


def _unpacked(results: Any, is_tuple: bool) -> Any:
    return results if is_tuple else results[0]


def _refuse_constants(tensors: Sequence[Tensor | None], kind: str, strict: bool) -> None:
    if not strict:
        return
    for k, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(_INDEPENDENT.format(k=k))
        if not tensor.requires_grad:
            raise RuntimeError(_CONSTANT[kind].format(k=k))


def _gradients(outputs: Tensors, inputs: Tensors, vectors: Sequence[Tensor | None] | None, create_graph: bool, keep: bool | None = None) -> Sequence[Tensor | None]:
    """The gradients of the outputs that are on the tape; None for inputs that do not take part."""
    given = (None,) * len(outputs) if vectors is None else vectors
    pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return engine.grad([o for o, _ in pairs], inputs, [g for _, g in pairs], keep, create_graph, allow_unused=True)


def _completed(grads: Sequence[Tensor | None], like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """The gradients, zeros in the place of missing ones.

    Raises:
        RuntimeError: with ``strict``, for one that is missing or constant; torch's texts.
    """
    found = []
    for k, (gradient, reference) in enumerate(zip(grads, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(_MISSING[stage].format(k=k))
            gradient = lookup("zeros_like")(reference)
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(_NOT_ON_TAPE.format(k=k, what="hessian" if "double" in stage else "jacobian"))
        found.append(gradient)
    return tuple(found)


def _probe(tensors: Tensors) -> Tensors:
    """Zeros on the tape, with respect to which a product is differentiated once more."""
    return tuple([lookup("zeros_like")(t).requires_grad_() for t in tensors])


def _mode(create_graph: bool) -> set_grad_enabled:
    return set_grad_enabled(create_graph or thread.state.grad_enabled)


# ---------------------------------------------------------------------------------------------------------------- products
def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and a vector times its Jacobian.

    Args:
        func: takes tensors and returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of tensors.
        v: shaped like the output; may be left out for a single number.
        create_graph: leave the results on the tape.
        strict: raise where an output does not depend on an input, rather than return zeros.

    Raises:
        RuntimeError, TypeError: torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.vjp.html
    """
    with enable_grad():
        inputs_are_tuple, given = _as_tensors(inputs, "inputs", "vjp")
        given = _inputs(given, create_graph)
        outputs_are_tuple, outputs = _as_tensors(func(*given), _USER_OUTPUTS, "vjp")
        _refuse_constants(outputs, "outputs", strict)
        vector = _vector(v, "vjp", outputs, outputs_are_tuple, create_graph, _NO_V_FOR_OUTPUT)
    with _mode(create_graph):
        product = _completed(_gradients(outputs, given, vector, create_graph), given, strict, create_graph, "back")
    outputs, product = _finished(outputs, create_graph), _finished(product, create_graph)
    return _unpacked(outputs, outputs_are_tuple), _unpacked(product, inputs_are_tuple)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and its Jacobian times a vector shaped like the input; see `vjp` for the arguments.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jvp.html
    """
    with enable_grad():
        inputs_are_tuple, given = _as_tensors(inputs, "inputs", "jvp")
        given = _inputs(given, create_graph)
        vector = _vector(v, "jvp", given, inputs_are_tuple, create_graph, _NO_V_FOR_INPUT)
        outputs_are_tuple, outputs = _as_tensors(func(*given), _USER_OUTPUTS, "jvp")
        _refuse_constants(outputs, "outputs", strict)
        probe = _probe(outputs)
        pulled = _gradients(outputs, given, probe, True)
        _refuse_constants(pulled, "grad_inputs", strict)
    with _mode(create_graph):
        product = _completed(_gradients(pulled, probe, vector, create_graph), outputs, strict, create_graph, "back_trick")  # type: ignore[arg-type]
    outputs, product = _finished(outputs, create_graph), _finished(product, create_graph)
    return _unpacked(outputs, outputs_are_tuple), _unpacked(product, outputs_are_tuple)


def _scalar_gradient(func: Callable, inputs: Any, v: Any, function: str, create_graph: bool, strict: bool) -> tuple[bool, Tensors, Tensors | None, Tensors, Any]:
    """What both products with a Hessian begin with: (whether the input is a tuple, the inputs, the vector, the output, the gradient)."""
    inputs_are_tuple, given = _as_tensors(inputs, "inputs", function)
    given = _inputs(given, create_graph)
    vector = _vector(v, function, given, inputs_are_tuple, create_graph, _NO_V_FOR_INPUT)
    outputs_are_tuple, outputs = _as_tensors(func(*given), _USER_OUTPUTS, function)
    _refuse_constants(outputs, "outputs", strict)
    if outputs_are_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    gradient = _gradients(outputs, given, None, True)
    _refuse_constants(gradient, "jacobian", strict)
    return inputs_are_tuple, given, vector, outputs, gradient


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function of one number, and a vector times its Hessian; see `vjp` for the arguments.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.vhp.html
    """
    with enable_grad():
        is_tuple, given, vector, outputs, gradient = _scalar_gradient(func, inputs, v, "vhp", create_graph, strict)
    with _mode(create_graph):
        product = _completed(_gradients(gradient, given, vector, create_graph), given, strict, create_graph, "double_back")
    return _finished(outputs, create_graph)[0], _unpacked(_finished(product, create_graph), is_tuple)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function of one number, and its Hessian times a vector; see `vjp` for the arguments.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.hvp.html
    """
    with enable_grad():
        is_tuple, given, vector, outputs, gradient = _scalar_gradient(func, inputs, v, "hvp", create_graph, strict)
        probe = _probe(given)
        pulled = _gradients(gradient, given, probe, True)
        _refuse_constants(gradient, "hessian", strict)
    with _mode(create_graph):
        product = _completed(_gradients(pulled, probe, vector, create_graph), given, strict, create_graph, "double_back_trick")  # type: ignore[arg-type]
    return _finished(outputs, create_graph)[0], _unpacked(_finished(product, create_graph), is_tuple)


# ---------------------------------------------------------------------------------------------------------------- whole matrices
def jacobian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of a function.

    Args:
        func, inputs, create_graph, strict: see `vjp`.
        vectorize: compute all rows at once, by ``vmap``.
        strategy: ``"reverse-mode"`` or ``"forward-mode"`` (with ``vectorize``).

    Returns:
        a tensor of size ``(*output, *input)``; a tuple of them, or of tuples, where the output or the input is a tuple.

    Raises:
        RuntimeError, TypeError, NotImplementedError, AssertionError: torch's texts.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.jacobian.html
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, "forward-mode" '
            'tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). Please '
                'either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        inputs_are_tuple, given = _as_tensors(inputs, "inputs", "jacobian")
        given = _inputs(given, create_graph)
        outputs_are_tuple, outputs = _as_tensors(func(*given), _USER_OUTPUTS, "jacobian")
        _refuse_constants(outputs, "outputs", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
                "`strict=False` or `vectorize=False`."
            )
        rows = _all_rows(outputs, given, create_graph) if vectorize else _rows(outputs, given, create_graph, strict)
        found = tuple([
            tuple([row.view(*o.shape, *x.shape) for row, x in zip(by_input, given)]) for o, by_input in zip(outputs, rows)
        ])  # fmt: skip
    found = _finished(found, create_graph)
    return _unpacked(found if inputs_are_tuple else tuple([by_input[0] for by_input in found]), outputs_are_tuple)


def _rows(outputs: Tensors, inputs: Tensors, create_graph: bool, strict: bool) -> list[list[Tensor]]:
    """For each output and input the gradients of the output's elements, one after the other."""
    found = []
    for k, output in enumerate(outputs):
        columns: list[list[Tensor]] = [[] for _ in inputs]
        flat = output.reshape(-1)
        for number in range(output.numel()):
            for position, gradient in enumerate(_gradients((flat[number],), inputs, None, create_graph, True)):
                if gradient is None:
                    if strict:
                        raise RuntimeError(
                            f"Output {k} of the user-provided function is independent of input {position}. This is not allowed in strict mode."
                        )
                    gradient = lookup("zeros_like")(inputs[position])
                elif strict and create_graph and not gradient.requires_grad:
                    raise RuntimeError(_NOT_ON_TAPE.format(k=k, what="jacobian"))
                columns[position].append(gradient)
        found.append([lookup("stack")(column) if column else x.new_zeros((0, *x.shape)) for column, x in zip(columns, inputs)])
    return found


def _all_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> list[list[Tensor]]:
    """What `_rows` returns, computed at once."""
    counts = [o.numel() for o in outputs]
    flat = tuple([o.reshape(-1) for o in outputs])
    grads = over_vectors(lambda *vectors: _gradients(flat, inputs, vectors, create_graph, create_graph), _basis(outputs, counts))
    stacked = [x.new_zeros((sum(counts), *x.shape)) if g is None else g for g, x in zip(grads, inputs)]
    split = [s.split(counts, 0) for s in stacked]
    return [[s[k] for s in split] for k in range(len(outputs))]


def _basis(tensors: Sequence[Tensor], counts: Sequence[int]) -> list[Tensor]:
    """The unit vectors of the space that several tensors span together: for each tensor its part, a vector in each row."""
    parts, start = [], 0
    for tensor, count in zip(tensors, counts):
        part = tensor.new_zeros((sum(counts), count))
        part.diagonal(-start).fill_(1)
        parts.append(part)
        start += count
    return parts


def _forward_jacobian(func: Callable, inputs: Any, strict: bool, vectorize: bool) -> Any:
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please either set '
            '`strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    inputs_are_tuple, given = _as_tensors(inputs, "inputs", "jacobian")
    counts = [x.numel() for x in given]
    seen: list[tuple[bool, list[tuple[int, ...]]]] = []

    def push(*directions: Tensor) -> Tensors:
        with dual_level():
            duals = [make_dual(x, d.view_as(x)) for x, d in zip(given, directions)]
            are_tuple, outputs = _as_tensors(func(*duals), "outputs", "None")
            seen.append((are_tuple, [tuple(o.shape) for o in outputs]))
            tangents = [unpack_dual(o).tangent for o in outputs]
            return tuple([lookup("zeros_like")(o) if t is None else t for o, t in zip(outputs, tangents)])

    columns = over_vectors(push, _basis(given, counts))
    outputs_are_tuple, sizes = seen[-1]
    found = tuple([
        tuple([part.movedim(0, -1).reshape(*size, *x.shape) for part, x in zip(column.split(counts, 0), given)])
        for column, size in zip(columns, sizes) if column is not None
    ])  # fmt: skip
    return _unpacked(found if inputs_are_tuple else tuple([by_input[0] for by_input in found]), outputs_are_tuple)


def hessian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:  # fmt: skip
    """The Hessian of a function of one number: the Jacobian of its gradient.

    Args:
        outer_jacobian_strategy: the ``strategy`` of the outer one of the two; see `jacobian` for it and the others.

    Ref: https://docs.pytorch.org/docs/stable/generated/torch.autograd.functional.hessian.html
    """
    inputs_are_tuple, given = _as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*arguments: Tensor) -> Tensor:
        output = func(*arguments)
        is_tuple, outputs = _as_tensors(output, _USER_OUTPUTS, "hessian")
        _refuse_constants(outputs, "outputs", strict)
        if is_tuple:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if output.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return output.squeeze()

    def gradient(*arguments: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple([x.requires_grad_() for x in arguments])
        found = jacobian(single, arguments, create_graph=True)
        _refuse_constants(found, "jacobian", strict)
        return found

    result = jacobian(gradient, given, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy)
    return result if inputs_are_tuple else result[0][0]
