"""The ``out=`` form: a call's results become the content of tensors that the caller passes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..core import promotion
from ..core.state import thread
from ..graph.recorder import record
from ..graph.value import Value
from ..tensors.mutation import check_no_overlap, check_no_partial_overlap, check_writable_memory, write_into
from ..tensors.tensor import Tensor, make_tensor
from . import keys
from .bind import bind
from .call import cast_instruction, wrap
from .overloads import callers
from .registry import Composite, Operator, Promote

__all__ = ["composite_out", "general_out", "put_out"]

# Whether ``out=`` may have another dtype that can hold the result: elementwise operators allow it, others do not, with these exceptions.
# A name with a dot is that of one overload, ``max.`` the one without a name.
_CASTING = frozenset(
    "addr arange cat cholesky. cholesky_inverse cholesky_solve column_stack cond cumprod cumsum diff dstack eig eigvals eye fft fft2 "
    "fftfreq fftn full geqrf ger householder_product hstack ifft ifft2 ifftn ihfft2 ihfftn kron lerp linspace logical_not logit logspace "
    "logsumexp lstsq matrix_rank max. mean min. mvlgamma nanmean nansum nextafter normalize ones outer pinv prod range rfft rfft2 "
    "rfftfreq rfftn rsub stack std sum tensorinv tensorsolve threshold true_divide var vstack zeros".split()
)
_EXACT = frozenset(
    "abs bitwise_not ceil clamp clamp_max clamp_min conj_physical floor frac frexp gelu heaviside hardshrink hfft hfft2 hfftn ihfft irfft irfft2 "
    "irfftn isneginf isposinf ldexp logsigmoid nan_to_num neg round sgn sign signbit softplus softshrink trunc where".split()
)
#: Operators whose ``out=`` may not share memory with what they read.
_APART = frozenset("cat cross gather index_select kthvalue masked_select nonzero take".split())


def general_out(operator: Operator, arguments: tuple[Any, ...], out: Any) -> Any:
    """Call an operator's ``out=`` form."""
    if keys.is_intercepted((*arguments, out)):
        return keys.run(operator, "out", arguments, out)
    call = bind(operator, arguments)
    targets = _targets(operator, out)
    for target in targets:
        if operator.name in _APART:
            check_no_overlap(target, call.tensors)
        elif operator.promote is not Promote.NONE:
            check_no_partial_overlap(target, call.tensors)
    if operator.differentiable:
        _refuse_gradients(operator, (*call.tensors, *targets))
    if thread.state.levels:
        thread.state.levels[-1].refuse_out(operator.name, (*call.tensors, *targets))
    values = tuple([t._value if t._storage is None else t._read() for t in call.tensors])
    results = record(call.instruction, values, tuple(call.floats), tuple(call.ints))
    _put_all(operator, targets, results)
    return wrap(operator.schema, tuple(targets))


def _put_all(declared: Operator | Composite, targets: Sequence[Tensor], results: Sequence[Value]) -> None:
    """Put results into their tensors; none is written to when one of them does not fit."""
    pairs, casts = list(zip(targets, results, strict=True)), _casts(declared)
    for target, result in pairs:
        _check_fits(target, result, casts)
    for target, result in pairs:
        _put(target, result)


def _casts(declared: Operator | Composite) -> bool:
    if getattr(declared, "promote", Promote.NONE) is not Promote.NONE:
        return declared.name not in _EXACT
    return declared.name in _CASTING or f"{declared.name}.{declared.schema.overload}" in _CASTING


def composite_out(declared: Operator | Composite, arguments: tuple[Any, ...], results: Any, out: Any) -> Any:
    """Put what a composite returned into the tensors of ``out=``."""
    targets = _targets(declared, out)
    found = [results] if isinstance(results, Tensor) else list(results)
    _refuse_gradients(declared, (*found, *targets))
    for target in targets if declared.name in _APART else ():
        check_no_overlap(target, [a for a in arguments if isinstance(a, Tensor)])
    _put_all(declared, targets, [result._content() for result in found])
    return wrap(declared.schema, tuple(targets))


def _targets(declared: Operator | Composite, out: Any) -> list[Tensor]:
    targets = list(out) if isinstance(out, (tuple, list)) else [out]
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"{declared.name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    return targets


def _refuse_gradients(declared: Operator | Composite, tensors: Sequence[Tensor]) -> None:
    if thread.state.grad_enabled and any(t.requires_grad for t in tensors):
        culprit = "one of the arguments requires grad."
        raise RuntimeError(f"{declared.name}(): functions with out=... arguments don't support automatic differentiation, but {culprit}")


def _functional_out(declared: Operator | Composite, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The ``out=`` overload, which aten has of every operator, of one that has no public form of this kind."""
    out = kwargs.pop("out")
    return composite_out(declared, args, declared.function(*args, **kwargs), out)


callers["out"] = _functional_out


def put_out(target: Tensor, result: Value, casts: bool = True) -> None:
    """Copy a result into an ``out=`` tensor, resizing it as torch does.

    Args:
        casts: the tensor may have another dtype that can hold the result.

    Raises:
        RuntimeError: the dtype cannot hold the result, the device differs, or the memory overlaps; torch's texts.
    """
    _check_fits(target, result, casts)
    _put(target, result)


def _check_fits(target: Tensor, result: Value, casts: bool) -> None:
    own = target.dtype
    if not casts and result.aval.dtype is not own:
        names = [promotion.cpp_name(d) for d in (result.aval.dtype, own)]
        raise RuntimeError(f"Expected out tensor to have dtype {names[0]}, but got {names[1]} instead")
    if not promotion.can_cast(result.aval.dtype, own):
        raise RuntimeError(
            f"result type {promotion.scalar_type_name(result.aval.dtype)} can't be cast to the desired output type "
            f"{promotion.scalar_type_name(own)}"
        )
    if target.device != result.aval.device:
        raise RuntimeError(f"Expected out tensor to have device {result.aval.device}, but got {target.device} instead")
    storage = target._storage
    if storage is not None and target.shape != result.aval.size and target._geometry.offset + result.aval.numel > storage.base.numel:
        storage.check_resizable()
    check_writable_memory(target)


def _put(target: Tensor, result: Value) -> None:
    if result.aval.dtype is not target.dtype:
        (result,) = record(cast_instruction(target.dtype), (result,))
    if target.shape != result.aval.size:
        if target.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not match the required "
                f"output shape {list(result.aval.size)}. This behavior is deprecated, and in a future PyTorch release outputs will not be "
                "resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                "with t.resize_(0).",
                UserWarning,
                stacklevel=3,
            )
        if target._storage is None:
            target.data = make_tensor(result)
            return
        target.resize_(result.aval.size)  # type: ignore[attr-defined]
    write_into(target, result)
