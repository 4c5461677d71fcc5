"""Autocast: the settings of a thread, and the casts it puts before the operators of torch's lists.

The lists are the table `core/data/autocast.tsv`, one for the CPU and one for all other devices; ``amp/`` holds what users call.  While autocast is on
for a type of device, `ThreadState.autocast` says so and operators take the general way; this file's handler casts, and calls the operator again with
autocast off, which then takes the short way.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..core import dtype as dtypes
from ..core import state as core_state
from ..core.device import device
from ..core.state import thread
from ..tensors.tape import AccumulateGrad
from ..tensors.tensor import Tensor
from . import keys
from .call import apply, cast_instruction
from .overloads import callers
from .registry import Composite, Operator, ViewOperator

__all__ = ["is_available", "is_listed", "set_dtype", "set_enabled", "settings"]

#: What autocast casts to by default, for the types of device that have it.
DEFAULT_DTYPES = {
    "cpu": dtypes.bfloat16, "cuda": dtypes.float16, "hpu": dtypes.bfloat16, "ipu": dtypes.float16, "maia": dtypes.bfloat16, "mps": dtypes.float16,
    "mtia": dtypes.float16, "privateuseone": dtypes.float16, "tpu": dtypes.bfloat16, "xla": dtypes.bfloat16, "xpu": dtypes.float16,
}  # fmt: skip


class Settings(threading.local):
    """Per thread: what autocast would cast to, whether it keeps casts of parameters, and how many contexts are open.

    Attributes:
        casts: (id of a parameter, dtype) -> the parameter and its cast, until the outermost context ends.
    """

    def __init__(self) -> None:
        self.dtypes = dict(DEFAULT_DTYPES)
        self.cache_enabled = True
        self.nesting = 0
        self.casts: dict[tuple[int, dtypes.dtype], tuple[Tensor, Tensor]] = {}


settings = Settings()


def is_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device.

    Raises:
        RuntimeError: no device has this type.
    """
    return device_type in DEFAULT_DTYPES or device(device_type).type in DEFAULT_DTYPES


def set_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for this thread and a type of device."""
    state = thread.state
    active = dict(state.autocast or {})
    if enabled:
        active[device_type] = settings.dtypes[device_type]
    else:
        active.pop(device_type, None)
    state.slow += bool(active) - bool(state.autocast)
    state.autocast = active or None


def set_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set what autocast casts to on a type of device."""
    settings.dtypes[device_type] = dtype
    if thread.state.autocast and device_type in thread.state.autocast:
        thread.state.autocast[device_type] = dtype


# ------------------------------------------------------------------------------------------------------------------- the lists
@functools.cache
def _table() -> dict[str, tuple[str, str]]:
    """torch's name of an operator -> its policies on accelerators and on the CPU."""
    rows = (Path(core_state.__file__).parent / "data" / "autocast.tsv").read_text().splitlines()[1:]
    return {name: (accelerator, cpu) for name, accelerator, cpu in (row.split("\t") for row in rows)}


_policies: dict[Any, tuple[str, str]] = {}


def _policies_of(declared: Operator | ViewOperator | Composite) -> tuple[str, str]:
    found = _policies.get(declared)
    if found is None:
        space = declared.namespaces[0] if declared.namespaces else ""
        name = f"{space}_{declared.name}" if space in ("linalg", "fft") else declared.name
        found = _policies[declared] = _table().get(name, ("-", "-"))
    return found


def is_listed(declared: Operator | ViewOperator | Composite) -> bool:
    """Whether one of the lists names the operator."""
    return _policies_of(declared) != ("-", "-")


# ------------------------------------------------------------------------------------------------------------------- the casts
def _tensors(arguments: tuple[Any, ...]) -> Iterator[Tensor]:
    for a in arguments:
        if isinstance(a, Tensor):
            yield a
        elif a.__class__ is list or a.__class__ is tuple:
            yield from (e for e in a if isinstance(e, Tensor))


def _is_eligible(tensor: Tensor, device_type: str) -> bool:
    dtype = tensor.dtype
    return dtype.is_floating_point and dtype is not dtypes.float64 and tensor.device.type == device_type


def _cast(value: Any, target: dtypes.dtype, device_type: str) -> Any:
    """An argument with its tensors cast; the cast of a parameter to half precision is made once for a whole context."""
    if isinstance(value, (list, tuple)):
        return [_cast(v, target, device_type) for v in value] if any(isinstance(v, Tensor) for v in value) else value
    if not isinstance(value, Tensor) or not _is_eligible(value, device_type) or value.dtype is target:
        return value
    edge = value._edge
    keep = (
        edge is not None and type(edge[0]) is AccumulateGrad and thread.state.grad_enabled and settings.cache_enabled
        and value.dtype is dtypes.float32 and target is not dtypes.float32
    )  # fmt: skip
    if not keep:
        return apply(cast_instruction(target), (value,))[0]
    key = (id(value), target)
    found = settings.casts.get(key)
    if found is None:
        found = settings.casts[key] = (value, apply(cast_instruction(target), (value,))[0])
    return found[1]


def _lower(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    return tuple([_cast(a, dtype, device_type) for a in arguments])


def _product(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    """Cast to half precision, unless there is one tensor only and so no product."""
    return _lower(declared, arguments, device_type, dtype) if sum(1 for _ in _tensors(arguments)) > 1 else arguments


def _float32(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    return tuple([_cast(a, dtypes.float32, device_type) for a in arguments])


def _result_float32(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    """Ask for a float32 result, where the call does not say which dtype it wants."""
    names = [a.name for a in declared.schema.arguments]
    if not isinstance(arguments[0], Tensor) or not _is_eligible(arguments[0], device_type):
        return arguments
    if "dtype" not in names:
        return _float32(declared, arguments, device_type, dtype)
    at = names.index("dtype")
    return arguments if arguments[at] is not None else (*arguments[:at], dtypes.float32, *arguments[at + 1 :])


def _edges(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    """For ``pad``: to float32 where the edge is repeated or mirrored, but mirrored volumes are not on torch's list."""
    _, pad, mode = arguments[:3]
    listed = mode == "replicate" or mode == "reflect" and len(pad) < 6
    return _float32(declared, arguments, device_type, dtype) if listed else arguments


def _widest(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    """Cast to float32 if one of the tensors has it, else to half precision.

    Raises:
        RuntimeError: a tensor has another floating dtype, torch's text.
    """
    found = dtype
    for tensor in _tensors(arguments):
        if _is_eligible(tensor, device_type):
            if dtypes.float32 in (found, tensor.dtype):
                found = dtypes.float32
            elif tensor.dtype is not dtype:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return tuple([_cast(a, found, device_type) for a in arguments])


def _refused(declared: Any, arguments: tuple[Any, ...], device_type: str, dtype: dtypes.dtype) -> tuple[Any, ...]:
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\nMany models use a sigmoid layer right before the "
        "binary cross entropy layer.\nIn this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
        "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
    )


_POLICIES: dict[str, Callable] = {
    "dtype": _result_float32, "edges": _edges, "float32": _float32, "lower": _lower, "product": _product, "refused": _refused, "widest": _widest,
}  # fmt: skip


def _prepared(declared: Any, arguments: tuple[Any, ...], active: dict[str, dtypes.dtype]) -> tuple[Any, ...]:
    """The arguments as the operator's policy wants them; accelerators come before the CPU, as their keys do."""
    types = {t.device.type for t in _tensors(arguments)} & active.keys()
    if not types:
        return arguments
    device_type = next((t for t in types if t != "cpu"), "cpu")
    policy = _policies_of(declared)[device_type == "cpu"]
    return arguments if policy == "-" else _POLICIES[policy](declared, arguments, device_type, active[device_type])


@keys.handles(keys.DispatchKey.Autocast)
def autocasting(declared: Operator | Composite, form: keys.Form, arguments: tuple[Any, ...], out: Any = None) -> Any:
    """Cast the arguments and call the operator again, itself switched off; in-place and ``out=`` forms are called as they are."""
    state = thread.state
    active = state.autocast
    state.autocast = None
    state.slow -= 1
    try:
        if form == "":
            arguments = _prepared(declared, arguments, active)
        declared_arguments = declared.schema.arguments
        count = sum(not a.keyword_only for a in declared_arguments)
        named = {a.name: value for a, value in zip(declared_arguments[count:], arguments[count:])}
        if form == "_":
            return callers["_"](declared)(*arguments[:count], **named)
        return declared.function(*arguments[:count], **named) if out is None else declared.function(*arguments[:count], out=out, **named)
    finally:
        state.autocast = active
        state.slow += 1
