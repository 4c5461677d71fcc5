"""``__torch_function__``: tensor-like classes and modes that take over calls; and what is done to nodes when hooks on saved values are active."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.state import thread
from ..tensors.tensor import PLAIN_TYPES, Tensor

__all__ = ["call", "prepare_node", "wanted"]

#: name of an operator's public form -> the public function, filled by dispatch/forms.py; what ``__torch_function__`` receives.
public_functions: dict[tuple[Any, str], Any] = {}


def _flat(arguments: Sequence[Any]) -> Iterator[Any]:
    for a in arguments:
        if type(a) in (tuple, list):
            yield from a
        else:
            yield a


def _overriding(arguments: Sequence[Any]) -> list[Any]:
    """The arguments whose class takes over calls, one of each class, subclasses first."""
    found: list[Any] = []
    for a in _flat(arguments):
        kind = type(a)
        if kind in PLAIN_TYPES or not hasattr(kind, "__torch_function__") or kind.__torch_function__ is _disabled_torch_function:
            continue
        if any(type(f) is kind for f in found):
            continue
        position = next((k for k, f in enumerate(found) if issubclass(kind, type(f))), len(found))
        found.insert(position, a)
    return found


def wanted(arguments: Sequence[Any]) -> bool:
    """Whether somebody takes over a call with these arguments."""
    state = thread.state
    if state.modes:
        return True
    return any(type(a) not in PLAIN_TYPES and hasattr(type(a), "__torch_function__") for a in _flat(arguments)) and bool(_overriding(arguments))


def call(declared: Any, arguments: tuple[Any, ...], suffix: str = "", out: Any = None) -> Any:
    """Hand a call to the modes, then to the overriding arguments, in turn until one answers.

    Raises:
        TypeError: nobody did, torch's text.
    """
    function = public_functions.get((declared, suffix)) or declared.function
    kwargs = {} if out is None else {"out": out}
    return hand_over(function, arguments, kwargs)


def hand_over(function: Any, arguments: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``__torch_function__`` for a public function and its arguments."""
    state = thread.state
    overriding = _overriding(arguments)
    types = tuple(type(a) for a in overriding)
    if state.modes:
        mode = state.modes.pop()
        state.slow -= 1
        try:
            return mode.__torch_function__(function, types, arguments, kwargs)
        finally:
            state.modes.append(mode)
            state.slow += 1
    for a in overriding:
        result = type(a).__torch_function__(function, types, arguments, kwargs)
        if result is not NotImplemented:
            return result
    names = [t.__name__ for t in types]
    raise TypeError(
        f"no implementation found for '{getattr(function, '__module__', '')}.{getattr(function, '__name__', function)}' on types that implement "
        f"__torch_function__: {names}"
    )


def _disabled_torch_function(*args: Any, **kwargs: Any) -> Any:
    return NotImplemented


def _torch_function(cls: type, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
    """The default override of Tensor's subclasses: run the function as on plain tensors and give results the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with _AsPlain(types):
        result = func(*args, **(kwargs or {}))
    return _converted(result, cls)


class _AsPlain:
    """Classes count as plain while a function runs on their tensors."""

    def __init__(self, types: Sequence[type]) -> None:
        self.added = [t for t in types if t not in PLAIN_TYPES]

    def __enter__(self) -> None:
        PLAIN_TYPES.update(self.added)

    def __exit__(self, *error: object) -> None:
        PLAIN_TYPES.difference_update(self.added)


def _converted(result: Any, cls: type) -> Any:
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)([_converted(r, cls) for r in result])
    if isinstance(result, (tuple, list)):
        return type(result)(_converted(r, cls) for r in result)
    return result


Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]


def prepare_node(node: Any) -> None:
    """Apply what is active around the forward to a new node: hooks on saved values, the forward's stack for anomaly mode."""
    for prepare in node_preparations:
        prepare(node)


#: Functions of a new node, called while ``saved_tensors_hooks`` or anomaly mode is active (autograd/ registers them).
node_preparations: list[Any] = []
