"""What Python state a call reads: the attributes, globals, closures and containers that a compiled function's result depends on.

While a call is captured, the interpreter's profile hook tells which functions run, and the classes of all objects that the call can
reach have a ``__getattribute__`` that tells which attributes are read.  Each place that a value was read from is noted with the value;
`guards` turns the notes into a check.  What such notes cannot cover (input and output, foreign extension code, writes to globals) makes
the capture give up: the call still ran as always.
"""

from __future__ import annotations

import array
import enum
import functools
import gc
import os
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Set
from typing import Any

import numpy as np

from ..backends import numerics
from ..backends.switches import SwitchModule
from ..core.device import device
from ..core.dtype import dtype
from ..core.layouts import layout, memory_format
from ..core.size import Size
from ..core.typeinfo import finfo, iinfo
from ..graph.instruction import Instruction
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .capture import Capture
from .code_kinds import COMPUTING_LIBRARIES, global_names, is_ours, is_pure, kind_of
from .known import Known
from .variables import FollowedVariable
from .varying import Varying

__all__ = ["CONTAINERS", "MISSING", "Note", "Watch", "is_simple"]

_GRAD: Any = Tensor.__dict__["grad"]
_INFER: Any = Instruction.infer
MISSING: Any = type("_Missing", (), {"__repr__": lambda self: "<missing>"})()

#: Values that are compared, not held.
_SIMPLE = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), dtype, device, Size, layout, memory_format, slice, range, np.generic, finfo, iinfo)
_IDENTICAL = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType, property, functools.partial, staticmethod, classmethod,
    enum.Enum, types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.CodeType, types.MappingProxyType,
)  # fmt: skip
CONTAINERS = (list, tuple, dict, set, frozenset, deque)

#: A container with more entries than this is a table: it is compared with a copy, if what it holds is numbers and strings.
LARGEST_CONTAINER = 2048

#: Functions of ours whose answer depends on what is no state of a tensor.
_TELLS_THE_PROCESS = ("initial_seed", "get_num_threads", "get_num_interop_threads")
#: Entries of a class that Python makes by itself.
_MADE_ON_DEMAND = ("__getattribute__", "__annotations__", "__abstractmethods__", "_abc_impl", "__slotnames__")
#: The flags of classes that are made while Python runs, and of those that cannot be changed.
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8


def is_simple(value: Any) -> bool:
    """Whether a value is compared with what it was, rather than held."""
    if isinstance(value, enum.Enum):
        return False
    if type(value) is tuple or isinstance(value, frozenset):
        return all(map(is_simple, value))
    return isinstance(value, _SIMPLE)


class Note:
    """A value that was read: ``container[key]`` (a dictionary or a list), or ``getattr(container, key)`` for ``kind`` "attribute", or a
    cell's content for "cell"; ``where`` says it for people."""

    __slots__ = ("kind", "container", "key", "value", "where")

    def __init__(self, kind: str, container: Any, key: Any, value: Any, where: str) -> None:
        self.kind, self.container, self.key, self.value, self.where = kind, container, key, value, where


class Watch:
    """Notes what is read while it is active.

    Attributes:
        notes: in the order they were made.
        entered: the code of the user's functions that were called, and its globals.
        known: the tensors that were found: id -> `Known`.
        asked: ids of the tensors whose ``.grad`` was read.
        floating: places of tensors that are not held by identity: (kind, id of the container, key).
        counting: places of numbers that were seen to change.
        varying: those of them that the call has read.
        outside: objects that existed before the call and can be reached by it: id -> (object, what its dictionary held).
        containers: the same for containers: id -> (container, a copy of it, where).
    """

    def __init__(self, capture: Capture, floating: set[tuple], counting: Set[tuple] = frozenset()) -> None:
        self.capture = capture
        self.floating, self.counting = floating, counting
        self.varying: dict[tuple, Varying] = {}
        self.known: dict[int, Known] = {}
        self.asked: set[int] = set()
        self.notes: dict[tuple, Note] = {}
        self.outside: dict[int, tuple[Any, dict[str, Any], str]] = {}
        self.containers: dict[int, tuple[Any, Any, str]] = {}
        self._patched: list[tuple[type, Any]] = []
        self._codes: dict[types.CodeType, str] = {}
        self._functions: dict[types.CodeType, list[types.FunctionType]] = {}  # the user's functions that were found
        self._classes: dict[type, dict[str, Any]] = {}
        self._spaces: dict[int, tuple[Any, str]] = {}  # the user's modules and classes that were found
        self._names: set[str] = set()  # of attributes, in all code that was entered
        self.entered: dict[types.CodeType, dict[str, Any]] = {}
        self._previous: Any = None
        self._busy = False
        self._imports = 0
        self._collects = False

    # ------------------------------------------------------------------------------------------------------------ noting
    def note(self, kind: str, container: Any, key: Any, value: Any, where: str) -> None:
        """A value was read from a place."""
        place = (kind, id(container), key)
        if place in self.notes or value is sys.modules:  # whether a library is imported changes no result, and all modules would count as read
            return
        self.notes[place] = Note(kind, container, key, value, where)
        if isinstance(value, Tensor):
            self.find(value, place not in self.floating, where)
        else:
            self.look_into(value, where)

    def find(self, tensor: Tensor, is_fixed: bool, where: str) -> None:
        """A tensor from outside; what it is like now is noted, and what its gradient is like."""
        found = self.known.get(id(tensor))
        if found is None:
            try:
                found = Known(tensor, len(self.known), is_fixed, where)
            except NotImplementedError:  # sparse, quantized: there is no memory of elements
                self.capture.give_up(f"{where} is a {type(tensor).__name__} of another layout than strided")
                return
            self.known[id(tensor)] = found
            if found.gradient is not None:
                self.find(found.gradient, False, f"{where}.grad")
            if found.edge == "hooked":
                node = found.where_on_tape[0]
                self.note("attribute", node, "hooks", node.hooks, f"hooks of {where}")
                self.note("attribute", node, "post_accumulate", node.post_accumulate, f"hooks of {where}")
                if node.hooks is not None:
                    for name in ("tensor", "retain", "pre", "post"):
                        self.note("attribute", node.hooks, name, getattr(node.hooks, name), f"hooks of {where}")
            if found.attributes and is_fixed:
                self._contents(tensor.__dict__, where)
            elif not all(map(is_simple, found.attributes.values())):
                self.capture.give_up(f"{where} has attributes of its own")

    def look_into(self, value: Any, where: str) -> None:
        """Follow a value to what can be read from it."""
        if is_simple(value) or isinstance(value, Tensor) or getattr(type(value), "captured_by_identity", False):
            return
        if isinstance(value, _IDENTICAL):
            self._callable(value, where)
        elif isinstance(value, CONTAINERS):
            self._contents(value, where)
        elif isinstance(value, np.ndarray):
            self.capture.give_up(f"a numpy array is read: {where}")
        elif isinstance(value, (Iterator, types.CoroutineType)):
            self.capture.give_up(f"an iterator is read: {where}")
        elif isinstance(value, (bytearray, memoryview, array.array)):
            self.capture.give_up(f"a {type(value).__name__} is read: {where}")
        elif isinstance(value, weakref.ref):
            self.note("call", value, None, value(), f"{where}()")
        else:
            self.adopt(value, where)

    def _callable(self, value: Any, where: str) -> None:
        """A function, a class or a module: what its calls and its attributes depend on."""
        if isinstance(value, types.FunctionType):
            if kind_of(value.__code__.co_filename, value.__globals__) == "user":
                self._functions.setdefault(value.__code__, []).append(value)
                if value.__dict__:
                    self._contents(value.__dict__, where)
                if value.__code__ in self.entered:
                    self._function(value, where)
        elif isinstance(value, types.MethodType):
            self.look_into(value.__func__, where)
            self.look_into(value.__self__, f"{where}.__self__")
        elif isinstance(value, types.BuiltinFunctionType):
            if not isinstance(value.__self__, (types.ModuleType, type)) and value.__self__ is not None:
                self.look_into(value.__self__, f"{where}.__self__")
        elif isinstance(value, (staticmethod, classmethod)):
            self.look_into(value.__func__, where)
        elif isinstance(value, property):
            for function in (value.fget, value.fset, value.fdel):
                if function is not None:
                    self.look_into(function, where)
        elif isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                self.note("attribute", value, name, getattr(value, name), f"{where}.{name}")
            self._contents(value.__dict__, where)
        elif isinstance(value, type):
            for cls in value.__mro__:
                self._space(cls, f"class {cls.__name__}")
        elif isinstance(value, types.ModuleType):
            self._space(value, value.__name__)

    def _function(self, function: types.FunctionType, where: str) -> None:
        """A user's function that is called."""
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.note("attribute", function, name, getattr(function, name), f"{name} of {function.__name__}")

    def _space(self, space: Any, where: str) -> None:
        """A module or a class, of which code may read whatever it has a name for."""
        module = space.__name__ if isinstance(space, types.ModuleType) else space.__module__
        if id(space) in self._spaces or is_ours(module) or str(module).partition(".")[0] in COMPUTING_LIBRARIES:
            return
        self._spaces[id(space)] = space, where
        if isinstance(space, type):
            self._classes[space] = dict(space.__dict__)
            for value in list(space.__dict__.values()):
                if isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
                    self._callable(value, where)
        self._read_from(space, where, self._names)

    def _read_from(self, space: Any, where: str, names: Iterable[str]) -> None:
        for name in names:
            value = space.__dict__.get(name, MISSING)
            if value is not MISSING and not isinstance(value, (np.ndarray, Iterator)):
                self.note("item", space.__dict__, name, value, f"{where}.{name}")

    def _contents(self, container: Any, where: str) -> None:
        if id(container) in self.containers:
            return
        entries = len(container)
        self.containers[id(container)] = (container, _copied(container), where)
        if entries > LARGEST_CONTAINER:
            if not all(map(is_simple, container.values() if isinstance(container, dict) else container)):
                self.capture.give_up(f"{where} holds more than {LARGEST_CONTAINER} objects")
            return
        if isinstance(container, dict):
            for key, value in list(container.items()):
                if isinstance(value, Tensor) or not is_simple(key):
                    self.look_into(key, f"a key of {where}")
                self.note("item", container, key, value, f"{where}[{key!r}]" if is_simple(key) else f"{where}[...]")
        elif not isinstance(container, (set, frozenset)):
            for k, value in enumerate(container):
                self.note("item", container, k, value, f"{where}[{k}]")

    def adopt(self, value: Any, where: str) -> None:
        """An object outside: from now on its attributes are watched."""
        if id(value) in self.outside:
            return
        own = getattr(value, "__dict__", None)
        self.outside[id(value)] = (value, dict(own or ()), where)
        cls = type(value)
        for base in cls.__mro__:
            self._space(base, f"class {base.__name__}")
        of_modules = isinstance(value, Module) and cls.__getattribute__ is Module.__getattribute__
        if not self._patch(Module if of_modules else cls) and isinstance(own, dict):  # its reads cannot be seen: all of it counts as read
            self.note("attribute", value, "__dict__", own, f"{where}.__dict__")

    def _patch(self, cls: type) -> bool:
        """Have a class show which attributes of its objects are read; False: it cannot."""
        if any(cls is patched for patched, _ in self._patched):
            return True
        if not cls.__flags__ & _HEAP_TYPE or cls.__flags__ & _IMMUTABLE_TYPE:
            return False
        own = cls.__dict__.get("__getattribute__", MISSING)
        original: Any = cls.__getattribute__
        watch = self

        def __getattribute__(self: Any, name: str) -> Any:
            try:
                value = original(self, name)
            except AttributeError:
                if not name.startswith("__"):
                    watch.missed(self, name)
                raise
            if not name.startswith("__"):
                return watch.read(self, name, value)
            elif name == "__dict__":
                watch.read_all(self, value)
            return value

        try:
            cls.__getattribute__ = __getattribute__  # type: ignore[method-assign, assignment]
        except TypeError:
            return False
        self._patched.append((cls, own))
        return True

    def read(self, owner: Any, name: str, value: Any) -> Any:
        """An attribute of an object was read; returns what the reader gets."""
        known = self.outside.get(id(owner))
        if known is None or self._busy or self.capture.paused:
            return value
        before, where = known[1], known[2]
        if isinstance(owner, SwitchModule):
            if is_simple(value):
                self.note("attribute", owner, name, value, f"{where}.{name}")
            return value
        own = object.__getattribute__(owner, "__dict__") if _has_dict(owner) else {}
        if name in own:
            if before.get(name, MISSING) is value:  # otherwise it was written by the call itself
                self.note("item", own, name, value, f"{where}.{name}")
            place = ("item", id(own), name)
            if place in self.counting and name in before:
                return self.counted(own, name).read(sys._getframe(2), self.capture)
            return value
        for cls in type(owner).__mro__:
            if name in cls.__dict__:
                raw = cls.__dict__[name]
                if isinstance(raw, types.MemberDescriptorType):
                    self.note("attribute", owner, name, value, f"{where}.{name}")
                elif not is_ours(cls.__module__):
                    self.note("item", cls.__dict__, name, raw, f"{cls.__name__}.{name}")
                    if _has_dict(owner):
                        self.note("item", own, name, MISSING, f"{where}.{name}")
                break
        return value

    def read_all(self, owner: Any, own: Any) -> None:
        """The dictionary of an object's attributes was read."""
        known = self.outside.get(id(owner))
        if known is None or self._busy or self.capture.paused or self._kind(sys._getframe(2)) != "user":
            return
        if isinstance(own, dict):
            self.note("attribute", owner, "__dict__", own, f"{known[2]}.__dict__")
            for name in own:  # whatever is done with them is not seen
                self.counted(own, name).fails = True

    def counted(self, own: dict[str, Any], name: str) -> Varying:
        """What is known of the use of a number in an attribute."""
        place = ("item", id(own), name)
        found = self.varying.get(place)
        if found is None:
            found = self.varying[place] = Varying(own, name, own[name])
        return found

    def missed(self, owner: Any, name: str) -> None:
        """An object has no attribute of this name of its own: a module's parameter, buffer or submodule, or nothing."""
        known = self.outside.get(id(owner))
        if known is None or self._busy or self.capture.paused:
            return
        before, where = known[1], known[2]
        if isinstance(owner, Module):
            for registry in ("_parameters", "_buffers", "_modules"):
                entries = before.get(registry)
                if entries is not None and name in entries:
                    _, copy, _ = self.containers.get(id(entries), (None, None, ""))
                    if copy is None or copy.get(name, MISSING) is entries[name]:  # otherwise it was written by the call itself
                        self.note("item", entries, name, entries[name], f"{where}.{name}")
                    return
        if _has_dict(owner):
            self.note("item", object.__getattribute__(owner, "__dict__"), name, before.get(name, MISSING), f"{where}.{name}")

    # -------------------------------------------------------------------------------------------------------------- calls
    def _profile(self, frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_name == "_find_and_load":  # a module that is imported for the first time runs once
            self._imports += (event == "call") - (event == "return")
        elif self._imports:
            return
        elif event == "call":
            code = frame.f_code
            kind = self._codes.get(code) or self._kind(frame)
            if kind == "user":
                if code not in self.entered and not self.capture.paused:
                    self._enter(frame, code)
            elif kind == "ours":
                self._setting(frame, code)
            elif kind == "impure":
                back = frame.f_back
                if back is not None and (self._codes.get(back.f_code) or self._kind(back)) == "user" and not self.capture.paused:
                    self.capture.give_up(f"{code.co_name} of {os.path.basename(code.co_filename)} is called")
        elif event == "c_call":
            kind = self._codes.get(frame.f_code) or self._kind(frame)
            if kind == "user" and not self.capture.paused and not is_pure(argument):
                self.capture.give_up(f"{getattr(argument, '__qualname__', argument)} is called, which has effects or cannot be watched")

    def _setting(self, frame: Any, code: types.CodeType) -> None:
        """A function of ours is called: does it tell or change a setting of the process?"""
        name = code.co_name
        if self.capture.paused:
            return
        if name in _TELLS_THE_PROCESS:
            self.capture.give_up(f"{name} is called")
        elif code.co_filename == numerics.__file__:
            reads, writes = global_names(code)
            if writes:
                self.capture.give_up(f"{name} is called, which changes a setting of the process")
            for read in reads:
                if is_simple(frame.f_globals.get(read, MISSING)):
                    self.note("item", frame.f_globals, read, frame.f_globals[read], f"the setting {name}()")

    def _kind(self, frame: types.FrameType) -> str:
        kind = self._codes[frame.f_code] = kind_of(frame.f_code.co_filename, frame.f_globals)
        return kind

    def _enter(self, frame: Any, code: types.CodeType) -> None:
        """The first call of a user's function: the globals and the closure that its code refers to."""
        self.entered[code] = frame.f_globals  # each code object is looked at once
        self._busy = True
        try:
            reads, writes = global_names(code)
            if writes:
                self.capture.give_up(f"the global {writes[0]!r} is written by {code.co_name}")
            for name in reads:
                found = frame.f_globals.get(name, MISSING)
                if found is MISSING:
                    continue  # a builtin
                self.note("item", frame.f_globals, name, found, f"global {name}")
                self._follow(("item", id(frame.f_globals), name), frame.f_globals, name, name)
            new = set(code.co_names) - self._names
            self._names |= new
            for space, where in list(self._spaces.values()):
                self._read_from(space, where, new)
            for function in self._functions.get(code, ()):
                self._function(function, "")
            if code.co_freevars:
                self._closure(frame, code)
        finally:
            self._busy = False

    def _closure(self, frame: Any, code: types.CodeType) -> None:
        if any(code in outer.co_consts for outer in self._codes if self._codes[outer] == "user"):
            return  # a function made by the call itself
        values, is_found = frame.f_locals, False
        for function in [*gc.get_referrers(code), *self._functions.get(code, ())]:
            if not isinstance(function, types.FunctionType) or function.__closure__ is None:
                continue
            cells = dict(zip(code.co_freevars, function.__closure__, strict=True))
            if all(_content(cell) is values.get(name, MISSING) for name, cell in cells.items()):
                self.closure_of(function)
                is_found = True
        if not is_found:  # it was made before the import, and is frozen (core/collecting.py)
            self.capture.give_up(f"the closure of {code.co_name} cannot be found")

    def closure_of(self, function: types.FunctionType) -> None:
        """The cells of a function's closure."""
        self._functions.setdefault(function.__code__, []).append(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.note("cell", cell, "cell_contents", _content(cell), f"closure {name} of {function.__name__}")
            self._follow(("cell", id(cell), "cell_contents"), cell, "cell_contents", name)

    def _follow(self, place: tuple, holder: Any, key: str, name: str) -> None:
        """A variable whose number was seen to change."""
        if place in self.counting and place not in self.varying:
            self.varying[place] = FollowedVariable(holder, key, name)

    # ------------------------------------------------------------------------------------------------------------- active
    def __enter__(self) -> Watch:
        asked = self.asked

        def grad(tensor: Tensor) -> Any:
            asked.add(id(tensor))
            return _GRAD.__get__(tensor)

        for module in list(sys.modules.values()):
            if isinstance(module, SwitchModule):
                self.outside[id(module)] = module, dict(module.__dict__), module.__name__
                self._patch(type(module))

        def inferred(instruction: Instruction, avals: tuple) -> Any:
            """JAX's tracing of an operator reads nothing of the user's, and makes so many calls that seeing each would take a third of its time."""
            profile = sys.getprofile()
            sys.setprofile(None)
            try:
                return _INFER(instruction, avals)
            finally:
                sys.setprofile(profile)

        Instruction.infer = inferred  # type: ignore[method-assign, assignment]
        Tensor.grad = property(grad, _GRAD.__set__, _GRAD.__delete__)  # type: ignore[assignment, arg-type]
        self._collects = gc.isenabled()
        gc.disable()  # finalizers and callbacks of the collector are no part of the call
        self._previous = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._previous)
        Instruction.infer = _INFER  # type: ignore[method-assign]
        if self._collects:
            gc.enable()
        Tensor.grad = _GRAD  # type: ignore[assignment]
        for cls, own in reversed(self._patched):
            if own is MISSING:
                del cls.__getattribute__
            else:
                cls.__getattribute__ = own  # type: ignore[method-assign]
        self._patched.clear()

    def settle(self, accepted: set[tuple[int, Any]]) -> None:
        """Take what was written since as it is, but for these (id of the dictionary, key): a replay writes it anew by itself."""
        for container, key, value, _ in list(self.changes()):
            if container is not None and (id(container), key) not in accepted:
                for before in self._copies_of(container):
                    if value is MISSING:
                        before.pop(key, None)
                    else:
                        before[key] = value

    def is_written(self, container: dict, key: Any) -> bool:
        """Whether an entry of a dictionary is not what it was before the call, or than Python that replays run again left it."""
        return any(before.get(key, MISSING) is not container[key] for before in self._copies_of(container))

    def _copies_of(self, container: dict) -> list[dict]:
        copies = [before for owner, before, _ in self.outside.values() if getattr(owner, "__dict__", None) is container]
        return copies + [before for owner, before, _ in self.containers.values() if owner is container and before is not None]

    def changes(self) -> Iterator[tuple[dict | None, Any, Any, str]]:
        """What the call wrote: (dictionary, key, new value or MISSING, where); None for the dictionary: something that cannot be replayed."""
        for value, before, where in self.outside.values():
            after = getattr(value, "__dict__", None)
            if isinstance(after, dict):
                yield from _differences(after, before, where)
        for cls, before in self._classes.items():
            for key, value in cls.__dict__.items():
                if before.get(key, MISSING) is not value and key not in _MADE_ON_DEMAND:
                    yield None, None, None, f"class {cls.__name__}.{key}"
        for container, before, where in self.containers.values():
            if isinstance(container, dict):
                yield from _differences(container, before, where)
            elif not _is_same(container, before):
                yield None, None, None, where


def _differences(after: dict, before: dict, where: str) -> Iterator[tuple[dict, Any, Any, str]]:
    for key, value in after.items():
        old = before.get(key, MISSING)
        if old is not value and not (is_simple(value) and type(old) is type(value) and old == value):
            yield after, key, value, where
    for key in before:
        if key not in after:
            yield after, key, MISSING, where


def _is_same(after: Any, before: Any) -> bool:
    if isinstance(after, (set, frozenset)):
        return after == before
    return len(after) == len(before) and all(a is b for a, b in zip(after, before))


def _copied(container: Any) -> Any:
    return dict(container) if isinstance(container, dict) else set(container) if isinstance(container, (set, frozenset)) else list(container)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _has_dict(value: Any) -> bool:
    return type(value).__dictoffset__ != 0
