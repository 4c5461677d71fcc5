"""Dispatch keys: who handles the call of an operator, highest key first.

| key | present when | its handler |
| --- | --- | --- |
| Python | a ``TorchDispatchMode`` is active, or a tensor's class has ``__torch_dispatch__`` | hands the overload over, itself switched off |
| Autocast | autocast is on | casts the arguments, calls the operator again with autocast off |
| Autograd | grad mode is on and a tensor is on the tape | records the operator, and its node |
| CPU, CUDA, TPU, XLA, Meta | always one of them | records the operator |

``__torch_function__`` (overrides.py) comes before all keys.  A call without the upper two keys never comes here: the generated functions record it
at once, which is what the lower two handlers do.  Handlers see results of the keys below only through the operator they call again, so a mode's
results are on the tape as the operators that the mode called.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.device import CPU
from ..core.state import thread
from ..tensors.tensor import PLAIN_TYPES, Tensor
from .overloads import overload_of
from .overrides import _disabled_torch_dispatch, as_given
from .registry import lookup

__all__ = ["DispatchKey", "Form", "handles", "is_intercepted", "key_set", "run"]


class DispatchKey(enum.IntEnum):
    """The keys, the highest of which handles a call."""

    CPU = 1
    CUDA = 2
    TPU = 3
    XLA = 4
    Meta = 5
    Autograd = 10
    Autocast = 20
    Python = 30


#: How an operator is called: ``""``, in place ``"_"``, with ``"out"``.
Form = str
Handler = Callable[[Any, Form, tuple[Any, ...], Any], Any]
_BACKENDS = {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "tpu": DispatchKey.TPU, "meta": DispatchKey.Meta}
HANDLERS: dict[DispatchKey, Handler] = {}


def handles(*keys: DispatchKey) -> Callable[[Handler], Handler]:
    """Declare the handler of these keys: ``handler(operator, form, arguments, out)``."""

    def declare(handler: Handler) -> Handler:
        for key in keys:
            HANDLERS[key] = handler
        return handler

    return declare


class _Modes(threading.local):
    """Per thread: the active dispatch modes, innermost last."""

    def __init__(self) -> None:
        self.modes: list[Any] = []


python_state = _Modes()


def _tensors(arguments: Sequence[Any]) -> Iterator[Tensor]:
    for a in arguments:
        if isinstance(a, Tensor):
            yield a
        elif isinstance(a, (list, tuple)):
            yield from (e for e in a if isinstance(e, Tensor))


def _dispatching(arguments: Sequence[Any]) -> list[type]:
    """The classes with a ``__torch_dispatch__`` among the arguments, subclasses first."""
    found: list[type] = []
    for tensor in _tensors(arguments):
        kind = type(tensor)
        if kind in PLAIN_TYPES or kind in found or kind.__torch_dispatch__ is _disabled_torch_dispatch:  # type: ignore[attr-defined]
            continue
        found.insert(next((k for k, f in enumerate(found) if issubclass(kind, f)), len(found)), kind)
    return found


def key_set(arguments: Sequence[Any]) -> list[DispatchKey]:
    """The keys of a call, highest first."""
    state = thread.state
    tensors = list(_tensors(arguments))
    found = []
    if python_state.modes or _dispatching(arguments):
        found.append(DispatchKey.Python)
    if state.autocast:
        found.append(DispatchKey.Autocast)
    if state.grad_enabled and any(t._current_edge() is not None for t in tensors):
        found.append(DispatchKey.Autograd)
    devices = {t.device for t in tensors} or {state.device or CPU}
    found.append(max(_BACKENDS.get(d.type, DispatchKey.XLA) for d in devices))
    return found


def is_intercepted(arguments: Sequence[Any], is_view: bool = False) -> bool:
    """Whether a key above Autograd is present; the question that every call on the general way asks.

    Args:
        is_view: the operator makes a view, which autocast never concerns.
    """
    state = thread.state
    if state.slow and (python_state.modes or state.autocast and not is_view):
        return True
    for a in arguments:
        kind = type(a)
        if kind not in PLAIN_TYPES and (isinstance(a, Tensor) or kind is list or kind is tuple) and _dispatching((a,)):
            return True
    return False


def run(operator: Any, form: Form, arguments: tuple[Any, ...], out: Any = None) -> Any:
    """Have the handler of the highest key do the call."""
    if thread.state.autocast and not python_state.modes and not _dispatching((*arguments, out)):
        return HANDLERS[DispatchKey.Autocast](operator, form, arguments, out)
    for key in key_set((*arguments, out)):
        if key in HANDLERS:
            return HANDLERS[key](operator, form, arguments, out)
    raise NotImplementedError(f"{operator.qualified_name} has no handler for {key_set(arguments)}")


@handles(DispatchKey.Python)
def _python(operator: Any, form: Form, arguments: tuple[Any, ...], out: Any) -> Any:
    """Call ``__torch_dispatch__`` of the innermost mode, or of the arguments' classes.

    Raises:
        TypeError: nobody answered.
    """
    if operator.schema.overload == "basic":
        return _index_by_dimension(*arguments)
    overload = overload_of(operator, form)
    args, kwargs = as_given(operator.schema, arguments)
    if out is not None:
        kwargs["out"] = out
    types = tuple(_dispatching((*args, *kwargs.values())))
    if python_state.modes:
        with without_innermost() as mode:
            return mode.__torch_dispatch__(overload, types, args, kwargs)
    for kind in types:
        result = kind.__torch_dispatch__(overload, types, args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    tried = "".join(f"\n  - tensor subclass {kind}" for kind in types)
    raise TypeError(f"Multiple dispatch failed for '{overload}'; all __torch_dispatch__ handlers returned NotImplemented:\n{tried}")


def _index_by_dimension(tensor: Tensor, parts: tuple[Any, ...]) -> Tensor:
    """A basic index (see aten/indexing.py) as the chain of view operators that torch takes it apart into."""
    dim = 0
    for part in parts:
        if part is None:
            tensor = lookup("unsqueeze")(tensor, dim)
        elif not isinstance(part, tuple):
            tensor = lookup("select.int")(tensor, dim, part)
            continue
        elif part != ("slice", None, None, 1):
            tensor = lookup("slice.Tensor")(tensor, dim, *part[1:])
        dim += 1
    return tensor


class without_innermost:  # noqa: N801 - reads as a statement
    """The innermost dispatch mode, switched off inside the block."""

    def __enter__(self) -> Any:
        self.mode = python_state.modes.pop()
        thread.state.slow -= 1
        return self.mode

    def __exit__(self, *error: object) -> None:
        python_state.modes.append(self.mode)
        thread.state.slow += 1
