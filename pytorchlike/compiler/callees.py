"""What a call calls, as far as that is known without running any of the user's code, and which of its parameters get numbers that vary."""

from __future__ import annotations

import inspect
import types
from typing import Any

from ..nn.modules import calls
from ..nn.modules.module import Module
from .expressions import Expression, Known, expressions_in

__all__ = ["SUSPENDED", "Call", "attribute_of"]

#: Code that does not run from its beginning to its end at once.
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute as a `Known`, found without running any of the user's code; None: it is not."""
    if isinstance(owner, types.ModuleType):
        own = object.__getattribute__(owner, "__dict__")
        return Known(own[name]) if name in own else None
    cls = type(owner)
    raw = inspect.getattr_static(cls, name, None)
    if isinstance(owner, type) or hasattr(type(raw), "__set__"):
        return None
    own = object.__getattribute__(owner, "__dict__") if cls.__dictoffset__ else {}
    if name in own:
        return Known(own[name])
    if isinstance(owner, Module) and name in own.get("_modules", ()):
        return Known(own["_modules"][name])
    if isinstance(raw, types.FunctionType):
        return Known(types.MethodType(raw, owner))
    if isinstance(raw, staticmethod):
        return Known(raw.__func__)
    return Known(types.MethodType(raw.__func__, cls)) if isinstance(raw, classmethod) else None


def _called(callee: Any) -> types.MethodType | types.FunctionType | None:
    """The user's function that calling an object runs first, if it is known."""
    if isinstance(callee, (types.FunctionType, types.MethodType)):
        return callee if isinstance(callee, types.FunctionType) or isinstance(callee.__func__, types.FunctionType) else None
    if isinstance(callee, Module) and type(callee).__call__ is Module.__call__:
        hooks = (callee._forward_hooks, callee._forward_pre_hooks, callee._backward_hooks, callee._backward_pre_hooks)
        if any(hooks) or calls._global_forward_hooks or calls._global_forward_pre_hooks or "forward" in callee.__dict__:
            return None
        return types.MethodType(type(callee).forward, callee)
    return None


class Call:
    """A call that an instruction makes."""

    def __init__(self, callee: Any, arguments: list[Any], names: tuple[str, ...]) -> None:
        self.target = _called(callee)
        self.through_module = isinstance(callee, Module)
        count = len(arguments) - len(names)
        self.positional, self.keywords = arguments[:count], dict(zip(names, arguments[count:]))
        self.is_entered = False
        self.result: Expression | None = None

    def binds(self, frame: types.FrameType) -> dict[str, Any] | None:
        """The parameters of the frame that is entered; None: it is not the function that is called, or takes the numbers in another way."""
        target = self.target
        function = target.__func__ if isinstance(target, types.MethodType) else target
        code = frame.f_code
        if self.is_entered or function is None or function.__code__ is not code or code.co_flags & SUSPENDED:
            return None
        names = code.co_varnames[: code.co_argcount]
        given = dict(zip(names[int(isinstance(target, types.MethodType)) :], self.positional))
        rest = self.positional[len(given) :]
        allowed = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        if any(expressions_in(rest)) or any(expressions_in(e for n, e in self.keywords.items() if n not in allowed)):
            return None
        return {**given, **{name: entry for name, entry in self.keywords.items() if name in allowed}}
