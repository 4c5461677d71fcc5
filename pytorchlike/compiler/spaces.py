"""What a call reads of functions, classes and modules.

Nothing shows that an attribute of a class or of a module is read.  But code that reads one has a name for it, so whatever the code that ran has
a name for counts as read, in all classes and modules that can be reached.  Names that are computed are seen where they are asked for, by
`getattr`, `hasattr`, `vars` or `dir`, which are exchanged while a call is captured.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import operator
import sys
import threading
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .code_kinds import COMPUTING_LIBRARIES, chains, imports, is_ours, is_pure, kind_of
from .values import MISSING, is_simple

if TYPE_CHECKING:
    from .watch import Watch

__all__ = ["CALLABLES", "Spaces"]

CALLABLES = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType, property, functools.partial, staticmethod, classmethod,
    types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.CodeType,
    operator.attrgetter, operator.methodcaller,
)  # fmt: skip
#: Names by which code looks at how a function or a call is made.
_INSIDE = frozenset({"__closure__", "cell_contents", "__defaults__", "__kwdefaults__", "f_locals", "f_globals", "f_back"})
#: Entries of a class that Python makes by itself, and those that describe it.
_MADE_ON_DEMAND = ("__getattribute__", "__setattr__", "__delattr__", "__annotations__", "__abstractmethods__", "_abc_impl", "__slotnames__")


def _is_ours(name: Any) -> bool:
    return not isinstance(name, str) or is_ours(name) or name.partition(".")[0] in COMPUTING_LIBRARIES


class Spaces:
    """The functions, classes and modules that a call can reach.

    Args:
        watch: what they were found by, which takes the notes.

    Attributes:
        functions: the user's functions that were found, by their code.
        classes: the user's classes, and what each held.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch: Watch = weakref.proxy(watch)  # no cycle: what was noted is freed at once
        self.functions: dict[types.CodeType, list[types.FunctionType]] = {}
        self.classes: dict[type, dict[str, Any]] = {}
        self._found: dict[int, tuple[Any, str]] = {}  # modules and classes
        self._names: set[str] = set()  # of attributes, in all code that was entered
        self._imported: set[str] = set()
        self._builtins: dict[str, Any] = {}
        self._thread: int | None = None  # whose questions count; None: nobody's

    # ------------------------------------------------------------------------------------------------------------- finding
    def look_into(self, value: Any, where: str) -> None:
        """A function, a class or a module: what its calls and its attributes depend on."""
        watch = self._watch
        if isinstance(value, types.FunctionType):
            kind = kind_of(value.__code__, value.__globals__)
            if kind == "user":
                self.functions.setdefault(value.__code__, []).append(value)
                watch.contents(value.__dict__, where)
                if value.__code__ in watch.entered:
                    self._called(value)
            elif kind == "pure" and value.__closure__:  # as functools makes them
                watch.closure_of(value)
        elif isinstance(value, types.MethodType):
            watch.look_into(value.__func__, where)
            watch.look_into(value.__self__, f"{where}.__self__")
        elif isinstance(value, types.BuiltinFunctionType):
            if not isinstance(value.__self__, (types.ModuleType, type)) and value.__self__ is not None:
                watch.look_into(value.__self__, f"{where}.__self__")
        elif isinstance(value, (staticmethod, classmethod)):
            watch.look_into(value.__func__, where)
        elif isinstance(value, property):
            for function in (value.fget, value.fset, value.fdel):
                if function is not None:
                    watch.look_into(function, where)
        elif isinstance(value, functools.partial):
            for name in ("func", "args", "keywords"):
                watch.note("attribute", value, name, getattr(value, name), f"{where}.{name}")
            self.called_by_python(value.func, where)
            watch.contents(value.__dict__, where)
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self.name({part for name in value.__reduce__()[1] if isinstance(name, str) for part in name.split(".")})
        elif isinstance(value, type):
            for cls in value.__mro__:
                self.space(cls, f"class {cls.__name__}")
        elif isinstance(value, types.ModuleType):
            self.space(value, value.__name__)

    def called_by_python(self, function: Any, where: str) -> None:
        """A function that Python's own code calls, which shows in no event."""
        if isinstance(function, types.BuiltinFunctionType) and not is_pure(function):
            self._watch.capture.give_up(f"{where} calls {function.__qualname__}, which has effects or cannot be watched")

    def all_called(self) -> None:
        """What functions are like inside is looked at."""
        for functions in list(self.functions.values()):
            for function in functions:
                self._called(function)

    def _called(self, function: types.FunctionType) -> None:
        """A user's function that is called."""
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._watch.note("attribute", function, name, getattr(function, name), f"{name} of {function.__name__}")

    def space(self, space: Any, where: str) -> None:
        """A module or a class, of which code may read whatever it has a name for."""
        module = space.__name__ if isinstance(space, types.ModuleType) else space.__module__
        if id(space) in self._found or _is_ours(module):
            return
        self._found[id(space)] = space, where
        if isinstance(space, type):
            if str(module).partition(".")[0] not in sys.stdlib_module_names or module == "__main__":
                self.classes[space] = dict(space.__dict__)
                self._watch.note("class", space, None, None, where)
                for cls in type.mro(type(space)):
                    self.space(cls, f"class {cls.__name__}")
            for value in list(space.__dict__.values()):
                if isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
                    self.look_into(value, where)
        else:
            self._watch.containers.setdefault(id(space.__dict__), (space.__dict__, dict(space.__dict__), where))  # to see what is written
            self._read(space, where, ("__getattr__",))
        if "__dict__" in self._names:
            self._read_all(space, where)
        self._read(space, where, self._names)

    def _read(self, space: Any, where: str, names: Iterable[str]) -> None:
        for name in list(names):
            value = space.__dict__.get(name, MISSING)
            if value is not MISSING and name not in _MADE_ON_DEMAND and not isinstance(value, (np.ndarray, Iterator)):
                self._watch.note("item", space.__dict__, name, value, f"{where}.{name}")

    def _read_all(self, space: Any, where: str) -> None:
        """All entries of a class, or of a module; what the module's objects hold is not looked into."""
        for name, value in list(space.__dict__.items()):
            if isinstance(space, type) and not name.startswith("__") or is_simple(value):
                self._read(space, where, (name,))

    def name(self, names: Iterable[str]) -> None:
        """Code that ran has these names for attributes."""
        new = set(names) - self._names
        self._names |= new
        for space, where in list(self._found.values()):
            if "__dict__" in new:
                self._read_all(space, where)
            self._read(space, where, new)

    def enter(self, code: types.CodeType, space: dict[str, Any], variables: Mapping[str, Any]) -> None:
        """A user's code is called for the first time, with these globals and local variables."""
        if not _INSIDE.isdisjoint(code.co_names):
            self._watch.capture.give_up(f"{code.co_name} looks into functions or frames")
        self.name(code.co_names)
        for function in self.functions.get(code, ()):
            self._called(function)
        for first, *rest in chains(code):
            self._look_up(space.get(first, variables.get(first) if first in code.co_freevars else None), first, rest)
        for name, level in imports(code):
            self.imported(name, level, space)

    def _look_up(self, owner: Any, where: str, names: Sequence[str]) -> None:
        """Names are looked up in modules and classes: in those of ours functions may be exchanged, in others arrays and iterators may change."""
        space: Mapping[str, Any]
        for name in names:
            if isinstance(owner, types.ModuleType):
                getattr(owner, name, None)  # some names are there once they were asked for
                space, module = owner.__dict__, owner.__name__
            elif isinstance(owner, type):
                space, module = next((cls.__dict__ for cls in owner.__mro__ if name in cls.__dict__), owner.__dict__), owner.__module__
            else:
                return
            value, where = space.get(name, MISSING), f"{where}.{name}"
            if is_ours(module) and isinstance(value, (types.FunctionType, type)):
                self._watch.note("item", space, name, value, where)
            elif not _is_ours(module) and isinstance(value, (np.ndarray, Iterator)):
                self._watch.look_into(value, where)
            owner = value

    def imported(self, name: str, level: int, space: dict[str, Any]) -> None:
        """A module is imported by code with these globals."""
        if level:
            package = space.get("__package__") or str(space.get("__name__")).rpartition(".")[0]
            name = importlib.util.resolve_name("." * level + name, package)
        if not _is_ours(name) and name.partition(".")[0] not in sys.stdlib_module_names:
            for each in {name, name.partition(".")[0]}:
                if each in sys.modules:
                    self._watch.note("item", sys.modules, each, sys.modules[each], f"module {each}")
                else:
                    self._imported.add(each)

    # -------------------------------------------------------------------------------------------------------------- asking
    def ask(self, owner: Any, name: Any) -> None:
        """Somebody asks for an attribute by a name that he need not have in his code."""
        if threading.get_ident() != self._thread or not self._watch.is_seeing or not isinstance(name, str):
            return
        if isinstance(owner, type):
            self.name((name,))
            self.look_into(owner, owner.__name__)
        elif isinstance(owner, types.ModuleType) and not _is_ours(owner.__name__):
            self._watch.note("item", owner.__dict__, name, owner.__dict__.get(name, MISSING), f"{owner.__name__}.{name}")
        elif isinstance(owner, types.FunctionType) and owner in self.functions.get(owner.__code__, ()):
            self._watch.note("item", owner.__dict__, name, owner.__dict__.get(name, MISSING), f"{owner.__name__}.{name}")

    def ask_for_all(self, owner: Any) -> None:
        """Somebody asks for all that a class or a module has."""
        if threading.get_ident() == self._thread and self._watch.is_seeing and isinstance(owner, (type, types.ModuleType)):
            self.look_into(owner, owner.__name__)
            for space in owner.__mro__ if isinstance(owner, type) else (owner,):
                if id(space) in self._found:
                    self._read_all(space, space.__name__)
                    if isinstance(space, types.ModuleType):
                        self._watch.note("size", space.__dict__, None, None, space.__name__)

    def install(self) -> None:
        """Have Python's functions show what they are asked for."""
        ask, ask_for_all = self.ask, self.ask_for_all  # somebody may keep what has them: they know when the call is over
        self._thread = threading.get_ident()
        self._builtins = {name: getattr(builtins, name) for name in ("getattr", "hasattr", "vars", "dir")}
        get, has, variables, names = self._builtins.values()

        def getattr_(owner: Any, name: str, /, *default: Any) -> Any:
            ask(owner, name)
            return get(owner, name, *default)

        def hasattr_(owner: Any, name: str, /) -> bool:
            ask(owner, name)
            return has(owner, name)

        def vars_(*owner: Any) -> Any:
            if owner:
                ask_for_all(owner[0])
            return variables(*owner) if owner else sys._getframe(1).f_locals

        def dir_(*owner: Any) -> list[str]:
            if owner:
                ask_for_all(owner[0])
            return names(*owner) if owner else sorted(sys._getframe(1).f_locals)

        functions: tuple[Any, ...] = getattr_, hasattr_, vars_, dir_
        for name, function in zip(self._builtins, functions, strict=True):
            setattr(builtins, name, function)

    def remove(self) -> None:
        """The call is over: Python's functions are as they were."""
        self._thread = None
        for name, function in self._builtins.items():
            setattr(builtins, name, function)

    def finish(self) -> None:
        """The call is over: what was imported, and the methods that ran, of which the user's code need not have names."""
        for name in self._imported & sys.modules.keys():
            self._watch.note("item", sys.modules, name, sys.modules[name], f"module {name}")
        for cls in list(self.classes):
            for name, raw in self.classes[cls].items():
                if self._has_run(raw, name):
                    self._watch.note("item", cls.__dict__, name, raw, f"{cls.__name__}.{name}")

    def _has_run(self, raw: Any, name: str) -> bool:
        """Whether an entry of a class is a method that was called, or something special that may have been."""
        function = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
        if isinstance(function, types.FunctionType):
            return function.__code__ in self._watch.entered
        return name.startswith("__") and callable(raw) and not isinstance(raw, (type, types.BuiltinFunctionType, types.WrapperDescriptorType))

    def changes(self) -> Iterator[str]:
        """Which entries of classes the call wrote."""
        for cls, before in self.classes.items():
            for key, value in cls.__dict__.items():
                if before.get(key, MISSING) is not value and key not in _MADE_ON_DEMAND:
                    yield f"class {cls.__name__}.{key}"
            for key in before:
                if key not in cls.__dict__ and key not in _MADE_ON_DEMAND:
                    yield f"class {cls.__name__}.{key}"
