"""``__torch_function__``: tensor-like classes and modes that take over calls.

A public function asks `wanted`, and if so hands itself and its arguments over (`take_over`, `hand_over`).  Methods and properties of `Tensor` that
are plain Python are intercepted where somebody may want them: on overriding subclasses (`_watch_subclass`), and on `Tensor` itself from the
first mode on (`watch_methods`).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from ..core.device import device
from ..core.dtype import dtype
from ..core.state import thread
from ..tensors.tensor import PLAIN_TYPES, Tensor
from .registry import Composite, Operator, ViewOperator
from .schema import Schema

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "hand_over", "overloaded_arguments", "overridable", "overrides_calls", "pack_saved",
    "take_over", "wanted", "watch_methods",
]  # fmt: skip


class _Switches(threading.local):
    """Per thread: how many contexts switch off the overrides of classes, and those of modes."""

    classes_off = 0
    modes_off = 0


_switches = _Switches()
#: Types of most arguments, which override nothing.
_ORDINARY = frozenset({int, float, bool, complex, str, type(None), slice, dtype, device})


class DisableTorchFunctionSubclass:
    """Subclasses do not take over calls inside the block; modes still do."""

    _and_modes = False

    def __enter__(self) -> None:
        _switches.classes_off += 1
        _switches.modes_off += self._and_modes

    def __exit__(self, *error: object) -> None:
        _switches.classes_off -= 1
        _switches.modes_off -= self._and_modes


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Neither subclasses nor modes take over calls inside the block."""

    _and_modes = True


# ---------------------------------------------------------------------------------------------------------------- who wants a call
def overrides_calls(kind: type) -> bool:
    """Whether the class has a ``__torch_function__`` that is not switched off."""
    return kind not in PLAIN_TYPES and getattr(kind, "__torch_function__", _disabled_torch_function) is not _disabled_torch_function


def _flat(arguments: Sequence[Any]) -> Iterator[Any]:
    for a in arguments:
        if type(a) in (tuple, list):
            yield from a
        else:
            yield a


def wanted(arguments: Sequence[Any]) -> bool:
    """Whether a mode or the class of an argument takes over a call with these arguments."""
    if thread.state.modes and not _switches.modes_off:
        return True
    for a in arguments:
        kind = type(a)
        if kind in PLAIN_TYPES or kind in _ORDINARY:
            continue
        if kind is tuple or kind is list:
            if any(overrides_calls(type(e)) for e in a if type(e) not in _ORDINARY) and not _switches.classes_off:
                return True
        elif overrides_calls(kind) and not _switches.classes_off:
            return True
    return False


def overloaded_arguments(arguments: Sequence[Any]) -> list[Any]:
    """The arguments whose class takes over calls, one of each class: from left to right, subclasses before their bases."""
    found: list[Any] = []
    if _switches.classes_off:
        return found
    for a in _flat(arguments):
        kind = type(a)
        if kind in _ORDINARY or not overrides_calls(kind) or any(type(f) is kind for f in found):
            continue
        position = next((k for k, f in enumerate(found) if issubclass(kind, type(f))), len(found))
        found.insert(position, a)
    return found


def is_wanted_by_class(arguments: Sequence[Any]) -> bool:
    """Whether the class of an argument overrides calls, whatever is switched off at the moment."""
    kinds = set(map(type, arguments)).union(*[map(type, a) for a in arguments if type(a) in (tuple, list)])
    return any(overrides_calls(kind) for kind in kinds if kind not in _ORDINARY)


# ---------------------------------------------------------------------------------------------------------------- handing over
#: Functions of ``nn.functional`` that torch implements below Python: they hand over what they were given, the others name all optional arguments.
_BUILTIN_FUNCTIONALS = frozenset(
    "adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d "
    "conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_ linear logsigmoid native_channel_shuffle one_hot "
    "pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ softplus softshrink threshold_".split()
)


def as_given(schema: Schema, arguments: Sequence[Any], *, name_all: bool = False, folded: Any = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the keyword arguments of a call whose bound arguments stand in the schema's order.

    What was left at its default is left out, and what follows such an argument, or stands behind ``*``, is passed by name.

    Args:
        name_all: pass all optional arguments by name, as torch's own Python functions do.
        folded: what was passed one by one for the last positional argument, as in ``x.view(2, 3)``.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    gap = False
    for argument, value in zip(schema.arguments, arguments, strict=True):
        is_default = not argument.required and value is argument.default
        if name_all and not argument.required:
            named[argument.name] = value
        elif is_default:
            gap = True
        elif argument.keyword_only or gap:
            named[argument.name] = value
        else:
            positional.append(value)
    if folded:
        positional[-1:] = folded
    return tuple(positional), named


def take_over(function: Any, declared: Operator | ViewOperator | Composite, arguments: tuple[Any, ...], folded: Any = None, out: Any = None) -> Any:
    """Hand over the call of an operator's public form.

    Args:
        function: the public function, or its name among the methods of `Tensor`.
        arguments: in the schema's order.
        folded: see `as_given`.
    """
    if isinstance(function, str):
        function = getattr(Tensor, function)
    name_all = function.__module__ == "torch.nn.functional" and function.__name__ not in _BUILTIN_FUNCTIONALS
    args, kwargs = as_given(declared.schema, arguments, name_all=name_all, folded=folded)
    if out is not None:
        kwargs["out"] = out
    return hand_over(function, args, kwargs)


def hand_over(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], relevant: tuple[Any, ...] | None = None) -> Any:
    """Hand a call to the innermost mode, or to the overriding arguments in turn until one answers.

    Args:
        relevant: the arguments to look at; None means all.

    Raises:
        TypeError: nobody did.
    """
    state = thread.state
    overloaded = overloaded_arguments((*args, *kwargs.values()) if relevant is None else relevant)
    types = tuple([type(a) for a in overloaded])
    if state.modes and not _switches.modes_off:
        mode = state.modes.pop()
        state.slow -= 1
        try:
            result = mode.__torch_function__(function, types, args, kwargs)
        finally:
            state.modes.append(mode)
            state.slow += 1
        if result is not NotImplemented:
            return result
    for a in overloaded:
        result = type(a).__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{getattr(function, '__module__', 'torch')}.{getattr(function, '__name__', function)}"
    tried = "".join(f"\n  - tensor subclass {kind}" for kind in types)
    raise TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n{tried}")


# ---------------------------------------------------------------------------------------------------------------- the default override
def _disabled_torch_function(*args: Any, **kwargs: Any) -> Any:
    """The ``__torch_function__`` of classes that take over nothing."""
    return NotImplemented


def _torch_function(cls: type, func: Any, types: Sequence[type], args: tuple = (), kwargs: dict | None = None) -> Any:
    """The default override of Tensor's subclasses: run the function as on plain tensors and give results the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if cls is Tensor or func in nowrap_functions():
            return result
        return _converted(result, cls, args if hasattr(func, "declared") else None)


@functools.cache
def nowrap_functions() -> frozenset[Any]:
    """Functions whose results keep their class."""
    return frozenset({Tensor.grad.__get__, Tensor._base.__get__})  # type: ignore[attr-defined, union-attr]


def _converted(result: Any, cls: type, args: tuple | None) -> Any:
    """Results as tensors of a subclass; a new tensor (an operator's result that is none of ``args``) keeps its place on the tape and as a view."""
    if isinstance(result, Tensor):
        if isinstance(result, cls):
            return result
        if args is not None and type(result) is Tensor and not any(result is a for a in args):
            try:
                result.__class__ = cls  # type: ignore[assignment]
                return result
            except TypeError:  # the subclass has slots of its own
                pass
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        converted = [_converted(r, cls, args) for r in result]
        make = getattr(type(result), "_make", type(result))
        return make(converted)
    return result


Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------------------------------- what is no operator
#: Special methods that hand over; the others (``__hash__``, ``__iter__``, pickling ...) do not, or call ones that do.
_SPECIAL_METHODS = frozenset(
    "__getitem__ __setitem__ __len__ __bool__ __float__ __int__ __complex__ __index__ __repr__ __format__ __array__ __reversed__ __contains__ "
    "__dlpack__ __dlpack_device__".split()
)
_NOT_HANDED_OVER = frozenset({"as_subclass"})


def overridable(function: Any) -> Any:
    """A Python function that classes and modes can take over."""

    @functools.wraps(function)
    def intercepted(*args: Any, **kwargs: Any) -> Any:
        if wanted((*args, *kwargs.values())):
            return hand_over(intercepted, args, kwargs)
        return function(*args, **kwargs)

    return intercepted


def _method_on_subclass(name: str) -> Any:
    original = Tensor.__dict__[name]

    @functools.wraps(original)
    def intercepted(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = Tensor.__dict__[name]
        if wanted((self, *args, *kwargs.values())):
            return hand_over(function, (self, *args), kwargs)
        return function(self, *args, **kwargs)

    return intercepted


def _property_on_subclass(name: str) -> property:
    original = Tensor.__dict__[name]

    def get(self: Any) -> Any:
        return hand_over(original.__get__, (self,), {}) if wanted((self,)) else original.fget(self)

    def put(self: Any, value: Any) -> None:
        if wanted((self, value)):
            hand_over(original.__set__, (self, value), {})
        else:
            original.fset(self, value)

    def delete(self: Any) -> None:
        if wanted((self,)):
            hand_over(original.__delete__, (self,), {})
        else:
            original.fdel(self)

    return property(get, put if original.fset else None, delete if original.fdel else None, original.__doc__)


def _python_members() -> dict[str, Any]:
    """The methods and properties of Tensor that are plain Python, not forms of operators."""
    return {
        name: member
        for name, member in list(Tensor.__dict__.items())
        if (name in _SPECIAL_METHODS or not name.startswith("_")) and name not in _NOT_HANDED_OVER
        and (isinstance(member, property) or isinstance(member, FunctionType) and not hasattr(member, "declared"))
    }  # fmt: skip


def _watch_subclass(cls: type[Tensor], **kwargs: Any) -> None:
    """Give a new subclass members that hand over; one that overrides nothing takes the short way instead."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if not overrides_calls(cls):
        if getattr(cls, "__torch_dispatch__", _disabled_torch_dispatch) is _disabled_torch_dispatch:
            PLAIN_TYPES.add(cls)
        return
    defined = {name for base in cls.__mro__[: cls.__mro__.index(Tensor)] for name in base.__dict__}
    for name, member in _python_members().items():
        if name not in defined:
            setattr(cls, name, _property_on_subclass(name) if isinstance(member, property) else _method_on_subclass(name))


def _disabled_torch_dispatch(*args: Any, **kwargs: Any) -> Any:
    """The ``__torch_dispatch__`` of classes that have none."""
    return NotImplemented


Tensor.__torch_dispatch__ = _disabled_torch_dispatch  # type: ignore[attr-defined]
Tensor.__init_subclass__ = classmethod(_watch_subclass)  # type: ignore[assignment]


@functools.cache
def watch_methods() -> None:
    """Let modes see Tensor's Python methods too: done when the first mode is entered, so that nobody else pays for it."""
    for name, member in _python_members().items():
        if isinstance(member, FunctionType):
            setattr(Tensor, name, overridable(member))


# ---------------------------------------------------------------------------------------------------------------- what the tape saves
def pack_saved(node: Any, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Hand what a new node saved to the active hooks; autograd/graph.py puts the real one here."""
    raise NotImplementedError("autograd/graph.py is not imported yet")
