"""What Python state a call reads: the attributes, globals, closures and containers that a compiled function's result depends on.

While a call is captured, the interpreter's profile hook tells which functions run, and the classes of all objects that the call can
reach have a ``__getattribute__`` that tells which attributes are read.  Each place that a value was read from is noted with the value;
`guards` turns the notes into a check.  What such notes cannot cover (input and output, foreign extension code, writes to globals) makes
the capture give up: the call still ran as always.
"""

from __future__ import annotations

import abc
import array
import enum
import functools
import gc
import inspect
import os
import sys
import threading
import types
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from ..backends import numerics
from ..backends.switches import SwitchModule
from ..graph.instruction import Instruction
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from .capture import Capture
from .code_kinds import global_names, is_ours, is_pure, kind_of
from .effects import differences, is_same, numpy_state
from .following import Following
from .known import Known
from .profiling import resume, suspend
from .spaces import CALLABLES, Spaces
from .spaces import __file__ as SPACES
from .values import CONTAINERS, LARGEST_CONTAINER, MISSING, copied, is_simple

__all__ = ["Note", "Watch"]

_GRAD: Any = Tensor.__dict__["grad"]
_INFER: Any = Instruction.infer
#: Classes of containers that have no attributes, and no methods of the user's.
_PLAIN = frozenset({*CONTAINERS, OrderedDict, defaultdict})
_SEEN_THROUGH: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType)
#: Functions of ours whose answer depends on what is no state of a tensor.
_TELLS_THE_PROCESS = ("initial_seed", "get_num_threads", "get_num_interop_threads")
#: The flags of classes that are made while Python runs, and of those that cannot be changed.
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8
_ABSTRACT: str = abc.ABCMeta.__instancecheck__.__code__.co_filename
_CACHE: Any = type(functools.lru_cache(len))
_REGISTRIES = ("_parameters", "_buffers", "_modules")


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
        following: the numbers that were seen to change.
        outside: objects that existed before the call and can be reached by it: id -> (object, what its dictionary held).
        containers: the same for containers: id -> (container, a copy of its entries, where).
        spaces: what was found of functions, classes and modules.
        absent: names of globals that were none when code that has them ran: id -> (the globals, names).
    """

    def __init__(self, capture: Capture, floating: set[tuple], counting: Set[tuple] = frozenset(), takes_ints: bool = True) -> None:
        self.capture = capture
        self.floating = floating
        self.following = Following(capture, counting, lambda frame: self._codes.get(frame.f_code) or self._kind(frame), takes_ints)
        self.known: dict[int, Known] = {}
        self.asked: set[int] = set()
        self.notes: dict[tuple, Note] = {}
        self.outside: dict[int, tuple[Any, dict[str, Any], str]] = {}
        self.containers: dict[int, tuple[Any, Any, str]] = {}
        self._patched: list[tuple[type, str, Any]] = []
        self._codes: dict[types.CodeType, str] = {}
        self.spaces = Spaces(self)
        self.following.functions, self.following.outside = self.spaces.functions, self.outside
        self._written: dict[tuple[int, str], tuple[dict, str, str]] = {}  # attributes that the call wrote
        self.entered: dict[types.CodeType, dict[str, Any]] = {}
        self._with_code: dict[types.CodeType, list[types.FunctionType]] = {}  # all functions with it that have closures
        self._closures: dict[types.CodeType, set[tuple]] = {}  # ids of the values with which closures were called
        self._previous: Any = None
        self._busy = False
        self._imports = 0
        self._caches: list[tuple[Any, str]] = []  # functions that keep their results
        self._thread = threading.get_ident()
        self._random: Any = None
        self.absent: dict[int, tuple[dict[str, Any], set[str]]] = {}
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
                self.contents(tensor.__dict__, where)
            elif not all(map(is_simple, found.attributes.values())):
                self.capture.give_up(f"{where} has attributes of its own")

    def look_into(self, value: Any, where: str) -> None:
        """Follow a value to what can be read from it."""
        if is_simple(value) or isinstance(value, Tensor) or getattr(type(value), "captured_by_identity", False):
            return
        if isinstance(value, CALLABLES):
            self.spaces.look_into(value, where)
        elif isinstance(value, CONTAINERS):
            self.contents(value, where)
            if type(value) is defaultdict:
                self.note("attribute", value, "default_factory", value.default_factory, f"{where}.default_factory")
                self.spaces.called_by_python(value.default_factory, where)
            elif type(value) not in _PLAIN:
                self.adopt(value, where)
        elif isinstance(value, enum.Enum) and is_ours(type(value).__module__) or isinstance(value, _SEEN_THROUGH) and not value:
            return
        elif isinstance(value, _SEEN_THROUGH):
            self.capture.give_up(f"a view of a dictionary is read: {where}")
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

    def contents(self, container: Any, where: str) -> None:
        """A list, dictionary or set: all of it counts as read."""
        if id(container) in self.containers:
            return
        before = copied(container)
        self.containers[id(container)] = (container, before, where)
        if len(before) > LARGEST_CONTAINER:
            if not all(map(is_simple, before.values() if isinstance(before, dict) else before)):
                self.capture.give_up(f"{where} holds more than {LARGEST_CONTAINER} objects")
        elif isinstance(before, dict):
            for key, value in before.items():
                if isinstance(value, Tensor) or not is_simple(key):
                    self.look_into(key, f"a key of {where}")
                self.note("item", container, key, value, f"{where}[{key!r}]" if is_simple(key) else f"{where}[...]")
        elif isinstance(container, (set, frozenset)):
            for value in before:
                if isinstance(value, Tensor):
                    self.find(value, True, f"a member of {where}")
                else:
                    self.look_into(value, f"a member of {where}")
        else:
            for k, value in enumerate(before):
                self.note("item", container, k, value, f"{where}[{k}]")

    def adopt(self, value: Any, where: str) -> None:
        """An object outside: from now on its attributes are watched."""
        if id(value) in self.outside:
            return
        own = getattr(value, "__dict__", None)
        self.outside[id(value)] = (value, dict(own or ()), where)
        cls = type(value)
        for base in cls.__mro__:
            self.spaces.space(base, f"class {base.__name__}")
        if isinstance(value, _CACHE):
            self._caches.append((value, where))
        if any(base.__module__ == "_ctypes" for base in cls.__mro__):
            self.capture.give_up(f"memory of ctypes is read: {where}")
        if cls.__module__.startswith("numpy.random"):
            self.capture.give_up(f"a generator of numpy's random numbers is read: {where}")
        of_modules = isinstance(value, Module) and cls.__getattribute__ is Module.__getattribute__
        if not self._patch(Module if of_modules else cls) and isinstance(own, dict):  # its reads cannot be seen: all of it counts as read
            self.note("attribute", value, "__dict__", own, f"{where}.__dict__")

    def _patch(self, cls: type) -> bool:
        """Have a class show which attributes of its objects are read and written; False: it cannot."""
        if any(cls is patched for patched, *_ in self._patched):
            return True
        if not cls.__flags__ & _HEAP_TYPE or cls.__flags__ & _IMMUTABLE_TYPE:
            return False
        original: Any = cls.__getattribute__
        store: Any = cls.__setattr__
        delete: Any = cls.__delattr__
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

        def __setattr__(self: Any, name: str, value: Any) -> None:
            store(self, name, value)
            watch.written(self, name)

        def __delattr__(self: Any, name: str) -> None:
            delete(self, name)
            watch.written(self, name)

        __setattr__.original = getattr(store, "original", store)  # type: ignore[attr-defined]  # which `following` looks at
        for function in (__getattribute__, __setattr__, __delattr__):
            own = cls.__dict__.get(function.__name__, MISSING)
            try:
                setattr(cls, function.__name__, function)
            except TypeError:
                return False
            self._patched.append((cls, function.__name__, own))
        return True

    @property
    def is_seeing(self) -> bool:
        """Whether what happens now is part of the call, and to be noted."""
        return not (self._busy or self._imports or self.capture.paused or self.capture.broken is not None) and threading.get_ident() == self._thread

    def written(self, owner: Any, name: str) -> None:
        """An attribute of an object was written or deleted."""
        known = self.outside.get(id(owner))
        if known is None or not self.is_seeing:
            return
        where = f"{known[2]}.{name}"
        if any(isinstance(cls.__dict__.get(name), types.MemberDescriptorType) for cls in type(owner).__mro__):
            self.capture.give_up(f"{where}, which has a slot, is written")
        elif _has_dict(owner):
            own = object.__getattribute__(owner, "__dict__")
            for registry in _REGISTRIES if isinstance(owner, Module) else ():
                if name in own[registry]:
                    own = own[registry]
                    break
            self._written[id(own), name] = own, name, where

    def read(self, owner: Any, name: str, value: Any) -> Any:
        """An attribute of an object was read; returns what the reader gets."""
        known = self.outside.get(id(owner))
        if known is None or not self.is_seeing:
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
            if ("item", id(own), name) in self.following.places and name in before:
                return self.following.read(own, name, sys._getframe(2))
            return value
        for cls in type(owner).__mro__:
            if name in cls.__dict__:
                raw = cls.__dict__[name]
                if isinstance(raw, types.MemberDescriptorType):
                    self.note("attribute", owner, name, value, f"{where}.{name}")
                elif not is_ours(cls.__module__) or isinstance(raw, types.FunctionType):
                    self.note("item", cls.__dict__, name, raw, f"{cls.__name__}.{name}")
                    if _has_dict(owner):
                        self.note("item", own, name, MISSING, f"{where}.{name}")
                break
        return value

    def read_all(self, owner: Any, own: Any) -> None:
        """The dictionary of an object's attributes was read."""
        known = self.outside.get(id(owner))
        frame: Any = sys._getframe(2)
        if frame.f_code.co_filename == SPACES:  # `vars` and `dir`
            frame = frame.f_back
        if known is None or not self.is_seeing or self._kind(frame) != "user":
            return
        if isinstance(own, dict):
            self.note("attribute", owner, "__dict__", own, f"{known[2]}.__dict__")
            for name in own:  # whatever is done with them is not seen
                if ("item", id(own), name) in self.following.places:
                    self.following.add(("item", id(own), name), own, name, own[name]).fails = True

    def missed(self, owner: Any, name: str) -> None:
        """An object has no attribute of this name of its own: a module's parameter, buffer or submodule, or nothing."""
        known = self.outside.get(id(owner))
        if known is None or not self.is_seeing:
            return
        before, where = known[1], known[2]
        if isinstance(owner, Module):
            for registry in _REGISTRIES:
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
        if self.capture.broken is not None:
            return  # nothing of the call is kept
        if event == "call" and frame.f_code.co_name == "_gcd_import" and self.is_seeing:
            self.spaces.imported(frame.f_locals["name"], 0, {})
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
                elif code.co_freevars and not self.capture.paused:
                    self._busy = True
                    try:
                        self._closure(frame, code)
                    finally:
                        self._busy = False
            elif code.co_name in ("__instancecheck__", "__subclasscheck__") and code.co_filename == _ABSTRACT:
                self.note("call", abc.get_cache_token, None, abc.get_cache_token(), "what counts as an abstract class")
            elif code.co_filename == inspect.__file__:
                self.spaces.all_called()
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
        kind = self._codes[frame.f_code] = kind_of(frame.f_code, frame.f_globals)
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
                    self.absent.setdefault(id(frame.f_globals), (frame.f_globals, set()))[1].add(name)
                    continue  # a builtin
                self.note("item", frame.f_globals, name, found, f"global {name}")
                self.following.add_variable(("item", id(frame.f_globals), name), frame.f_globals, name)
            self.spaces.enter(code, frame.f_globals, frame.f_locals)
            if code.co_freevars:
                self._closure(frame, code)
        finally:
            self._busy = False

    def _closure(self, frame: Any, code: types.CodeType) -> None:
        """Code that refers to variables of an enclosing function is called: those of the function that this is, one of perhaps many with the code."""
        if any(code in outer.co_consts for outer in self._codes if self._codes[outer] == "user"):
            return  # a function made by the call itself
        values = frame.f_locals
        found = tuple([id(values.get(name, MISSING)) for name in code.co_freevars])
        if found in self._closures.setdefault(code, set()):
            return
        self._closures[code].add(found)
        for again in (False, True):  # asking for referrers looks at every object there is: only where a function is not among those found before
            if again or code not in self._with_code:
                referrers = [*gc.get_referrers(code), *self.spaces.functions.get(code, ())]
                self._with_code[code] = [f for f in referrers if isinstance(f, types.FunctionType) and f.__closure__ is not None]
            functions = [f for f in self._with_code[code] if _has_cells(f, values)]
            for function in functions:
                self.closure_of(function)
            if functions:
                break
        else:  # it was made before the import, and is frozen (core/collecting.py)
            self.capture.give_up(f"the closure of {code.co_name} cannot be found")

    def closure_of(self, function: types.FunctionType) -> None:
        """The cells of a function's closure."""
        self.spaces.functions.setdefault(function.__code__, []).append(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.note("cell", cell, "cell_contents", _content(cell), f"closure {name} of {function.__name__}")
            self.following.add_variable(("cell", id(cell), "cell_contents"), cell, name)

    # ------------------------------------------------------------------------------------------------------------- active
    def __enter__(self) -> Watch:
        asked = self.asked

        def grad(tensor: Tensor) -> Any:
            asked.add(id(tensor))
            return _GRAD.__get__(tensor)

        def set_grad(tensor: Tensor, value: Any) -> None:
            asked.add(id(tensor))
            _GRAD.__set__(tensor, value)

        for module in list(sys.modules.values()):
            if isinstance(module, SwitchModule):
                self.outside[id(module)] = module, dict(module.__dict__), module.__name__
                self._patch(type(module))

        def inferred(instruction: Instruction, avals: tuple) -> Any:
            """JAX's tracing of an operator reads nothing of the user's, and makes so many calls that seeing each would take a third of its time."""
            profile, is_busy, trace = sys.getprofile(), self._busy, sys.gettrace()
            if profile != self._profile:  # another thread, or another profiler
                return _INFER(instruction, avals)
            sys.setprofile(None)
            sys.settrace(None)
            self._busy = True
            try:
                return _INFER(instruction, avals)
            finally:
                self._busy = is_busy
                sys.settrace(trace)
                sys.setprofile(profile)

        Instruction.infer = inferred  # type: ignore[method-assign, assignment]
        Tensor.grad = property(grad, set_grad, _GRAD.__delete__)  # type: ignore[assignment, arg-type]
        self._collects = gc.isenabled()
        gc.disable()  # finalizers and callbacks of the collector are no part of the call
        self._random = numpy_state()
        self.spaces.install()
        self._previous = suspend()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if sys.getprofile() == self._profile:
            sys.setprofile(None)
            resume(self._previous)
        else:
            self.capture.give_up("the profiler was exchanged")
        Instruction.infer = _INFER  # type: ignore[method-assign]
        if self._collects:
            gc.enable()
        Tensor.grad = _GRAD  # type: ignore[assignment]
        self.spaces.remove()
        self._busy = True
        if kind is None and self.capture.broken is None:
            self._finish()
        self.restore()

    def restore(self) -> None:
        """Let the classes be as they were."""
        for cls, name, own in reversed(self._patched):
            if own is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, own)
        self._patched.clear()

    def _finish(self) -> None:
        """Note what can be known only now."""
        self.spaces.finish()
        for function, where in self._caches:
            kept = _kept_by(function)
            if len(kept) > LARGEST_CONTAINER:
                self.capture.give_up(f"{where} keeps more than {LARGEST_CONTAINER} results")
            else:
                for key, result in list(kept.items()):
                    self.note("item", kept, key, result, f"what {where} keeps")
        changed = {(id(container), key) for container, key, *_ in self.changes()}
        for place, (container, name, where) in self._written.items():
            if place not in changed:  # it holds again what it held before, which need not be so at a replay
                self.note("item", container, name, container.get(name, MISSING), where)
        if not np.array_equal(numpy_state(), self._random):
            self.capture.give_up("numpy's random numbers are drawn")

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
                yield from differences(after, before, where)
        for where in self.spaces.changes():
            yield None, None, None, where
        for container, before, where in self.containers.values():
            if isinstance(container, dict):
                found = differences(container, before, where)
                # Importing a part of a package makes it an attribute of that.
                yield from found if "__spec__" not in container else (each for each in found if not isinstance(each[2], types.ModuleType))
            elif not is_same(container, before):
                yield None, None, None, where


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _kept_by(function: Any) -> dict:
    """The dictionary in which a function of `functools.lru_cache` keeps its results."""
    return next(held for held in gc.get_referents(function) if type(held) is dict and held is not function.__dict__)


def _has_dict(value: Any) -> bool:
    return type(value).__dictoffset__ != 0


def _has_cells(function: types.FunctionType, values: dict[str, Any]) -> bool:
    """Whether these are the variables of a function's closure."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return all(_content(cell) is values.get(name, MISSING) for name, cell in cells)
