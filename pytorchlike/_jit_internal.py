"""``torch._jit_internal``: the marks that scripted code carries.  Python runs that code here, so they change nothing; libraries put them everywhere."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from .futures import Future

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "BroadcastingListCls", "Final", "FunctionModifiers", "Future", "RRef", "boolean_dispatch",
    "export", "ignore", "is_scripting", "unused",
]  # fmt: skip

_Item = TypeVar("_Item")


class FunctionModifiers:
    """What the marks are called in ``_torchscript_modifier``."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


class BroadcastingListCls:
    """The annotation ``BroadcastingList2[int]``: a number, or a list of two; nothing checks it."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
for _count in range(4, 7):
    globals()[f"BroadcastingList{_count}"] = BroadcastingList1


class RRef(Generic[_Item]):
    """The annotation of a remote reference; there are none."""


def _marked(fn: Any, modifier: str) -> Any:
    fn._torchscript_modifier = modifier
    return fn


def is_scripting() -> bool:
    """Whether the code runs as TorchScript: never, it is Python."""
    return False


def export(fn: Callable) -> Callable:
    """Mark a method that a scripted module keeps although its ``forward`` does not call it."""
    return _marked(fn, FunctionModifiers.EXPORT)


def unused(fn: Any) -> Any:
    """Mark a function or a property that scripted code never runs."""
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part:
                _marked(part, FunctionModifiers.UNUSED)
        return fn
    return _marked(fn, FunctionModifiers.UNUSED)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a function that scripted code leaves to Python; used as ``@ignore`` or as ``@ignore(drop=...)``.

    Raises:
        RuntimeError: ``drop`` is neither a function nor a bool.
    """
    if callable(drop):
        return _marked(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    drop = kwargs.pop("drop_on_export", drop)
    return lambda fn: _marked(fn, FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE)


def _drop(fn: Callable) -> Callable:
    return _marked(fn, FunctionModifiers._DROP)


def _copy_to_script_wrapper(fn: Callable) -> Callable:
    return _marked(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def is_ignored_fn(fn: Any) -> bool:
    """Whether a function is marked to be left out of scripted code."""
    return getattr(fn, "_torchscript_modifier", None) in (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP)


def _overload(func: Callable) -> Callable:
    return func


def _overload_method(func: Callable) -> Callable:
    return func


def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Callable, if_false: Callable, module_name: Any, func_name: str) -> Callable:
    """A function that calls one of two by a bool among its arguments."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        choice = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if choice else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    return fn


# -------------------------------------------------------------------------------------------------------------- annotations
def is_optional(ann: Any) -> bool:
    """Whether an annotation allows None."""
    return is_union(ann) and type(None) in typing.get_args(ann)


def is_union(ann: Any) -> bool:
    """Whether an annotation is a union."""
    return typing.get_origin(ann) in (typing.Union, types.UnionType)


def is_list(ann: Any) -> bool:
    """Whether an annotation is a list of something."""
    return typing.get_origin(ann) is list


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is a tuple of something."""
    return typing.get_origin(ann) is tuple


def is_dict(ann: Any) -> bool:
    """Whether an annotation is a dictionary of something."""
    return typing.get_origin(ann) is dict


def is_final(ann: Any) -> bool:
    """Whether an annotation is ``Final``."""
    return ann is Final or typing.get_origin(ann) is Final


_BARE = {
    list: "Attempted to use list without a contained type. Please add a contained type, e.g. list[int]",
    tuple: "Attempted to use tuple without a contained type. Please add a contained type, e.g. tuple[int]",
    dict: "Attempted to use dict without contained types. Please add contained type, e.g. dict[int, int]",
    typing.List: "Attempted to use List without a contained type. Please add a contained type, e.g. List[int]",  # noqa: UP006 - what libraries write
    typing.Tuple: "Attempted to use Tuple without a contained type. Please add a contained type, e.g. Tuple[int]",  # noqa: UP006
    typing.Dict: "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]",  # noqa: UP006
    typing.Optional: "Attempted to use Optional without a contained type. Please add a contained type, e.g. Optional[int]",
}


def _is_bare(kind: Any) -> str | None:
    return next((text for bare, text in _BARE.items() if kind is bare), None)


def _isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of an annotated type, containers with all that they hold.

    Raises:
        RuntimeError: a container's annotation without the type of what it contains; torch's texts.
    """
    if isinstance(target_type, (tuple, list)):
        return any(_isinstance(obj, each) for each in target_type)
    text = _is_bare(target_type)
    if text is not None:
        raise RuntimeError(text)
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return isinstance(obj, type(None) if target_type is None else target_type)
    if is_union(target_type):
        return any(_isinstance(obj, each) for each in arguments)
    if not isinstance(obj, origin):
        return False
    if origin is list:
        return all(_isinstance(each, arguments[0]) for each in obj)
    if origin is dict:
        return all(_isinstance(key, arguments[0]) and _isinstance(value, arguments[1]) for key, value in obj.items())
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(_isinstance(each, arguments[0]) for each in obj)
        return len(arguments) == len(obj) and all(_isinstance(each, kind) for each, kind in zip(obj, arguments))
    return True


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    if hasattr(obj, "_jit_override_qualname"):
        return obj._jit_override_qualname
    name = "_lambda" if obj.__name__ == "<lambda>" else obj.__name__
    return f"{obj.__module__}.{name}"


def get_callable_argument_names(fn: Callable) -> list[str]:
    """The names of a function's parameters, or nothing where it has ``*args`` and the like."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [] if any(p.kind != p.POSITIONAL_OR_KEYWORD for p in parameters) else [p.name for p in parameters]
